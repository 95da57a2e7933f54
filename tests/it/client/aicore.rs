//! AIコア: one socket for each channel, Japanese keys.

use super::{Ask, Client, Codec, Told, What};
use crate::protocol::{Way, protocol};
use crate::support::{BODY, CHANNEL, KIND, SEQ, SESSION, SOCKET_PATH};
use base64_simd::STANDARD;
use kakehashi::dialect::aicore::{AicoreDialect, read_connect};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{AgentSlot, Channel, RunOutcome, SessionId};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// Longer frames are uploads; one of a few bytes has the same form and costs less.
const LONGEST: usize = 1024 * 1024;
const TARGET: &str = "出力先チャンネル";

/// A socket knows after the first packet which channel it is.
#[derive(Debug, Default)]
pub(crate) struct Aicore {
    own: Option<Channel>,
}

impl Client<Aicore> {
    /// Connects as the existing client does, and takes `init`.
    pub(crate) async fn open(addr: SocketAddr, socket: &str, session: Option<&str>) -> Self {
        Self::open_with(addr, socket, session, json!({})).await
    }

    /// Connects with further keys in the first packet.
    pub(crate) async fn open_with(
        addr: SocketAddr,
        socket: &str,
        session: Option<&str>,
        more: Value,
    ) -> Self {
        let first = json!({"type": "connect", SESSION: session, "ソケット番号": socket});
        Self::connect(addr, first, more).await
    }
}

impl Codec for Aicore {
    const PATH: &str = SOCKET_PATH;
    const FIRST: &str = "init";
    const BINARY: bool = false;

    fn kind(frame: &Value) -> &str {
        frame[KIND].as_str().unwrap_or_default()
    }

    fn session(first: &Value) -> &str {
        first[SESSION].as_str().unwrap()
    }

    fn write(ask: &Ask<'_>) -> Value {
        match *ask {
            Ask::Text { to, text } => {
                let mode = if to == Channel::Chat { Some("Chat") } else { None };
                json!({CHANNEL: socket_name(to), KIND: "input_text", BODY: text, "送信モード": mode})
            }
            Ask::TextToAgents { agents, text } => {
                let slots = AgentSlot::ALL.into_iter().filter(|slot| agents.contains(*slot));
                let names: Vec<_> = slots.map(|slot| slot.number().to_string()).collect();
                match names.as_slice() {
                    [one] => {
                        let mode = format!("Code{one}");
                        json!({CHANNEL: "0", "送信モード": mode, KIND: "input_text", BODY: text})
                    }
                    several => {
                        let target = several.join(",");
                        json!({CHANNEL: "0", TARGET: target, KIND: "input_text", BODY: text})
                    }
                }
            }
            Ask::Answer { id, approved } => {
                json!({KIND: "confirm_answer", BODY: {"id": id, "承認": approved}})
            }
            Ask::Upload { to, name, bytes } => {
                let data = STANDARD.encode_to_string(bytes);
                json!({CHANNEL: socket_name(to), KIND: "input_file", "ファイル名": name, BODY: data})
            }
            Ask::Cancel { to } => {
                json!({CHANNEL: socket_name(to), KIND: "cancel_run", BODY: "強制停止！"})
            }
        }
    }

    fn read(frame: &Value) -> Option<Told> {
        frame[SEQ].as_u64()?;
        let channel = channel(frame[CHANNEL].as_str().unwrap());
        Some(Told { channel, what: what(frame) })
    }

    fn said(&mut self, frame: &str) {
        if frame.len() > LONGEST {
            return;
        }
        if let Some(own) = self.own {
            let dialect = AicoreDialect::new(SessionId::from_random(0), own, Locale::Ja);
            if dialect.decode(Received::Text(frame)).is_ok() {
                let packet: Value = serde_json::from_str(frame).unwrap();
                protocol().check(socket_name(own), Way::Receive, Self::kind(&packet), &packet);
            }
        } else if let Ok(connect) = read_connect(frame) {
            let packet = serde_json::from_str(frame).unwrap();
            protocol().check(socket_name(connect.channel), Way::Receive, "connect", &packet);
            self.own = Some(connect.channel);
        }
    }

