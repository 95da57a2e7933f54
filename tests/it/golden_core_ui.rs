//! Golden frames of the core/UI interface, of both of its forms and in both directions.
//! `UPDATE_FIXTURES=1 cargo test golden_core_ui` writes what the gateway sends anew.

use crate::docs::files_below;
use crate::golden_api::one_each;
use crate::samples::{
    answer_note, confirmation, decision, file_note, logged, run_summary, steps, tool_note,
};
use bytes::Bytes;
use kakehashi::dialect::core_ui::{
    Additions, AgentEventDialect, CoreUiDialect, CoreUiError, FrameSeq, client_types, refusal,
};
use kakehashi::dialect::{Decoded, Dialect, Encoder, Frame, Received, Refusal};
use kakehashi::locale::Locale;
use kakehashi::message::{
    AgentReport, AgentSlot, AnswerNote, CancelScope, Channel, ChoiceKind, Chosen, ChosenOutcome,
    Command, ConfirmId, Confirmed, DecidedBy, Delivery, Epoch, Event, Greeting, Inbound, ListKind,
    NextAction, Notice, Problem, ReportStage, RequestNo, Route, RunId, RunOutcome, SecondYes,
    SessionId, Signal, Speaker, SystemNotice, ToolNote, ToolState, Typed, View, Work,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AGENT: AgentSlot = AgentSlot::ALL[1];
const LANE: Channel = Channel::Chat;
/// Frames that are not part of the history have the time at which they are sent; golden ones have this.
const TIME: i64 = 1_772_134_493_000;

/// Every event with the names of the golden frames that it becomes: in the first form, and in the second.
#[rustfmt::skip]
fn events() -> Vec<(&'static str, Event)> {
    let text = || "これは？ \"quoted\"\nlines".to_owned();
    let mut rows = one_each!(Event {
        Event::UserText { .. } => "user_text", Event::UserText { text: text(), attachments: vec!["temp/input/a.png".into()] };
        Event::UserRequest { .. } => "user_request", Event::UserRequest { text: "fix it".into(), attachments: vec![] };
        Event::UserFile(_) => "user_file", Event::UserFile(file_note());
        Event::Text { .. } => "text", Event::Text { text: text(), run: Some(RunId(3)), note: answer_note() };
        Event::RunStarted(_) => "run_started", Event::RunStarted(RunId(3));
        Event::RunLine(_) => "run_line", Event::RunLine("building".into());
        Event::Tool(_) => "tool", Event::Tool(tool_note(ToolState::Completed));
        Event::Plan(_) => "plan", Event::Plan(Vec::new());
        Event::ConfirmAsked(_) => "asked", Event::ConfirmAsked(confirmation(AGENT));
        Event::ConfirmSettled { .. } => "settled", settled(Confirmed::Approved, DecidedBy::User);
        Event::RunEnded(_) => "run_ended", Event::RunEnded(RunOutcome::Finished);
        Event::RunSummed(_) => "run_summed", Event::RunSummed(run_summary());
        Event::Chosen(_) => "chosen", chosen();
        Event::FileMade(_) => "file_made", Event::FileMade(file_note());
        Event::RequestAnswered { .. } => "request_answered", Event::RequestAnswered { text: "42".into(), by: Some(AGENT) };
        Event::FilesChanged { .. } => "files_changed", Event::FilesChanged { paths: vec!["a".into()], by: None, copy_of: None };
        Event::Transcript { .. } => "spoken", Event::Transcript { speaker: Speaker::User, text: "もしもし".into(), interrupted: None };
        Event::CancelTaken => "cancel_taken", Event::CancelTaken;
        Event::AgentReport(_) => "agent_report", Event::AgentReport(AgentReport { agent: AGENT, stage: ReportStage::Stopped });
        Event::Notice(_) => "notice", Event::Notice(Notice::NothingToCancel);
        Event::Work(_) => "reason_ask", Event::Work(Work::Decision(decision(NextAction::Ask, None)));
        Event::Files { .. } => "files", Event::Files { kind: ListKind::Temp, list: None };
    });
    let failed = ToolNote { output: None, error: Some("exit status: 1".into()), ..tool_note(ToolState::Failed) };
    let unnamed = ToolNote { tool: None, input: Some("ls".into()), output: None, ..tool_note(ToolState::Started) };
    rows.extend([
        ("text_plain", Event::Text { text: "hello".into(), run: None, note: AnswerNote::default() }),
        ("heard", Event::Transcript { speaker: Speaker::Model, text: "はい".into(), interrupted: None }),
        ("tool_failed", Event::Tool(failed)),
        ("tool_started", Event::Tool(unnamed)),
        ("settled_no", settled(Confirmed::Refused, DecidedBy::User)),
        ("settled_late", settled(Confirmed::Refused, DecidedBy::Time)),
        ("run_failed", Event::Notice(Notice::RunFailed { run: RunId(3), reason: "the model does not answer".into() })),
        ("run_cancelled", Event::Notice(Notice::RunCancelled { run: RunId(3) })),
        ("locked", Event::Notice(Notice::Locked { failures: 8 })),
        ("reset", Event::Notice(Notice::Reset)),
    ]);
    rows.extend(steps().into_iter().map(|(name, step)| (name, Event::Work(step))));
    rows
}

/// Signals that a client is told about; it gets nothing of the others.
fn signals() -> Vec<(&'static str, Signal)> {
    let ack = |request, repeated| Signal::Ack { request, repeated };
    let problem = |problem, request| Signal::Failed { problem, request };
    let id = || RequestNo::Text("a-1".into());
    vec![
        ("delta", Signal::AnswerPart { channel: LANE, run: RunId(3), text: "\n\nthen".into() }),
        ("ack", ack(id(), false)),
        ("ack_repeated", ack(id(), true)),
        ("error", problem(Problem::QueueFull { waiting: 16 }, None)),
        ("error_unknown", problem(Problem::NothingToConfirm, Some(id()))),
        ("error_again", problem(Problem::ConfirmTwice, Some(id()))),
        ("error_locked", problem(Problem::Locked, Some(id()))),
        ("system", Signal::System(SystemNotice::Say("再起動します".into()))),
    ]
}

/// What each event becomes: the types of its frames in the first form, and its events in the second.
#[rustfmt::skip]
const BECOMES: [(&str, &[&str], &[&str]); 39] = [
    ("user_text", &["onUserInput"], &["input:received", "message:user"]),
    ("user_request", &["onUserInput"], &["input:received", "message:user"]),
    ("user_file", &[], &[]),
    ("text", &["onNewMessage"], &["message:assistant"]),
    ("run_started", &["onAgentStateChange thinking"], &["loop:started", "loop:awaiting_llm"]),
    ("run_line", &["onNotice"], &["message:system"]),
    ("tool", &["onToolCall"], &["tool:result"]),
    ("plan", &[], &[]),
    ("asked", &["onToolCallRequest", "onAgentStateChange waiting_for_confirmation"], &["confirmation:request"]),
    ("settled", &["onToolCallResolved"], &["confirmation:response"]),
    ("run_ended", &[], &["loop:finished"]),
    ("run_summed", &[], &[]),
    ("chosen", &[], &[]),
    ("file_made", &[], &[]),
    ("request_answered", &["onNewMessage"], &["message:assistant"]),
    ("files_changed", &[], &[]),
    ("spoken", &["onUserInput"], &["input:received", "message:user"]),
    ("cancel_taken", &[], &[]),
    ("agent_report", &[], &[]),
    ("notice", &["onNotice"], &["message:system"]),
    ("files", &[], &[]),
    ("text_plain", &["onNewMessage"], &["message:assistant"]),
    ("heard", &["onNewMessage"], &["message:assistant"]),
    ("tool_failed", &["onToolCall"], &["tool:error"]),
    ("tool_started", &["onToolCall", "onAgentStateChange executing_tool"], &["tool:executing"]),
    ("settled_no", &["onToolCallResolved"], &["confirmation:response", "tool:blocked"]),
    ("settled_late", &["onToolCallResolved"], &["confirmation:response", "tool:blocked"]),
    ("run_failed", &["error", "onAgentStateChange waiting_for_input"], &["loop:error"]),
    ("run_cancelled", &["onNotice", "onAgentStateChange stopped", "onAgentStateChange waiting_for_input"], &["message:system"]),
    ("locked", &["onNotice", "onAgentStateChange locked"], &["safety:lockout"]),
    ("reset", &["onNotice", "onAgentStateChange waiting_for_input"], &["state:reset"]),
    ("reason_ask", &["onWork"], &[]),
    ("dataset_info", &["onWork"], &[]),
    ("reason", &["onWork"], &[]),
    ("code", &["onWork"], &[]),
    ("exec", &["onWork"], &[]),
    ("artifact", &["onWork"], &[]),
    ("floor", &["onWork"], &[]),
    ("report", &["onWork"], &[]),
];

/// All frames that the gateway sends, by the names of their fixtures.
fn sent() -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let mut add = |prefix: &str, name: &str, frames: &[Frame]| {
        for (number, frame) in frames.iter().enumerate() {
            let more = if number == 0 { String::new() } else { format!("_{}", number + 1) };
            all.insert(format!("{prefix}_{name}{more}"), golden(frame));
        }
    };
    for (name, event) in events() {
        let mut second = page().encoder();
        let mut frames = Vec::new();
        // An answer does not name the call, so its question has to come first.
        if name.starts_with("settled") {
            second.encode(&logged(LANE, Event::ConfirmAsked(confirmation(AGENT))), &mut frames);
            frames.clear();
        }
        second.encode(&logged(LANE, event.clone()), &mut frames);
        add("agent_event_server", name, &frames);
        add("server", name, &encoded(&dialect(), &logged(LANE, event)));
    }
    for (name, signal) in signals() {
        let delivery = Delivery::Passing(signal);
        add("server", name, &encoded(&dialect(), &delivery));
        add("agent_event_server", name, &encoded(&page(), &delivery));
    }
    for (name, frame) in others() {
        all.insert(name.to_owned(), frame);
    }
    all
}

