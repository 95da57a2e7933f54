//! Replies of the model: from the first sound until they were played or interrupted, and how much of them was heard.

use super::Conversation;
use super::turn::ExpectedAnswer;
use crate::message::{Interruption, StopReason, TurnTimes};
use crate::provider::live::remote::protocol::{Effect, Recovery, ReplyEnd, Request};
use crate::provider::live::remote::speech::spoken_reply::{SpeechRate, SpokenReply, State};
use crate::provider::live::{LiveOutput, Pace, Played, SPEAKER_RATE};
use bytes::Bytes;
use futures_util::FutureExt;
use std::time::Duration;
use tokio::time::Instant;

/// How long a client may take to report its playback position after a stop.
pub(super) const FINAL_ACK: Duration = Duration::from_millis(150);

/// If no more than this is left to play, a short word of the user is an answer and not a backchannel.
const LAST_WORDS: Duration = Duration::from_millis(700);

/// Some vendors end a reply before they have sent all of its text.
const LATE_WORDS: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(super) struct Replies {
    open: Vec<Reply>,
    /// Interrupted, but not reported yet: the playback position is still to come.
    cut: Vec<Cut>,
    cut_until: Option<Instant>,
    /// Of the current model's voice.
    speech_rate: SpeechRate,
}

#[derive(Debug)]
struct Reply {
    spoken: SpokenReply,
    /// Samples so far, at the vendor's rate.
    sounded: u64,
    /// Samples so far, at the speaker's rate.
    made: u64,
    /// When its last sound came.
    last_sound: Option<Instant>,
    /// All of its sound has come, although it may not have ended yet.
    whole: bool,
    asked: Option<ExpectedAnswer>,
    /// Number of the connection that made it.
    connection: u64,
    /// It has ended; more text is waited for until then.
    words_until: Option<Instant>,
}

#[derive(Debug)]
struct Cut {
    reply: Reply,
    /// Playback position when it was interrupted.
    known: Played,
    /// How long the user spoke before the interruption.
    stop: Option<Duration>,
}

impl Replies {
    /// Some are still being played or reported.
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty() || !self.cut.is_empty()
    }

    /// More sound of one is expected.
    pub(super) fn are_growing(&self) -> bool {
        self.open.iter().any(|reply| reply.spoken.state == State::Growing && !reply.whole)
    }

    /// Another model with another voice speaks from now on.
    pub(super) fn forget_voice(&mut self) {
        self.speech_rate = SpeechRate::default();
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
        self.open.iter_mut().find(|reply| reply.spoken.name == name)
    }

    /// Includes interrupted replies: their text may come after their sound.
    fn untold(&mut self, name: &str) -> Option<&mut Reply> {
        let cut = self.cut.iter_mut().map(|cut| &mut cut.reply);
        self.open.iter_mut().chain(cut).find(|reply| reply.spoken.name == name)
    }
}

impl Conversation {
    /// All sound has come, and all but the last words were played.
    pub(super) fn is_ending(&self) -> bool {
        let mut left = 0;
        for reply in &self.replies.open {
            let complete = reply.whole || reply.spoken.state == State::Complete;
            if !complete {
                return false;
            }
            let played = self.speaker.played(reply.spoken.generation);
            left += reply.made.saturating_sub(played.samples);
        }
        self.held_sound.is_none() && !self.turn.is_awaited() && time_of(left) <= LAST_WORDS
    }

    pub(super) fn on_reply_began(&mut self, name: String, now: Instant) {
        let generation = match self.speaker.begin_at(Pace::Bursts, self.vendor.output_rate) {
            Ok(generation) => generation,
            Err(err) => {
                let (reason, recovery) = (err.to_string(), Recovery::GiveUp);
                return self.effects.push_front(Effect::Failed { reason, recovery });
            }
        };
        if !self.vendor.hears_speech {
            self.transcript.forget_surplus();
        }
        self.transcript.reply_began(generation);
        let reply = Reply {
            spoken: SpokenReply::new(name, generation),
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
            self.microphone.forget();
        }
    }

    /// Sound for which the speaker has no room is held, and no further effects are applied meanwhile.
    pub(super) fn on_sound(&mut self, name: &str, pcm: Bytes, now: Instant) {
        self.connection.speaks();
        let Some(reply) = self.replies.named(name) else {
            // A vendor without cancel finishes this reply before it answers anything else.
            if !self.vendor.cancel {
                self.turn.wait_until(now + self.remote.rules.patience);
            }
            return;
        };
        let generation = reply.spoken.generation;
        reply.last_sound = Some(now);
        reply.sounded += (pcm.len() / 2) as u64;
        reply.made = reply.sounded * u64::from(SPEAKER_RATE) / u64::from(self.vendor.output_rate);
        match self.speaker.push(generation, pcm.clone()).now_or_never() {
            Some(Ok(()) | Err(_)) => (),
            None => self.held_sound = Some((generation, pcm)),
        }
    }

