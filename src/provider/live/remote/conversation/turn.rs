//! The current turn: what the user says, whether an answer is expected, and what happens if none comes.

use super::Conversation;
use crate::provider::live::remote::protocol::Request;
use crate::provider::live::remote::speech::turn_taking::ModelState;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;
use tracing::{info, warn};

/// A microphone that sends nothing for this long counts as off.
const MICROPHONE_OFF: Duration = Duration::from_secs(1);
/// Delay before a vendor that could not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// Longest wait for a rate limit of the vendor.
const LONGEST_LIMIT: Duration = Duration::from_secs(60);
/// How often a vendor is asked for one answer; after that the connection is renewed.
const MOST_ASKED: u32 = 2;
const MOST_UNDECIDED: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The user holds the talk key, and has sent this much sound.
    pub(super) key: Option<Duration>,
    /// Utterances that the vendor hears at this moment.
    pub(super) utterances: VecDeque<Utterance>,
    /// Short words during a reply; their text will decide whether they interrupt it. `None`: the vendor has not named the
    /// utterance yet.
    pub(super) undecided: VecDeque<Option<String>>,
    /// The vendor hears the user during a reply. If that still goes on at this moment, it is an interruption.
    pub(super) suspected: Option<Instant>,
    /// The user has said something that no connection has answered yet.
    pub(super) unanswered: bool,
    /// When the microphone last sent sound; `None`: it is off.
    pub(super) last_sound: Option<Instant>,
    /// When the possible interruption began.
    pub(super) began: Option<Instant>,
    /// When the user last spoke.
    pub(super) voiced: Option<Instant>,
    /// The last sound was too short to interrupt and was held back from the vendor. It is sent if the user goes on.
    pub(super) murmured: bool,
    /// The reply was all but over when the user began to speak.
    pub(super) into_end: bool,
    /// A short word at the end of a reply answers it: it becomes a turn as soon as the reply is over.
    pub(super) answers: bool,
    /// When a reply last began.
    pub(super) replied: Option<Instant>,
    asked: Option<ExpectedAnswer>,
    /// Why the last answer that was asked for did not come.
    pub(super) failure: Option<String>,
    /// Rate limit: the vendor takes no request before this.
    limited_until: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct Utterance {
    pub(super) name: String,
    pub(super) spoken_into: SpokenInto,
}

/// What the model did when the user began to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpokenInto {
    Silence,
    /// A reply had just begun: most likely the sound is its echo.
    Beginning,
    Reply,
    /// A reply was all but over.
    End,
}

/// An answer is expected.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedAnswer {
    pub(super) at: Instant,
    /// From the user's last word to the request.
    pub(super) end_of_turn: Option<Duration>,
    /// Timeout: without an answer by then the vendor is asked again.
    by: Instant,
    times: u32,
    /// The answer has begun.
    begun: bool,
}

impl Turn {
    pub(super) fn is_awaited(&self) -> bool {
        self.asked.is_some_and(|asked| !asked.begun)
    }

    /// The answer begins. Returns the expectation the first time.
    pub(super) fn answered(&mut self) -> Option<ExpectedAnswer> {
        let asked = self.asked.as_mut()?;
        let first = !asked.begun;
        asked.begun = true;
        first.then_some(*asked)
    }

    /// The model has said something since it was last asked.
    pub(super) fn has_spoken(&self) -> bool {
        self.asked.is_some_and(|asked| self.replied.is_some_and(|replied| replied >= asked.at))
    }

    /// A reply has ended whose last sound came at this moment: it answers everything that was requested before.
    pub(super) fn fulfilled(&mut self, last_sound: Option<Instant>) {
        if let Some(asked) = &mut self.asked {
            asked.begun |= last_sound.is_some_and(|moment| moment >= asked.at);
        }
    }

    /// It is the user's turn: utterances no longer count as spoken into a reply.
    pub(super) fn take_turn(&mut self) {
        self.utterances
            .iter_mut()
            .for_each(|utterance| utterance.spoken_into = SpokenInto::Silence);
        self.answers = false;
    }

    /// The request of that moment is still the newest.
    pub(super) fn asked_at(&self, moment: Instant) -> bool {
        self.asked.is_some_and(|asked| asked.at == moment)
    }

    pub(super) fn limited(&mut self, reset: Duration, now: Instant) {
        self.limited_until = Some(now + reset.min(LONGEST_LIMIT));
    }

    /// Extends the timeout of the expected answer.
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
    /// The next timeout of the turn.
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
        self.turn.key.is_some()
            || !self.turn.utterances.is_empty()
            || self.turn_taking.is_user_speaking()
    }

    /// The user has finished, and the model is to answer.
    pub(super) fn end_turn(&mut self, now: Instant) {
        self.turn_taking.end_turn();
        self.turn.answers = false;
        self.ask(now);
        let end_of_turn = self.turn.voiced.map(|voiced| now.saturating_duration_since(voiced));
        if let Some(asked) = &mut self.turn.asked {
            asked.end_of_turn = end_of_turn;
        }
    }

    pub(super) fn ask(&mut self, now: Instant) {
        self.request(Request::Reply);
        self.expect(now);
    }

    /// Requests the same answer on a new connection.
    pub(super) fn ask_again(&mut self, now: Instant) {
        if let Some(asked) = &mut self.turn.asked {
            asked.by = now + self.remote.rules.patience;
        }
        self.request(Request::Reply);
    }

    /// Starts the timeout of an answer.
    pub(super) fn expect(&mut self, now: Instant) {
        let by = now + self.remote.rules.patience;
        let asked = ExpectedAnswer { at: now, end_of_turn: None, by, times: 1, begun: false };
        self.turn.asked = Some(asked);
    }

    /// The vendor has failed to answer; it is asked again later.
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
        if self.turn.answers && !self.user_speaks() && self.model(now) == ModelState::Silent {
            self.answer_reply(now);
        }
        if self.speaker.current().is_some() {
            // While a reply is played, the model is not mute.
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

    /// Some vendors go mute after an interruption: ask again, then reconnect, then take another model.
    fn insist(&mut self, asked: ExpectedAnswer, now: Instant) {
        let by = now + self.remote.rules.patience;
        let again = ExpectedAnswer { by, times: asked.times + 1, ..asked };
        if asked.times < MOST_ASKED {
            info!("the live model does not answer; it is asked again");
            self.request(Request::Insist);
            self.turn.asked = Some(again);
        } else {
            self.turn.asked = Some(again);
            self.on_mute(now);
        }
    }

    /// Waits for the text of a short word to decide whether it interrupts.
    pub(super) fn decide_later(&mut self, utterance: Option<String>) {
        if self.turn.undecided.len() >= MOST_UNDECIDED {
            self.turn.undecided.pop_front();
        }
        self.turn.undecided.push_back(utterance);
    }
}
