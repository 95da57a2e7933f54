//! Golden frames of the agent UI, in both directions. `UPDATE_FIXTURES=1 cargo test golden_smol` writes what the gateway
//! sends anew.

use crate::docs::files_below;
use crate::golden_api;
use crate::samples::{confirmation, execution, figure, floor_note, steps};
use bytes::Bytes;
use kakehashi::dialect::smol::{SmolDialect, SmolError, client_types, filled, refusal, wanted};
use kakehashi::dialect::{Decoded, Dialect, Encoder, Frame, FrameId, Received};
use kakehashi::locale::Locale;
use kakehashi::message::floor::{Arrow, FloorOrder};
use kakehashi::message::{
    AgentSlot, AnswerNote, CancelScope, Channel, CodeNote, Command, ConfirmId, Confirmed,
    DecidedBy, Delivery, Entry, Epoch, Event, EventTime, FloorNote, Greeting, Inbound, Notice,
    Order, Problem, Route, RunId, RunOutcome, SecondYes, Seq, SessionId, Signal, Speaker,
    SystemNotice, Typed, View, Work,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// When the first event of each story happened.
const BEGAN: i64 = 1_772_134_493_000;
const RUN: RunId = RunId(3);
static BINARY: Bytes = Bytes::from_static(b"\x00");

/// Events of one connection, and the types of all frames that they become.
struct Story {
    name: &'static str,
    events: Vec<Event>,
    types: &'static [&'static str],
}

fn user(text: &str) -> Event {
    Event::UserText { text: text.into(), attachments: Vec::new() }
}

fn said(text: &str, run: Option<RunId>) -> Event {
    Event::Text { text: text.into(), run, note: AnswerNote::default() }
}

fn code(step: u32, code: &str) -> Event {
    Event::Work(Work::Code(CodeNote { run: RUN, step, code: code.into() }))
}

fn order(order: FloorOrder) -> Event {
    Event::Work(Work::Floor(FloorNote { run: RUN, order }))
}

fn ended(outcome: RunOutcome) -> Event {
    Event::RunEnded(outcome)
}

fn stories() -> Vec<Story> {
    let begin = |text: &str| vec![user(text), Event::RunStarted(RUN)];
    let end = |begun: Vec<Event>, rest: Vec<Event>| -> Vec<Event> {
        begun.into_iter().chain(rest).collect()
    };
    let arrow = FloorOrder::DrawArrow(Arrow::read("Kitchen", "left").unwrap());
    let whole = vec![
        Event::RunLine("installing pandas".into()),
        code(1, "print(6 * 7)"),
        Event::Work(Work::Execution(execution("42\n", None))),
        code(2, "plt.plot([1, 2])"),
        Event::Work(Work::Execution(execution("", Some("KeyError: 'area'")))),
        Event::Work(Work::Artifact(figure())),
        order(arrow),
        order(FloorOrder::ClearArrows),
        Event::Work(Work::Floor(floor_note())),
        order(FloorOrder::ClearMap),
        ended(RunOutcome::Finished),
        said("Kitchenの温度は 42", Some(RUN)),
    ];
    let words = "Look:\n```sql\nSELECT 1;\n```\nARROW_COMMAND: room=Toilet, direction=up\n\
                 {\"points\": [{\"lat\": 35.6762, \"lon\": 139.6503}]}\ndata:image/png;base64,iVBORw0KGgo=";
    let settled = Event::ConfirmSettled {
        id: ConfirmId::new("c0ffee"),
        channel: Channel::Chat,
        number: 2,
        confirmed: Confirmed::Refused,
        by: DecidedBy::User,
    };
    let asked = Event::ConfirmAsked(confirmation(AgentSlot::ALL[1]));
    let failed = Notice::RunFailed { run: RUN, reason: "the model does not answer".into() };
    let cut = Notice::RunInterrupted { run: RUN, request: "show me".into() };
    let finished = || vec![ended(RunOutcome::Finished), said("done", Some(RUN))];
    #[rustfmt::skip]
    let stories = vec![
        Story { name: "whole", events: end(begin("show me"), whole), types: &[
            "user_message", "progress", "progress", "progress", "progress", "progress", "progress", "debug", "code", "code",
            "text", "image", "highlight_room", "arrow", "clear_arrows", "map", "clear_map", "progress",
        ] },
        Story { name: "words", events: end(begin("これは？ \"quoted\"\nlines"), vec![ended(RunOutcome::Finished), said(words, Some(RUN))]), types: &[
            "user_message", "progress", "debug", "code", "text", "image", "map", "highlight_room", "arrow", "progress",
        ] },
        Story { name: "confirm", events: end(begin("write it"), end(vec![asked, settled], finished())), types: &[
            "user_message", "progress", "confirm", "progress", "confirmed", "progress", "debug", "text", "progress",
        ] },
        Story { name: "failed", events: end(begin("fail"), vec![ended(RunOutcome::Failed), Event::Notice(failed)]), types: &["user_message", "progress", "debug", "error", "progress"] },
        Story { name: "cancelled", events: end(begin("stop"), vec![ended(RunOutcome::Cancelled), said("half of", Some(RUN)), Event::Notice(Notice::RunCancelled { run: RUN })]), types: &["user_message", "progress", "debug", "text", "progress"] },
        Story { name: "interrupted", events: end(begin("show me"), vec![ended(RunOutcome::Interrupted), Event::Notice(cut)]), types: &["user_message", "progress", "debug", "text", "progress"] },
        Story { name: "others", events: vec![
            Event::Transcript { speaker: Speaker::User, text: "もしもし".into(), interrupted: None },
            Event::Transcript { speaker: Speaker::Model, text: "はい".into(), interrupted: None },
            said("hello", None),
            Event::Notice(Notice::Queued { run: RunId(4), place: 1 }),
        ], types: &["user_message", "text", "text", "text"] },
    ];
    stories
}

