//! The first packet of a client: which session, which channel, and what the client already has.

use super::error::DecodeError;
use super::reject::Rejection;
use super::{value, wire};
use crate::locale::Locale;
use crate::message::{Channel, Epoch, Features, SentSessionId, Seq};
use serde_json::value::RawValue;
use wire::field;

/// What a client asks for when it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connect {
    /// `None` starts a new session.
    pub session: Option<SentSessionId>,
    pub channel: Channel,
    pub locale: Option<Locale>,
    /// What the client has already seen of this channel.
    pub cursor: Option<(Epoch, Seq)>,
    /// How many of the newest packets the client wants if it cannot resume; `None` is all.
    pub history: Option<usize>,
    pub read_only: bool,
    pub features: Features,
    /// For clients that can send neither a header nor a cookie.
    pub token: Option<String>,
}

/// Reads the first packet of a connection.
pub fn read_connect(frame: &str) -> Result<Connect, Rejection> {
    let packet: wire::ConnectPacket<'_> = super::decode::parse(frame)?;
    Ok(Connect {
        channel: read_channel(&packet)?,
        session: read_session(packet.session)?,
        locale: read_locale(packet.language),
        cursor: read_cursor(&packet)?,
        history: read_count(packet.history, field::HISTORY)?
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
        read_only: read_flag(packet.view)?,
        features: read_features(packet.features)?,
        token: read_token(packet.token)?,
    })
}

fn read_channel(packet: &wire::ConnectPacket<'_>) -> Result<Channel, Rejection> {
    let Some(raw) = packet.socket.or(packet.channel) else {
        return Ok(Channel::Input);
    };
    let name = value::string_or_number(raw);
    name.as_deref().and_then(value::channel).ok_or_else(|| {
        Rejection::UnknownSocket(value::excerpt(name.as_deref().unwrap_or(raw.get())))
    })
}

fn read_session(raw: Option<&RawValue>) -> Result<Option<SentSessionId>, Rejection> {
    let Some(raw) = raw else { return Ok(None) };
    let text = value::string(raw).ok_or(Rejection::SessionRefused)?;
    if text.is_empty() {
        return Ok(None);
    }
    SentSessionId::parse(&text).map(Some).ok_or(Rejection::SessionRefused)
}

/// Unknown feature names are ignored.
fn read_features(raw: Option<&RawValue>) -> Result<Features, DecodeError> {
    let Some(raw) = raw else { return Ok(Features::default()) };
    let expected = DecodeError::BadField { field: field::FEATURES, expected: "a list of texts" };
    let names: Vec<String> = serde_json::from_str(raw.get()).map_err(|_| expected)?;
    let has = |feature: &str| names.iter().any(|name| name == feature);
    Ok(Features {
        stream: has("stream"),
        confirm: has("confirm"),
        agents: has("agents"),
        playback: has("playback"),
    })
}

/// An empty token counts as absent: pages fill it in from a field that may be empty.
fn read_token(raw: Option<&RawValue>) -> Result<Option<String>, DecodeError> {
    let Some(raw) = raw else { return Ok(None) };
    let expected = DecodeError::BadField { field: field::TOKEN, expected: "a string" };
    let token = value::string(raw).ok_or(expected)?;
    Ok(Some(token.into_owned()).filter(|token| !token.is_empty()))
}

/// An unknown language is not an error: the configured one is used.
fn read_locale(raw: Option<&RawValue>) -> Option<Locale> {
    Locale::parse(&value::string(raw?)?)
}

/// An epoch that cannot be read is not an error: it only means that nothing can be resumed.
fn read_cursor(packet: &wire::ConnectPacket<'_>) -> Result<Option<(Epoch, Seq)>, DecodeError> {
    let (Some(epoch), Some(seq)) = (packet.epoch, read_count(packet.last_seq, field::LAST_SEQ)?)
    else {
        return Ok(None);
    };
    let expected = DecodeError::BadField { field: field::EPOCH, expected: "the string from init" };
    let epoch = value::string(epoch).ok_or(expected)?;
    Ok(u64::from_str_radix(&epoch, 16).ok().map(|epoch| (Epoch(epoch), Seq(seq))))
}

fn read_count(raw: Option<&RawValue>, field: &'static str) -> Result<Option<u64>, DecodeError> {
    let Some(raw) = raw else { return Ok(None) };
    let count = serde_json::from_str(raw.get());
    count.map(Some).map_err(|_| DecodeError::BadField { field, expected: "a whole number from 0" })
}

fn read_flag(raw: Option<&RawValue>) -> Result<bool, DecodeError> {
    let Some(raw) = raw else { return Ok(false) };
    let flag = serde_json::from_str(raw.get());
    flag.map_err(|_| DecodeError::BadField { field: field::VIEW, expected: "true or false" })
}
