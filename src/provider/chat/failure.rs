//! An attempt that failed: what its vendor complains about, in our words, and whether another attempt may help.

use super::error::ChatError;
use crate::provider::row::{ChatModel, Secret};
use std::time::Duration;

/// A server that wants us to wait longer is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// How much of a vendor's own words is repeated.
const LONGEST_REASON: usize = 300;

#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: ChatError,
    pub(super) again: Again,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Never,
    /// After a pause of our choice.
    Soon,
    After(Duration),
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        Self { error, again: Again::Never }
    }
}

/// What a vendor said instead of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) trouble: Trouble,
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    Key,
    /// Too much for now.
    Rate,
    /// Nothing is left until somebody pays.
    Quota,
    UnknownModel,
    TooLong,
    Refused,
    Other,
}

impl Trouble {
    /// What the status alone says.
    pub(super) fn of(status: u16) -> Self {
        match status {
            401 | 403 => Self::Key,
            402 => Self::Quota,
            404 => Self::UnknownModel,
            413 => Self::TooLong,
            429 => Self::Rate,
            _ => Self::Other,
        }
    }
}

impl Complaint {
    pub(super) fn failure(self, model: &ChatModel) -> Failure {
        let secret = model.key.as_ref().and_then(|key| key.secret.as_ref());
        let (status, retry_after) = (self.status, self.retry_after);
        let reason = presentable(&self.message, secret);
        let transient = matches!(status, 408 | 409 | 500 | 502 | 503 | 504 | 529);
        let (error, again) = match self.trouble {
            Trouble::Key => {
                let variable = model.key.as_ref().map(|key| key.variable.clone());
                (ChatError::BadKey { variable }, Again::Never)
            }
            Trouble::Rate => (ChatError::Quota { retry_after, reason }, again(retry_after)),
            Trouble::Quota => (ChatError::Quota { retry_after, reason }, Again::Never),
            Trouble::UnknownModel => {
                (ChatError::UnknownModel { model: model.model.clone(), reason }, Again::Never)
            }
            Trouble::TooLong => (ChatError::TooLong { reason }, Again::Never),
            Trouble::Refused => (ChatError::Refused { reason }, Again::Never),
            Trouble::Other if transient => {
                (ChatError::Server { status, reason }, again(retry_after))
            }
            Trouble::Other => (ChatError::Server { status, reason }, Again::Never),
        };
        Failure { error, again }
    }
}

fn again(wanted: Option<Duration>) -> Again {
    match wanted {
        None => Again::Soon,
        Some(time) if time <= LONGEST_WAIT => Again::After(time),
        Some(_) => Again::Never,
    }
}

/// One short line, in which the key does not appear whatever the vendor repeats.
pub(in crate::provider) fn presentable(text: &str, secret: Option<&Secret>) -> String {
    let hidden = match secret {
        Some(secret) if !secret.expose().is_empty() => text.replace(secret.expose(), "(the key)"),
        Some(_) | None => text.to_owned(),
    };
    let line = hidden.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST_REASON).collect();
    if line.is_empty() { "it gives no reason".to_owned() } else { line }
}
