//! What the user does: speaks, holds the talk key, cancels, switches the microphone off.

use super::Conversation;
use crate::audio::voice::Voice;
use crate::message::{AudioChunk, TalkKey};
use crate::provider::live::remote::protocol::Request;
use crate::provider::live::remote::speech::microphone;
use crate::provider::live::remote::speech::turn_taking::{ModelState, TurnAction};
use crate::provider::row::{TurnRules, Turns};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;

/// Sound before a voice was detected that belongs to the voice.
const LEAD: Duration = Duration::from_millis(400);
/// How much sound is held back while it is not clear whether the user interrupts.
const LONGEST_LEAD: Duration = Duration::from_secs(3);
/// Shorter sounds are noise.
const SHORTEST_WORD: Duration = Duration::from_millis(150);
/// A shorter press of the talk key was a mistake.
const SHORTEST_TURN: Duration = Duration::from_millis(100);

impl Conversation {
    pub(super) fn on_audio(&mut self, chunk: AudioChunk, lost: u64, now: Instant) {
        self.turn.last_sound = Some(now);
        let model = self.model(now);
        let by_key = self.turn.key.is_some();
        if self.remote.rules.half_duplex && !by_key && model != ModelState::Silent {
            return;
        }
        let rate = chunk.rate;
        self.microphone.most =
            if self.turn.unanswered { microphone::LONGEST_KEPT } else { microphone::KEPT };
        let Some(heard) = self.microphone.hear(chunk, lost) else {
            debug!(rate, "the microphone sends what cannot be heard");
            return;
        };
        if let Some(said) = &mut self.turn.key {
            *said += length(&heard.pcm, self.vendor.input_rate);
            self.turn_taking.hear_by_key(heard.voice);
            self.hear(heard.pcm);
            return;
        }
        if self.remote.rules.turns == Turns::Gateway || self.holds_back() {
            self.lead_in.push_back(heard.pcm);
            self.judge(heard.voice, model, now);
            self.pass_on_lead(heard.voice);
        } else if self.turn_taking.is_trailing() {
            self.lead_in.push_back(heard.pcm);
            self.judge(heard.voice, model, now);
            self.pass_on_trail();
        } else {
            self.forget_murmur();
            self.release_lead();
            self.hear(heard.pcm);
            self.judge(heard.voice, model, now);
        }
    }

    /// A vendor that interrupts itself at any sound hears only real interruptions while the model speaks.
    fn holds_back(&self) -> bool {
        self.vendor.interrupts_itself && self.speaker.current().is_some()
    }

    fn release_lead(&mut self) {
        let lead = std::mem::take(&mut self.lead_in);
        lead.into_iter().for_each(|pcm| self.hear(pcm));
    }

    fn hear(&mut self, pcm: Bytes) {
        if !pcm.is_empty() {
            self.request(Request::Hear(pcm));
        }
    }

    /// Holds sound back until it is known whether the user speaks.
    fn pass_on_lead(&mut self, voice: Option<Voice>) {
        if self.turn_taking.is_user_speaking() {
            return self.release_lead();
        }
        if self.turn_taking.is_silent() {
            self.forget_murmur();
        }
        // A vendor that ends turns by silence has to hear the silence.
        let silence = self.holds_back() && self.turn_taking.is_silent() && voice.is_none();
        // A sound may be the first word of an utterance, or wait to be an answer.
        let over = self.turn_taking.is_silent() && !self.turn.answers;
        let most = if over { LEAD } else { LONGEST_LEAD };
        let rate = self.vendor.input_rate;
        while time_of(&self.lead_in, rate) > most
            && let Some(oldest) = self.lead_in.pop_front()
        {
            if silence {
                self.hear(oldest);
            }
        }
    }

    /// After the talk key is released, the end of the last word is held back from a vendor with voice detection of its own,
    /// which would take it for a new turn.
    fn pass_on_trail(&mut self) {
        if !self.turn_taking.is_trailing() {
            return self.release_lead();
        }
        let rate = self.vendor.input_rate;
        while time_of(&self.lead_in, rate) > LONGEST_LEAD {
            self.lead_in.pop_front();
        }
    }

    fn judge(&mut self, voice: Option<Voice>, model: ModelState, now: Instant) {
        if let Some(voice) = voice {
            self.turn.voiced = Some(now - voice.quiet);
        }
        if voice.is_none() && self.turn_taking.is_trailing() {
            // It belongs to the turn before and begins no new one.
            self.lead_in.clear();
        }
        let told = self.turn_taking.hear(voice, model, &self.remote.rules);
        match told {
            Some(TurnAction::Pause) => {
                self.turn.began = Some(now - voice.map_or(Duration::ZERO, |voice| voice.voiced));
                self.turn.into_end = self.is_ending();
                self.speaker.pause();
            }
            Some(TurnAction::Resume) => {
                self.go_on();
                self.on_murmur(model);
            }
            Some(TurnAction::Interrupt) => {
                let began = self.turn.began.take();
                self.interrupt(Some(began.unwrap_or(now)), now);
                self.on_user_begins();
            }
            Some(TurnAction::Begin) => {
                self.speaker.resume();
                self.turn.take_turn();
                self.on_user_begins();
            }
            Some(TurnAction::End) => self.on_user_ends(now),
            None => (),
        }
    }

    /// Resumes the model after a sound that was no interruption, unless the vendor still hears something.
    pub(super) fn go_on(&mut self) {
        if self.turn.suspected.is_none() {
            self.turn.began = None;
            self.speaker.resume();
        }
    }

