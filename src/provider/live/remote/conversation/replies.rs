//! What the model says: from its first sound until somebody has heard it, or silenced it.

use super::Conversation;
use super::turn::Asked;
use crate::message::{Interruption, StopReason, TurnTimes};
use crate::provider::live::remote::protocol::{Deed, Fate, ReplyEnd, Wish};
use crate::provider::live::remote::speech::{Speech, State, Tempo};
use crate::provider::live::{LiveOutput, Pace, Played, SPEAKER_RATE};
use bytes::Bytes;
use futures_util::FutureExt;
use std::time::Duration;
use tokio::time::Instant;

/// A client tells within this how much it had played when it fell silent.
pub(super) const FINAL_ACK: Duration = Duration::from_millis(150);

/// Who says a short word when there is no more than this to come does not mean "go on".
const LAST_WORDS: Duration = Duration::from_millis(700);

/// Some vendors end a reply before they have said all of its words.
const LATE_WORDS: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(super) struct Replies {
    open: Vec<Reply>,
    /// Silenced, and not yet told how much of them was heard.
    cut: Vec<Cut>,
    cut_until: Option<Instant>,
    /// Of the voice that speaks.
    tempo: Tempo,
}

#[derive(Debug)]
struct Reply {
    speech: Speech,
    /// Samples so far, as the vendor sends them.
    sounded: u64,
    /// The same as the speaker plays them.
    made: u64,
    /// When the last of it came.
    last_sound: Option<Instant>,
    /// There will be no more sound of it, although it may not be over yet.
    whole: bool,
    asked: Option<Asked>,
    /// On which it was made.
    connection: u64,
    /// It has ended, but until then there may be words of it.
    words_until: Option<Instant>,
}

#[derive(Debug)]
struct Cut {
    reply: Reply,
    /// When it was silenced.
    known: Played,
    /// How long the user had to speak for that.
    stop: Option<Duration>,
}

impl Replies {
    /// Somebody may still hear something of them.
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty() || !self.cut.is_empty()
    }

    /// There will be more to hear of one.
    pub(super) fn are_growing(&self) -> bool {
        self.open.iter().any(|reply| reply.speech.state == State::Growing && !reply.whole)
    }

    /// From now on another voice speaks.
    pub(super) fn forget_voice(&mut self) {
        self.tempo = Tempo::default();
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let words = self.open.iter().filter_map(|reply| reply.words_until);
        words.filter(|moment| *moment > Instant::now()).chain(self.cut_until).min()
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.open.len() + self.cut.len()
    }

    fn named(&mut self, name: &str) -> Option<&mut Reply> {
        self.open.iter_mut().find(|reply| reply.speech.name == name)
    }

    /// Also of those that were silenced: their words may come behind their sound.
    fn untold(&mut self, name: &str) -> Option<&mut Reply> {
        let cut = self.cut.iter_mut().map(|cut| &mut cut.reply);
        self.open.iter_mut().chain(cut).find(|reply| reply.speech.name == name)
    }
}

impl Conversation {
    /// Everything was made that is to be heard, and all but the last of it was.
    pub(super) fn is_ending(&self) -> bool {
        let mut left = 0;
        for reply in &self.replies.open {
            let complete = reply.whole || reply.speech.state == State::Complete;
            if !complete {
                return false;
            }
            let played = self.speaker.played(reply.speech.generation);
            left += reply.made.saturating_sub(played.samples);
        }
        self.held.is_none() && !self.turn.is_awaited() && time_of(left) <= LAST_WORDS
    }

    pub(super) fn on_reply_began(&mut self, name: String, now: Instant) {
        let generation = match self.speaker.begin_at(Pace::Bursts, self.vendor.output_rate) {
            Ok(generation) => generation,
            Err(err) => {
                let (reason, fate) = (err.to_string(), Fate::GiveUp);
                return self.deeds.push_front(Deed::Failed { reason, fate });
            }
        };
        if !self.vendor.hears_speech {
            self.captions.forget_surplus();
        }
        self.captions.reply_began(generation);
        let reply = Reply {
            speech: Speech::new(name, generation),
            sounded: 0,
            made: 0,
            last_sound: None,
            whole: false,
            asked: self.turn.answered(),
            connection: self.connection.number,
            words_until: None,
        };
        self.replies.open.push(reply);
        self.turn.replied = Some(now);
        self.turn.unanswered = false;
        if !self.user_speaks() {
            self.ear.forget();
        }
    }

