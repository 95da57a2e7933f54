//! The names of the document and the shape of its frames.

use crate::dialect::aicore::phrase;
use crate::locale::Locale;
use crate::message::{Problem, SessionId};
use serde_json::{Map, Value, json};

/// Name of the second form, as a query parameter and as a WebSocket subprotocol.
pub const FORM_NAME: &str = "agent_event";

pub(super) const SUBMIT: &str = "submitUserInput";
pub(super) const CONFIRM: &str = "provideConfirmation";
pub(super) const CANCEL: &str = "cancel";

pub(super) const CONNECTED: &str = "connected";
pub(super) const STATE: &str = "onAgentStateChange";
pub(super) const MESSAGE: &str = "onNewMessage";
pub(super) const TOOL_REQUEST: &str = "onToolCallRequest";
pub(super) const DELTA: &str = "onMessageDelta";
pub(super) const USER_INPUT: &str = "onUserInput";
pub(super) const TOOL: &str = "onToolCall";
pub(super) const RESOLVED: &str = "onToolCallResolved";
pub(super) const NOTICE: &str = "onNotice";
pub(super) const WORK: &str = "onWork";
pub(super) const ACK: &str = "ack";
pub(super) const SYSTEM: &str = "system";
pub(super) const ERROR: &str = "error";

/// The types of frames that clients send.
pub fn client_types() -> [&'static str; 3] {
    [SUBMIT, CONFIRM, CANCEL]
}

/// A frame of a session. Its payload names the session, too, as the document's snippets do.
pub(super) fn frame(
    kind: &str,
    session: &SessionId,
    seq: u64,
    timestamp: i64,
    payload: Value,
) -> Value {
    let mut payload = if let Value::Object(payload) = payload { payload } else { Map::new() };
    payload.insert("sessionId".to_owned(), session.as_str().into());
    json!({
        "type": kind, "sessionId": session.as_str(), "seq": seq, "timestamp": timestamp, "payload": payload,
    })
}

/// The document's words for codes that have another name inside.
pub(super) fn error_code(code: &str) -> String {
    match code {
        "nothing_to_confirm" => "UNKNOWN_CONFIRMATION".to_owned(),
        "confirm_twice" => "CONFIRM_AGAIN".to_owned(),
        other => other.to_ascii_uppercase(),
    }
}

pub(super) fn problem_code(problem: &Problem) -> String {
    error_code(problem.code())
}

/// The error for a client that is not let in, or whose command came over HTTP.
pub fn refusal(code: &str, text: &str) -> Value {
    json!({"type": ERROR, "payload": {"code": error_code(code), "message": text}})
}

/// Why a command was not carried out, for people.
pub fn explain(problem: &Problem, locale: Locale) -> String {
    phrase::problem(locale, problem)
}
