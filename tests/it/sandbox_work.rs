//! Work goes on within the box, for every user; and where there is no box, that has consequences.

use crate::acp::AGENT;
use crate::process::Process;
use crate::sandbox::{Boxing, Lab, visible};
use crate::support::{BODY, Frontend, Home, KIND, PATIENCE};
use kakehashi::auth;
use kakehashi::sandbox::{Confinement, Network};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
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
    git commit -qam second && git diff HEAD~";

#[tokio::test]
async fn ordinary_work_goes_on() {
    let lab = Lab::new(Boxing::On);
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

#[tokio::test]
async fn commands_of_the_scripted_agent_are_boxed_too() {
    for (state, read) in [(Boxing::Off, true), (Boxing::On, false)] {
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
    let process = Process::start(&home, &boxed);
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
    for enough in [format!("{ann}{no_box}"), format!("{ann}{ben}")] {
        Process::start(&home, &enough);
    }
}

/// Most tests run as root where they run by themselves; this one never does.
#[test]
fn nobody_has_to_be_root() {
    let place = visible();
    let (binary, work, secret) =
        (place.path().join("kakehashi"), place.path().join("work"), place.path().join("secret"));
    fs::copy(env!("CARGO_BIN_EXE_kakehashi"), &binary).unwrap();
    fs::create_dir(&work).unwrap();
    fs::write(&secret, "secret").unwrap();
    for (path, mode) in [(place.path(), 0o755), (&work, 0o777), (&secret, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let is_root = rustix::process::geteuid().is_root();
    let run = |script: &str| {
        let mut confinement = Confinement::closed(&binary);
        confinement.writable.push(work.clone());
        confinement.hidden = vec![secret.clone()].into();
        confinement.network = Network::Open;
        confinement.closed_ports.push(9);
        let mut command = if is_root { Command::new("setpriv") } else { Command::new("env") };
        if is_root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command.arg(&binary).arg("boxed").arg(confinement.to_text().unwrap());
        let output = command.args(["--", "sh", "-c", script]).current_dir(&work).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8_lossy(&output.stdout).trim().to_owned(), said)
    };
    let script = format!(
        "echo a > a && cat a; cat {}; id -u; echo b > ../b || echo refused; kill -0 $PPID || echo alone",
        secret.display()
    );
    let (said, errors) = run(&script);
    let uid = if is_root { 65534 } else { rustix::process::geteuid().as_raw() };
    assert_eq!(said, format!("a\n{uid}\nrefused\nalone"), "{errors}");
}
