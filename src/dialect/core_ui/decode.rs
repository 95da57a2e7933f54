//! Decodes frames of clients into commands. A frame needs only `type` and `payload`.

use super::{CoreUiError, wire};
use crate::dialect::{Decoded, Fields, Refusal};
use crate::message::{
    CancelScope, Channel, Command, ConfirmId, Confirmed, RequestNo, Route, SecondYes, SessionId,
    Typed,
};
use bytes::Bytes;
use serde_json::{Map, Value};

const LONGEST_TEXT: usize = 1024 * 1024;
const LONGEST_ID: usize = 128;
/// Pictures of one input.
const MOST_ATTACHMENTS: usize = 8;

type Refused = Refusal<CoreUiError>;

pub(super) fn read(session: &SessionId, lane: Channel, frame: &str) -> Result<Decoded, Refused> {
    let mut fields = Fields::read(frame.as_bytes()).map_err(CoreUiError::from)?;
    let request = request(&mut fields)?;
    let refused = |error| Refusal { error, request: request.clone() };
    same_session(session, fields.take("sessionId")).map_err(refused)?;
    let mut payload = payload(&mut fields).map_err(refused)?;
    same_session(session, payload.take("sessionId")).map_err(refused)?;
    let kind = fields.text("type").map_err(CoreUiError::from).map_err(refused)?;
    let commands = commands(&kind, lane, &mut payload).map_err(refused)?;
    Ok(Decoded::several(request, commands))
}

/// The client's own id for a command, which is then carried out once and acknowledged.
fn request(fields: &mut Fields) -> Result<Option<RequestNo>, CoreUiError> {
    match fields.take("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() && text.len() <= LONGEST_ID => {
            Ok(Some(RequestNo::Text(text.into())))
        }
        Some(_) => {
            Err(CoreUiError::BadField { field: "id", expected: "a text of at most 128 bytes" })
        }
    }
}

/// A frame may name its session; a client that means another one is told so.
fn same_session(session: &SessionId, named: Option<Value>) -> Result<(), CoreUiError> {
    match named {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(id)) if id == session.as_str() => Ok(()),
        Some(_) => Err(CoreUiError::WrongSession),
    }
}

fn payload(fields: &mut Fields) -> Result<Fields, CoreUiError> {
    Ok(Fields::from(fields.optional_object("payload")?))
}

fn commands(kind: &str, lane: Channel, payload: &mut Fields) -> Result<Vec<Command>, CoreUiError> {
    match kind {
        wire::SUBMIT => submit(lane, payload),
        wire::CONFIRM => confirm(payload).map(|command| vec![command]),
        wire::CANCEL => Ok(vec![cancel(lane)]),
        unknown => Err(CoreUiError::UnknownType(unknown.chars().take(64).collect())),
    }
}

pub(super) fn cancel(lane: Channel) -> Command {
    Command::CancelRun { channel: lane, scope: CancelScope::Current }
}

/// The pictures first, so that they are there when the text is answered.
fn submit(lane: Channel, payload: &mut Fields) -> Result<Vec<Command>, CoreUiError> {
    let mut commands = attachments(lane, payload)?;
    commands.push(say(lane, payload.text("text")?)?);
    Ok(commands)
}

pub(super) fn say(lane: Channel, text: String) -> Result<Command, CoreUiError> {
    let expected = |expected| CoreUiError::BadField { field: "text", expected };
    if text.trim().is_empty() {
        return Err(expected("a text that is not empty"));
    }
    if text.len() > LONGEST_TEXT {
        return Err(expected("at most 1 MiB; send longer texts as files"));
    }
    let route = match lane {
        Channel::Agent(slot) => Route::Agent(slot),
        Channel::Chat | Channel::Audio | Channel::Input | Channel::File => Route::Chat,
    };
    Ok(Command::SendText { route, text: Typed::on_socket(text) })
}

fn attachments(lane: Channel, payload: &mut Fields) -> Result<Vec<Command>, CoreUiError> {
    let expected = "a list of at most 8 objects with type and data";
    let wrong = CoreUiError::BadField { field: "attachments", expected };
    match payload.take("attachments") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MOST_ATTACHMENTS => {
            list.into_iter().map(|one| attachment(lane, one, &wrong)).collect()
        }
        Some(_) => Err(wrong),
    }
}

fn attachment(lane: Channel, value: Value, wrong: &CoreUiError) -> Result<Command, CoreUiError> {
    let Value::Object(mut fields) = value else { return Err(wrong.clone()) };
    if fields.get("type").and_then(Value::as_str) != Some("image") {
        return Err(CoreUiError::BadField { field: "type", expected: "image" });
    }
    let bytes = picture(&mut fields)?;
    let name = format!("image.{}", extension(&bytes).ok_or(NO_PICTURE)?);
    Ok(Command::SendFile { channel: lane, name, bytes })
}

const NO_PICTURE: CoreUiError =
    CoreUiError::BadField { field: "data", expected: "a PNG, JPEG, GIF or WebP picture as base64" };

/// Base64, with or without the `data:` prefix that browsers put before it.
fn picture(fields: &mut Map<String, Value>) -> Result<Bytes, CoreUiError> {
    let Some(Value::String(data)) = fields.remove("data") else { return Err(NO_PICTURE) };
    let base64 = match data.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,").ok_or(NO_PICTURE)?.1,
        None => &data,
    };
    let bytes = base64_simd::forgiving_decode_to_vec(base64.as_bytes()).map_err(|_| NO_PICTURE)?;
    Ok(bytes.into())
}

