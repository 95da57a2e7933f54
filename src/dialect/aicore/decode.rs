//! Decodes packets of clients into commands: which packets each socket accepts, and both ways of naming a destination.

use super::choice;
use super::error::{DecodeError, Malformed};
use super::playback;
use super::value::{self, required_string};
use super::wire::{self, CommandPacket, field};
use crate::dialect::Refusal;
use crate::message::{
    AgentSet, AgentSlot, CancelScope, Channel, Command, ConfirmId, Confirmed, ControlValue,
    Controls, Inbound, KnownList, ListKind, ListScope, Recorded, RequestNo, Route, RunId,
    SampleRate, SecondYes, Typed, WatchTarget, WatchWish,
};
use bytes::Bytes;
use serde::Deserialize;
use std::borrow::Cow;

/// Longer texts have to be sent as files.
const LONGEST_TEXT: usize = 1024 * 1024;
const LONGEST_REQUEST_NO: usize = 128;
const AUDIO_MIME: &str = "audio/pcm";
/// Sample rates of microphones.
const RATES: std::ops::RangeInclusive<u32> = 8_000..=48_000;

/// Parses a JSON object; other JSON and invalid JSON are separate errors.
pub(super) fn parse<'a, T: Deserialize<'a>>(frame: &'a str) -> Result<T, DecodeError> {
    let malformed = |err| DecodeError::Malformed(Malformed::of(frame, &err));
    if !frame.trim_start().starts_with('{') {
        let valid = serde_json::from_str::<serde::de::IgnoredAny>(frame);
        return Err(valid.map_or_else(malformed, |_| DecodeError::NotAnObject));
    }
    serde_json::from_str(frame).map_err(malformed)
}

/// Decodes one packet from the socket of channel `own`.
pub(super) fn read(own: Channel, frame: &str) -> Result<Inbound, Refusal<DecodeError>> {
    let packet: CommandPacket<'_> = parse(frame)?;
    let request = read_request(&packet)?;
    match read_command(own, &packet) {
        Ok(command) => Ok(Inbound { request, command }),
        Err(error) => Err(Refusal { error, request }),
    }
}

fn read_request(packet: &CommandPacket<'_>) -> Result<Option<RequestNo>, DecodeError> {
    let Some(raw) = packet.request else { return Ok(None) };
    if let Ok(number) = serde_json::from_str(raw.get()) {
        return Ok(Some(RequestNo::Number(number)));
    }
    match value::string(raw) {
        Some(text) if (1..=LONGEST_REQUEST_NO).contains(&text.len()) => {
            Ok(Some(RequestNo::Text(text.as_ref().into())))
        }
        _ => Err(DecodeError::BadField {
            field: field::REQUEST,
            expected: "a whole number or 1 to 128 bytes of text",
        }),
    }
}

fn read_command(own: Channel, packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let kind = packet.kind.and_then(value::string).ok_or(DecodeError::MissingKind)?;
    let Some(kind) = Kind::parse(&kind) else {
        return Err(DecodeError::UnknownKind(value::excerpt(&kind)));
    };
    check_socket(own, kind)?;
    match kind {
        Kind::Operations => read_operations(packet),
        Kind::InputText => read_text(packet),
        Kind::InputRequest => read_run_request(packet),
        Kind::InputFile => read_file(packet),
        Kind::InputImage => read_image(packet),
        Kind::InputAudio => read_audio(packet),
        Kind::CancelAudio => own_channel(packet, "audio").map(|()| Command::StopPlayback),
        Kind::PlaybackAck => playback::read_ack(packet),
        Kind::PushToTalk => playback::read_key(packet),
        Kind::CancelRun => read_cancel(packet),
        Kind::FilesBackup => read_list(packet, ListKind::Backup),
        Kind::FilesTemp => read_list(packet, ListKind::Temp),
        Kind::FilesWatch => read_watch(packet),
        Kind::ConfirmAnswer => read_confirm(packet),
        Kind::Compare => choice::read_compare(packet),
        Kind::Diff => choice::read_diff(packet),
        Kind::Backups => choice::read_backups(packet),
        Kind::Accept => choice::read_accept(packet),
        Kind::Discard => choice::read_discard(packet),
        Kind::Restore => choice::read_restore(packet),
    }
}

/// The kinds of packets that a client may send.
pub fn client_kinds() -> [&'static str; 20] {
    Kind::NAMES.map(|(name, _)| name)
}

