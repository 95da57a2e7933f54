//! Agents that try to get out of their box. Each attempt is made with every kind of box that this system can make, and
//! without one: without it has to succeed, or it would prove nothing. What an older kernel cannot stop is not tried;
//! `doctor` tells it.

use crate::acp::AGENT;
use crate::process::Process;
use crate::support::{BODY, Frontend, Home, TOKEN};
use kakehashi::sandbox::{self, Means, Wish};
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A gateway with an agent in slot 1 that has the network and works in the project, and one in slot 2 that has no
/// network and a worktree where there is git.
#[derive(Debug)]
pub(crate) struct Lab {
    process: Process,
    home: Home,
    /// The operator's home, and the rest of the world.
    outside: TempDir,
    /// Somebody who hands out keys there.
    _keeper: UnixListener,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boxing {
    Own,
    Bwrap,
    Off,
}

impl Boxing {
    /// What the box is made of; `None` if there is none.
    pub(crate) fn means(self) -> Option<&'static Means> {
        let wish = match self {
            Self::Own => Wish::Own,
            Self::Bwrap => Wish::Bwrap,
            Self::Off => return None,
        };
        sandbox::probe(Path::new(env!("CARGO_BIN_EXE_kakehashi")), wish).ok()
    }

    fn settings(self) -> &'static str {
        match self {
            Self::Own => "enabled = true\nway = \"own\"\n",
            Self::Bwrap => "enabled = true\nway = \"bwrap\"\n",
            Self::Off => "enabled = false\n",
        }
    }
}

/// The boxes that this system can make. Where it can make none, `doctor` has to say so.
pub(crate) fn boxes() -> Vec<Boxing> {
    let all = [Boxing::Own, Boxing::Bwrap].into_iter();
    let found: Vec<_> = all.filter(|one| one.means().is_some()).collect();
    if found.is_empty() {
        let home = Home::new();
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        doctor.arg("doctor").arg("--data").arg(home.data.path());
        let said = doctor.arg("--project").arg(home.project.path()).output().unwrap().stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("agents cannot be boxed"), "{said}");
    }
    found
}

/// The first of them, for what does not depend on how the box is made.
fn a_box() -> Option<Lab> {
    boxes().first().map(|state| Lab::new(*state))
}

/// A directory that is not in /tmp, of which every agent has its own; this checkout may be there.
pub(crate) fn visible() -> TempDir {
    let places = [env!("CARGO_TARGET_TMPDIR"), "/var/lib", "/opt", "/srv"];
    let own = ["/tmp", "/var/tmp", "/run"];
    let mut seen = places.iter().filter(|place| !own.iter().any(|own| place.starts_with(own)));
    let made = seen.find_map(|place| tempfile::tempdir_in(place).ok());
    made.expect("no directory outside of /tmp can be written; check the sources out elsewhere")
}

impl Lab {
    pub(crate) fn new(state: Boxing) -> Self {
        let outside = visible();
        let home = Home::new();
        for (name, text) in [
            (".ssh/id", "private key"),
            (".netrc", "password"),
            ("extra/file", "named"),
            ("notes", "theirs"),
            (".gitconfig", "[user]\nname = Ann\nemail = ann@example.com\n"),
        ] {
            let path = outside.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir(outside.path().join(".1password")).unwrap();
        let keeper = UnixListener::bind(outside.path().join(".1password/agent.sock")).unwrap();
        let project = home.project.path();
        symlink(outside.path().join("notes"), project.join("window")).unwrap();
        symlink(outside.path(), project.join("door")).unwrap();
        symlink(home.data.path().join("token"), project.join("token")).unwrap();
        let script = format!("HOME={} exec \"$0\" \"$@\"", outside.path().display());
        let process = Process::start_under(&home, &script, &settings(state, outside.path()));
        Self { process, home, outside, _keeper: keeper }
    }

    pub(crate) fn addr(&self) -> std::net::SocketAddr {
        self.process.addr
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.data.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home.project.path().canonicalize().unwrap()
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.outside.path().canonicalize().unwrap()
    }

    /// Asks the gateway to end; tells its exit code and how long that took.
    pub(crate) fn end(self) -> (Option<i32>, std::time::Duration) {
        self.process.end(std::time::Instant::now())
    }

    /// `kill -9` of the gateway.
    pub(crate) fn kill(self) {
        self.process.kill();
    }

    /// What the agent says about the program.
    pub(crate) async fn ask(&self, slot: usize, program: &str) -> String {
        let mut front = Frontend::open(self.process.addr, None).await;
        front.type_in(&slot.to_string(), &format!("python {}", self.filled_in(program))).await;
        let answer = front.agents[slot - 1].until("output_text").await;
        answer[BODY].as_str().unwrap().to_owned()
    }

    fn filled_in(&self, program: &str) -> String {
        let show = |path: &Path| path.display().to_string();
        program
            .replace("DATA", &show(&self.home.data.path().canonicalize().unwrap()))
            .replace("PROJECT", &show(&self.project()))
            .replace("OUTSIDE", &show(&self.outside()))
            .replace("PORT", &self.process.addr.port().to_string())
            .replace("GATEWAY", &self.process.pid().to_string())
    }
}

fn settings(state: Boxing, outside: &Path) -> String {
    let row = |name: &str, network: bool| {
        format!(
            "[[agents]]\nname = \"{name}\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"]\n\
             network = {network}\n"
        )
    };
    format!(
        "language = \"en\"\n{}{}[box]\n{}hidden = [\"{}/extra\"]\n\
         [settings]\nCODE_AI1_NAME = \"open\"\nCODE_AI2_NAME = \"closed\"\nCODE_AI3_NAME = \"scripted\"\nCODE_AI1_PLACE = \"shared\"\n",
        row("open", true),
        row("closed", false),
        state.settings(),
        outside.display()
    )
}

