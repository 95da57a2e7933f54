//! Agents without the protocol: one process per prompt, which gets the prompt as an argument or a file and asks nobody.

use super::argument::{self, Filled};
use super::line::{LineError, Lines};
use super::program::{Program, installed};
use super::supervised::{self, Pipes, Stderr, Supervised, described};
use super::{
    AGENT_INPUT_CAPACITY, AGENT_OUTPUT_CAPACITY, AgentEnd, AgentInput, AgentLink, AgentOutput,
    AgentPrompt, AgentState, AgentStdin, Place,
};
use crate::message::CommandFormat;
use crate::task;
use serde_json::Value;
use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::ChildStdout;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tracing::error;

const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// So much of plain text is repeated as the answer.
const LONGEST_ANSWER: usize = 256 * 1024;
/// How long a command may take after INT, before everything is ended.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);
const LAST_WORDS_LIMIT: Duration = Duration::from_millis(500);

pub(super) fn start(program: Arc<Program>, format: CommandFormat, place: Place) -> AgentLink {
    let (input, inbox) = mpsc::channel(AGENT_INPUT_CAPACITY);
    let (output, answers) = mpsc::channel(AGENT_OUTPUT_CAPACITY);
    let agent = Agent { program, format, place, inbox, held: VecDeque::new(), output };
    task::spawn("agent-command", agent.run());
    AgentLink { input, output: answers }
}

#[derive(Debug)]
struct Agent {
    program: Arc<Program>,
    format: CommandFormat,
    place: Place,
    inbox: mpsc::Receiver<AgentInput>,
    /// Prompts that came too early, at most [`AGENT_INPUT_CAPACITY`].
    held: VecDeque<AgentPrompt>,
    output: mpsc::Sender<AgentOutput>,
}

/// Nobody wants to know any more.
#[derive(Debug)]
struct LinkDropped;

impl Agent {
    async fn run(mut self) {
        loop {
            let input = match self.held.pop_front() {
                Some(prompt) => Some(AgentInput::Prompt(prompt)),
                None => self.inbox.recv().await,
            };
            let end = match input {
                Some(AgentInput::Prompt(prompt)) => self.work(&prompt).await,
                Some(AgentInput::Cancel) => Ok(AgentEnd::Cancelled),
                Some(AgentInput::Warm | AgentInput::CancelNow | AgentInput::Answer { .. }) => {
                    continue;
                }
                None => break,
            };
            let Ok(end) = end else { break };
            if self.output.send(AgentOutput::Done(end)).await.is_err() {
                break;
            }
        }
    }

    async fn work(&mut self, prompt: &AgentPrompt) -> Result<AgentEnd, LinkDropped> {
        let filled = match self.filled(prompt).await {
            Ok(filled) => filled,
            Err(reason) => return Ok(AgentEnd::Failed { reason }),
        };
        let label = &self.program.row.label;
        let started =
            supervised::spawn(&self.program, &filled.command, &self.place, AgentStdin::Empty)
                .map_err(|err| format!("{label} cannot be started: {err}"));
        let (mut process, pipes) = match started {
            Ok(started) => started,
            Err(reason) => return Ok(AgentEnd::Failed { reason }),
        };
        let Pipes { stdin, stdout, mut stderr } = pipes;
        let mut told = Telling::new(self.format.clone(), self.output.clone());
        let heard = self.listen(&mut told, &mut process, stdout, &mut stderr).await;
        let end = match heard {
            Heard::All => self.bury(&mut process, stderr, told).await,
            Heard::Cancelled => {
                self.wait(&mut process).await;
                Ok(AgentEnd::Cancelled)
            }
            Heard::LinkDropped => {
                process.end();
                process.gone().await;
                Err(LinkDropped)
            }
        };
        drop(stdin);
        end
    }

    /// The command with its prompt, or why it cannot be started.
    async fn filled(&self, prompt: &AgentPrompt) -> Result<Filled, String> {
        let row = &self.program.row;
        if self.place.confinement.is_none() {
            let why = self.place.notice.as_deref().unwrap_or("there is none");
            return Err(format!(
                "{} asks nobody before it acts, so it works in a box only: {why}",
                row.label
            ));
        }
        if installed(row).is_none() {
            let command = row.command.first().map_or("", String::as_str);
            return Err(format!("{}: `{command}` is not installed. {}", row.label, row.install));
        }
        let filled = argument::fill(&row.command, prompt, self.place.home.as_ref()).await;
        filled.map_err(|err| format!("{}: {err}", row.label))
    }

