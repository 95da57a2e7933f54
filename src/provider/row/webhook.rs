//! An address of the operator's that is called when something waits for approval.

use super::ChatKey;
use std::time::SystemTime;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    /// What calls are signed with; `None`: they are not.
    pub key: Option<ChatKey>,
}

/// What it is told: where something waits, and for how long. Nothing of what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCall {
    pub session: String,
    pub channel: String,
    pub tool: String,
    pub level: &'static str,
    pub id: String,
    pub expires: SystemTime,
}
