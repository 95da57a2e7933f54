//! Approval questions and their answers.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct AskedBody<'a> {
    pub(crate) id: &'a str,
    #[serde(rename = "チャンネル")]
    pub(crate) channel: &'a str,
    #[serde(rename = "ツール名")]
    pub(crate) tool: &'a str,
    #[serde(rename = "入力")]
    pub(crate) input: &'a str,
    #[serde(rename = "差分", skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<&'a str>,
    #[serde(rename = "警告")]
    pub(crate) warning: WarningBody<'a>,
    #[serde(rename = "期限")]
    pub(crate) seconds: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct WarningBody<'a> {
    pub(crate) level: &'a str,
    pub(crate) message: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct SettledBody<'a> {
    pub(crate) id: &'a str,
    #[serde(rename = "チャンネル")]
    pub(crate) channel: &'a str,
    #[serde(rename = "承認")]
    pub(crate) approved: bool,
    #[serde(rename = "決定者")]
    pub(crate) by: &'a str,
}