/// Every second one more event happens, while somebody looks on.
fn told(story: &Story) -> Vec<Frame> {
    let mut encoder = dialect().encoder();
    let mut frames = Vec::new();
    encoder.end_replay(&greeting(), &mut frames);
    frames.clear();
    for (number, entry) in entries(story).into_iter().enumerate() {
        encoder.encode(&Delivery::Logged(Arc::new(entry)), &mut frames);
        assert!(frames.len() < 100, "{number}");
    }
    frames
}

fn entries(story: &Story) -> Vec<Entry> {
    let entry = |(place, event): (usize, &Event)| {
        let number = u64::try_from(place).unwrap() + 1;
        let at = EventTime(BEGAN + i64::try_from(place).unwrap() * 1000);
        let event = event.clone();
        Entry { channel: Channel::Chat, seq: Seq(number), order: Order(number), at, event }
    };
    story.events.iter().enumerate().map(entry).collect()
}

/// Signals that a client is told about.
fn signals() -> Vec<(&'static str, Signal)> {
    let full = Problem::QueueFull { waiting: 16 };
    vec![
        ("problem", Signal::Failed { problem: full, request: None }),
        ("system", Signal::System(SystemNotice::Say("再起動します".into()))),
    ]
}

/// Frames that cannot be read, with the name of their answer.
fn unreadable() -> Vec<(&'static str, Received<'static>)> {
    let text = |name, frame| (name, Received::Text(frame));
    vec![
        text("refused_json", "{"),
        text("refused_array", "[]"),
        text("refused_empty", "{}"),
        text("refused_number", r#"{"message":5}"#),
        text("refused_type", r#"{"type":"shout"}"#),
        text("refused_confirm", r#"{"type":"confirm","id":"c0ffee","allow":"yes"}"#),
        text("refused_twice", r#"{"message":"a","message":"b"}"#),
        ("refused_binary", Received::Binary(&BINARY)),
    ]
}

/// All frames that the gateway sends, by the names of their fixtures.
fn sent() -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let mut add = |name: String, frame: Value| {
        assert!(all.insert(name.clone(), frame).is_none(), "{name} is there twice");
    };
    for story in stories() {
        for (number, frame) in told(&story).iter().enumerate() {
            let frame = golden(frame);
            let kind = frame["type"].as_str().unwrap();
            add(format!("server_{}_{:02}_{kind}", story.name, number + 1), frame.clone());
        }
    }
    for (name, signal) in signals() {
        let mut frames = Vec::new();
        dialect().encoder().encode(&Delivery::Passing(signal), &mut frames);
        assert_eq!(frames.len(), 1, "{name}");
        add(format!("server_{name}"), golden(&frames[0]));
    }
    for (name, resumed) in [("new", false), ("again", true)] {
        let mut frames = Vec::new();
        let mut encoder = SmolDialect { resumed, ..dialect() }.encoder();
        encoder.greet(&greeting(), &mut frames);
        encoder.end_replay(&greeting(), &mut frames);
        assert_eq!(kinds(&frames), ["map_definition", "connected", "history_end"]);
        for frame in frames.iter().map(golden) {
            let kind = frame["type"].as_str().unwrap();
            add(format!("server_{name}_{kind}"), frame.clone());
        }
    }
    for (name, frame) in unreadable() {
        let mut frames = Vec::new();
        dialect().encoder().refuse(&dialect().decode(frame).unwrap_err(), &mut frames);
        assert_eq!(frames.len(), 1, "{name}");
        add(format!("server_{name}"), golden(&frames[0]));
    }
    let mut frames = Vec::new();
    let large = SmolError::TooLarge { size: 300_000, limit: 262_144 };
    dialect().encoder().refuse(&large.into(), &mut frames);
    add("server_refused_size".to_owned(), golden(&frames[0]));
    add("server_error_at_the_door".to_owned(), refusal("You are not logged in"));
    all
}

/// Every frame that a client may send.
fn commands() -> Vec<(&'static str, Command)> {
    let text = Typed::on_socket("Show me 5 random coordinates on the map".to_owned());
    let confirm = |confirmed| {
        let (id, second) = (ConfirmId::new("c0ffee"), SecondYes::ByRepeating);
        Command::Confirm { id, confirmed, always: false, call: None, second }
    };
    let (channel, scope) = (Channel::Chat, CancelScope::Current);
    vec![
        ("client_message", Command::SendText { route: Route::Chat, text }),
        ("client_cancel", Command::CancelRun { channel, scope }),
        ("client_confirm", confirm(Confirmed::Approved)),
        ("client_confirm_no", confirm(Confirmed::Refused)),
    ]
}

#[test]
fn every_frame_of_the_agent_ui_is_golden() {
    for (name, frame) in sent() {
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::create_dir_all(path("x").parent().unwrap()).unwrap();
            std::fs::write(path(&name), format!("{frame}\n")).unwrap();
        }
        assert_eq!(fixture(&name), format!("{frame}\n"), "{name}");
    }
}

#[test]
fn a_turn_is_told_in_the_order_of_the_document() {
    for story in stories() {
        let frames = told(&story);
        assert_eq!(kinds(&frames), story.types, "{}", story.name);
        let golden: Vec<_> = frames.iter().map(golden).collect();
        for (at, debug) in golden.iter().enumerate().filter(|(_, one)| one["type"] == "debug") {
            let outputs: Vec<_> =
                golden[at + 1..].iter().filter(|one| one["type"] != "progress").collect();
            assert_eq!(debug["content"]["output_count"], outputs.len(), "{}", story.name);
            // Pictures follow, and need not travel twice.
            let parsed = debug["content"]["parsed_outputs"].as_array().unwrap();
            let images = parsed.iter().filter(|one| one["type"] == "image");
            let mut named = images.map(|one| one["content"].as_str().unwrap());
            assert!(named.all(|text| text.ends_with(" bytes]")), "{}", story.name);
        }
    }
}

/// A client that has a part gets the rest, with what the turn has done before.
#[test]
fn whoever_comes_back_in_a_turn_is_told_all_of_its_outputs_and_nothing_twice() {
    for story in stories() {
        let (all, entries) = (told(&story), entries(&story));
        for known in 0..entries.len() {
            let after = Seq(u64::try_from(known).unwrap());
            let mut encoder = SmolDialect { after, resumed: true, ..dialect() }.encoder();
            let mut frames = Vec::new();
            for entry in &entries {
                encoder.encode(&Delivery::Logged(Arc::new(entry.clone())), &mut frames);
            }
            let rest: Vec<_> = kinds(&frames);
            let mut whole: Vec<_> =
                kinds(&all).into_iter().filter(|kind| kind != "progress").collect();
            let missed = whole.split_off(whole.len() - rest.len());
            assert_eq!(rest, missed, "{} after {known}", story.name);
        }
    }
}

#[test]
fn no_other_signal_is_told() {
    for (name, signal) in golden_api::signals() {
        let mut frames = Vec::new();
        dialect().encoder().encode(&Delivery::Passing(signal.clone()), &mut frames);
        let is_told = matches!(signal, Signal::Failed { .. } | Signal::System(_));
        assert_eq!(frames.len(), usize::from(is_told), "{name}");
    }
}

#[test]
fn steps_without_a_turn_are_not_told() {
    for (name, step) in steps() {
        let story = Story { name, events: vec![Event::Work(step)], types: &[] };
        assert_eq!(kinds(&told(&story)), [""; 0], "{name}");
    }
}

#[test]
fn every_frame_of_a_client_is_read_as_its_command() {
    for (name, command) in commands() {
        let read = dialect().decode(Received::Text(&fixture(name)));
        assert_eq!(read, Ok(Decoded::from(Inbound { request: None, command })), "{name}");
    }
}

#[test]
fn every_golden_frame_is_used() {
    let mut used: BTreeSet<String> = sent().into_keys().collect();
    used.extend(commands().into_iter().map(|(name, _)| name.to_owned()));
    let there: BTreeSet<String> = fixtures().into_iter().map(|(name, _)| name).collect();
    assert_eq!(used, there);
    let typed = commands()
        .into_iter()
        .filter_map(|(name, _)| Some(fixture_value(name)["type"].as_str()?.to_owned()));
    assert_eq!(typed.collect::<BTreeSet<_>>(), client_types().map(str::to_owned).into());
}

#[test]
fn texts_for_people_are_in_the_language_of_the_client() {
    for (locale, is_ascii) in [(Locale::En, true), (Locale::Ja, false)] {
        let failed = Signal::Failed { problem: Problem::Locked, request: None };
        let mut frames = Vec::new();
        let mut encoder = SmolDialect { locale, ..dialect() }.encoder();
        encoder.greet(&greeting(), &mut frames);
        frames.truncate(1);
        encoder.encode(&Delivery::Passing(failed), &mut frames);
        for frame in frames.iter().map(golden) {
            assert_eq!(frame.to_string().is_ascii(), is_ascii, "{frame}");
        }
    }
}

fn kinds(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(|frame| golden(frame)["type"].as_str().unwrap().to_owned()).collect()
}

fn golden(frame: &Frame) -> Value {
    assert!(matches!(frame, Frame::Event(FrameId::Number(_), _) | Frame::Text(_)), "{frame:?}");
    let text = frame.text().unwrap();
    // The transport does this with the bytes of the file.
    let full = wanted(text).map(|_| filled(text, b"png").unwrap());
    serde_json::from_str(&full.unwrap_or_else(|| text.to_owned())).unwrap()
}

fn path(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/smol_wire");
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
    files_below("tests/fixtures/smol_wire").into_iter().map(read).collect()
}

/// The types of frames that the gateway sends.
pub(crate) fn types() -> BTreeSet<String> {
    let ours = fixtures().into_iter().filter(|(name, _)| name.starts_with("server_"));
    ours.map(|(_, frame)| frame["type"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn dialect() -> SmolDialect {
    let session = SessionId::from_random(0);
    SmolDialect { session, locale: Locale::En, resumed: false, after: Seq(0) }
}

fn greeting() -> Greeting {
    Greeting {
        session: SessionId::from_random(0),
        view: View::One(Channel::Chat),
        epoch: Epoch(0x5f1c),
        resumed: false,
        first: false,
        controls: BTreeMap::new(),
        settings: Arc::default(),
        project: "/home/me/project".into(),
        overview: None,
        setup: None,
    }
}
