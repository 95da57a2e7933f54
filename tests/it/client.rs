//! One test client for every dialect: it connects, asks, and reads what it is told. A codec knows the wire format; a
//! new dialect adds a codec and nothing else.

mod aicore;
mod api;
mod core_ui;

pub(crate) use aicore::Aicore;
pub(crate) use api::Api;
pub(crate) use core_ui::CoreUi;

use crate::support::{PATIENCE, TOKEN};
use futures_util::{SinkExt, StreamExt};
use kakehashi::message::{AgentSet, Channel, RunOutcome};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderName;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// How one dialect writes what a client asks for, and reads what a client is told. It sees every frame of its socket
/// and holds it against the document of its dialect.
pub(crate) trait Codec: Default {
    /// Where the WebSocket is.
    const PATH: &str;
    /// The kind of the answer to the first frame.
    const FIRST: &str;
    /// Whether the gateway may send binary frames.
    const BINARY: bool;

    fn kind(frame: &Value) -> &str;

    /// The id of the session in the answer to the first frame.
    fn session(first: &Value) -> &str;

    fn write(ask: &Ask<'_>) -> Value;

    /// `None` for signals, greetings and answers to this client alone.
    fn read(frame: &Value) -> Option<Told>;

    /// Holds a frame that the gateway takes against the document. Other frames may be anything.
    fn said(&mut self, frame: &str);

    /// Holds a frame of the gateway against the document.
    fn heard(&self, frame: &Value);
}

/// What a client may ask for in any dialect.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask<'a> {
    /// A text for the chat or for one agent.
    Text {
        to: Channel,
        text: &'a str,
    },
    /// A text for several agents, typed in the chat.
    TextToAgents {
        agents: AgentSet,
        text: &'a str,
    },
    Answer {
        id: &'a str,
        approved: bool,
    },
    Upload {
        to: Channel,
        name: &'a str,
        bytes: &'a [u8],
    },
    Cancel {
        to: Channel,
    },
}

/// One event, in words that all dialects share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) channel: Channel,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// What a user typed, with the files that went with it.
    Typed {
        text: String,
        files: Vec<String>,
    },
    /// What an agent was asked from the chat.
    Requested(String),
    /// The path of a file that a user sent.
    Received(String),
    RunStarted(u64),
    Line(String),
    Tool {
        name: String,
        state: String,
    },
    Question {
        id: String,
    },
    Settled {
        id: String,
        approved: bool,
    },
    /// An answer, or a notice of the gateway.
    Said(String),
    RunEnded(RunOutcome),
    /// The paths that a run changed, as its result lists them.
    Result(Vec<String>),
    /// The paths that changed during a run.
    Changed(Vec<String>),
    /// An agent's answer to a request from the chat.
    Answered(String),
    /// The kind of an event that needs no words of its own in any test.
    Other(&'static str),
}

/// One socket of a client.
#[derive(Debug)]
pub(crate) struct Client<C> {
    ws: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The gateway's answer to the first frame.
    pub(crate) init: Value,
    codec: C,
    /// How long a frame may take.
    pub(crate) patience: Duration,
}

impl<C: Codec> Client<C> {
    /// Opens the WebSocket as the local user and says nothing yet.
    pub(crate) async fn dial(addr: SocketAddr) -> Self {
        Self::dial_as(addr, Some(("Authorization", &format!("Bearer {TOKEN}")))).await
    }