/// Frames that are neither events nor signals.
fn others() -> Vec<(&'static str, Value)> {
    let greeting = Greeting {
        session: session(),
        view: View::One(LANE),
        epoch: Epoch(0x5f1c),
        resumed: false,
        first: false,
        controls: BTreeMap::new(),
        settings: Arc::default(),
        project: "/home/me/project".into(),
        overview: None,
        setup: None,
    };
    let mut frames = Vec::new();
    let error = CoreUiError::BadField { field: "approved", expected: "true or false" };
    let refused = Refusal { error, request: Some(RequestNo::Text("a-1".into())) };
    let mut first = dialect().encoder();
    first.greet(&greeting, &mut frames);
    first.refuse(&refused, &mut frames);
    let mut second = page().encoder();
    second.greet(&greeting, &mut frames);
    second.pong(&mut frames);
    second.refuse(&refused, &mut frames);
    second.refuse(&CoreUiError::NotAMessage.into(), &mut frames);
    let names = [
        "server_connected",
        "server_error_refused",
        "agent_event_server_connected",
        "agent_event_server_pong",
        "agent_event_server_error_refused",
        "agent_event_server_error_message",
    ];
    let mut rows: Vec<_> = names.into_iter().zip(frames.iter().map(golden)).collect();
    rows.push(("server_error_at_the_door", refusal("unauthorized", "You are not logged in")));
    rows
}