    /// Tells what the command writes until it writes no more, or nobody wants it any more.
    async fn listen(
        &mut self,
        told: &mut Telling,
        process: &mut Supervised,
        stdout: ChildStdout,
        stderr: &mut Stderr,
    ) -> Heard {
        let mut lines = Lines::new(stdout, LONGEST_LINE);
        let reading = async {
            told.tell(AgentOutput::State(AgentState::Thinking)).await?;
            loop {
                tokio::select! {
                    _ = stderr.next() => (),
                    line = lines.next() => match line {
                        Ok(Some(line)) => told.line(&line).await?,
                        Ok(None) => break,
                        Err(err) => {
                            told.failed(&err);
                            break;
                        }
                    },
                }
            }
            let rest = lines.rest().to_vec();
            if !rest.is_empty() && told.failure.is_none() {
                told.line(&rest).await?;
            }
            Ok::<(), LinkDropped>(())
        };
        tokio::pin!(reading);
        let mut cancel_at: Option<Instant> = None;
        loop {
            let deadline = async {
                match cancel_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                input = self.inbox.recv() => match input {
                    Some(AgentInput::Cancel | AgentInput::CancelNow) if cancel_at.is_none() => {
                        process.interrupt();
                        cancel_at = Some(Instant::now() + CANCEL_LIMIT);
                    }
                    Some(AgentInput::Cancel | AgentInput::CancelNow) => return Heard::Cancelled,
                    Some(AgentInput::Prompt(prompt)) => hold(&mut self.held, prompt),
                    Some(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                    None => return Heard::LinkDropped,
                },
                () = deadline => return Heard::Cancelled,
                ended = &mut reading => match ended {
                    Err(LinkDropped) => return Heard::LinkDropped,
                    Ok(()) if cancel_at.is_some() => return Heard::Cancelled,
                    Ok(()) => return Heard::All,
                },
            }
        }
    }

    /// The command writes no more: now it has to end.
    async fn bury(
        &mut self,
        process: &mut Supervised,
        mut stderr: Stderr,
        told: Telling,
    ) -> Result<AgentEnd, LinkDropped> {
        let limit = Instant::now() + CANCEL_LIMIT;
        let status = tokio::select! {
            status = process.gone() => status,
            () = sleep_until(limit) => {
                process.end();
                process.gone().await
            }
        };
        stderr.drain(LAST_WORDS_LIMIT).await;
        told.finish(status, &stderr.last_words(), &self.program.row.label).await
    }

    /// Ends everything; a further cancel does not wait.
    async fn wait(&mut self, process: &mut Supervised) {
        process.end();
        let mut link_open = true;
        loop {
            tokio::select! {
                _ = process.gone() => return,
                input = self.inbox.recv(), if link_open => match input {
                    Some(AgentInput::Cancel | AgentInput::CancelNow) => process.kill(),
                    Some(AgentInput::Prompt(prompt)) => hold(&mut self.held, prompt),
                    Some(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                    None => link_open = false,
                },
            }
        }
    }
}

#[derive(Debug)]
enum Heard {
    All,
    Cancelled,
    LinkDropped,
}

fn hold(held: &mut VecDeque<AgentPrompt>, prompt: AgentPrompt) {
    if held.len() < AGENT_INPUT_CAPACITY {
        held.push_back(prompt);
    } else {
        error!("too many prompts at once; one is not carried out");
    }
}

/// What a command's lines mean.
#[derive(Debug)]
struct Telling {
    format: CommandFormat,
    output: mpsc::Sender<AgentOutput>,
    /// Plain text so far.
    text: String,
    answered: bool,
    /// The whole answer, as the command gave it at its end.
    result: Option<String>,
    failure: Option<String>,
}

impl Telling {
    fn new(format: CommandFormat, output: mpsc::Sender<AgentOutput>) -> Self {
        Self { format, output, text: String::new(), answered: false, result: None, failure: None }
    }

    async fn tell(&self, output: AgentOutput) -> Result<(), LinkDropped> {
        self.output.send(output).await.map_err(|_| LinkDropped)
    }

    async fn line(&mut self, line: &[u8]) -> Result<(), LinkDropped> {
        let line = String::from_utf8_lossy(line).into_owned();
        let CommandFormat::JsonLines { text, done, error } = &self.format else {
            if self.text.len() + line.len() < LONGEST_ANSWER {
                self.text.push_str(&line);
                self.text.push('\n');
            }
            return self.tell(AgentOutput::Line(line)).await;
        };
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            return self.tell(AgentOutput::Line(line)).await;
        };
        let at = |pointer: &Option<String>| pointer.as_deref().and_then(|at| value.pointer(at));
        if let Some(failure) = at(error).and_then(reason) {
            self.failure = Some(failure);
        }
        if let Some(result) = at(done).and_then(Value::as_str) {
            self.result = Some(result.to_owned());
        }
        match value.pointer(text).and_then(Value::as_str) {
            Some(piece) => {
                let piece = piece.to_owned();
                self.answered = true;
                self.tell(AgentOutput::Answer(piece)).await
            }
            None => Ok(()),
        }
    }

    fn failed(&mut self, err: &LineError) {
        self.failure = Some(err.to_string());
    }

    async fn finish(
        self,
        status: Option<ExitStatus>,
        last_words: &str,
        label: &str,
    ) -> Result<AgentEnd, LinkDropped> {
        if let Some(reason) = &self.failure {
            return Ok(AgentEnd::Failed { reason: format!("{label}: {reason}") });
        }
        if !status.is_some_and(|status| status.success()) {
            let said = if last_words.is_empty() { "" } else { "; it said: " };
            let reason = format!("{label}: {}{said}{last_words}", described(status));
            return Ok(AgentEnd::Failed { reason });
        }
        let answer = self.result.clone().unwrap_or_else(|| self.text.trim_end().to_owned());
        if !self.answered && !answer.is_empty() {
            self.tell(AgentOutput::WholeAnswer(answer)).await?;
        }
        Ok(AgentEnd::Finished)
    }
}

/// Why something failed; nothing, false and an empty text mean that it did not.
fn reason(value: &Value) -> Option<String> {
    let is_nothing = value.is_null() || *value == Value::Bool(false) || value.as_str() == Some("");
    let message = value.as_str().or_else(|| value.get("message")?.as_str());
    (!is_nothing).then(|| message.map_or_else(|| value.to_string(), str::to_owned))
}