    /// Opens it with another header, or none.
    pub(crate) async fn dial_as(addr: SocketAddr, header: Option<(&'static str, &str)>) -> Self {
        Self::dial_with(addr, header.as_slice()).await
    }

    pub(crate) async fn dial_with(addr: SocketAddr, headers: &[(&'static str, &str)]) -> Self {
        Self::dial_at(addr, "", headers).await
    }

    /// Opens it with a query, which begins with `?` or is empty.
    async fn dial_at(addr: SocketAddr, query: &str, headers: &[(&'static str, &str)]) -> Self {
        let mut request = format!("ws://{addr}{}{query}", C::PATH).into_client_request().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let (ws, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        Self { ws, init: Value::Null, codec: C::default(), patience: PATIENCE }
    }

    /// Sends the first frame as the local user, and takes its answer.
    async fn connect(addr: SocketAddr, mut first: Value, more: Value) -> Self {
        let mut client = Self::dial(addr).await;
        first.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.send(&first).await;
        client.init = client.next().await;
        assert_eq!(C::kind(&client.init), C::FIRST, "{}", client.init);
        client
    }

    pub(crate) fn session(&self) -> &str {
        C::session(&self.init)
    }

    pub(crate) async fn ask(&mut self, ask: Ask<'_>) {
        self.send(&C::write(&ask)).await;
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        self.send_raw(Message::text(frame.to_string())).await;
    }

    pub(crate) async fn send_raw(&mut self, message: Message) {
        if let Message::Text(text) = &message {
            self.codec.said(text);
        }
        timeout(PATIENCE, self.ws.send(message)).await.unwrap().unwrap();
    }

    /// The next frame; heartbeats are passed over.
    pub(crate) async fn next(&mut self) -> Value {
        let patience = self.patience;
        let next = async {
            loop {
                let frame = self.next_of_any_kind().await;
                if C::kind(&frame) != "heartbeat" {
                    return frame;
                }
            }
        };
        timeout(patience, next).await.expect("nothing but heartbeats")
    }

    pub(crate) async fn next_of_any_kind(&mut self) -> Value {
        loop {
            match self.message().await {
                Message::Text(text) => return self.noticed(&text),
                Message::Binary(_) if C::BINARY => {}
                other @ (Message::Binary(_)
                | Message::Ping(_)
                | Message::Pong(_)
                | Message::Close(_)
                | Message::Frame(_)) => panic!("no frame but {other:?}"),
            }
        }
    }

    /// The next text or binary frame, or the close.
    pub(crate) async fn message(&mut self) -> Message {
        loop {
            match timeout(self.patience, self.ws.next()).await.expect("no frame in time") {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message)) => return message,
                other => panic!("no frame but {other:?}"),
            }
        }
    }

    fn noticed(&self, text: &str) -> Value {
        let frame = serde_json::from_str(text).unwrap();
        self.codec.heard(&frame);
        frame
    }

    /// Whether the gateway reads a text of this many bytes as a whole.
    pub(crate) async fn takes(&mut self, bytes: usize) -> bool {
        let sent = self.ws.send(Message::text("x".repeat(bytes))).await.is_ok();
        sent && matches!(timeout(PATIENCE, self.ws.next()).await, Ok(Some(Ok(_))))
    }

    /// Passes over frames until one of this kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        self.until_where(|frame| C::kind(frame) == kind).await
    }

    pub(crate) async fn until_where(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.collect_until(wanted).await.pop().unwrap()
    }

    /// All frames up to and with the wanted one.
    pub(crate) async fn collect_until(
        &mut self,
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await;
            let last = wanted(&frame);
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }

    /// All events up to and with the wanted one; other frames are passed over.
    pub(crate) async fn told_until(&mut self, wanted: impl Fn(&What) -> bool) -> Vec<Told> {
        let is_wanted = |frame: &Value| C::read(frame).is_some_and(|told| wanted(&told.what));
        let frames = self.collect_until(is_wanted).await;
        frames.iter().filter_map(C::read).collect()
    }

    /// Passes over everything until the wanted event.
    pub(crate) async fn expect(&mut self, wanted: impl Fn(&What) -> bool) -> Told {
        self.told_until(wanted).await.pop().unwrap()
    }

    /// Passes over whatever comes until the server closes, and tells its code and reason.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.message().await {
                Message::Close(Some(frame)) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Message::Text(text) => {
                    self.noticed(&text);
                }
                Message::Binary(_) if C::BINARY => {}
                other @ (Message::Binary(_)
                | Message::Ping(_)
                | Message::Pong(_)
                | Message::Close(_)
                | Message::Frame(_)) => panic!("no close but {other:?}"),
            }
        }
    }

    /// The very next frame, which must be of this kind.
    pub(crate) async fn nothing_until(&mut self, kind: &str) -> Value {
        let frame = self.next().await;
        assert_eq!(C::kind(&frame), kind, "{frame}");
        frame
    }

    /// Closes, and tells the frames that were still on their way.
    pub(crate) async fn leave(mut self) -> Vec<Value> {
        self.ws.close(None).await.unwrap();
        let mut frames = Vec::new();
        while let Some(Ok(message)) = timeout(PATIENCE, self.ws.next()).await.expect("still open") {
            if let Message::Text(text) = message {
                frames.push(self.noticed(&text));
            }
        }
        frames
    }

    pub(crate) async fn close(mut self) {
        let _ = self.ws.close(None).await;
    }
}
