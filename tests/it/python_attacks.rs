//! Code that tries to get out of its closed view, with Landlock as it is and as an older kernel has it, as the user who
//! runs the tests and as an ordinary one. What can be tried without a box has to succeed there, or it would prove nothing.

use crate::python::{self, Lab, SALES};
use kakehashi::python::{BoxMeans, Failure, Limits, Variables};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// In the box nobody imports `os`, but everybody finds it.
const BOXED: &str = "os = pd.io.common.os\nsys = os.sys\n";
const BARE: &str = "import os, sys\n";
const TRIES: &str = r#"
def imp(name):
    return sys.modules["importlib"].import_module(name)
def attempt(action):
    try:
        action()
        print("got")
    except BaseException as problem:
        print("no", type(problem).__name__, problem)
ctypes = imp("ctypes")
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
def forked():
    if os.fork() == 0:
        os._exit(0)
def sent(kind, address):
    socket = imp("socket").socket(*kind)
    socket.connect(address)
    socket.send(b"x")
"#;

/// Everything here works for a program without a box.
const ATTEMPTS: &[&str] = &[
    "open('/etc/passwd').read()",
    "open('OUTSIDE/secret').read()",
    "os.listdir('OUTSIDE').index('secret')",
    "os.listdir('/').index('etc')",
    "open('OUTSIDE/new', 'w')",
    "open('/tmp/kakehashi-analysis', 'w')",
    "os.utime('OUTSIDE/secret')",
    "sent((2, 1), ('127.0.0.1', TCP))",
    "sent((2, 2), ('127.0.0.1', UDP))",
    "sent((1, 1), 'OUTSIDE/socket')",
    "forked()",
    "imp('threading').Thread(target=int).start()",
    "imp('subprocess').run(['/bin/sh', '-c', 'true'], check=True)",
    "imp('subprocess').run([sys.executable, '-c', ''], check=True)",
    "[0].index(os.system('true'))",
    "os.memfd_create('x')",
    "os.symlink('/etc/passwd', 'link')",
    "os.link('OUTSIDE/secret', 'twin')",
    "os.mkfifo('fifo')",
    "os.pipe()",
    "os.kill(os.getppid(), 0)",
    "os.kill(OWN, 0)",
    "open(f'/proc/{os.getppid()}/environ').read(1)",
    "open('/proc/OWN/environ').read(1)",
    "open(f'/proc/{os.getppid()}/maps').read(1)",
    "os.listdir(f'/proc/{os.getppid()}/fd')[0]",
    "open('/proc/meminfo').read(1)",
    "open('/proc/sys/kernel/hostname').read(1)",
    "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "call(29, 0, 4096, 0o1600)",
    "np_ones(3 * 10 ** 9)",
];

/// These are refused to most programs anyway, or would do harm without a box.
const MORE: &[&str] = &[
    "os.setsid()",
    "os.kill(os.getppid(), 9)",
    "os.kill(1, 9)",
    "os.kill(-1, 9)",
    "os.killpg(0, 9)",
    "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "open(f'/proc/{os.getppid()}/mem', 'r+b')",
    "os.listdir('/proc/1/root')",
    "os.listdir(f'/proc/{os.getppid()}/root')",
    "os.write(200, b'x')",
    "os.write(201, b'x')",
    "os.mknod('device', 0o20666, 0x103)",
    "os.setxattr('/workspace', 'user.a', b'b')",
    "os.chmod('/python', 0o777)",
    "os.rename('/workspace', '/other')",
    "open('/python/packages/numpy/__init__.py', 'a')",
    "open('/dev/new', 'w')",
    "open('sales.csv', 'a')",
    "os.unlink('sales.csv')",
    "os.rename('sales.csv', 'other')",
    "os.replace(open('other.csv', 'w').name, 'sales.csv')",
    "imp('socket').socket(17, 3, 0)",
    "imp('socket').socketpair()",
    "imp('resource').setrlimit(imp('resource').RLIMIT_AS, (-1, -1))",
    "imp('resource').setrlimit(imp('resource').RLIMIT_CPU, (9999, 9999))",
    "imp('resource').prlimit(os.getppid(), 6, (1, 1))",
    "imp('fcntl').fcntl(1, 8, os.getppid())",
    "imp('fcntl').fcntl(1, 1031, 1 << 20)",
    "call(101, 16, os.getppid(), 0, 0)",
    "call(310, os.getppid(), 0, 0, 0, 0, 0)",
    "call(272, 0x10000000)",
    "call(165, b'x', b'/workspace', b'tmpfs', 0, 0)",
    "call(425, 1, 0)",
    "call(321, 0, 0, 0)",
    "call(250, 0, 0, 0, 0, 0)",
    "call(323, 0)",
    "call(0x40000000 + 41, 1, 1, 0)",
    "call(56, 0x11, 0, 0, 0, 0)",
    "call(58)",
    "call(435, 0, 0)",
    "call(317, 1, 0, 0)",
];

