//! A webhook of the operator that is called when a tool call waits for approval.

use super::ChatKey;
use std::time::SystemTime;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    /// Signs the calls; `None`: calls are not signed.
    pub key: Option<ChatKey>,
}

/// What a call tells: which approval waits where, and until when. It contains nothing of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCall {
    pub session: String,
    pub channel: String,
    pub tool: String,
    pub level: &'static str,
    pub id: String,
    pub expires: SystemTime,
}
