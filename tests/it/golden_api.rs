//! Golden frames of the session API, one for each kind in both directions.
//! `UPDATE_FIXTURES=1 cargo test golden_api` writes what the gateway sends anew.

use crate::docs::files_below;
use crate::samples::{
    BACKUP, answer_note, backups, comparison_row, confirmation, dataset, decision, diff_note,
    execution, file_note, logged, run_summary, steps, tool_note, usage, version,
};
use bytes::Bytes;
use kakehashi::dialect::api::{
    ApiDialect, ApiError, Hello, RequestedSession, client_types, read_hello, refusal,
};
use kakehashi::dialect::{Dialect, Encoder, Frame, Received, Refusal};
use kakehashi::locale::Locale;
use kakehashi::message::{
    AgentReport, AgentSet, AgentSlot, AgentState, AudioChunk, Branch, CancelScope, Channel,
    CheckWish, Choice, ChoiceKind, Chosen, ChosenOutcome, Command, ComparisonRow, ConfirmId,
    Confirmed, Conflict, Dataset, DecidedBy, Delivery, Epoch, Event, Features, FileList,
    Generation, Greeting, Inbound, Interruption, KnownList, ListKind, ListRoots, ListScope,
    ListedFile, ModelOffer, NextAction, Notice, Offered, Order, PlanStep, PlanStepState,
    PlaybackAck, Problem, Recorded, ReportStage, RequestNo, RestorePoint, Route, RunId, RunOutcome,
    SampleRate, SecondYes, SentSessionId, SessionId, Setting, SettingChange, SettingProblem,
    SettingsNote, Signal, Speaker, StateNote, StopReason, SystemNotice, TalkKey, ToolChoice,
    ToolState, TurnTimes, Typed, View, WatchTarget, WatchWish, Work, WorkplaceChoice,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const AGENT: AgentSlot = AgentSlot::ALL[1];
const PANE: Channel = Channel::Agent(AGENT);

/// One sample for each variant of an enum: a new variant does not compile without a row, and a row needs its fixture.
macro_rules! one_each {
    ($of:ty { $($pattern:pat => $name:literal, $sample:expr;)+ }) => {{
        let _every_variant_has_a_row = |one: &$of| match one { $($pattern => (),)+ };
        vec![$({
            let sample: $of = $sample;
            assert!(matches!(sample, $pattern), "{}: {sample:?}", $name);
            ($name, sample)
        }),+]
    }};
}
pub(crate) use one_each;

/// Every event, with the channel on which a client finds it.
fn events() -> Vec<(&'static str, Channel, Event)> {
    let text = || "これは？ \"quoted\"\nlines".to_owned();
    let rows = one_each!(Event {
        Event::UserText { .. } => "user_text", Event::UserText { text: text(), attachments: vec!["temp/input/a.png".into()] };
        Event::UserRequest { .. } => "user_request", Event::UserRequest { text: "fix it".into(), attachments: vec![] };
        Event::UserFile(_) => "user_file", Event::UserFile(file_note());
        Event::Text { .. } => "reply", Event::Text { text: text(), run: Some(RunId(3)), note: answer_note() };
        Event::RunStarted(_) => "run_started", Event::RunStarted(RunId(3));
        Event::RunLine(_) => "run_line", Event::RunLine("\u{1b}[1mbold".into());
        Event::Tool(_) => "tool", Event::Tool(tool_note(ToolState::Completed));
        Event::Plan(_) => "plan", Event::Plan(PlanStepState::ALL.map(step).into());
        Event::ConfirmAsked(_) => "question", Event::ConfirmAsked(confirmation(AGENT));
        Event::ConfirmSettled { .. } => "question_settled", settled();
        Event::RunEnded(_) => "run_ended", Event::RunEnded(RunOutcome::Finished);
        Event::RunSummed(_) => "result", Event::RunSummed(run_summary());
        Event::Chosen(_) => "decision_done", chosen(ChoiceKind::Discard, done());
        Event::FileMade(_) => "file", Event::FileMade(file_note());
        Event::RequestAnswered { .. } => "agent_reply", Event::RequestAnswered { text: "42".into(), by: Some(AGENT) };
        Event::FilesChanged { .. } => "files_changed", changed();
        Event::Transcript { .. } => "transcript", said(Speaker::User, None);
        Event::CancelTaken => "cancel_taken", Event::CancelTaken;
        Event::AgentReport(_) => "agent_report", report(ReportStage::Started { request: "fix it".into() });
        Event::Notice(_) => "notice", Event::Notice(Notice::Queued { run: RunId(4), place: 1 });
        Event::Work(_) => "exec_failed", Event::Work(Work::Execution(execution("", Some("KeyError: 'area'"))));
        Event::Files { .. } => "files_project", project_files();
    });
    let heard = Duration::from_millis(1200);
    let conflict = Conflict { path: "src/main.rs".into(), kind: "contents".into() };
    let reason = "the server's disk is full; ask the operator to make room, then try again".into();
    let further = vec![
        ("run_ended_interrupted", Event::RunEnded(RunOutcome::Interrupted)),
        ("decision_conflict", {
            chosen(ChoiceKind::Accept, ChosenOutcome::Conflicts(vec![conflict]))
        }),
        ("decision_failed", chosen(ChoiceKind::Restore, ChosenOutcome::Failed { reason })),
        ("transcript_interrupted", said(Speaker::Model, Some(Interruption { heard }))),
        ("notice_plain", Event::Notice(Notice::NothingToCancel)),
        ("notice_run", Event::Notice(Notice::RunCancelled { run: RunId(3) })),
        ("files_recent", recent_files()),
        ("files_unknown", Event::Files { kind: ListKind::Temp, list: None }),
    ];
    let sampled = Dataset { sampled: Some((5, 7)), warnings: Vec::new(), ..dataset() };
    let further_steps = vec![
        ("dataset_info_sampled", Work::Dataset(sampled)),
        ("reason_ask", Work::Decision(decision(NextAction::Ask, None))),
        ("reason_finalize", Work::Decision(decision(NextAction::Finalize, None))),
    ];
    let all_steps = steps().into_iter().chain(further_steps);
    let all_steps = all_steps.map(|(name, step)| (name, Event::Work(step)));
    let rows = rows.into_iter().chain(further).chain(all_steps);
    rows.map(|(name, event)| (name, home(&event), event)).collect()
}

fn home(event: &Event) -> Channel {
    match event {
        Event::UserText { .. }
        | Event::UserFile(_)
        | Event::RequestAnswered { .. }
        | Event::Work(_)
        | Event::Transcript { .. } => Channel::Chat,
        Event::Files { .. } => Channel::File,
        Event::AgentReport(_) => Channel::Input,
        Event::UserRequest { .. }
        | Event::Text { .. }
        | Event::RunStarted(_)
        | Event::RunLine(_)
        | Event::Tool(_)
        | Event::Plan(_)
        | Event::ConfirmAsked(_)
        | Event::ConfirmSettled { .. }
        | Event::RunEnded(_)
        | Event::RunSummed(_)
        | Event::Chosen(_)
        | Event::FileMade(_)
        | Event::FilesChanged { .. }
        | Event::CancelTaken
        | Event::Notice(_) => PANE,
    }
}

/// Every signal.
pub(crate) fn signals() -> Vec<(&'static str, Signal)> {
    let known = KnownList { newest: Some("2026/02/26 20:00:00".into()), count: 2 };
    let mut rows = one_each!(Signal {
        Signal::Audio { .. } => "audio", sound();
        Signal::StopPlayback { .. } => "stop_playback", Signal::StopPlayback { generation: Some(Generation(3)), reason: StopReason::UserSpeaks };
        Signal::TurnTimes(_) => "turn_times", Signal::TurnTimes(times());
        Signal::Heartbeat { .. } => "heartbeat", Signal::Heartbeat { count: 2, uptime_seconds: 10.25 };
        Signal::Ack { .. } => "ack", Signal::Ack { request: RequestNo::Text("a-1".into()), repeated: false };
        Signal::Failed { .. } => "error", Signal::Failed { problem: Problem::QueueFull { waiting: 16 }, request: Some(RequestNo::Number(2)) };
        Signal::FilesUnchanged { .. } => "files_unchanged", Signal::FilesUnchanged { kind: ListKind::Backup, channel: Channel::File, list: known };
        Signal::System(_) => "system", Signal::System(SystemNotice::Say("再起動します".into()));
        Signal::AnswerPart { .. } => "reply_part", Signal::AnswerPart { channel: PANE, run: RunId(3), text: "\n\nthen".into() };
        Signal::AnswerLines { .. } => "reply_part_lines", Signal::AnswerLines { channel: PANE, text: "I see.\nthen".into() };
        Signal::Compared { .. } => "comparison", Signal::Compared { rows: vec![comparison_row(AGENT), not_compared()].into() };
        Signal::Diff(_) => "diff", Signal::Diff(Arc::new(diff_note(AGENT)));
        Signal::Backups(_) => "snapshots", Signal::Backups(Arc::new(backups(AGENT)));
        Signal::Settings(_) => "settings", Signal::Settings(Arc::new(settings()));
        Signal::SettingsRefused { .. } => "error_settings", refused_settings();
        Signal::State { .. } => "agent_state", Signal::State { channel: Channel::Agent(AGENT), note: StateNote { state: AgentState::ExecutingTool, run: Some(RunId(3)) } };
        Signal::Usage { .. } => "usage", Signal::Usage { agent: AGENT, run: RunId(3), usage: usage() };
    });
    let problem = Problem::ReadOnly;
    rows.push(("error_without_request", Signal::Failed { problem, request: None }));
    let request = RequestNo::Number(7);
    rows.push(("ack_repeated", Signal::Ack { request, repeated: true }));
    rows
}

/// Frames that are neither events nor signals.
fn others() -> Vec<(&'static str, String)> {
    let mut encoder = dialect(Locale::En).encoder();
    let mut frames = Vec::new();
    let greeting = Greeting {
        session: session(),
        view: View::All,
        epoch: Epoch(0x5f1c),
        resumed: true,
        first: false,
        controls: BTreeMap::new(),
        settings: Arc::default(),
        project: "/home/me/project".into(),
        overview: None,
        setup: None,
    };
    encoder.greet(&greeting, &mut frames);
    encoder.end_replay(&greeting, &mut frames);
    let error = ApiError::BadField { field: "agent", expected: "agent1 to agent4" };
    let refused = Refusal { error, request: Some(RequestNo::Text("a-1".into())) };
    encoder.refuse(&refused, &mut frames);
    let mut rows: Vec<_> =
        ["hello", "ready", "error_refused"].into_iter().zip(frames.iter().map(text)).collect();
    rows.push(("error_at_the_door", refusal("unauthorized", "You are not logged in")));
    rows
}

/// Settings of a session, with what can be chosen.
fn settings() -> SettingsNote {
    let offered = |name: &str, id: &str| Offered {
        name: name.to_owned(),
        models: vec![(id.to_owned(), "A model".to_owned())],
    };
    let offer = ModelOffer {
        chat: vec![offered("openai", "gpt-x")],
        live: vec![offered("scripted", "auto")],
        voices: Vec::new(),
        code: vec![offered("goose", "auto")],
        projects: vec![(String::new(), "own".to_owned()), ("/p".to_owned(), "p".to_owned())],
    };
    SettingsNote { settings: Arc::default(), offer: Some(offer) }
}

fn refused_settings() -> Signal {
    let problem = SettingProblem::UnknownValue { value: "x".into(), known: "openai".into() };
    let refused = vec![(Setting::Chat, problem)].into();
    Signal::SettingsRefused { refused, request: Some(RequestNo::Number(7)) }
}

fn changes() -> Vec<SettingChange> {
    let workplace = SettingChange::Workplace { slot: AGENT, choice: WorkplaceChoice::Worktree };
    vec![
        Setting::Chat.with_value("openai").unwrap(),
        workplace,
        Setting::Project.with_value("").unwrap(),
    ]
}

/// Every frame that a client may send after its hello.
#[expect(clippy::too_many_lines, reason = "one table")]
fn commands() -> Vec<(&'static str, Inbound)> {
    let [one, two, ..] = AgentSlot::ALL;
    let both: AgentSet = [one, two].into_iter().collect();
    let send = |route| Command::SendText { route, text: Typed::on_socket("これは？".into()) };
    let cancel = |scope| Command::CancelRun { channel: PANE, scope };
    let (id, confirmed) = (|| ConfirmId::new("c0ffee"), Confirmed::Approved);
    let choose = |choice| Command::Choose { agent: AGENT, choice };
    let path = || Some("src/main.rs".to_owned());
    let (name, message) = ("agent/fix".to_owned(), Some("Fix the parser".to_owned()));
    let restore = |point, path| choose(Choice::Restore { point, path });
    let watch = |target, wish| Command::WatchFiles { target, wish };
    let known = KnownList { newest: Some("2026/02/26 20:00:00".into()), count: 2 };
    let files =
        |kind, scope, known| Command::ListFiles { kind, scope, answer_on: Channel::File, known };
    let ack = PlaybackAck {
        generation: Generation(3),
        samples: 24_000,
        buffered: Duration::from_millis(120),
        underruns: 1,
    };
    let rows = vec![
        ("send_chat", send(Route::Chat)),
        ("send_live", send(Route::Live { echo: Some(Channel::Chat) })),
        ("send_agent", send(Route::Agent(AGENT))),
        ("send_agents", send(Route::AgentsFromChat(both))),
        ("cancel", cancel(CancelScope::Current)),
        ("cancel_run", cancel(CancelScope::One(RunId(7)))),
        ("cancel_all", cancel(CancelScope::All)),
        (
            "answer",
            Command::Confirm {
                id: id(),
                confirmed,
                always: false,
                call: None,
                second: SecondYes::Missing,
            },
        ),
        (
            "answer_always",
            Command::Confirm {
                id: id(),
                confirmed,
                always: true,
                call: None,
                second: SecondYes::Given,
            },
        ),
        ("answer_no", {
            let (id, confirmed) = (id(), Confirmed::Refused);
            Command::Confirm {
                id,
                confirmed,
                always: false,
                call: None,
                second: SecondYes::Missing,
            }
        }),
        ("upload", {
            let (channel, name) = (PANE, "a.csv".to_owned());
            Command::SendFile { channel, name, bytes: Bytes::from_static(b"hello") }
        }),
        ("files", files(ListKind::Backup, ListScope::Usual, None)),
        ("files_known", files(ListKind::Temp, ListScope::All, Some(known))),
        ("watch", watch(WatchTarget::One(ListKind::Backup), WatchWish::Start)),
        ("watch_both", watch(WatchTarget::Every, WatchWish::Start)),
        ("unwatch", watch(WatchTarget::One(ListKind::Temp), WatchWish::Stop)),
        ("compare", Command::Compare { agents: AgentSet::ALL, check: CheckWish::Run }),
        ("compare_some", Command::Compare { agents: both, check: CheckWish::Skip }),
        ("diff", Command::ShowDiff { agent: AGENT, path: None }),
        ("diff_path", Command::ShowDiff { agent: AGENT, path: path() }),
        ("accept", choose(Choice::Accept { branch: None, version: Some(version()) })),
        (
            "accept_branch",
            choose(Choice::Accept { branch: Some(Branch { name, message }), version: None }),
        ),
        ("discard", choose(Choice::Discard)),
        ("restore_run", restore(RestorePoint::Before(RunId(7)), path())),
        ("restore_snapshot", restore(RestorePoint::Named(BACKUP.to_owned()), None)),
        ("snapshots", Command::ListBackups { agent: None }),
        ("snapshots_agent", Command::ListBackups { agent: Some(AGENT) }),
        ("settings", Command::ShowSettings),
        ("set", Command::ChangeSettings(changes())),
        ("set_tools", {
            let tools = ToolChoice::new("file:read,file:list");
            Command::ChangeSettings(vec![SettingChange::Tools(tools)])
        }),
        ("stop_playback", Command::StopPlayback),
        ("played", Command::AckPlayback(ack)),
        ("talk_key", Command::PressTalkKey(TalkKey::Pressed)),
        ("talk_key_released", Command::PressTalkKey(TalkKey::Released)),
    ];
    let plain = |(name, command)| (name, Inbound { request: None, command });
    let mut rows: Vec<_> = rows.into_iter().map(plain).collect();
    for (name, request) in [
        ("send_numbered", RequestNo::Number(7)),
        ("send_named", RequestNo::Text("5f9c1d7e-3a52-4c1b-9a57-0d8a9f1f2b6e".into())),
    ] {
        rows.push((name, Inbound { request: Some(request), command: send(Route::Chat) }));
    }
    rows
}

/// The first frames of clients.
fn hellos() -> Vec<(&'static str, Hello)> {
    let least = Hello {
        session: RequestedSession::New,
        after: None,
        epoch: None,
        history: None,
        read_only: false,
        features: Features { stream: true, confirm: true, agents: true, playback: false },
        rate: None,
        language: None,
        token: None,
    };
    let resuming = Hello {
        session: RequestedSession::Id(SentSessionId::Ours(session())),
        after: Some(Order(41)),
        epoch: Some(Epoch(0x5f1c)),
        features: Features { playback: true, ..least.features },
        rate: Some(16_000),
        language: Some(Locale::En),
        ..least.clone()
    };
    let reading = Hello {
        history: Some(100),
        read_only: true,
        token: Some("0123456789abcdef".into()),
        ..least.clone()
    };
    vec![("hello", least), ("hello_resuming", resuming), ("hello_reading", reading)]
}

#[test]
fn every_event_and_signal_is_exactly_its_golden_frame() {
    for (name, channel, event) in events() {
        check_sent(name, &logged(channel, event));
    }
    for (name, signal) in signals() {
        check_sent(name, &Delivery::Passing(signal));
    }
    for (name, frame) in others() {
        check_golden(name, &frame);
    }
}

#[test]
fn every_frame_of_a_client_is_read_as_its_command() {
    for (name, expected) in commands() {
        let read = dialect(Locale::En).decode(Received::Text(&fixture(&format!("client_{name}"))));
        assert_eq!(read, Ok(expected.into()), "{name}");
    }
    for (name, expected) in hellos() {
        assert_eq!(read_hello(&fixture(&format!("client_{name}"))), Ok(expected), "{name}");
    }
}

#[test]
fn every_kind_has_a_golden_frame_and_every_golden_frame_is_used() {
    let server = events().into_iter().map(|(name, ..)| name);
    let server = server.chain(signals().into_iter().map(|(name, _)| name));
    let server = server.chain(others().into_iter().map(|(name, _)| name));
    let client = commands().into_iter().map(|(name, _)| name);
    let client = client.chain(hellos().into_iter().map(|(name, _)| name));
    let used: BTreeSet<String> = server
        .map(|name| format!("server_{name}"))
        .chain(client.map(|name| format!("client_{name}")))
        .collect();
    let there: BTreeSet<String> = fixtures().into_iter().map(|(name, _)| name).collect();
    assert_eq!(used, there);
    let mut readable: BTreeSet<String> = client_types().map(str::to_owned).into();
    readable.insert("hello".to_owned());
    assert_eq!(types("client_"), readable);
}

/// Sound is a binary frame; each reply is announced once before its first one.
#[test]
fn sound_is_announced_once_and_then_binary() {
    let mut encoder = dialect(Locale::En).encoder();
    let mut frames = Vec::new();
    encoder.encode(&Delivery::Passing(sound()), &mut frames);
    encoder.encode(&Delivery::Passing(sound()), &mut frames);
    let pcm = Frame::Binary(Bytes::from_static(&[0, 0, 255, 127]));
    assert_eq!(frames[1..], [pcm.clone(), pcm.clone()]);
    let Frame::Binary(bytes) = pcm else { unreachable!() };
    let with_audio = ApiDialect::new(session(), Locale::En, Some(16_000));
    let read = with_audio.decode(Received::Binary(&bytes)).unwrap();
    let recorded = Recorded { rate: SampleRate::Hz(16_000), pcm: bytes };
    let command = Command::SendAudio(recorded);
    assert_eq!(read, Inbound { request: None, command }.into());
}

#[test]
fn texts_for_people_are_in_the_language_of_the_client() {
    let texts = |locale, delivery: &Delivery| {
        let mut frames = Vec::new();
        dialect(locale).encoder().encode(delivery, &mut frames);
        text(&frames[0])
    };
    let compared = Signal::Compared { rows: vec![not_compared()].into() };
    let failed = Signal::Failed { problem: Problem::ReadOnly, request: None };
    let reason = "the server's disk is full; ask the operator to make room, then try again".into();
    for delivery in [
        Delivery::Passing(compared),
        Delivery::Passing(failed),
        Delivery::Passing(Signal::System(SystemNotice::ShuttingDown)),
        logged(PANE, Event::Notice(Notice::NothingToCancel)),
        logged(PANE, chosen(ChoiceKind::Restore, ChosenOutcome::Failed { reason })),
    ] {
        assert!(texts(Locale::En, &delivery).is_ascii(), "{delivery:?}");
        assert!(!texts(Locale::Ja, &delivery).is_ascii(), "{delivery:?}");
    }
}

#[track_caller]
fn check_sent(name: &str, delivery: &Delivery) {
    let mut frames = Vec::new();
    dialect(Locale::En).encoder().encode(delivery, &mut frames);
    check_golden(name, &text(&frames[0]));
}

#[track_caller]
fn check_golden(name: &str, frame: &str) {
    let name = format!("server_{name}");
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        std::fs::write(path(&name), format!("{frame}\n")).unwrap();
    }
    assert_eq!(fixture(&name), format!("{frame}\n"), "{name}");
}

