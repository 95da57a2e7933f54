//! Agents that speak the Agent Client Protocol, version 1, over their stdin and stdout, or from within this process.
//! They are started when somebody is about to ask something, at the latest with the first prompt, kept for the next, and started again when they died; the conversation goes on
//! if it can.

mod content;
mod message;
mod opening;
mod option;
mod peer;
mod question;
mod replay;
mod sweep;
mod tools;
mod turn;
mod warmth;
pub(crate) mod wire;

use super::inside::Inside;
use super::program::Program;
use super::{
    AGENT_INPUT_CAPACITY, AGENT_OUTPUT_CAPACITY, AgentEnd, AgentInput, AgentLink, AgentOutput,
    AgentPrompt, AgentState,
};
use crate::process::tree::Process;
use crate::process::{Place, Stderr, described};
use crate::task;
use agent_client_protocol_schema::v1::{PromptCapabilities, SessionUpdate};
use message::Messages;
use option::Choices;
use peer::{Peer, Said, Silence};
use question::Questions;
use replay::Replay;
use serde::Serialize;
use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
pub(crate) use tools::ENGLISH_TITLE;
use tools::Tools;
use tracing::{debug, error, info};
use warmth::Early;
use wire::Incoming;

/// Longer pieces of an answer are told in several.
const LONGEST_PIECE: usize = 64 * 1024;
/// What a program wrote last is on its way already when it is gone.
const LAST_WORDS_LIMIT: Duration = Duration::from_millis(500);

pub(super) fn start(program: Arc<Program>, place: Place) -> AgentLink {
    link(program, None, place)
}

pub(super) fn start_inside(agent: Inside, place: Place) -> AgentLink {
    link(Arc::clone(agent.program()), Some(agent), place)
}

fn link(program: Arc<Program>, inside: Option<Inside>, place: Place) -> AgentLink {
    let (input, inbox) = mpsc::channel(AGENT_INPUT_CAPACITY);
    let (output, answers) = mpsc::channel(AGENT_OUTPUT_CAPACITY);
    let agent = Agent {
        session: program.resume.clone(),
        program,
        inside,
        place,
        inbox,
        held: VecDeque::new(),
        output,
        outbox: VecDeque::new(),
        peer: None,
        takes: PromptCapabilities::default(),
        choices: Choices::default(),
        messages: Messages::default(),
        tools: Tools::default(),
        questions: Questions::default(),
        state: None,
        listening: Listening::WhenTold,
        passed_over: PassedOver::default(),
        early: None,
        replay: Replay::None,
        family: Vec::new(),
        wounded: false,
        pictures: 0,
    };
    task::spawn("agent-acp", agent.run());
    AgentLink { input, output: answers }
}

#[derive(Debug)]
struct Agent {
    program: Arc<Program>,
    /// An agent of our own, which is no program.
    inside: Option<Inside>,
    place: Place,
    inbox: mpsc::Receiver<AgentInput>,
    /// Prompts that came too early, at most [`AGENT_INPUT_CAPACITY`].
    held: VecDeque<AgentPrompt>,
    output: mpsc::Sender<AgentOutput>,
    /// What one message led to and the queue has no room for yet.
    outbox: VecDeque<AgentOutput>,
    peer: Option<Peer>,
    /// The agent's name for the conversation, also while no process knows it.
    session: Option<String>,
    takes: PromptCapabilities,
    /// What the session can be set to, as far as the agent has told it.
    choices: Choices,
    messages: Messages,
    tools: Tools,
    questions: Questions,
    state: Option<AgentState>,
    listening: Listening,
    passed_over: PassedOver,
    /// There while the process was started and nobody has asked it anything.
    early: Option<Early>,
    /// Whether a loaded conversation may still be repeated.
    replay: Replay,
    /// Who was there when the prompt was sent: the agent, and helpers of its own.
    family: Vec<Process>,
    /// With a cancelled prompt we have ended something that it may need.
    wounded: bool,
    /// How many pictures this prompt has shown.
    pictures: usize,
}

/// When the agent is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listening {
    /// Only when all that it said before was told.
    WhenTold,
    /// Its answer to a cancel must not wait behind what nobody takes.
    Always,
}

/// What the agent said and nobody was told.
#[derive(Debug, Default)]
struct PassedOver {
    /// Output while there was no prompt.
    late: u64,
    /// Messages that we do not know.
    unknown: u64,
}

/// What happens next.
#[derive(Debug)]
enum Happening {
    Input(AgentInput),
    Said(Said),
    /// The time that was given is over.
    Late,
    LinkDropped,
}

/// Nobody wants to know any more.
#[derive(Debug)]
struct LinkDropped;

/// Why a prompt ended without an answer of the agent.
#[derive(Debug)]
enum Halt {
    Failed(String),
    Cancelled,
    LinkDropped,
}

