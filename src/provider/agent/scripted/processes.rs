//! The shell commands of the scripted agent, with their output as lines.

use super::super::AgentOutput;
use super::lines;
use crate::process::{self, Launcher, Pipes, Place, ProgramStdin, Supervised};
use std::io;
use std::process::ExitStatus;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

/// The shell commands of one agent, one at a time, each below a supervisor of its own. Dropping it ends the command
/// that runs.
#[derive(Debug)]
pub(super) struct Processes {
    launcher: Launcher,
    place: Place,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    supervised: Supervised,
    /// The supervisor ends with it, so it stays open until then.
    _stdin: ChildStdin,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("the command could not be started: {0}")]
    Start(#[source] io::Error),
    #[error("nobody takes the output any more")]
    LinkDropped,
}

impl Processes {
    pub(super) fn new(launcher: Launcher, place: Place) -> Self {
        Self { launcher, place, running: None }
    }

    /// Runs one shell command until it and everything that it started is gone; what it leaves in the background ends
    /// with it. Dropping the future leaves the command running; [`Processes::end`] ends it.
    pub(super) async fn run(
        &mut self,
        command: &str,
        output: &mpsc::Sender<AgentOutput>,
    ) -> Result<Option<ExitStatus>, RunError> {
        let shell = ["sh", "-c", command].map(str::to_owned);
        let (supervised, Pipes { stdin, stdout, stderr }) =
            process::spawn(&self.launcher, &shell, &self.place, ProgramStdin::Empty)
                .map_err(RunError::Start)?;
        let running = self.running.insert(Running { supervised, _stdin: stdin });
        let stderr = stderr.into_pipe();
        tokio::try_join!(lines::forward(Some(stdout), output), lines::forward(stderr, output))
            .map_err(|_| RunError::LinkDropped)?;
        let status = running.supervised.gone().await;
        self.running = None;
        Ok(status)
    }

    /// Asks everything to leave, waits a little, then kills what is left. Returns when it is gone.
    pub(super) async fn end(&mut self) {
        if let Some(running) = &mut self.running {
            running.supervised.end();
            // How it ended is of no interest any more.
            let _ = running.supervised.gone().await;
            self.running = None;
        }
    }
}
