//! The turn that is being taken: what the user says, who waits for an answer, and how long that took.

use super::Conversation;
use crate::provider::live::remote::floor::Model;
use crate::provider::live::remote::protocol::Wish;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;
use tracing::{info, warn};

/// A microphone that sends nothing for so long is taken for switched off.
const MICROPHONE_OFF: Duration = Duration::from_secs(1);
/// A vendor that could not answer is asked again after this.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// A limit of the vendor is not waited for any longer.
const LONGEST_LIMIT: Duration = Duration::from_secs(60);
/// A vendor is asked so often for one answer; after that it is connected anew.
const MOST_ASKED: u32 = 2;
const MOST_UNDECIDED: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The user speaks by a key, and has said so much.
    pub(super) key: Option<Duration>,
    /// What the vendor hears at this moment.
    pub(super) utterances: VecDeque<Utterance>,
    /// Short words into a reply; what they were decides whether they interrupt it. `None`: the vendor has yet to give
    /// it a name.
    pub(super) undecided: VecDeque<Option<String>>,
    /// The model waits because of what the vendor hears; until then the user may still fall silent.
    pub(super) suspected: Option<Instant>,
    /// Something was said that no connection has answered yet.
    pub(super) unanswered: bool,
    /// When the last sound of the microphone came; `None`: it is off.
    pub(super) last_sound: Option<Instant>,
    /// When the user was heard to begin what may interrupt the model.
    pub(super) began: Option<Instant>,
    /// When the user was last heard to speak.
    pub(super) voiced: Option<Instant>,
    /// The vendor has not heard the last sound, which was too short to interrupt it; it will if somebody goes on.
    pub(super) murmured: bool,
    /// The reply was all but over when the user last began to speak into it.
    pub(super) into_end: bool,
    /// A short word answers the reply into whose end it was said: it is a turn of its own as soon as that is over.
    pub(super) answers: bool,
    /// When a reply last began.
    pub(super) replied: Option<Instant>,
    asked: Option<Asked>,
    /// Why the last answer that was asked for did not come.
    pub(super) failure: Option<String>,
    /// Before this the vendor allows nothing more.
    limited_until: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Utterance {
    pub(super) name: String,
    pub(super) amid: Amid,
}

/// What somebody has begun to speak into, and has not interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amid {
    Silence,
    /// A reply that had only just begun: most likely it is the reply itself.
    Beginning,
    Reply,
    /// A reply that was all but over.
    End,
}

/// An answer is expected.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) at: Instant,
    /// From the user's last word to there.
    pub(super) end_of_turn: Option<Duration>,
    /// No answer by then: something is to be done about it.
    by: Instant,
    times: u32,
    /// The model has begun to do something about it.
    begun: bool,
}

impl Turn {
    pub(super) fn is_awaited(&self) -> bool {
        self.asked.is_some_and(|asked| !asked.begun)
    }

    /// The model answers.
    pub(super) fn answered(&mut self) -> Option<Asked> {
        let asked = self.asked.as_mut()?;
        let first = !asked.begun;
        asked.begun = true;
        first.then_some(*asked)
    }

    /// The model has said something since it was last asked.
    pub(super) fn has_spoken(&self) -> bool {
        self.asked.is_some_and(|asked| self.replied.is_some_and(|replied| replied >= asked.at))
    }

    /// A reply has ended that went on until this moment: whatever was asked for before that is answered by it.
    pub(super) fn fulfilled(&mut self, last_sound: Option<Instant>) {
        if let Some(asked) = &mut self.asked {
            asked.begun |= last_sound.is_some_and(|moment| moment >= asked.at);
        }
    }

    /// Whatever the user says from now on interrupts nobody.
    pub(super) fn take_floor(&mut self) {
        self.utterances.iter_mut().for_each(|utterance| utterance.amid = Amid::Silence);
        self.answers = false;
    }

    /// What was asked for then is still the last that was.
    pub(super) fn asked_at(&self, moment: Instant) -> bool {
        self.asked.is_some_and(|asked| asked.at == moment)
    }

    pub(super) fn limited(&mut self, reset: Duration, now: Instant) {
        self.limited_until = Some(now + reset.min(LONGEST_LIMIT));
    }

