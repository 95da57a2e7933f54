//! What the end of a connection means, by its code and by what the vendor says.

use super::wire::Refusal;
use crate::provider::live::remote::protocol::Fate;

/// How far a connection had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The setup of a new conversation was sent.
    Opening,
    /// The setup with a handle was sent, after so many that were refused.
    Resuming { refused: u32 },
    /// It was ready.
    Open,
}

/// A resumption is refused while the vendor still holds the old connection; after so many it has lost the session.
const MOST_RESUMPTIONS: u32 = 3;

/// Whatever the code: none of these passes by itself.
const HOPELESS: [&str; 12] = [
    "api key",
    "api_key",
    "apikey",
    "unauthenticated",
    "permission",
    "credential",
    "exceeded your current quota",
    "billing",
    "credits",
    "user location is not supported",
    "not supported for bidigeneratecontent",
    "is not found for api version",
];
/// A limit that passes within a minute, although what is said of it also speaks of plans and billing.
const PASSING: [&str; 4] = ["per minute", "per_minute", "perminute", "retry in"];
/// A limit of this long does not.
const LASTING: [&str; 3] = ["per day", "per_day", "perday"];
/// The handle is what it does not like.
const STALE_HANDLE: [&str; 3] = ["session not found", "session handle", "resumption"];

/// `code` is that of the WebSocket, or the status of a refused handshake.
pub(super) fn fate(code: Option<u16>, reason: &str, stage: Stage) -> Fate {
    let said = reason.to_lowercase();
    let status = refused(reason).or_else(|| code.filter(|code| *code < 600));
    if STALE_HANDLE.iter().any(|word| said.contains(word)) && stage != Stage::Opening {
        return Fate::StartOver;
    }
    if is_hopeless(reason) {
        return Fate::GiveUp;
    }
    match status {
        Some(status) => by_status(status, stage),
        None => by_code(code, stage),
    }
}

/// Whether it says that somebody has to do something.
pub(super) fn is_hopeless(reason: &str) -> bool {
    let said = reason.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    says(&LASTING) || (says(&HOPELESS) && !says(&PASSING))
}

fn by_status(status: u16, stage: Stage) -> Fate {
    match (status, stage) {
        // Whoever asks too often has to rest a little, which every further try does for longer.
        (408 | 425 | 429, _) => Fate::Retry,
        // An argument that was not one: what we have sent, or the handle.
        (400 | 404, Stage::Open | Stage::Resuming { .. }) => Fate::StartOver,
        (401..=404, _) => Fate::GiveUp,
        (400..=499, _) => Fate::Unfit,
        _ => Fate::Retry,
    }
}

fn by_code(code: Option<u16>, stage: Stage) -> Fate {
    match (code, stage) {
        // Our setup is not understood, and it will not be the next time; but part of it is the session's own.
        (Some(1002 | 1003 | 1007 | 1008), Stage::Opening) => Fate::Unfit,
        (Some(1002 | 1003 | 1007 | 1008), Stage::Resuming { .. } | Stage::Open) => Fate::StartOver,
        (_, Stage::Resuming { refused }) if refused >= MOST_RESUMPTIONS => Fate::StartOver,
        _ => Fate::Retry,
    }
}

/// The status in the body of a refusal.
fn refused(body: &str) -> Option<u16> {
    match serde_json::from_str(body.trim()).ok()? {
        Refusal::One(wrapped) | Refusal::List([wrapped]) => wrapped.error.code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESUMING: Stage = Stage::Resuming { refused: 0 };

    #[track_caller]
    fn check(code: impl Into<Option<u16>>, reason: &str, fates: [Fate; 3]) {
        let code = code.into();
        let found = [Stage::Opening, RESUMING, Stage::Open].map(|stage| fate(code, reason, stage));
        assert_eq!(found, fates, "{code:?} {reason}");
    }

    #[test]
    fn what_somebody_has_to_do_something_about_is_given_up() {
        for (code, reason) in [
            (1007, "API key not valid. Please pass a valid API key."),
            (1007, "API key expired. Please renew the API key."),
            (1008, "Your API key was reported as leaked. Please use another API key."),
            (1011, "You exceeded your current quota, please check your plan and billing details."),
            (1011, "Your prepayment credits are depleted."),
            (1011, "RESOURCE_EXHAUSTED: Quota exceeded for requests per day. Please retry in 30s."),
            (429, "You exceeded your current quota, please check your plan and billing details."),
            (
                1008,
                "models/x is not found for API version v1beta, or is not supported for bidiGenerateContent.",
            ),
            (1007, "User location is not supported for the API use."),
            (403, "Forbidden"),
            (401, ""),
        ] {
            check(code, reason, [Fate::GiveUp; 3]);
        }
        let body = r#"{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}"#;
        check(None, body, [Fate::GiveUp; 3]);
        check(400, r#"[{"error":{"code":400,"message":"API key not valid"}}]"#, [Fate::GiveUp; 3]);
    }

    #[test]
    fn what_passes_is_tried_again() {
        for (code, reason) in [
            (Some(1011), "Deadline expired before operation could complete."),
            (Some(1011), "The service is currently unavailable."),
            (Some(1011), "Internal error encountered."),
            (Some(1006), ""),
            (Some(1001), "going away"),
            (Some(1000), ""),
            (Some(1012), ""),
            (Some(1009), "message too big"),
            (Some(503), "Service Unavailable"),
            (Some(408), ""),
            (Some(429), "Too Many Requests"),
            (Some(1011), "RESOURCE_EXHAUSTED"),
            (Some(1011), "Resource has been exhausted (e.g. check quota)."),
            (
                Some(1011),
                "You exceeded your current quota, please check your plan and billing details. \
                 Quota exceeded for metric: requests per minute. Please retry in 21.5s.",
            ),
            (None, "connection reset by peer"),
            (None, r#"{"error":{"code":503,"message":"overloaded"}}"#),
        ] {
            check(code, reason, [Fate::Retry; 3]);
        }
    }

    #[test]
    fn a_refused_argument_means_the_handle_or_the_setup() {
        let fates = [Fate::Unfit, Fate::StartOver, Fate::StartOver];
        check(400, "", fates);
        check(1007, "Request contains an invalid argument.", fates);
        check(1008, "Operation is not implemented, or supported, or enabled.", fates);
        check(1008, "BidiGenerateContent session not found", fates);
        check(404, "", [Fate::GiveUp, Fate::StartOver, Fate::StartOver]);
        check(410, "", [Fate::Unfit; 3]);
    }

    #[test]
    fn a_resumption_is_not_tried_for_ever() {
        for (refused, wanted) in [(0, Fate::Retry), (2, Fate::Retry), (3, Fate::StartOver)] {
            let stage = Stage::Resuming { refused };
            assert_eq!(fate(Some(1011), "Internal error", stage), wanted, "{refused}");
        }
    }
}
