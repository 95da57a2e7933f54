//! PCM16 processing: resampling, levels, clipping, speech and voice detection. No sockets, no tasks.

pub mod condition;
pub mod gate;
mod polyphase;
pub mod resample;
pub mod voice;
