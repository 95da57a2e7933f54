//! The core/UI interface in its first form: one lane of a session, named in the address. There is no hello.

use super::aicore::string;
use super::{Ask, Client, Codec, Told, What};
use crate::protocol::{CORE_UI, Way, core_ui_protocol};
use crate::support::TOKEN;
use base64_simd::STANDARD;
use kakehashi::dialect::core_ui::{Additions, CoreUiDialect, FrameSeq};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{Channel, SessionId};
use serde_json::{Value, json};
use std::net::SocketAddr;

#[derive(Debug, Default)]
pub(crate) struct CoreUi;

impl Client<CoreUi> {
    /// Connects as the local user with these parameters, such as `session=ws-…&features=all`, and takes the first
    /// frame.
    pub(crate) async fn open(addr: SocketAddr, query: &str) -> Self {
        let bearer = format!("Bearer {TOKEN}");
        Self::attach(addr, query, &[("Authorization", &bearer), ("Accept-Language", "en")]).await
    }

    pub(crate) async fn attach(
        addr: SocketAddr,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        let mut client = Self::dial_at(addr, &format!("?{query}"), headers).await;
        client.init = client.next().await;
        client
    }
}

impl Codec for CoreUi {
    const PATH: &str = "/core-ui/ws";
    const FIRST: &str = "connected";
    const BINARY: bool = false;

    fn kind(frame: &Value) -> &str {
        frame["type"].as_str().unwrap_or_default()
    }

    fn session(first: &Value) -> &str {
        first["sessionId"].as_str().unwrap()
    }

    /// The lane is that of the connection, whatever `to` says.
    fn write(ask: &Ask<'_>) -> Value {
        match *ask {
            Ask::Text { text, .. } | Ask::TextToAgents { text, .. } => submit(text, &[]),
            Ask::Answer { id, approved } => {
                let payload = json!({"confirmationId": id, "approved": approved});
                json!({"type": "provideConfirmation", "payload": payload})
            }
            Ask::Upload { name, bytes, .. } => submit(name, &[bytes]),
            Ask::Cancel { .. } => json!({"type": "cancel"}),
        }
    }

    /// Frames do not name their lane; all are told as the chat's.
    fn read(frame: &Value) -> Option<Told> {
        let what = what(frame)?;
        Some(Told { channel: Channel::Chat, what })
    }

    fn said(&mut self, frame: &str) {
        let value: Value = serde_json::from_str(frame).unwrap_or_default();
        let session = value["sessionId"].as_str().and_then(SessionId::parse);
        let dialect = CoreUiDialect {
            session: session.unwrap_or_else(|| SessionId::from_random(0)),
            locale: Locale::En,
            lane: Channel::Chat,
            additions: Additions::default(),
            after: FrameSeq::default(),
        };
        if dialect.decode(Received::Text(frame)).is_ok() {
            core_ui_protocol().check(CORE_UI, Way::Receive, Self::kind(&value), &value);
        }
    }

    fn heard(&self, frame: &Value) {
        core_ui_protocol().check(CORE_UI, Way::Send, Self::kind(frame), frame);
    }
}

fn submit(text: &str, pictures: &[&[u8]]) -> Value {
    let mut payload = json!({"text": text});
    if !pictures.is_empty() {
        let picture =
            |bytes: &&[u8]| json!({"type": "image", "data": STANDARD.encode_to_string(bytes)});
        payload["attachments"] = pictures.iter().map(picture).collect();
    }
    json!({"type": "submitUserInput", "payload": payload})
}

fn what(frame: &Value) -> Option<What> {
    let payload = &frame["payload"];
    let id = || string(&payload["confirmationId"]);
    Some(match CoreUi::kind(frame) {
        "onUserInput" => What::Typed { text: string(&payload["text"]), files: Vec::new() },
        "onNewMessage" => What::Said(string(&payload["content"])),
        "onNotice" => What::Said(string(&payload["text"])),
        "error" if payload["code"] == "RUN_FAILED" => What::Said(string(&payload["message"])),
        "onToolCallRequest" => What::Question { id: id() },
        "onToolCallResolved" => {
            What::Settled { id: id(), approved: payload["approved"].as_bool().unwrap() }
        }
        "onToolCall" => {
            What::Tool { name: string(&payload["title"]), state: string(&payload["state"]) }
        }
        "onAgentStateChange" => What::Other("state"),
        _ => return None,
    })
}