/// Makes the attempts with and without a box; each has to succeed without and to fail with it.
async fn stopped(slot: usize, attempts: &[&str]) {
    stopped_where(slot, |_| true, attempts).await;
}

/// The same for boxes that are made of what it takes.
async fn stopped_where(slot: usize, has: fn(&Means) -> bool, attempts: &[&str]) {
    let able = boxes().into_iter().filter(|one| one.means().is_some_and(has));
    let boxed: Vec<_> = able.map(|state| (state, Lab::new(state))).collect();
    let free = Lab::new(Boxing::Off);
    for attempt in attempts {
        let (imports, action) = attempt.rsplit_once(';').unwrap_or(("", attempt));
        let program = format!("{imports}\nattempt(lambda: {action})");
        let said = free.ask(slot, &program).await;
        assert!(said.starts_with("got "), "it proves nothing: {attempt}: {said}");
        for (state, lab) in &boxed {
            let said = lab.ask(slot, &program).await;
            assert!(said.starts_with("no "), "it got through {state:?}: {attempt}: {said}");
        }
    }
}

fn closes_ports(means: &Means) -> bool {
    means.landlock >= 4
}

fn is_whole(means: &Means) -> bool {
    means.lacks().is_empty()
}

#[tokio::test]
async fn files_of_the_gateway_and_the_operator_cannot_be_read() {
    stopped(
        1,
        &[
            "open('DATA/token').read()",
            "open('DATA/kakehashi.db', 'rb').read(9)",
            "open('DATA/settings.toml').read()",
            "open('PROJECT/token').read()",
            "os.listdir('DATA').index('token')",
            "open('OUTSIDE/.ssh/id').read()",
            "open('PROJECT/door/.ssh/id').read()",
            "{'password': 1}[open('OUTSIDE/.netrc').read()]",
            "open('OUTSIDE/extra/file').read()",
            "open('/proc/GATEWAY/environ', 'rb').read(4)",
            "open('/proc/GATEWAY/root/DATA/token').read()",
            "os.readlink('/proc/GATEWAY/fd/0')",
            "open('/proc/GATEWAY/mem', 'rb').read(0)",
            "os.stat('/dev/kmsg')",
        ],
    )
    .await;
}

#[tokio::test]
async fn nothing_outside_can_be_changed() {
    stopped(
        1,
        &[
            "open('OUTSIDE/new', 'w')",
            "open('OUTSIDE/notes', 'a').write('mine')",
            "open('PROJECT/window', 'a').write('mine')",
            "open('PROJECT/door/other', 'w')",
            "os.link('OUTSIDE/notes', 'PROJECT/twin')",
            "os.rename('OUTSIDE/notes', 'PROJECT/moved') or os.rename('PROJECT/moved', 'OUTSIDE/notes')",
            "os.chmod('OUTSIDE/notes', 0o666)",
            // What is hidden looks like a device that everybody has; its rights are not the agent's to change.
            "os.chmod('OUTSIDE/.netrc', 0o666)",
            "open('OUTSIDE/.ssh/new', 'w')",
            "os.utime('OUTSIDE/notes')",
            "os.setxattr('OUTSIDE/notes', 'user.a', b'b')",
            "os.mkdir('OUTSIDE/directory')",
            "os.truncate('OUTSIDE/notes', 0)",
        ],
    )
    .await;
}

