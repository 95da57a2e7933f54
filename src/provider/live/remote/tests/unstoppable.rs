//! A vendor that can neither be stopped nor told what was heard, such as GPT-Live, and that speaks at a rate of its own.

use super::super::conversation::Conversation;
use super::super::protocol::{
    Address, Capabilities, Effect, Protocol, Recovery, ReplyEnd, Request, Resume, Said,
};
use super::*;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// Says what it is told to say: `{"say": reply, "text": .., "samples": ..}` and `{"end": reply}`.
#[derive(Debug, Default)]
struct Unstoppable {
    known: Vec<String>,
}

impl Protocol for Unstoppable {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            input_rate: 24_000,
            output_rate: 16_000,
            cancel: false,
            truncate: false,
            images: false,
            hears_speech: false,
            interrupts_itself: false,
            replies_unasked: true,
            works_aside: false,
            hears_aside: false,
            yields_turns: true,
            resume: Resume::Replay,
            renew_after: None,
            longest: None,
        }
    }

    fn address(&self) -> Address {
        Address { url: "ws://vendor/".to_owned(), headers: Vec::new() }
    }

    fn open(&mut self, _handle: Option<&str>, _said: &[Said]) -> Vec<Effect> {
        vec![Effect::Ready]
    }

    fn set_rules(&mut self, _rules: Arc<TurnRules>) {}

    fn request(&mut self, request: Request) -> Vec<Effect> {
        match request {
            Request::Read(text) => vec![Effect::Send(json!({ "read": text }).to_string())],
            Request::Heard { .. } => panic!("it cannot be told"),
            Request::Insist => vec![Effect::Send(json!("insist").to_string())],
            Request::Hear(_)
            | Request::HearNothing
            | Request::SpeechBegins
            | Request::SpeechEnds
            | Request::Reply
            | Request::Report(_)
            | Request::See(_)
            | Request::Cancel
            | Request::ToolResult { .. } => Vec::new(),
        }
    }

    fn frame(&mut self, frame: &[u8]) -> Vec<Effect> {
        let frame: Value = serde_json::from_slice(frame).unwrap();
        if let Some(reply) = frame["end"].as_str() {
            return vec![Effect::ReplyEnded { reply: reply.to_owned(), end: ReplyEnd::Complete }];
        }
        let reply = frame["say"].as_str().unwrap().to_owned();
        let mut effects = Vec::new();
        if !self.known.contains(&reply) {
            self.known.push(reply.clone());
            effects.push(Effect::ReplyBegan { reply: reply.clone() });
        }
        let text = frame["text"].as_str().unwrap().to_owned();
        effects.push(Effect::ReplySaid { reply: reply.clone(), text });
        let samples = usize::try_from(frame["samples"].as_u64().unwrap()).unwrap();
        let pcm = 500_i16.to_le_bytes().repeat(samples).into();
        effects.push(Effect::Sound { reply, pcm });
        effects
    }

    fn size(&self) -> usize {
        self.known.len()
    }

    fn closed(&mut self, _code: Option<u16>, _reason: &str) -> Recovery {
        Recovery::Retry
    }
}

struct Line(WebSocketStream<DuplexStream>);

impl Line {
    async fn say(&mut self, reply: &str, text: &str, samples: usize) {
        let frame = json!({"say": reply, "text": text, "samples": samples});
        futures_util::SinkExt::send(&mut self.0, Message::text(frame.to_string())).await.unwrap();
    }

    async fn end(&mut self, reply: &str) {
        let frame = json!({ "end": reply }).to_string();
        futures_util::SinkExt::send(&mut self.0, Message::text(frame)).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        loop {
            let message = futures_util::StreamExt::next(&mut self.0).await.unwrap().unwrap();
            if let Message::Text(text) = message {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }
}

async fn unstoppable() -> (Talk, Line) {
    let mut talk = talk();
    let (calls, called) = mpsc::channel(4);
    let (input, inputs) = mpsc::channel(8);
    let (outputs, output) = mpsc::channel(64);
    let protocol = Box::<Unstoppable>::default();
    let conversation =
        Conversation::with_vendor(remote_to(calls), talk.speaker.clone(), outputs, protocol);
    crate::task::spawn("conversation", conversation.run(inputs));
    talk.link = LiveLink { input, output };
    talk.vendor = Vendor::new(called);
    let socket = accept_async(talk.vendor.ring().await).await.unwrap();
    (talk, Line(socket))
}

#[tokio::test(start_paused = true)]
async fn what_it_says_at_its_own_rate_is_heard_whole() {
    let (mut talk, mut line) = unstoppable().await;
    talk.say(LiveInput::Text("hello".to_owned())).await;
    assert_eq!(line.next().await["read"], "hello");
    for _ in 0..10 {
        line.say("r1", "word ", 1_600).await;
    }
    line.end("r1").await;
    assert_eq!(talk.said().await, answer("word ".repeat(10).trim()));
    // A second is a second, whatever its samples.
    assert_eq!(talk.player.samples(), 24_000);
}

#[tokio::test(start_paused = true)]
async fn it_is_silenced_here_and_waited_for_while_it_speaks_to_its_end() {
    let (mut talk, mut line) = unstoppable().await;
    talk.say(LiveInput::Text("a story".to_owned())).await;
    assert_eq!(line.next().await["read"], "a story");
    line.say("r1", "one two three four five six", 8 * 16_000).await;
    sleep(Duration::from_secs(2)).await;
    talk.cancel().await;
    let (side, text, interrupted) = talk.said().await;
    assert_eq!((side, interrupted), (Side::Model, true));
    assert!("one two three four five".starts_with(&text), "{text}");
    let silent = talk.player.samples();
    talk.say(LiveInput::Text("something else".to_owned())).await;
    assert_eq!(line.next().await["read"], "something else");
    // It takes longer than an answer may take, but it is not mute.
    for _ in 0..12 {
        line.say("r1", "seven", 16_000).await;
        sleep(Duration::from_secs(2)).await;
    }
    line.end("r1").await;
    line.say("r2", "else", 8_000).await;
    line.end("r2").await;
    assert_eq!(talk.said().await, answer("else"));
    assert_eq!(talk.player.samples(), silent + 12_000);
}