/// The kinds of packets that a client may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Operations,
    InputText,
    InputRequest,
    InputFile,
    InputImage,
    InputAudio,
    CancelAudio,
    PlaybackAck,
    PushToTalk,
    CancelRun,
    FilesBackup,
    FilesTemp,
    FilesWatch,
    ConfirmAnswer,
    Compare,
    Diff,
    Backups,
    Accept,
    Discard,
    Restore,
}

impl Kind {
    const NAMES: [(&'static str, Self); 20] = [
        ("operations", Self::Operations),
        ("input_text", Self::InputText),
        ("input_request", Self::InputRequest),
        ("input_file", Self::InputFile),
        ("input_image", Self::InputImage),
        ("input_audio", Self::InputAudio),
        ("cancel_audio", Self::CancelAudio),
        ("playback_ack", Self::PlaybackAck),
        ("push_to_talk", Self::PushToTalk),
        ("cancel_run", Self::CancelRun),
        ("files_backup", Self::FilesBackup),
        ("files_temp", Self::FilesTemp),
        ("files_watch", Self::FilesWatch),
        ("confirm_answer", Self::ConfirmAnswer),
        ("compare", Self::Compare),
        ("diff", Self::Diff),
        ("backups", Self::Backups),
        ("accept", Self::Accept),
        ("discard", Self::Discard),
        ("restore", Self::Restore),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    fn name(self) -> String {
        Self::NAMES
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
}

/// Which packets each socket accepts, as in the specification.
fn check_socket(own: Channel, kind: Kind) -> Result<(), DecodeError> {
    let is_audio =
        matches!(kind, Kind::InputAudio | Kind::CancelAudio | Kind::PlaybackAck | Kind::PushToTalk);
    match own {
        Channel::Audio if is_audio => Ok(()),
        Channel::Audio => Err(DecodeError::AudioOnly(kind.name())),
        Channel::Input if is_audio => Err(DecodeError::NoAudioHere(kind.name())),
        Channel::Input => Ok(()),
        Channel::File | Channel::Chat | Channel::Agent(_) => {
            Err(DecodeError::ReceiveOnly(value::channel_name(own)))
        }
    }
}

fn read_operations(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    own_channel(packet, "input")?;
    let expected =
        DecodeError::BadField { field: field::CONTROLS, expected: "an object of switches" };
    let body: wire::OperationsBody = packet.body.and_then(value::object).ok_or(expected)?;
    let controls: Option<Controls> = body
        .controls
        .into_iter()
        .map(|(name, value)| Some((name, control_value(value)?)))
        .collect();
    controls.map(Command::SaveControls).ok_or(DecodeError::BadField {
        field: field::CONTROLS,
        expected: "true, false, a number or a text each",
    })
}

fn control_value(value: serde_json::Value) -> Option<ControlValue> {
    match value {
        serde_json::Value::Bool(flag) => Some(ControlValue::Flag(flag)),
        serde_json::Value::Number(number) => number.as_f64().map(ControlValue::Number),
        serde_json::Value::String(text) => Some(ControlValue::Text(text)),
        serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
            None
        }
    }
}

fn read_text(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let text = Typed::on_socket(message_text(packet)?);
    let route = read_route(packet)?;
    Ok(Command::SendText { route, text })
}

fn read_run_request(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let text = message_text(packet)?;
    if let Some(agents) = several_agents(packet)? {
        return Ok(Command::RequestRun { agents, text });
    }
    // Unlike a text, a request is sent from one channel to another, so the target takes precedence over the channel.
    let destination = match named_channel(packet.target)? {
        Some(target) => Some(target),
        None => named_channel(packet.channel)?,
    };
    let agent = match (mode(packet)?, destination) {
        (Some(Mode::Code(Some(slot))), _) | (_, Some(Channel::Agent(slot))) => slot,
        (_, None | Some(Channel::Chat | Channel::Input)) => AgentSlot::ALL[0],
        (_, Some(Channel::Audio | Channel::File)) => {
            return Err(wrong_channel(packet, "1, 2, 3, 4"));
        }
    };
    Ok(Command::RequestRun { agents: agent.into(), text })
}

fn message_text(packet: &CommandPacket<'_>) -> Result<String, DecodeError> {
    let body = packet.body.filter(|body| packet.text.is_none() || body.get() != "\"\"");
    let text = required_string(body.or(packet.text), field::BODY)?;
    if text.trim().is_empty() {
        return Err(DecodeError::BadField {
            field: field::BODY,
            expected: "a text that is not empty",
        });
    }
    if text.len() > LONGEST_TEXT {
        return Err(DecodeError::BadField {
            field: field::BODY,
            expected: "at most 1 MiB; send longer texts as files",
        });
    }
    Ok(text.into_owned())
}

/// The receiver that the client names, if it names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Chat,
    Live,
    /// One agent, by its number or by the packet's destination.
    Code(Option<AgentSlot>),
    /// All four agents.
    CodeAll,
}

impl Mode {
    fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        match text.as_str() {
            "chat" => Some(Self::Chat),
            "live" => Some(Self::Live),
            "code" => Some(Self::Code(None)),
            "codeall" => Some(Self::CodeAll),
            _ => {
                let slot = text.strip_prefix("code")?.parse().ok().and_then(AgentSlot::new)?;
                Some(Self::Code(Some(slot)))
            }
        }
    }
}

