//! The operator's check command, run in the place of an agent to see whether its work holds.

use super::program::Program;
use crate::message::Check;
use crate::process::{self, Pipes, Place, ProgramStdin};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::time::{Instant, timeout_at};

/// What is kept of the end of its output.
const KEPT: usize = 4 * 1024;

#[derive(Debug, Clone)]
pub struct Checker {
    /// The command as a row, supervised and boxed like an agent.
    pub program: Arc<Program>,
    pub limit: Duration,
}

impl Checker {
    /// Runs until the command and everything it started is gone.
    pub async fn run(&self, place: &Place) -> Check {
        // Both streams in the order in which they are written.
        let shell = ["sh", "-c", "exec 2>&1; exec \"$@\"", "sh"].map(str::to_owned);
        let command: Vec<_> = shell.into_iter().chain(self.program.row.command.clone()).collect();
        let started =
            process::spawn(&self.program.launcher(), &command, place, ProgramStdin::Empty);
        let (mut process, Pipes { stdin, mut stdout, .. }) = match started {
            Ok(started) => started,
            Err(err) => return Check { code: None, output: format!("it does not start: {err}") },
        };
        let deadline = Instant::now() + self.limit;
        let mut end = Vec::new();
        let ended = timeout_at(deadline, async {
            hear(&mut stdout, &mut end).await;
            process.exited().await;
        });
        let late = ended.await.is_err();
        if late {
            process.end();
        }
        let status = process.gone().await;
        // The supervisor ends with its stdin, so it stays open until here.
        drop(stdin);
        let mut output = String::from_utf8_lossy(&end).into_owned();
        if late {
            output += &format!("\n[stopped after {} seconds]", self.limit.as_secs());
        }
        Check { code: status.and_then(|status| status.code()).filter(|_| !late), output }
    }
}

async fn hear(stdout: &mut ChildStdout, end: &mut Vec<u8>) {
    let mut piece = [0; 4096];
    // A pipe that cannot be read any more is at its end too.
    while let Ok(read @ 1..) = stdout.read(&mut piece).await {
        end.extend_from_slice(&piece[..read]);
        if end.len() > 2 * KEPT {
            end.drain(..end.len() - KEPT);
        }
    }
    let more = end.len().saturating_sub(KEPT);
    end.drain(..more);
}
