//! The live conversation: the microphone's sound, texts and pictures go to the live model, and what it says comes back.

pub(super) mod errand;
pub(super) mod hearing;
pub(super) mod link;
pub(super) mod microphone;
pub(super) mod sight;
pub(super) mod sound;
