//! How much of the machine an analysis may take, and that nothing of it is left when it is stopped.

use crate::python::{self, Lab, SALES};
use kakehashi::python::{Action, Failure, Interpreter, Limits, PythonError, Variables, Workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const ENDLESS: &str = "print('started', flush=True)\nwhile True: pass";
/// Set for a second process of these tests that is to be killed.
const VICTIM: &str = "KAKEHASHI_TEST_VICTIM";

/// Every process that was started for this place, with all that came out of it.
fn family(place: &Path) -> BTreeSet<u32> {
    let name = place.display().to_string();
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let entry = entry.ok()?;
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let is_alive = fields.next()? != "Z";
        let parent: u32 = fields.next()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let is_root = String::from_utf8_lossy(&line).contains(&name);
        is_alive.then_some((pid, parent, is_root))
    });
    let all: Vec<_> = all.collect();
    let mut found: BTreeSet<_> = all.iter().filter(|one| one.2).map(|one| one.0).collect();
    loop {
        let before = found.len();
        found.extend(
            all.iter().filter(|one| found.contains(&one.1)).map(|one| one.0).collect::<Vec<_>>(),
        );
        if found.len() == before {
            return found;
        }
    }
}

async fn all_gone(processes: &BTreeSet<u32>) {
    let limit = Instant::now() + Duration::from_secs(60);
    while processes.iter().any(|pid| is_alive(*pid)) {
        assert!(Instant::now() < limit, "some are left of {processes:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn an_endless_loop_is_ended_by_the_clock_and_the_next_action_runs() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    let time = Some(Duration::from_secs(1));
    let code = "open('before.txt', 'w').write('x')\nprint('begun')\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass";
    let action = Action { code: code.to_owned(), variables: Variables::Fresh, time };
    let before = family(lab.outside.path());
    assert!(before.len() >= 4, "{before:?}");
    let done = lab.interpreter.run(&action, &CancellationToken::new(), |_| ()).await.unwrap();
    assert_eq!(done.failure, Some(Failure::Time(Duration::from_secs(1))));
    assert!(done.stdout.starts_with("begun"));
    all_gone(&before).await;
    let done = lab.run("print(len(df))").await;
    assert_eq!((done.stdout.as_str(), done.failure), ("3\n", None));
    lab.interpreter.end().await;
}

#[tokio::test]
async fn a_cancel_leaves_no_process() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    for variables in [Variables::Fresh, Variables::Kept] {
        let stop = CancellationToken::new();
        let action = Action { code: ENDLESS.to_owned(), variables, time: None };
        let place = lab.outside.path().to_owned();
        let mut seen = BTreeSet::new();
        let ended = lab.interpreter.run(&action, &stop, |said| {
            assert_eq!(said, "started\n");
            seen = family(&place);
            stop.cancel();
        });
        assert!(matches!(ended.await, Err(PythonError::Cancelled)));
        assert!(seen.len() >= 5 && !seen.iter().any(|pid| is_alive(*pid)), "{seen:?}");
    }
    let place = lab.outside.path().to_owned();
    lab.run("1").await;
    let seen = family(&place);
    lab.interpreter.end().await;
    assert!(!seen.is_empty() && !seen.iter().any(|pid| is_alive(*pid)));
}

#[tokio::test]
async fn a_dropped_interpreter_ends_by_itself() {
    let Some(lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    let seen = family(lab.outside.path());
    assert!(seen.len() >= 4, "{seen:?}");
    drop(lab.interpreter);
    all_gone(&seen).await;
}

/// A gateway of its own, which is only this test in another process, is killed while an action runs.
#[tokio::test]
async fn no_analysis_survives_kill_9_of_the_gateway() {
    if let Ok(place) = std::env::var(VICTIM) {
        let boxes = python::boxes().remove(0);
        let file = kakehashi::python::DataFile {
            name: "sales.csv".to_owned(),
            path: Path::new(&place).join("sales.csv"),
        };
        let workspace = Workspace { files: vec![file], chosen: None };
        let (environment, stop) = (python::environment().await, CancellationToken::new());
        let started = Interpreter::start(environment, &boxes, workspace, Limits::default(), &stop);
        let mut interpreter = started.await.unwrap();
        let action = Action { code: ENDLESS.to_owned(), variables: Variables::Fresh, time: None };
        let told = |_: &str| fs::write(Path::new(&place).join("running"), "").unwrap();
        let _ = interpreter.run(&action, &stop, told).await;
        return;
    }
    if python::boxes().is_empty() {
        return;
    }
    python::environment().await;
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("sales.csv"), SALES).unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.args(["--exact", "python_limits::no_analysis_survives_kill_9_of_the_gateway"]);
    victim.env(VICTIM, place.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut victim = victim.spawn().unwrap();
    let limit = Instant::now() + Duration::from_secs(200);
    while !place.path().join("running").exists() {
        assert!(Instant::now() < limit, "it did not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let seen = family(place.path());
    assert!(seen.len() >= 5, "{seen:?}");
    victim.kill().unwrap();
    victim.wait().unwrap();
    all_gone(&seen).await;
}

#[tokio::test]
async fn memory_disk_and_output_are_limited_and_told() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    for code in ["np.ones(3 * 10 ** 9 // 8)", "x = []\nwhile True: x.append('a' * 10 ** 7)"] {
        let done = lab.run(code).await;
        assert_eq!(done.failure, Some(Failure::Memory(1 << 30)), "{done:?}");
        assert!(done.error().unwrap().contains("more than 1 GB of memory"));
    }
    let fill =
        "with open('big', 'wb') as file:\n  for _ in range(400): file.write(b'x' * (1 << 20))";
    let done = lab.run(fill).await;
    assert_eq!(done.failure, Some(Failure::Disk(256 << 20)), "{done:?}");
    let why: Vec<_> =
        done.skipped.iter().map(|one| (one.name.as_str(), one.why.as_str())).collect();
    assert_eq!(why, [("big", "large")]);
    // A full disk keeps nobody from working: what was not handed over is gone.
    let done = lab.run("print(len(df), pd.io.common.os.listdir())").await;
    assert_eq!((done.stdout.as_str(), done.failure), ("3 ['sales.csv']\n", None));
    // numpy does not say why it could not write, and imports `os` on its way.
    let done = lab.run("np.ones(270 << 17).tofile('big')").await;
    assert_eq!(done.failure, Some(Failure::Disk(256 << 20)), "{done:?}");
    assert!(done.error().unwrap().contains("save fewer or smaller"), "{done:?}");
    let many = "for one in range(9000): open(f'n{one}', 'w').close()";
    let done = lab.run(many).await;
    assert_eq!(done.failure, Some(Failure::Files(4096)), "{done:?}");
    assert_eq!(done.outputs.len(), 20);
    assert!(done.skipped.iter().all(|one| one.why == "many"));
    let done = lab.run("print('head')\nprint('x' * (1 << 20))\nprint('tail')").await;
    assert!(done.stdout.starts_with("head\nxxx") && done.stdout.ends_with("xxx\ntail\n"));
    assert!(done.stdout.len() < 66 * 1024 && done.stdout.contains("bytes are left out"));
    assert_eq!(done.cut, (1 << 20) + 5 + 5 + 1 - (64 << 10));
    lab.interpreter.end().await;
}

#[tokio::test]
async fn every_action_finds_room_and_the_newest_files_of_earlier_ones() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    for number in 0..6 {
        // 36 MB that are handed over, and 70 MB that are not.
        let code = format!(
            "for part in 'ab': open(f'{number}{{part}}', 'wb').write(b'x' * (18 << 20))\n\
             os = pd.io.common.os\nos.makedirs('d/e')\nos.chmod('d/e', 0)\n\
             open('.hidden', 'wb').write(b'x' * (20 << 20))\nopen('d/f', 'wb').write(b'x' * (20 << 20))\n\
             open('large', 'wb').write(b'x' * (30 << 20))"
        );
        let done = lab.run(&code).await;
        assert_eq!(done.failure, None, "{number}: {done:?}");
        assert_eq!(done.outputs.len(), 2);
    }
    let done = lab.run("print(sorted(pd.io.common.os.listdir()))").await;
    let all = done.stdout;
    assert!(all.contains("'5a', '5b'") && all.contains("'sales.csv'"), "{all}");
    for gone in ["'0a'", "large", ".hidden", "'d'"] {
        assert!(!all.contains(gone), "{all}");
    }
    lab.interpreter.end().await;
}

/// The supervisor that hears nothing at first stands for one that the machine has no time for.
#[tokio::test]
async fn a_cancel_at_any_moment_of_the_start_ends_it_soon() {
    let Some(mut boxes) = python::boxes().into_iter().next() else { return };
    let environment = python::environment().await;
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("sales.csv"), SALES).unwrap();
    let wrapper = place.path().join("wrapper");
    // Written by a shell, because no file that is open for writing in a fork of another test can be run.
    let script = "printf '%s\n' '#!/bin/sh' \"trap '' QUIT\" 'sleep 0.5' \"exec $0 \\\"\\$@\\\"\" > \"$1\" && chmod 755 \"$1\"";
    let mut made = Command::new("sh");
    made.args(["-c", script, env!("CARGO_BIN_EXE_kakehashi")]).arg(&wrapper);
    assert!(made.status().unwrap().success());
    boxes.launcher.supervisor = wrapper;
    let file = kakehashi::python::DataFile {
        name: "sales.csv".to_owned(),
        path: place.path().join("sales.csv"),
    };
    let workspace = Workspace { files: vec![file], chosen: None };
    for millis in [0, 100, 450, 550, 700, 1000, 1500] {
        let stop = CancellationToken::new();
        let (files, limits) = (workspace.clone(), Limits::default());
        let starting = Interpreter::start(environment, &boxes, files, limits, &stop);
        let cancelling = async {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            stop.cancel();
            Instant::now()
        };
        let (started, cancelled) = tokio::join!(starting, cancelling);
        match started {
            Ok(interpreter) => interpreter.end().await,
            Err(PythonError::Cancelled) => (),
            Err(err) => panic!("{millis}: {err}"),
        }
        assert!(cancelled.elapsed() < Duration::from_secs(20), "{millis}: {cancelled:?}");
        assert_eq!(family(place.path()), BTreeSet::new(), "{millis}");
    }
}

#[tokio::test]
async fn variables_are_kept_only_where_that_is_asked_for() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    let kept = Variables::Kept;
    assert_eq!(lab.act("x = len(df)", kept).await.failure, None);
    assert_eq!(lab.act("print(x + 1); df['new'] = 1", kept).await.stdout, "4\n");
    assert_eq!(lab.act("print('new' in df)", kept).await.stdout, "True\n");
    assert_eq!(lab.run("print('x' in globals(), 'new' in df)").await.stdout, "False False\n");
    let done = lab.act("1 / 0", kept).await;
    assert!(done.error().unwrap().ends_with("ZeroDivisionError: division by zero"), "{done:?}");
    assert_eq!(lab.act("print(x)", kept).await.stdout, "3\n");
    assert!(matches!(
        lab.act("pd.io.common.os._exit(1)", kept).await.failure,
        Some(Failure::Killed(_))
    ));
    assert_eq!(lab.act("print('x' in globals())", kept).await.stdout, "False\n");
    lab.interpreter.end().await;
}

#[tokio::test]
async fn an_interpreter_that_was_killed_is_started_again() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    for pid in family(lab.outside.path()) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    assert!(matches!(lab.run("1").await.failure, Some(Failure::Ended(_))));
    assert_eq!(lab.run("print(len(df))").await.stdout, "3\n");
    lab.interpreter.end().await;
}
