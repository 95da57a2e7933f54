//! Commands beside the gateway that need more than one line of `main`. They work whether a gateway is running with the
//! data directory or not.

pub mod audit;
pub mod backup;
mod holder;
mod output;
mod session;
pub mod talk;
pub mod user;
mod user_file;

pub use session::{SessionCommand, SessionCommandError, run};
