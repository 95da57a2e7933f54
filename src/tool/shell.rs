//! The tool `shell:execute`. A command runs below a supervisor, like every agent, so that none of its processes
//! survives a cancel, a dropped link or a killed gateway.

use super::call::{Call, Context, Interrupted, Outcome, Output, OutputClosed, Work, arguments};
use super::registry::{Risk, Tool};
use super::workplace::Workplace;
use crate::process::{self, LineError, Lines, Pipes, ProgramStdin, Supervised, described};
use serde::Deserialize;
use serde_json::json;
use std::collections::VecDeque;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::process::ChildStdout;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

pub(super) static EXECUTE: Tool = Tool { name: "shell:execute", risk: Risk::Execute, prepare };

/// Default timeout, and the longest timeout that a call can ask for.
const DEFAULT_SECONDS: u64 = 120;
pub const LONGEST_SECONDS: u64 = 1800;
/// Longer lines are left out.
const LONGEST_LINE: usize = 64 * 1024;
/// Output that is shown while the command runs; more is only counted.
const MOST_SHOWN: usize = 256 * 1024;
/// Bytes of the result that are kept from the beginning and from the end of the output.
const HEAD: usize = 8 * 1024;
const TAIL: usize = 24 * 1024;

#[derive(Debug)]
pub(super) struct Command {
    script: String,
    timeout: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    seconds: Option<u64>,
}

fn prepare(_: &Workplace, text: &str) -> Result<Call, String> {
    let Arguments { command, seconds } = arguments(&EXECUTE, text)?;
    let seconds = seconds.unwrap_or(DEFAULT_SECONDS).clamp(1, LONGEST_SECONDS);
    let input = json!({ "command": command });
    let title_values = vec![("command", command.clone())];
    let timeout = Duration::from_secs(seconds);
    let work = Work::Execute(Command { script: command, timeout });
    Ok(Call { tool: &EXECUTE, input, title_values, path: None, lines: None, work })
}

/// Limits the address space of the shell and of everything that it starts; none of them can raise it again.
fn memory_limit(bytes: u64) -> String {
    format!("ulimit -v {} || exit 126\n", bytes / 1024)
}

impl Command {
    pub(super) fn script(&self) -> &str {
        &self.script
    }
}

/// Why a command is stopped before it ends by itself.
enum Early {
    Cancelled,
    Timeout,
    OutputClosed,
}

/// Returns, in every case, only when the command and all processes that it started are gone.
pub(super) async fn run(
    command: &Command,
    context: &Context,
    output: &impl Output,
) -> Result<Outcome, Interrupted> {
    // One stream for stdout and stderr keeps the order in which the command writes.
    let limit = context.memory.map_or_else(String::new, memory_limit);
    let script = format!("exec 2>&1\n{limit}{}", command.script);
    let shell = ["sh".to_owned(), "-c".to_owned(), script];
    let started = process::spawn(&context.launcher, &shell, &context.place, ProgramStdin::Empty);
    let (mut process, Pipes { stdin, stdout, .. }) = match started {
        Ok(started) => started,
        Err(err) => return Ok(Err(format!("the command cannot be started: {err}"))),
    };
    let mut kept = Kept::default();
    let longest = context.longest.map_or(command.timeout, |most| most.min(command.timeout));
    let deadline = Instant::now() + longest;
    let reading = async {
        read(Lines::new(stdout, LONGEST_LINE), &mut kept, output).await?;
        // The command may close its output and continue.
        process.exited().await;
        Ok::<(), OutputClosed>(())
    };
    let ended = tokio::select! {
        biased;
        () = context.stop.cancelled() => Err(Early::Cancelled),
        read = timeout_at(deadline, reading) => match read {
            Ok(Ok(())) => Ok(()),
            Ok(Err(OutputClosed)) => Err(Early::OutputClosed),
            Err(_) => Err(Early::Timeout),
        },
    };
    let status = wait_until_gone(&mut process, ended.is_err(), &context.kill_now).await;
    // The supervisor ends when its stdin is closed, so stdin stays open until here.
    drop(stdin);
    match ended {
        Ok(()) => Ok(outcome(kept, status)),
        Err(Early::Timeout) => {
            let seconds = longest.as_secs();
            kept.note(&format!(
                "[timeout: stopped after {seconds} seconds, with all its processes]"
            ));
            Ok(Err(kept.text()))
        }
        Err(Early::Cancelled) => Err(Interrupted::Cancelled),
        Err(Early::OutputClosed) => Err(Interrupted::OutputClosed),
    }
}

async fn wait_until_gone(
    process: &mut Supervised,
    stop: bool,
    kill_now: &CancellationToken,
) -> Option<ExitStatus> {
    if stop {
        process.end();
    }
    tokio::select! {
        status = process.gone() => return status,
        () = kill_now.cancelled() => process.kill(),
    }
    process.gone().await
}

async fn read(
    mut lines: Lines<ChildStdout>,
    kept: &mut Kept,
    output: &impl Output,
) -> Result<(), OutputClosed> {
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => String::from_utf8_lossy(&line).into_owned(),
            Err(LineError::TooLong { .. }) => {
                lines.discard();
                "[a line that is too long]".to_owned()
            }
            Ok(None) | Err(LineError::Read(_)) => break,
        };
        show(&line, kept, output).await?;
    }
    let rest = String::from_utf8_lossy(lines.rest()).into_owned();
    if rest.is_empty() { Ok(()) } else { show(&rest, kept, output).await }
}

async fn show(line: &str, kept: &mut Kept, output: &impl Output) -> Result<(), OutputClosed> {
    let before = kept.size;
    kept.push(line);
    if kept.size <= MOST_SHOWN {
        output.print(&format!("{line}\n")).await
    } else if before <= MOST_SHOWN {
        output.print("[more output is not shown]\n").await
    } else {
        Ok(())
    }
}

fn outcome(mut kept: Kept, status: Option<ExitStatus>) -> Outcome {
    if status.is_some_and(|status| status.success()) {
        if kept.size == 0 {
            kept.note("[no output]");
        }
        return Ok(kept.text());
    }
    kept.note(&format!("[{}]", described(status)));
    Err(kept.text())
}

/// The output of a command. Lines in the middle are left out first.
#[derive(Debug, Default)]
struct Kept {
    head: String,
    tail: VecDeque<String>,
    tail_size: usize,
    size: usize,
    left_out: usize,
}

impl Kept {
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

    /// Adds a remark of the gateway, which is never left out.
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
        let mut kept = Kept::default();
        for number in 0..100_000 {
            kept.push(&number.to_string());
        }
        let size = kept.size;
        kept.note("[exit status 1]");
        let text = kept.text();
        assert!(text.len() < HEAD + TAIL + 100, "{}", text.len());
        assert!(text.starts_with("0\n1\n") && text.ends_with("99999\n[exit status 1]\n"));
        let left_out = text.lines().find(|line| line.ends_with("bytes left out]")).unwrap();
        let number = left_out[1..].split(' ').next().unwrap().parse::<usize>().unwrap();
        let notes = left_out.len() + 1 + "[exit status 1]\n".len();
        assert_eq!(text.len() - notes + number, size);
    }
}
