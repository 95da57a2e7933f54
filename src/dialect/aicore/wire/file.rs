//! File lists and changed files.

use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

#[derive(Debug, Serialize)]
pub(crate) struct ChangedBody<'a> {
    pub(crate) update_files: Cow<'a, [String]>,
    /// The agent of the run, on channel `0`.
    #[serde(rename = "チャンネル", skip_serializing_if = "Option::is_none")]
    pub(crate) channel: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BackupBody<'a> {
    #[serde(rename = "プロジェクトパス")]
    pub(crate) project: &'a str,
    #[serde(rename = "バックアップベースパス")]
    pub(crate) backup: &'a str,
    #[serde(rename = "最終ファイル日時")]
    pub(crate) newest: Option<&'a str>,
    #[serde(rename = "ファイルリスト")]
    pub(crate) files: Rows<'a>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TempBody<'a> {
    #[serde(rename = "作業ファイル日時")]
    pub(crate) newest: &'a str,
    #[serde(rename = "ファイルリスト")]
    pub(crate) files: Rows<'a>,
}

/// Rows of a list, either still to be serialized or already serialized.
#[derive(Debug)]
pub(crate) enum Rows<'a> {
    Plain(Vec<FileRow<'a>>),
    Serialized(Arc<OnceLock<Box<RawValue>>>),
}

impl Serialize for Rows<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(rows) => rows.serialize(serializer),
            Self::Serialized(text) => text.get().serialize(serializer),
        }
    }
}

/// Only one of the two times is set, depending on the list.
#[derive(Debug, Serialize)]
pub(crate) struct UnchangedBody<'a> {
    #[serde(rename = "変化なし")]
    pub(crate) unchanged: bool,
    #[serde(rename = "最終ファイル日時", skip_serializing_if = "Option::is_none")]
    pub(crate) backup_newest: Option<Option<&'a str>>,
    #[serde(rename = "作業ファイル日時", skip_serializing_if = "Option::is_none")]
    pub(crate) temp_newest: Option<&'a str>,
    #[serde(rename = "件数")]
    pub(crate) count: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct FileRow<'a> {
    #[serde(rename = "パス")]
    pub(crate) path: &'a str,
    #[serde(rename = "更新日時")]
    pub(crate) modified: &'a str,
}
