//! Gemini Live. Its forms are in `wire`; this decides what is sent when, and what comes of each message.
//!
//! It replies by itself, as soon as it believes that the user is done; it cuts its own replies, and its own memory of
//! them, when the user speaks; and it tells neither when the user begins to speak nor what anything is called.

mod calls;
mod dialogue;
mod family;
mod fate;
mod frame;
mod microphone;
mod pictures;
mod setup;
mod waiting;
mod wire;
mod wishes;

use super::protocol::{Address, Capabilities, Deed, Fate, Protocol, Resume, Said, Setup, Wish};
use crate::provider::live::LiveOutput;
use crate::provider::row::{TurnRules, Turns};
use calls::Calls;
use dialogue::Dialogue;
use family::Family;
use fate::Stage;
use microphone::Microphone;
use pictures::Pictures;
use setup::Past;
use std::sync::Arc;
use std::time::Duration;
use waiting::Waiting;
use wire::FromVendor;

const SERVICE: &str =
    "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";
/// A connection lives for about ten minutes...
const RENEW_AFTER: Duration = Duration::from_secs(9 * 60);
/// ...and those that live longer are cut at 58.
const LONGEST: Duration = Duration::from_secs(55 * 60);
/// When it does not say how soon it will close.
const SOON: Duration = Duration::from_secs(10);
/// Instructions from this length on make some models forget a resumed session.
const LONG_INSTRUCTIONS: usize = 2_000;
/// Of what the vendor says, in the log and in what people are told.
const LONGEST_QUOTE: usize = 300;

#[derive(Debug)]
pub(super) struct Gemini {
    wanted: Setup,
    family: Family,
    stage: Stage,
    /// Sent as soon as the vendor is ready.
    history: Option<String>,
    /// A setup with a history was refused, so from now on it is told in the instructions.
    history_refused: bool,
    /// Resumptions since one was taken.
    resumptions: u32,
    waiting: Waiting,
    microphone: Microphone,
    activity: Activity,
    pictures: Pictures,
    dialogue: Dialogue,
    calls: Calls,
    /// Something was sent since the vendor was last asked for a reply.
    fed: bool,
}

/// What the vendor believes that the user does; only where turns are ours to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Silence,
    Speech,
    /// Nothing; it was told so to make it silent.
    Pretended,
}

impl Gemini {
    pub(super) fn new(wanted: Setup) -> Self {
        Self {
            family: Family::of(&wanted.model.model),
            wanted,
            stage: Stage::Opening,
            history: None,
            history_refused: false,
            resumptions: 0,
            waiting: Waiting::default(),
            microphone: Microphone::default(),
            activity: Activity::Silence,
            pictures: Pictures::default(),
            dialogue: Dialogue::default(),
            calls: Calls::default(),
            fed: false,
        }
    }

    fn turns_are_ours(&self) -> bool {
        self.wanted.rules.turns == Turns::Gateway
    }

    fn resume(&self) -> Resume {
        let long = self.wanted.instructions.len() >= LONG_INSTRUCTIONS;
        if long && self.family.forgets_long_sessions() { Resume::Replay } else { Resume::Handle }
    }

    fn past(&self, handle: Option<&str>, said: &[Said]) -> Past {
        if handle.is_some() || setup::spoken(said).next().is_none() {
            Past::Known
        } else if self.family.takes_history() && !self.history_refused {
            Past::Content
        } else {
            Past::Instructions
        }
    }

    fn message(&mut self, message: FromVendor<'_>, deeds: &mut Vec<Deed>) {
        if message.setup_complete.is_some() {
            self.ready(deeds);
        }
        if let Some(content) = message.server_content {
            self.dialogue.content(content, deeds);
        }
        for call in message.tool_call.into_iter().flat_map(|call| call.function_calls) {
            deeds.push(self.calls.called(call));
        }
        let cancelled = message.tool_call_cancellation;
        deeds.extend(cancelled.and_then(|cancelled| self.calls.cancelled(&cancelled.ids)));
        if let Some(update) = message.session_resumption_update {
            let handle = update.new_handle.filter(|handle| update.resumable && !handle.is_empty());
            deeds.push(Deed::Handle(handle));
        }
        if let Some(wire::GoAway { time_left }) = message.go_away {
            let left = time_left.as_deref().and_then(seconds).unwrap_or(SOON);
            deeds.push(Deed::GoAway { left });
        }
        if let Some(usage) = message.usage_metadata {
            let input = usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count);
            let output = usage.response_token_count.saturating_add(usage.thoughts_token_count);
            deeds.push(Deed::Tell(LiveOutput::Usage { input, output }));
        }
        if let Some(error) = message.error {
            let said = format!("{} {}", error.status, error.message);
            let fate = fate::fate(error.code, &said, self.stage);
            deeds.push(Deed::Failed { reason: quote(said.trim()), fate });
        }
    }

    fn ready(&mut self, deeds: &mut Vec<Deed>) {
        if self.stage == Stage::Open {
            return deeds.push(Deed::Remark("the vendor was ready twice".to_owned()));
        }
        self.stage = Stage::Open;
        self.resumptions = 0;
        deeds.extend(self.history.take().map(Deed::Send));
        deeds.push(Deed::Ready);
        while let Some(wish) = self.waiting.next() {
            self.grant(wish, deeds);
        }
    }
}