fn text(frame: &Frame) -> String {
    frame.text().expect("a text frame").to_owned()
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/api").join(format!("{name}.json"))
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|err| panic!("{name}: {err}"))
}

/// All golden frames with their names.
pub(crate) fn fixtures() -> Vec<(String, Value)> {
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let frame = serde_json::from_str(&fixture(&name)).unwrap();
        (name, frame)
    };
    files_below("tests/fixtures/api").into_iter().map(read).collect()
}

/// The types of the golden frames whose names begin so.
pub(crate) fn types(prefix: &str) -> BTreeSet<String> {
    let ours = fixtures().into_iter().filter(|(name, _)| name.starts_with(prefix));
    ours.map(|(_, frame)| frame["type"].as_str().unwrap().to_owned()).collect()
}

fn session() -> SessionId {
    SessionId::from_random(0)
}

fn dialect(locale: Locale) -> ApiDialect {
    ApiDialect::new(session(), locale, None)
}

fn step(state: PlanStepState) -> PlanStep {
    PlanStep { text: state.name().into(), state }
}

fn settled() -> Event {
    let (id, confirmed, by) = (ConfirmId::new("c0ffee"), Confirmed::Approved, DecidedBy::User);
    Event::ConfirmSettled { id, channel: Channel::Agent(AGENT), number: 3, confirmed, by }
}

