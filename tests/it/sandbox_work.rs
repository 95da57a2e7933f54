//! Work goes on within the box, for every user; and where there is no box, that has consequences.

use crate::acp::AGENT;
use crate::panes::Panes;
use crate::process::Process;
use crate::sandbox::{Boxing, Lab, boxes, visible};
use crate::support::{BODY, Frontend, Home, KIND, PATIENCE};
use kakehashi::auth;
use kakehashi::sandbox::{Confinement, Limits, Means, Network, Way};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a shell line and tells what came out.
fn shell(line: &str) -> String {
    format!(
        "import subprocess\ndone = subprocess.run(['sh', '-c', {line:?}], capture_output=True, text=True)\n\
         say(f'{{done.returncode}} {{done.stdout}}{{done.stderr}}')"
    )
}

/// An agent with a place of its own may commit there.
const IN_WORKTREE: &str = "test $(pwd -P) != PROJECT && echo > new && git add new && git commit -qm first && \
    git log -1 --format=%an | grep -q Ann && git checkout -q --detach && echo >> new && \
    git commit -qam second && git diff HEAD~ && git checkout -qb idea && echo >> new && git stash -q && \
    git stash pop -q && git commit -qam third && git branch other && git reset -q --hard other && git log --stat";

#[tokio::test]
async fn the_built_in_agent_has_the_network_that_the_settings_allow() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    for network in [true, false] {
        let home = Home::new();
        let settings = format!(
            "language = \"en\"\n[box]\nbuiltin_network = {network}\n[settings]\nCODE_AI1_NAME = \"builtin\"\n"
        );
        let process = Process::start(&home, &settings);
        let mut front = Panes::open(process.addr, None).await;
        let connect =
            format!("import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)");
        front.type_in(1, &format!("/run python3 -c '{connect}' && echo reached")).await;
        let question = front.question(1).await;
        front.decide(&question, true).await;
        let answer = front.told(1).await.answer;
        assert_eq!(answer.contains("reached"), network, "{answer}");
    }
}

#[tokio::test]
async fn each_agent_has_its_own_temporary_files_until_the_gateway_ends() {
    let home = Home::new();
    let settings =
        "language = \"en\"\n[settings]\nCODE_AI1_NAME = \"builtin\"\nCODE_AI2_NAME = \"builtin\"\n";
    let process = Process::start(&home, settings);
    let mut front = Panes::open(process.addr, None).await;
    let left = home.data.path().join("agent-temp").join(front.session());
    for (pane, there) in [(1, "mine"), (2, "mine"), (1, "mine\nmine")] {
        front.type_in(pane, "/run echo mine >> $TMPDIR/x; cat $TMPDIR/x").await;
        let question = front.question(pane).await;
        front.decide(&question, true).await;
        let answer = front.told(pane).await.answer;
        let seen = answer.lines().filter(|line| *line == "mine").count();
        assert_eq!(seen, there.lines().count(), "agent {pane}: {answer}");
    }
    assert!(left.join("1/x").exists() && left.join("2/x").exists());
    // Whatever a killed gateway could not clear away.
    process.kill();
    let _next = Process::start(&home, settings);
    assert!(!left.exists());
}

#[tokio::test]
async fn ordinary_work_goes_on() {
    for state in boxes() {
        work_goes_on(&Lab::new(state)).await;
    }
}

async fn work_goes_on(lab: &Lab) {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(lab.project());
        assert!(git.status().unwrap().success());
    };
    git(&["init", "-q", "."]);
    git(&[
        "-c",
        "user.name=Ben",
        "-c",
        "user.email=b@example.com",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "zero",
    ]);
    let mut lines = vec![
        "echo a | tr a b && echo 'int main(void) { return 0; }' > a.c && cc -o a a.c && ./a && git status",
        "echo hi > $TMPDIR/x && echo hi > $HOME/x && echo hi > /tmp/x && f=$(mktemp) && rm $f && echo > /dev/null",
        "python3 -c 'import threading, multiprocessing, os; threading.Thread(target=print).start(); \
         p = multiprocessing.Process(target=print); p.start(); p.join(); assert p.exitcode == 0; os.openpty()'",
        "test $HOME != OUTSIDE && cat OUTSIDE/notes",
        "sleep 0.1 & wait",
    ];
    if Command::new("node").arg("--version").output().is_ok() {
        lines.push(
            "node -e 'require(\"fs\").writeFileSync(\"n\", \"1\"); require(\"os\").networkInterfaces(); \
             require(\"child_process\").execSync(\"true\")'",
        );
    }
    for (slot, in_project) in [
        (1, "test $(pwd -P) = PROJECT && ! git commit -q --allow-empty -m second"),
        (2, IN_WORKTREE),
    ] {
        for line in lines.iter().chain([&in_project]) {
            // The second sees what the first has done, and does something of its own.
            let line = line.replace("a.c", &format!("a{slot}.c"));
            let said = lab.ask(slot, &shell(&line)).await;
            assert!(said.starts_with("0 "), "{slot}: {line}: {said}");
        }
    }
}

