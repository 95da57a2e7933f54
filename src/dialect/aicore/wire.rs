//! The wire format of the AIcore dialect: all Japanese keys, values and paths, and the structs made of them.
//! Only this file and `client/wire.rs` contain Japanese; the rest of the dialect uses these names.
#![expect(clippy::non_ascii_literal, reason = "wire keys of the packet dialect")]

use crate::message::RequestNo;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// Path of the WebSocket.
pub const SOCKET_PATH: &str = "/core/ws/AIコア";

/// HTTP paths below `/core/`.
pub(super) mod path {
    pub(in super::super) const LOGIN: &str = "auth/ログイン";
    pub(in super::super) const WHO: &str = "auth/現在利用者";
    pub(in super::super) const LOGOUT: &str = "auth/ログアウト";
    pub(in super::super) const START: &str = "AIコア/初期化";
    pub(in super::super) const MODELS: &str = "AIコア/モデル情報/取得";
    pub(in super::super) const SETTINGS: &str = "AIコア/モデル情報/設定";
    pub(in super::super) const SESSIONS: &str = "AIコア/セッション一覧";
    pub(in super::super) const CONTENT: &str = "files/内容取得";
    pub(in super::super) const STATE: &str = "サーバー状態";
}

/// The page that existing clients show after a login.
pub(super) const FIRST_PAGE: &str = "AIコア";

pub(super) const STREAM_STARTED: &str = "<<< 処理開始 >>>";
pub(super) const STREAM_FINISHED: &str = "<<< 処理終了 >>>";
pub(super) const STREAM_CANCELLED: &str = "<<< 処理中断 >>>";
/// Existing clients take this line as "ended with an error".
pub(super) const STREAM_FAILED: &str = "!";
pub(super) const CANCEL_TAKEN: &str = "処理中断！";

/// Keys of HTTP request bodies.
pub(super) mod key {
    pub(in super::super) const USER: &str = "利用者ID";
    pub(in super::super) const PASSWORD: &str = "パスワード";
    pub(in super::super) const SESSION: &str = "セッションID";
    pub(in super::super) const SETTINGS: &str = "モデル設定";
    pub(in super::super) const RESTART: &str = "再起動要求";
    pub(in super::super) const FILE_NAME: &str = "ファイル名";
    /// The agent in whose workplace the file is; absent: the project itself.
    pub(in super::super) const CHANNEL: &str = "チャンネル";
}

pub(super) mod field {
    pub(in super::super) const CHANNEL: &str = "チャンネル";
    pub(in super::super) const BODY: &str = "メッセージ内容";
    pub(in super::super) const FILE_NAME: &str = "ファイル名";
    pub(in super::super) const MODE: &str = "送信モード";
    pub(in super::super) const CONTROLS: &str = "メッセージ内容.ボタン";
    pub(in super::super) const WATCH: &str = "メッセージ内容.対象";
    pub(in super::super) const REQUEST: &str = "要求番号";
    pub(in super::super) const RUN: &str = "実行番号";
    pub(in super::super) const EPOCH: &str = "世代";
    pub(in super::super) const LAST_SEQ: &str = "最終連番";
    pub(in super::super) const HISTORY: &str = "履歴件数";
    pub(in super::super) const VIEW: &str = "閲覧";
    pub(in super::super) const TOKEN: &str = "トークン";
    pub(in super::super) const FEATURES: &str = "機能";
    pub(in super::super) const TARGET: &str = "出力先チャンネル";
    pub(in super::super) const RESTORE: &str = "メッセージ内容.実行番号 / メッセージ内容.控え";
}

