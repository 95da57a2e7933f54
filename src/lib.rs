//! Kakehashi: a gateway between people's screens and microphones and their models and agents.
//!
//! One logical session is spread over many sockets. A frame's way through the code:
//! `server::socket` -> `dialect` (frame to `message::Command`) -> `session` (an actor per session) -> `provider`,
//! and back through the session's log (`store`) to every reader. ARCHITECTURE.md has the map and the invariants.

pub mod assistant;
pub mod audio;
pub mod auth;
pub mod command;
pub mod config;
pub mod data_dir;
pub mod dialect;
pub mod doctor;
pub mod files;
pub mod gitignore;
pub mod locale;
pub mod message;
pub mod metrics;
mod picture;
pub mod policy;
pub mod process;
pub mod provider;
pub mod python;
pub mod regular;
pub mod sandbox;
pub mod server;
pub mod session;
pub mod store;
pub mod talk;
pub mod task;
pub mod tool;
pub mod which;
pub mod workplace;
