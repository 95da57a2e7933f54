//! Pure PCM16: resampling, levels, speech gate, voices. No sockets, no tasks.

pub mod gate;
pub mod resample;
pub mod voice;