/// Every file below, and what is in it.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            } else {
                found.insert(entry.path(), fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    found
}

#[tokio::test]
async fn an_agent_with_a_copy_writes_nothing_of_the_users_repository_and_sees_no_drafts_of_others()
{
    for state in boxes() {
        let lab = Lab::new(state);
        crate::choice::repository(&lab.project());
        let id = crate::choice::git(&lab.project(), "rev-parse HEAD:main.txt");
        let object = format!("PROJECT/.git/objects/{}/{}", &id[..2], id[2..].trim());
        let before = contents(&lab.project().join(".git"));
        let said = lab.ask(2, &shell(&format!("cat main.txt && test -e {object}"))).await;
        assert!(said.starts_with("0 one"), "{state:?}: {said}");
        for attempt in [
            format!("rm -f {object}"),
            format!("echo forged > {object}"),
            format!("chmod u+w {object} && echo forged > {object}"),
            "mv PROJECT/.git/objects PROJECT/.git/old".to_owned(),
            "echo x > PROJECT/.git/objects/pack/x".to_owned(),
            "mkdir -p PROJECT/.git/objects/info && echo /tmp > PROJECT/.git/objects/info/alternates"
                .to_owned(),
            "git -C PROJECT update-ref refs/heads/evil HEAD".to_owned(),
        ] {
            let said = lab.ask(2, &shell(&attempt)).await;
            assert!(!said.starts_with("0 "), "{state:?}: {attempt}: {said}");
        }
        let commit = "echo secret > draft && git add draft && git commit -qm draft && git rev-parse HEAD:draft";
        let said = lab.ask(2, &shell(commit)).await;
        let draft = said.strip_prefix("0 ").unwrap_or_else(|| panic!("{state:?}: {said}")).trim();
        // In another session.
        for attempt in [
            format!("git cat-file -e {draft}"),
            format!("git -C PROJECT cat-file -e {draft}"),
            "test $(ls DATA/worktrees | wc -l) != 1".to_owned(),
            "ls DATA/workplace/*/git DATA/workplace/*/state DATA/workplace/*/index".to_owned(),
            "git for-each-ref | grep .".to_owned(),
            "grep -r secret DATA".to_owned(),
        ] {
            let said = lab.ask(2, &shell(&attempt)).await;
            assert!(!said.starts_with("0 "), "{state:?}: {attempt}: {said}");
        }
        assert_eq!(contents(&lab.project().join(".git")), before, "{state:?}");
    }
}

/// Everything in a git directory by which git starts other programs, in every place where git would look for it.
const PLANT: &str = r#"
T=$PWD/trap; printf '#!/bin/sh\ntouch %s/sprung\ncat\n' "$PWD" > trap; chmod +x trap
config() { printf '[core]\nfsmonitor = %s\nhooksPath = %s\n[diff]\nexternal = %s\n[diff "x"]\ntextconv = %s\n' $T $PWD/hooks $T $T
    printf '[filter "x"]\nclean = %s\nsmudge = %s\n[alias]\nlook = !%s\n' $T $T $T; }
mkdir hooks; for hook in post-index-change pre-commit post-checkout reference-transaction; do cp trap hooks/$hook; done
git init -q --bare elsewhere; git init -q nested; (cd nested; echo x > x; git add x; git commit -qm x); git add nested
mv .git .old; rmdir .git; ln -sfT elsewhere .git; echo gitdir: elsewhere > .git; mkdir .GIT
echo changed > main.txt; echo '* diff=x filter=x' > .gitattributes
printf '[submodule "n"]\npath = nested\nignore = none\n' > .gitmodules
config > elsewhere/config; config > nested/.git/config; config >> .git/config; config > .git/config.worktree
cp -r hooks .git/; cp -r hooks elsewhere/; echo ../elsewhere > .git/commondir
rm -f sprung; grep -q fsmonitor .git/config || exit 9
"#;

