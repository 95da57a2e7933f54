//! The session API: one socket for all channels, English keys, sound in binary frames.

use super::aicore::{paths, string, strings};
use super::{Ask, Client, Codec, Told, What};
use crate::protocol::{SESSION_API, Way, api_protocol};
use base64_simd::STANDARD;
use kakehashi::dialect::api::{ApiDialect, read_hello};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{AgentSlot, Channel, RunOutcome, SessionId};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// The first frame of a socket is its hello; what follows are commands.
#[derive(Debug, Default)]
pub(crate) struct Api {
    greeted: bool,
}

impl Client<Api> {
    /// Says hello with these further keys, and takes the answer.
    pub(crate) async fn open(addr: SocketAddr, more: Value) -> Self {
        Self::connect(addr, json!({"type": "hello", "language": "en"}), more).await
    }
}

impl Codec for Api {
    const PATH: &str = "/api/ws";
    const FIRST: &str = "hello";
    const BINARY: bool = true;

    fn kind(frame: &Value) -> &str {
        frame["type"].as_str().unwrap_or_default()
    }

    fn session(first: &Value) -> &str {
        first["session"].as_str().unwrap()
    }

    fn write(ask: &Ask<'_>) -> Value {
        match *ask {
            Ask::Text { to, text } => json!({"type": "send", "to": name(to), "text": text}),
            Ask::TextToAgents { agents, text } => {
                let slots = AgentSlot::ALL.into_iter().filter(|slot| agents.contains(*slot));
                let to: Vec<_> = slots.map(|slot| name(Channel::Agent(slot))).collect();
                json!({"type": "send", "to": to, "text": text})
            }
            Ask::Answer { id, approved } => {
                json!({"type": "answer", "id": id, "approved": approved})
            }
            Ask::Upload { to, name: file, bytes } => {
                let data = STANDARD.encode_to_string(bytes);
                json!({"type": "upload", "to": name(to), "name": file, "data": data})
            }
            Ask::Cancel { to } => json!({"type": "cancel", "to": name(to)}),
        }
    }

    fn read(frame: &Value) -> Option<Told> {
        frame["order"].as_u64()?;
        let channel = channel(frame["channel"].as_str().unwrap());
        Some(Told { channel, what: what(frame) })
    }

    fn said(&mut self, frame: &str) {
        let taken = if self.greeted {
            let dialect = ApiDialect::new(SessionId::from_random(0), Locale::En, None);
            dialect.decode(Received::Text(frame)).is_ok()
        } else {
            read_hello(frame).is_ok()
        };
        if taken {
            let frame: Value = serde_json::from_str(frame).unwrap();
            api_protocol().check(SESSION_API, Way::Receive, Self::kind(&frame), &frame);
            self.greeted = true;
        }
    }

    fn heard(&self, frame: &Value) {
        api_protocol().check(SESSION_API, Way::Send, Self::kind(frame), frame);
    }
}

fn what(frame: &Value) -> What {
    let data = &frame["data"];
    let text = || string(&data["text"]);
    match Api::kind(frame) {
        "user_text" => What::Typed { text: text(), files: strings(&data["files"]) },
        "user_request" => What::Requested(text()),
        "user_file" => What::Received(string(&data["path"])),
        "run_started" => What::RunStarted(data["run"].as_u64().unwrap()),
        "run_line" => What::Line(text()),
        "run_ended" => What::RunEnded(outcome(&string(&data["outcome"]))),
        "tool" => What::Tool { name: string(&data["name"]), state: string(&data["state"]) },
        "question" => What::Question { id: string(&data["id"]) },
        "question_settled" => {
            What::Settled { id: string(&data["id"]), approved: data["approved"].as_bool().unwrap() }
        }
        "reply" | "notice" => What::Said(text()),
        "agent_reply" => What::Answered(text()),
        "result" => What::Result(paths(&data["files"], "path")),
        "files_changed" => What::Changed(strings(&data["paths"])),
        "cancel_taken" => What::Other("cancel"),
        "agent_report" => What::Other("report"),
        "plan" => What::Other("plan"),
        "decision" => What::Other("decision"),
        "file" => What::Other("file"),
        "transcript" => What::Other("transcript"),
        "files" => What::Other("files"),
        kind => panic!("`{kind}` is no event: {frame}"),
    }
}

fn outcome(name: &str) -> RunOutcome {
    let found = RunOutcome::ALL.into_iter().find(|outcome| outcome.name() == name);
    found.unwrap_or_else(|| panic!("no outcome `{name}`"))
}

fn channel(name_of_it: &str) -> Channel {
    let found = Channel::ALL.into_iter().find(|channel| name(*channel) == name_of_it);
    found.unwrap_or_else(|| panic!("no channel `{name_of_it}`"))
}

fn name(channel: Channel) -> &'static str {
    match channel {
        Channel::Audio => "audio",
        Channel::Input => "input",
        Channel::File => "files",
        Channel::Chat => "chat",
        Channel::Agent(slot) => {
            ["agent1", "agent2", "agent3", "agent4"][usize::from(slot.number()) - 1]
        }
    }
}
