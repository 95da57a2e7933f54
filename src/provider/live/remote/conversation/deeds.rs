//! What the vendor's words lead to.

use super::Conversation;
use super::turn::{Amid, Utterance};
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::floor::{self, Model};
use crate::provider::live::remote::protocol::{Blame, Deed};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;

impl Conversation {
    /// In order, as far as the speaker has room.
    pub(super) fn do_deeds(&mut self, now: Instant) {
        while self.held.is_none()
            && self.failed.is_none()
            && let Some(deed) = self.deeds.pop_front()
        {
            self.do_deed(deed, now);
        }
    }

    fn do_deed(&mut self, deed: Deed, now: Instant) {
        match deed {
            Deed::Send(frame) => self.send(frame),
            Deed::Ready => self.on_ready(now),
            Deed::SpeechBegan { utterance } => self.on_speech_began(utterance, now),
            Deed::SpeechEnded { utterance } => self.on_speech_ended(&utterance, now),
            Deed::UserSaid { utterance, text, last } => {
                self.on_user_said(&utterance, &text, last, now);
            }
            Deed::ReplyBegan { reply } => self.on_reply_began(reply, now),
            Deed::Sound { reply, pcm } => self.on_sound(&reply, pcm, now),
            Deed::ReplySaid { reply, text } => self.on_reply_said(&reply, text),
            Deed::ReplyMade { reply } => self.on_reply_made(&reply),
            Deed::ReplyEnded { reply, end } => self.on_reply_ended(&reply, end, now),
            Deed::Interrupted => self.interrupt(Some(self.turn.began.unwrap_or(now)), now),
            Deed::Tell(LiveOutput::ToolCall { id, name, arguments }) => {
                self.on_tool_call(id, name, arguments);
            }
            Deed::Tell(LiveOutput::ToolsCancelled { ids }) => self.on_tools_cancelled(ids),
            Deed::Tell(output) => self.untold.push_back(output),
            Deed::Handle(handle) => self.connection.handle = handle,
            Deed::GoAway { left } => self.connection.leave_within(left, now),
            Deed::Limited { reset } => self.turn.limited(reset, now),
            Deed::Remark(text) => debug!(text, "the live model's vendor remarks"),
            Deed::Failed { reason, fate } => {
                self.on_lost(&reason, fate, Blame::Conversation, now);
            }
        }
    }

    /// The vendor hears somebody; our own gate may have, or may not.
    fn on_speech_began(&mut self, utterance: String, now: Instant) {
        self.captions.user_began(Some(&utterance));
        if self.turn.key.is_some() {
            return;
        }
        let model = self.model(now);
        // Unless our own gate has heard it earlier.
        if self.turn.began.is_none() {
            self.turn.into_end = self.is_ending();
        }
        let amid = match model {
            Model::Speaks | Model::Begins if self.floor.is_taken() => Amid::Silence,
            Model::Silent => Amid::Silence,
            Model::Begins => Amid::Beginning,
            Model::Speaks if self.turn.into_end => Amid::End,
            Model::Speaks => Amid::Reply,
        };
        self.turn.utterances.push_back(Utterance { name: utterance, amid });
        self.turn.unanswered |= amid == Amid::Silence;
        if amid != Amid::Silence {
            self.suspect(model, now);
        }
    }

    /// What is heard when a reply has just begun is most likely the reply itself: it counts from the guard's end on.
    fn suspect(&mut self, model: Model, now: Instant) {
        let rules = Arc::clone(&self.remote.rules);
        let guard = if model == Model::Begins { rules.guard } else { Duration::ZERO };
        self.turn.suspected = Some(now + guard + rules.min_speech + rules.silence);
        self.turn.began.get_or_insert(now + guard);
        if guard.is_zero() {
            self.speaker.pause();
        }
    }

    fn on_speech_ended(&mut self, name: &str, now: Instant) {
        let known = self.turn.utterances.iter().position(|utterance| utterance.name == name);
        let Some(utterance) = known.and_then(|at| self.turn.utterances.remove(at)) else { return };
        if utterance.amid != Amid::Silence {
            self.turn.suspected = None;
            if self.floor.is_open() {
                self.go_on();
            }
        }
        match (utterance.amid, self.model(now)) {
            // The reply was over before it was decided, so this was said to it, and not into it.
            (Amid::Silence, _) | (Amid::Reply | Amid::End, Model::Silent) => self.end_turn(now),
            (Amid::End, Model::Speaks | Model::Begins) => {
                self.turn.unanswered = true;
                self.turn.answers = true;
            }
            (Amid::Beginning, _) | (Amid::Reply, Model::Speaks | Model::Begins) => {
                self.decide_later(Some(utterance.name));
            }
        }
    }

    fn on_user_said(&mut self, utterance: &str, text: &str, last: bool, now: Instant) {
        if !self.captions.knows(utterance)
            && let Some(unnamed) = self.turn.undecided.iter_mut().find(|name| name.is_none())
        {
            *unnamed = Some(utterance.to_owned());
        }
        self.captions.user_said(utterance, text, last, now);
        let named = |name: &Option<String>| name.as_deref() == Some(utterance);
        let short = self.turn.undecided.iter().position(named);
        let Some(at) = short.filter(|_| last) else { return };
        self.turn.undecided.remove(at);
        if !floor::is_backchannel(text, &self.remote.rules) {
            self.interrupt(Some(now), now);
            // Who has gone on speaking meanwhile is not interrupted.
            if !self.user_speaks() {
                self.end_turn(now);
            }
        }
    }
}