/// Every frame that a client may send: of the first form, and of the second.
fn commands() -> Vec<(&'static str, Decoded)> {
    let say = |text: &str| Command::SendText {
        route: Route::Chat,
        text: Typed::on_socket(text.to_owned()),
    };
    let answer = |confirmed, call: Option<&str>| Command::Confirm {
        id: ConfirmId::new("c0ffee"),
        confirmed,
        always: false,
        call: call.map(str::to_owned),
        second: SecondYes::ByRepeating,
    };
    let cancel = || Command::CancelRun { channel: LANE, scope: CancelScope::Current };
    let id = || Some(RequestNo::Text("a-1".into()));
    let first = |request, command| Decoded::several(request, vec![command]);
    let second = |command| Decoded::One(Inbound { request: None, command });
    let picture = Command::SendFile {
        channel: LANE,
        name: "image.png".to_owned(),
        bytes: Bytes::from_static(b"\x89PNG\r\n\x1a\n"),
    };
    let pictured = Decoded::several(id(), vec![picture, say("これは？")]);
    let (yes, no) = (Confirmed::Approved, Confirmed::Refused);
    vec![
        ("client_submit", first(None, say("こんにちは"))),
        ("client_submit_id", first(id(), say("こんにちは"))),
        ("client_submit_picture", pictured),
        ("client_confirm", first(None, answer(yes, None))),
        ("client_confirm_no", first(id(), answer(no, None))),
        ("client_cancel", first(None, cancel())),
        ("agent_event_client_user_input", second(say("こんにちは"))),
        ("agent_event_client_confirmation_response", second(answer(yes, Some("call-1")))),
        ("agent_event_client_confirmation_no", second(answer(no, Some("call-1")))),
        ("agent_event_client_cancel", second(cancel())),
        ("agent_event_client_ping", Decoded::Ping),
        ("agent_event_client_session_resume", Decoded::Several(Vec::new())),
    ]
}

