//! One prompt: who works on it, and what every use of a tool goes through.

use super::super::Place;
use super::command::{self, Command};
use super::conversation::Conversation;
use super::edit::{self, Edit};
use super::look;
use super::prompt::Prompt;
use super::shell::Shell;
use super::speaker::{Permission, Speaker, Unheard};
use super::tool::Call;
use super::workplace::Workplace;
use super::{BuiltIn, Guest, Said, Texts};
use crate::message::fenced;
use crate::provider::chat::ChatMessage;
use agent_client_protocol_schema::v1::{Diff, StopReason};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// So much of what a command came to is remembered for the model.
const LONGEST_NOTE: usize = 8 * 1024;
/// What people are told about a refusal. A model is told more.
pub(super) const REFUSED: &str = "this was not allowed, by the user or by the rules of the gateway";

/// Work on one prompt, and all that it needs.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) agent: Arc<BuiltIn>,
    /// Where its commands run, in the same box as every agent.
    pub(super) place: Place,
    pub(super) workplace: Workplace,
    pub(super) speaker: Speaker,
    pub(super) conversation: Conversation,
    pub(super) guest: Guest,
    pub(super) stop: CancellationToken,
}

/// Why a prompt ends early.
#[derive(Debug)]
pub(super) enum Halt {
    Cancelled,
    /// For people, with what they can do.
    Failed(String),
    Unheard,
}

impl From<Unheard> for Halt {
    fn from(_: Unheard) -> Self {
        Self::Unheard
    }
}

/// What a tool said, or why it did not work.
pub(super) type Outcome = Result<String, String>;

impl Turn {
    /// Whatever happens, the conversation is whole and on disk afterwards.
    pub(super) async fn run(&mut self, prompt: Prompt) -> Result<StopReason, Halt> {
        let ended = self.work(prompt).await;
        self.conversation.settle();
        self.save().await;
        ended
    }

    async fn work(&mut self, prompt: Prompt) -> Result<StopReason, Halt> {
        let has_model = self.agent.chat.is_some();
        let is_command = prompt.text.trim_start().starts_with('/');
        if is_command && (!has_model || command::is_command(&prompt.text)) {
            return self.commands(&prompt.text).await;
        }
        match self.agent.chat.clone() {
            Some(chat) => self.converse(&chat, prompt).await,
            None => {
                self.speaker.say(&self.agent.texts.say(Said::NoModel)).await?;
                Ok(StopReason::EndTurn)
            }
        }
    }

    /// One after the other, up to the first that does not work.
    async fn commands(&mut self, text: &str) -> Result<StopReason, Halt> {
        let commands = match command::parse(text) {
            Ok(commands) => commands,
            Err(wrong) => {
                let hint = format!("{wrong}; /help tells all of them");
                self.speaker.say(&self.agent.texts.word(&hint)).await?;
                return Ok(StopReason::EndTurn);
            }
        };
        let count = commands.len();
        for (at, command) in commands.into_iter().enumerate() {
            let left = count - at - 1;
            let call = match command {
                Command::Help => {
                    self.speaker.say(&self.agent.texts.say(Said::Help)).await?;
                    continue;
                }
                Command::New => {
                    self.conversation.clear();
                    self.say_line("what was said before is forgotten").await?;
                    continue;
                }
                Command::Tool(call) => call,
            };
            let outcome = self.perform(&call).await?;
            self.answer_command(&call, &outcome, count > 1).await?;
            if outcome.is_err() {
                if left > 0 {
                    self.say_line(&format!("commands after it that were not carried out: {left}"))
                        .await?;
                }
                break;
            }
        }
        Ok(StopReason::EndTurn)
    }

    async fn answer_command(
        &mut self,
        call: &Call,
        outcome: &Outcome,
        with_title: bool,
    ) -> Result<(), Halt> {
        let (Ok(text) | Err(text)) = outcome;
        let (Ok(shown) | Err(shown)) = &self.shown(call, outcome);
        let title = if with_title {
            format!("[{}]\n", call.title(&self.agent.texts))
        } else {
            String::new()
        };
        self.speaker.say(&format!("{title}{}\n", shown.trim_end_matches('\n'))).await?;
        let short: String = text.chars().take(LONGEST_NOTE).collect();
        let input: String = call.input().to_string().chars().take(LONGEST_NOTE).collect();
        let used = format!("[I used {}; what it was given and what came of it:]", call.name());
        let note = format!("{used}\n{}\n{}", fenced(&input), fenced(&short));
        self.conversation.push(ChatMessage::User { text: note, images: Vec::new() });
        Ok(())
    }

