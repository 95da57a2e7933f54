//! The other end of the line: says what it is told to say, in the vendor's own words.

use base64_simd::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};

const PATIENCE: Duration = Duration::from_secs(120);
/// Samples of one letter: as fast as a voice is taken to be at most.
pub(super) const LETTER: usize = 2_000;

const SOUND: &str = "input_audio_buffer.append";

/// Whether a piece of sound is more than silence, and its samples.
pub(super) fn loudness(event: &Value) -> (bool, usize) {
    let pcm = STANDARD.decode_to_vec(event["audio"].as_str().unwrap()).unwrap();
    (pcm.iter().any(|byte| *byte != 0), pcm.len() / 2)
}

pub(super) struct Vendor {
    calls: mpsc::Receiver<DuplexStream>,
}

/// One connection.
pub(super) struct Call {
    socket: WebSocketStream<DuplexStream>,
    /// What came up to the configuration's end: its session, and what was said before.
    pub(super) opening: Vec<Value>,
    /// Samples that were heard.
    pub(super) heard: usize,
    number: u32,
}

impl Vendor {
    pub(super) fn new(calls: mpsc::Receiver<DuplexStream>) -> Self {
        Self { calls }
    }

    /// The bare line of the next connection.
    pub(super) async fn ring(&mut self) -> DuplexStream {
        timeout(PATIENCE, self.calls.recv()).await.unwrap().unwrap()
    }

    /// A connection that is not ready yet.
    pub(super) async fn pick_up(&mut self) -> Call {
        let stream = self.ring().await;
        let socket = accept_async(stream).await.unwrap();
        Call { socket, opening: Vec::new(), heard: 0, number: 0 }
    }

    pub(super) async fn answer(&mut self) -> Call {
        let mut call = self.pick_up().await;
        call.send(json!({"type": "session.created", "session": {"id": "s"}})).await;
        let first = call.next().await;
        assert_eq!(first["type"], "session.update");
        call.opening.push(first);
        call.send(json!({"type": "session.updated", "session": {}})).await;
        call
    }
}

impl Call {
    pub(super) async fn send(&mut self, event: Value) {
        // Binary now and then: both are read.
        self.number += 1;
        let text = event.to_string();
        let message =
            if self.number.is_multiple_of(2) { Message::binary(text) } else { Message::text(text) };
        let _ = self.socket.send(message).await;
    }

    /// The next event that is not sound; `None` at the end.
    pub(super) async fn event(&mut self) -> Option<Value> {
        timeout(PATIENCE, self.read()).await.unwrap()
    }

    /// Nothing happens for so long; false if the other one hangs up.
    pub(super) async fn idle(&mut self, time: Duration) -> bool {
        match timeout(time, self.read()).await {
            Err(_) => true,
            Ok(None) => false,
            Ok(Some(event)) => panic!("{event}"),
        }
    }

    /// However long it takes.
    pub(super) async fn read(&mut self) -> Option<Value> {
        loop {
            let event = self.any().await?;
            if event["type"] != SOUND {
                return Some(event);
            }
        }
    }

    /// The next event, also if it is sound.
    pub(super) async fn any(&mut self) -> Option<Value> {
        loop {
            match self.socket.next().await? {
                Ok(Message::Text(text)) => {
                    let event: Value = serde_json::from_str(&text).unwrap();
                    assert!(event["event_id"].is_string(), "{event}");
                    if event["type"] == SOUND {
                        self.heard += loudness(&event).1;
                    }
                    return Some(event);
                }
                Ok(Message::Ping(_) | Message::Pong(_)) => (),
                Ok(_) | Err(_) => return None,
            }
        }
    }

    pub(super) async fn next(&mut self) -> Value {
        self.event().await.unwrap()
    }

    pub(super) async fn expect(&mut self, kind: &'static str) -> Value {
        let event = self.next().await;
        assert_eq!(event["type"], kind, "{event}");
        event
    }

    /// A reply is asked for, and begins.
    pub(super) async fn begin(&mut self, id: &str) {
        self.expect("response.create").await;
        self.created(id).await;
    }

    pub(super) async fn created(&mut self, id: &str) {
        self.send(json!({"type": "response.created", "response": {"id": id}})).await;
        let item = json!({"id": format!("item-{id}"), "type": "message", "role": "assistant"});
        self.send(json!({"type": "response.output_item.added", "response_id": id, "item": item}))
            .await;
    }

    pub(super) async fn text(&mut self, id: &str, text: &str) {
        let item = format!("item-{id}");
        self.send(json!({"type": "response.output_audio_transcript.delta", "response_id": id,
            "item_id": item, "delta": text}))
            .await;
    }

    pub(super) async fn sound(&mut self, id: &str, samples: &[i16]) {
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let item = format!("item-{id}");
        self.send(json!({"type": "response.output_audio.delta", "response_id": id,
            "item_id": item, "delta": STANDARD.encode_to_string(bytes)}))
            .await;
    }

    /// All of a text in a burst, each letter with its sound.
    pub(super) async fn burst(&mut self, id: &str, text: &str) {
        for word in text.split_inclusive(' ') {
            self.text(id, word).await;
            self.sound(id, &vec![1; LETTER * word.trim().len()]).await;
        }
    }

    pub(super) async fn done(&mut self, id: &str, status: &str) {
        self.done_with(id, status, json!([])).await;
    }

    pub(super) async fn done_with(&mut self, id: &str, status: &str, output: Value) {
        let usage = json!({"input_tokens": 10, "output_tokens": 20});
        self.send(json!({"type": "response.done",
            "response": {"id": id, "status": status, "output": output, "usage": usage}}))
            .await;
    }

    /// A whole answer.
    pub(super) async fn reply(&mut self, id: &str, text: &str) {
        self.begin(id).await;
        self.burst(id, text).await;
        self.done(id, "completed").await;
    }

    pub(super) async fn speech(&mut self, item: &str, began: bool) {
        let kind = if began { "started" } else { "stopped" };
        self.send(json!({"type": format!("input_audio_buffer.speech_{kind}"), "item_id": item}))
            .await;
    }

    /// What the user said, as text.
    pub(super) async fn transcribed(&mut self, item: &str, text: &str) {
        let kind = "conversation.item.input_audio_transcription.completed";
        self.send(json!({"type": kind, "item_id": item, "transcript": text})).await;
    }

    pub(super) async fn error(&mut self, code: &str, about: &Value) {
        let error = json!({"type": "invalid_request_error", "code": code,
            "message": format!("about {code}"), "event_id": about["event_id"]});
        self.send(json!({"type": "error", "error": error})).await;
    }

    pub(super) async fn close(mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        let _ = self.socket.close(Some(frame)).await;
    }
}

impl Vendor {
    /// Answers the handshake with a status instead of a WebSocket.
    pub(super) async fn refuse(&mut self, status: u16) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = timeout(PATIENCE, self.calls.recv()).await.unwrap().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        let text = String::from_utf8(request).unwrap();
        assert!(text.contains("authorization: Bearer sk-secret\r\n"), "{text}");
        assert!(!text.to_lowercase().contains("openai-beta"), "{text}");
        assert!(text.starts_with("GET /v1/realtime?model=first HTTP/1.1\r\n"), "{text}");
        let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 2\r\n\r\nno");
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }
}