    /// A sound too short to interrupt. At the end of a reply it is an answer. Otherwise its text decides, if the vendor can
    /// transcribe it without answering; if the vendor cannot, the sound is ignored.
    fn on_murmur(&mut self, model: ModelState) {
        let word = self.turn_taking.spoken() >= SHORTEST_WORD;
        let vendors = self.remote.rules.turns == Turns::Model && self.vendor.hears_speech;
        if word && !vendors && (model == ModelState::Silent || self.turn.into_end) {
            self.turn.answers = true;
            return;
        }
        match self.remote.rules.turns {
            Turns::Gateway if self.vendor.hears_aside && word && self.connection.is_ready() => {
                self.transcript.user_began(None);
                self.request(Request::SpeechBegins);
                self.release_lead();
                self.request(Request::SpeechEnds);
                self.decide_later(None);
            }
            Turns::Model if model != ModelState::Silent => self.turn.murmured = true,
            Turns::Gateway | Turns::Model => (),
        }
    }

    /// The reply is over that the user had answered shortly before its end.
    pub(super) fn answer_reply(&mut self, now: Instant) {
        self.turn.answers = false;
        match self.remote.rules.turns {
            Turns::Gateway => {
                self.on_user_begins();
                self.on_user_ends(now);
            }
            Turns::Model if self.vendor.hears_speech => self.end_turn(now),
            // The vendor has not heard it yet.
            Turns::Model => self.release_lead(),
        }
    }

    /// The user did not go on, so the short sound is dropped.
    fn forget_murmur(&mut self) {
        if std::mem::take(&mut self.turn.murmured) {
            self.lead_in.clear();
        }
    }

    fn on_user_begins(&mut self) {
        // Short sounds right before belong to this utterance.
        (self.turn.murmured, self.turn.answers) = (false, false);
        self.turn.undecided.clear();
        self.turn.unanswered = true;
        if self.remote.rules.turns == Turns::Gateway {
            self.request(Request::SpeechBegins);
        }
        if !self.vendor.hears_speech {
            self.transcript.user_goes_on();
        } else if self.remote.rules.turns == Turns::Gateway {
            self.transcript.user_began(None);
        }
    }

    fn on_user_ends(&mut self, now: Instant) {
        // A vendor without speech events may not have noticed a short sound and would not answer it.
        let due = self.vendor.hears_speech || self.is_speech();
        match self.remote.rules.turns {
            Turns::Gateway => {
                self.release_lead();
                self.request(Request::SpeechEnds);
                if due {
                    self.end_turn(now);
                } else {
                    self.request(Request::Reply);
                    self.forget_sound();
                }
            }
            Turns::Model if self.vendor.hears_speech => (),
            // The vendor has answered already.
            Turns::Model if due && self.turn.replied > self.turn.voiced => self.microphone.forget(),
            // The vendor answers by itself; the timeout is started in case it does not.
            Turns::Model if due => self.end_turn(now),
            Turns::Model => self.forget_sound(),
        }
    }

    /// Neither an answer nor a text is expected for this sound.
    fn forget_sound(&mut self) {
        self.turn.unanswered = false;
        self.transcript.forget_unnamed();
    }

    /// Long enough that an answer is expected.
    fn is_speech(&self) -> bool {
        self.turn_taking.spoken() >= self.remote.rules.min_speech
    }

    pub(super) fn on_microphone_off(&mut self, silence: Duration, now: Instant) {
        let voice = self.microphone.pause(silence);
        let model = self.model(now);
        self.judge(voice, model, now);
        if self.turn.key.is_none() {
            self.request(Request::HearNothing);
        }
    }

    pub(super) fn on_talk_key(&mut self, key: TalkKey, now: Instant) {
        match (key, self.turn.key.take()) {
            (TalkKey::Pressed, _) => {
                self.interrupt(Some(now), now);
                self.take_turns(now);
                self.turn.key = Some(Duration::ZERO);
                self.turn_taking.end_turn();
                self.lead_in.clear();
                self.turn.unanswered = true;
                self.turn.utterances.clear();
                self.microphone.forget();
                self.transcript.user_began(None);
                self.request(Request::SpeechBegins);
            }
            (TalkKey::Released, Some(said)) => {
                self.turn.voiced = Some(now);
                self.request(Request::SpeechEnds);
                if said >= SHORTEST_TURN {
                    self.end_turn(now);
                } else {
                    self.turn.unanswered = false;
                    self.transcript.forget_unnamed();
                }
                self.turn_taking.release();
            }
            (TalkKey::Released, None) => (),
        }
    }

    /// The talk key decides when the user speaks. A vendor whose own voice detection cannot be switched off within a
    /// connection is reconnected once; from then on our own voice detection takes the turns.
    fn take_turns(&mut self, now: Instant) {
        if self.remote.rules.turns == Turns::Gateway || self.vendor.yields_turns {
            return;
        }
        let rules = TurnRules { turns: Turns::Gateway, ..TurnRules::clone(&self.remote.rules) };
        self.remote.rules = Arc::new(rules);
        self.protocol.set_rules(Arc::clone(&self.remote.rules));
        self.vendor = self.protocol.capabilities();
        self.lead_in.clear();
        self.drop_connection(now);
    }

    /// Cancels that only confirm a stop of ours end at the speaker, so this one comes from the user.
    pub(super) fn on_user_cancel(&mut self, now: Instant) {
        if self.replies.are_open() || self.turn.is_awaited() {
            self.interrupt(None, now);
        }
    }

    /// What the model does at this moment, as far as the user could interrupt it.
    pub(super) fn model(&self, now: Instant) -> ModelState {
        let guard = self.remote.rules.guard;
        match self.speaker.current() {
            Some(generation) => match self.speaker.played(generation).first_sent {
                Some(first) if now >= first + guard => ModelState::Speaks,
                Some(_) | None => ModelState::Begins,
            },
            None if self.turn.is_awaited() || self.replies.are_growing() => ModelState::Speaks,
            None => ModelState::Silent,
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
