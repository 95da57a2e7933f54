//! What is kept of sessions: lists, archives, deletion, settings, and the files that are handed out.

pub(super) mod archive;
pub(super) mod erase;
pub(super) mod library;
pub(super) mod sessions;
pub(super) mod settings;