    /// No answer is due before that.
    pub(super) fn wait_until(&mut self, moment: Instant) {
        if let Some(asked) = &mut self.asked {
            asked.by = asked.by.max(moment);
        }
    }

    pub(super) fn forget_asked(&mut self) {
        self.asked = None;
    }
}

impl Conversation {
    /// When time alone changes something about the turn.
    pub(super) fn turn_alarm(&self) -> Option<Instant> {
        let insisting = self.connection.is_ready() && !self.user_speaks();
        let unanswered = self.turn.asked.filter(|asked| insisting && !asked.begun);
        let off = self.turn.last_sound.map(|last| last + self.microphone_off());
        [unanswered.map(|asked| asked.by), off, self.turn.suspected].into_iter().flatten().min()
    }

    fn microphone_off(&self) -> Duration {
        MICROPHONE_OFF.max(self.remote.rules.silence)
    }

    pub(super) fn user_speaks(&self) -> bool {
        self.turn.key.is_some() || !self.turn.utterances.is_empty() || self.floor.is_taken()
    }

    /// The user has finished, and the model is to answer.
    pub(super) fn end_turn(&mut self, now: Instant) {
        self.floor.leave();
        self.turn.answers = false;
        self.ask(now);
        let end_of_turn = self.turn.voiced.map(|voiced| now.saturating_duration_since(voiced));
        if let Some(asked) = &mut self.turn.asked {
            asked.end_of_turn = end_of_turn;
        }
    }

    pub(super) fn ask(&mut self, now: Instant) {
        self.wish(Wish::Reply);
        self.expect(now);
    }

    /// For the same answer, on another connection.
    pub(super) fn ask_again(&mut self, now: Instant) {
        if let Some(asked) = &mut self.turn.asked {
            asked.by = now + self.remote.rules.patience;
        }
        self.wish(Wish::Reply);
    }

    /// Something was asked for, so an answer is due.
    pub(super) fn expect(&mut self, now: Instant) {
        let by = now + self.remote.rules.patience;
        let asked = Asked { at: now, end_of_turn: None, by, times: 1, begun: false };
        self.turn.asked = Some(asked);
    }

    /// There will be no answer by itself.
    pub(super) fn on_no_answer(&mut self, reason: &str, now: Instant) {
        warn!(reason, "the live model could not answer; it is asked again");
        self.turn.failure = Some(reason.to_owned());
        if let Some(asked) = &mut self.turn.asked {
            asked.begun = false;
            asked.by = (now + ASK_AGAIN).max(self.turn.limited_until.unwrap_or(now));
        }
    }

    pub(super) fn settle_turn(&mut self, now: Instant) {
        if self.turn.suspected.is_some_and(|moment| moment <= now) {
            self.turn.suspected = None;
            self.interrupt(Some(self.turn.began.unwrap_or(now)), now);
        }
        if self.turn.answers && !self.user_speaks() && self.model(now) == Model::Silent {
            self.answer_reply(now);
        }
        if self.speaker.current().is_some() {
            // Whoever is being listened to is not mute.
            self.turn.wait_until(now + self.remote.rules.patience);
        }
        if let Some(last) = self.turn.last_sound
            && now >= last + self.microphone_off()
        {
            self.turn.last_sound = None;
            self.on_microphone_off(now.saturating_duration_since(last), now);
        }
        if let Some(asked) = self.turn.asked
            && !asked.begun
            && asked.by <= now
            && self.connection.is_ready()
            && !self.user_speaks()
        {
            self.insist(asked, now);
        }
    }

    /// Some vendors go mute after an interruption: ask again, then connect again, then take another one.
    fn insist(&mut self, asked: Asked, now: Instant) {
        let by = now + self.remote.rules.patience;
        let again = Asked { by, times: asked.times + 1, ..asked };
        if asked.times < MOST_ASKED {
            info!("the live model does not answer; it is asked again");
            self.wish(Wish::Insist);
            self.turn.asked = Some(again);
        } else {
            self.turn.asked = Some(again);
            self.on_mute(now);
        }
    }

    /// A short word whose text will tell whether it was more than that.
    pub(super) fn decide_later(&mut self, utterance: Option<String>) {
        if self.turn.undecided.len() >= MOST_UNDECIDED {
            self.turn.undecided.pop_front();
        }
        self.turn.undecided.push_back(utterance);
    }
}
