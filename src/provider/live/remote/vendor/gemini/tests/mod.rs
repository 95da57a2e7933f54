//! The vendor's messages one by one, as it was seen to send them.

mod closing;
pub(in crate::provider::live::remote) mod fake_vendor;
mod hearing;
mod hostile;
mod opening;
mod speaking;
mod talk;
mod tools;

use super::*;
use crate::provider::live::remote::protocol::{ReplyEnd, Tool};
use crate::provider::row::{ChatKey, LiveKind, LiveModel, Secret};
use bytes::Bytes;
use serde_json::{Value, json};

fn rules(turns: Turns) -> TurnRules {
    TurnRules {
        threshold_percent: 50,
        min_speech: Duration::from_millis(200),
        silence: Duration::from_millis(500),
        backchannels: Vec::new(),
        guard: Duration::ZERO,
        half_duplex: false,
        turns,
        patience: Duration::from_secs(10),
    }
}

fn wanted(model: &str, turns: Turns) -> Setup {
    let key = ChatKey { variable: "GEMINI_API_KEY".to_owned(), secret: Some(Secret::new("a-key")) };
    let model = LiveModel {
        name: "gemini".to_owned(),
        label: "Gemini".to_owned(),
        kind: LiveKind::Gemini,
        base_url: "wss://generativelanguage.googleapis.com".to_owned(),
        model: model.to_owned(),
        voice: Some("Kore".to_owned()),
        key: Some(key),
        language: Some("ja-JP".to_owned()),
        transcription: None,
    };
    let tool = Tool {
        name: "code_agent_request".to_owned(),
        description: "gives work to an agent".to_owned(),
        parameters: json!({"type": "object", "properties": {"request": {"type": "string"}}}),
    };
    Setup {
        model: Arc::new(model),
        instructions: "Be brief.".to_owned(),
        tools: vec![tool],
        rules: Arc::new(rules(turns)),
    }
}

/// A connection that is ready.
fn open(model: &str, turns: Turns) -> Gemini {
    let mut gemini = Gemini::new(wanted(model, turns));
    gemini.open(None, &[]);
    assert_eq!(say(&mut gemini, json!({"setupComplete": {"sessionId": "s"}})), [Effect::Ready]);
    gemini
}

fn current() -> Gemini {
    open("gemini-3.8-live", Turns::Model)
}

fn ours() -> Gemini {
    open("gemini-3.8-live", Turns::Gateway)
}

fn say(gemini: &mut Gemini, message: Value) -> Vec<Effect> {
    gemini.frame(message.to_string().as_bytes())
}

fn content(gemini: &mut Gemini, content: Value) -> Vec<Effect> {
    say(gemini, json!({"serverContent": content}))
}

/// Only the frames that are sent, as JSON.
fn sent(effects: Vec<Effect>) -> Vec<Value> {
    let frames = effects.into_iter().map(|effect| {
        let Effect::Send(frame) = effect else { panic!("{effect:?}") };
        serde_json::from_str(&frame).unwrap()
    });
    frames.collect()
}

fn request(gemini: &mut Gemini, request: Request) -> Vec<Value> {
    sent(gemini.request(request))
}

fn read(gemini: &mut Gemini, text: &str) -> Vec<Value> {
    request(gemini, Request::Read(text.to_owned()))
}

fn text(text: &str) -> Value {
    json!({"realtimeInput": {"text": text}})
}

fn activity_start() -> Value {
    json!({"realtimeInput": {"activityStart": {}}})
}

fn activity_end() -> Value {
    json!({"realtimeInput": {"activityEnd": {}}})
}

fn pcm(bytes: &[u8]) -> Value {
    let data = base64_simd::STANDARD.encode_to_string(bytes);
    json!({"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}}]})
}

fn began(reply: &str) -> Effect {
    Effect::ReplyBegan { reply: reply.to_owned() }
}

fn sound(reply: &str, bytes: &'static [u8]) -> Effect {
    Effect::Sound { reply: reply.to_owned(), pcm: Bytes::from_static(bytes) }
}

fn said(reply: &str, text: &str) -> Effect {
    Effect::ReplySaid { reply: reply.to_owned(), text: text.to_owned() }
}

fn made(reply: &str) -> Effect {
    Effect::ReplyMade { reply: reply.to_owned() }
}

fn ended(reply: &str, end: ReplyEnd) -> Effect {
    Effect::ReplyEnded { reply: reply.to_owned(), end }
}

fn user(utterance: &str, text: &str, last: bool) -> Effect {
    Effect::UserSaid { utterance: utterance.to_owned(), text: text.to_owned(), last }
}
