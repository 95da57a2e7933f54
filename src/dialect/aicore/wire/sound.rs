//! Sound for the speaker, and latencies of a spoken exchange.

use serde::Serialize;
use std::fmt::Write;

/// An `output_audio` packet is this text, the base64 and [`AUDIO_SUFFIX`]. It is built by hand, because serde would
/// scan the payload for characters to escape, which base64 never contains.
pub(crate) fn audio_prefix(session: &str) -> String {
    format!(
        r#"{{"セッションID":"{session}","チャンネル":"audio","メッセージ識別":"output_audio","メッセージ内容":"audio/pcm","ファイル名":""#
    )
}

pub(crate) const AUDIO_SUFFIX: &str = r#"","サムネイル画像":null}"#;

/// Upper bound for the suffix with the longest generation number.
pub(crate) const LONGEST_AUDIO_SUFFIX: usize = 80;

/// Appends the suffix for clients with the `playback` feature, which includes the generation.
pub(crate) fn push_audio_suffix(generation: u64, frame: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(frame, r#"","サムネイル画像":null,"世代番号":{generation}}}"#);
}

/// Content of `metrics`: latencies of the last spoken exchange; unknown ones are left out.
#[derive(Debug, Serialize)]
pub(crate) struct TimesBody {
    #[serde(rename = "発話終了からターン終了", skip_serializing_if = "Option::is_none")]
    pub(crate) end_of_turn: Option<u64>,
    #[serde(rename = "ターン終了から初音", skip_serializing_if = "Option::is_none")]
    pub(crate) first_sound: Option<u64>,
    #[serde(rename = "初音から送信", skip_serializing_if = "Option::is_none")]
    pub(crate) first_sent: Option<u64>,
    #[serde(rename = "送信から再生", skip_serializing_if = "Option::is_none")]
    pub(crate) first_played: Option<u64>,
    #[serde(rename = "割り込みから停止", skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<u64>,
    #[serde(rename = "途切れ回数")]
    pub(crate) underruns: u64,
    #[serde(rename = "欠落数")]
    pub(crate) dropped: u64,
}
