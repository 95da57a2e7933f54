//! The sound of one reply on its way into the speaker, from the model's rate to the speaker's. Each reply has a filter of
//! its own: what is inside of it comes out with the reply's end, and goes with the reply if that is silenced.

use super::SPEAKER_RATE;
use crate::audio::resample::{ResampleError, Resampler};
use bytes::Bytes;

/// The default is sound that needs no conversion.
#[derive(Debug, Default)]
pub(super) struct Intake(Option<Resampler>);

impl Intake {
    pub(super) fn of(rate: u32) -> Result<Self, ResampleError> {
        let converts = rate != SPEAKER_RATE;
        let resampler = converts.then(|| Resampler::new(rate, SPEAKER_RATE)).transpose()?;
        Ok(Self(resampler))
    }

    /// A few milliseconds may stay inside until more comes.
    pub(super) fn take(&mut self, pcm: Bytes) -> Bytes {
        match &mut self.0 {
            Some(resampler) => resampler.push(&pcm),
            None => pcm,
        }
    }

    /// What is still inside.
    pub(super) fn finish(&mut self) -> Bytes {
        self.0.as_mut().map_or_else(Bytes::new, Resampler::finish)
    }
}

#[cfg(test)]
mod tests;
