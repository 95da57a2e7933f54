//! Reads raw JSON values, only as leniently as existing clients need.

use super::error::DecodeError;
use crate::message::Channel;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A string; `None` for anything else. Borrows from the frame unless the string has escapes.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = unquoted(raw)?;
    if inner.as_bytes().contains(&b'\\') {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// The text between the quotes of a string, with escapes left as they are; `None` for anything else.
pub(super) fn unquoted(raw: &RawValue) -> Option<&str> {
    raw.get().strip_prefix('"')?.strip_suffix('"')
}

/// A string or a whole number, as text: clients send socket and request numbers both ways.
pub(super) fn string_or_number(raw: &RawValue) -> Option<Cow<'_, str>> {
    string(raw).or_else(|| {
        serde_json::from_str::<u64>(raw.get()).ok().map(|number| Cow::Owned(number.to_string()))
    })
}

pub(super) fn required_string<'a>(
    raw: Option<&'a RawValue>,
    field: &'static str,
) -> Result<Cow<'a, str>, DecodeError> {
    raw.and_then(string).ok_or(DecodeError::BadField { field, expected: "a string" })
}

/// An object as a struct. An array is refused, although serde would accept one with the values in order.
pub(super) fn object<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    let is_object = raw.get().starts_with('{');
    is_object.then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// The channel with this name on the wire.
pub(super) fn channel(name: &str) -> Option<Channel> {
    Channel::ALL.into_iter().find(|channel| channel_name(*channel) == name)
}

pub(super) fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Audio => "audio",
        Channel::Input => "input",
        Channel::File => "file",
        Channel::Chat => "0",
        Channel::Agent(slot) => match slot.number() {
            1 => "1",
            2 => "2",
            3 => "3",
            _ => "4",
        },
    }
}

/// Accepts plain base64 and `data:...;base64,...`.
pub(super) fn base64(text: &str, field: &'static str) -> Result<Vec<u8>, DecodeError> {
    let payload = match text.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,").ok_or(DecodeError::BadBase64 { field })?.1,
        None => text,
    };
    base64_simd::forgiving_decode_to_vec(payload.as_bytes())
        .map_err(|_| DecodeError::BadBase64 { field })
}

/// Shortens a text of the client, so that it cannot fill the error message.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
