//! What is still to be played, and how far the user has heard it. Pure: the caller says what time it is.

use super::intake::Intake;
use super::reply::{Pace, Played, Reply, length, samples};
use super::{SPEAKER_RATE, Sound};
use crate::message::{AudioChunk, Generation, PlaybackAck, StopReason};
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// So much sound is sent ahead: enough for a network that stumbles, little enough to be silenced at once.
const LEAD: Duration = Duration::from_millis(400);
/// By so much a client may be behind what it was sent, by the way there and back, its buffer and its device: it is sent the
/// lead beyond that. One that is further behind gets no more before it has played some of it, whatever it tells.
const MOST_DELAY: Duration = Duration::from_secs(1);
/// Sound that waits to be played. Full: the model is not read any further.
const MOST_HELD: Duration = Duration::from_secs(120);
/// How long a reply waits for a socket that has just gone; then it goes on as if somebody listened.
const PATIENCE: Duration = Duration::from_secs(15);
/// So long after a stop of ours the answer of a client that echoes it is taken for that.
const ECHO: Duration = Duration::from_secs(1);
/// Stops whose answers are waited for at once. More: the oldest is not waited for any longer.
const MOST_ECHOES: usize = 4;
/// Replies that are remembered after they were played or silenced.
const REMEMBERED: usize = 8;

/// A reply that was silenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub generation: Generation,
    /// As far as it is known now; a client tells the rest within moments.
    pub played: Played,
}

#[derive(Debug)]
pub(super) enum Next {
    Sound(Sound),
    /// There is more, but not yet.
    Wait(Instant),
    Nothing,
}

#[derive(Debug, Default)]
pub(super) struct Playout {
    newest: u64,
    /// Everything up to this generation is stale.
    silenced: u64,
    replies: VecDeque<Reply>,
    /// To be told to the socket that plays.
    stop: Option<Sound>,
    /// When a client was told to stop that answers each time with a stop of its own.
    echoes_due: VecDeque<Instant>,
    paused: bool,
    sink: Sink,
    freed: bool,
}

#[derive(Debug, Clone, Copy, Default)]
enum Sink {
    /// Nobody has listened yet: what is said passes as it would in an empty room.
    #[default]
    Never,
    Attached,
    Lost {
        since: Instant,
    },
}

impl Playout {
    pub(super) fn begin(&mut self, pace: Pace, intake: Intake) -> Generation {
        self.newest += 1;
        let generation = Generation(self.newest);
        while self.replies.len() >= REMEMBERED
            && self.replies.front().is_some_and(|oldest| oldest.waiting.is_empty())
        {
            self.replies.pop_front();
        }
        self.replies.push_back(Reply::new(generation, pace, intake));
        generation
    }

    pub(super) fn is_stale(&self, generation: Generation) -> bool {
        generation.0 <= self.silenced
    }

    pub(super) fn has_room(&mut self, now: Instant) -> bool {
        self.pass_unheard(now);
        self.replies.iter().map(|reply| reply.held).sum::<u64>() < samples(MOST_HELD)
    }

    pub(super) fn push(&mut self, generation: Generation, pcm: Bytes, now: Instant) {
        if let Some(reply) = self.find(generation) {
            reply.take(pcm, now);
        }
    }

    pub(super) fn finish(&mut self, generation: Generation, now: Instant) {
        if let Some(reply) = self.find(generation) {
            reply.finish(now);
        }
    }

    pub(super) fn abandon(&mut self, now: Instant) {
        // Whoever paused it is not there to let it go on.
        self.paused = false;
        self.replies.iter_mut().for_each(|reply| reply.finish(now));
    }

    /// `None` as the reason: the client has stopped by itself and need not be told.
    pub(super) fn stop(&mut self, reason: Option<StopReason>, now: Instant) -> Option<Cut> {
        self.paused = false;
        self.stop_upto(Generation(self.newest), reason, now)
    }

    /// The same for nothing that began after this reply.
    pub(super) fn stop_upto(
        &mut self,
        last: Generation,
        reason: Option<StopReason>,
        now: Instant,
    ) -> Option<Cut> {
        let current = self.current(now).filter(|generation| *generation <= last);
        self.silenced = self.silenced.max(last.0);
        let cut =
            current.map(|generation| Cut { generation, played: self.played(generation, now) });
        let stale = self.replies.iter_mut().filter(|reply| reply.generation <= last);
        stale.for_each(|reply| reply.silence(now));
        self.freed = true;
        if cut.is_some()
            && let Some(reason) = reason
        {
            self.stop = Some(Sound::Stop { generation: Generation(self.silenced), reason });
        }
        cut
    }

    /// The client wants silence. False: that is only its answer to a stop of ours, and says nothing about what has
    /// begun since. Each stop excuses one answer.
    pub(super) fn hush(&mut self, now: Instant) -> bool {
        self.echoes_due.retain(|told| now.saturating_duration_since(*told) < ECHO);
        if self.echoes_due.pop_front().is_some() {
            return false;
        }
        self.stop(None, now);
        true
    }

    pub(super) fn pause(&mut self) {
        self.paused = true;
    }

    pub(super) fn resume(&mut self) {
        self.paused = false;
    }

    pub(super) fn played(&mut self, generation: Generation, now: Instant) -> Played {
        self.pass_unheard(now);
        self.find(generation).map_or_else(Played::default, |reply| reply.played(now))
    }

    /// The reply that is being played, or is about to be.
    pub(super) fn current(&mut self, now: Instant) -> Option<Generation> {
        self.pass_unheard(now);
        let silenced = self.silenced;
        let mut open = self.replies.iter().filter(|reply| reply.generation.0 > silenced);
        open.find(|reply| !reply.is_over(now) && reply.made > 0).map(|reply| reply.generation)
    }