impl Protocol for Gemini {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            input_rate: 16_000,
            output_rate: 24_000,
            cancel: self.turns_are_ours(),
            truncate: false,
            images: true,
            hears_speech: false,
            interrupts_itself: !self.turns_are_ours(),
            replies_unasked: true,
            works_aside: self.family.works_aside(),
            hears_aside: false,
            yields_turns: false,
            resume: self.resume(),
            renew_after: Some(RENEW_AFTER),
            longest: Some(LONGEST),
        }
    }

    fn address(&self) -> Address {
        let base = self.wanted.model.base_url.trim_end_matches('/');
        let whole = base.contains("BidiGenerateContent");
        let url = if whole { base.to_owned() } else { format!("{base}/{SERVICE}") };
        let secret = self.wanted.model.key.iter().filter_map(|key| key.secret.as_ref());
        let headers = secret.map(|key| ("x-goog-api-key", key.expose().to_owned()));
        Address { url, headers: headers.collect() }
    }

    fn open(&mut self, handle: Option<&str>, said: &[Said]) -> Vec<Deed> {
        let resumes = self.resume() == Resume::Handle;
        let handle = handle.filter(|_| resumes);
        let past = self.past(handle, said);
        self.history = (past == Past::Content).then(|| setup::history(said));
        self.stage = match handle {
            Some(_) => Stage::Resuming { refused: self.resumptions },
            None => Stage::Opening,
        };
        self.dialogue.forget();
        self.calls.orphan();
        self.microphone = Microphone::default();
        (self.activity, self.fed) = (Activity::Silence, false);
        let resumption = resumes.then_some(handle);
        let setup = setup::setup(&self.wanted, self.family, resumption, past, said);
        vec![Deed::Send(setup)]
    }

    fn set_rules(&mut self, rules: Arc<TurnRules>) {
        self.wanted.rules = rules;
    }

    fn wish(&mut self, wish: Wish) -> Vec<Deed> {
        let mut deeds = Vec::new();
        if self.stage == Stage::Open {
            self.show_due(&mut deeds);
            self.grant(wish, &mut deeds);
        } else if !self.waiting.keep(wish) {
            deeds.push(Deed::Remark("too much was asked before the vendor was ready".to_owned()));
        }
        deeds
    }

    fn frame(&mut self, frame: &[u8]) -> Vec<Deed> {
        let mut deeds = Vec::new();
        match serde_json::from_slice(frame) {
            Ok(message) => self.message(message, &mut deeds),
            Err(err) => {
                let text = quote(&String::from_utf8_lossy(frame));
                deeds.push(Deed::Remark(format!("not understood ({err}): {text}")));
            }
        }
        if self.stage == Stage::Open {
            self.show_due(&mut deeds);
        }
        deeds
    }

    #[cfg(test)]
    fn size(&self) -> usize {
        self.waiting.size() + self.calls.size() + self.pictures.size()
    }

    fn closed(&mut self, code: Option<u16>, reason: &str) -> Fate {
        let fate = fate::fate(code, reason, self.stage);
        match self.stage {
            Stage::Resuming { .. } if fate == Fate::Retry => self.resumptions += 1,
            Stage::Resuming { .. } => self.resumptions = 0,
            // Perhaps it is only the history that it does not take.
            Stage::Opening if self.history.take().is_some() && code == Some(1007) => {
                self.history_refused = true;
                return if fate::is_hopeless(reason) { fate } else { Fate::StartOver };
            }
            Stage::Opening | Stage::Open => (),
        }
        fate
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

fn quote(text: &str) -> String {
    text.chars().take(LONGEST_QUOTE).collect()
}

#[cfg(test)]
pub(super) mod tests;
