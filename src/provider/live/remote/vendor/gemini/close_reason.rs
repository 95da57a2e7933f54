//! What to do after a close, by its code and by the vendor's text.

use super::wire::Refusal;
use crate::provider::live::remote::protocol::Recovery;

/// How far the connection had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The setup of a new conversation was sent.
    Opening,
    /// The setup with a handle was sent, after `refused` attempts that failed.
    Resuming { refused: u32 },
    /// It was ready.
    Open,
}

/// A resumption is refused while the vendor still holds the old connection. After this many the session counts as lost.
const MOST_RESUMPTIONS: u32 = 3;

/// Texts of failures that somebody has to solve, whatever the code.
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
/// Texts of limits that end within a minute, although they also mention plans and billing.
const PASSING: [&str; 4] = ["per minute", "per_minute", "perminute", "retry in"];
/// Texts of limits that last.
const LASTING: [&str; 3] = ["per day", "per_day", "perday"];
/// Texts about a refused handle.
const STALE_HANDLE: [&str; 3] = ["session not found", "session handle", "resumption"];

/// `code` is that of the WebSocket, or the status of a refused handshake.
pub(super) fn recovery(code: Option<u16>, reason: &str, stage: Stage) -> Recovery {
    let said = reason.to_lowercase();
    let status = refused(reason).or_else(|| code.filter(|code| *code < 600));
    if STALE_HANDLE.iter().any(|word| said.contains(word)) && stage != Stage::Opening {
        return Recovery::StartOver;
    }
    if is_hopeless(reason) {
        return Recovery::GiveUp;
    }
    match status {
        Some(status) => by_status(status, stage),
        None => by_code(code, stage),
    }
}

/// Whether the text says that somebody has to do something.
pub(super) fn is_hopeless(reason: &str) -> bool {
    let said = reason.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    says(&LASTING) || (says(&HOPELESS) && !says(&PASSING))
}

fn by_status(status: u16, stage: Stage) -> Recovery {
    match (status, stage) {
        // Rate limits; the backoff grows with every retry.
        (408 | 425 | 429, _) => Recovery::Retry,
        // An invalid argument: something that we sent, or the handle.
        (400 | 404, Stage::Open | Stage::Resuming { .. }) => Recovery::StartOver,
        (401..=404, _) => Recovery::GiveUp,
        (400..=499, _) => Recovery::Unfit,
        _ => Recovery::Retry,
    }
}

fn by_code(code: Option<u16>, stage: Stage) -> Recovery {
    match (code, stage) {
        // The setup is refused and will be again, but part of it is chosen by the session.
        (Some(1002 | 1003 | 1007 | 1008), Stage::Opening) => Recovery::Unfit,
        (Some(1002 | 1003 | 1007 | 1008), Stage::Resuming { .. } | Stage::Open) => {
            Recovery::StartOver
        }
        (_, Stage::Resuming { refused }) if refused >= MOST_RESUMPTIONS => Recovery::StartOver,
        _ => Recovery::Retry,
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
    fn check(code: impl Into<Option<u16>>, reason: &str, recoveries: [Recovery; 3]) {
        let code = code.into();
        let found =
            [Stage::Opening, RESUMING, Stage::Open].map(|stage| recovery(code, reason, stage));
        assert_eq!(found, recoveries, "{code:?} {reason}");
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
            check(code, reason, [Recovery::GiveUp; 3]);
        }
        let body = r#"{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}"#;
        check(None, body, [Recovery::GiveUp; 3]);
        check(
            400,
            r#"[{"error":{"code":400,"message":"API key not valid"}}]"#,
            [Recovery::GiveUp; 3],
        );
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
            check(code, reason, [Recovery::Retry; 3]);
        }
    }

    #[test]
    fn a_refused_argument_means_the_handle_or_the_setup() {
        let recoveries = [Recovery::Unfit, Recovery::StartOver, Recovery::StartOver];
        check(400, "", recoveries);
        check(1007, "Request contains an invalid argument.", recoveries);
        check(1008, "Operation is not implemented, or supported, or enabled.", recoveries);
        check(1008, "BidiGenerateContent session not found", recoveries);
        check(404, "", [Recovery::GiveUp, Recovery::StartOver, Recovery::StartOver]);
        check(410, "", [Recovery::Unfit; 3]);
    }

    #[test]
    fn a_resumption_is_not_tried_for_ever() {
        for (refused, wanted) in
            [(0, Recovery::Retry), (2, Recovery::Retry), (3, Recovery::StartOver)]
        {
            let stage = Stage::Resuming { refused };
            assert_eq!(recovery(Some(1011), "Internal error", stage), wanted, "{refused}");
        }
    }
}