/// The boxes, each as the user who runs the tests and, if that is root, as nobody; with what that needs.
fn all() -> (Vec<BoxMeans>, tempfile::TempDir) {
    let mut all = python::boxes();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if rustix::process::geteuid().is_root() && anybody_gets_to(place.path()) {
        let supervisor = as_nobody(place.path());
        let nobody = all.clone().into_iter().map(|mut one| {
            one.launcher.supervisor.clone_from(&supervisor);
            one
        });
        all.extend(nobody.collect::<Vec<_>>());
    }
    (all, place)
}

/// A checkout in a home that is closed to others cannot be used by nobody: neither our binary nor the packages.
fn anybody_gets_to(place: &Path) -> bool {
    let open = |directory: &Path| {
        fs::metadata(directory).is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
    };
    place.ancestors().all(open)
}

/// A wrapper around our binary that gives up root first.
fn as_nobody(place: &Path) -> PathBuf {
    let (binary, wrapper) = (place.join("kakehashi"), place.join("wrapper"));
    // A link, because a copy cannot be run while another test forks.
    fs::hard_link(env!("CARGO_BIN_EXE_kakehashi"), &binary).unwrap();
    let exec = "exec setpriv --reuid=65534 --regid=65534 --clear-groups";
    // A script that is open for writing in a fork of another test cannot be run either; a shell can read it.
    fs::write(place.join("script"), format!("{exec} {} \"$@\"\n", binary.display())).unwrap();
    let made = Command::new("sh")
        .arg("-c")
        .arg("printf '#!/bin/sh\n. %s/script\n' \"$0\" > \"$1\" && chmod 755 \"$1\"")
        .args([place, &wrapper])
        .status();
    assert!(made.unwrap().success());
    wrapper
}

