//! Decodes frames of clients into commands. Each frame has a `type`. `request` is the client's own id for a command,
//! which is then carried out once and acknowledged.

use super::kind::Kind;
use super::{ApiError, name, settings};
use crate::dialect::{Fields, Refusal};
use crate::message::{
    AgentSet, AgentSlot, Branch, CancelScope, Channel, CheckWish, Choice, Command, ConfirmId,
    Confirmed, Generation, Inbound, KnownList, ListKind, ListScope, PlaybackAck, Recorded,
    RequestNo, RestorePoint, Route, RunId, SampleRate, SecondYes, TalkKey, Typed, WatchTarget,
    WatchWish, WorkVersion,
};
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;

const LONGEST_TEXT: usize = 1024 * 1024;
const LONGEST_REQUEST: usize = 128;
/// No client buffers more. A larger number is a mistake, but the report is still useful, so it is clamped.
const LONGEST_BUFFER_MS: u64 = 600_000;
const RECEIVER: &str = "chat, live, or agent1 to agent4";
const AGENT: &str = "agent1 to agent4";

pub(super) fn read(frame: &str) -> Result<Inbound, Refusal<ApiError>> {
    let mut fields = Fields::read(frame.as_bytes()).map_err(ApiError::from)?;
    let request = request(&mut fields)?;
    match command(&mut fields) {
        Ok(command) => Ok(Inbound { request, command }),
        Err(error) => Err(Refusal { error, request }),
    }
}

/// Microphone audio from a binary frame.
pub(super) fn read_sound(rate: Option<u32>, pcm: &Bytes) -> Result<Inbound, Refusal<ApiError>> {
    let rate = rate.ok_or(ApiError::NoAudio)?;
    if pcm.is_empty() || !pcm.len().is_multiple_of(2) {
        return Err(ApiError::BadAudio.into());
    }
    let sound = Recorded { rate: SampleRate::Hz(rate), pcm: pcm.clone() };
    Ok(Inbound { request: None, command: Command::SendAudio(sound) })
}

fn command(fields: &mut Fields) -> Result<Command, ApiError> {
    let name = fields.text("type")?;
    let kind = Kind::parse(&name);
    let kind = kind.ok_or_else(|| ApiError::UnknownType(name.chars().take(64).collect()))?;
    match kind {
        Kind::Send => send(fields),
        Kind::Cancel => cancel(fields),
        Kind::Answer => answer(fields),
        Kind::Upload => upload(fields),
        Kind::Files => files(fields),
        Kind::Watch => watch(fields, WatchWish::Start),
        Kind::Unwatch => watch(fields, WatchWish::Stop),
        Kind::Compare => compare(fields),
        Kind::Diff => {
            Ok(Command::ShowDiff { agent: agent(fields)?, path: fields.optional_text("path")? })
        }
        Kind::Accept => accept(fields),
        Kind::Discard => Ok(Command::Choose { agent: agent(fields)?, choice: Choice::Discard }),
        Kind::Restore => restore(fields),
        Kind::Snapshots => Ok(Command::ListBackups { agent: optional_agent(fields)? }),
        Kind::Settings => Ok(Command::ShowSettings),
        Kind::Set => settings::read(fields),
        Kind::StopPlayback => Ok(Command::StopPlayback),
        Kind::Played => played(fields),
        Kind::TalkKey => talk_key(fields),
    }
}

fn request(fields: &mut Fields) -> Result<Option<RequestNo>, ApiError> {
    let expected =
        ApiError::BadField { field: "request", expected: "a whole number or a short text" };
    match fields.take("request") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            number.as_u64().map(RequestNo::Number).map(Some).ok_or(expected)
        }
        Some(Value::String(text)) if !text.is_empty() && text.len() <= LONGEST_REQUEST => {
            Ok(Some(RequestNo::Text(text.into())))
        }
        Some(_) => Err(expected),
    }
}

