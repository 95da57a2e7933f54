//! Google's end of a connection, on any stream: says what a test wants it to say, in binary frames as the real one
//! does. It reads only when it is asked to, so its pongs are as slow as a test wants them.

use base64_simd::STANDARD;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

/// So long a test waits for something to happen.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes of one millisecond of its voice.
const VOICE: usize = 48;

pub(crate) struct Call<S> {
    socket: WebSocketStream<S>,
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    /// Bytes of sound that it has heard so far.
    pub(crate) heard: usize,
    /// Those of them that are not silence.
    pub(crate) loud: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Call<S> {
    pub(crate) async fn pick_up(stream: S) -> Self {
        let (mut path, mut key) = (String::new(), None);
        #[expect(clippy::result_large_err, reason = "the library wants it so")]
        let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            path = request.uri().to_string();
            let header = request.headers().get("x-goog-api-key");
            key = header.map(|key| key.to_str().unwrap().to_owned());
            Ok(response)
        };
        let socket = accept_hdr_async(stream, look).await.unwrap();
        Self { socket, path, key, heard: 0, loud: 0 }
    }

    /// What the model is to be: always the first frame, and the only one before it is ready.
    pub(crate) async fn setup(&mut self) -> Value {
        let mut frame = self.next().await;
        assert!(frame["setup"].is_object(), "{frame}");
        frame["setup"].take()
    }

    pub(crate) async fn ready(&mut self) {
        self.say(json!({"setupComplete": {"sessionId": "s"}})).await;
    }

    /// What the model was to be.
    pub(crate) async fn begin(&mut self) -> Value {
        let setup = self.setup().await;
        self.ready().await;
        setup
    }

    pub(crate) async fn say(&mut self, message: Value) {
        // Who has hung up does not hear it.
        let _ = self.socket.send(Message::binary(message.to_string())).await;
    }

    pub(crate) async fn content(&mut self, content: Value) {
        self.say(json!({"serverContent": content})).await;
    }

    /// So much of its voice, whatever it says.
    pub(crate) async fn sound(&mut self, time: Duration) {
        self.pcm(&vec![1_u8; VOICE * usize::try_from(time.as_millis()).unwrap()]).await;
    }

    pub(crate) async fn pcm(&mut self, bytes: &[u8]) {
        let data = STANDARD.encode_to_string(bytes);
        let part = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}});
        self.content(json!({"modelTurn": {"role": "model", "parts": [part]}})).await;
    }

    pub(crate) async fn words(&mut self, text: &str) {
        self.content(json!({"outputTranscription": {"text": text}})).await;
    }

    /// Seconds of an answer that is not over yet, three words in each.
    pub(crate) async fn story(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.sound(Duration::from_secs(1)).await;
            self.words("one two three ").await;
        }
    }

    /// A whole answer at once, as it comes: faster than anybody can listen.
    pub(crate) async fn reply(&mut self, text: &str, time: Duration) {
        self.sound(time).await;
        self.words(text).await;
        self.content(json!({"generationComplete": true})).await;
        self.content(json!({"turnComplete": true})).await;
    }

    pub(crate) async fn handle(&mut self, handle: Option<&str>) {
        let update = match handle {
            Some(handle) => json!({"newHandle": handle, "resumable": true}),
            None => json!({"resumable": false}),
        };
        self.say(json!({"sessionResumptionUpdate": update})).await;
    }

    /// The next frame that is not sound; `None` when the other end has hung up.
    pub(crate) async fn frame(&mut self) -> Option<Value> {
        timeout(PATIENCE, self.read()).await.expect("nothing is said")
    }

    /// The same, however long it takes.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        loop {
            let frame = self.any().await?;
            if !frame["realtimeInput"]["audio"].is_object() {
                return Some(frame);
            }
        }
    }

    /// The same, also if it is sound.
    pub(crate) async fn any(&mut self) -> Option<Value> {
        loop {
            let message = self.socket.next().await?;
            let text = match message {
                Ok(Message::Text(text)) => text,
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(Message::Binary(_) | Message::Close(_) | Message::Frame(_)) | Err(_) => {
                    return None;
                }
            };
            let frame: Value = serde_json::from_str(&text).unwrap();
            if let Some(data) = frame["realtimeInput"]["audio"]["data"].as_str() {
                let bytes = STANDARD.decode_to_vec(data).unwrap();
                self.heard += bytes.len();
                self.loud += bytes.iter().filter(|byte| **byte != 0).count();
            }
            return Some(frame);
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.frame().await.expect("it has hung up")
    }

    /// The next text that it is to read.
    pub(crate) async fn text(&mut self) -> String {
        loop {
            let frame = self.next().await;
            // Pauses of the microphone are no news.
            if frame["realtimeInput"]["audioStreamEnd"] == true {
                continue;
            }
            return frame["realtimeInput"]["text"]
                .as_str()
                .unwrap_or_else(|| panic!("{frame}"))
                .to_owned();
        }
    }

    pub(crate) async fn close(mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        let _ = self.socket.close(Some(frame)).await;
    }

    /// Listens until the other end hangs up.
    pub(crate) async fn left(mut self) {
        while self.read().await.is_some() {}
    }
}