    pub(super) fn on_reply_said(&mut self, name: &str, text: String) {
        if let Some(reply) = self.replies.untold(name) {
            let made = reply.made;
            reply.spoken.say(text, made);
        }
    }

    pub(super) fn on_reply_made(&mut self, name: &str) {
        if let Some(reply) = self.replies.named(name) {
            reply.whole = true;
        }
    }

    pub(super) fn on_reply_ended(&mut self, name: &str, end: ReplyEnd, now: Instant) {
        let found = self.replies.named(name).map(|reply| {
            reply.spoken.state = match end {
                ReplyEnd::Complete => State::Complete,
                ReplyEnd::Cancelled | ReplyEnd::Failed(_) => State::Broken,
            };
            reply.words_until = Some(now + LATE_WORDS);
            (reply.spoken.generation, reply.made, reply.last_sound)
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

    /// The connection is gone: open replies get no more sound. True if one was not complete.
    pub(super) fn break_off(&mut self) -> bool {
        let mut broken = false;
        for reply in &mut self.replies.open {
            if reply.spoken.state == State::Growing {
                reply.spoken.state = State::Broken;
                broken = true;
            }
            reply.words_until = None;
            self.speaker.finish(reply.spoken.generation);
        }
        broken
    }

    /// Stops the model because the user speaks, types or cancels. `since` is when the user began to speak. `None`: a cancel,
    /// for which the speaker was stopped already, so that only what began after it is stopped here.
    pub(super) fn interrupt(&mut self, since: Option<Instant>, now: Instant) {
        (self.turn.suspected, self.turn.began) = (None, None);
        self.turn.take_turn();
        let anything = !self.replies.open.is_empty() || self.turn.is_awaited();
        if !anything {
            self.speaker.resume();
            return;
        }
        self.cut_open(since.map(|since| now.saturating_duration_since(since)));
        self.speaker.stop(Some(StopReason::UserSpeaks));
        self.held_sound = None;
        self.replies.cut_until.get_or_insert(now + FINAL_ACK);
        self.turn.forget_asked();
        self.request(Request::Cancel);
    }

    /// Marks the open replies as interrupted. How much was heard is reported a little later.
    fn cut_open(&mut self, stop: Option<Duration>) {
        for reply in std::mem::take(&mut self.replies.open) {
            let known = self.speaker.played(reply.spoken.generation);
            self.replies.cut.push(Cut { reply, known, stop });
        }
    }

    /// The conversation ends: stops its replies. True if a client still has to report its playback position.
    pub(super) fn silence(&mut self, now: Instant) -> bool {
        if !self.replies.are_open() {
            return false;
        }
        // Another conversation may use the speaker by now, so only our replies are stopped.
        let last = self.replies.open.iter().map(|reply| reply.spoken.generation).max();
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
            let played = self.speaker.played(reply.spoken.generation);
            let growing = reply.spoken.state == State::Growing;
            let held =
                self.held_sound.as_ref().is_some_and(|(held, _)| *held == reply.spoken.generation);
            // The speaker has forgotten replies that were stopped long ago.
            let gone = played.made == 0 && reply.made > 0 && !held;
            let late = reply.words_until.is_some_and(|moment| now < moment);
            if growing || held || late || !(played.over || gone) {
                self.replies.open.push(reply);
            } else {
                self.tell(reply, played, None, now);
            }
        }
    }

    /// Without a report of the client, the position at the interruption counts: by the clock, more would seem played.
    fn settle_cut(&mut self, cut: Cut, now: Instant) {
        let told = self.speaker.played(cut.reply.spoken.generation);
        let played = if told.told { told } else { cut.known };
        self.tell(
            cut.reply,
            Played { made: played.made.max(cut.known.made), ..played },
            Some(cut.stop),
            now,
        );
    }

    /// Reports a reply, once, when nothing more of it will be heard.
    fn tell(
        &mut self,
        mut reply: Reply,
        played: Played,
        cut: Option<Option<Duration>>,
        now: Instant,
    ) {
        let complete = reply.spoken.state == State::Complete;
        if !complete {
            reply.spoken.state = State::Broken;
        }
        let all = complete && played.samples >= reply.made;
        let text = reply.spoken.heard(played.samples, reply.made, &self.replies.speech_rate);
        self.replies.speech_rate.learn(&reply.spoken, reply.made);
        let heard = time_of(played.samples);
        let interrupted = (!all).then_some(Interruption { heard });
        self.transcript.reply_ended(reply.spoken.generation, text, interrupted, now);
        let times = self.times(&reply, &played, cut.flatten());
        self.outbox.push_back(LiveOutput::Turn(times));
        if !all && self.vendor.truncate && reply.connection == self.connection.number {
            self.request(Request::Heard { reply: reply.spoken.name, played: heard });
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
            dropped: std::mem::take(&mut self.microphone.dropped),
        }
    }
}

fn time_of(samples: u64) -> Duration {
    Duration::from_micros(samples * 1_000_000 / u64::from(SPEAKER_RATE))
}
