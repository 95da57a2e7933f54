//! Names of fields in error messages.

pub(crate) const CHANNEL: &str = "チャンネル";
pub(crate) const BODY: &str = "メッセージ内容";
pub(crate) const FILE_NAME: &str = "ファイル名";
pub(crate) const MODE: &str = "送信モード";
pub(crate) const CONTROLS: &str = "メッセージ内容.ボタン";
pub(crate) const WATCH: &str = "メッセージ内容.対象";
pub(crate) const REQUEST: &str = "要求番号";
pub(crate) const RUN: &str = "実行番号";
pub(crate) const EPOCH: &str = "世代";
pub(crate) const LAST_SEQ: &str = "最終連番";
pub(crate) const HISTORY: &str = "履歴件数";
pub(crate) const VIEW: &str = "閲覧";
pub(crate) const TOKEN: &str = "トークン";
pub(crate) const FEATURES: &str = "機能";
pub(crate) const TARGET: &str = "出力先チャンネル";
pub(crate) const RESTORE: &str = "メッセージ内容.実行番号 / メッセージ内容.控え";
