//! Pure PCM16: resampling, levels, speech gate. No sockets, no tasks.

pub mod gate;
pub mod resample;
