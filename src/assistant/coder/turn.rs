//! Work on one prompt: by a chat model or by exact commands. Every tool call is prepared, asked about, carried out and
//! reported here.

use super::command::{self, Command};
use super::prompt::Prompt;
use super::speaker::{CallOutput, Disconnected, Permission, Speaker};
use super::title::title;
use super::{Coder, Said, Texts};
use crate::assistant::CODER;
use crate::assistant::conversation::Conversation;
use crate::assistant::work::{self, Brief, End, Halt, Host};
use crate::locale::Locale;
use crate::message::fenced;
use crate::provider::chat::{
    self, ChatConfig, ChatMessage, ChatRequest, ChatTurn, ToolCall, Usage,
};
use crate::tool::{self, Call, Context, Interrupted, Outcome, Risk, Tool};
use agent_client_protocol_schema::v1::StopReason;
use bytes::Bytes;
use std::sync::Arc;
use tracing::warn;

/// Longest part of a command's result that is remembered for the model, in characters.
const LONGEST_NOTE: usize = 8 * 1024;
/// The reason that people see when a call is refused. [`for_model`] adds to it for a model.
const REFUSED: &str = "this was not allowed, by the user or by the rules of the gateway";

/// Work on one prompt.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) agent: Arc<Coder>,
    pub(super) context: Context,
    pub(super) speaker: Speaker,
    pub(super) conversation: Conversation,
}

impl From<Disconnected> for Halt {
    fn from(_: Disconnected) -> Self {
        Self::Disconnected
    }
}

impl From<Interrupted> for Halt {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Cancelled => Self::Cancelled,
            Interrupted::OutputClosed => Self::Disconnected,
            Interrupted::Shutdown => Self::Failed("the gateway is shutting down".to_owned()),
        }
    }
}

impl Turn {
    /// Also after an error or a cancel, the conversation is complete and saved afterwards.
    pub(super) async fn run(&mut self, prompt: Prompt) -> Result<StopReason, Halt> {
        let ended = self.work(prompt).await;
        self.conversation.complete_calls();
        save(&self.conversation).await;
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

    /// Lets the model work until it calls no more tools.
    async fn converse(&mut self, chat: &ChatConfig, prompt: Prompt) -> Result<StopReason, Halt> {
        let images = chat::capabilities(chat).images_in;
        let asked = blocking(move || prompt.into_message(images)).await?;
        self.conversation.push(asked);
        let directory = self.context.workplace.root().display().to_string();
        let brief = Brief {
            system: CODER.prompt(Locale::En).replace("{directory}", &directory),
            tools: CODER.tools(),
            context: work::context_size(chat),
        };
        let mut conversation = std::mem::take(&mut self.conversation);
        let ended = work::work(self, &brief, &mut conversation).await;
        self.conversation = conversation;
        Ok(match ended? {
            End::Complete => StopReason::EndTurn,
            End::Length => StopReason::MaxTokens,
            End::Steps => StopReason::MaxTurnRequests,
        })
    }

    /// Carries out the commands one after the other, up to the first that fails.
    async fn commands(&mut self, text: &str) -> Result<StopReason, Halt> {
        let commands = match command::parse(text) {
            Ok(commands) => commands,
            Err(wrong) => {
                let hint = format!("{wrong}; /help lists all commands");
                self.speaker.say(&self.agent.texts.phrase(&hint)).await?;
                return Ok(StopReason::EndTurn);
            }
        };
        let count = commands.len();
        for (at, command) in commands.into_iter().enumerate() {
            let left = count - at - 1;
            let request = match command {
                Command::Help => {
                    self.speaker.say(&self.agent.texts.say(Said::Help)).await?;
                    continue;
                }
                Command::New => {
                    self.conversation.clear();
                    self.say_line("the earlier conversation is forgotten").await?;
                    continue;
                }
                Command::Tool(request) => request,
            };
            let Some(tool) = tool::find(request.tool) else { continue };
            let done = self.perform(tool, &request.arguments.to_string()).await?;
            self.answer_command(&done, count > 1).await?;
            if done.outcome.is_err() {
                if left > 0 {
                    self.say_line(&format!("later commands that were not carried out: {left}"))
                        .await?;
                }
                break;
            }
        }
        Ok(StopReason::EndTurn)
    }

    async fn answer_command(&mut self, done: &FinishedCall, with_title: bool) -> Result<(), Halt> {
        let (Ok(text) | Err(text)) = &done.outcome;
        let (Ok(shown) | Err(shown)) = &self.shown(done.tool, &done.outcome);
        let head = if with_title { format!("[{}]\n", done.title) } else { String::new() };
        self.speaker.say(&format!("{head}{}\n", shown.trim_end_matches('\n'))).await?;
        let short: String = text.chars().take(LONGEST_NOTE).collect();
        let input: String = done.input.chars().take(LONGEST_NOTE).collect();
        let used = format!("[I used {}; its input and its result:]", done.tool.model_name());
        let note = format!("{used}\n{}\n{}", fenced(&input), fenced(&short));
        self.conversation.push(ChatMessage::User { text: note, images: Vec::new() });
        Ok(())
    }

    /// Prepares the call, asks, carries it out and reports its outcome. The gateway is asked about every call; its
    /// rules decide what the user has to see.
    async fn perform(
        &mut self,
        tool: &'static Tool,
        arguments: &str,
    ) -> Result<FinishedCall, Halt> {
        let id = self.speaker.new_call_id();
        let (place, text) = (self.context.workplace.clone(), arguments.to_owned());
        let call = match blocking(move || tool.prepare(&place, &text)).await? {
            Ok(call) => call,
            Err(wrong) => return Ok(FinishedCall::bad_arguments(tool, arguments, wrong)),
        };
        let (title, input) = (title(&call, &self.agent.texts), call.input.to_string());
        if let Some(reason) = call.impossible() {
            let shown = self.agent.texts.phrase(reason);
            self.speaker.report_failed_early(&id, &call, &self.context.workplace, &shown).await?;
            return Ok(FinishedCall { tool, title, input, outcome: Err(reason.to_owned()) });
        }
        let outcome = match self.ask(&id, &call).await? {
            Permission::Granted => {
                let output = CallOutput { speaker: &self.speaker, id: &id };
                call.run(&self.context, &output).await?
            }
            Permission::Refused => Err(REFUSED.to_owned()),
            Permission::Cancelled => return Err(Halt::Cancelled),
        };
        self.speaker.report_outcome(&id, &self.shown(tool, &outcome)).await?;
        if self.context.stop.is_cancelled() {
            return Err(Halt::Cancelled);
        }
        Ok(FinishedCall { tool, title, input, outcome })
    }

    async fn say_line(&self, phrase: &str) -> Result<(), Halt> {
        let line = format!("{}\n", self.agent.texts.phrase(phrase));
        Ok(self.speaker.say(&line).await?)
    }

    /// The outcome for people: the gateway's own texts are translated, contents of files and output of commands are
    /// not.
    fn shown(&self, tool: &Tool, outcome: &Outcome) -> Outcome {
        let texts = &self.agent.texts;
        match (tool.risk, outcome) {
            (Risk::Edit, Ok(text)) => Ok(texts.phrase(text)),
            (Risk::Execute, Err(text)) if text.ends_with('\n') => {
                Err(translate_remark(texts, text))
            }
            (_, Err(reason)) => Err(texts.phrase(reason)),
            (_, Ok(text)) => Ok(translate_remark(texts, text)),
        }
    }

    /// A cancel also ends the wait for an answer, because there may be nobody left to answer.
    async fn ask(&mut self, id: &str, call: &Call) -> Result<Permission, Halt> {
        tokio::select! {
            biased;
            () = self.context.stop.cancelled() => Err(Halt::Cancelled),
            asked = self.speaker.ask(id, call, &self.context.workplace) => Ok(asked?),
        }
    }
}

struct FinishedCall {
    tool: &'static Tool,
    title: String,
    input: String,
    outcome: Outcome,
}

impl FinishedCall {
    /// The arguments did not match the schema. The model can call again.
    fn bad_arguments(tool: &'static Tool, arguments: &str, wrong: String) -> Self {
        let (title, input) = (tool.name.to_owned(), arguments.to_owned());
        Self { tool, title, input, outcome: Err(wrong) }
    }
}

impl Host for Turn {
    fn ask(&self, request: ChatRequest) -> ChatTurn {
        // The loop runs only if there is a model, so the fallback is never used.
        let chat = self.agent.chat.as_ref().unwrap_or(&ChatConfig::Scripted);
        self.agent.asking.ask(chat, request)
    }

