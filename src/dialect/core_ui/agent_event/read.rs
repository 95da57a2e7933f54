//! Decodes frames of the `agent_event` form.

use super::super::decode::{answer, cancel, say};
use super::AgentEventDialect;
use super::CoreUiError;
use crate::dialect::{Decoded, Elsewhere, Fields};
use crate::message::{Command, Inbound};
use serde_json::Value;

/// `{"type": ..., "payload": {...}, "sessionId"?: text}`. The page keeps the id of its last session, and any frame that
/// names it leads the connection there.
pub(super) fn read(dialect: &AgentEventDialect, frame: &str) -> Result<Decoded, CoreUiError> {
    let mut fields = Fields::read(frame.as_bytes())?;
    let Some(Value::String(kind)) = fields.take("type") else {
        return Err(CoreUiError::NotAMessage);
    };
    // A page that does not know its session yet sends null.
    let session = match fields.take("sessionId") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id).filter(|id| !id.is_empty() && !dialect.is_here(id)),
        Some(_) => return Err(CoreUiError::NotAMessage),
    };
    if kind.is_empty() {
        return Err(CoreUiError::NotAMessage);
    }
    let mut payload = match fields.take("payload") {
        Some(Value::Object(payload)) => Fields::from(payload),
        None | Some(Value::Null) => Fields::default(),
        Some(_) => return Err(CoreUiError::NotAMessage),
    };
    let command = match kind.as_str() {
        "user_input" => Some(say(dialect.lane, payload.text("text")?)?),
        "confirmation_response" => {
            let (nonce, call) = (payload.text("nonce")?, payload.text("toolCallId")?);
            Some(answer(&nonce, Some(call), &mut payload)?)
        }
        "cancel" => Some(cancel(dialect.lane)),
        "session_resume" => None,
        "ping" => return Ok(Decoded::Ping),
        unknown => return Err(CoreUiError::UnknownType(unknown.chars().take(64).collect())),
    };
    Ok(decoded(session, command))
}

fn decoded(session: Option<String>, command: Option<Command>) -> Decoded {
    let command = command.map(|command| Inbound { request: None, command });
    match (session, command) {
        (Some(session), command) => {
            Decoded::Elsewhere(Elsewhere { session, commands: command.into_iter().collect() })
        }
        (None, Some(command)) => Decoded::One(command),
        (None, None) => Decoded::Several(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::FrameError;
    use crate::locale::Locale;
    use crate::message::{Channel, ConfirmId, Confirmed, SecondYes, SessionId};

    fn read(frame: &str) -> Result<Decoded, CoreUiError> {
        let dialect = AgentEventDialect {
            session: SessionId::from_random(1),
            former: Some(SessionId::from_random(2)),
            locale: Locale::En,
            lane: Channel::Chat,
            client: "ws-1".to_owned(),
        };
        super::read(&dialect, frame)
    }

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
            let error = read(frame).unwrap_err();
            assert_eq!(error.code(), "invalid_message", "{frame}");
        }
        assert_eq!(read("{").unwrap_err().code(), "invalid_json");
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
        assert_eq!(read(frame), Ok(Decoded::One(inbound)));
        let lacking =
            r#"{"type":"confirmation_response","payload":{"nonce":"ab","approved":true}}"#;
        assert!(read(lacking).is_err());
    }

    #[test]
    fn a_frame_leads_to_the_session_that_it_names() {
        let (here, former) = (SessionId::from_random(1), SessionId::from_random(2));
        for own in ["null", "\"\"", &format!("\"{here}\""), &format!("\"{former}\"")] {
            let resume = format!(r#"{{"type":"session_resume","sessionId":{own}}}"#);
            assert_eq!(read(&resume), Ok(Decoded::Several(Vec::new())), "{own}");
        }
        let commands = |kind: &str| {
            let frame =
                format!(r#"{{"type":"{kind}","sessionId":"old","payload":{{"text":"a"}}}}"#);
            let Ok(Decoded::Elsewhere(Elsewhere { session, commands })) = read(&frame) else {
                panic!("{kind}")
            };
            assert_eq!(session, "old");
            commands.len()
        };
        assert_eq!(["session_resume", "user_input", "cancel"].map(commands), [0, 1, 1]);
        // A sign of life is given wherever the client is.
        assert_eq!(read(r#"{"type":"ping","sessionId":"old"}"#), Ok(Decoded::Ping));
    }
}
