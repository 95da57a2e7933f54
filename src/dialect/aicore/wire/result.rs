//! Contents of packets about results: summaries, comparisons, diffs, backups and the user's choices.

use super::CostBody;
use serde::Serialize;
use std::borrow::Cow;

#[derive(Debug, Serialize)]
pub(crate) struct SummaryBody<'a> {
    #[serde(rename = "場所")]
    pub(crate) place: Option<&'a str>,
    #[serde(rename = "状態")]
    pub(crate) outcome: &'a str,
    #[serde(rename = "秒")]
    pub(crate) seconds: f64,
    #[serde(rename = "トークン")]
    pub(crate) tokens: Option<u64>,
    #[serde(rename = "費用")]
    pub(crate) cost: Option<CostBody<'a>>,
    #[serde(rename = "ファイル")]
    pub(crate) files: Vec<ChangeRow<'a>>,
    #[serde(rename = "省略")]
    pub(crate) more: bool,
    #[serde(rename = "重複")]
    pub(crate) overlaps: Vec<OverlapRow<'a>>,
    #[serde(rename = "除外")]
    pub(crate) left_out: &'a [String],
    #[serde(rename = "版")]
    pub(crate) version: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ChangeRow<'a> {
    #[serde(rename = "パス")]
    pub(crate) path: &'a str,
    #[serde(rename = "元パス")]
    pub(crate) old_path: Option<&'a str>,
    #[serde(rename = "状態")]
    pub(crate) status: &'a str,
    #[serde(rename = "追加")]
    pub(crate) added: Option<u32>,
    #[serde(rename = "削除")]
    pub(crate) removed: Option<u32>,
}

#[derive(Debug, Serialize)]
pub(crate) struct OverlapRow<'a> {
    #[serde(rename = "パス")]
    pub(crate) path: &'a str,
    #[serde(rename = "チャンネル")]
    pub(crate) channels: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ComparedBody<'a> {
    #[serde(rename = "比較")]
    pub(crate) rows: Vec<ComparedRow<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ComparedRow<'a> {
    #[serde(rename = "チャンネル")]
    pub(crate) channel: &'a str,
    #[serde(rename = "エージェント")]
    pub(crate) name: &'a str,
    #[serde(rename = "場所")]
    pub(crate) place: &'a str,
    #[serde(rename = "実行番号")]
    pub(crate) run: Option<u64>,
    #[serde(rename = "状態")]
    pub(crate) outcome: Option<&'a str>,
    #[serde(rename = "ファイル数")]
    pub(crate) files: usize,
    #[serde(rename = "追加")]
    pub(crate) added: u64,
    #[serde(rename = "削除")]
    pub(crate) removed: u64,
    #[serde(rename = "秒")]
    pub(crate) seconds: Option<f64>,
    #[serde(rename = "トークン")]
    pub(crate) tokens: Option<u64>,
    #[serde(rename = "費用")]
    pub(crate) cost: Option<CostBody<'a>>,
    #[serde(rename = "検査")]
    pub(crate) check: Option<CheckRow<'a>>,
    #[serde(rename = "重複")]
    pub(crate) overlaps: Vec<OverlapRow<'a>>,
    #[serde(rename = "除外")]
    pub(crate) left_out: &'a [String],
    #[serde(rename = "版")]
    pub(crate) version: Option<&'a str>,
    #[serde(rename = "理由")]
    pub(crate) problem: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CheckRow<'a> {
    #[serde(rename = "終了コード")]
    pub(crate) code: Option<i32>,
    #[serde(rename = "出力")]
    pub(crate) output: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct DiffBody<'a> {
    #[serde(rename = "パス")]
    pub(crate) path: Option<&'a str>,
    #[serde(rename = "ファイル")]
    pub(crate) files: Vec<ChangeRow<'a>>,
    #[serde(rename = "差分")]
    pub(crate) text: &'a str,
    #[serde(rename = "省略")]
    pub(crate) truncated: bool,
    #[serde(rename = "版")]
    pub(crate) version: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct BackupsBody<'a> {
    #[serde(rename = "控え一覧")]
    pub(crate) rows: Vec<BackupRow<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BackupRow<'a> {
    #[serde(rename = "控え")]
    pub(crate) name: &'a str,
    #[serde(rename = "直前")]
    pub(crate) reason: Option<&'a str>,
    #[serde(rename = "実行番号")]
    pub(crate) run: Option<u64>,
    #[serde(rename = "日時")]
    pub(crate) made: &'a str,
    /// The agent whose workplace was backed up; null: the project.
    #[serde(rename = "チャンネル")]
    pub(crate) channel: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ChosenBody<'a> {
    #[serde(rename = "結果")]
    pub(crate) outcome: &'a str,
    #[serde(rename = "ファイル")]
    pub(crate) files: &'a [String],
    #[serde(rename = "ブランチ")]
    pub(crate) branch: Option<&'a str>,
    #[serde(rename = "控え")]
    pub(crate) backup: Option<&'a str>,
    #[serde(rename = "除外")]
    pub(crate) left_out: &'a [String],
    #[serde(rename = "衝突")]
    pub(crate) conflicts: Vec<ConflictRow<'a>>,
    #[serde(rename = "理由")]
    pub(crate) reason: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ConflictRow<'a> {
    #[serde(rename = "パス")]
    pub(crate) path: &'a str,
    #[serde(rename = "種類")]
    pub(crate) kind: &'a str,
}
