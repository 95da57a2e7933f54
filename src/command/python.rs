//! `kakehashi python`: installs what analyses use, and tells whether they can run.

use crate::config::{self, ConfigError, Overrides};
use crate::locale::Locale;
use crate::python::{self, BoxMeans, Environment, Outlook, PythonError};
use crate::task::start_small_runtime;
use clap::Subcommand;
use std::io::{self, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Subcommand)]
pub enum PythonCommand {
    /// Install the packages that analyses use, if they are not there yet. Takes minutes, and needs the network.
    Setup {
        /// The Python to use [default: the newest of 3.11 to 3.13 that is found]
        #[arg(long, value_name = "FILE")]
        python: Option<PathBuf>,
    },
    /// Say whether analyses can run. Exit code 1: they cannot.
    Status,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum PythonCommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Python(#[from] PythonError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// True: analyses can run.
pub fn run(
    command: PythonCommand,
    overrides: Overrides,
    locale: Locale,
) -> Result<bool, PythonCommandError> {
    let data = config::data(overrides)?;
    match command {
        PythonCommand::Setup { python } => set_up(&data, python.as_deref(), locale).map(|()| true),
        PythonCommand::Status => status(&data, locale),
    }
}

fn set_up(data: &Path, python: Option<&Path>, locale: Locale) -> Result<(), PythonCommandError> {
    let launcher = python::launcher(data)?;
    let stop = CancellationToken::new();
    let making = Environment::make(data, python, &launcher, &stop, |step| {
        // Without a stderr there is nobody who waits.
        let _ = writeln!(stderr(), "{}", locale.word(&step.to_string()));
    });
    let runtime = start_small_runtime()?;
    let made = runtime.block_on(async {
        let mut making = std::pin::pin!(making);
        tokio::select! {
            made = &mut making => made,
            Ok(()) = tokio::signal::ctrl_c() => {
                stop.cancel();
                making.await
            }
        }
    })?;
    writeln!(stdout(), "{}", made.directory().display())?;
    Ok(())
}

fn status(data: &Path, locale: Locale) -> Result<bool, PythonCommandError> {
    let boxes = python::launcher(data).and_then(|launcher| BoxMeans::find(&launcher));
    let (can_run, packages) = match Environment::outlook(data) {
        Ok(Outlook::Made(made)) => {
            let version = made.python();
            (true, format!("the packages for analyses are installed, with Python {version}"))
        }
        Ok(Outlook::Possible(_)) => (false, PythonError::NotMade.to_string()),
        Err(err) => (false, err.to_string()),
    };
    writeln!(stdout(), "{}", locale.word(&packages))?;
    let sandbox = match &boxes {
        Ok(found) => format!("analyses run in a closed sandbox: {}", found.means),
        Err(err) => err.to_string(),
    };
    writeln!(stdout(), "{}", locale.word(&sandbox))?;
    Ok(can_run && boxes.is_ok())
}
