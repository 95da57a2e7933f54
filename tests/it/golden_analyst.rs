//! Golden frames of the data analyst, in both directions. `UPDATE_FIXTURES=1 cargo test golden_analyst` writes what the
//! gateway sends anew.

use crate::docs::files_below;
use crate::golden_api::{self, one_each};
use crate::samples::{
    answer_note, confirmation, dataset, decision, execution, figure, file_note, logged,
    run_summary, steps, tool_note,
};
use bytes::Bytes;
use kakehashi::dialect::analyst::{AnalystDialect, AnalystError, FrameSeq, client_types, refusal};
use kakehashi::dialect::{Decoded, Dialect, Encoder, Frame, FrameId, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{
    AgentReport, AgentSlot, AnswerNote, CancelScope, Channel, ChoiceKind, Chosen, ChosenOutcome,
    Command, ConfirmId, Confirmed, Dataset, DecidedBy, Decision, Delivery, Entry, Epoch, Event,
    EventTime, Greeting, Inbound, ListKind, NextAction, Notice, Order, Problem, ReportStage,
    RequestNo, Route, RunId, RunOutcome, SecondYes, Seq, SessionId, Signal, Speaker, SystemNotice,
    ToolState, Typed, View, Work,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AGENT: AgentSlot = AgentSlot::ALL[1];
/// Frames that are not part of the history have the time at which they are sent; golden ones have this.
const TIME: &str = "2026-02-26T19:34:53.000Z";
/// When the first event of each story happened.
const BEGAN: i64 = 1_772_134_493_000;
const RUN: RunId = RunId(3);
static BINARY: Bytes = Bytes::from_static(b"\x00");

/// Every event with the name of its golden frames, to a client that has resumed in the middle of the run.
#[rustfmt::skip]
fn events() -> Vec<(&'static str, Event)> {
    let text = || "これは？ \"quoted\"\nlines".to_owned();
    let mut rows = one_each!(Event {
        Event::UserText { .. } => "user_text", Event::UserText { text: text(), attachments: vec!["temp/input/a.png".into()] };
        Event::UserRequest { .. } => "user_request", Event::UserRequest { text: "fix it".into(), attachments: vec![] };
        Event::UserFile(_) => "user_file", Event::UserFile(file_note());
        Event::Text { .. } => "text", said("42", None);
        Event::RunStarted(_) => "run_started", Event::RunStarted(RUN);
        Event::RunLine(_) => "run_line", Event::RunLine("installing pandas".into());
        Event::Tool(_) => "tool", Event::Tool(tool_note(ToolState::Completed));
        Event::Plan(_) => "plan", Event::Plan(Vec::new());
        Event::ConfirmAsked(_) => "asked", Event::ConfirmAsked(confirmation(AGENT));
        Event::ConfirmSettled { .. } => "settled", settled();
        Event::RunEnded(_) => "run_ended", Event::RunEnded(RunOutcome::Finished);
        Event::RunSummed(_) => "run_summed", Event::RunSummed(run_summary());
        Event::Chosen(_) => "chosen", chosen();
        Event::FileMade(_) => "file_made", Event::FileMade(file_note());
        Event::RequestAnswered { .. } => "request_answered", Event::RequestAnswered { text: "42".into(), by: Some(AGENT) };
        Event::FilesChanged { .. } => "files_changed", Event::FilesChanged { paths: vec!["a".into()], by: None, copy_of: None };
        Event::Transcript { .. } => "spoken", Event::Transcript { speaker: Speaker::User, text: "もしもし".into(), interrupted: None };
        Event::CancelTaken => "cancel_taken", Event::CancelTaken;
        Event::AgentReport(_) => "agent_report", Event::AgentReport(AgentReport { agent: AGENT, stage: ReportStage::Stopped });
        Event::Notice(_) => "queued", Event::Notice(Notice::Queued { run: RunId(4), place: 1 });
        Event::Work(_) => "reason_ask", Event::Work(Work::Decision(decision(NextAction::Ask, None)));
        Event::Files { .. } => "files", Event::Files { kind: ListKind::Temp, list: None };
    });
    let sampled = Dataset { sampled: Some((5, 7)), warnings: Vec::new(), ..dataset() };
    rows.extend([
        ("answer_of_an_analysis", said("42", Some(RUN))),
        ("heard", Event::Transcript { speaker: Speaker::Model, text: "はい".into(), interrupted: None }),
        ("run_failed", Event::Notice(failed())),
        ("run_interrupted", Event::Notice(interrupted(RUN))),
        ("run_cancelled", Event::Notice(Notice::RunCancelled { run: RUN })),
        ("run_ended_failed", Event::RunEnded(RunOutcome::Failed)),
        ("run_ended_cancelled", Event::RunEnded(RunOutcome::Cancelled)),
        ("run_ended_interrupted", Event::RunEnded(RunOutcome::Interrupted)),
        ("dataset_info_sampled", Event::Work(Work::Dataset(sampled))),
        ("exec_failed", Event::Work(Work::Execution(execution("", Some("KeyError: 'area'"))))),
        ("reason_finalize", Event::Work(Work::Decision(decision(NextAction::Finalize, None)))),
    ]);
    rows.extend(steps().into_iter().map(|(name, step)| (name, Event::Work(step))));
    rows
}

/// What each event becomes.
const BECOMES: [(&str, &[&str]); 40] = [
    ("user_text", &["user"]),
    ("user_request", &["user"]),
    ("user_file", &[]),
    ("text", &["message"]),
    ("run_started", &["progress"]),
    ("run_line", &["progress"]),
    ("tool", &[]),
    ("plan", &[]),
    ("asked", &["confirm"]),
    ("settled", &["confirmed"]),
    ("run_ended", &["done"]),
    ("run_summed", &[]),
    ("chosen", &[]),
    ("file_made", &[]),
    ("request_answered", &["message"]),
    ("files_changed", &[]),
    ("spoken", &["user"]),
    ("cancel_taken", &[]),
    ("agent_report", &[]),
    ("queued", &["message"]),
    ("reason_ask", &["reason", "question"]),
    ("files", &[]),
    ("answer_of_an_analysis", &[]),
    ("heard", &["message"]),
    ("run_failed", &["error"]),
    ("run_interrupted", &["message", "done"]),
    ("run_cancelled", &["message"]),
    ("run_ended_failed", &["done"]),
    ("run_ended_cancelled", &["done"]),
    ("run_ended_interrupted", &[]),
    ("dataset_info_sampled", &["dataset_info"]),
    ("exec_failed", &["exec", "progress"]),
    ("reason_finalize", &["reason", "progress"]),
    ("dataset_info", &["dataset_info"]),
    ("reason", &["reason", "progress"]),
    ("code", &["code"]),
    ("exec", &["exec", "progress"]),
    ("artifact", &["artifact"]),
    ("floor", &["floor"]),
    ("report", &["report"]),
];

/// Events of one request after another on the same connection, and the types of all frames that they become.
struct Story {
    name: &'static str,
    events: Vec<Event>,
    types: &'static [&'static str],
}

fn stories() -> Vec<Story> {
    let asked = || Event::UserText { text: "total by region".into(), attachments: Vec::new() };
    let begin = || vec![asked(), Event::RunStarted(RUN)];
    let step = |name: &str| {
        let found = steps().into_iter().find(|row| row.0 == name);
        Event::Work(found.unwrap().1)
    };
    let finalize = Decision { step: 2, ..decision(NextAction::Finalize, None) };
    let finalize = || Event::Work(Work::Decision(finalize.clone()));
    let mut whole = vec![step("dataset_info"), asked(), Event::RunStarted(RUN)];
    whole.push(Event::RunLine("installing pandas".into()));
    whole.extend(["reason", "code", "exec"].map(step));
    whole.extend([Event::Work(Work::Artifact(figure())), finalize()]);
    whole.extend([step("report"), Event::RunEnded(RunOutcome::Finished), said("42", Some(RUN))]);
    let end = |begun: Vec<Event>, rest: Vec<Event>| begun.into_iter().chain(rest).collect();
    let ask = Event::Work(Work::Decision(decision(NextAction::Ask, None)));
    let finished = || Event::RunEnded(RunOutcome::Finished);
    let end_failed = vec![Event::RunEnded(RunOutcome::Failed), Event::Notice(failed())];
    let cut = |run| vec![Event::RunEnded(RunOutcome::Interrupted), Event::Notice(interrupted(run))];
    let stopped = Event::Notice(Notice::RunCancelled { run: RUN });
    let stopped = vec![Event::RunEnded(RunOutcome::Cancelled), stopped];
    #[rustfmt::skip]
    let stories = vec![
        Story { name: "whole", events: whole, types: &[
            "dataset_info", "user", "progress", "progress", "reason", "progress", "code", "exec", "progress",
            "artifact", "reason", "progress", "report", "done",
        ] },
        Story { name: "question", events: end(begin(), vec![ask, finished(), said("Which?", Some(RUN))]), types: &["user", "progress", "reason", "question", "done"] },
        Story { name: "plain", events: end(begin(), vec![finished(), said("42", Some(RUN))]), types: &["user", "progress", "done", "message"] },
        Story { name: "failed", events: end(begin(), end_failed), types: &["user", "progress", "done", "error"] },
        Story { name: "cancelled", events: end(begin(), stopped), types: &["user", "progress", "done", "message"] },
        Story { name: "interrupted", events: end(begin(), cut(RUN)), types: &["user", "progress", "message", "done"] },
        // The next request still waited when the gateway stopped.
        Story { name: "waiting", events: end(begin(), end(vec![finished()], cut(RunId(4)))), types: &["user", "progress", "done", "message", "done"] },
    ];
    stories
}

/// Every second one more event happens.
fn told(story: &Story) -> Vec<Frame> {
    let mut encoder = dialect().encoder();
    let mut frames = Vec::new();
    for (number, event) in story.events.iter().enumerate() {
        let place = i64::try_from(number).unwrap();
        let number = u64::try_from(number).unwrap() + 1;
        let (seq, order, at) = (Seq(number), Order(number), EventTime(BEGAN + place * 1000));
        let entry = Entry { channel: Channel::Chat, seq, order, at, event: event.clone() };
        encoder.encode(&Delivery::Logged(Arc::new(entry)), &mut frames);
    }
    frames
}

/// Whether a client is told of a signal. Each new one has to be decided upon.
fn is_told(signal: &Signal) -> bool {
    match signal {
        Signal::Ack { .. } | Signal::Failed { .. } | Signal::System(_) => true,
        Signal::AnswerPart { .. }
        | Signal::AnswerLines { .. }
        | Signal::Audio { .. }
        | Signal::StopPlayback { .. }
        | Signal::TurnTimes(_)
        | Signal::Heartbeat { .. }
        | Signal::FilesUnchanged { .. }
        | Signal::Compared { .. }
        | Signal::Diff(_)
        | Signal::Backups(_)
        | Signal::Settings(_)
        | Signal::SettingsRefused { .. }
        | Signal::State { .. }
        | Signal::Usage { .. } => false,
    }
}

/// Signals that a client is told about.
fn signals() -> Vec<(&'static str, Signal)> {
    let id = || RequestNo::Text("a-1".into());
    let failed = |problem, request| Signal::Failed { problem, request };
    vec![
        ("ack", Signal::Ack { request: id(), repeated: false }),
        ("ack_repeated", Signal::Ack { request: id(), repeated: true }),
        ("error", failed(Problem::QueueFull { waiting: 16 }, Some(id()))),
        ("error_unknown", failed(Problem::NothingToConfirm, None)),
        ("error_again", failed(Problem::ConfirmTwice, None)),
        ("system", Signal::System(SystemNotice::Say("再起動します".into()))),
    ]
}

/// Frames that cannot be read, with the name and the code of their answer. Those with an id get it back.
fn unreadable() -> Vec<(&'static str, &'static str, Received<'static>)> {
    let text = |name, code, frame| (name, code, Received::Text(frame));
    vec![
        text("refused_json", "malformed", "{"),
        text("refused_array", "not_an_object", "[]"),
        text("refused_type", "unknown_type", r#"{"type":"shout","id":"a-1"}"#),
        text("refused_field", "bad_field", r#"{"type":"ask","text":" ","id":"a-1"}"#),
        text("refused_answer", "bad_field", r#"{"type":"answer","id":"c0ffee","approved":"yes"}"#),
        text("refused_twice", "bad_field", r#"{"type":"cancel","type":"ask"}"#),
        ("refused_binary", "malformed", Received::Binary(&BINARY)),
    ]
}

/// All frames that the gateway sends, by the names of their fixtures.
fn sent() -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let mut add = |name: String, frame: Value| {
        assert!(all.insert(name.clone(), frame).is_none(), "{name} is there twice");
    };
    for (name, event) in events() {
        for (number, frame) in encoded(&logged(Channel::Chat, event)).iter().enumerate() {
            let more = if number == 0 { String::new() } else { format!("_{}", number + 1) };
            add(format!("server_{name}{more}"), golden(frame));
        }
    }
    for story in stories() {
        for (number, frame) in told(&story).iter().enumerate() {
            let frame = golden(frame);
            let kind = frame["type"].as_str().unwrap();
            add(format!("server_run_{}_{:02}_{kind}", story.name, number + 1), frame.clone());
        }
    }
    for (name, signal) in signals() {
        let frames = encoded(&Delivery::Passing(signal));
        assert_eq!(frames.len(), 1, "{name}");
        add(format!("server_{name}"), golden(&frames[0]));
    }
    for (name, frame) in others() {
        add(format!("server_{name}"), frame);
    }
    all
}

/// Frames that are neither events nor signals.
fn others() -> Vec<(&'static str, Value)> {
    let mut rows = Vec::new();
    for (name, resumed) in [("connected", false), ("connected_resumed", true)] {
        let mut frames = Vec::new();
        let after = FrameSeq(56);
        AnalystDialect { after, ..dialect() }.encoder().greet(&greeting(resumed), &mut frames);
        rows.push((name, golden(&frames[0])));
    }
    for (name, _, frame) in unreadable() {
        let mut frames = Vec::new();
        dialect().encoder().refuse(&dialect().decode(frame).unwrap_err(), &mut frames);
        assert_eq!(frames.len(), 1, "{name}");
        rows.push((name, golden(&frames[0])));
    }
    let mut frames = Vec::new();
    let large = AnalystError::TooLarge { size: 300_000, limit: 262_144 };
    dialect().encoder().refuse(&large.into(), &mut frames);
    rows.push(("refused_size", golden(&frames[0])));
    rows.push(("error_at_the_door", refusal("unauthorized", "You are not logged in")));
    rows
}

/// Every frame that a client may send.
fn commands() -> Vec<(&'static str, Inbound)> {
    let ask = || {
        let text = Typed::on_socket("地域ごとの合計は？".to_owned());
        Command::SendText { route: Route::Chat, text }
    };
    let cancel = || Command::CancelRun { channel: Channel::Chat, scope: CancelScope::Current };
    let answer = |confirmed| {
        let (id, second) = (ConfirmId::new("c0ffee"), SecondYes::ByRepeating);
        Command::Confirm { id, confirmed, always: false, call: None, second }
    };
    let plain = |command| Inbound { request: None, command };
    let with_id = |command| Inbound { request: Some(RequestNo::Text("a-1".into())), command };
    vec![
        ("client_ask", plain(ask())),
        ("client_ask_id", with_id(ask())),
        ("client_cancel", plain(cancel())),
        ("client_cancel_id", with_id(cancel())),
        ("client_choose", plain(Command::ChooseDataset { name: "sales.csv".to_owned() })),
        ("client_answer", plain(answer(Confirmed::Approved))),
        ("client_answer_no", plain(answer(Confirmed::Refused))),
    ]
}

#[test]
fn every_frame_of_the_analyst_is_golden() {
    for (name, frame) in sent() {
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::write(path(&name), format!("{frame}\n")).unwrap();
        }
        assert_eq!(fixture(&name), format!("{frame}\n"), "{name}");
    }
}

#[test]
fn every_event_becomes_the_frames_of_the_table() {
    let becomes = BTreeMap::from(BECOMES);
    let all = events();
    assert_eq!(all.len(), becomes.len());
    for (name, event) in all {
        assert_eq!(kinds(&encoded(&logged(Channel::Chat, event))), becomes[name], "{name}");
    }
}

#[test]
fn a_request_is_told_from_its_beginning_to_its_end() {
    for story in stories() {
        let frames = told(&story);
        assert_eq!(kinds(&frames), story.types, "{}", story.name);
        let ends = kinds(&frames).iter().filter(|kind| *kind == "done").count();
        let runs = if story.name == "waiting" { 2 } else { 1 };
        assert_eq!(ends, runs, "{}: each run ends once", story.name);
        let seqs: Vec<_> = frames.iter().map(|frame| golden(frame)["seq"].as_u64()).collect();
        assert!(seqs.is_sorted_by(|a, b| a < b), "{}: {seqs:?}", story.name);
        for frame in frames.iter().map(golden) {
            let number =
                if frame["seq"].as_u64() > seqs[2] && runs == 2 { json!(4) } else { json!(3) };
            assert!(frame.get("run").is_none_or(|run| *run == number), "{}: {frame}", story.name);
            assert!(frame.get("loop").is_none_or(Value::is_u64), "{}: {frame}", story.name);
        }
    }
}

/// The beginning is not there, so neither is what is counted from it.
#[test]
fn what_a_client_that_resumes_in_a_run_cannot_know_is_null() {
    let all = sent();
    let mut seen = 0;
    for name in ["run_line", "exec_2", "reason_2", "run_ended", "run_interrupted_2"] {
        let frame = &all[&format!("server_{name}")];
        let known = if name.starts_with("run_interrupted") { json!(3) } else { Value::Null };
        assert_eq!((&frame["run"], &frame["elapsed_ms"]), (&known, &Value::Null), "{name}");
        let counted = if frame["type"] == "done" { "loops" } else { "loop" };
        assert_eq!(frame.get(counted), Some(&Value::Null), "{name}: {frame}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn a_client_that_resumes_after_a_frame_gets_the_rest_of_its_event() {
    let asked = logged(Channel::Chat, Event::Work(Work::Decision(decision(NextAction::Ask, None))));
    let all = encoded(&asked);
    assert_eq!(all.len(), 2);
    for (number, frame) in all.iter().enumerate() {
        let Frame::Event(FrameId::Number(seq), _) = frame else { panic!("{frame:?}") };
        let mut encoder = AnalystDialect { after: FrameSeq(*seq), ..dialect() }.encoder();
        let mut frames = Vec::new();
        encoder.encode(&asked, &mut frames);
        assert_eq!(frames, all[number + 1..]);
    }
}

/// What is not part of the history has the number of the last frame that is, so that a client can resume after it.
#[test]
fn passing_frames_have_the_number_of_the_last_one() {
    let mut encoder = dialect().encoder();
    let mut frames = Vec::new();
    encoder.encode(&logged(Channel::Chat, Event::RunStarted(RUN)), &mut frames);
    encoder.encode(&Delivery::Passing(signals().remove(0).1), &mut frames);
    assert!(matches!(&frames[..], [Frame::Event(FrameId::Number(56), _), Frame::Text(_)]));
    assert_eq!(golden(&frames[1])["seq"], 56);
}

#[test]
fn signals_are_told_or_not_as_it_was_decided() {
    let ours = signals().into_iter().chain(golden_api::signals());
    for (name, signal) in ours {
        let frames = encoded(&Delivery::Passing(signal.clone())).len();
        assert_eq!(frames, usize::from(is_told(&signal)), "{name}");
    }
}

#[test]
fn bad_frames_are_answered_by_their_codes() {
    for (name, code, frame) in unreadable() {
        assert_eq!(fixture_value(&format!("server_{name}"))["code"], code, "{name}");
        let has_id = matches!(frame, Received::Text(text) if text.contains("a-1"));
        let id = fixture_value(&format!("server_{name}")).get("id").cloned();
        assert_eq!(id, has_id.then(|| json!("a-1")), "{name}");
    }
}

#[test]
fn every_frame_of_a_client_is_read_as_its_command() {
    for (name, inbound) in commands() {
        let read = dialect().decode(Received::Text(&fixture(name)));
        assert_eq!(read, Ok(Decoded::from(inbound)), "{name}");
    }
}

#[test]
fn every_type_has_a_golden_frame_and_every_golden_frame_is_used() {
    let mut used: BTreeSet<String> = sent().into_keys().collect();
    used.extend(commands().into_iter().map(|(name, _)| name.to_owned()));
    let there: BTreeSet<String> = fixtures().into_iter().map(|(name, _)| name).collect();
    assert_eq!(used, there);
    assert_eq!(types("client_"), client_types().map(str::to_owned).into());
}

#[test]
fn texts_for_people_are_in_the_language_of_the_client() {
    for (locale, is_ascii) in [(Locale::En, true), (Locale::Ja, false)] {
        let failed = Signal::Failed { problem: Problem::Locked, request: None };
        let mut frames = Vec::new();
        let mut encoder = AnalystDialect { locale, ..dialect() }.encoder();
        encoder.encode(&Delivery::Passing(failed), &mut frames);
        encoder.encode(&logged(Channel::Chat, Event::Notice(interrupted(RUN))), &mut frames);
        encoder
            .encode(&logged(Channel::Chat, Event::ConfirmAsked(confirmation(AGENT))), &mut frames);
        for frame in frames.iter().map(golden).filter(|frame| frame["type"] != "done") {
            assert_eq!(frame.to_string().is_ascii(), is_ascii, "{frame}");
        }
    }
}

fn encoded(delivery: &Delivery) -> Vec<Frame> {
    let mut frames = Vec::new();
    dialect().encoder().encode(delivery, &mut frames);
    frames
}

fn kinds(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(|frame| golden(frame)["type"].as_str().unwrap().to_owned()).collect()
}

/// The frame; one that is not part of the history at a time that is always the same.
fn golden(frame: &Frame) -> Value {
    let mut value: Value = serde_json::from_str(frame.text().unwrap()).unwrap();
    match frame {
        Frame::Event(FrameId::Number(seq), _) => assert_eq!(value["seq"], *seq),
        Frame::Text(_) => value["at"] = json!(TIME),
        Frame::Event(FrameId::Order(..), _) | Frame::Binary(_) => panic!("{frame:?}"),
    }
    value
}

fn path(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/analyst_wire");
    fixtures.join(format!("{name}.json"))
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|err| panic!("{name}: {err}"))
}

fn fixture_value(name: &str) -> Value {
    serde_json::from_str(&fixture(name)).unwrap()
}

/// All golden frames with their names.
pub(crate) fn fixtures() -> Vec<(String, Value)> {
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let frame = fixture_value(&name);
        (name, frame)
    };
    files_below("tests/fixtures/analyst_wire").into_iter().map(read).collect()
}

/// The types of the golden frames whose names begin so.
pub(crate) fn types(prefix: &str) -> BTreeSet<String> {
    let ours = fixtures().into_iter().filter(|(name, _)| name.starts_with(prefix));
    ours.map(|(_, frame)| frame["type"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn dialect() -> AnalystDialect {
    let session = SessionId::from_random(0);
    AnalystDialect { session, locale: Locale::En, after: FrameSeq::default() }
}

fn greeting(resumed: bool) -> Greeting {
    Greeting {
        session: SessionId::from_random(0),
        view: View::One(Channel::Chat),
        epoch: Epoch(0x5f1c),
        resumed,
        first: false,
        controls: BTreeMap::new(),
        settings: Arc::default(),
        project: "/home/me/project".into(),
        overview: None,
        setup: None,
    }
}

fn said(text: &str, run: Option<RunId>) -> Event {
    let note = run.map_or_else(AnswerNote::default, |_| answer_note());
    Event::Text { text: text.into(), run, note }
}

fn failed() -> Notice {
    Notice::RunFailed { run: RUN, reason: "the model does not answer".into() }
}

fn interrupted(run: RunId) -> Notice {
    Notice::RunInterrupted { run, request: "total by region".into() }
}

fn settled() -> Event {
    let (id, channel) = (ConfirmId::new("c0ffee"), Channel::Chat);
    let (confirmed, by) = (Confirmed::Approved, DecidedBy::User);
    Event::ConfirmSettled { id, channel, number: 3, confirmed, by }
}

fn chosen() -> Event {
    let outcome = ChosenOutcome::Failed { reason: "the disk is full".into() };
    Event::Chosen(Chosen { agent: AGENT, project: None, kind: ChoiceKind::Accept, outcome })
}
