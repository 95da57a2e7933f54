//! The streams of a microphone and a speaker, with the callbacks that serve the rings.

use super::choice::{self, Direction};
use super::ring::{Ends, Loudspeaker, Pickup, rings};
use crate::talk::{Card, TalkError};
use cpal::traits::{DeviceTrait, StreamTrait};
use cpal::{
    BufferSize, Device, Error, ErrorKind, FromSample, SampleFormat, SizedSample, Stream,
    StreamConfig, SupportedBufferSize, SupportedStreamConfig,
};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A callback's worth of sound, if the card can: short enough for a conversation.
const CALLBACK_MS: u32 = 20;
/// Failures that nobody has read. Full: the first ones say enough.
const FAILURES: usize = 4;

/// Dropped: the devices are given back.
pub(super) struct Streams {
    _input: Stream,
    _output: Stream,
    failures: Receiver<String>,
}

impl Streams {
    pub(super) fn open(card: &Card) -> Result<(Self, Ends), TalkError> {
        let input = choice::device(Direction::Input, card.input.as_deref())?;
        let output = choice::device(Direction::Output, card.output.as_deref())?;
        let input_form = choice::form(&input, Direction::Input)?;
        let output_form = choice::form(&output, Direction::Output)?;
        let size =
            |form: &SupportedStreamConfig| (form.sample_rate(), usize::from(form.channels()));
        let (pickup, loudspeaker, ends) = rings(size(&input_form), size(&output_form));
        let (failed, failures) = sync_channel(FAILURES);
        let output = speaker(&output, &output_form, loudspeaker, failed.clone())?;
        let input = microphone(&input, &input_form, pickup, failed)?;
        Ok((Self { _input: input, _output: output, failures }, ends))
    }

    /// Why it cannot go on, if so.
    pub(super) fn failure(&self) -> Option<String> {
        self.failures.try_recv().ok()
    }
}

fn speaker(
    device: &Device,
    form: &SupportedStreamConfig,
    end: Loudspeaker,
    failed: SyncSender<String>,
) -> Result<Stream, TalkError> {
    // Nothing but these three is ever chosen.
    let stream = if form.sample_format() == SampleFormat::F32 {
        output::<f32>(device, form, end, failed)
    } else if form.sample_format() == SampleFormat::I32 {
        output::<i32>(device, form, end, failed)
    } else {
        output::<i16>(device, form, end, failed)
    };
    started(device, stream)
}

fn microphone(
    device: &Device,
    form: &SupportedStreamConfig,
    end: Pickup,
    failed: SyncSender<String>,
) -> Result<Stream, TalkError> {
    // Nothing but these three is ever chosen.
    let stream = if form.sample_format() == SampleFormat::F32 {
        input::<f32>(device, form, end, failed)
    } else if form.sample_format() == SampleFormat::I32 {
        input::<i32>(device, form, end, failed)
    } else {
        input::<i16>(device, form, end, failed)
    };
    started(device, stream)
}

fn started(device: &Device, stream: Result<Stream, Error>) -> Result<Stream, TalkError> {
    let stream = stream.and_then(|stream| stream.play().map(|()| stream));
    stream.map_err(|err| TalkError::NoDevice(format!("{device}: {err}")))
}

fn output<T: SizedSample + FromSample<i16>>(
    device: &Device,
    form: &SupportedStreamConfig,
    mut end: Loudspeaker,
    failed: SyncSender<String>,
) -> Result<Stream, Error> {
    device.build_output_stream::<T, _, _>(
        config(form),
        move |out, info| {
            let at = info.timestamp();
            end.fill(out, at.playback.saturating_duration_since(at.callback));
        },
        move |err| tell(&failed, &err),
        None,
    )
}

fn input<T: SizedSample>(
    device: &Device,
    form: &SupportedStreamConfig,
    mut end: Pickup,
    failed: SyncSender<String>,
) -> Result<Stream, Error>
where
    i16: FromSample<T>,
{
    device.build_input_stream::<T, _, _>(
        config(form),
        move |heard, info| {
            let at = info.timestamp();
            end.take(heard, at.callback.saturating_duration_since(at.capture));
        },
        move |err| tell(&failed, &err),
        None,
    )
}

fn config(form: &SupportedStreamConfig) -> StreamConfig {
    let wanted = form.sample_rate() * CALLBACK_MS / 1_000;
    let buffer_size = match form.buffer_size() {
        SupportedBufferSize::Range { min, max } if (*min..=*max).contains(&wanted) => {
            BufferSize::Fixed(wanted)
        }
        SupportedBufferSize::Range { .. } | SupportedBufferSize::Unknown => BufferSize::Default,
    };
    StreamConfig { buffer_size, ..form.config() }
}

/// A glitch passes; a device that is gone does not come back.
fn tell(failed: &SyncSender<String>, err: &Error) {
    if !matches!(err.kind(), ErrorKind::Xrun | ErrorKind::DeviceChanged | ErrorKind::RealtimeDenied)
    {
        // Full: see FAILURES.
        let _ = failed.try_send(err.to_string());
    }
}
