//! Commands that the agent runs: below a supervisor like every agent, so that nothing of them survives a cancel, a
//! dropped link or a killed gateway.

use super::super::line::{LineError, Lines};
use super::super::program::Program;
use super::super::supervised::{self, Pipes, Supervised, described};
use super::super::{AgentStdin, Place};
use super::speaker::{Speaker, Unheard};
use super::turn::Halt;
use std::collections::VecDeque;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// A longer line is left out.
const LONGEST_LINE: usize = 64 * 1024;
/// So much is shown while the command runs.
const MOST_SHOWN: usize = 256 * 1024;
/// What is kept of the beginning and of the end.
const HEAD: usize = 8 * 1024;
const TAIL: usize = 24 * 1024;

/// One command and who may stop it.
#[derive(Debug)]
pub(super) struct Shell<'a> {
    pub(super) program: &'a Program,
    pub(super) place: &'a Place,
    pub(super) stop: &'a CancellationToken,
    /// Whoever is still there is killed at once.
    pub(super) hurry: &'a CancellationToken,
}

/// Why a command is not waited for any more.
enum Interruption {
    Stopped,
    Late,
    Unheard,
}

impl Shell<'_> {
    /// Runs until the command and everything it started is gone, whatever happens.
    pub(super) async fn run(
        &self,
        command: &str,
        limit: Duration,
        speaker: &Speaker,
        tool: &str,
    ) -> Result<Result<String, String>, Halt> {
        // Both streams in the order in which they are written.
        let command = ["sh".to_owned(), "-c".to_owned(), format!("exec 2>&1\n{command}")];
        let started = supervised::spawn(self.program, &command, self.place, AgentStdin::Empty);
        let (mut process, Pipes { stdin, stdout, .. }) = match started {
            Ok(started) => started,
            Err(err) => return Ok(Err(format!("the command cannot be started: {err}"))),
        };
        let mut output = Output::default();
        let deadline = Instant::now() + limit;
        let hearing = async {
            hear(Lines::new(stdout, LONGEST_LINE), &mut output, speaker, tool).await?;
            // It may have closed its output and go on.
            process.exited().await;
            Ok::<(), Unheard>(())
        };
        let heard = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(Interruption::Stopped),
            heard = timeout_at(deadline, hearing) => match heard {
                Ok(Ok(())) => Ok(()),
                Ok(Err(Unheard)) => Err(Interruption::Unheard),
                Err(_) => Err(Interruption::Late),
            },
        };
        let status = self.bury(&mut process, heard.is_err()).await;
        // The supervisor ends with its stdin, so it stays open until here.
        drop(stdin);
        match heard {
            Ok(()) => Ok(told(output, status)),
            Err(Interruption::Late) => {
                let seconds = limit.as_secs();
                output
                    .note(&format!("[stopped after {seconds} seconds, with all that it started]"));
                Ok(Err(output.text()))
            }
            Err(Interruption::Stopped) => Err(Halt::Cancelled),
            Err(Interruption::Unheard) => Err(Halt::Unheard),
        }
    }

    async fn bury(&self, process: &mut Supervised, interrupted: bool) -> Option<ExitStatus> {
        if interrupted {
            process.end();
        }
        tokio::select! {
            status = process.gone() => return status,
            () = self.hurry.cancelled() => process.kill(),
        }
        process.gone().await
    }
}

async fn hear(
    mut lines: Lines<tokio::process::ChildStdout>,
    output: &mut Output,
    speaker: &Speaker,
    tool: &str,
) -> Result<(), Unheard> {
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => String::from_utf8_lossy(&line).into_owned(),
            Err(LineError::TooLong { .. }) => {
                lines.discard();
                "[a line that is too long]".to_owned()
            }
            Ok(None) | Err(LineError::Read(_)) => break,
        };
        show(&line, output, speaker, tool).await?;
    }
    let rest = String::from_utf8_lossy(lines.rest()).into_owned();
    if rest.is_empty() { Ok(()) } else { show(&rest, output, speaker, tool).await }
}

async fn show(
    line: &str,
    output: &mut Output,
    speaker: &Speaker,
    tool: &str,
) -> Result<(), Unheard> {
    let before = output.size;
    output.push(line);
    if output.size <= MOST_SHOWN {
        speaker.tell_output(tool, &format!("{line}\n")).await
    } else if before <= MOST_SHOWN {
        speaker.tell_output(tool, "[more output is not shown]\n").await
    } else {
        Ok(())
    }
}

fn told(mut output: Output, status: Option<ExitStatus>) -> Result<String, String> {
    if status.is_some_and(|status| status.success()) {
        if output.size == 0 {
            output.note("[no output]");
        }
        return Ok(output.text());
    }
    output.note(&format!("[{}]", described(status)));
    Err(output.text())
}

/// Lines of a command; those in the middle go first.
#[derive(Debug, Default)]
struct Output {
    head: String,
    tail: VecDeque<String>,
    tail_size: usize,
    size: usize,
    left_out: usize,
}

impl Output {
    fn push(&mut self, line: &str) {
        self.size += line.len() + 1;
        if self.tail.is_empty() && self.head.len() + line.len() <= HEAD {
            self.head.push_str(line);
            self.head.push('\n');
            return;
        }
        self.tail_size += line.len() + 1;
        self.tail.push_back(line.to_owned());
        while self.tail_size > TAIL && self.tail.len() > 1 {
            let gone = self.tail.pop_front().map_or(0, |line| line.len() + 1);
            self.tail_size -= gone;
            self.left_out += gone;
        }
    }

    /// Something of our own, which is never left out.
    fn note(&mut self, note: &str) {
        self.tail.push_back(note.to_owned());
    }

    fn text(self) -> String {
        let mut text = self.head;
        if self.left_out > 0 {
            text.push_str(&format!("[{} bytes left out]\n", self.left_out));
        }
        for line in self.tail {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_loses_its_middle() {
        let mut output = Output::default();
        for number in 0..100_000 {
            output.push(&number.to_string());
        }
        let size = output.size;
        output.note("[exit status 1]");
        let text = output.text();
        assert!(text.len() < HEAD + TAIL + 100, "{}", text.len());
        assert!(text.starts_with("0\n1\n") && text.ends_with("99999\n[exit status 1]\n"));
        let left_out = text.lines().find(|line| line.ends_with("bytes left out]")).unwrap();
        let number = left_out[1..].split(' ').next().unwrap().parse::<usize>().unwrap();
        let notes = left_out.len() + 1 + "[exit status 1]\n".len();
        assert_eq!(text.len() - notes + number, size);
    }
}
