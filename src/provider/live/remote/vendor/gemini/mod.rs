//! Gemini Live: what is sent when, and what each message means. The frames are in `wire`.
//!
//! The vendor replies by itself when it believes that the user has finished, and truncates its replies by itself when
//! the user speaks. It reports neither the beginning of speech nor ids of replies and utterances.

mod audio_packets;
mod close_reason;
mod dialogue;
mod early_requests;
mod family;
mod frame;
mod pictures;
mod requests;
mod setup;
mod tool_calls;
mod wire;

use crate::provider::live::LiveOutput;
use crate::provider::live::remote::protocol::{
    Address, Capabilities, Effect, Protocol, Recovery, Request, Resume, Said, Setup,
};
use crate::provider::row::{TurnRules, Turns};
use audio_packets::AudioPackets;
use close_reason::Stage;
use dialogue::Dialogue;
use early_requests::EarlyRequests;
use family::Family;
use pictures::Pictures;
use setup::Past;
use std::sync::Arc;
use std::time::Duration;
use tool_calls::ToolCalls;
use wire::FromVendor;

const SERVICE: &str =
    "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";
/// A connection lives for about ten minutes...
const RENEW_AFTER: Duration = Duration::from_secs(9 * 60);
/// ...and those that live longer are cut at 58.
const LONGEST: Duration = Duration::from_secs(55 * 60);
/// Assumed time until a close that is announced without a time.
const SOON: Duration = Duration::from_secs(10);
/// Instructions from this length on make some models forget a resumed session.
const LONG_INSTRUCTIONS: usize = 2_000;
/// Longest quotation of the vendor, in logs and messages.
const LONGEST_QUOTE: usize = 300;

#[derive(Debug)]
pub(super) struct Gemini {
    wanted: Setup,
    family: Family,
    stage: Stage,
    /// The history as a frame, sent as soon as the vendor is ready.
    history: Option<String>,
    /// The vendor refused the history as content, so it goes into the instructions from now on.
    history_refused: bool,
    /// Refused resumptions since the last success.
    resumptions: u32,
    early: EarlyRequests,
    packets: AudioPackets,
    activity: Activity,
    pictures: Pictures,
    dialogue: Dialogue,
    calls: ToolCalls,
    /// Something was sent since the vendor was last asked for a reply.
    fed: bool,
}

/// What the vendor was told about the user; used only if the gateway takes the turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Silence,
    Speech,
    /// The user is silent; the vendor was told otherwise so that it stops its reply.
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
            early: EarlyRequests::default(),
            packets: AudioPackets::default(),
            activity: Activity::Silence,
            pictures: Pictures::default(),
            dialogue: Dialogue::default(),
            calls: ToolCalls::default(),
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

    fn message(&mut self, message: FromVendor<'_>, effects: &mut Vec<Effect>) {
        if message.setup_complete.is_some() {
            self.ready(effects);
        }
        if let Some(content) = message.server_content {
            self.dialogue.content(content, effects);
        }
        for call in message.tool_call.into_iter().flat_map(|call| call.function_calls) {
            effects.push(self.calls.called(call));
        }
        let cancelled = message.tool_call_cancellation;
        effects.extend(cancelled.and_then(|cancelled| self.calls.cancelled(&cancelled.ids)));
        if let Some(update) = message.session_resumption_update {
            let handle = update.new_handle.filter(|handle| update.resumable && !handle.is_empty());
            effects.push(Effect::Handle(handle));
        }
        if let Some(wire::GoAway { time_left }) = message.go_away {
            let left = time_left.as_deref().and_then(seconds).unwrap_or(SOON);
            effects.push(Effect::GoAway { left });
        }
        if let Some(usage) = message.usage_metadata {
            let input = usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count);
            let output = usage.response_token_count.saturating_add(usage.thoughts_token_count);
            effects.push(Effect::Tell(LiveOutput::Usage { input, output }));
        }
        if let Some(error) = message.error {
            let said = format!("{} {}", error.status, error.message);
            let recovery = close_reason::recovery(error.code, &said, self.stage);
            effects.push(Effect::Failed { reason: quote(said.trim()), recovery });
        }
    }

    fn ready(&mut self, effects: &mut Vec<Effect>) {
        if self.stage == Stage::Open {
            return effects.push(Effect::Remark("the vendor was ready twice".to_owned()));
        }
        self.stage = Stage::Open;
        self.resumptions = 0;
        effects.extend(self.history.take().map(Effect::Send));
        effects.push(Effect::Ready);
        while let Some(request) = self.early.next() {
            self.carry_out(request, effects);
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

    fn open(&mut self, handle: Option<&str>, said: &[Said]) -> Vec<Effect> {
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
        self.packets = AudioPackets::default();
        (self.activity, self.fed) = (Activity::Silence, false);
        let resumption = resumes.then_some(handle);
        let setup = setup::setup(&self.wanted, self.family, resumption, past, said);
        vec![Effect::Send(setup)]
    }

    fn set_rules(&mut self, rules: Arc<TurnRules>) {
        self.wanted.rules = rules;
    }

    fn request(&mut self, request: Request) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.stage == Stage::Open {
            self.show_due(&mut effects);
            self.carry_out(request, &mut effects);
        } else if !self.early.keep(request) {
            effects
                .push(Effect::Remark("too much was asked before the vendor was ready".to_owned()));
        }
        effects
    }

    fn frame(&mut self, frame: &[u8]) -> Vec<Effect> {
        let mut effects = Vec::new();
        match serde_json::from_slice(frame) {
            Ok(message) => self.message(message, &mut effects),
            Err(err) => {
                let text = quote(&String::from_utf8_lossy(frame));
                effects.push(Effect::Remark(format!("not understood ({err}): {text}")));
            }
        }
        if self.stage == Stage::Open {
            self.show_due(&mut effects);
        }
        effects
    }

    #[cfg(test)]
    fn size(&self) -> usize {
        self.early.size() + self.calls.size() + self.pictures.size()
    }

    fn closed(&mut self, code: Option<u16>, reason: &str) -> Recovery {
        let recovery = close_reason::recovery(code, reason, self.stage);
        match self.stage {
            Stage::Resuming { .. } if recovery == Recovery::Retry => self.resumptions += 1,
            Stage::Resuming { .. } => self.resumptions = 0,
            // Perhaps it refuses only the history.
            Stage::Opening if self.history.take().is_some() && code == Some(1007) => {
                self.history_refused = true;
                return if close_reason::is_hopeless(reason) {
                    recovery
                } else {
                    Recovery::StartOver
                };
            }
            Stage::Opening | Stage::Open => (),
        }
        recovery
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
pub(in crate::provider::live::remote) mod tests;