fn send(fields: &mut Fields) -> Result<Command, ApiError> {
    let route = match fields.take("to") {
        Some(Value::String(to)) => receiver(&to)?,
        Some(Value::Array(agents)) => Route::AgentsFromChat(several(&agents)?),
        Some(_) | None => return Err(ApiError::BadField { field: "to", expected: RECEIVER }),
    };
    Ok(Command::SendText { route, text: Typed::on_socket(text(fields)?) })
}

fn text(fields: &mut Fields) -> Result<String, ApiError> {
    let text = fields.text("text")?;
    let expected = |expected| ApiError::BadField { field: "text", expected };
    if text.trim().is_empty() {
        return Err(expected("a text that is not empty"));
    }
    if text.len() > LONGEST_TEXT {
        return Err(expected("at most 1 MiB; send longer texts as files"));
    }
    Ok(text)
}

fn receiver(to: &str) -> Result<Route, ApiError> {
    match to {
        "chat" => Ok(Route::Chat),
        "live" => Ok(Route::Live { echo: Some(Channel::Chat) }),
        _ => {
            let slot = name::read_agent(to);
            slot.map(Route::Agent).ok_or(ApiError::BadField { field: "to", expected: RECEIVER })
        }
    }
}

fn several(agents: &[Value]) -> Result<AgentSet, ApiError> {
    let slot = |value: &Value| value.as_str().and_then(name::read_agent);
    let set: Option<AgentSet> = agents.iter().map(slot).collect();
    let expected = ApiError::BadField { field: "to", expected: AGENT };
    set.filter(|_| !agents.is_empty()).ok_or(expected)
}

fn cancel(fields: &mut Fields) -> Result<Command, ApiError> {
    let channel = match fields.text("to")?.as_str() {
        "chat" => Channel::Chat,
        to => {
            let expected =
                ApiError::BadField { field: "to", expected: "chat, or agent1 to agent4" };
            Channel::Agent(name::read_agent(to).ok_or(expected)?)
        }
    };
    let scope = match fields.take("run") {
        None | Some(Value::Null) => CancelScope::Current,
        Some(Value::String(all)) if all == "all" => CancelScope::All,
        Some(value) => {
            let expected =
                ApiError::BadField { field: "run", expected: "the number of a run, or all" };
            CancelScope::One(RunId(value.as_u64().ok_or(expected)?))
        }
    };
    Ok(Command::CancelRun { channel, scope })
}

fn answer(fields: &mut Fields) -> Result<Command, ApiError> {
    let id = ConfirmId::new(&fields.text("id")?);
    let expected = ApiError::BadField { field: "approved", expected: "true or false" };
    let approved = flag(fields, "approved")?.ok_or(expected)?;
    let always = flag(fields, "always")?.unwrap_or(false);
    let confirmed = if approved { Confirmed::Approved } else { Confirmed::Refused };
    let twice = flag(fields, "twice")?.unwrap_or(false);
    let second = if twice { SecondYes::Given } else { SecondYes::Missing };
    Ok(Command::Confirm { id, confirmed, always, call: None, second })
}

fn upload(fields: &mut Fields) -> Result<Command, ApiError> {
    let channel = match fields.optional_text("to")?.as_deref() {
        None | Some("chat") => Channel::Chat,
        Some(to) => {
            let expected =
                ApiError::BadField { field: "to", expected: "chat, or agent1 to agent4" };
            Channel::Agent(name::read_agent(to).ok_or(expected)?)
        }
    };
    let name = fields.text("name")?;
    let data = fields.text("data")?;
    let expected = ApiError::BadField { field: "data", expected: "base64" };
    let bytes = base64_simd::forgiving_decode_to_vec(data.as_bytes()).map_err(|_| expected)?;
    Ok(Command::SendFile { channel, name, bytes: bytes.into() })
}

fn files(fields: &mut Fields) -> Result<Command, ApiError> {
    let kind =
        list(fields)?.ok_or(ApiError::BadField { field: "list", expected: "project or recent" })?;
    let scope = if flag(fields, "all")? == Some(true) { ListScope::All } else { ListScope::Usual };
    let mut known = known(fields)?;
    let newest = known.optional_text("newest")?.filter(|newest| !newest.is_empty());
    let count = known.optional_number("count")?;
    let known = count
        .map(|count| KnownList { newest, count: usize::try_from(count).unwrap_or(usize::MAX) });
    Ok(Command::ListFiles { kind, scope, answer_on: Channel::File, known })
}