#[tokio::test]
async fn the_gateway_can_neither_be_reached_nor_touched() {
    let connect = "s.connect(('127.0.0.1', PORT))";
    let live = r"b'GET /live HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n'";
    let attempts = [
        format!("import socket; s = socket.socket(); {connect}"),
        format!(
            "import socket; s = socket.socket(); s.sendto({live}, 0x20000000, ('127.0.0.1', PORT)) and \
             s.recv(1000).index(b'200 OK')"
        ),
        "import socket; s = socket.socket(); s.bind(('127.0.0.2', PORT))".to_owned(),
    ];
    let attempts: Vec<&str> = attempts.iter().map(String::as_str).collect();
    stopped_where(1, closes_ports, &attempts).await;
    stopped(
        1,
        &[
            // To approve its own question it would need all of this.
            "import urllib.request as web, os; token = open('DATA/token').read() if os.path.exists('DATA/token') else ''; \
             web.urlopen(web.Request('http://127.0.0.1:PORT/api/sessions', headers={'Authorization': 'Bearer ' + token})).status",
            "import socket; s = socket.socket(socket.AF_UNIX); s.connect('DATA/control.sock')",
            "import resource; resource.prlimit(GATEWAY, resource.RLIMIT_NOFILE)",
            "os.setpriority(os.PRIO_PROCESS, GATEWAY, 5)",
            "os.sched_setaffinity(GATEWAY, os.sched_getaffinity(0))",
            "os.sched_setscheduler(GATEWAY, os.SCHED_BATCH, os.sched_param(0))",
            "os.sched_setparam(GATEWAY, os.sched_param(0))",
            "import ctypes; [0].index(ctypes.CDLL(None).syscall(251, 1, GATEWAY, 2 << 13 | 7))",
        ],
    )
    .await;
    stopped_where(1, Means::keeps_signals, &["os.kill(GATEWAY, 0)"]).await;
    stopped_where(1, is_whole, &["os.kill(os.getppid(), 0)"]).await;
    for state in boxes() {
        let boxed = Lab::new(state);
        // Not every kernel has this way to connect, so nothing can be said about it without a box.
        let program = format!(
            "import socket\ns = None\ntry:\n  s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\n\
             except OSError: pass\nattempt(lambda: {connect})"
        );
        assert!(boxed.ask(1, &program).await.starts_with("no "));
        let trace = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n\
                     say(str([libc.ptrace(0x4206, GATEWAY, 0, 0), ctypes.get_errno()]))";
        // In a process namespace there is nobody by that number.
        let own_pids = state.means().is_some_and(Means::has_own_pids);
        let refused = if own_pids { "[-1, 3]" } else { "[-1, 1]" };
        assert_eq!(boxed.ask(1, trace).await, refused);
        assert_eq!(boxed.ask(1, "say('alive')").await, "alive");
    }
}

#[tokio::test]
async fn namespaces_mounts_and_io_uring_are_no_way_out() {
    let call = |call: &str| {
        format!(
            "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nsay(str([{call}, ctypes.get_errno()]))"
        )
    };
    let boxed: Vec<_> = boxes().into_iter().map(Lab::new).collect();
    let free = Lab::new(Boxing::Off);
    // Whoever may not do this without a box either has another error, or it is no call at all.
    for (attempt, refused) in [
        ("libc.unshare(0x10000000)", 1),
        ("libc.unshare(0x00020000)", 1),
        ("libc.setns(0, 0)", 1),
        ("libc.umount2(b'DATA', 2)", 1),
        ("libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0)", 1),
        ("libc.chroot(b'/tmp')", 1),
        ("libc.syscall(425, 1, 0)", 1),
        ("libc.syscall(250, 0, 0, 0, 0)", 1),
        ("libc.syscall(435, 0, 0)", 38),
        ("libc.syscall(56, 0x10000011, 0, 0, 0, 0)", 1),
        ("libc.socket(40, 1, 0)", 93),
        ("libc.socket(17, 3, 0)", 93),
        ("libc.socket(2, 3, 6)", 93),
        ("libc.socket(16, 3, 12)", 93),
        ("libc.socket(2, 1, 262)", 93),
        ("libc.ioctl(0, 0x5412, b'x')", 1),
        ("libc.prctl(38, 0, 0, 0, 0)", 22),
    ] {
        for lab in &boxed {
            let said = lab.ask(2, &call(attempt)).await;
            assert_eq!(said, format!("[-1, {refused}]"), "{attempt}");
        }
    }
    // A child in a namespace of its own would come back here and say something else.
    let said = free.ask(2, &call("libc.setns(0, 0)")).await;
    assert_ne!(said, "[-1, 1]");
    let rights = "say([line for line in open('/proc/self/status') if line.startswith('CapBnd')][0].split()[1])";
    for lab in &boxed {
        assert_eq!(lab.ask(2, rights).await, "0000000000000000");
    }
}