#[tokio::test]
async fn nothing_outside_is_reached_by_any_attack_of_the_table() {
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let _unix = UnixListener::bind(outside.path().join("socket")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let filled = |attempt: &&str| {
        attempt
            .replace("OUTSIDE", &outside.path().display().to_string())
            .replace("OWN", &std::process::id().to_string())
            .replace("TCP", &tcp.local_addr().unwrap().port().to_string())
            .replace("UDP", &udp.local_addr().unwrap().port().to_string())
    };
    let script = |start: &str, attempts: &[&str]| {
        let lines = attempts.iter().map(filled).map(|one| format!("attempt(lambda: {one})\n"));
        format!("{start}{TRIES}{}", lines.collect::<String>())
    };
    let ones = "def np_ones(count):\n    return bytearray(count)\n";
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut bare = Command::new("python3");
    bare.arg("-c").arg(script(&format!("{BARE}{ones}"), ATTEMPTS)).current_dir(scratch.path());
    let said = bare.output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    // Another disk has no second names for files of this one, and not every machine has the older call.
    for (attempt, line) in ATTEMPTS.iter().zip(said.lines()) {
        assert_eq!(line, "got", "it proves nothing: {attempt}");
    }
    assert_eq!(said.lines().count(), ATTEMPTS.len(), "{said}");
    let both: Vec<_> = ATTEMPTS.iter().chain(MORE).copied().collect();
    fs::remove_file(outside.path().join("new")).unwrap();
    let ones = "def np_ones(count):\n    return np.ones(count // 8).sum()\n";
    let (boxes, _place) = all();
    for boxes in boxes {
        let which = format!("{:?} {:?}", boxes.means, boxes.launcher.supervisor);
        let files = [("sales.csv", SALES.as_bytes())];
        let mut lab = Lab::with(&files, Limits::default(), boxes).await.unwrap();
        for variables in [Variables::Fresh, Variables::Kept] {
            let done = lab.act(&script(&format!("{BOXED}{ones}"), &both), variables).await;
            assert_eq!(done.failure, None, "{which}: {}", done.stdout);
            assert_eq!(done.stdout.lines().count(), both.len(), "{which}: {}", done.stdout);
            for (attempt, line) in both.iter().zip(done.stdout.lines()) {
                assert!(line.starts_with("no "), "it got through {which}: {attempt}: {line}");
            }
        }
        let done = lab.run("print(len(df), sorted(pd.io.common.os.environ))").await;
        assert!(done.stdout.starts_with("3 ["), "{which}: {done:?}");
        assert!(!done.stdout.contains("PATH") && !done.stdout.contains("KAKEHASHI"), "{done:?}");
        assert_eq!(fs::read_to_string(lab.outside.path().join("sales.csv")).unwrap(), SALES);
        assert!(!outside.path().join("new").exists());
        lab.interpreter.end().await;
    }
    tcp.set_nonblocking(true).unwrap();
    // The one that was sent without a box.
    assert!(tcp.accept().is_ok() && tcp.accept().is_err());
}

/// What the guard of the origin let through or stopped, by what happens here.
#[tokio::test]
async fn every_vector_of_the_origin_has_no_effect_outside() {
    let forbidden = "cannot be imported here; allowed are";
    let vectors: &[(&str, Option<&str>)] = &[
        ("import os", Some(forbidden)),
        ("from os import path", Some(forbidden)),
        ("open(\"a\")", Some("No such file")),
        ("x=pd.read_csv(\"/etc/passwd\")", Some("No such file")),
        ("df.to_csv(\"/tmp/x.csv\")", Some("/tmp")),
        ("__builtins__[\"open\"](\"/etc/passwd\")", Some("No such file")),
        ("np.fromfile(\"/etc/passwd\")", Some("No such file")),
        ("assert pd.io.common.os.system(\"id\") == 0", Some("AssertionError")),
        ("import json", None),
        ("import datetime", None),
        ("from . import x", Some(forbidden)),
        ("import scipy", Some(forbidden)),
        ("def", Some("SyntaxError")),
        ("import io", None),
        ("import plotly", Some(forbidden)),
        ("from sklearn.cluster import KMeans", None),
        ("__import__(\"os\")", Some(forbidden)),
        ("input()", Some("EOFError")),
    ];
    for boxes in python::boxes() {
        let files = [("sales.csv", SALES.as_bytes())];
        let mut lab = Lab::with(&files, Limits::default(), boxes).await.unwrap();
        for (code, expected) in vectors {
            let done = lab.run(code).await;
            match (expected, done.error()) {
                (None, None) => (),
                (Some(part), Some(error)) if error.contains(part) => (),
                (_, error) => panic!("{code}: {error:?}"),
            }
        }
        // The two that are left: what `eval` can do is what the rest can do, and a loop is ended by the clock.
        lab.run("getattr(__builtins__,\"eval\")(\"1\")").await;
        assert!(!Path::new("/tmp/x.csv").exists());
        lab.interpreter.end().await;
    }
}

#[tokio::test]
async fn a_child_cannot_lay_traps_for_its_parent_or_the_next_child() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    let traps = "os = pd.io.common.os\nassert os.listdir('/workspace') == ['sales.csv']\n\
        for name in ('json.py', 'numpy.py', 'kakehashi_child.py', 'kakehashi_reader.py', 'sitecustomize.py', 'x.pth', 'matplotlibrc'):\n\
        \x20   open(name, 'w').write('import os; os.write(1, b\"trapped\"); raise SystemExit(9)')\n\
        for shadow in ('pandas', 'sklearn'):\n\
        \x20   os.mkdir(shadow); open(shadow + '/__init__.py', 'w').write('boom(')\n\
        os.mkdir('.config')\n\
        open('.hidden', 'w'); open('-rf', 'w'); open('bad\\nname', 'w')\n\
        open(b'\\xff\\xfe', 'w')\n\
        pd.read_csv = None\n\
        np.sum = lambda *a: 'changed'\n\
        os.chmod('json.py', 0)\n\
        os.chmod('/workspace', 0)";
    let done = lab.run(traps).await;
    assert_eq!(done.failure, None, "{done:?}");
    let names: Vec<_> = done.outputs.iter().map(|one| one.name.as_str()).collect();
    assert!(!names.contains(&"json.py") && names.contains(&"numpy.py"), "{names:?}");
    assert!(names.iter().all(|name| !name.starts_with(['.', '-']) && name.is_ascii()), "{names:?}");
    let why = |name: &str| {
        let found = done.skipped.iter().find(|one| one.name.contains(name));
        found.map(|one| one.why.as_str())
    };
    assert_eq!(why("pandas"), Some("directory"));
    assert_eq!(why(".hidden"), Some("name"));
    assert_eq!(why("json.py"), Some("unreadable"));
    let done = lab
        .run("import statistics\nprint(np.sum([1, 2]), len(df), len(pd.read_csv('sales.csv')))")
        .await;
    assert_eq!((done.stdout.as_str(), done.failure), ("3 3 3\n", None));
    assert_eq!(
        lab.interpreter.describe("sales.csv", &Default::default()).await.unwrap().shape,
        [3, 3]
    );
    lab.interpreter.end().await;
}

#[tokio::test]
async fn whatever_a_child_writes_as_its_result_concerns_only_itself() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    for variables in [Variables::Fresh, Variables::Kept] {
        for forged in [
            "b'S\\x00\\x00\\x00\\x00'",
            "b'S\\xff\\xff\\xff\\xff' + b'x' * 3000000",
            "b'\\x00' * 9",
            "b'?\\x00\\x00\\x00\\x02\\xff\\xff'",
            "b'{\"kind\": \"file\", \"name\": \"../../x\", \"bytes\": 1}' * 9",
        ] {
            let code = format!(
                "pd.io.common.os.write(3, {forged})\nfor one in range(3): pd.io.common.os.close(one)"
            );
            let done = lab.act(&code, variables).await;
            assert!(done.outputs.is_empty(), "{forged}: {done:?}");
        }
        let done = lab.act("print('alive')", Variables::Fresh).await;
        assert_eq!((done.stdout.as_str(), done.failure), ("alive\n", None));
    }
    // It ends in the middle of everything.
    let done = lab.run("pd.io.common.os._exit(0)").await;
    assert!(matches!(done.failure, Some(Failure::Killed(0))), "{done:?}");
    let done = lab.run("pd.io.common.os.abort()").await;
    assert!(matches!(done.failure, Some(Failure::Killed(_))), "{done:?}");
    lab.interpreter.end().await;
}