/// Features that this server adds to the specification; listed in `init`.
pub(super) const FEATURES: &[&str] = &[
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

/// The switches that existing clients expect before any were stored.
pub(super) const DEFAULT_CONTROLS: &[(&str, bool)] =
    &[("スピーカー", true), ("マイク", false), ("カメラ", false)];

/// The first packet of a client. Values stay raw, because some clients send numbers instead of strings.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ConnectPacket<'a> {
    #[serde(rename = "セッションID", borrow, default)]
    pub(super) session: Option<&'a RawValue>,
    #[serde(rename = "ソケット番号", borrow, default)]
    pub(super) socket: Option<&'a RawValue>,
    #[serde(rename = "チャンネル", borrow, default)]
    pub(super) channel: Option<&'a RawValue>,
    #[serde(rename = "言語", borrow, default)]
    pub(super) language: Option<&'a RawValue>,
    #[serde(rename = "世代", borrow, default)]
    pub(super) epoch: Option<&'a RawValue>,
    #[serde(rename = "最終連番", borrow, default)]
    pub(super) last_seq: Option<&'a RawValue>,
    #[serde(rename = "履歴件数", borrow, default)]
    pub(super) history: Option<&'a RawValue>,
    #[serde(rename = "閲覧", borrow, default)]
    pub(super) view: Option<&'a RawValue>,
    #[serde(rename = "機能", borrow, default)]
    pub(super) features: Option<&'a RawValue>,
    #[serde(rename = "トークン", borrow, default)]
    pub(super) token: Option<&'a RawValue>,
}

/// Any later packet of a client. Raw values are slices of the frame, so the payload of an audio packet is neither
/// copied nor unescaped before the base64 decoder.
#[derive(Debug, serde::Deserialize)]
pub(super) struct CommandPacket<'a> {
    #[serde(rename = "メッセージ識別", borrow, default)]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(rename = "チャンネル", borrow, default)]
    pub(super) channel: Option<&'a RawValue>,
    #[serde(rename = "出力先チャンネル", borrow, default)]
    pub(super) target: Option<&'a RawValue>,
    #[serde(rename = "送信モード", borrow, default)]
    pub(super) mode: Option<&'a RawValue>,
    #[serde(rename = "メッセージ内容", borrow, default)]
    pub(super) body: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(rename = "ファイル名", borrow, default)]
    pub(super) file_name: Option<&'a RawValue>,
    #[serde(rename = "要求番号", borrow, default)]
    pub(super) request: Option<&'a RawValue>,
    #[serde(rename = "実行番号", borrow, default)]
    pub(super) run: Option<&'a RawValue>,
}

/// Content of `operations`.
#[derive(Debug, serde::Deserialize)]
pub(super) struct OperationsBody {
    #[serde(rename = "ボタン")]
    pub(super) controls: BTreeMap<String, serde_json::Value>,
}

/// Content of a list request; optional.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct ListBody {
    #[serde(rename = "最終ファイル日時", default)]
    pub(super) backup_newest: Option<String>,
    #[serde(rename = "作業ファイル日時", default)]
    pub(super) temp_newest: Option<String>,
    #[serde(rename = "件数", default)]
    pub(super) count: Option<usize>,
    #[serde(rename = "全件", default)]
    pub(super) all: Option<bool>,
}

/// Content of `files_watch`.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct WatchBody {
    #[serde(rename = "対象", default)]
    pub(super) target: Option<String>,
    #[serde(rename = "停止", default)]
    pub(super) stop: Option<bool>,
}

/// Content of `confirm_answer`.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ConfirmBody {
    pub(super) id: String,
    #[serde(rename = "承認")]
    pub(super) approved: bool,
    #[serde(rename = "常に", default)]
    pub(super) always: bool,
    #[serde(rename = "再確認", default)]
    pub(super) twice: bool,
}

/// Content of `compare`.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct CompareBody {
    #[serde(rename = "検査", default)]
    pub(super) check: Option<bool>,
}

/// Content of `diff`.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct DiffWishBody {
    #[serde(rename = "パス", default)]
    pub(super) path: Option<String>,
}

/// Content of `accept`.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct AcceptBody {
    #[serde(rename = "ブランチ", default)]
    pub(super) branch: Option<String>,
    #[serde(rename = "コメント", default)]
    pub(super) message: Option<String>,
    #[serde(rename = "版", default)]
    pub(super) version: Option<String>,
}

