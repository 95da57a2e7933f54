//! Agents without the protocol: one process per prompt, which gets the prompt as an argument or a file and asks nobody.

use super::argument::{self, Filled};
use super::program::{Program, installed};
use super::{
    AGENT_INPUT_CAPACITY, AGENT_OUTPUT_CAPACITY, AgentEnd, AgentInput, AgentLink, AgentOutput,
    AgentPrompt, AgentState, Cost, Tool, ToolStatus, Usage,
};
use crate::process::{
    self, LineError, Lines, NOT_STARTED, Pipes, Place, ProgramStdin, Stderr, Supervised, described,
};
use crate::provider::row::{CommandFormat, JsonMapping};
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
/// Of a tool, in letters.
const LONGEST_NAME: usize = 1024;
/// In which commands tell what they cost.
const CURRENCY: &str = "USD";
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
        let started = process::spawn(
            &self.program.launcher(),
            &filled.command,
            &self.place,
            ProgramStdin::Empty,
        )
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
        let filled =
            argument::fill(&self.program.command(), prompt, self.place.home.as_ref()).await;
        filled.map_err(|err| format!("{}: {err}", row.label))
    }

    /// Tells what the command writes until it has ended, or nobody wants it any more.
    async fn listen(
        &mut self,
        told: &mut Telling,
        process: &mut Supervised,
        stdout: ChildStdout,
        stderr: &mut Stderr,
    ) -> Heard {
        let mut cancel_at: Option<Instant> = None;
        {
            let reading = read(told, stdout, stderr);
            tokio::pin!(reading);
            loop {
                tokio::select! {
                    biased;
                    input = self.inbox.recv() => {
                        if let Some(heard) = self.heed(input, process, &mut cancel_at) {
                            return heard;
                        }
                    }
                    () = due(cancel_at) => return Heard::Cancelled,
                    ended = &mut reading => match ended {
                        Ok(()) => break,
                        Err(LinkDropped) => return Heard::LinkDropped,
                    },
                }
            }
        }
        if told.failure.is_some() {
            // Nobody reads what it writes any more.
            process.end();
        }
        // It may have closed its output and go on.
        loop {
            tokio::select! {
                biased;
                input = self.inbox.recv() => {
                    if let Some(heard) = self.heed(input, process, &mut cancel_at) {
                        return heard;
                    }
                }
                () = due(cancel_at) => return Heard::Cancelled,
                line = stderr.next() => {
                    if told.tell(AgentOutput::Line(line)).await.is_err() {
                        return Heard::LinkDropped;
                    }
                }
                () = process.exited() => break,
            }
        }
        if cancel_at.is_some() { Heard::Cancelled } else { Heard::All }
    }

    /// What comes from the session while the command runs; `None`: go on.
    fn heed(
        &mut self,
        input: Option<AgentInput>,
        process: &Supervised,
        cancel_at: &mut Option<Instant>,
    ) -> Option<Heard> {
        match input {
            Some(AgentInput::Cancel | AgentInput::CancelNow) if cancel_at.is_none() => {
                process.interrupt();
                *cancel_at = Some(Instant::now() + CANCEL_LIMIT);
                None
            }
            Some(AgentInput::Cancel | AgentInput::CancelNow) => Some(Heard::Cancelled),
            Some(AgentInput::Prompt(prompt)) => {
                hold(&mut self.held, prompt);
                None
            }
            Some(AgentInput::Warm | AgentInput::Answer { .. }) => None,
            None => Some(Heard::LinkDropped),
        }
    }

    /// The command has ended: how, and with what words?
    async fn bury(
        &mut self,
        process: &mut Supervised,
        mut stderr: Stderr,
        told: Telling,
    ) -> Result<AgentEnd, LinkDropped> {
        let status = process.gone().await;
        stderr.drain(LAST_WORDS_LIMIT).await;
        let end = told.finish(status, &stderr.last_words(), &self.program.row.label).await?;
        let not_started = status.and_then(|status| status.code()) == Some(i32::from(NOT_STARTED));
        let hint = self.program.box_hint(&self.place).filter(|_| not_started);
        Ok(match (end, hint) {
            (AgentEnd::Failed { reason }, Some(hint)) => {
                AgentEnd::Failed { reason: format!("{reason}; {hint}") }
            }
            (end, _) => end,
        })
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

/// Until the command writes no more to its stdout. What it says on stderr is for people, and told at once.
async fn read(
    told: &mut Telling,
    stdout: ChildStdout,
    stderr: &mut Stderr,
) -> Result<(), LinkDropped> {
    let mut lines = Lines::new(stdout, LONGEST_LINE);
    told.tell(AgentOutput::State(AgentState::Thinking)).await?;
    loop {
        tokio::select! {
            line = stderr.next() => told.tell(AgentOutput::Line(line)).await?,
            line = lines.next() => match line {
                Ok(Some(line)) => told.line(&line).await?,
                Ok(None) => break,
                Err(err) => {
                    told.broken(&err);
                    return Ok(());
                }
            },
        }
    }
    let rest = lines.rest().to_vec();
    if rest.is_empty() { Ok(()) } else { told.line(&rest).await }
}

async fn due(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
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
    tools: usize,
    /// What the run has used, as far as that was told.
    spent: Usage,
}

impl Telling {
    fn new(format: CommandFormat, output: mpsc::Sender<AgentOutput>) -> Self {
        Self {
            format,
            output,
            text: String::new(),
            answered: false,
            result: None,
            failure: None,
            tools: 0,
            spent: Usage { used: 0, size: 0, cost: None },
        }
    }

    async fn tell(&self, output: AgentOutput) -> Result<(), LinkDropped> {
        self.output.send(output).await.map_err(|_| LinkDropped)
    }

    async fn line(&mut self, line: &[u8]) -> Result<(), LinkDropped> {
        let line = String::from_utf8_lossy(line).into_owned();
        let mapping = match &self.format {
            CommandFormat::JsonLines(mapping) => mapping.clone(),
            CommandFormat::Text => {
                if self.text.len() + line.len() < LONGEST_ANSWER {
                    self.text.push_str(&line);
                    self.text.push('\n');
                }
                return self.tell(AgentOutput::Line(line)).await;
            }
        };
        match serde_json::from_str::<Value>(&line) {
            Ok(value) => self.value(&mapping, &value).await,
            Err(_) => self.tell(AgentOutput::Line(line)).await,
        }
    }

    async fn value(&mut self, mapping: &JsonMapping, value: &Value) -> Result<(), LinkDropped> {
        let at = |pointer: &Option<String>| pointer.as_deref().and_then(|at| value.pointer(at));
        if let Some(failure) = at(&mapping.error).and_then(reason) {
            self.failure = Some(failure);
        }
        if let Some(result) = at(&mapping.done).and_then(Value::as_str) {
            self.result = Some(result.to_owned());
        }
        if let Some(name) = at(&mapping.tool).and_then(Value::as_str) {
            self.tools += 1;
            self.tell(AgentOutput::Tool(used(self.tools, name))).await?;
        }
        if let Some(usage) = usage(mapping, value, &mut self.spent) {
            self.tell(AgentOutput::Usage(usage)).await?;
        }
        if let Some(piece) = value.pointer(&mapping.text).and_then(Value::as_str) {
            self.answered = true;
            self.tell(AgentOutput::Answer(piece.to_owned())).await?;
        }
        Ok(())
    }

    fn broken(&mut self, err: &LineError) {
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

/// What the run has used with this line; `None`: it says nothing about that.
fn usage(mapping: &JsonMapping, value: &Value, spent: &mut Usage) -> Option<Usage> {
    let counts = mapping.tokens.iter().filter_map(|at| value.pointer(at)?.as_u64());
    let used = counts.reduce(u64::saturating_add);
    let amount = mapping.cost.as_deref().and_then(|at| value.pointer(at)?.as_f64());
    used.map(|_| ()).or(amount.map(|_| ()))?;
    spent.used = used.unwrap_or(spent.used);
    if let Some(amount) = amount {
        spent.cost = Some(Cost { amount, currency: CURRENCY.to_owned() });
    }
    Some(spent.clone())
}

/// Nobody was asked about it, and it is told when it is over or under way: that is not to be seen.
fn used(number: usize, name: &str) -> Tool {
    let title = name.chars().take(LONGEST_NAME).collect();
    Tool::new(format!("tool-{number}"), title, ToolStatus::Completed)
}

/// Why something failed; nothing, false and an empty text mean that it did not.
fn reason(value: &Value) -> Option<String> {
    let is_nothing = value.is_null() || *value == Value::Bool(false) || value.as_str() == Some("");
    let message = value.as_str().or_else(|| value.get("message")?.as_str());
    (!is_nothing).then(|| message.map_or_else(|| value.to_string(), str::to_owned))
}
