//! What the user does: speaks, holds a key, wants silence, switches the microphone off.

use super::Conversation;
use crate::audio::voice::Voice;
use crate::message::{AudioChunk, TalkKey};
use crate::provider::live::remote::ear;
use crate::provider::live::remote::floor::{Model, Move};
use crate::provider::live::remote::protocol::Wish;
use crate::provider::row::{TurnRules, Turns};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;

/// What was heard right before a voice was noticed belongs to it.
const LEAD: Duration = Duration::from_millis(400);
/// The same while it is not decided whether somebody interrupts.
const LONGEST_LEAD: Duration = Duration::from_secs(3);
/// What is shorter is a noise and no word.
const SHORTEST_WORD: Duration = Duration::from_millis(150);
/// A key that was pressed for less was touched by mistake.
const SHORTEST_TURN: Duration = Duration::from_millis(100);

impl Conversation {
    pub(super) fn on_audio(&mut self, chunk: AudioChunk, lost: u64, now: Instant) {
        self.turn.last_sound = Some(now);
        let model = self.model(now);
        let by_key = self.turn.key.is_some();
        if self.remote.rules.half_duplex && !by_key && model != Model::Silent {
            return;
        }
        let rate = chunk.rate;
        self.ear.most = if self.turn.unanswered { ear::LONGEST_KEPT } else { ear::KEPT };
        let Some(heard) = self.ear.hear(chunk, lost) else {
            debug!(rate, "the microphone sends what cannot be heard");
            return;
        };
        if let Some(said) = &mut self.turn.key {
            *said += length(&heard.pcm, self.vendor.input_rate);
            self.floor.overhear(heard.voice);
            self.hear(heard.pcm);
            return;
        }
        if self.remote.rules.turns == Turns::Gateway || self.holds_back() {
            self.lead.push_back(heard.pcm);
            self.judge(heard.voice, model, now);
            self.pass_on_lead(heard.voice);
        } else if self.floor.is_trailing() {
            self.lead.push_back(heard.pcm);
            self.judge(heard.voice, model, now);
            self.pass_on_trail();
        } else {
            self.forget_murmur();
            self.release_lead();
            self.hear(heard.pcm);
            self.judge(heard.voice, model, now);
        }
    }

    /// A vendor that falls silent at any sound gets to hear only what is more than that.
    fn holds_back(&self) -> bool {
        self.vendor.interrupts_itself && self.speaker.current().is_some()
    }

    fn release_lead(&mut self) {
        let lead = std::mem::take(&mut self.lead);
        lead.into_iter().for_each(|pcm| self.hear(pcm));
    }

    fn hear(&mut self, pcm: Bytes) {
        if !pcm.is_empty() {
            self.wish(Wish::Hear(pcm));
        }
    }

    /// What was heard waits until it is known whether anybody speaks.
    fn pass_on_lead(&mut self, voice: Option<Voice>) {
        if self.floor.is_taken() {
            return self.release_lead();
        }
        if self.floor.is_silent() {
            self.forget_murmur();
        }
        // Who finds the end of a turn by silence has to hear it.
        let silence = self.holds_back() && self.floor.is_silent() && voice.is_none();
        // A sound may be the first word of somebody who goes on, or wait to be an answer.
        let over = self.floor.is_silent() && !self.turn.answers;
        let most = if over { LEAD } else { LONGEST_LEAD };
        let rate = self.vendor.input_rate;
        while time_of(&self.lead, rate) > most
            && let Some(oldest) = self.lead.pop_front()
        {
            if silence {
                self.hear(oldest);
            }
        }
    }

    /// A vendor that judges by itself would take the end of a word that was spoken by a key for a turn of its own.
    fn pass_on_trail(&mut self) {
        if !self.floor.is_trailing() {
            return self.release_lead();
        }
        let rate = self.vendor.input_rate;
        while time_of(&self.lead, rate) > LONGEST_LEAD {
            self.lead.pop_front();
        }
    }

