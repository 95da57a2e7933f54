//! Frames that nobody would send on purpose: whatever comes is survived, and the connection still works after it.

use super::*;
use proptest::prelude::*;

const FRAMES: [&str; 12] = [
    r#"{"setupComplete":{"sessionId":"s"}}"#,
    r#"{"serverContent":{"modelTurn":{"role":"model","parts":[{"inlineData":{"mimeType":"audio/pcm;rate=24000","data":"YWJj"}},{"text":"t","thought":true}]}}}"#,
    r#"{"serverContent":{"interrupted":true,"inputTranscription":{"text":"wait","languageCode":"en"}}}"#,
    r#"{"serverContent":{"generationComplete":true}}"#,
    r#"{"serverContent":{"turnComplete":true,"turnCompleteReason":"NEED_MORE_INPUT"},"usageMetadata":{"promptTokenCount":1,"responseTokenCount":2}}"#,
    r#"{"serverContent":{"outputTranscription":{"text":"hello","finished":true}}}"#,
    r#"{"toolCall":{"functionCalls":[{"id":"a","name":"f","args":{"x":1}},{"id":"b","name":"f","args":{"x":1}}]}}"#,
    r#"{"toolCallCancellation":{"ids":["a","b"]}}"#,
    r#"{"goAway":{"timeLeft":"50s"}}"#,
    r#"{"sessionResumptionUpdate":{"newHandle":"h","resumable":true}}"#,
    r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}"#,
    r#"[{"error":{"code":400}}]"#,
];

fn json_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "setupComplete",
        "serverContent",
        "modelTurn",
        "parts",
        "inlineData",
        "mimeType",
        "data",
        "turnComplete",
        "interrupted",
        "generationComplete",
        "inputTranscription",
        "text",
        "outputTranscription",
        "finished",
        "toolCall",
        "functionCalls",
        "id",
        "name",
        "args",
        "toolCallCancellation",
        "ids",
        "goAway",
        "timeLeft",
        "sessionResumptionUpdate",
        "newHandle",
        "resumable",
        "usageMetadata",
        "promptTokenCount",
        "error",
        "code",
        "message",
        "audio/pcm;rate=24000",
        "AAAA",
        "5s",
        "turnCompleteReason",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..5).prop_map(|fields| {
                Value::Object(
                    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}

fn any_request() -> impl Strategy<Value = Request> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..5000).prop_map(|pcm| Request::Hear(pcm.into())),
        Just(()).prop_map(|()| Request::HearNothing),
        Just(()).prop_map(|()| Request::SpeechBegins),
        Just(()).prop_map(|()| Request::SpeechEnds),
        Just(()).prop_map(|()| Request::Cancel),
        any::<String>().prop_map(Request::Read),
        Just(()).prop_map(|()| Request::See(Bytes::from_static(b"jpeg"))),
        prop::sample::select(vec!["a", "b", "kakehashi-1"]).prop_map(|id| Request::ToolResult {
            id: id.to_owned(),
            outcome: Ok("done".to_owned())
        }),
    ]
}

/// Every name of a reply begins once and ends at most once, sound only in between; frames are one of four kinds.
#[derive(Default)]
struct Book {
    begun: Vec<String>,
    ended: Vec<String>,
}

impl Book {
    fn check(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::ReplyBegan { reply } => {
                    assert!(!self.begun.contains(&reply));
                    self.begun.push(reply);
                }
                Effect::Sound { reply, pcm } => {
                    assert_eq!(self.begun.last(), Some(&reply));
                    assert!(!self.ended.contains(&reply));
                    assert!(pcm.len() % 2 == 0 && !pcm.is_empty());
                }
                Effect::ReplySaid { reply, .. } => assert_eq!(self.begun.last(), Some(&reply)),
                Effect::ReplyMade { reply } => assert!(!self.ended.contains(&reply)),
                Effect::ReplyEnded { reply, .. } => {
                    assert!(self.begun.contains(&reply) && !self.ended.contains(&reply));
                    self.ended.push(reply);
                }
                Effect::Send(frame) => {
                    let frame: Value = serde_json::from_str(&frame).unwrap();
                    let keys: Vec<_> = frame.as_object().unwrap().keys().collect();
                    let known = ["setup", "clientContent", "realtimeInput", "toolResponse"];
                    assert!(keys.len() == 1 && known.contains(&keys[0].as_str()), "{frame}");
                }
                Effect::Ready
                | Effect::SpeechBegan { .. }
                | Effect::SpeechEnded { .. }
                | Effect::UserSaid { .. }
                | Effect::Interrupted
                | Effect::Tell(_)
                | Effect::Handle(_)
                | Effect::GoAway { .. }
                | Effect::Remark(_)
                | Effect::Limited { .. }
                | Effect::Failed { .. } => (),
            }
        }
    }
}