/// The mode field of existing clients takes precedence over the one of the specification. Only the former can be
/// invalid: the latter is also the field for file names, so any text is possible there.
fn mode(packet: &CommandPacket<'_>) -> Result<Option<Mode>, DecodeError> {
    if let Some(raw) = packet.mode {
        let expected = DecodeError::BadField {
            field: field::MODE,
            expected: "Chat, Live, Code1 to Code4 or CodeAll",
        };
        let text = value::string(raw).ok_or_else(|| expected.clone())?;
        return Mode::parse(&text).map(Some).ok_or(expected);
    }
    Ok(packet.file_name.and_then(value::string).and_then(|text| Mode::parse(&text)))
}

/// Existing clients name the pane, `0` to `4`, in the channel; the specification names it in the target.
pub(super) fn destination(packet: &CommandPacket<'_>) -> Result<Option<Channel>, DecodeError> {
    let channel = named_channel(packet.channel)?;
    if matches!(channel, Some(Channel::Chat | Channel::Agent(_))) {
        return Ok(channel);
    }
    Ok(named_channel(packet.target)?.or(channel))
}

fn named_channel(
    raw: Option<&serde_json::value::RawValue>,
) -> Result<Option<Channel>, DecodeError> {
    let Some(raw) = raw else { return Ok(None) };
    let name = value::string_or_number(raw);
    match name.as_deref().and_then(value::channel) {
        Some(channel) => Ok(Some(channel)),
        None => Err(DecodeError::WrongChannel {
            value: value::excerpt(name.as_deref().unwrap_or(raw.get())),
            allowed: "audio, input, file, 0, 1, 2, 3, 4",
        }),
    }
}

/// Several agents, by the mode or by a target like `1,2,4`; `None`: the packet has a single destination.
fn several_agents(packet: &CommandPacket<'_>) -> Result<Option<AgentSet>, DecodeError> {
    if mode(packet)? == Some(Mode::CodeAll) {
        return Ok(Some(AgentSet::ALL));
    }
    let Some(names) = packet.target.and_then(value::string).filter(|names| names.contains(','))
    else {
        return Ok(None);
    };
    named_agents(&names).map(Some)
}

/// Agents by number, such as `1,2,4`.
pub(super) fn named_agents(names: &str) -> Result<AgentSet, DecodeError> {
    let slot = |name: &str| name.trim().parse().ok().and_then(AgentSlot::new);
    let agents: Option<AgentSet> = names.split(',').map(slot).collect();
    agents.ok_or(DecodeError::BadField {
        field: field::TARGET,
        expected: "agents by their numbers, such as 1,2,4",
    })
}

fn read_route(packet: &CommandPacket<'_>) -> Result<Route, DecodeError> {
    if let Some(agents) = several_agents(packet)? {
        return Ok(Route::AgentsFromChat(agents));
    }
    let mode = mode(packet)?;
    match destination(packet)? {
        Some(Channel::Audio | Channel::File) => Err(wrong_channel(packet, "input, 0, 1, 2, 3, 4")),
        // The agent's own pane: only an explicit Live sends the text to the live model instead.
        Some(Channel::Agent(slot)) => Ok(match mode {
            Some(Mode::Live) => Route::Live { echo: Some(Channel::Agent(slot)) },
            Some(Mode::Chat | Mode::Code(_) | Mode::CodeAll) | None => Route::Agent(slot),
        }),
        Some(Channel::Chat) => Ok(match mode {
            Some(Mode::Chat) | None => Route::Chat,
            Some(Mode::Live) => Route::Live { echo: Some(Channel::Chat) },
            Some(Mode::Code(slot)) => from_chat(slot),
            Some(Mode::CodeAll) => Route::AgentsFromChat(AgentSet::ALL),
        }),
        // No pane: texts from the image pane go to the live model and are not echoed.
        Some(Channel::Input) | None => Ok(match mode {
            Some(Mode::Chat) => Route::Chat,
            Some(Mode::Live) | None => Route::Live { echo: None },
            Some(Mode::Code(slot)) => from_chat(slot),
            Some(Mode::CodeAll) => Route::AgentsFromChat(AgentSet::ALL),
        }),
    }
}