/// `null` counts as absent, and an absent key as an empty object.
fn known(fields: &mut Fields) -> Result<Fields, ApiError> {
    match fields.take("known") {
        None | Some(Value::Null) => Ok(Fields::default()),
        Some(Value::Object(known)) => Ok(Fields::from(known)),
        Some(_) => {
            Err(ApiError::BadField { field: "known", expected: "an object with newest and count" })
        }
    }
}

fn watch(fields: &mut Fields, wish: WatchWish) -> Result<Command, ApiError> {
    let target = list(fields)?.map_or(WatchTarget::Every, WatchTarget::One);
    Ok(Command::WatchFiles { target, wish })
}

fn list(fields: &mut Fields) -> Result<Option<ListKind>, ApiError> {
    let Some(text) = fields.optional_text("list")? else { return Ok(None) };
    let expected = ApiError::BadField { field: "list", expected: "project or recent" };
    name::read_list(&text).map(Some).ok_or(expected)
}

fn compare(fields: &mut Fields) -> Result<Command, ApiError> {
    let agents = match texts(fields, "agents")? {
        None => AgentSet::ALL,
        Some(names) => {
            let set: Option<AgentSet> = names.iter().map(|name| name::read_agent(name)).collect();
            set.ok_or(ApiError::BadField { field: "agents", expected: AGENT })?
        }
    };
    let check =
        if flag(fields, "check")? == Some(false) { CheckWish::Skip } else { CheckWish::Run };
    Ok(Command::Compare { agents, check })
}

fn accept(fields: &mut Fields) -> Result<Command, ApiError> {
    let message = fields.optional_text("comment")?;
    let branch = fields.optional_text("branch")?.filter(|name| !name.is_empty());
    let branch = branch.map(|name| Branch { name, message });
    let version = fields.optional_text("version")?.map(WorkVersion::new);
    Ok(Command::Choose { agent: agent(fields)?, choice: Choice::Accept { branch, version } })
}

fn restore(fields: &mut Fields) -> Result<Command, ApiError> {
    let point = match (fields.optional_number("run")?, fields.optional_text("snapshot")?) {
        (Some(run), None) => RestorePoint::Before(RunId(run)),
        (None, Some(name)) => RestorePoint::Named(name),
        (Some(_), Some(_)) | (None, None) => {
            let expected = "the number of a run, or `snapshot` with the name of a snapshot";
            return Err(ApiError::BadField { field: "run", expected });
        }
    };
    // `null` means every file. The key is required, so that forgetting it does not restore everything.
    let choice = Choice::Restore { point, path: fields.nullable_text("path")? };
    Ok(Command::Choose { agent: agent(fields)?, choice })
}

fn agent(fields: &mut Fields) -> Result<AgentSlot, ApiError> {
    let expected = ApiError::BadField { field: "agent", expected: AGENT };
    optional_agent(fields)?.ok_or(expected)
}

fn optional_agent(fields: &mut Fields) -> Result<Option<AgentSlot>, ApiError> {
    let Some(text) = fields.optional_text("agent")? else { return Ok(None) };
    let expected = ApiError::BadField { field: "agent", expected: AGENT };
    name::read_agent(&text).map(Some).ok_or(expected)
}

fn played(fields: &mut Fields) -> Result<Command, ApiError> {
    let number = |fields: &mut Fields, field: &'static str| {
        let expected = ApiError::BadField { field, expected: "a whole number, 0 or more" };
        fields.optional_number(field)?.ok_or(expected)
    };
    let generation = Generation(number(fields, "generation")?);
    let samples = number(fields, "samples")?;
    let buffered = fields.optional_number("buffered_ms")?.unwrap_or(0).min(LONGEST_BUFFER_MS);
    let underruns = fields.optional_number("underruns")?.unwrap_or(0);
    let buffered = Duration::from_millis(buffered);
    Ok(Command::AckPlayback(PlaybackAck { generation, samples, buffered, underruns }))
}