    async fn cancelled(&self) {
        self.context.stop.cancelled().await;
    }

    async fn say(&mut self, piece: &str) -> Result<(), Halt> {
        Ok(self.speaker.say(piece).await?)
    }

    /// Pictures are dropped: a model that works on code has no use for them.
    async fn show(&mut self, _: String, _: Bytes) -> Result<(), Halt> {
        Ok(())
    }

    async fn count(&mut self, usage: Usage) -> Result<(), Halt> {
        let used = usage.input.saturating_add(usage.output);
        let context = self.agent.chat.as_ref().map_or(0, work::context_size);
        Ok(self.speaker.report_usage(used, context.into()).await?)
    }

    async fn call(&mut self, call: &ToolCall) -> Result<Outcome, Halt> {
        let outcome = match tool::find_for_model(&call.name) {
            Ok(tool) => self.perform(tool, &call.arguments).await?.outcome,
            Err(unknown_tool) => Err(unknown_tool),
        };
        Ok(outcome.map_err(for_model))
    }

    async fn save(&mut self, conversation: &Conversation) {
        save(conversation).await;
    }
}

/// If the conversation cannot be saved, the work continues.
async fn save(conversation: &Conversation) {
    let copy = conversation.copy();
    if let Ok(Err(err)) = tokio::task::spawn_blocking(move || copy.save()).await {
        warn!(%err, "the conversation of the built-in agent cannot be saved and will be lost at a restart");
    }
}

/// People know what to do after a refusal; a model has to be told.
fn for_model(reason: String) -> String {
    if reason == REFUSED { format!("{reason}; do not try it again") } else { reason }
}

/// Translates the last line of a text if it is a remark of the gateway, in brackets.
fn translate_remark(texts: &Texts, text: &str) -> String {
    let body = text.trim_end_matches('\n');
    let (before, last) = body.rsplit_once('\n').unwrap_or(("", body));
    let Some(note) = last.strip_prefix('[').and_then(|last| last.strip_suffix(']')) else {
        return text.to_owned();
    };
    let (line, end) = (if before.is_empty() { "" } else { "\n" }, &text[body.len()..]);
    format!("{before}{line}[{}]{end}", texts.phrase(note))
}

/// A failed join means that the runtime is ending.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Halt> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Halt::Failed("the gateway is shutting down".to_owned()))
}