/// Without a number, agent 1 gets the request.
fn from_chat(slot: Option<AgentSlot>) -> Route {
    Route::AgentsFromChat(slot.unwrap_or(AgentSlot::ALL[0]).into())
}

fn read_file(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let channel = match destination(packet)? {
        Some(channel @ (Channel::Chat | Channel::Agent(_))) => channel,
        Some(Channel::Input) | None => Channel::Chat,
        Some(Channel::Audio | Channel::File) => return Err(wrong_channel(packet, "0, 1, 2, 3, 4")),
    };
    let name = packet.file_name.and_then(value::string).unwrap_or(Cow::Borrowed(""));
    let body = required_string(packet.body, field::BODY)?;
    let bytes = value::base64(&body, field::BODY)?;
    Ok(Command::SendFile { channel, name: name.into_owned(), bytes: bytes.into() })
}

fn read_image(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    destination(packet)?;
    let mime = required_string(packet.body, field::BODY)?;
    if !mime.starts_with("image/") {
        return Err(DecodeError::BadField {
            field: field::BODY,
            expected: "an image type such as image/jpeg",
        });
    }
    let image = required_string(packet.file_name, field::FILE_NAME)?;
    Ok(Command::ShowImage { bytes: value::base64(&image, field::FILE_NAME)?.into() })
}

fn read_audio(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    own_channel(packet, "audio")?;
    let rate = read_rate(packet)?.map_or(wire::UNSTATED_RATE, SampleRate::Hz);
    let pcm = read_samples(packet)?;
    if pcm.is_empty() {
        return Err(DecodeError::BadAudio("there are no samples in it"));
    }
    if pcm.len() % 2 != 0 {
        return Err(DecodeError::BadAudio("16-bit samples need an even number of bytes"));
    }
    Ok(Command::SendAudio(Recorded { rate, pcm: Bytes::from(pcm) }))
}

/// Fast path: base64 has no escapes, so the raw text between the quotes usually decodes as it is.
fn read_samples(packet: &CommandPacket<'_>) -> Result<Vec<u8>, DecodeError> {
    let plain = packet.file_name.and_then(value::unquoted);
    if let Some(Ok(pcm)) = plain.map(|text| base64_simd::STANDARD.decode_to_vec(text)) {
        return Ok(pcm);
    }
    let text = required_string(packet.file_name, field::FILE_NAME)?;
    base64_simd::forgiving_decode_to_vec(text.as_bytes())
        .map_err(|_| DecodeError::BadBase64 { field: field::FILE_NAME })
}

/// `audio/pcm`, optionally with `;rate=N`.
fn read_rate(packet: &CommandPacket<'_>) -> Result<Option<u32>, DecodeError> {
    let mime = required_string(packet.body, field::BODY)?;
    let mut parts = mime.split(';').map(str::trim);
    if parts.next() != Some(AUDIO_MIME) {
        return Err(DecodeError::BadAudio("the type must be audio/pcm"));
    }
    let rate = parts.find_map(|part| part.strip_prefix("rate="));
    match rate.map(str::parse::<u32>) {
        None => Ok(None),
        Some(Ok(rate)) if RATES.contains(&rate) => Ok(Some(rate)),
        Some(_) => Err(DecodeError::BadAudio("the rate must be from 8000 to 48000")),
    }
}

fn read_cancel(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let named = destination(packet)?
        .ok_or(DecodeError::BadField { field: field::CHANNEL, expected: "0, 1, 2, 3 or 4" })?;
    let channel = Some(named).filter(|channel| channel.runs_work());
    let channel = channel.ok_or_else(|| wrong_channel(packet, "0, 1, 2, 3, 4"))?;
    let scope = match packet.run {
        None => CancelScope::Current,
        Some(raw) if value::string(raw).as_deref() == Some("all") => CancelScope::All,
        Some(raw) => match value::string_or_number(raw).and_then(|text| text.parse().ok()) {
            Some(run) => CancelScope::One(RunId(run)),
            None => {
                return Err(DecodeError::BadField {
                    field: field::RUN,
                    expected: "a run's number or all",
                });
            }
        },
    };
    Ok(Command::CancelRun { channel, scope })
}

