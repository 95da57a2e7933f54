//! Decodes what clients of the agent UI send: a message, which has no type, and two additions that have one.

use super::SmolError;
use crate::dialect::Fields;
use crate::message::{
    CancelScope, Channel, Command, ConfirmId, Confirmed, Inbound, Route, SecondYes, Typed,
};
use serde_json::Value;

pub(super) const CANCEL: &str = "cancel";
pub(super) const CONFIRM: &str = "confirm";

const LONGEST_MESSAGE: usize = 256 * 1024;
const LONGEST_TYPE: usize = 64;

pub(super) fn read(frame: &str) -> Result<Inbound, SmolError> {
    let mut fields = Fields::read(frame.as_bytes())?;
    let command = match (fields.take("message"), fields.optional_text("type")?) {
        (Some(text), _) => message(text)?,
        (None, Some(kind)) if kind == CANCEL => {
            Command::CancelRun { channel: Channel::Chat, scope: CancelScope::Current }
        }
        (None, Some(kind)) if kind == CONFIRM => confirm(&mut fields)?,
        (None, Some(unknown)) => {
            return Err(SmolError::UnknownType(unknown.chars().take(LONGEST_TYPE).collect()));
        }
        (None, None) => return Err(fields.text("message").map_or_else(SmolError::from, unneeded)),
    };
    Ok(Inbound { request: None, command })
}

/// The field was taken before, so it cannot be there.
fn unneeded(_: String) -> SmolError {
    SmolError::Unreadable
}

fn message(text: Value) -> Result<Command, SmolError> {
    let expected = |expected| SmolError::BadField { field: "message", expected };
    match text {
        Value::String(text) if text.trim().is_empty() => Err(expected("a text that is not empty")),
        Value::String(text) if text.len() > LONGEST_MESSAGE => {
            Err(expected("at most 256 KiB; upload data as files"))
        }
        Value::String(text) => {
            Ok(Command::SendText { route: Route::Chat, text: Typed::on_socket(text) })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(expected("a text"))
        }
    }
}

/// Only `true` approves.
fn confirm(fields: &mut Fields) -> Result<Command, SmolError> {
    let id = ConfirmId::new(&fields.text("id")?);
    let confirmed = match fields.take("allow") {
        Some(Value::Bool(true)) => Confirmed::Approved,
        Some(Value::Bool(false)) => Confirmed::Refused,
        Some(_) | None => {
            return Err(SmolError::BadField { field: "allow", expected: "true or false" });
        }
    };
    let second = SecondYes::ByRepeating;
    Ok(Command::Confirm { id, confirmed, always: false, call: None, second })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::FrameError;

    #[test]
    fn a_message_goes_to_the_chat_verbatim() {
        let inbound = read(r#"{"message":" how many? ","more":[1]}"#).unwrap();
        let text = Typed::on_socket(" how many? ".to_owned());
        assert_eq!(inbound.command, Command::SendText { route: Route::Chat, text });
    }

    #[test]
    fn bad_frames_are_named() {
        let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(LONGEST_MESSAGE + 1));
        for (frame, code) in [
            ("hello", "malformed"),
            ("{", "malformed"),
            ("[]", "not_an_object"),
            ("null", "not_an_object"),
            ("\"a\"", "not_an_object"),
            ("{}", "bad_field"),
            (r#"{"message":5}"#, "bad_field"),
            (r#"{"message":null}"#, "bad_field"),
            (r#"{"message":["a"]}"#, "bad_field"),
            (r#"{"message":" "}"#, "bad_field"),
            (r#"{"type":5}"#, "bad_field"),
            (r#"{"type":"shout"}"#, "unknown_type"),
            (r#"{"type":"confirm"}"#, "bad_field"),
            (r#"{"type":"confirm","id":"q","allow":"true"}"#, "bad_field"),
            (&long, "bad_field"),
        ] {
            assert_eq!(read(frame).unwrap_err().code(), code, "{frame:.80}");
        }
    }
}