#[test]
fn every_frame_of_the_gateway_is_golden() {
    for (name, frame) in sent() {
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::create_dir_all(path("").parent().unwrap()).unwrap();
            std::fs::write(path(&name), format!("{frame}\n")).unwrap();
        }
        assert_eq!(fixture(&name), format!("{frame}\n"), "{name}");
    }
}

#[test]
fn every_event_becomes_the_frames_of_the_table() {
    let becomes: BTreeMap<_, _> = BECOMES.iter().map(|row| (row.0, (row.1, row.2))).collect();
    let golden = sent();
    let told = |prefix: &str, name: &str| -> Vec<&Value> {
        let numbers = [String::new(), "_2".to_owned(), "_3".to_owned()];
        let names = numbers.iter().map(|number| format!("{prefix}_{name}{number}"));
        names.filter_map(|name| golden.get(&name)).collect()
    };
    let all = events();
    assert_eq!(all.len(), becomes.len());
    for (name, _) in all {
        let (first, second) = becomes[name];
        let kind = |frame: &&Value| {
            let state = frame["payload"]["state"].as_str();
            let state = state.filter(|_| frame["type"] == "onAgentStateChange");
            let kind = frame["type"].as_str().unwrap();
            state.map_or_else(|| kind.to_owned(), |state| format!("{kind} {state}"))
        };
        assert_eq!(told("server", name).iter().map(kind).collect::<Vec<_>>(), first, "{name}");
        let frames = told("agent_event_server", name);
        let events: Vec<_> = frames.iter().map(|frame| frame["event"]["type"].clone()).collect();
        assert_eq!(events, second, "{name}");
    }
}

/// Without additions a client gets the document's frames, and no state that the document does not have while a
/// question is open.
#[test]
fn additions_are_sent_only_to_clients_that_ask_for_them() {
    let plain = CoreUiDialect { additions: Additions::default(), ..dialect() };
    let mut types = BTreeSet::new();
    for (name, event) in events() {
        for frame in encoded(&plain, &logged(LANE, event)).iter().map(golden) {
            assert_ne!(frame["payload"]["state"], "waiting_for_confirmation", "{name}");
            types.insert(frame["type"].as_str().unwrap().to_owned());
        }
    }
    let document = ["error", "onAgentStateChange", "onNewMessage", "onToolCallRequest"];
    assert_eq!(types, document.map(str::to_owned).into());
}

/// `seq` does not depend on what a client asked for, and a client that resumes after any frame gets exactly the rest.
#[test]
fn a_client_that_resumes_after_a_frame_gets_the_rest_of_its_event() {
    let asked = logged(LANE, Event::ConfirmAsked(confirmation(AGENT)));
    let all = encoded(&dialect(), &asked);
    let seq = |frame: &Frame| golden(frame)["seq"].as_u64().unwrap();
    assert!(seq(&all[0]) < seq(&all[1]));
    for (number, frame) in all.iter().enumerate() {
        let resumed = CoreUiDialect { after: FrameSeq(seq(frame)), ..dialect() };
        assert_eq!(encoded(&resumed, &asked), all[number + 1..]);
    }
}