fn read_list(packet: &CommandPacket<'_>, kind: ListKind) -> Result<Command, DecodeError> {
    let answer_on = named_channel(packet.channel)?.unwrap_or(Channel::File);
    let body: wire::ListBody = optional_object(packet, "an object of a time, a count and a flag")?;
    let scope = if body.all == Some(true) { ListScope::All } else { ListScope::Usual };
    let newest = match kind {
        ListKind::Backup => body.backup_newest,
        ListKind::Temp => body.temp_newest,
    };
    // An empty list has no newest time; clients send an empty text for it.
    let newest = newest.filter(|newest| !newest.is_empty());
    let known = body.count.map(|count| KnownList { newest, count });
    Ok(Command::ListFiles { kind, scope, answer_on, known })
}

fn read_watch(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let body: wire::WatchBody = optional_object(packet, "an object of a target and a flag")?;
    let target = match body.target.as_deref() {
        Some("files_backup") => WatchTarget::One(ListKind::Backup),
        Some("files_temp") => WatchTarget::One(ListKind::Temp),
        Some("all") | None => WatchTarget::Every,
        Some(_) => {
            return Err(DecodeError::BadField {
                field: field::WATCH,
                expected: "files_backup, files_temp or all",
            });
        }
    };
    let wish = if body.stop == Some(true) { WatchWish::Stop } else { WatchWish::Start };
    Ok(Command::WatchFiles { target, wish })
}

/// A missing or unclear decision is an error, never an approval.
fn read_confirm(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    let expected =
        DecodeError::BadField { field: field::BODY, expected: "an object of an id and a decision" };
    let body: wire::ConfirmBody = packet.body.and_then(value::object).ok_or(expected)?;
    let confirmed = if body.approved { Confirmed::Approved } else { Confirmed::Refused };
    let wire::ConfirmBody { id, always, twice, .. } = body;
    let second = if twice { SecondYes::Given } else { SecondYes::Missing };
    Ok(Command::Confirm { id: ConfirmId::new(&id), confirmed, always, call: None, second })
}

/// Existing clients send an empty text where an object is optional, so texts, numbers and null count as absent. An
/// array is refused, because ignoring it would ignore something that the client asked for.
pub(super) fn optional_object<T: Default + serde::de::DeserializeOwned>(
    packet: &CommandPacket<'_>,
    expected: &'static str,
) -> Result<T, DecodeError> {
    match packet.body {
        Some(body) if body.get().starts_with(['{', '[']) => {
            value::object(body).ok_or(DecodeError::BadField { field: field::BODY, expected })
        }
        Some(_) | None => Ok(T::default()),
    }
}

/// These packets may leave the channel out, but must not name another one than the socket's own.
pub(super) fn own_channel(
    packet: &CommandPacket<'_>,
    own: &'static str,
) -> Result<(), DecodeError> {
    let Some(raw) = packet.channel else { return Ok(()) };
    let name = value::string_or_number(raw);
    if name.as_deref() == Some(own) {
        return Ok(());
    }
    Err(wrong_channel(packet, own))
}

pub(super) fn wrong_channel(packet: &CommandPacket<'_>, allowed: &'static str) -> DecodeError {
    let named = packet.channel.or(packet.target);
    let value = named.map_or_else(String::new, |raw| {
        value::excerpt(value::string_or_number(raw).as_deref().unwrap_or(raw.get()))
    });
    DecodeError::WrongChannel { value, allowed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_in_every_spelling_of_base64() {
        check(r#""AAD//w==""#, &[0, 0, 255, 255]);
        check(r#""AAD\/\/w==""#, &[0, 0, 255, 255]);
        check(r#""AAD/\n/w""#, &[0, 0, 255, 255]);
    }

    #[track_caller]
    fn check(samples: &str, expected: &[u8]) {
        let raw = serde_json::value::RawValue::from_string(samples.to_owned()).unwrap();
        let packet = CommandPacket { file_name: Some(&raw), ..parse("{}").unwrap() };
        assert_eq!(read_samples(&packet).unwrap(), expected);
    }
}
