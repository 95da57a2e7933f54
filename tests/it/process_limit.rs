//! A machine, or a service's limit, that refuses threads and processes: the gateway goes on, says so, and works again
//! when it may.

use crate::process::Process;
use crate::sandbox::visible;
use crate::support::{BODY, CHANNEL, Client, Home, KIND, eventually, repository};
use rustix::process::{Resource, geteuid, getrlimit};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The limit does not bind root. Nobody else has this number.
const USER: u32 = 61_234;

/// A gateway of an ordinary user.
struct Limited {
    process: Process,
    home: Home,
    _binary: TempDir,
}

/// A copy of the binary that everybody can run, and the script that runs it as an ordinary user.
fn as_user(before: &str) -> (TempDir, String) {
    let place = visible();
    let binary = place.path().join("kakehashi");
    fs::copy(env!("CARGO_BIN_EXE_kakehashi"), &binary).unwrap();
    let shown = Command::new("chmod").arg("755").arg(place.path()).arg(&binary).status().unwrap();
    assert!(shown.success());
    (place, format!("exec {before} {} {} \"$@\"", user(), binary.display()))
}

fn user() -> String {
    match geteuid().is_root() {
        true => format!("setpriv --reuid={USER} --regid={USER} --clear-groups"),
        false => String::new(),
    }
}

fn give_away(directory: &Path) {
    if geteuid().is_root() {
        let owner = format!("{USER}:{USER}");
        let done = Command::new("chown").args(["-R", &owner]).arg(directory).status().unwrap();
        assert!(done.success());
    }
}

impl Limited {
    fn start() -> Self {
        let home = Home::new();
        repository(home.project.path());
        // A level as wide as this is read by several threads.
        for number in 0..100 {
            let directory = home.project.path().join(format!("{number}"));
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("file.txt"), "").unwrap();
        }
        give_away(home.project.path());
        give_away(home.data.path());
        let (binary, script) = as_user("");
        let process = Process::start_under(&home, &script, "");
        Self { process, home, _binary: binary }
    }

    /// From now on the gateway may have so many threads and processes, or as many as anybody. Set by its own user, who
    /// is the only one to need no right for that.
    fn limit(&self, most: Option<u64>) {
        let most = most.or(getrlimit(Resource::Nproc).maximum);
        let most = most.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
        let script = format!("{} prlimit --pid {} --nproc={most}:", user(), self.process.pid());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }
}

async fn answer(pane: &mut Client, word: &str) -> Value {
    pane.until_where(|packet| packet[BODY].as_str().is_some_and(|body| body.contains(word))).await
}

#[tokio::test]
async fn a_refused_thread_or_process_is_told_and_ends_nothing() {
    let gateway = Limited::start();
    let addr = gateway.process.addr;
    let mut input = Client::open(addr, "input", None).await;
    let session = input.session().to_owned();
    let mut file = Client::open(addr, "file", Some(&session)).await;
    let mut chat = Client::open(addr, "0", Some(&session)).await;
    let mut pane = Client::open(addr, "1", Some(&session)).await;
    gateway.limit(Some(1));

    // Nothing is watched and one thread reads, but there is a list, and it is kept up to date.
    let list = json!({CHANNEL: "file", KIND: "files_backup", BODY: ""});
    input.send(&list).await;
    let files = |packet: &Value| packet[BODY]["ファイルリスト"].as_array().map_or(0, Vec::len);
    assert_eq!(files(&file.until("files_backup").await), 100);
    let new = gateway.home.project.path().join("new.txt");
    fs::write(&new, "").unwrap();
    if geteuid().is_root() {
        chown(&new, Some(USER), Some(USER)).unwrap();
    }
    loop {
        input.send(&list).await;
        if files(&file.until("files_backup").await) == 101 {
            break;
        }
    }

    // An agent needs processes, and its user learns why it has none.
    for _ in 0..3 {
        input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "say never"})).await;
        let told = answer(&mut pane, "作業場所がありません").await;
        assert!(told[BODY].as_str().unwrap().contains("プロセス数の上限"), "{told}");
    }
    input.send(&json!({CHANNEL: "0", KIND: "input_text", BODY: "still there?"})).await;
    answer(&mut chat, "still there?").await;
    assert_eq!(gateway.process.metric("kakehashi_panics_total"), 0);

    gateway.limit(None);
    input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "say fine"})).await;
    pane.until_where(|packet| packet[KIND] == "output_text" && packet[BODY] == "fine").await;
    eventually(|| gateway.process.metric("kakehashi_place_work") == 0).await;
    assert_eq!(gateway.process.metric("kakehashi_panics_total"), 0);
}

/// In the project itself an agent needs no git, so its own process is the first one that is refused.
#[tokio::test]
async fn an_agent_whose_process_is_refused_says_why() {
    let home = Home::new();
    give_away(home.project.path());
    give_away(home.data.path());
    let (binary, script) = as_user("");
    let process = Process::start_under(&home, &script, "");
    let gateway = Limited { process, home, _binary: binary };
    let mut input = Client::open(gateway.process.addr, "input", None).await;
    let mut pane = Client::open(gateway.process.addr, "1", Some(input.session())).await;
    gateway.limit(Some(1));
    input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "run echo never"})).await;
    let told = answer(&mut pane, "プロセス数の上限").await;
    assert!(told[BODY].as_str().unwrap().contains("起動できません"), "{told}");
    gateway.limit(None);
    input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: "run echo fine"})).await;
    answer(&mut pane, "fine").await;
}

/// Whoever needs a thread when the system refuses them takes one of these.
#[tokio::test]
async fn threads_for_later_are_there_from_the_start() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let threads = || fs::read_dir(format!("/proc/{}/task", process.pid())).unwrap().count();
    // The first one, one for each core, the one that writes, and eight for work that blocks.
    let wanted = std::thread::available_parallelism().map_or(1, usize::from) + 10;
    eventually(|| threads() >= wanted).await;
}

#[test]
fn a_gateway_that_gets_no_threads_says_so_and_does_not_start() {
    let home = Home::new();
    give_away(home.project.path());
    give_away(home.data.path());
    let (_binary, script) = as_user("prlimit --nproc=1:1");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "kakehashi", "--listen", "127.0.0.1:0"]);
    command.arg("--project").arg(home.project.path()).arg("--data").arg(home.data.path());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("TasksMax"), "{said}");
}

#[test]
fn a_command_that_only_asks_the_gateway_needs_no_threads() {
    let home = Home::new();
    give_away(home.data.path());
    let (_binary, script) = as_user("prlimit --nproc=1:1");
    let mut say = Command::new("sh");
    say.args(["-c", &script, "sh", "say", "hello", "--data"]).arg(home.data.path());
    let output = say.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("no gateway is running"), "{told}");
}