    /// What the speaker has no room for is held, and nothing more is read meanwhile.
    pub(super) fn on_sound(&mut self, name: &str, pcm: Bytes, now: Instant) {
        self.connection.speaks();
        let Some(reply) = self.replies.named(name) else {
            // Who cannot be stopped speaks to its end before it answers anything else.
            if !self.vendor.cancel {
                self.turn.wait_until(now + self.remote.rules.patience);
            }
            return;
        };
        let generation = reply.speech.generation;
        reply.last_sound = Some(now);
        reply.sounded += (pcm.len() / 2) as u64;
        reply.made = reply.sounded * u64::from(SPEAKER_RATE) / u64::from(self.vendor.output_rate);
        match self.speaker.push(generation, pcm.clone()).now_or_never() {
            Some(Ok(()) | Err(_)) => (),
            None => self.held = Some((generation, pcm)),
        }
    }

    pub(super) fn on_reply_said(&mut self, name: &str, text: String) {
        if let Some(reply) = self.replies.untold(name) {
            let made = reply.made;
            reply.speech.say(text, made);
        }
    }

    pub(super) fn on_reply_made(&mut self, name: &str) {
        if let Some(reply) = self.replies.named(name) {
            reply.whole = true;
        }
    }

    pub(super) fn on_reply_ended(&mut self, name: &str, end: ReplyEnd, now: Instant) {
        let found = self.replies.named(name).map(|reply| {
            reply.speech.state = match end {
                ReplyEnd::Complete => State::Complete,
                ReplyEnd::Cancelled | ReplyEnd::Failed(_) => State::Broken,
            };
            reply.words_until = Some(now + LATE_WORDS);
            (reply.speech.generation, reply.made, reply.last_sound)
        });
        if let Some((generation, ..)) = found {
            self.speaker.finish(generation);
        }
        match end {
            ReplyEnd::Complete => {
                if self.vendor.replies_unasked {
                    self.turn.fulfilled(found.and_then(|(_, _, last_sound)| last_sound));
                }
                self.connection.works();
                self.connection.speaks();
                self.connection.answers();
                (self.reported, self.turn.failure) = (None, None);
            }
            ReplyEnd::Failed(reason) if found.is_none_or(|(_, made, _)| made == 0) => {
                self.on_no_answer(&reason, now);
            }
            ReplyEnd::Failed(_) | ReplyEnd::Cancelled => (),
        }
    }

    /// The vendor will say no more of what it has begun. True if it had not finished.
    pub(super) fn break_off(&mut self) -> bool {
        let mut broken = false;
        for reply in &mut self.replies.open {
            if reply.speech.state == State::Growing {
                reply.speech.state = State::Broken;
                broken = true;
            }
            reply.words_until = None;
            self.speaker.finish(reply.speech.generation);
        }
        broken
    }

    /// The user takes the word. Since when they wanted it is known if they speak; otherwise the speaker was silenced
    /// when they wanted it, and only what began since then is to be silenced here.
    pub(super) fn interrupt(&mut self, since: Option<Instant>, now: Instant) {
        (self.turn.suspected, self.turn.began) = (None, None);
        self.turn.take_floor();
        let anything = !self.replies.open.is_empty() || self.turn.is_awaited();
        if !anything {
            self.speaker.resume();
            return;
        }
        self.cut_open(since.map(|since| now.saturating_duration_since(since)));
        self.speaker.stop(Some(StopReason::UserSpeaks));
        self.held = None;
        self.replies.cut_until.get_or_insert(now + FINAL_ACK);
        self.turn.forget_asked();
        self.wish(Wish::Cancel);
    }

