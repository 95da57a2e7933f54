//! Sessions share the machine: what one of them starts and cancels holds up none of the others. The gateway finds a `git`
//! here that waits as long as a file is there, so that preparations can be counted while they are under way.

use crate::http::delete;
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Home, KIND, eventually, repository};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;

/// A gateway whose agents work in a git repository, and whose git can be held.
struct Held {
    home: Home,
    tools: TempDir,
    process: Process,
}

impl Held {
    fn start() -> Self {
        let (home, tools) = (Home::new(), tempfile::tempdir().unwrap());
        repository(home.project.path());
        let (hold, calls) = (tools.path().join("hold"), tools.path().join("calls"));
        let git = format!(
            "#!/bin/sh\necho begun >> {calls:?}\nwhile [ -e {hold:?} ]; do sleep 0.02; done\nPATH=${{PATH#*:}} exec git \"$@\"\n"
        );
        let file = tools.path().join("git");
        fs::write(&file, git).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let script = format!("PATH={}:$PATH exec \"$0\" \"$@\"", tools.path().display());
        let process = Process::start_under(&home, &script, "");
        Self { home, tools, process }
    }

    fn hold_path(&self) -> PathBuf {
        self.tools.path().join("hold")
    }

    fn hold(&self) {
        let _ = fs::remove_file(self.tools.path().join("calls"));
        fs::write(self.hold_path(), "").unwrap();
    }

    fn let_go(&self) {
        fs::remove_file(self.hold_path()).unwrap();
    }

    /// How many calls of git have begun since git was held; each is under way as long as it is held. One of them may be
    /// the gateway's own, which tidies up when it starts.
    fn calls(&self) -> usize {
        let calls = fs::read_to_string(self.tools.path().join("calls")).unwrap_or_default();
        calls.lines().count()
    }

    fn metric(&self, name: &str) -> u64 {
        self.process.metric(name)
    }
}

/// The input and the first agent's pane of a new session.
struct Page {
    input: Client,
    pane: Client,
}

impl Page {
    async fn open(held: &Held) -> Self {
        let input = Client::open(held.process.addr, "input", None).await;
        let pane = Client::open(held.process.addr, "1", Some(input.session())).await;
        let mut page = Self { input, pane };
        page.pane.until("welcome_text").await;
        page
    }

    async fn ask(&mut self, text: &str) {
        self.input.send(&json!({CHANNEL: "1", KIND: "input_text", BODY: text})).await;
    }

    async fn cancel(&mut self) {
        self.input.send(&json!({CHANNEL: "1", KIND: "cancel_run", BODY: ""})).await;
    }

    async fn answer(&mut self, text: &str) {
        let is_answer = |packet: &Value| {
            packet[KIND] == "output_text" && packet[BODY].as_str().unwrap().contains(text)
        };
        self.pane.until_where(is_answer).await;
    }
}

/// Preparations of one session at the same time; of all sessions in one project there are twice as many.
fn per_session() -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.clamp(2, 8) as u64 / 2
}

#[tokio::test]
async fn runs_that_are_cancelled_are_not_prepared_and_hold_up_nobody() {
    const PAIRS: u64 = 40;
    let held = Held::start();
    let (mut restless, mut patient) = (Page::open(&held).await, Page::open(&held).await);
    for page in [&mut restless, &mut patient] {
        page.ask("say ready").await;
        page.answer("ready").await;
    }
    eventually(|| held.metric("kakehashi_place_work") == 0).await;
    let before = held.metric("kakehashi_place_work_begun_total");
    held.hold();
    // The preparation of the first is under way when it is cancelled; the others are cancelled before.
    restless.ask("say first").await;
    eventually(|| held.metric("kakehashi_place_work") == 1).await;
    for _ in 0..PAIRS {
        restless.cancel().await;
        restless.pane.until("cancel_run").await;
        restless.ask("say more").await;
    }
    restless.cancel().await;
    restless.ask("say last").await;
    eventually(|| held.metric("kakehashi_runs_started_total") >= PAIRS + 4).await;
    patient.ask("say fine").await;
    // Another session begins at once, although the first one's preparation has not come to its end. Only the last run
    // still waits for its turn.
    let waiting = |held: &Held| held.metric("kakehashi_place_work_waiting");
    eventually(|| held.metric("kakehashi_place_work") >= 2 && waiting(&held) <= 1).await;
    let under_way = held.metric("kakehashi_place_work");
    assert!(under_way <= per_session() + 1, "{under_way}");
    assert!(held.calls() as u64 <= per_session() + 2, "{} calls of git", held.calls());
    held.let_go();
    patient.answer("fine").await;
    restless.answer("last").await;
    eventually(|| held.metric("kakehashi_place_work") == 0).await;
    // Two runs that came to their end are prepared and looked at afterwards; others were cancelled on the way.
    let begun = held.metric("kakehashi_place_work_begun_total") - before;
    assert!((5..=4 + per_session()).contains(&begun), "{begun}");
    assert_eq!(waiting(&held), 0);
}

#[tokio::test]
async fn a_bounded_number_of_places_is_prepared_and_sessions_take_turns() {
    let held = Held::start();
    let at_once = per_session() * 2;
    let mut pages = Vec::new();
    for _ in 0..at_once + 3 {
        pages.push(Page::open(&held).await);
    }
    held.hold();
    for page in &mut pages {
        page.ask("say done").await;
    }
    eventually(|| held.metric("kakehashi_place_work_waiting") == 3).await;
    assert_eq!(held.metric("kakehashi_place_work"), at_once);
    assert!(held.calls() as u64 <= at_once + 1, "{} calls of git", held.calls());
    held.let_go();
    for page in &mut pages {
        page.answer("done").await;
    }
    eventually(|| held.metric("kakehashi_place_work") == 0).await;
}

#[tokio::test]
async fn a_session_that_is_deleted_leaves_no_place_that_was_being_made() {
    let held = Held::start();
    let mut page = Page::open(&held).await;
    held.hold();
    page.ask("say never").await;
    eventually(|| held.metric("kakehashi_place_work") == 1).await;
    page.cancel().await;
    page.pane.until("cancel_run").await;
    let session = page.input.session().to_owned();
    let deletion = delete(&format!("/api/sessions/{session}")).local();
    let deleting = tokio::spawn(deletion.send(held.process.addr));
    page.pane.closed().await;
    held.let_go();
    assert_eq!(deleting.await.unwrap().status, 204);
    let places = held.home.data.path().join("worktrees").join(&session);
    assert!(!places.exists(), "{places:?} is left");
}
