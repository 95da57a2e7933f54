//! Decodes frames of the `agent_event` form.

use super::super::decode::{answer, cancel, say};
use super::CoreUiError;
use crate::dialect::{Decoded, Fields};
use crate::message::{Channel, Command, Inbound};
use serde_json::Value;

/// `{"type": ..., "payload": {...}, "sessionId"?: text}`.
pub(super) fn read(lane: Channel, frame: &str) -> Result<Decoded, CoreUiError> {
    let mut fields = Fields::read(frame.as_bytes())?;
    let Some(Value::String(kind)) = fields.take("type") else {
        return Err(CoreUiError::NotAMessage);
    };
    // The page sends the id of its last session along. A connection belongs to one session, so it is only checked.
    if !matches!(fields.take("sessionId"), None | Some(Value::String(_))) || kind.is_empty() {
        return Err(CoreUiError::NotAMessage);
    }
    let mut payload = match fields.take("payload") {
        Some(Value::Object(payload)) => Fields::from(payload),
        None | Some(Value::Null) => Fields::default(),
        Some(_) => return Err(CoreUiError::NotAMessage),
    };
    match kind.as_str() {
        "user_input" => one(say(lane, payload.text("text")?)?),
        "confirmation_response" => {
            let (nonce, call) = (payload.text("nonce")?, payload.text("toolCallId")?);
            one(answer(&nonce, Some(call), &mut payload)?)
        }
        "cancel" => one(cancel(lane)),
        "ping" => Ok(Decoded::Ping),
        // The page sends it after a reconnect. Its session comes with the address, so there is nothing to do.
        "session_resume" => Ok(Decoded::Several(Vec::new())),
        unknown => Err(CoreUiError::UnknownType(unknown.chars().take(64).collect())),
    }
}

fn one(command: Command) -> Result<Decoded, CoreUiError> {
    Ok(Decoded::One(Inbound { request: None, command }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::FrameError;
    use crate::message::{ConfirmId, Confirmed, SecondYes};

    #[test]
    fn frames_that_are_no_message_are_refused_as_the_page_knows_it() {
        for frame in [
            "null",
            "[]",
            "\"\"",
            r#"{"type":""}"#,
            r#"{"type":1}"#,
            r#"{"type":"x","sessionId":5}"#,
            r#"{"payload":{}}"#,
        ] {
            let error = read(Channel::Chat, frame).unwrap_err();
            assert_eq!(error.code(), "invalid_message", "{frame}");
        }
        assert_eq!(read(Channel::Chat, "{").unwrap_err().code(), "invalid_json");
    }

    #[test]
    fn an_answer_names_the_call_and_the_nonce() {
        let frame = r#"{"type":"confirmation_response","payload":{"toolCallId":"chat-1","nonce":"ab","approved":true}}"#;
        let command = Command::Confirm {
            id: ConfirmId::new("ab"),
            confirmed: Confirmed::Approved,
            always: false,
            call: Some("chat-1".to_owned()),
            second: SecondYes::ByRepeating,
        };
        let inbound = Inbound { request: None, command };
        assert_eq!(read(Channel::Chat, frame), Ok(Decoded::One(inbound)));
        let lacking =
            r#"{"type":"confirmation_response","payload":{"nonce":"ab","approved":true}}"#;
        assert!(read(Channel::Chat, lacking).is_err());
    }

    #[test]
    fn pings_and_resumes_need_no_session() {
        assert_eq!(read(Channel::Chat, r#"{"type":"ping"}"#), Ok(Decoded::Ping));
        let resume = r#"{"type":"session_resume","sessionId":"old"}"#;
        assert_eq!(read(Channel::Chat, resume), Ok(Decoded::Several(Vec::new())));
    }
}
