//! Keys of HTTP request bodies.

pub(crate) const USER: &str = "利用者ID";
pub(crate) const PASSWORD: &str = "パスワード";
pub(crate) const SESSION: &str = "セッションID";
pub(crate) const SETTINGS: &str = "モデル設定";
pub(crate) const RESTART: &str = "再起動要求";
pub(crate) const FILE_NAME: &str = "ファイル名";
/// The agent in whose workplace the file is; absent: the project itself.
pub(crate) const CHANNEL: &str = "チャンネル";