fn talk_key(fields: &mut Fields) -> Result<Command, ApiError> {
    let expected = ApiError::BadField { field: "pressed", expected: "true or false" };
    let pressed = flag(fields, "pressed")?.ok_or(expected)?;
    Ok(Command::PressTalkKey(if pressed { TalkKey::Pressed } else { TalkKey::Released }))
}

/// `null` counts as absent.
pub(super) fn flag(fields: &mut Fields, field: &'static str) -> Result<Option<bool>, ApiError> {
    match fields.take(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(_) => Err(ApiError::BadField { field, expected: "true or false" }),
    }
}

/// `null` counts as absent.
pub(super) fn texts(
    fields: &mut Fields,
    field: &'static str,
) -> Result<Option<Vec<String>>, ApiError> {
    let expected = ApiError::BadField { field, expected: "a list of texts" };
    match fields.take(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) => {
            let text = |value: Value| value.as_str().map(str::to_owned);
            values.into_iter().map(text).collect::<Option<_>>().map(Some).ok_or(expected)
        }
        Some(_) => Err(expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(frame: &str, expected: Command) {
        assert_eq!(read(frame).unwrap(), Inbound { request: None, command: expected }, "{frame}");
    }

    #[track_caller]
    fn refused(frame: &str, code: &str) {
        use crate::dialect::FrameError;
        assert_eq!(read(frame).unwrap_err().error.code(), code, "{frame}");
    }

    fn hi(route: Route) -> Command {
        Command::SendText { route, text: Typed::on_socket("hi".to_owned()) }
    }

    #[test]
    fn texts_go_to_chat_live_model_and_agents() {
        let two = AgentSlot::new(2).unwrap();
        check(r#"{"type":"send","to":"chat","text":"hi"}"#, hi(Route::Chat));
        let live = Route::Live { echo: Some(Channel::Chat) };
        check(r#"{"type":"send","to":"live","text":"hi"}"#, hi(live));
        check(r#"{"type":"send","to":"agent2","text":"hi"}"#, hi(Route::Agent(two)));
        let both: AgentSet = AgentSlot::ALL[..2].iter().copied().collect();
        let frame = r#"{"type":"send","to":["agent1","agent2"],"text":"hi"}"#;
        check(frame, hi(Route::AgentsFromChat(both)));
    }

    #[test]
    fn a_cancel_names_one_run_all_runs_or_none() {
        let channel = Channel::Agent(AgentSlot::ALL[0]);
        for (run, scope) in [
            ("", CancelScope::Current),
            (r#","run":7"#, CancelScope::One(RunId(7))),
            (r#","run":"all""#, CancelScope::All),
        ] {
            let frame = format!(r#"{{"type":"cancel","to":"agent1"{run}}}"#);
            check(&frame, Command::CancelRun { channel, scope });
        }
    }

    #[test]
    fn an_answer_must_say_true_or_false() {
        let id = ConfirmId::new("q");
        let confirmed = Confirmed::Approved;
        let frame = r#"{"type":"answer","id":"q","approved":true}"#;
        check(
            frame,
            Command::Confirm {
                id,
                confirmed,
                always: false,
                call: None,
                second: SecondYes::Missing,
            },
        );
        refused(r#"{"type":"answer","id":"q"}"#, "bad_field");
        refused(r#"{"type":"answer","id":"q","approved":"yes"}"#, "bad_field");
        refused(r#"{"type":"answer","id":7,"approved":true}"#, "bad_field");
    }

    #[test]
    fn files_are_uploaded_listed_and_watched() {
        let bytes = Bytes::from_static(b"hello");
        let name = "a.txt".to_owned();
        let frame = r#"{"type":"upload","to":"chat","name":"a.txt","data":"aGVsbG8="}"#;
        check(frame, Command::SendFile { channel: Channel::Chat, name, bytes });
        let known = Some(KnownList { newest: Some("n".to_owned()), count: 3 });
        let (kind, scope, answer_on) = (ListKind::Backup, ListScope::Usual, Channel::File);
        let frame = r#"{"type":"files","list":"project","known":{"newest":"n","count":3}}"#;
        check(frame, Command::ListFiles { kind, scope, answer_on, known });
        let target = WatchTarget::One(ListKind::Temp);
        let wish = WatchWish::Start;
        check(r#"{"type":"watch","list":"recent"}"#, Command::WatchFiles { target, wish });
        let (target, wish) = (WatchTarget::Every, WatchWish::Stop);
        check(r#"{"type":"unwatch"}"#, Command::WatchFiles { target, wish });
        let (kind, known) = (ListKind::Backup, None);
        let frame = r#"{"type":"files","list":"project","known":null}"#;
        check(frame, Command::ListFiles { kind, scope, answer_on, known });
        refused(r#"{"type":"files","list":"project","known":7}"#, "bad_field");
        refused(r#"{"type":"upload","name":"a","data":"*"}"#, "bad_field");
        refused(r#"{"type":"files","list":"x"}"#, "bad_field");
    }

    #[test]
    fn a_restore_says_whether_it_is_one_file_or_all() {
        let (agent, point) = (AgentSlot::ALL[0], RestorePoint::Before(RunId(7)));
        for (path, expected) in [("null", None), ("\"a.txt\"", Some("a.txt".to_owned()))] {
            let frame = format!(r#"{{"type":"restore","agent":"agent1","run":7,"path":{path}}}"#);
            let choice = Choice::Restore { point: point.clone(), path: expected };
            check(&frame, Command::Choose { agent, choice });
        }
        refused(r#"{"type":"restore","agent":"agent1","run":7}"#, "bad_field");
        refused(r#"{"type":"restore","agent":"agent1","run":7,"path":1}"#, "bad_field");
    }

    #[test]
    fn a_refusal_names_the_request_that_it_is_about() {
        let refusal = read(r#"{"type":"nonsense","request":"a-1"}"#).unwrap_err();
        assert_eq!(refusal.error, ApiError::UnknownType("nonsense".to_owned()));
        assert_eq!(refusal.request, Some(RequestNo::Text("a-1".into())));
        refused(r#"{"type":"send","to":"chat","text":"a","request":-1}"#, "bad_field");
    }

    #[test]
    fn malformed_frames_are_refused() {
        for (frame, code) in [
            ("", "malformed"),
            ("{", "malformed"),
            ("[]", "not_an_object"),
            ("null", "not_an_object"),
            ("{}", "bad_field"),
            (r#"{"type":7}"#, "bad_field"),
            (r#"{"type":"send","to":"agent9","text":"a"}"#, "bad_field"),
            (r#"{"type":"send","to":"chat"}"#, "bad_field"),
            (r#"{"type":"send","to":"chat","text":" "}"#, "bad_field"),
            (r#"{"type":"send","to":[],"text":"a"}"#, "bad_field"),
            (r#"{"type":"send","type":"send"}"#, "bad_field"),
        ] {
            refused(frame, code);
        }
    }

    #[test]
    fn longer_texts_than_one_mebibyte_are_refused() {
        let frame = |bytes| {
            let text = "x".repeat(bytes);
            format!(r#"{{"type":"send","to":"chat","text":"{text}"}}"#)
        };
        assert!(read(&frame(LONGEST_TEXT)).is_ok());
        refused(&frame(LONGEST_TEXT + 1), "bad_field");
    }

    #[test]
    fn sound_needs_the_feature_and_whole_samples() {
        let pcm = Bytes::from_static(&[1, 2]);
        assert_eq!(read_sound(None, &pcm).unwrap_err().error, ApiError::NoAudio);
        let odd = Bytes::from_static(&[1]);
        assert_eq!(read_sound(Some(24_000), &odd).unwrap_err().error, ApiError::BadAudio);
        let sound = Recorded { rate: SampleRate::Hz(24_000), pcm: pcm.clone() };
        assert_eq!(read_sound(Some(24_000), &pcm).unwrap().command, Command::SendAudio(sound));
    }
}