/// By the first bytes, because the frame does not say what the picture is.
fn extension(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpg"),
        [b'G', b'I', b'F', b'8', ..] => Some("gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => None,
    }
}

fn confirm(payload: &mut Fields) -> Result<Command, CoreUiError> {
    let id = payload.text("confirmationId")?;
    answer(&id, None, payload)
}

/// Only `true` approves; a missing or unclear answer is an error.
pub(super) fn answer(
    id: &str,
    call: Option<String>,
    payload: &mut Fields,
) -> Result<Command, CoreUiError> {
    let confirmed = match payload.take("approved") {
        Some(Value::Bool(true)) => Confirmed::Approved,
        Some(Value::Bool(false)) => Confirmed::Refused,
        Some(_) | None => {
            return Err(CoreUiError::BadField { field: "approved", expected: "true or false" });
        }
    };
    let (id, second) = (ConfirmId::new(id), SecondYes::ByRepeating);
    Ok(Command::Confirm { id, confirmed, always: false, call, second })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::FrameError;
    use crate::message::{AgentSlot, Inbound};

    fn session() -> SessionId {
        SessionId::from_random(7)
    }

    fn decoded(lane: Channel, frame: &str) -> Vec<Command> {
        let decoded = read(&session(), lane, frame).unwrap();
        decoded.into_commands().into_iter().map(|inbound| inbound.command).collect()
    }

    #[track_caller]
    fn refused(frame: &str, code: &str) {
        let error = read(&session(), Channel::Chat, frame).unwrap_err().error;
        assert_eq!(error.code(), code, "{frame}");
    }

    #[test]
    fn a_text_goes_to_the_lane_of_the_connection() {
        let two = AgentSlot::new(2).unwrap();
        let frame = r#"{"type":"submitUserInput","payload":{"text":"hi"}}"#;
        for (lane, route) in
            [(Channel::Chat, Route::Chat), (Channel::Agent(two), Route::Agent(two))]
        {
            let text = Typed::on_socket("hi".to_owned());
            assert_eq!(decoded(lane, frame), [Command::SendText { route, text }]);
        }
    }

    #[test]
    fn pictures_are_sent_before_the_text() {
        for data in ["iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgo="] {
            let frame = format!(
                r#"{{"type":"submitUserInput","payload":{{"text":"what is it","attachments":[{{"type":"image","data":"{data}"}}]}}}}"#
            );
            let commands = decoded(Channel::Chat, &frame);
            let [Command::SendFile { name, bytes, .. }, Command::SendText { .. }] = &commands[..]
            else {
                panic!("{commands:?}")
            };
            assert_eq!((name.as_str(), bytes.len()), ("image.png", 8));
        }
    }

    #[test]
    fn answers_are_true_or_false() {
        let answer = |approved: &str| {
            let payload = format!(r#"{{"confirmationId":"c1","approved":{approved}}}"#);
            format!(r#"{{"type":"provideConfirmation","payload":{payload}}}"#)
        };
        let confirmed = |confirmed| Command::Confirm {
            id: ConfirmId::new("c1"),
            confirmed,
            always: false,
            call: None,
            second: SecondYes::ByRepeating,
        };
        assert_eq!(decoded(Channel::Chat, &answer("true")), [confirmed(Confirmed::Approved)]);
        assert_eq!(decoded(Channel::Chat, &answer("false")), [confirmed(Confirmed::Refused)]);
        for unclear in ["null", "\"true\"", "1"] {
            refused(&answer(unclear), "bad_field");
        }
    }

    #[test]
    fn bad_frames_are_named() {
        refused("{", "invalid_json");
        refused("[]", "invalid_message");
        refused("null", "invalid_message");
        refused("{}", "bad_field");
        refused(r#"{"type":"shout","payload":{}}"#, "unknown_type");
        refused(r#"{"type":"submitUserInput"}"#, "bad_field");
        refused(r#"{"type":"submitUserInput","payload":{"text":" "}}"#, "bad_field");
        refused(r#"{"type":"submitUserInput","payload":[]}"#, "bad_field");
        refused(r#"{"type":"cancel","sessionId":"other"}"#, "wrong_session");
        refused(r#"{"type":"cancel","payload":{"sessionId":"other"}}"#, "wrong_session");
        refused(r#"{"type":"cancel","id":5}"#, "bad_field");
        let picture = |one: &str| {
            format!(r#"{{"type":"submitUserInput","payload":{{"text":"a","attachments":{one}}}}}"#)
        };
        for one in ["5", "[5]", r#"[{"type":"sound","data":"aGk="}]"#, r#"[{"type":"image"}]"#] {
            refused(&picture(one), "bad_field");
        }
        refused(&picture(r#"[{"type":"image","data":"aGVsbG8="}]"#), "bad_field");
    }

    #[test]
    fn a_command_keeps_the_id_of_its_frame() {
        let frame = r#"{"type":"cancel","id":"a1"}"#;
        let commands = read(&session(), Channel::Chat, frame).unwrap().into_commands();
        let [Inbound { request, .. }] = &commands[..] else { panic!("{commands:?}") };
        assert_eq!(request, &Some(RequestNo::Text("a1".into())));
    }
}
