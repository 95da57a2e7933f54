//! Builds the frames that are sent to the vendor.

use super::wire::{Input, Media, ToVendor};
use crate::provider::live::remote::protocol::Effect;
use bytes::Bytes;

const HEARS: &str = "audio/pcm;rate=16000";
const SEES: &str = "image/jpeg";

pub(super) fn frame(message: &ToVendor<'_>) -> String {
    // Serializing these types cannot fail.
    serde_json::to_string(message).unwrap_or_default()
}

pub(super) fn input(input: Input<'_>) -> Effect {
    Effect::Send(frame(&ToVendor::RealtimeInput(input)))
}

pub(super) fn sound(pcm: &Bytes) -> Effect {
    input(Input::Audio(media(pcm, HEARS)))
}

pub(super) fn picture(jpeg: &Bytes) -> Effect {
    input(Input::Video(media(jpeg, SEES)))
}

fn media(bytes: &Bytes, mime_type: &'static str) -> Media {
    Media { data: base64_simd::STANDARD.encode_to_string(bytes), mime_type }
}
