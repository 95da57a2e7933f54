//! Everything about whole sessions: listing, export, deletion and settings; and files for clients.

pub(super) mod archive;
pub(super) mod erase;
pub(super) mod library;
pub(super) mod projects;
pub(super) mod sessions;
mod setting_commands;
pub(super) mod settings;