/// Whatever came before, the next conversation works.
fn assert_alive(gemini: &mut Gemini) {
    gemini.open(None, &[]);
    say(gemini, json!({"setupComplete": {}}));
    let effects = content(gemini, json!({"modelTurn": pcm(b"ab"), "turnComplete": true}));
    assert_eq!(effects.len(), 3, "{effects:?}");
}

proptest! {
    #[test]
    fn any_json_is_survived(messages in prop::collection::vec(json_value(), 1..8)) {
        let mut gemini = current();
        let mut book = Book::default();
        for message in messages {
            book.check(say(&mut gemini, message));
        }
        assert_alive(&mut gemini);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut gemini = current();
        let effects = gemini.frame(&bytes);
        if serde_json::from_slice::<Value>(&bytes).is_err() {
            prop_assert!(matches!(effects.as_slice(), [Effect::Remark(_)]));
        }
        assert_alive(&mut gemini);
    }

    #[test]
    fn frames_and_wishes_in_any_order_keep_to_the_rules(
        model in prop::sample::select(vec!["gemini-3.8-live", "gemini-3.1-live", "gemini-2.5"]),
        turns in prop::sample::select(vec![Turns::Model, Turns::Gateway]),
        steps in prop::collection::vec(
            prop_oneof![
                3 => (0..FRAMES.len()).prop_map(Step::Frame),
                2 => any_request().prop_map(Step::Request),
                1 => any::<bool>().prop_map(Step::Open),
            ],
            0..60,
        ),
    ) {
        let mut gemini = open(model, turns);
        let mut book = Book::default();
        for step in steps {
            book.check(match step {
                Step::Frame(at) => gemini.frame(FRAMES[at].as_bytes()),
                Step::Request(request) => gemini.request(request),
                Step::Open(resumes) => {
                    gemini.closed(Some(1011), "");
                    gemini.open(resumes.then_some("h"), &[])
                }
            });
        }
        assert_alive(&mut gemini);
    }

    #[test]
    fn a_mutated_frame_is_survived(
        at in 0..FRAMES.len(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut gemini = current();
        let mut frame = FRAMES[at].as_bytes().to_vec();
        let place = place.index(frame.len());
        frame[place] = byte;
        let mut book = Book::default();
        book.check(gemini.frame(&frame));
        frame.truncate(cut.index(frame.len()));
        book.check(gemini.frame(&frame));
        assert_alive(&mut gemini);
    }
}

#[derive(Debug)]
enum Step {
    Frame(usize),
    Request(Request),
    Open(bool),
}

#[test]
fn malformed_frames_are_remarked_and_change_nothing() {
    let mut gemini = current();
    for bad in ["", "null", "{", "\"text\"", "7", "{\"serverContent\":7}", "\u{feff}{}"] {
        let effects = gemini.frame(bad.as_bytes());
        assert!(matches!(effects.as_slice(), [Effect::Remark(_)]), "{bad}: {effects:?}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(gemini.frame(deep.as_bytes()).as_slice(), [Effect::Remark(_)]));
    for fine in ["{}", "{\"unknown\":[{}]}", "{\"serverContent\":null,\"toolCall\":null}"] {
        assert_eq!(gemini.frame(fine.as_bytes()), []);
    }
}