    /// How much of them was heard is told a little later.
    fn cut_open(&mut self, stop: Option<Duration>) {
        for reply in std::mem::take(&mut self.replies.open) {
            let known = self.speaker.played(reply.speech.generation);
            self.replies.cut.push(Cut { reply, known, stop });
        }
    }

    /// There will be nobody any more who could speak. True if a client has still to tell how much it has played.
    pub(super) fn silence(&mut self, now: Instant) -> bool {
        if !self.replies.are_open() {
            return false;
        }
        // Somebody else may speak by now.
        let last = self.replies.open.iter().map(|reply| reply.speech.generation).max();
        if let Some(last) = last {
            self.cut_open(None);
            self.speaker.stop_upto(last, StopReason::ModelLeaves);
        }
        self.replies.cut_until = Some(now + FINAL_ACK);
        true
    }

    pub(super) fn settle_replies(&mut self, now: Instant) {
        if self.replies.cut_until.is_some_and(|moment| moment <= now) {
            self.replies.cut_until = None;
            for cut in std::mem::take(&mut self.replies.cut) {
                self.settle_cut(cut, now);
            }
        }
        for reply in std::mem::take(&mut self.replies.open) {
            let played = self.speaker.played(reply.speech.generation);
            let growing = reply.speech.state == State::Growing;
            let held = self.held.as_ref().is_some_and(|(held, _)| *held == reply.speech.generation);
            // One that the speaker does not know any more was silenced long ago.
            let gone = played.made == 0 && reply.made > 0 && !held;
            let late = reply.words_until.is_some_and(|moment| now < moment);
            if growing || held || late || !(played.over || gone) {
                self.replies.open.push(reply);
            } else {
                self.tell(reply, played, None, now);
            }
        }
    }

    /// A client that never tells what it plays would by now be taken to have played more.
    fn settle_cut(&mut self, cut: Cut, now: Instant) {
        let told = self.speaker.played(cut.reply.speech.generation);
        let played = if told.told { told } else { cut.known };
        self.tell(
            cut.reply,
            Played { made: played.made.max(cut.known.made), ..played },
            Some(cut.stop),
            now,
        );
    }

    /// Once for each reply, when nothing more of it will be heard.
    fn tell(
        &mut self,
        mut reply: Reply,
        played: Played,
        cut: Option<Option<Duration>>,
        now: Instant,
    ) {
        let complete = reply.speech.state == State::Complete;
        if !complete {
            reply.speech.state = State::Broken;
        }
        let all = complete && played.samples >= reply.made;
        let text = reply.speech.heard(played.samples, reply.made, &self.replies.tempo);
        self.replies.tempo.learn(&reply.speech, reply.made);
        let heard = time_of(played.samples);
        let interrupted = (!all).then_some(Interruption { heard });
        self.captions.reply_ended(reply.speech.generation, text, interrupted, now);
        let times = self.times(&reply, &played, cut.flatten());
        self.untold.push_back(LiveOutput::Turn(times));
        if !all && self.vendor.truncate && reply.connection == self.connection.number {
            self.wish(Wish::Heard { reply: reply.speech.name, played: heard });
        }
    }

    fn times(&mut self, reply: &Reply, played: &Played, stop: Option<Duration>) -> TurnTimes {
        let between =
            |from: Option<Instant>, to: Option<Instant>| Some(to?.saturating_duration_since(from?));
        let asked = reply.asked.map(|asked| asked.at);
        TurnTimes {
            end_of_turn: reply.asked.and_then(|asked| asked.end_of_turn),
            first_sound: between(asked, played.first_made),
            first_sent: between(played.first_made, played.first_sent),
            first_played: between(played.first_sent, played.first_heard),
            stop,
            underruns: played.underruns,
            dropped: std::mem::take(&mut self.ear.dropped),
        }
    }
}

fn time_of(samples: u64) -> Duration {
    Duration::from_micros(samples * 1_000_000 / u64::from(SPEAKER_RATE))
}
