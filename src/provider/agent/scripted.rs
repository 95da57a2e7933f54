//! A code agent without a model: carries out the lines of its prompt, so that streaming, files, processes and
//! cancels can be tried offline. `Step` lists what it understands.

mod lines;
mod processes;
mod step;
mod workplace;

use super::{
    AGENT_INPUT_CAPACITY, AGENT_OUTPUT_CAPACITY, AgentEnd, AgentInput, AgentLink, AgentOutput,
    AgentPrompt, Ask, AskId, AskOption, AskOptionKind, Decision, Tool, ToolStatus,
};
use crate::process::{Launcher, Place, described};
use crate::task;
use processes::{Processes, RunError};
use std::collections::VecDeque;
use step::Step;
use tokio::sync::mpsc;
use tracing::error;
use workplace::Workplace;

pub(super) fn start(place: Place, launcher: Launcher) -> AgentLink {
    let (input, requests) = mpsc::channel(AGENT_INPUT_CAPACITY);
    let (answers, output) = mpsc::channel(AGENT_OUTPUT_CAPACITY);
    let (decided, decisions) = mpsc::channel(AGENT_INPUT_CAPACITY);
    let agent = Agent {
        inbox: Inbox { requests, held: VecDeque::new(), decided },
        answers,
        questions: Questions { decisions, last: 0 },
        notice: place.notice.clone(),
        workplace: Workplace::new(place.directory.clone()),
        processes: Processes::new(launcher, place),
    };
    task::spawn("agent-scripted", agent.run());
    AgentLink { input, output }
}

/// Why a prompt ended before its last line.
#[derive(Debug)]
enum Halt {
    Failed(String),
    LinkDropped,
}

#[derive(Debug)]
struct Agent {
    inbox: Inbox,
    answers: mpsc::Sender<AgentOutput>,
    questions: Questions,
    processes: Processes,
    workplace: Workplace,
    /// Told before the first command.
    notice: Option<String>,
}

impl Agent {
    async fn run(mut self) {
        while let Some(input) = self.inbox.next().await {
            let end = match input {
                AgentInput::Prompt(prompt) => self.work(&prompt).await,
                AgentInput::Cancel => self.cancel(Vec::new()).await,
                AgentInput::Warm | AgentInput::CancelNow | AgentInput::Answer { .. } => continue,
            };
            if end.is_err() {
                break;
            }
        }
        self.processes.end().await;
    }

    /// Works through one prompt. A cancel drops the script wherever it waits, also at a full output queue.
    async fn work(&mut self, prompt: &AgentPrompt) -> Result<(), Halt> {
        let mut script = Script {
            answers: &self.answers,
            questions: &mut self.questions,
            processes: &mut self.processes,
            workplace: &self.workplace,
            notice: &mut self.notice,
            said: Vec::new(),
            changed: Vec::new(),
        };
        let ended = tokio::select! {
            biased;
            stop = self.inbox.stop() => Err(stop),
            ended = script.run(&prompt.text) => Ok(ended),
        };
        match ended {
            Ok(ended) => ended,
            Err(Stop::Cancelled) => {
                let changed = std::mem::take(&mut script.changed);
                self.cancel(changed).await
            }
            Err(Stop::LinkDropped) => Err(Halt::LinkDropped),
        }
    }

    async fn cancel(&mut self, changed: Vec<String>) -> Result<(), Halt> {
        self.processes.end().await;
        if !changed.is_empty() {
            emit(&self.answers, AgentOutput::FilesChanged(changed)).await?;
        }
        emit(&self.answers, AgentOutput::Done(AgentEnd::Cancelled)).await
    }
}

/// What the session asks, read also while a prompt is worked on.
#[derive(Debug)]
struct Inbox {
    requests: mpsc::Receiver<AgentInput>,
    /// Prompts that came too early, at most [`AGENT_INPUT_CAPACITY`]; further ones are the session's fault and
    /// are refused in the log.
    held: VecDeque<AgentPrompt>,
    /// Answers on their way to the script, which may not have asked. Full: an answer that nobody asked for is lost.
    decided: mpsc::Sender<(AskId, Decision)>,
}

/// What the script asks; each question has a number of its own.
#[derive(Debug)]
struct Questions {
    decisions: mpsc::Receiver<(AskId, Decision)>,
    last: u64,
}

impl Questions {
    fn next(&mut self) -> AskId {
        self.last += 1;
        AskId(self.last)
    }

    async fn decision(&mut self, id: AskId) -> Decision {
        while let Some((answered, decision)) = self.decisions.recv().await {
            if answered == id {
                return decision;
            }
        }
        Decision::Cancelled
    }
}

#[derive(Debug)]
enum Stop {
    Cancelled,
    LinkDropped,
}

impl Inbox {
    async fn next(&mut self) -> Option<AgentInput> {
        match self.held.pop_front() {
            Some(prompt) => Some(AgentInput::Prompt(prompt)),
            None => self.requests.recv().await,
        }
    }

    async fn stop(&mut self) -> Stop {
        loop {
            match self.requests.recv().await {
                Some(AgentInput::Cancel) => return Stop::Cancelled,
                Some(AgentInput::Prompt(prompt)) if self.held.len() < AGENT_INPUT_CAPACITY => {
                    self.held.push_back(prompt);
                }
                Some(AgentInput::Prompt(_)) => {
                    error!("too many prompts at once; one is not carried out")
                }
                Some(AgentInput::Answer { id, decision }) => {
                    let _ = self.decided.try_send((id, decision));
                }
                Some(AgentInput::Warm | AgentInput::CancelNow) => (),
                None => return Stop::LinkDropped,
            }
        }
    }
}