impl Agent {
    async fn run(mut self) {
        loop {
            let happening = match self.held.pop_front() {
                Some(prompt) => Happening::Input(AgentInput::Prompt(prompt)),
                None => self.next(None).await,
            };
            match happening {
                Happening::Input(AgentInput::Prompt(prompt)) => {
                    let end = match self.turn(&prompt).await {
                        Ok(end) => end,
                        Err(Halt::Failed(reason)) => AgentEnd::Failed { reason },
                        Err(Halt::Cancelled) => AgentEnd::Cancelled,
                        Err(Halt::LinkDropped) => break,
                    };
                    self.settle();
                    self.outbox.push_back(AgentOutput::Done(end));
                }
                Happening::Input(AgentInput::Warm) => match self.warm_up().await {
                    Ok(()) => (),
                    Err(LinkDropped) => break,
                },
                Happening::Input(AgentInput::Cancel) => {
                    self.outbox.push_back(AgentOutput::Done(AgentEnd::Cancelled));
                }
                Happening::Input(AgentInput::CancelNow | AgentInput::Answer { .. })
                | Happening::Late => (),
                Happening::Said(said) => self.while_idle(said).await,
                Happening::LinkDropped => break,
            }
        }
        // The link counts as open until everything is gone.
        let _ = self.bury().await;
        debug!(?self.passed_over, agent = self.program.row.name, "agent ended");
    }

    /// Waits for whatever happens first, and meanwhile tells what is to be told.
    async fn next(&mut self, until: Option<Instant>) -> Happening {
        loop {
            let told = self.outbox.is_empty();
            let (writer, speaker) = match &mut self.peer {
                Some(peer) => (Some(&mut peer.writer), Some((&mut peer.reader, &mut peer.host))),
                None => (None, None),
            };
            let crowded = writer.as_ref().is_some_and(|writer| writer.is_crowded());
            let listens = !crowded && (told || self.listening == Listening::Always);
            tokio::select! {
                biased;
                input = self.inbox.recv() => {
                    return input.map_or(Happening::LinkDropped, Happening::Input);
                }
                () = expired(until) => return Happening::Late,
                place = self.output.reserve(), if !told => match place {
                    Ok(place) => {
                        if let Some(output) = self.outbox.pop_front() {
                            place.send(output);
                        }
                    }
                    Err(_) => return Happening::LinkDropped,
                },
                () = flush(writer) => (),
                said = hear(speaker), if listens => return Happening::Said(said),
            }
        }
    }

    fn hold(&mut self, prompt: AgentPrompt) {
        if self.held.len() < AGENT_INPUT_CAPACITY {
            self.held.push_back(prompt);
        } else {
            error!("too many prompts at once; one is not carried out");
        }
    }

    /// What an agent says between two prompts is not told: it belongs to none.
    async fn while_idle(&mut self, said: Said) {
        match said {
            Said::Message(message) => self.on_other(message),
            Said::Complaint(_) => (),
            Said::Ended(why) => {
                info!(agent = self.program.row.name, %why, "an idle agent is gone; the next prompt starts it again");
                // Without a prompt there is nobody to tell.
                let _ = self.bury().await;
                self.forget_early();
            }
        }
    }

    /// Everything that is not of a prompt and not the answer that is waited for.
    fn on_other(&mut self, message: Incoming) {
        match message {
            Incoming::Refused { answer } => self.say(&answer),
            Incoming::Ask { id, .. } => self.answer(&question::cancelled(&id)),
            Incoming::Update(update) => self.on_late_update(update.update),
            Incoming::Response { .. } => self.passed_over.late += 1,
            Incoming::Unknown | Incoming::Noise(_) => self.passed_over.unknown += 1,
        }
    }

    /// Whether it still asks must be known whenever it says so.
    fn on_late_update(&mut self, update: SessionUpdate) {
        if let SessionUpdate::CurrentModeUpdate(mode) = update {
            self.tell(AgentOutput::Mode(mode.current_mode_id.to_string()));
            self.choices.change_mode(mode.current_mode_id);
        } else if let SessionUpdate::ConfigOptionUpdate(update) = update {
            self.choices.change_options(update.config_options);
        } else {
            self.passed_over.late += 1;
        }
    }

    /// The end of a prompt: nothing of it is open any more.
    fn settle(&mut self) {
        let open = self.questions.close();
        for answer in open {
            self.answer(&answer);
        }
        self.messages = Messages::default();
        self.tools.clear();
        self.pictures = 0;
        self.state = None;
        self.replay = Replay::None;
        self.listening = Listening::WhenTold;
        if self.passed_over.late > 0 {
            debug!(?self.passed_over, agent = self.program.row.name, "output was passed over");
        }
    }

