//! The packets the benchmark sends, and the little it reads of the answers.
#![expect(clippy::non_ascii_literal, reason = "frames of the packet dialect")]

use serde_json::{Value, json};

pub(crate) const PATH: &str = "/core/ws/AI%E3%82%B3%E3%82%A2";
/// Samples of one microphone packet, in bytes.
pub(crate) const PCM_BYTES: usize = 4096;

/// `more` are further keys, each with its comma.
pub(crate) fn connect(socket: &str, session: Option<&str>, more: &str) -> String {
    let session = session.map_or("null".to_owned(), |id| format!("\"{id}\""));
    format!(r#"{{"type":"connect","セッションID":{session},"ソケット番号":"{socket}"{more}}}"#)
}

/// The line that ends a run that was stopped.
pub(crate) const CANCELLED: &str = "<<< 処理中断 >>>";
/// Asks for an answer while it is made.
pub(crate) const STREAM: &str = r#","機能":["stream"]"#;

pub(crate) fn cancel(channel: &str) -> String {
    format!(r#"{{"チャンネル":"{channel}","メッセージ識別":"cancel_run","メッセージ内容":""}}"#)
}

/// A microphone packet with all six keys. Quiet samples: nobody speaks, so the model only plays it back.
pub(crate) fn quiet_audio() -> String {
    quiet_audio_of(PCM_BYTES)
}

/// The same with so many bytes of samples.
pub(crate) fn quiet_audio_of(bytes: usize) -> String {
    audio(";rate=24000", bytes, quiet)
}

/// The same as existing clients send it: at 16 kHz, without saying so.
pub(crate) fn plain_audio() -> String {
    audio("", PCM_BYTES, quiet)
}

fn quiet(index: usize) -> i16 {
    (index * 7 % 2001) as i16 - 1000
}

/// The same, loud enough to interrupt a model.
pub(crate) fn loud_audio() -> String {
    audio(";rate=24000", PCM_BYTES, |index| if index % 40 < 20 { 20_000 } else { -20_000 })
}

fn audio(rate: &str, bytes: usize, sample: impl Fn(usize) -> i16) -> String {
    let samples: Vec<u8> = (0..bytes / 2).flat_map(|index| sample(index).to_le_bytes()).collect();
    let pcm = base64_simd::STANDARD.encode_to_string(samples);
    format!(
        r#"{{"セッションID":"ws-00000000000000000000000000000000","チャンネル":"audio","メッセージ識別":"input_audio","メッセージ内容":"audio/pcm{rate}","ファイル名":"{pcm}","サムネイル画像":null}}"#
    )
}

/// A text for the chat (`0`) or an agent (`1` to `4`), in the mode of that pane.
pub(crate) fn text(channel: &str, text: &str) -> String {
    format!(
        r#"{{"チャンネル":"{channel}","メッセージ識別":"input_text","メッセージ内容":"{text}"}}"#
    )
}

/// A text for the live model.
pub(crate) fn live_text(text: &str) -> String {
    format!(
        r#"{{"チャンネル":"0","送信モード":"Live","メッセージ識別":"input_text","メッセージ内容":"{text}"}}"#
    )
}

/// A numbered command that does nothing but to be stored.
pub(crate) fn numbered(number: usize) -> String {
    format!(
        r#"{{"メッセージ識別":"operations","要求番号":{number},"メッセージ内容":{{"ボタン":{{"マイク":true}}}}}}"#
    )
}

/// Asks for a list, naming what the client has of it already.
pub(crate) fn list(kind: &str, known: Option<&Known>) -> String {
    let body =
        known.map_or(json!(""), |known| json!({ known.key: known.newest, "件数": known.count }));
    format!(r#"{{"チャンネル":"file","メッセージ識別":"{kind}","メッセージ内容":{body}}}"#)
}

/// What a client remembers of a list.
#[derive(Debug)]
pub(crate) struct Known {
    key: &'static str,
    newest: Value,
    pub(crate) count: usize,
}

impl Known {
    pub(crate) fn of(answer: &str) -> Self {
        let packet: Value = serde_json::from_str(answer).unwrap();
        let body = &packet["メッセージ内容"];
        let keys = ["最終ファイル日時", "作業ファイル日時"];
        let key = keys.into_iter().find(|key| body.get(key).is_some()).unwrap();
        let count = body["ファイルリスト"].as_array().map_or(0, Vec::len);
        Self { key, newest: body[key].clone(), count }
    }
}

/// How a packet of this kind can be told from others.
pub(crate) fn kind(kind: &str) -> String {
    format!(r#""メッセージ識別":"{kind}""#)
}

pub(crate) fn session_id(init: &str) -> String {
    let packet: Value = serde_json::from_str(init).unwrap();
    packet["セッションID"].as_str().unwrap_or_else(|| panic!("not welcome: {init}")).to_owned()
}