    fn judge(&mut self, voice: Option<Voice>, model: Model, now: Instant) {
        if let Some(voice) = voice {
            self.turn.voiced = Some(now - voice.quiet);
        }
        if voice.is_none() && self.floor.is_trailing() {
            // It was the end of the turn before, and no turn begins with it.
            self.lead.clear();
        }
        let told = self.floor.hear(voice, model, &self.remote.rules);
        match told {
            Some(Move::Pause) => {
                self.turn.began = Some(now - voice.map_or(Duration::ZERO, |voice| voice.voiced));
                self.turn.into_end = self.is_ending();
                self.speaker.pause();
            }
            Some(Move::Resume) => {
                self.go_on();
                self.on_murmur(model);
            }
            Some(Move::Interrupt) => {
                let began = self.turn.began.take();
                self.interrupt(Some(began.unwrap_or(now)), now);
                self.on_user_begins();
            }
            Some(Move::Begin) => {
                self.speaker.resume();
                self.turn.take_floor();
                self.on_user_begins();
            }
            Some(Move::End) => self.on_user_ends(now),
            None => (),
        }
    }

    /// It was nothing; unless the vendor still hears something.
    pub(super) fn go_on(&mut self) {
        if self.turn.suspected.is_none() {
            self.turn.began = None;
            self.speaker.resume();
        }
    }

    /// Too short to interrupt by itself. Said when the reply was over or all but over, it is an answer to it. Otherwise
    /// what it was tells whether it is more than "go on", where a vendor can say that without answering it; elsewhere
    /// it was nothing.
    fn on_murmur(&mut self, model: Model) {
        let word = self.floor.spoken() >= SHORTEST_WORD;
        let vendors = self.remote.rules.turns == Turns::Model && self.vendor.hears_speech;
        if word && !vendors && (model == Model::Silent || self.turn.into_end) {
            self.turn.answers = true;
            return;
        }
        match self.remote.rules.turns {
            Turns::Gateway if self.vendor.hears_aside && word && self.connection.is_ready() => {
                self.captions.user_began(None);
                self.wish(Wish::SpeechBegins);
                self.release_lead();
                self.wish(Wish::SpeechEnds);
                self.decide_later(None);
            }
            Turns::Model if model != Model::Silent => self.turn.murmured = true,
            Turns::Gateway | Turns::Model => (),
        }
    }

    /// The reply is over that was answered before its end.
    pub(super) fn answer_reply(&mut self, now: Instant) {
        self.turn.answers = false;
        match self.remote.rules.turns {
            Turns::Gateway => {
                self.on_user_begins();
                self.on_user_ends(now);
            }
            Turns::Model if self.vendor.hears_speech => self.end_turn(now),
            // It has not heard it yet.
            Turns::Model => self.release_lead(),
        }
    }

    /// Nobody went on, so it was nothing.
    fn forget_murmur(&mut self) {
        if std::mem::take(&mut self.turn.murmured) {
            self.lead.clear();
        }
    }

    fn on_user_begins(&mut self) {
        // What was said right before belongs to it, whatever it was.
        (self.turn.murmured, self.turn.answers) = (false, false);
        self.turn.undecided.clear();
        self.turn.unanswered = true;
        if self.remote.rules.turns == Turns::Gateway {
            self.wish(Wish::SpeechBegins);
        }
        if !self.vendor.hears_speech {
            self.captions.user_goes_on();
        } else if self.remote.rules.turns == Turns::Gateway {
            self.captions.user_began(None);
        }
    }

