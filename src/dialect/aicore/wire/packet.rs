//! The common shape of packets from the server, and packets about the connection.

use super::{
    AskedBody, BackupBody, BackupsBody, ChangedBody, ChosenBody, ComparedBody, DiffBody, PlanBody,
    SettledBody, StateBody, SummaryBody, TempBody, TimesBody, ToolBody, UnchangedBody, UsageBody,
};
use crate::message::RequestNo;
use serde::Serialize;

/// The common shape of packets from the server. Keys that old clients do not know are left out when empty.
#[derive(Debug, Serialize)]
pub(crate) struct Packet<'a> {
    #[serde(rename = "セッションID")]
    pub(crate) session: &'a str,
    #[serde(rename = "チャンネル")]
    pub(crate) channel: &'a str,
    #[serde(rename = "メッセージ識別")]
    pub(crate) kind: &'a str,
    #[serde(rename = "メッセージ内容")]
    pub(crate) body: Body<'a>,
    /// `Some(None)` is written as null, `None` is left out: the packet kinds differ in this.
    #[serde(rename = "ファイル名", skip_serializing_if = "Option::is_none")]
    pub(crate) file_name: Option<Option<&'a str>>,
    #[serde(rename = "サムネイル画像", skip_serializing_if = "Option::is_none")]
    pub(crate) thumbnail: Option<Option<String>>,
    #[serde(rename = "連番", skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
    #[serde(rename = "実行番号", skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<u64>,
    #[serde(rename = "待ち順", skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<usize>,
    /// The agent who wrote the text, where the packet's channel does not say it.
    #[serde(rename = "出力元チャンネル", skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<&'a str>,
    #[serde(rename = "世代番号", skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<u64>,
    #[serde(rename = "中断", skip_serializing_if = "Option::is_none")]
    pub(crate) interrupted: Option<bool>,
    #[serde(rename = "再生ミリ秒", skip_serializing_if = "Option::is_none")]
    pub(crate) played_ms: Option<u64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Body<'a> {
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

/// `streaming_started`, `heartbeat`, `error`, `system_info`: packets about the connection, without a channel.
#[derive(Debug, Serialize)]
pub(crate) struct ConnectionPacket<'a, B> {
    #[serde(rename = "メッセージ識別")]
    pub(crate) kind: &'a str,
    #[serde(rename = "セッションID")]
    pub(crate) session: &'a str,
    #[serde(rename = "メッセージ内容")]
    pub(crate) body: B,
    #[serde(rename = "コード", skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<&'a str>,
    #[serde(rename = "要求番号", skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<RequestValue<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct HeartbeatBody {
    #[serde(rename = "カウント")]
    pub(crate) count: u64,
    #[serde(rename = "時刻")]
    pub(crate) uptime: f64,
}

/// A request number in the form in which the client sent it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum RequestValue<'a> {
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
pub(crate) struct AckPacket<'a> {
    #[serde(rename = "セッションID")]
    pub(crate) session: &'a str,
    #[serde(rename = "チャンネル")]
    pub(crate) channel: &'a str,
    #[serde(rename = "メッセージ識別")]
    pub(crate) kind: &'a str,
    #[serde(rename = "要求番号")]
    pub(crate) request: RequestValue<'a>,
    #[serde(rename = "重複")]
    pub(crate) repeated: bool,
}
