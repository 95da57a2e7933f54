//! Packets of a client after the first, and their contents.

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Any later packet of a client. Raw values are slices of the frame, so the payload of an audio packet is neither
/// copied nor unescaped before the base64 decoder.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct CommandPacket<'a> {
    #[serde(rename = "メッセージ識別", borrow, default)]
    pub(crate) kind: Option<&'a RawValue>,
    #[serde(rename = "チャンネル", borrow, default)]
    pub(crate) channel: Option<&'a RawValue>,
    #[serde(rename = "出力先チャンネル", borrow, default)]
    pub(crate) target: Option<&'a RawValue>,
    #[serde(rename = "送信モード", borrow, default)]
    pub(crate) mode: Option<&'a RawValue>,
    #[serde(rename = "メッセージ内容", borrow, default)]
    pub(crate) body: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) text: Option<&'a RawValue>,
    #[serde(rename = "ファイル名", borrow, default)]
    pub(crate) file_name: Option<&'a RawValue>,
    #[serde(rename = "要求番号", borrow, default)]
    pub(crate) request: Option<&'a RawValue>,
    #[serde(rename = "実行番号", borrow, default)]
    pub(crate) run: Option<&'a RawValue>,
}

/// Content of `operations`.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct OperationsBody {
    #[serde(rename = "ボタン")]
    pub(crate) controls: BTreeMap<String, serde_json::Value>,
}

/// Content of a list request; optional.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct ListBody {
    #[serde(rename = "最終ファイル日時", default)]
    pub(crate) backup_newest: Option<String>,
    #[serde(rename = "作業ファイル日時", default)]
    pub(crate) temp_newest: Option<String>,
    #[serde(rename = "件数", default)]
    pub(crate) count: Option<usize>,
    #[serde(rename = "全件", default)]
    pub(crate) all: Option<bool>,
}

/// Content of `files_watch`.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct WatchBody {
    #[serde(rename = "対象", default)]
    pub(crate) target: Option<String>,
    #[serde(rename = "停止", default)]
    pub(crate) stop: Option<bool>,
}

/// Content of `confirm_answer`.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct ConfirmBody {
    pub(crate) id: String,
    #[serde(rename = "承認")]
    pub(crate) approved: bool,
    #[serde(rename = "常に", default)]
    pub(crate) always: bool,
    #[serde(rename = "再確認", default)]
    pub(crate) twice: bool,
}

/// Content of `compare`.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct CompareBody {
    #[serde(rename = "検査", default)]
    pub(crate) check: Option<bool>,
}

/// Content of `diff`.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct DiffRequestBody {
    #[serde(rename = "パス", default)]
    pub(crate) path: Option<String>,
}

/// Content of `accept`.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct AcceptBody {
    #[serde(rename = "ブランチ", default)]
    pub(crate) branch: Option<String>,
    #[serde(rename = "コメント", default)]
    pub(crate) message: Option<String>,
    #[serde(rename = "版", default)]
    pub(crate) version: Option<String>,
}

/// Content of `restore`.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct RestoreBody {
    #[serde(rename = "実行番号", default)]
    pub(crate) run: Option<u64>,
    #[serde(rename = "控え", default)]
    pub(crate) backup: Option<String>,
    #[serde(rename = "パス", default)]
    pub(crate) path: Option<String>,
}

/// Content of `playback_ack`.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct AckBody {
    #[serde(rename = "世代番号")]
    pub(crate) generation: u64,
    #[serde(rename = "再生サンプル数")]
    pub(crate) samples: u64,
    #[serde(rename = "残ミリ秒", default)]
    pub(crate) buffered_ms: f64,
    #[serde(rename = "途切れ回数", default)]
    pub(crate) underruns: u64,
}

/// Content of `push_to_talk`.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct TalkKeyBody {
    #[serde(rename = "状態")]
    pub(crate) state: TalkKeyState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TalkKeyState {
    Start,
    End,
}