/// Content of `restore`.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct RestoreBody {
    #[serde(rename = "実行番号", default)]
    pub(super) run: Option<u64>,
    #[serde(rename = "控え", default)]
    pub(super) backup: Option<String>,
    #[serde(rename = "パス", default)]
    pub(super) path: Option<String>,
}

/// The common shape of packets from the server. Keys that old clients do not know are left out when empty.
#[derive(Debug, Serialize)]
pub(super) struct Packet<'a> {
    #[serde(rename = "セッションID")]
    pub(super) session: &'a str,
    #[serde(rename = "チャンネル")]
    pub(super) channel: &'a str,
    #[serde(rename = "メッセージ識別")]
    pub(super) kind: &'a str,
    #[serde(rename = "メッセージ内容")]
    pub(super) body: Body<'a>,
    /// `Some(None)` is written as null, `None` is left out: the packet kinds differ in this.
    #[serde(rename = "ファイル名", skip_serializing_if = "Option::is_none")]
    pub(super) file_name: Option<Option<&'a str>>,
    #[serde(rename = "サムネイル画像", skip_serializing_if = "Option::is_none")]
    pub(super) thumbnail: Option<Option<String>>,
    #[serde(rename = "連番", skip_serializing_if = "Option::is_none")]
    pub(super) seq: Option<u64>,
    #[serde(rename = "実行番号", skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<u64>,
    #[serde(rename = "待ち順", skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<usize>,
    /// The agent who wrote the text, where the packet's channel does not say it.
    #[serde(rename = "出力元チャンネル", skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<&'a str>,
    #[serde(rename = "世代番号", skip_serializing_if = "Option::is_none")]
    pub(super) generation: Option<u64>,
    #[serde(rename = "中断", skip_serializing_if = "Option::is_none")]
    pub(super) interrupted: Option<bool>,
    #[serde(rename = "再生ミリ秒", skip_serializing_if = "Option::is_none")]
    pub(super) played_ms: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Body<'a> {
    Text(&'a str),
    Owned(String),
    Times(TimesBody),
    Changed(ChangedBody<'a>),
    Backup(BackupBody<'a>),
    Temp(TempBody<'a>),
    Unchanged(UnchangedBody<'a>),
    Asked(AskedBody<'a>),
    Settled(SettledBody<'a>),
    Tool(ToolBody<'a>),
    Plan(PlanBody<'a>),
    Usage(UsageBody<'a>),
    State(StateBody<'a>),
    Summary(SummaryBody<'a>),
    Compared(ComparedBody<'a>),
    Diff(DiffBody<'a>),
    Backups(BackupsBody<'a>),
    Chosen(ChosenBody<'a>),
}

#[derive(Debug, Serialize)]
pub(super) struct ToolBody<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "名前")]
    pub(super) name: &'a str,
    #[serde(rename = "種類")]
    pub(super) kind: &'a str,
    #[serde(rename = "状態")]
    pub(super) state: &'a str,
    #[serde(rename = "入力")]
    pub(super) input: Option<&'a str>,
    #[serde(rename = "出力")]
    pub(super) output: Option<&'a str>,
    #[serde(rename = "エラー")]
    pub(super) error: Option<&'a str>,
    #[serde(rename = "パス")]
    pub(super) paths: &'a [String],
    #[serde(rename = "承認なし")]
    pub(super) ungated: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct PlanBody<'a> {
    #[serde(rename = "手順")]
    pub(super) steps: Vec<PlanRow<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct PlanRow<'a> {
    #[serde(rename = "内容")]
    pub(super) text: &'a str,
    #[serde(rename = "状態")]
    pub(super) state: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct UsageBody<'a> {
    #[serde(rename = "使用トークン")]
    pub(super) used: u64,
    #[serde(rename = "上限トークン")]
    pub(super) size: u64,
    #[serde(rename = "費用")]
    pub(super) cost: Option<CostBody<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct CostBody<'a> {
    #[serde(rename = "金額")]
    pub(super) amount: f64,
    #[serde(rename = "通貨")]
    pub(super) currency: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct StateBody<'a> {
    #[serde(rename = "状態")]
    pub(super) state: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryBody<'a> {
    #[serde(rename = "場所")]
    pub(super) place: Option<&'a str>,
    #[serde(rename = "状態")]
    pub(super) outcome: &'a str,
    #[serde(rename = "秒")]
    pub(super) seconds: f64,
    #[serde(rename = "トークン")]
    pub(super) tokens: Option<u64>,
    #[serde(rename = "費用")]
    pub(super) cost: Option<CostBody<'a>>,
    #[serde(rename = "ファイル")]
    pub(super) files: Vec<ChangeRow<'a>>,
    #[serde(rename = "省略")]
    pub(super) more: bool,
    #[serde(rename = "重複")]
    pub(super) overlaps: Vec<OverlapRow<'a>>,
    #[serde(rename = "除外")]
    pub(super) left_out: &'a [String],
    #[serde(rename = "版")]
    pub(super) version: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct ChangeRow<'a> {
    #[serde(rename = "パス")]
    pub(super) path: &'a str,
    #[serde(rename = "元パス")]
    pub(super) old_path: Option<&'a str>,
    #[serde(rename = "状態")]
    pub(super) status: &'a str,
    #[serde(rename = "追加")]
    pub(super) added: Option<u32>,
    #[serde(rename = "削除")]
    pub(super) removed: Option<u32>,
}

#[derive(Debug, Serialize)]
pub(super) struct OverlapRow<'a> {
    #[serde(rename = "パス")]
    pub(super) path: &'a str,
    #[serde(rename = "チャンネル")]
    pub(super) channels: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct ComparedBody<'a> {
    #[serde(rename = "比較")]
    pub(super) rows: Vec<ComparedRow<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct ComparedRow<'a> {
    #[serde(rename = "チャンネル")]
    pub(super) channel: &'a str,
    #[serde(rename = "エージェント")]
    pub(super) name: &'a str,
    #[serde(rename = "場所")]
    pub(super) place: &'a str,
    #[serde(rename = "実行番号")]
    pub(super) run: Option<u64>,
    #[serde(rename = "状態")]
    pub(super) outcome: Option<&'a str>,
    #[serde(rename = "ファイル数")]
    pub(super) files: usize,
    #[serde(rename = "追加")]
    pub(super) added: u64,
    #[serde(rename = "削除")]
    pub(super) removed: u64,
    #[serde(rename = "秒")]
    pub(super) seconds: Option<f64>,
    #[serde(rename = "トークン")]
    pub(super) tokens: Option<u64>,
    #[serde(rename = "費用")]
    pub(super) cost: Option<CostBody<'a>>,
    #[serde(rename = "検査")]
    pub(super) check: Option<CheckRow<'a>>,
    #[serde(rename = "重複")]
    pub(super) overlaps: Vec<OverlapRow<'a>>,
    #[serde(rename = "除外")]
    pub(super) left_out: &'a [String],
    #[serde(rename = "版")]
    pub(super) version: Option<&'a str>,
    #[serde(rename = "理由")]
    pub(super) problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct CheckRow<'a> {
    #[serde(rename = "終了コード")]
    pub(super) code: Option<i32>,
    #[serde(rename = "出力")]
    pub(super) output: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct DiffBody<'a> {
    #[serde(rename = "パス")]
    pub(super) path: Option<&'a str>,
    #[serde(rename = "ファイル")]
    pub(super) files: Vec<ChangeRow<'a>>,
    #[serde(rename = "差分")]
    pub(super) text: &'a str,
    #[serde(rename = "省略")]
    pub(super) truncated: bool,
    #[serde(rename = "版")]
    pub(super) version: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct BackupsBody<'a> {
    #[serde(rename = "控え一覧")]
    pub(super) rows: Vec<BackupRow<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct BackupRow<'a> {
    #[serde(rename = "控え")]
    pub(super) name: &'a str,
    #[serde(rename = "直前")]
    pub(super) reason: Option<&'a str>,
    #[serde(rename = "実行番号")]
    pub(super) run: Option<u64>,
    #[serde(rename = "日時")]
    pub(super) made: &'a str,
    /// The agent whose workplace was backed up; null: the project.
    #[serde(rename = "チャンネル")]
    pub(super) channel: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct ChosenBody<'a> {
    #[serde(rename = "結果")]
    pub(super) outcome: &'a str,
    #[serde(rename = "ファイル")]
    pub(super) files: &'a [String],
    #[serde(rename = "ブランチ")]
    pub(super) branch: Option<&'a str>,
    #[serde(rename = "控え")]
    pub(super) backup: Option<&'a str>,
    #[serde(rename = "除外")]
    pub(super) left_out: &'a [String],
    #[serde(rename = "衝突")]
    pub(super) conflicts: Vec<ConflictRow<'a>>,
    #[serde(rename = "理由")]
    pub(super) reason: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct ConflictRow<'a> {
    #[serde(rename = "パス")]
    pub(super) path: &'a str,
    #[serde(rename = "種類")]
    pub(super) kind: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct ChangedBody<'a> {
    pub(super) update_files: Cow<'a, [String]>,
    /// The agent of the run, on channel `0`.
    #[serde(rename = "チャンネル", skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct AskedBody<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "チャンネル")]
    pub(super) channel: &'a str,
    #[serde(rename = "ツール名")]
    pub(super) tool: &'a str,
    #[serde(rename = "入力")]
    pub(super) input: &'a str,
    #[serde(rename = "差分", skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<&'a str>,
    #[serde(rename = "警告")]
    pub(super) warning: WarningBody<'a>,
    #[serde(rename = "期限")]
    pub(super) seconds: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct WarningBody<'a> {
    pub(super) level: &'a str,
    pub(super) message: String,
}

#[derive(Debug, Serialize)]
pub(super) struct SettledBody<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "チャンネル")]
    pub(super) channel: &'a str,
    #[serde(rename = "承認")]
    pub(super) approved: bool,
    #[serde(rename = "決定者")]
    pub(super) by: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct BackupBody<'a> {
    #[serde(rename = "プロジェクトパス")]
    pub(super) project: &'a str,
    #[serde(rename = "バックアップベースパス")]
    pub(super) backup: &'a str,
    #[serde(rename = "最終ファイル日時")]
    pub(super) newest: Option<&'a str>,
    #[serde(rename = "ファイルリスト")]
    pub(super) files: Rows<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct TempBody<'a> {
    #[serde(rename = "作業ファイル日時")]
    pub(super) newest: &'a str,
    #[serde(rename = "ファイルリスト")]
    pub(super) files: Rows<'a>,
}

/// Rows of a list, either still to be serialized or already serialized.
#[derive(Debug)]
pub(super) enum Rows<'a> {
    Few(Vec<FileRow<'a>>),
    Written(Arc<OnceLock<Box<RawValue>>>),
}

impl Serialize for Rows<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Few(rows) => rows.serialize(serializer),
            Self::Written(text) => text.get().serialize(serializer),
        }
    }
}

/// Only one of the two times is set, depending on the list.
#[derive(Debug, Serialize)]
pub(super) struct UnchangedBody<'a> {
    #[serde(rename = "変化なし")]
    pub(super) unchanged: bool,
    #[serde(rename = "最終ファイル日時", skip_serializing_if = "Option::is_none")]
    pub(super) backup_newest: Option<Option<&'a str>>,
    #[serde(rename = "作業ファイル日時", skip_serializing_if = "Option::is_none")]
    pub(super) temp_newest: Option<&'a str>,
    #[serde(rename = "件数")]
    pub(super) count: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct FileRow<'a> {
    #[serde(rename = "パス")]
    pub(super) path: &'a str,
    #[serde(rename = "更新日時")]
    pub(super) modified: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct InitPacket<'a> {
    #[serde(rename = "セッションID")]
    pub(super) session: &'a str,
    #[serde(rename = "ソケット番号")]
    pub(super) socket: &'a str,
    #[serde(rename = "チャンネル")]
    pub(super) channel: &'a str,
    #[serde(rename = "メッセージ識別")]
    pub(super) kind: &'a str,
    #[serde(rename = "メッセージ内容")]
    pub(super) body: InitBody<'a>,
    #[serde(rename = "世代")]
    pub(super) epoch: String,
    #[serde(rename = "再開")]
    pub(super) resumed: bool,
    #[serde(rename = "機能")]
    pub(super) features: &'a [&'a str],
}

#[derive(Debug, Default, Serialize)]
pub(super) struct InitBody<'a> {
    #[serde(rename = "ボタン", skip_serializing_if = "Option::is_none")]
    pub(super) controls: Option<BTreeMap<&'a str, serde_json::Value>>,
    #[serde(rename = "モデル設定", skip_serializing_if = "Option::is_none")]
    pub(super) settings: Option<OrderedMap<'a>>,
}

/// A JSON object that keeps the order of its keys.
#[derive(Debug)]
pub(super) struct OrderedMap<'a>(pub(super) Vec<(&'a str, serde_json::Value)>);

