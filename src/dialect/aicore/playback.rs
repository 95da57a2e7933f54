//! Packets about a client's playback position and its push-to-talk key.

use super::decode::own_channel;
use super::error::DecodeError;
use super::value;
use super::wire::{AckBody, CommandPacket, TalkKeyBody, TalkKeyState, field};
use crate::message::{Command, Generation, PlaybackAck, TalkKey};
use std::time::Duration;

/// No client buffers more. A larger number is a mistake, but the report is still useful, so it is clamped.
const LONGEST_BUFFER_MS: f64 = 600_000.0;

pub(super) fn read_ack(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    own_channel(packet, "audio")?;
    let body = packet.body.and_then(value::object::<AckBody>);
    let expected = DecodeError::BadField {
        field: field::BODY,
        expected: "an object with the generation and how many of its samples were played",
    };
    let AckBody { generation, samples, buffered_ms, underruns } = body.ok_or(expected)?;
    let buffered = Duration::from_secs_f64(buffered_ms.clamp(0.0, LONGEST_BUFFER_MS) / 1000.0);
    let generation = Generation(generation);
    Ok(Command::AckPlayback(PlaybackAck { generation, samples, buffered, underruns }))
}

pub(super) fn read_key(packet: &CommandPacket<'_>) -> Result<Command, DecodeError> {
    own_channel(packet, "audio")?;
    let body = packet.body.and_then(value::object::<TalkKeyBody>);
    let expected =
        DecodeError::BadField { field: field::BODY, expected: "an object with start or end" };
    Ok(Command::PressTalkKey(match body.ok_or(expected)?.state {
        TalkKeyState::Start => TalkKey::Pressed,
        TalkKeyState::End => TalkKey::Released,
    }))
}
