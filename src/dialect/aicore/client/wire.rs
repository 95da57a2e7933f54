//! The wire structs of the client's side: the packets that it writes and reads.
#![expect(clippy::non_ascii_literal, reason = "wire keys of the packet dialect")]

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Debug, Serialize)]
pub(super) struct HelloPacket<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(rename = "セッションID")]
    pub(super) session: Option<&'a str>,
    #[serde(rename = "ソケット番号")]
    pub(super) socket: &'static str,
    #[serde(rename = "言語", skip_serializing_if = "Option::is_none")]
    pub(super) language: Option<&'a str>,
    #[serde(rename = "機能")]
    pub(super) features: &'a [&'a str],
    #[serde(rename = "履歴件数")]
    pub(super) history: usize,
    #[serde(rename = "世代", skip_serializing_if = "Option::is_none")]
    pub(super) epoch: Option<&'a str>,
    #[serde(rename = "最終連番", skip_serializing_if = "Option::is_none")]
    pub(super) last_seq: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct SoundPacket<'a, B> {
    #[serde(rename = "セッションID")]
    pub(super) session: &'a str,
    #[serde(rename = "チャンネル")]
    pub(super) channel: &'static str,
    #[serde(rename = "メッセージ識別")]
    pub(super) kind: &'static str,
    #[serde(rename = "メッセージ内容")]
    pub(super) body: B,
    #[serde(rename = "ファイル名", skip_serializing_if = "Option::is_none")]
    pub(super) pcm: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct PlaybackBody {
    #[serde(rename = "世代番号")]
    pub(super) generation: u64,
    #[serde(rename = "再生サンプル数")]
    pub(super) played: u64,
    #[serde(rename = "残ミリ秒")]
    pub(super) left_ms: u64,
    #[serde(rename = "途切れ回数")]
    pub(super) gaps: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct PressBody {
    #[serde(rename = "状態")]
    pub(super) state: &'static str,
}

/// Any packet from the gateway; only the fields that the client uses.
#[derive(Debug, Deserialize)]
pub(super) struct AnyPacket<'a> {
    #[serde(rename = "メッセージ識別", borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(rename = "セッションID", borrow, default)]
    pub(super) session: Option<Cow<'a, str>>,
    #[serde(rename = "メッセージ内容", borrow, default)]
    pub(super) body: Option<&'a serde_json::value::RawValue>,
    #[serde(rename = "ファイル名", borrow, default)]
    pub(super) file_name: Option<Cow<'a, str>>,
    #[serde(rename = "世代", borrow, default)]
    pub(super) epoch: Option<Cow<'a, str>>,
    #[serde(rename = "再開", default)]
    pub(super) resumed: Option<bool>,
    #[serde(rename = "連番", default)]
    pub(super) seq: Option<u64>,
    #[serde(rename = "世代番号", default)]
    pub(super) generation: Option<u64>,
    #[serde(rename = "コード", borrow, default)]
    pub(super) code: Option<Cow<'a, str>>,
}