    /// Asked about, done, and told. The rules of the gateway decide what a user has to see: reading is asked about, too.
    pub(super) async fn perform(&mut self, call: &Call) -> Result<Outcome, Halt> {
        let id = self.speaker.fresh_tool();
        let edit = match self.plan(call).await? {
            Ok(edit) => edit,
            // What cannot be done is not asked about.
            Err(reason) => {
                let shown = self.agent.texts.word(&reason);
                self.speaker.fail(&id, call, self.workplace.root(), &shown).await?;
                return Ok(Err(reason));
            }
        };
        let diff = edit.as_ref().map(|edit| edit.diff(&self.workplace));
        let outcome = match self.ask(&id, call, diff).await? {
            Permission::Granted => self.carry_out(&id, call, edit).await?,
            Permission::Refused => Err(REFUSED.to_owned()),
            Permission::Cancelled => return Err(Halt::Cancelled),
        };
        self.speaker.finish(&id, &self.shown(call, &outcome)).await?;
        if self.stop.is_cancelled() { Err(Halt::Cancelled) } else { Ok(outcome) }
    }

    async fn say_line(&self, phrase: &str) -> Result<(), Halt> {
        let line = format!("{}\n", self.agent.texts.word(phrase));
        Ok(self.speaker.say(&line).await?)
    }

    /// What people read of it: our own words in their language, and what files and commands say as it is.
    fn shown(&self, call: &Call, outcome: &Outcome) -> Outcome {
        let texts = &self.agent.texts;
        match (call, outcome) {
            (Call::Write { .. } | Call::Replace { .. }, Ok(text)) => Ok(texts.word(text)),
            (Call::Run { .. }, Err(text)) if text.ends_with('\n') => Err(noted(texts, text)),
            (_, Err(reason)) => Err(texts.word(reason)),
            (_, Ok(text)) => Ok(noted(texts, text)),
        }
    }

    async fn carry_out(&self, id: &str, call: &Call, edit: Option<Edit>) -> Result<Outcome, Halt> {
        match (call, edit) {
            (_, Some(edit)) => {
                let place = self.workplace.clone();
                blocking(move || edit.make(&place)).await
            }
            (Call::Run { command, seconds }, None) => {
                let limit = Duration::from_secs(*seconds);
                self.shell().run(command, limit, &self.speaker, id).await
            }
            (_, None) => self.look(call).await,
        }
    }

    /// Nobody may be left to answer, so a stop ends the waiting.
    async fn ask(&mut self, id: &str, call: &Call, diff: Option<Diff>) -> Result<Permission, Halt> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(Halt::Cancelled),
            asked = self.speaker.ask(id, call, diff, self.workplace.root()) => Ok(asked?),
        }
    }

    async fn look(&self, call: &Call) -> Result<Outcome, Halt> {
        let (place, call, stop) = (self.workplace.clone(), call.clone(), self.stop.clone());
        let looked = blocking(move || look::look(&place, &call, &stop)).await?;
        looked.ok_or_else(|| Halt::Failed("this tool does not look".to_owned()))
    }

    /// The change that the call would make, if it is to change a file.
    async fn plan(&self, call: &Call) -> Result<Result<Option<Edit>, String>, Halt> {
        let (place, call) = (self.workplace.clone(), call.clone());
        blocking(move || edit::plan(&place, &call)).await
    }

    fn shell(&self) -> Shell<'_> {
        Shell {
            program: &self.agent.program,
            place: &self.place,
            stop: &self.stop,
            hurry: &self.guest.hurry,
        }
    }

    /// A conversation that cannot be kept is no reason not to work.
    pub(super) async fn save(&self) {
        let copy = self.conversation.copy();
        if let Ok(Err(err)) = tokio::task::spawn_blocking(move || copy.save()).await {
            warn!(%err, "the conversation of the built-in agent is not kept over a restart");
        }
    }
}

/// A text whose last line is a remark of ours.
fn noted(texts: &Texts, text: &str) -> String {
    let body = text.trim_end_matches('\n');
    let (before, last) = body.rsplit_once('\n').unwrap_or(("", body));
    let Some(note) = last.strip_prefix('[').and_then(|last| last.strip_suffix(']')) else {
        return text.to_owned();
    };
    let (line, end) = (if before.is_empty() { "" } else { "\n" }, &text[body.len()..]);
    format!("{before}{line}[{}]{end}", texts.word(note))
}

/// A failed join means that the runtime is ending.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Halt> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Halt::Failed("the gateway is shutting down".to_owned()))
}