impl Serialize for OrderedMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// `streaming_started`, `heartbeat`, `error`, `system_info`: packets about the connection, without a channel.
#[derive(Debug, Serialize)]
pub(super) struct ConnectionPacket<'a, B> {
    #[serde(rename = "メッセージ識別")]
    pub(super) kind: &'a str,
    #[serde(rename = "セッションID")]
    pub(super) session: &'a str,
    #[serde(rename = "メッセージ内容")]
    pub(super) body: B,
    #[serde(rename = "コード", skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<&'a str>,
    #[serde(rename = "要求番号", skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<RequestValue<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct HeartbeatBody {
    #[serde(rename = "カウント")]
    pub(super) count: u64,
    #[serde(rename = "時刻")]
    pub(super) uptime: f64,
}

/// A request number in the form in which the client sent it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum RequestValue<'a> {
    Number(u64),
    Text(&'a str),
}

impl<'a> From<&'a RequestNo> for RequestValue<'a> {
    fn from(request: &'a RequestNo) -> Self {
        match request {
            RequestNo::Number(number) => Self::Number(*number),
            RequestNo::Text(text) => Self::Text(text),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct AckPacket<'a> {
    #[serde(rename = "セッションID")]
    pub(super) session: &'a str,
    #[serde(rename = "チャンネル")]
    pub(super) channel: &'a str,
    #[serde(rename = "メッセージ識別")]
    pub(super) kind: &'a str,
    #[serde(rename = "要求番号")]
    pub(super) request: RequestValue<'a>,
    #[serde(rename = "重複")]
    pub(super) repeated: bool,
}

/// An `output_audio` packet is this text, the base64 and [`AUDIO_SUFFIX`]. It is built by hand, because serde would
/// scan the payload for characters to escape, which base64 never contains.
pub(super) fn audio_prefix(session: &str) -> String {
    format!(
        r#"{{"セッションID":"{session}","チャンネル":"audio","メッセージ識別":"output_audio","メッセージ内容":"audio/pcm","ファイル名":""#
    )
}

pub(super) const AUDIO_SUFFIX: &str = r#"","サムネイル画像":null}"#;
/// Upper bound for the suffix with the longest generation number.
pub(super) const LONGEST_AUDIO_SUFFIX: usize = 80;

/// Ends the packet for clients with the `playback` feature: the suffix includes the generation.
pub(super) fn end_audio_of(generation: u64, frame: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(frame, r#"","サムネイル画像":null,"世代番号":{generation}}}"#);
}

/// Content of `playback_ack`.
#[derive(Debug, serde::Deserialize)]
pub(super) struct AckBody {
    #[serde(rename = "世代番号")]
    pub(super) generation: u64,
    #[serde(rename = "再生サンプル数")]
    pub(super) samples: u64,
    #[serde(rename = "残ミリ秒", default)]
    pub(super) buffered_ms: f64,
    #[serde(rename = "途切れ回数", default)]
    pub(super) underruns: u64,
}

/// Content of `push_to_talk`.
#[derive(Debug, serde::Deserialize)]
pub(super) struct TalkKeyBody {
    #[serde(rename = "状態")]
    pub(super) state: TalkKeyState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TalkKeyState {
    Start,
    End,
}

/// Content of `metrics`: latencies of the last spoken exchange; unknown ones are left out.
#[derive(Debug, Serialize)]
pub(super) struct TimesBody {
    #[serde(rename = "発話終了からターン終了", skip_serializing_if = "Option::is_none")]
    pub(super) end_of_turn: Option<u64>,
    #[serde(rename = "ターン終了から初音", skip_serializing_if = "Option::is_none")]
    pub(super) first_sound: Option<u64>,
    #[serde(rename = "初音から送信", skip_serializing_if = "Option::is_none")]
    pub(super) first_sent: Option<u64>,
    #[serde(rename = "送信から再生", skip_serializing_if = "Option::is_none")]
    pub(super) first_played: Option<u64>,
    #[serde(rename = "割り込みから停止", skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<u64>,
    #[serde(rename = "途切れ回数")]
    pub(super) underruns: u64,
    #[serde(rename = "欠落数")]
    pub(super) dropped: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct LoginData<'a> {
    pub(super) access_token: &'a str,
    pub(super) token_type: &'a str,
    #[serde(rename = "初期ページ")]
    pub(super) first_page: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct UserData<'a> {
    #[serde(rename = "利用者ID")]
    pub(super) id: &'a str,
    #[serde(rename = "利用者名")]
    pub(super) name: &'a str,
    #[serde(rename = "権限ID")]
    pub(super) role: &'a str,
    #[serde(rename = "利用者備考")]
    pub(super) remark: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct SessionData<'a> {
    #[serde(rename = "セッションID")]
    pub(super) session: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct RestartData {
    #[serde(rename = "再起動")]
    pub(super) restart: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ModelsData<'a> {
    pub(super) available_models: OfferData<'a>,
    #[serde(rename = "モデル設定")]
    pub(super) settings: OrderedMap<'a>,
    pub(super) external_root_dic: OrderedMap<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct OfferData<'a> {
    pub(super) chat_models: OrderedMap<'a>,
    pub(super) live_models: OrderedMap<'a>,
    pub(super) live_voices: OrderedMap<'a>,
    pub(super) code_models: OrderedMap<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct ServerStateBody {
    pub(super) status: &'static str,
    pub(super) message: String,
    pub(super) data: ServerState,
    pub(super) error: Option<()>,
    #[serde(flatten)]
    pub(super) counts: ServerState,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ServerState {
    pub(super) ready_count: u8,
    pub(super) busy_count: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct SessionsData {
    #[serde(rename = "セッション数")]
    pub(super) count: usize,
    #[serde(rename = "セッション一覧")]
    pub(super) sessions: Vec<SessionRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct SessionRow {
    #[serde(rename = "セッションID")]
    pub(super) session: String,
    #[serde(rename = "作成日時")]
    pub(super) created: String,
    #[serde(rename = "最終利用日時")]
    pub(super) used: String,
    #[serde(rename = "件数")]
    pub(super) events: u64,
    #[serde(rename = "処理中")]
    pub(super) busy: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ContentData<'a> {
    #[serde(rename = "ファイル名")]
    pub(super) name: &'a str,
    #[serde(rename = "解決ファイルパス")]
    pub(super) path: &'a str,
    pub(super) base64_data: String,
}
