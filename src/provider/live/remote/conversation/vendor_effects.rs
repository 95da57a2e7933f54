//! Applies the effects of the vendor's frames to the conversation.

use super::Conversation;
use super::turn::{SpokenInto, Utterance};
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::protocol::{Blame, Effect};
use crate::provider::live::remote::speech::turn_taking::{self, ModelState};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;

impl Conversation {
    /// Applies effects in order, until sound has to wait for the speaker.
    pub(super) fn apply_effects(&mut self, now: Instant) {
        while self.held_sound.is_none()
            && self.failed.is_none()
            && let Some(effect) = self.effects.pop_front()
        {
            self.apply(effect, now);
        }
    }

    fn apply(&mut self, effect: Effect, now: Instant) {
        match effect {
            Effect::Send(frame) => self.send(frame),
            Effect::Ready => self.on_ready(now),
            Effect::SpeechBegan { utterance } => self.on_speech_began(utterance, now),
            Effect::SpeechEnded { utterance } => self.on_speech_ended(&utterance, now),
            Effect::UserSaid { utterance, text, last } => {
                self.on_user_said(&utterance, &text, last, now);
            }
            Effect::ReplyBegan { reply } => self.on_reply_began(reply, now),
            Effect::Sound { reply, pcm } => self.on_sound(&reply, pcm, now),
            Effect::ReplySaid { reply, text } => self.on_reply_said(&reply, text),
            Effect::ReplyMade { reply } => self.on_reply_made(&reply),
            Effect::ReplyEnded { reply, end } => self.on_reply_ended(&reply, end, now),
            Effect::Interrupted => self.interrupt(Some(self.turn.began.unwrap_or(now)), now),
            Effect::Tell(LiveOutput::ToolCall { id, name, arguments }) => {
                self.on_tool_call(id, name, arguments);
            }
            Effect::Tell(LiveOutput::ToolsCancelled { ids }) => self.on_tools_cancelled(ids),
            Effect::Tell(output) => self.outbox.push_back(output),
            Effect::Handle(handle) => self.connection.handle = handle,
            Effect::GoAway { left } => self.connection.leave_within(left, now),
            Effect::Limited { reset } => self.turn.limited(reset, now),
            Effect::Remark(text) => debug!(text, "the live model's vendor remarks"),
            Effect::Failed { reason, recovery } => {
                self.on_lost(&reason, recovery, Blame::Conversation, now);
            }
        }
    }

    /// The vendor hears the user. Our own voice detection may have heard it before, or not.
    fn on_speech_began(&mut self, utterance: String, now: Instant) {
        self.transcript.user_began(Some(&utterance));
        if self.turn.key.is_some() {
            return;
        }
        let model = self.model(now);
        // Our own voice detection may have noted this earlier.
        if self.turn.began.is_none() {
            self.turn.into_end = self.is_ending();
        }
        let spoken_into = match model {
            ModelState::Speaks | ModelState::Begins if self.turn_taking.is_user_speaking() => {
                SpokenInto::Silence
            }
            ModelState::Silent => SpokenInto::Silence,
            ModelState::Begins => SpokenInto::Beginning,
            ModelState::Speaks if self.turn.into_end => SpokenInto::End,
            ModelState::Speaks => SpokenInto::Reply,
        };
        self.turn.utterances.push_back(Utterance { name: utterance, spoken_into });
        self.turn.unanswered |= spoken_into == SpokenInto::Silence;
        if spoken_into != SpokenInto::Silence {
            self.suspect(model, now);
        }
    }

    /// Sound at the beginning of a reply is most likely its echo, so it counts only after the guard time.
    fn suspect(&mut self, model: ModelState, now: Instant) {
        let rules = Arc::clone(&self.remote.rules);
        let guard = if model == ModelState::Begins { rules.guard } else { Duration::ZERO };
        self.turn.suspected = Some(now + guard + rules.min_speech + rules.silence);
        self.turn.began.get_or_insert(now + guard);
        if guard.is_zero() {
            self.speaker.pause();
        }
    }

    fn on_speech_ended(&mut self, name: &str, now: Instant) {
        let known = self.turn.utterances.iter().position(|utterance| utterance.name == name);
        let Some(utterance) = known.and_then(|at| self.turn.utterances.remove(at)) else { return };
        if utterance.spoken_into != SpokenInto::Silence {
            self.turn.suspected = None;
            if self.turn_taking.is_undisturbed() {
                self.go_on();
            }
        }
        match (utterance.spoken_into, self.model(now)) {
            // The reply ended meanwhile, so this is an answer to it and not an interruption.
            (SpokenInto::Silence, _)
            | (SpokenInto::Reply | SpokenInto::End, ModelState::Silent) => self.end_turn(now),
            (SpokenInto::End, ModelState::Speaks | ModelState::Begins) => {
                self.turn.unanswered = true;
                self.turn.answers = true;
            }
            (SpokenInto::Beginning, _)
            | (SpokenInto::Reply, ModelState::Speaks | ModelState::Begins) => {
                self.decide_later(Some(utterance.name));
            }
        }
    }

    fn on_user_said(&mut self, utterance: &str, text: &str, last: bool, now: Instant) {
        if !self.transcript.knows(utterance)
            && let Some(unnamed) = self.turn.undecided.iter_mut().find(|name| name.is_none())
        {
            *unnamed = Some(utterance.to_owned());
        }
        self.transcript.user_said(utterance, text, last, now);
        let named = |name: &Option<String>| name.as_deref() == Some(utterance);
        let short = self.turn.undecided.iter().position(named);
        let Some(at) = short.filter(|_| last) else { return };
        self.turn.undecided.remove(at);
        if !turn_taking::is_backchannel(text, &self.remote.rules) {
            self.interrupt(Some(now), now);
            // If the user has gone on speaking meanwhile, the turn is not over.
            if !self.user_speaks() {
                self.end_turn(now);
            }
        }
    }
}