    fn heard(&self, packet: &Value) {
        let named = packet[CHANNEL].as_str();
        let own = self.own.map(socket_name);
        if let (Some(own), Some(named)) = (own, named) {
            assert_eq!(own, named, "a packet of another channel: {packet}");
        }
        // Without a channel it is a packet of the connection, and `input` has all of those.
        let socket = own.or(named).unwrap_or("input");
        let kind = packet[KIND].as_str().unwrap_or_else(|| panic!("no kind: {packet}"));
        protocol().check(socket, Way::Send, kind, packet);
    }
}

fn what(frame: &Value) -> What {
    let body = &frame[BODY];
    let text = || body.as_str().unwrap().to_owned();
    match Aicore::kind(frame) {
        "input_text" if frame[CHANNEL] == "input" => What::Other("report"),
        "input_text" => typed(&text()),
        "input_request" => What::Requested(text()),
        "input_file" => What::Received(frame["ファイル名"].as_str().unwrap().to_owned()),
        "output_stream" => streamed(frame["実行番号"].as_u64(), text()),
        "tool" => What::Tool { name: string(&body["名前"]), state: string(&body["状態"]) },
        "confirm_request" => What::Question { id: string(&body["id"]) },
        "confirm_result" => {
            What::Settled { id: string(&body["id"]), approved: body["承認"].as_bool().unwrap() }
        }
        "output_text" => What::Said(text()),
        "output_request" => What::Answered(text()),
        "result" => What::Result(paths(&body["ファイル"], "パス")),
        "update_info" => What::Changed(strings(&body["update_files"])),
        "cancel_run" => What::Other("cancel"),
        "plan" => What::Other("plan"),
        "accept" | "discard" | "restore" => What::Other("decision"),
        "output_file" => What::Other("file"),
        "recognition_input" | "recognition_output" => What::Other("transcript"),
        "files_backup" | "files_temp" => What::Other("files"),
        kind => panic!("`{kind}` is no event: {frame}"),
    }
}

/// Attached files stand behind the text, in the language of the socket.
fn typed(text: &str) -> What {
    let parts = ["\n[ファイル添付: ", "\n[attached: "].map(|mark| text.split_once(mark));
    let (text, files) = match parts.into_iter().flatten().next() {
        Some((text, files)) => (text, files.trim_end_matches(']').split(", ").collect()),
        None => (text, Vec::new()),
    };
    What::Typed { text: text.to_owned(), files: files.into_iter().map(str::to_owned).collect() }
}

/// The beginning of a run, its end, or one of its lines. A run that the gateway's end interrupted looks cancelled.
fn streamed(run: Option<u64>, text: String) -> What {
    match (text.as_str(), run) {
        ("<<< 処理開始 >>>", Some(run)) => What::RunStarted(run),
        ("<<< 処理終了 >>>", _) => What::RunEnded(RunOutcome::Finished),
        ("<<< 処理中断 >>>", _) => What::RunEnded(RunOutcome::Cancelled),
        ("!", _) => What::RunEnded(RunOutcome::Failed),
        _ => What::Line(text),
    }
}

pub(super) fn string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

pub(super) fn strings(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(string).collect()
}

pub(super) fn paths(rows: &Value, key: &str) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| string(&row[key])).collect()
}

fn channel(socket: &str) -> Channel {
    let found = Channel::ALL.into_iter().find(|channel| socket_name(*channel) == socket);
    found.unwrap_or_else(|| panic!("no socket `{socket}`"))
}

fn socket_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Audio => "audio",
        Channel::Input => "input",
        Channel::File => "file",
        Channel::Chat => "0",
        Channel::Agent(slot) => ["1", "2", "3", "4"][usize::from(slot.number()) - 1],
    }
}