    pub(super) fn ack(&mut self, ack: PlaybackAck, now: Instant) {
        if let Some(reply) = self.find(ack.generation) {
            let before = reply.told.map_or(reply.base, |(told, _)| told);
            let heard = (reply.base + ack.samples).min(reply.sent).max(before);
            if heard > 0 {
                reply.first_heard.get_or_insert(now);
            }
            reply.told = Some((heard, now));
            if reply.silenced.is_none() {
                reply.ends = Some(paced(reply.ends, now + length(reply.sent - heard)));
            }
            reply.underruns = ack.underruns;
            reply.forget_heard(now);
        }
    }

    pub(super) fn hand_over(&mut self, attached: bool, now: Instant) {
        self.stop = None;
        // Whoever holds it now was not told to stop.
        self.echoes_due.clear();
        self.sink = match (attached, self.sink) {
            (true, _) => Sink::Attached,
            (false, Sink::Never) => Sink::Never,
            (false, Sink::Attached) => Sink::Lost { since: now },
            (false, lost @ Sink::Lost { .. }) => lost,
        };
        let audible = self.replies.iter_mut().filter(|reply| reply.silenced.is_none());
        audible.for_each(|reply| reply.take_back(now));
    }

    /// True once after room was made.
    pub(super) fn take_freed(&mut self) -> bool {
        std::mem::take(&mut self.freed)
    }

    /// `echoes`: this client answers every stop with one of its own, as existing ones do. The others tell what they play.
    pub(super) fn next(&mut self, now: Instant, echoes: bool) -> Next {
        if let Some(stop) = self.stop.take() {
            if echoes {
                self.expect_echo(now);
            }
            return Next::Sound(stop);
        }
        if self.paused {
            return Next::Nothing;
        }
        match self.due(now) {
            Due::Now => self.send(now, !echoes).map_or(Next::Nothing, Next::Sound),
            Due::At(moment) => Next::Wait(moment),
            Due::Never => Next::Nothing,
        }
    }

    fn expect_echo(&mut self, now: Instant) {
        if self.echoes_due.len() >= MOST_ECHOES {
            self.echoes_due.pop_front();
        }
        self.echoes_due.push_back(now);
    }

    fn due(&self, now: Instant) -> Due {
        let Some(reply) = self.replies.iter().find(|reply| !reply.waiting.is_empty()) else {
            return Due::Never;
        };
        // Of all replies: the one before may still be playing.
        let ends = self.replies.iter().filter_map(|reply| reply.ends).max();
        match (reply.pace, ends) {
            (Pace::Speech, _) | (Pace::Bursts, None) => Due::Now,
            (Pace::Bursts, Some(ends)) if ends <= now + LEAD => Due::Now,
            (Pace::Bursts, Some(ends)) => Due::At(ends - LEAD),
        }
    }

    fn send(&mut self, now: Instant, reported: bool) -> Option<Sound> {
        let ends = self.replies.iter().filter_map(|reply| reply.ends).max();
        let reply = self.replies.iter_mut().find(|reply| !reply.waiting.is_empty())?;
        // It is played behind what was sent before it.
        reply.ends = reply.ends.max(ends);
        reply.reported = reported;
        let pcm = reply.send(now)?;
        self.freed = true;
        let chunk = AudioChunk { rate: SPEAKER_RATE, pcm };
        Some(Sound::Play { generation: reply.generation, chunk })
    }

    /// While nobody listens and nobody is expected, time passes all the same: what would have been sent by now is.
    fn pass_unheard(&mut self, now: Instant) {
        let alone_since = match self.sink {
            Sink::Attached => return,
            Sink::Never => None,
            Sink::Lost { since } if now.saturating_duration_since(since) < PATIENCE => return,
            Sink::Lost { since } => Some(since + PATIENCE),
        };
        while let Some(due) = self.due_since(now)
            && due <= now
        {
            self.send(alone_since.map_or(due, |since| since.max(due)), false);
        }
    }

    /// Since when the next packet could have been sent.
    fn due_since(&self, now: Instant) -> Option<Instant> {
        let reply = self.replies.iter().find(|reply| !reply.waiting.is_empty())?;
        let made = reply.first_made.unwrap_or(now);
        let ends = self.replies.iter().filter_map(|reply| reply.ends).max();
        match (reply.pace, ends) {
            (Pace::Bursts, Some(ends)) => Some(made.max(ends - LEAD)),
            (Pace::Bursts, None) | (Pace::Speech, _) => Some(made),
        }
    }

    #[cfg(test)]
    #[cfg(feature = "slow-tests")]
    pub(super) fn size(&self) -> usize {
        self.replies.len()
    }

    fn find(&mut self, generation: Generation) -> Option<&mut Reply> {
        self.replies.iter_mut().find(|reply| reply.generation == generation)
    }
}

/// When everything that was sent is over: as it would be if it were played as it was sent, and not as it is told. What is
/// told is older than now by the way of the message, and about a speaker that plays later than it is sent to by the way
/// there and what its device holds; to wait for that would leave it dry every time. Only what is more than that is
/// waited for. And nobody plays faster than people speak, whoever tells so.
fn paced(ends: Option<Instant>, told: Instant) -> Instant {
    let Some(ends) = ends else { return told };
    told.checked_sub(MOST_DELAY).map_or(ends, |late| late.max(ends))
}

/// When the next packet may go.
enum Due {
    Now,
    At(Instant),
    Never,
}

#[cfg(test)]
mod tests;