    fn on_user_ends(&mut self, now: Instant) {
        // A vendor that does not tell what it hears may have heard nothing, and will not answer that.
        let due = self.vendor.hears_speech || self.is_speech();
        match self.remote.rules.turns {
            Turns::Gateway => {
                self.release_lead();
                self.wish(Wish::SpeechEnds);
                if due {
                    self.end_turn(now);
                } else {
                    self.wish(Wish::Reply);
                    self.forget_sound();
                }
            }
            Turns::Model if self.vendor.hears_speech => (),
            // It was quicker to believe that than we are.
            Turns::Model if due && self.turn.replied > self.turn.voiced => self.ear.forget(),
            // The vendor answers by itself, but may forget to.
            Turns::Model if due => self.end_turn(now),
            Turns::Model => self.forget_sound(),
        }
    }

    /// Nobody waits for its answer, nor for its text; whatever comes of it is welcome.
    fn forget_sound(&mut self) {
        self.turn.unanswered = false;
        self.captions.forget_unnamed();
    }

    /// Long enough that an answer is due, whatever it was.
    fn is_speech(&self) -> bool {
        self.floor.spoken() >= self.remote.rules.min_speech
    }

    pub(super) fn on_microphone_off(&mut self, silence: Duration, now: Instant) {
        let voice = self.ear.pause(silence);
        let model = self.model(now);
        self.judge(voice, model, now);
        if self.turn.key.is_none() {
            self.wish(Wish::HearNothing);
        }
    }

    pub(super) fn on_talk_key(&mut self, key: TalkKey, now: Instant) {
        match (key, self.turn.key.take()) {
            (TalkKey::Pressed, _) => {
                self.interrupt(Some(now), now);
                self.take_turns(now);
                self.turn.key = Some(Duration::ZERO);
                self.floor.leave();
                self.lead.clear();
                self.turn.unanswered = true;
                self.turn.utterances.clear();
                self.ear.forget();
                self.captions.user_began(None);
                self.wish(Wish::SpeechBegins);
            }
            (TalkKey::Released, Some(said)) => {
                self.turn.voiced = Some(now);
                self.wish(Wish::SpeechEnds);
                if said >= SHORTEST_TURN {
                    self.end_turn(now);
                } else {
                    self.turn.unanswered = false;
                    self.captions.forget_unnamed();
                }
                self.floor.release();
            }
            (TalkKey::Released, None) => (),
        }
    }

    /// Who holds a key tells when they speak. A vendor that goes on to judge by itself within a connection is connected
    /// anew for that, once: from then on our own gate tells who speaks without a key.
    fn take_turns(&mut self, now: Instant) {
        if self.remote.rules.turns == Turns::Gateway || self.vendor.yields_turns {
            return;
        }
        let rules = TurnRules { turns: Turns::Gateway, ..TurnRules::clone(&self.remote.rules) };
        self.remote.rules = Arc::new(rules);
        self.protocol.set_rules(Arc::clone(&self.remote.rules));
        self.vendor = self.protocol.capabilities();
        self.lead.clear();
        self.drop_line(now);
    }

    /// Answers of clients to a stop of ours end at the speaker: whatever comes this far is meant.
    pub(super) fn on_user_cancel(&mut self, now: Instant) {
        if self.replies.are_open() || self.turn.is_awaited() {
            self.interrupt(None, now);
        }
    }

    /// What the model does at this moment, as far as a user could interrupt it.
    pub(super) fn model(&self, now: Instant) -> Model {
        let guard = self.remote.rules.guard;
        match self.speaker.current() {
            Some(generation) => match self.speaker.played(generation).first_sent {
                Some(first) if now >= first + guard => Model::Speaks,
                Some(_) | None => Model::Begins,
            },
            None if self.turn.is_awaited() || self.replies.are_growing() => Model::Speaks,
            None => Model::Silent,
        }
    }
}

pub(super) fn length(pcm: &Bytes, rate: u32) -> Duration {
    let samples = (pcm.len() / 2) as u64;
    Duration::from_nanos(samples * 1_000_000_000 / u64::from(rate.max(1)))
}

fn time_of(pieces: &VecDeque<Bytes>, rate: u32) -> Duration {
    pieces.iter().map(|pcm| length(pcm, rate)).sum()
}