/// One prompt on its way.
#[derive(Debug)]
struct Script<'a> {
    answers: &'a mpsc::Sender<AgentOutput>,
    questions: &'a mut Questions,
    processes: &'a mut Processes,
    workplace: &'a Workplace,
    notice: &'a mut Option<String>,
    said: Vec<String>,
    changed: Vec<String>,
}

impl Script<'_> {
    async fn run(&mut self, text: &str) -> Result<(), Halt> {
        let mut end = AgentEnd::Finished;
        for line in text.lines() {
            match self.carry_out(line).await {
                Ok(()) => (),
                Err(Halt::Failed(reason)) => {
                    end = AgentEnd::Failed { reason };
                    break;
                }
                Err(Halt::LinkDropped) => return Err(Halt::LinkDropped),
            }
        }
        self.report(end).await
    }

    async fn carry_out(&mut self, line: &str) -> Result<(), Halt> {
        match Step::parse(line).map_err(|err| Halt::Failed(err.to_string()))? {
            Step::Say(text) => {
                self.said.push(text.to_owned());
                Ok(())
            }
            Step::Stream(count) => self.stream(count).await,
            Step::Sleep(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Step::Write { path, text } => {
                self.write(path, text.replace("\\n", "\n").into()).await.map(drop)
            }
            Step::Read(path) => self.read(path).await,
            Step::Run(command) => self.run_command(command).await,
            Step::Ask(text) => self.ask(text).await,
            Step::Fail(reason) => Err(Halt::Failed(reason.to_owned())),
            Step::Image(path) => {
                let picture = workplace::picture().map_err(|err| Halt::Failed(err.to_string()))?;
                let made = self.write(path, picture).await?;
                self.emit(AgentOutput::FileMade(made)).await
            }
            Step::Echo(text) => self.line(text.to_owned()).await,
        }
    }

    async fn stream(&self, count: u32) -> Result<(), Halt> {
        for number in 1..=count {
            self.line(format!("line {number}")).await?;
        }
        Ok(())
    }

    async fn write(&mut self, path: &str, bytes: Vec<u8>) -> Result<String, Halt> {
        let written =
            self.workplace.write(path, bytes).await.map_err(|err| Halt::Failed(err.to_string()))?;
        if !self.changed.contains(&written) {
            self.changed.push(written.clone());
        }
        Ok(written)
    }

    async fn read(&self, path: &str) -> Result<(), Halt> {
        let bytes = self.workplace.read(path).await.map_err(|err| Halt::Failed(err.to_string()))?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            self.line(line.to_owned()).await?;
        }
        Ok(())
    }

    async fn run_command(&mut self, command: &str) -> Result<(), Halt> {
        if let Some(notice) = self.notice.take() {
            self.emit(AgentOutput::Note(notice)).await?;
        }
        let status = match self.processes.run(command, self.answers).await {
            Ok(status) => status,
            Err(RunError::LinkDropped) => return Err(Halt::LinkDropped),
            Err(err @ RunError::Start(_)) => return Err(Halt::Failed(err.to_string())),
        };
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        self.line(described(status)).await
    }

    /// Asks for permission and tells what was decided.
    async fn ask(&mut self, text: &str) -> Result<(), Halt> {
        let id = self.questions.next();
        let mut tool = asked_tool(id, text);
        self.emit(AgentOutput::Tool(tool.clone())).await?;
        let kinds =
            [AskOptionKind::AllowOnce, AskOptionKind::AllowAlways, AskOptionKind::RejectOnce];
        let options = kinds.map(|kind| AskOption { name: format!("{kind:?}"), kind }).to_vec();
        self.emit(AgentOutput::Ask(Ask { id, tool: tool.clone(), options })).await?;
        let (status, said) = match self.questions.decision(id).await {
            Decision::AllowOnce => (ToolStatus::Completed, "allowed once"),
            Decision::AllowAlways => (ToolStatus::Completed, "allowed always"),
            Decision::Deny => (ToolStatus::Failed, "denied"),
            Decision::Cancelled => (ToolStatus::Failed, "not decided"),
        };
        tool.status = status;
        tool.error = (status == ToolStatus::Failed).then(|| said.to_owned());
        self.emit(AgentOutput::Tool(tool)).await?;
        self.line(said.to_owned()).await
    }

    async fn report(&mut self, end: AgentEnd) -> Result<(), Halt> {
        if !self.changed.is_empty() {
            // A cancel while this waits finds nothing left to tell a second time only after it was sent.
            let place = self.answers.reserve().await.map_err(|_| Halt::LinkDropped)?;
            place.send(AgentOutput::FilesChanged(std::mem::take(&mut self.changed)));
        }
        if end == AgentEnd::Finished {
            let said = std::mem::take(&mut self.said).join("\n");
            let answer = if said.is_empty() { "done".to_owned() } else { said };
            self.emit(AgentOutput::WholeAnswer(answer)).await?;
        }
        self.emit(AgentOutput::Done(end)).await
    }

    async fn line(&self, text: String) -> Result<(), Halt> {
        self.emit(AgentOutput::Line(text)).await
    }

    async fn emit(&self, output: AgentOutput) -> Result<(), Halt> {
        emit(self.answers, output).await
    }
}

async fn emit(answers: &mpsc::Sender<AgentOutput>, output: AgentOutput) -> Result<(), Halt> {
    answers.send(output).await.map_err(|_| Halt::LinkDropped)
}

fn asked_tool(id: AskId, text: &str) -> Tool {
    Tool {
        name: Some("ask".to_owned()),
        input: Some(format!("{text:?}").into()),
        asked: true,
        ..Tool::new(format!("ask-{}", id.0), text.to_owned(), ToolStatus::Started)
    }
}

#[cfg(test)]
mod tests;