    fn tell(&mut self, output: AgentOutput) {
        if let Some(early) = &mut self.early {
            return early.keep(output);
        }
        // While a cancel is under way nobody may take anything; what there is, is enough.
        if self.listening == Listening::WhenTold || self.outbox.len() < AGENT_OUTPUT_CAPACITY {
            self.outbox.push_back(output);
        } else {
            self.passed_over.late += 1;
        }
    }

    /// Something of our own about the agent.
    fn note(&mut self, text: String) {
        self.tell(AgentOutput::Note(text));
    }

    fn tell_text(&mut self, text: &str, kind: fn(String) -> AgentOutput) {
        let mut rest = text;
        while !rest.is_empty() {
            let limit = rest.len().min(LONGEST_PIECE);
            let border = (0..=limit).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
            let (piece, more) = rest.split_at(border);
            self.tell(kind(piece.to_owned()));
            rest = more;
        }
    }

    fn tell_state(&mut self, state: AgentState) {
        if self.early.is_none() && self.state != Some(state) {
            self.state = Some(state);
            self.tell(AgentOutput::State(state));
        }
    }

    fn say(&mut self, message: &str) {
        if let Some(peer) = &mut self.peer {
            peer.writer.push(message);
        }
    }

    /// An answer that cannot be written down is our bug, and the agent goes on waiting.
    fn answer(&mut self, answer: &serde_json::Result<String>) {
        match answer {
            Ok(message) => self.say(message),
            Err(err) => error!(%err, "an answer to an agent cannot be written"),
        }
    }

    /// Sends a request and returns its number.
    fn request(&mut self, method: &str, params: &impl Serialize) -> Result<u64, Halt> {
        let Some(peer) = &mut self.peer else {
            return Err(Halt::Failed("the agent is not running".to_owned()));
        };
        let id = peer.fresh_id();
        let message = wire::call(id, method, params)
            .map_err(|err| Halt::Failed(format!("the request cannot be written: {err}")))?;
        peer.writer.push(&message);
        Ok(id)
    }

    /// Ends the process and everything it started, and returns how it ended. A second cancel does not wait.
    async fn bury(&mut self) -> Result<Option<Buried>, Halt> {
        let Some(peer) = self.peer.take() else { return Ok(None) };
        let Peer { mut host, writer, reader, .. } = peer;
        // Its pipes stay open until it is gone, so that it ends by the signal.
        host.end();
        let mut halt = None;
        let mut link_open = true;
        let status = loop {
            tokio::select! {
                status = host.gone() => break status,
                input = self.inbox.recv(), if link_open => match input {
                    Some(AgentInput::Prompt(prompt)) => self.hold(prompt),
                    Some(AgentInput::Cancel) => {
                        halt = Some(Halt::Cancelled);
                        host.kill();
                    }
                    Some(AgentInput::CancelNow) => host.kill(),
                    Some(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                    None => {
                        halt = Some(Halt::LinkDropped);
                        link_open = false;
                    }
                },
            }
        };
        drop(writer);
        let mut stderr = reader.stderr;
        stderr.drain(LAST_WORDS_LIMIT).await;
        match halt {
            Some(halt) => Err(halt),
            None => Ok(Some(Buried { status, stderr })),
        }
    }

    /// What to say about an agent that fell silent.
    async fn lost(&mut self, why: &Silence) -> Halt {
        let label = self.program.row.label.clone();
        match self.bury().await {
            Ok(Some(buried)) => Halt::Failed(format!("{label}: {why} ({})", buried.describe())),
            Ok(None) => Halt::Failed(format!("{label}: {why}")),
            Err(halt) => halt,
        }
    }
}

/// What is left of a process.
#[derive(Debug)]
struct Buried {
    status: Option<ExitStatus>,
    stderr: Stderr,
}

impl Buried {
    /// Status and last words.
    fn describe(&self) -> String {
        let words = self.stderr.last_words();
        if words.is_empty() {
            return described(self.status);
        }
        format!("{}; it said: {words}", described(self.status))
    }
}

async fn expired(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

async fn flush(writer: Option<&mut peer::Writer>) {
    match writer {
        Some(writer) => writer.flush().await,
        None => std::future::pending().await,
    }
}

/// A supervisor that was killed leaves processes behind that keep the pipe open: its end is an end too, once what was
/// said before is heard.
async fn hear(speaker: Option<(&mut peer::Reader, &mut peer::Host)>) -> Said {
    let Some((reader, host)) = speaker else { return std::future::pending().await };
    let silence = async {
        host.exited().await;
        sleep(LAST_WORDS_LIMIT).await;
    };
    tokio::select! {
        biased;
        said = reader.next() => said,
        () = silence => Said::Ended(Silence::Closed),
    }
}
