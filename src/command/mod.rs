//! Commands beside the gateway that need more than one line of `main`. They work whether a gateway is running with the
//! data directory or not.

pub mod audit;
pub mod backup;
mod holder;
mod output;
pub mod python;
mod session;
pub mod talk;
pub mod user;
mod user_file;

pub use session::{SessionCommand, SessionCommandError, run};

use crate::config::{self, Overrides};
use crate::locale::Locale;

/// The language of the command line: that of LC_ALL, LC_MESSAGES or LANG, else what the settings file says, else English.
pub fn language(overrides: &Overrides) -> Locale {
    let of_environment = Locale::of_environment(|name| std::env::var(name).ok());
    of_environment.or_else(|| config::written_language(overrides)).unwrap_or(Locale::En)
}
