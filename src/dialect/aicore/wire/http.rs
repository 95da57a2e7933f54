//! Contents of answers of the HTTP API.

use super::OrderedMap;
use serde::Serialize;

/// The page that existing clients show after a login.
pub(crate) const FIRST_PAGE: &str = "AIコア";

#[derive(Debug, Serialize)]
pub(crate) struct LoginData<'a> {
    pub(crate) access_token: &'a str,
    pub(crate) token_type: &'a str,
    #[serde(rename = "初期ページ")]
    pub(crate) first_page: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct UserData<'a> {
    #[serde(rename = "利用者ID")]
    pub(crate) id: &'a str,
    #[serde(rename = "利用者名")]
    pub(crate) name: &'a str,
    #[serde(rename = "権限ID")]
    pub(crate) role: &'a str,
    #[serde(rename = "利用者備考")]
    pub(crate) remark: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionData<'a> {
    #[serde(rename = "セッションID")]
    pub(crate) session: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct RestartData {
    #[serde(rename = "再起動")]
    pub(crate) restart: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct ModelsData<'a> {
    pub(crate) available_models: OfferData<'a>,
    #[serde(rename = "モデル設定")]
    pub(crate) settings: OrderedMap<'a>,
    pub(crate) external_root_dic: OrderedMap<'a>,
}

#[derive(Debug, Serialize)]
pub(crate) struct OfferData<'a> {
    pub(crate) chat_models: OrderedMap<'a>,
    pub(crate) live_models: OrderedMap<'a>,
    pub(crate) live_voices: OrderedMap<'a>,
    pub(crate) code_models: OrderedMap<'a>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ServerStateBody {
    pub(crate) status: &'static str,
    pub(crate) message: String,
    pub(crate) data: ServerState,
    pub(crate) error: Option<()>,
    #[serde(flatten)]
    pub(crate) counts: ServerState,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct ServerState {
    pub(crate) ready_count: u8,
    pub(crate) busy_count: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionsData {
    #[serde(rename = "セッション数")]
    pub(crate) count: usize,
    #[serde(rename = "セッション一覧")]
    pub(crate) sessions: Vec<SessionRow>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionRow {
    #[serde(rename = "セッションID")]
    pub(crate) session: String,
    #[serde(rename = "作成日時")]
    pub(crate) created: String,
    #[serde(rename = "最終利用日時")]
    pub(crate) used: String,
    #[serde(rename = "件数")]
    pub(crate) events: u64,
    #[serde(rename = "処理中")]
    pub(crate) busy: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct ContentData<'a> {
    #[serde(rename = "ファイル名")]
    pub(crate) name: &'a str,
    #[serde(rename = "解決ファイルパス")]
    pub(crate) path: &'a str,
    pub(crate) base64_data: String,
}