fn chosen(kind: ChoiceKind, outcome: ChosenOutcome) -> Event {
    Event::Chosen(Chosen { agent: AGENT, project: None, kind, outcome })
}

fn done() -> ChosenOutcome {
    let files = vec!["src/main.rs".to_owned()];
    let (backup, left_out) = (Some(BACKUP.to_owned()), vec!["vendor/lib/".to_owned()]);
    ChosenOutcome::Done { files, branch: None, backup, left_out }
}

fn changed() -> Event {
    let paths = vec!["src/main.rs".to_owned()];
    Event::FilesChanged { paths, by: Some(AGENT), copy_of: Some(AGENT) }
}

fn said(speaker: Speaker, interrupted: Option<Interruption>) -> Event {
    Event::Transcript { speaker, text: "もしもし".into(), interrupted }
}

fn report(stage: ReportStage) -> Event {
    Event::AgentReport(AgentReport { agent: AGENT, stage })
}

fn listed(path: &str) -> ListedFile {
    ListedFile { path: path.to_owned(), modified: "2026/02/26 19:30:00".into() }
}

fn project_files() -> Event {
    let (project, backup) = ("/home/me/app".to_owned(), "/home/me/data/backup/app".to_owned());
    let list = FileList {
        roots: ListRoots::Backup { project, backup },
        newest: Some("2026/02/26 20:00:00".to_owned()),
        files: vec![listed("src/main.py"), listed("src/utils.py")],
    };
    Event::Files { kind: ListKind::Backup, list: Some(Arc::new(list)) }
}