#[tokio::test]
async fn whoever_looks_into_a_copy_with_git_runs_nothing_of_the_agents() {
    let looks = ["status", "status --porcelain -uall", "diff", "diff HEAD", "log -p", "stash list"];
    for state in boxes() {
        let lab = Lab::new(state);
        crate::choice::repository(&lab.project());
        let said = lab.ask(2, &shell(&format!("{PLANT}pwd -P"))).await;
        let copy = said.strip_prefix("0 ").unwrap_or_else(|| panic!("{state:?}: {said}"));
        let copy = PathBuf::from(copy.lines().next().unwrap_or_default());
        assert!(copy.join("trap").exists() && copy.join("nested/.git").exists(), "{said}");
        let mut seen = String::new();
        for look in looks {
            seen += &crate::choice::git(&copy, look);
            assert!(!copy.join("sprung").exists(), "{state:?}: git {look} has run the trap");
        }
        assert!(seen.contains("main.txt") && seen.contains("nested/"), "{seen}");
    }
}

#[tokio::test]
async fn commands_of_the_scripted_agent_are_boxed_too() {
    let boxed = boxes().into_iter().map(|state| (state, false));
    for (state, read) in boxed.chain([(Boxing::Off, true)]) {
        let lab = Lab::new(state);
        let outside = lab.outside();
        let mut front = Frontend::open(lab.addr(), None).await;
        front
            .type_in("3", &format!("run cat {}/.ssh/id && echo; echo over", outside.display()))
            .await;
        let packets = front.agents[2].collect_until(|packet| packet[BODY] == "over").await;
        assert_eq!(packets.iter().any(|packet| packet[BODY] == "private key"), read, "{packets:?}");
        let is_notice = |text: &str| text.contains("not boxed");
        let told = packets.iter().any(|packet| packet[BODY].as_str().is_some_and(is_notice));
        assert_eq!(told, read, "{packets:?}");
    }
}

/// As npm installs programs: a link, whose target needs what is beside it.
#[tokio::test]
async fn a_program_below_tmp_that_does_not_start_is_told_with_its_box() {
    if !std::env::temp_dir().starts_with("/tmp") {
        return eprintln!("not tested: temporary files are not in /tmp");
    }
    let packages = tempfile::tempdir().unwrap();
    let (bin, library) = (packages.path().join("bin"), packages.path().join("lib/agent"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&library).unwrap();
    fs::write(library.join("main.sh"), format!("#!/bin/sh\nexec python3 {AGENT}\n")).unwrap();
    fs::set_permissions(library.join("main.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(library.join("main.sh"), bin.join("agent")).unwrap();
    let program = bin.join("agent");
    for (state, program) in boxes().into_iter().map(|state| (state, program.display())) {
        let home = Home::new();
        let way = if state == Boxing::Own { "own" } else { "bwrap" };
        let settings = format!(
            "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"surely-not-installed\"]\n\
             also = [\"{program}\"]\n[box]\nway = \"{way}\"\n[settings]\nCODE_AI1_NAME = \"test\"\n"
        );
        let process = Process::start(&home, &settings);
        let mut front = Frontend::open(process.addr, None).await;
        front.type_in("1", "hello").await;
        let failed = front.agents[0].until("output_text").await;
        let said = failed[BODY].as_str().unwrap();
        assert!(said.contains("its box has a /tmp of its own"), "{said}");
        assert!(said.contains("install it elsewhere") && said.contains("bin/agent"), "{said}");
    }
    // Under its other name it is found, and works without a box.
    let home = Home::new();
    let settings = format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"surely-not-installed\"]\n\
         also = [\"{}\"]\n[box]\nenabled = false\n[settings]\nCODE_AI1_NAME = \"test\"\n",
        program.display()
    );
    let process = Process::start(&home, &settings);
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("1", "hello").await;
    front.agents[0].until_where(|packet| packet[BODY] == "hello there").await;
}

#[tokio::test]
async fn without_a_box_the_channel_says_so_and_commands_do_not_run() {
    let home = Home::new();
    let mut git = Command::new("git");
    git.args(["init", "-q"]).current_dir(home.project.path());
    assert!(git.status().unwrap().success());
    let settings = format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"]\n\
         [[agents]]\nname = \"bare\"\nkind = \"command\"\ncommand = [\"echo\", \"{{prompt}}\"]\n\
         [box]\nenabled = false\n[settings]\nCODE_AI1_NAME = \"test\"\nCODE_AI2_NAME = \"bare\"\n"
    );
    let process = Process::start(&home, &settings);
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("1", "hello").await;
    let packets = front.agents[0].collect_until(|packet| packet[BODY] == "hello there").await;
    let says = |text: &str| text.contains("not boxed") && text.contains("enabled = false");
    assert!(packets.iter().any(|packet| packet[BODY].as_str().is_some_and(says)), "{packets:?}");
    front.type_in("2", "hello").await;
    let failed = front.agents[1].until("output_text").await;
    assert!(failed[BODY].as_str().unwrap().contains("works in a box only"), "{failed}");
    drop(process);
    if boxes().is_empty() {
        return;
    }
    let boxed = settings.replace("enabled = false", "enabled = true");
    let process = Process::start(&home, &boxed);
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("2", "hello").await;
    let packets = front.agents[1].collect_until(|packet| packet[KIND] == "output_text").await;
    assert_eq!(packets.last().unwrap()[BODY], "hello");
    let marked =
        |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains("not ask"));
    assert!(packets.iter().any(marked), "{packets:?}");
    // Nor where others work: it has to have a copy of its own.
    let home = Home::new();
    let process = Process::start(&home, &format!("{boxed}CODE_AI2_PLACE = \"shared\"\n"));
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("2", "hello").await;
    let failed = front.agents[1].until("output_text").await;
    assert!(failed[BODY].as_str().unwrap().contains("a copy of its own"), "{failed}");
}

