//! The first packet of a client, and `init`, which answers it.

use super::OrderedMap;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The first packet of a client. Values stay raw, because some clients send numbers instead of strings.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct ConnectPacket<'a> {
    #[serde(rename = "セッションID", borrow, default)]
    pub(crate) session: Option<&'a RawValue>,
    #[serde(rename = "ソケット番号", borrow, default)]
    pub(crate) socket: Option<&'a RawValue>,
    #[serde(rename = "チャンネル", borrow, default)]
    pub(crate) channel: Option<&'a RawValue>,
    #[serde(rename = "言語", borrow, default)]
    pub(crate) language: Option<&'a RawValue>,
    #[serde(rename = "世代", borrow, default)]
    pub(crate) epoch: Option<&'a RawValue>,
    #[serde(rename = "最終連番", borrow, default)]
    pub(crate) last_seq: Option<&'a RawValue>,
    #[serde(rename = "履歴件数", borrow, default)]
    pub(crate) history: Option<&'a RawValue>,
    #[serde(rename = "閲覧", borrow, default)]
    pub(crate) view: Option<&'a RawValue>,
    #[serde(rename = "機能", borrow, default)]
    pub(crate) features: Option<&'a RawValue>,
    #[serde(rename = "トークン", borrow, default)]
    pub(crate) token: Option<&'a RawValue>,
}

/// Features that this server adds to the specification; listed in `init`.
pub(crate) const FEATURES: &[&str] = &[
    "resume",
    "ack",
    "history",
    "view",
    "queue",
    "system",
    "unchanged",
    "files_watch",
    "stream",
    "confirm",
    "agents",
    "playback",
];

/// The switches that existing clients expect if none are stored yet.
pub(crate) const DEFAULT_CONTROLS: &[(&str, bool)] =
    &[("スピーカー", true), ("マイク", false), ("カメラ", false)];

#[derive(Debug, Serialize)]
pub(crate) struct InitPacket<'a> {
    #[serde(rename = "セッションID")]
    pub(crate) session: &'a str,
    #[serde(rename = "ソケット番号")]
    pub(crate) socket: &'a str,
    #[serde(rename = "チャンネル")]
    pub(crate) channel: &'a str,
    #[serde(rename = "メッセージ識別")]
    pub(crate) kind: &'a str,
    #[serde(rename = "メッセージ内容")]
    pub(crate) body: InitBody<'a>,
    #[serde(rename = "世代")]
    pub(crate) epoch: String,
    #[serde(rename = "再開")]
    pub(crate) resumed: bool,
    #[serde(rename = "機能")]
    pub(crate) features: &'a [&'a str],
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct InitBody<'a> {
    #[serde(rename = "ボタン", skip_serializing_if = "Option::is_none")]
    pub(crate) controls: Option<BTreeMap<&'a str, serde_json::Value>>,
    #[serde(rename = "モデル設定", skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<OrderedMap<'a>>,
}