fn recent_files() -> Event {
    let (roots, newest) = (ListRoots::Temp, Some("2026/02/26 20:44:53".to_owned()));
    let list = FileList { roots, newest, files: vec![listed("temp/output/result.txt")] };
    Event::Files { kind: ListKind::Temp, list: Some(Arc::new(list)) }
}

fn sound() -> Signal {
    let chunk = AudioChunk { rate: 24_000, pcm: Bytes::from_static(&[0, 0, 255, 127]) };
    Signal::Audio { generation: Generation(3), chunk }
}

fn times() -> TurnTimes {
    TurnTimes {
        end_of_turn: Some(Duration::from_millis(480)),
        first_sound: Some(Duration::from_millis(310)),
        first_sent: Some(Duration::from_millis(1)),
        first_played: Some(Duration::from_millis(140)),
        ..TurnTimes::default()
    }
}

/// An agent that cannot be compared.
fn not_compared() -> ComparisonRow {
    let problem = Some("the server's disk is full; ask the operator to make room, then try again");
    ComparisonRow {
        run: None,
        outcome: None,
        seconds: None,
        usage: None,
        check: None,
        problem: problem.map(str::to_owned),
        overlaps: Vec::new(),
        left_out: Vec::new(),
        ..comparison_row(AgentSlot::ALL[2])
    }
}
