//! `kakehashi backup`: the operator lists the project's backups and brings them back. A running gateway does it
//! itself, asked through its control socket; otherwise the data directory is locked meanwhile.

use super::holder::Holder;
use crate::config::{Config, ConfigError, Overrides};
use crate::data_dir::DataDirError;
use crate::files::{Backup, BadMoment, FileError, Files, Moment};
use crate::locale::Locale;
use crate::server::control::{self, ControlError};
use crate::session::file_limits;
use crate::task::start_small_runtime;
use clap::Subcommand;
use serde_json::json;
use std::io::{self, BufWriter, IsTerminal, Write, stderr, stdin, stdout};

#[derive(Debug, Subcommand)]
pub enum BackupCommand {
    /// Show the backups of the project, the newest first.
    List {
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Bring the project, or one file of it, back to the state of a backup. What is there now is backed up first.
    Restore {
        /// When the backup was made, as `kakehashi backup list` shows it.
        moment: String,
        /// One file, relative to the project; without it everything comes back, and what was not there then goes.
        path: Option<String>,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum BackupCommandError {
    #[error("{0}; `kakehashi backup list` shows those of this project")]
    Moment(#[from] BadMoment),
    #[error("there are no backups in {0}")]
    NoData(String),
    #[error("nobody can be asked without a terminal; add --yes to restore")]
    NoTerminal,
    #[error("nothing was restored")]
    Declined,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Data(#[from] DataDirError),
    #[error(transparent)]
    Files(#[from] FileError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Carries a command out on the backups of the project.
pub fn run(
    command: BackupCommand,
    overrides: Overrides,
    locale: Locale,
) -> Result<(), BackupCommandError> {
    let config = Config::load(overrides)?;
    match command {
        BackupCommand::List { json } => list(&config, json, locale),
        BackupCommand::Restore { moment, path, yes } => {
            let moment: Moment = moment.parse()?;
            if !yes {
                ask(&config, moment, path.as_deref(), locale)?;
            }
            restore(&config, moment, path, locale)
        }
    }
}

/// Only looks, so it disturbs nobody.
fn list(config: &Config, json: bool, locale: Locale) -> Result<(), BackupCommandError> {
    let mut backups = Files::backups_of(&config.project, &config.data);
    backups.reverse();
    let mut out = BufWriter::new(stdout().lock());
    if json {
        let rows: Vec<_> = backups.iter().map(row).collect();
        writeln!(out, "{:#}", json!({"backups": rows}))?;
    } else if backups.is_empty() {
        let (project, data) = (config.project.display(), config.data.display());
        writeln!(out, "{}", locale.word(&format!("no backups of {project} in {data}")))?;
    }
    for backup in backups.iter().filter(|_| !json) {
        let (moment, kind) = (backup.moment.name(), backup.kind());
        let files = locale.word(&format!("{} files", backup.files));
        writeln!(out, "{moment}  {kind:7}  {files}")?;
    }
    out.flush()?;
    Ok(())
}

fn row(backup: &Backup) -> serde_json::Value {
    json!({
        "day": backup.moment.day(),
        "time": backup.moment.time(),
        "kind": backup.kind(),
        "files": backup.files,
    })
}

fn restore(
    config: &Config,
    moment: Moment,
    path: Option<String>,
    locale: Locale,
) -> Result<(), BackupCommandError> {
    let (written, removed) = match Holder::of(&config.data)? {
        Holder::Nobody => {
            return Err(BackupCommandError::NoData(config.data.display().to_string()));
        }
        Holder::Gateway => {
            let order = control::restore(&config.data, &config.project, moment, path);
            start_small_runtime()?.block_on(order)?
        }
        Holder::Us(_held) => {
            let files = Files::open(&config.project, &config.data, file_limits(config))?;
            let restored = files.restore(moment, path.as_deref())?;
            (restored.written.len(), restored.removed.len())
        }
    };
    let done = format!("{} is back: {written} written, {removed} removed", moment.name());
    writeln!(stdout(), "{}", locale.word(&done))?;
    Ok(())
}

fn ask(
    config: &Config,
    moment: Moment,
    path: Option<&str>,
    locale: Locale,
) -> Result<(), BackupCommandError> {
    if !stdin().is_terminal() {
        return Err(BackupCommandError::NoTerminal);
    }
    let project = config.project.display();
    let moment = moment.name();
    let question = match path.map(str::escape_debug) {
        Some(path) => format!("bring {path} in {project} back to {moment}? [y/N] "),
        None => format!("bring everything in {project} back to {moment}? [y/N] "),
    };
    write!(stderr(), "{}", locale.word(&question))?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    let agreed = matches!(answer.trim(), "y" | "Y" | "yes");
    agreed.then_some(()).ok_or(BackupCommandError::Declined)
}
