//! HTTP paths below `/core/`.

pub(crate) const LOGIN: &str = "auth/ログイン";
pub(crate) const WHO: &str = "auth/現在利用者";
pub(crate) const LOGOUT: &str = "auth/ログアウト";
pub(crate) const START: &str = "AIコア/初期化";
pub(crate) const MODELS: &str = "AIコア/モデル情報/取得";
pub(crate) const SETTINGS: &str = "AIコア/モデル情報/設定";
pub(crate) const SESSIONS: &str = "AIコア/セッション一覧";
pub(crate) const CONTENT: &str = "files/内容取得";
pub(crate) const STATE: &str = "サーバー状態";