#[tokio::test]
async fn the_network_is_what_the_row_says() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let connect = format!(
        "import socket\nattempt(lambda: socket.create_connection(('127.0.0.1', {port}), 5))"
    );
    let own = "import socket\ns = socket.create_server(('127.0.0.1', 0))\n\
               attempt(lambda: socket.create_connection(s.getsockname(), 5) and 'there')";
    let datagram = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                    attempt(lambda: s.sendto(b'x', ('192.0.2.1', 9)))";
    for boxed in boxes().into_iter().map(Lab::new) {
        assert!(boxed.ask(1, &connect).await.starts_with("got "));
        assert!(boxed.ask(2, &connect).await.starts_with("no "));
        assert_eq!(boxed.ask(2, own).await, "got there\n");
        assert!(boxed.ask(2, datagram).await.starts_with("no "));
    }
}

#[tokio::test]
async fn sockets_of_other_programs_are_out_of_reach() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tmux");
    let _path = UnixListener::bind(&path).unwrap();
    let name = format!("kakehashi-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _name = UnixListener::bind_addr(&address).unwrap();
    let connect = "import socket; s = socket.socket(socket.AF_UNIX); s.connect";
    let keeper = format!("{connect}('OUTSIDE/.1password/agent.sock')");
    stopped(1, &[&format!("{connect}('{}')", path.display()), &keeper]).await;
    stopped_where(1, is_whole, &[&format!("{connect}('\\0{name}')")]).await;
}

#[tokio::test]
async fn hooks_and_settings_of_git_stay_as_they_are() {
    let free = Lab::new(Boxing::Off);
    let boxed: Vec<_> = boxes().into_iter().map(Lab::new).collect();
    for lab in boxed.iter().chain([&free]) {
        let init =
            "set -e; for at in . sub a/deep; do git init -q $at; mkdir -p $at/.git/hooks; done";
        let mut git = std::process::Command::new("sh");
        git.args(["-c", init]).current_dir(lab.project());
        assert!(git.status().unwrap().success());
    }
    for attempt in [
        "open('PROJECT/.git/hooks/pre-commit', 'w')",
        "open('PROJECT/.git/config', 'a').write('[core]\\nfsmonitor = /bin/false\\n')",
        "os.rename('PROJECT/.git/hooks', 'PROJECT/.git/old')",
        "os.rename('PROJECT/.git', 'PROJECT/old')",
        "open('PROJECT/sub/.git/hooks/pre-commit', 'w')",
        "open('PROJECT/a/deep/.git/config', 'a').write('[core]\\nfsmonitor = /bin/false\\n')",
        "os.rename('PROJECT/sub/.git', 'PROJECT/sub/old')",
        // Another repository in its place would be no better.
        "os.rename('PROJECT/sub', 'PROJECT/sub2')",
        "os.rename('PROJECT/a', 'PROJECT/b')",
    ] {
        let program = format!("attempt(lambda: {attempt})");
        assert!(free.ask(1, &program).await.starts_with("got "), "{attempt}");
        for lab in &boxed {
            assert!(lab.ask(1, &program).await.starts_with("no "), "{attempt}");
        }
    }
    // The files themselves are there to be worked on.
    for lab in &boxed {
        let program = "attempt(lambda: open('PROJECT/a/deep/file', 'w').write('x'))";
        assert!(lab.ask(1, program).await.starts_with("got "));
    }
}

#[tokio::test]
async fn a_planted_link_for_git_leads_nowhere() {
    let free = Lab::new(Boxing::Off);
    let boxed: Vec<_> = boxes().into_iter().map(Lab::new).collect();
    for lab in boxed.iter().chain([&free]) {
        symlink(lab.outside().join(".ssh"), lab.project().join(".git")).unwrap();
    }
    for attempt in ["open('PROJECT/.git/id').read()", "open('OUTSIDE/.ssh/id').read()"] {
        let program = format!("attempt(lambda: {attempt})");
        assert!(free.ask(1, &program).await.starts_with("got "), "{attempt}");
        for lab in &boxed {
            assert!(lab.ask(1, &program).await.starts_with("no "), "{attempt}");
        }
    }
}

#[tokio::test]
async fn a_secret_with_a_second_name_stops_the_agent() {
    let Some(boxed) = a_box() else { return };
    let (token, twin) = (boxed.home.data.path().join("token"), boxed.home.data.path().join("twin"));
    fs::hard_link(&token, &twin).unwrap();
    let mut front = Frontend::open(boxed.process.addr, None).await;
    front.type_in("1", "hello").await;
    let failed = front.agents[0].until("output_text").await;
    assert!(failed[BODY].as_str().unwrap().contains("has a second name"), "{failed}");
    fs::remove_file(twin).unwrap();
    front.type_in("1", "hello").await;
    assert_eq!(front.agents[0].until("output_text").await[BODY], "hello there");
    assert_eq!(fs::read_to_string(token).unwrap(), TOKEN);
}
