//! Decodes what clients of the analyst send.

use super::AnalystError;
use crate::dialect::{Fields, Refusal};
use crate::message::{
    CancelScope, Channel, Command, ConfirmId, Confirmed, Inbound, RequestNo, Route, SecondYes,
    Typed,
};
use serde_json::Value;

pub(super) const ASK: &str = "ask";
pub(super) const CANCEL: &str = "cancel";
pub(super) const ANSWER: &str = "answer";
pub(super) const CHOOSE: &str = "choose";

const LONGEST_TEXT: usize = 256 * 1024;
const LONGEST_ID: usize = 128;
const LONGEST_NAME: usize = 512;

pub(super) fn read(frame: &str) -> Result<Inbound, Refusal<AnalystError>> {
    let mut fields = Fields::read(frame.as_bytes()).map_err(AnalystError::from)?;
    let kind = fields.text("type").map_err(AnalystError::from)?;
    // The id of an answer is that of its question.
    let request = if kind == ANSWER { None } else { request(&mut fields)? };
    match command(&kind, &mut fields) {
        Ok(command) => Ok(Inbound { request, command }),
        Err(error) => Err(Refusal { error, request }),
    }
}

fn request(fields: &mut Fields) -> Result<Option<RequestNo>, AnalystError> {
    match fields.take("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() && text.len() <= LONGEST_ID => {
            Ok(Some(RequestNo::Text(text.into())))
        }
        Some(_) => {
            Err(AnalystError::BadField { field: "id", expected: "a text of at most 128 bytes" })
        }
    }
}

fn command(kind: &str, fields: &mut Fields) -> Result<Command, AnalystError> {
    match kind {
        ASK => ask(fields.text("text")?),
        CANCEL => Ok(Command::CancelRun { channel: Channel::Chat, scope: CancelScope::Current }),
        ANSWER => answer(fields),
        CHOOSE => choose(fields.text("name")?),
        unknown => Err(AnalystError::UnknownType(unknown.chars().take(64).collect())),
    }
}

fn ask(text: String) -> Result<Command, AnalystError> {
    let expected = |expected| AnalystError::BadField { field: "text", expected };
    if text.trim().is_empty() {
        return Err(expected("a text that is not empty"));
    }
    if text.len() > LONGEST_TEXT {
        return Err(expected("at most 256 KiB; upload data as files"));
    }
    Ok(Command::SendText { route: Route::Chat, text: Typed::on_socket(text) })
}

fn choose(name: String) -> Result<Command, AnalystError> {
    if name.trim().is_empty() || name.len() > LONGEST_NAME {
        let expected = "the name of a table of this session";
        return Err(AnalystError::BadField { field: "name", expected });
    }
    Ok(Command::ChooseDataset { name })
}

/// Only `true` approves.
fn answer(fields: &mut Fields) -> Result<Command, AnalystError> {
    let id = ConfirmId::new(&fields.text("id")?);
    let confirmed = match fields.take("approved") {
        Some(Value::Bool(true)) => Confirmed::Approved,
        Some(Value::Bool(false)) => Confirmed::Refused,
        Some(_) | None => {
            return Err(AnalystError::BadField { field: "approved", expected: "true or false" });
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
    fn a_question_goes_to_the_chat_and_keeps_its_id() {
        let inbound = read(r#"{"type":"ask","text":"how many rows?","id":"a1"}"#).unwrap();
        assert_eq!(inbound.request, Some(RequestNo::Text("a1".into())));
        let text = Typed::on_socket("how many rows?".to_owned());
        assert_eq!(inbound.command, Command::SendText { route: Route::Chat, text });
    }

    #[test]
    fn bad_frames_are_named() {
        let long = format!(r#"{{"type":"ask","text":"{}"}}"#, "x".repeat(LONGEST_TEXT + 1));
        for (frame, code) in [
            ("{", "malformed"),
            ("[]", "not_an_object"),
            ("null", "not_an_object"),
            ("{}", "bad_field"),
            (r#"{"type":5}"#, "bad_field"),
            (r#"{"type":"shout"}"#, "unknown_type"),
            (r#"{"type":"ask"}"#, "bad_field"),
            (r#"{"type":"ask","text":" "}"#, "bad_field"),
            (r#"{"type":"ask","text":["a"]}"#, "bad_field"),
            (r#"{"type":"ask","text":"a","id":5}"#, "bad_field"),
            (r#"{"type":"choose"}"#, "bad_field"),
            (r#"{"type":"choose","name":" "}"#, "bad_field"),
            (r#"{"type":"answer","id":"q","approved":"true"}"#, "bad_field"),
            (r#"{"type":"answer","approved":true}"#, "bad_field"),
            (&long, "bad_field"),
        ] {
            assert_eq!(read(frame).unwrap_err().error.code(), code, "{frame:.80}");
        }
    }
}