#[test]
fn every_frame_of_a_client_is_read_as_its_command() {
    for (name, expected) in commands() {
        let frame = fixture(name);
        let read = match name.starts_with("client_") {
            true => dialect().decode(Received::Text(&frame)),
            false => page().decode(Received::Text(&frame)),
        };
        assert_eq!(read, Ok(expected), "{name}");
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

/// Other signals are for clients of other dialects, and parts of answers for readers of their lane.
#[test]
fn signals_of_other_lanes_are_not_sent() {
    let part = Signal::AnswerPart {
        channel: Channel::Agent(AGENT),
        run: RunId(3),
        text: "not yours".into(),
    };
    for signal in [part, Signal::Heartbeat { count: 1, uptime_seconds: 5.0 }] {
        let delivery = Delivery::Passing(signal);
        assert_eq!(encoded(&dialect(), &delivery), []);
        assert_eq!(encoded(&page(), &delivery), []);
    }
}

#[test]
fn texts_for_people_are_in_the_language_of_the_client() {
    for (locale, is_ascii) in [(Locale::En, true), (Locale::Ja, false)] {
        let problem = Problem::Locked;
        let failed = Delivery::Passing(Signal::Failed { problem, request: None });
        for frame in encoded(&CoreUiDialect { locale, ..dialect() }, &failed) {
            assert_eq!(frame.text().unwrap().is_ascii(), is_ascii);
        }
        for frame in encoded(&AgentEventDialect { locale, ..page() }, &failed) {
            assert_eq!(frame.text().unwrap().is_ascii(), is_ascii);
        }
    }
}

fn encoded<D: Dialect>(dialect: &D, delivery: &Delivery) -> Vec<Frame> {
    let mut frames = Vec::new();
    dialect.encoder().encode(delivery, &mut frames);
    frames
}

/// The frame at a time that is always the same.
fn golden(frame: &Frame) -> Value {
    let mut value: Value = serde_json::from_str(frame.text().unwrap()).unwrap();
    for time in ["/timestamp", "/event/timestamp"] {
        if let Some(time) = value.pointer_mut(time) {
            *time = json!(TIME);
        }
    }
    value
}

fn path(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/core_ui");
    fixtures.join(format!("{name}.json"))
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
    files_below("tests/fixtures/core_ui").into_iter().map(read).collect()
}

/// The types of the golden frames whose names begin so.
pub(crate) fn types(prefix: &str) -> BTreeSet<String> {
    let ours = fixtures().into_iter().filter(|(name, _)| name.starts_with(prefix));
    ours.map(|(_, frame)| frame["type"].as_str().unwrap().to_owned()).collect()
}

fn session() -> SessionId {
    SessionId::from_random(0)
}

/// The first form, with all additions.
pub(crate) fn dialect() -> CoreUiDialect {
    CoreUiDialect {
        session: session(),
        locale: Locale::En,
        lane: LANE,
        additions: Additions::parse("all").unwrap(),
        after: FrameSeq::default(),
    }
}

/// The second form.
pub(crate) fn page() -> AgentEventDialect {
    let client = format!("ws-{}", "1".repeat(32));
    AgentEventDialect { session: session(), former: None, locale: Locale::En, lane: LANE, client }
}

fn settled(confirmed: Confirmed, by: DecidedBy) -> Event {
    let (id, channel) = (ConfirmId::new("c0ffee"), Channel::Agent(AGENT));
    Event::ConfirmSettled { id, channel, number: 3, confirmed, by }
}

fn chosen() -> Event {
    let outcome = ChosenOutcome::Failed { reason: "the disk is full".into() };
    Event::Chosen(Chosen { agent: AGENT, project: None, kind: ChoiceKind::Accept, outcome })
}