#[test]
fn several_users_need_a_box() {
    let home = Home::new();
    let password = auth::hash_password("long enough to be one").unwrap();
    let user = |name: &str| format!("[[users]]\nname = \"{name}\"\npassword = {password:?}\n");
    let no_box = "[box]\nenabled = false\n";
    let (ann, ben) = (user("ann"), user("ben"));
    let started = |settings: &str| {
        let file = home.data.path().join("several.toml");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new("timeout");
        command.args([
            &PATIENCE.as_secs().to_string(),
            env!("CARGO_BIN_EXE_kakehashi"),
            "--listen",
            "127.0.0.1:0",
        ]);
        command.arg("--project").arg(home.project.path()).arg("--data").arg(home.data.path());
        command.arg("--config").arg(&file).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).output().unwrap()
    };
    let output = started(&format!("{ann}{ben}{no_box}"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("have to be boxed") && said.contains("enabled = false"), "{said}");
    Process::start(&home, &format!("{ann}{no_box}"));
    if !boxes().is_empty() {
        Process::start(&home, &format!("{ann}{ben}"));
    }
}

/// Who runs the command in the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Same,
    Nobody,
}

/// A directory to work in with a secret beside it, and our binary where everybody can run it.
struct Site {
    place: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let site = Self { place: visible() };
        // A copy cannot be run while another test forks, which has it open for writing until its next program.
        let (binary, own) = (env!("CARGO_BIN_EXE_kakehashi"), site.path("kakehashi"));
        fs::hard_link(binary, &own).or_else(|_| fs::copy(binary, &own).map(drop)).unwrap();
        fs::create_dir(site.path("work")).unwrap();
        fs::write(site.path("secret"), "secret").unwrap();
        for (name, mode) in [("", 0o755), ("work", 0o777), ("secret", 0o644)] {
            fs::set_permissions(site.path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        site
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }

    fn confinement(&self, means: Means) -> Confinement {
        let mut confinement = Confinement::closed(&self.path("kakehashi"));
        confinement.means = means;
        confinement.writable.push(self.path("work"));
        confinement.hidden = vec![self.path("secret")].into();
        confinement.network = Network::Open;
        confinement
    }

    /// What a shell says in such a box, and its errors.
    fn run(&self, user: User, confinement: &Confinement, script: &str) -> (String, String) {
        let mut command = match user {
            User::Same => Command::new("env"),
            User::Nobody => Command::new("setpriv"),
        };
        if user == User::Nobody {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command.arg(self.path("kakehashi")).arg("boxed").arg(confinement.to_text().unwrap());
        command.args(["--", "sh", "-c", script]).current_dir(self.path("work"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8_lossy(&output.stdout).trim().to_owned(), said)
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Most tests run as root where they run by themselves; this one never does.
#[test]
fn nobody_has_to_be_root() {
    let site = Site::new();
    let script = format!(
        "echo a > a && cat a; cat {}; id -u; echo b > ../b || echo refused",
        site.path("secret").display()
    );
    let mut ways: Vec<_> = boxes().into_iter().filter_map(Boxing::means).cloned().collect();
    // A program that has the right to do what we may not, and needs no namespace of users.
    if let (true, Some(Means { way: Way::Bwrap(bwrap), landlock })) =
        (is_root(), Boxing::Bwrap.means())
    {
        let (with_rights, landlock) = (site.path("bwrap"), *landlock);
        fs::copy(bwrap, &with_rights).unwrap();
        fs::set_permissions(&with_rights, fs::Permissions::from_mode(0o4755)).unwrap();
        ways.push(Means { way: Way::Bwrap(with_rights), landlock });
    }
    let (user, uid) = match is_root() {
        true => (User::Nobody, 65534),
        false => (User::Same, rustix::process::geteuid().as_raw()),
    };
    for means in ways {
        let mut confinement = site.confinement(means);
        confinement.closed_ports.push(9);
        let (said, errors) = site.run(user, &confinement, &script);
        let way = &confinement.means;
        assert_eq!(said, format!("a\n{uid}\nrefused"), "{way:?}: {errors}");
        if way.keeps_signals() {
            let outside = format!("kill -0 {} || echo alone", std::process::id());
            assert_eq!(site.run(user, &confinement, &outside).0, "alone", "{way:?}");
        }
        fs::remove_file(site.path("work/a")).unwrap();
    }
}

/// No other kernel can be had here, but ours can be asked for less.
#[test]
fn an_older_kernel_makes_a_box_of_what_it_has() {
    let site = Site::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "echo a > a && mkdir -p d && {{ mv a d/a && cat d/a && rm d/a; }}; cat {}; \
         (echo b > ../b) 2>/dev/null || echo refused; kill -0 {} 2>/dev/null && echo signalled; \
         python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)' 2>/dev/null && echo connected",
        site.path("secret").display(),
        std::process::id(),
    );
    for found in boxes().into_iter().filter_map(Boxing::means) {
        for landlock in [1, 2, 4, 6].into_iter().filter(|version| *version <= found.landlock) {
            let means = Means { landlock, ..found.clone() };
            let (signals, ports) = (!means.keeps_signals(), landlock < 4);
            let mut confinement = site.confinement(means);
            confinement.closed_ports.push(port);
            let (said, errors) = site.run(User::Same, &confinement, &script);
            let mut expected = vec!["a", "refused"];
            expected.extend(signals.then_some("signalled"));
            expected.extend(ports.then_some("connected"));
            let said: Vec<_> = said.lines().collect();
            assert_eq!(said, expected, "{:?}: {errors}", confinement.means);
        }
    }
    // What the kernel does not have is no box, whoever says that it has it.
    for way in boxes().into_iter().filter_map(Boxing::means).map(|means| means.way.clone()) {
        let confinement = site.confinement(Means { way, landlock: 0 });
        let (said, errors) = site.run(User::Same, &confinement, "echo inside");
        assert_eq!(said, "", "{errors}");
        assert!(errors.contains("there is no box: Landlock is missing"), "{errors}");
    }
}

/// Tells what is refused, with 1 and with the number of a process outside.
const SCHEDULING: &str = r#"
import ctypes, os, sys, threading
libc, own, least = ctypes.CDLL(None, use_errno=True), os.sched_getaffinity(0), os.sched_param(0)
def ioprio(kind, who):
    if libc.syscall(251, kind, who, 2 << 13 | 7):
        raise OSError(ctypes.get_errno(), "refused")
os.nice(1)
os.setpriority(os.PRIO_PROCESS, 0, 2)
os.setpriority(os.PRIO_PGRP, 0, 3)
os.sched_setaffinity(0, own)
os.sched_setscheduler(0, os.SCHED_BATCH, least)
os.sched_setparam(0, least)
ioprio(1, 0)
def told(name, action):
    try:
        action()
        print(name, "done")
    except OSError as problem:
        print(name, problem.errno)
for name, who in ("thread", threading.get_native_id()), ("first", 1), ("outside", int(sys.argv[1])):
    told(name, lambda: os.setpriority(os.PRIO_PROCESS, who, 4))
    told(name, lambda: os.setpriority(os.PRIO_PGRP, who, 4)) if name != "thread" else None
    told(name, lambda: os.sched_setaffinity(who, own))
    told(name, lambda: os.sched_setscheduler(who, os.SCHED_BATCH, least))
    told(name, lambda: os.sched_setparam(who, least))
    told(name, lambda: ioprio(1, who))
told("user", lambda: os.setpriority(os.PRIO_USER, os.getuid(), 4))
told("user", lambda: ioprio(3, os.getuid()))
"#;

#[test]
fn programs_can_schedule_only_themselves() {
    const REFUSED: &str = "1";
    const NOBODY: &str = "3";
    let site = Site::new();
    fs::write(site.path("work/scheduling.py"), SCHEDULING).unwrap();
    let script = format!("python3 scheduling.py {}", std::process::id());
    let mut ways: Vec<_> = boxes().into_iter().filter_map(Boxing::means).cloned().collect();
    if let Some(own) = Boxing::Own.means() {
        ways.push(Means { way: Way::SharedPids, landlock: own.landlock });
    }
    for means in ways {
        let (thread, outside) =
            if means.has_own_pids() { ("done", NOBODY) } else { (REFUSED, REFUSED) };
        let (said, errors) = site.run(User::Same, &site.confinement(means.clone()), &script);
        let expected = [
            vec![format!("thread {thread}"); 5],
            vec![format!("first {REFUSED}"); 6],
            vec![format!("outside {outside}"); 6],
            vec![format!("user {REFUSED}"); 2],
        ];
        let said: Vec<_> = said.lines().collect();
        assert_eq!(said, expected.concat(), "{means:?}: {errors}");
    }
}

#[test]
fn no_process_outside_is_seen_in_a_process_namespace() {
    let site = Site::new();
    let script = format!(
        "echo $PPID; ls /proc | grep -c '^[0-9]'; test -e /proc/{} && echo seen; sh -c 'exit 3'; echo $?",
        std::process::id()
    );
    for means in boxes().into_iter().filter_map(Boxing::means).filter(|means| means.has_own_pids())
    {
        let (said, errors) = site.run(User::Same, &site.confinement(means.clone()), &script);
        let said: Vec<_> = said.lines().collect();
        assert!(said[1].parse::<usize>().unwrap() < 8, "{means:?}: {said:?} {errors}");
        assert_eq!((said[0], &said[2..]), ("1", ["3"].as_slice()), "{means:?}: {errors}");
    }
}

/// Where the system gives us no process namespace there is still a box, made as it was before.
#[test]
fn a_box_without_a_process_namespace_still_keeps_what_it_can() {
    let Some(own) = Boxing::Own.means() else { return };
    let site = Site::new();
    let means = Means { way: Way::SharedPids, landlock: own.landlock };
    let script = format!(
        "test $PPID != 1 && echo shared; echo a > a && cat a; cat {}; (echo b > ../b) 2>/dev/null || echo refused; \
         kill -0 {} 2>/dev/null || echo alone",
        site.path("secret").display(),
        std::process::id()
    );
    let (said, errors) = site.run(User::Same, &site.confinement(means.clone()), &script);
    let mut expected = vec!["shared", "a", "refused"];
    expected.extend(means.keeps_signals().then_some("alone"));
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{errors}");
}

#[test]
fn processes_and_open_files_of_an_agent_are_limited() {
    let site = Site::new();
    for means in boxes().into_iter().filter_map(Boxing::means) {
        let mut confinement = site.confinement(means.clone());
        confinement.limits = Limits { processes: Some(50), open_files: Some(40) };
        let count = |name: &str| {
            format!(
                "sed -nE 's/^Max {name}[^0-9]*([0-9]+) +([0-9]+).*/\\1 \\2/p' /proc/self/limits"
            )
        };
        let script = ["core file", "processes", "open files"].map(count).join("; ");
        let (said, errors) = site.run(User::Same, &confinement, &script);
        assert_eq!(said, "0 0\n50 50\n40 40", "{errors}");
        let files = "python3 -c 'files = [open(\"/dev/null\") for _ in range(60)]' || echo stopped";
        assert_eq!(site.run(User::Same, &confinement, files).0, "stopped");
        let forks = "i=0; while [ $i -lt 90 ]; do sleep 5 & i=$((i+1)); done; echo all";
        // The kernel does not count root's.
        if is_root() {
            let (said, errors) = site.run(User::Nobody, &confinement, forks);
            assert!(!said.contains("all"), "{said} {errors}");
            assert!(errors.contains("fork"), "{errors}");
        }
    }
}
