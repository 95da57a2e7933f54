//! Pure PCM16: resampling, levels, condition, speech gate, voices. No sockets, no tasks.

pub mod condition;
pub mod gate;
mod polyphase;
pub mod resample;
pub mod voice;
