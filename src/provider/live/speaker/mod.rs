//! The sound of a live model on its way to the socket that plays it. Shared by the model, which fills it, the socket,
//! which empties it at the pace of speech, and whoever wants silence: nobody's sound waits for a turn of the session.
//!
//! Every reply has a generation. Silence is one number: sound up to that generation is stale, wherever it is.

mod intake;
mod playout;
mod reply;

pub use playout::Cut;
pub use reply::{Pace, Played};

use crate::audio::resample::ResampleError;
use crate::message::{AudioChunk, ConnectionId, Generation, PlaybackAck, StopReason};
use bytes::Bytes;
use intake::Intake;
use playout::{Next, Playout};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

/// How often a model that has to wait looks by itself whether it still has to.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What every speaker plays.
pub const SPEAKER_RATE: u32 = 24_000;

/// What the socket that holds the speaker is to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sound {
    Play { generation: Generation, chunk: AudioChunk },
    Stop { generation: Generation, reason: StopReason },
}

/// The reply was silenced; the rest of it is not wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stale;

#[derive(Debug, Clone, Default)]
pub struct Speaker(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is room for more of a reply, or it is stale.
    room: Notify,
    /// The user has heard more, or all.
    heard: Notify,
}

#[derive(Debug, Default)]
struct State {
    playout: Playout,
    holder: Option<ConnectionId>,
    /// A model is to be told when there is room.
    model_waits: bool,
    /// Of the holder.
    listener: Option<Waker>,
    /// Of sockets that may hold it one day.
    others: Vec<Waker>,
}

impl Speaker {
    /// A new reply begins, behind those that are not played yet.
    pub fn begin(&self, pace: Pace) -> Generation {
        self.lock().playout.begin(pace, Intake::default())
    }

    /// The same for a model that does not speak at the speaker's rate.
    pub fn begin_at(&self, pace: Pace, rate: u32) -> Result<Generation, ResampleError> {
        let intake = Intake::of(rate)?;
        Ok(self.lock().playout.begin(pace, intake))
    }

    /// The next piece of a reply, PCM16 at the rate it was begun with. Waits while too much of it is not played yet, so that a model that
    /// speaks faster than anybody can listen is not read any further.
    pub async fn push(&self, generation: Generation, pcm: Bytes) -> Result<(), Stale> {
        let Some(mut waiting) = self.offer(generation, pcm)? else { return Ok(()) };
        loop {
            let mut room = pin!(self.0.room.notified());
            room.as_mut().enable();
            waiting = match self.offer(generation, waiting)? {
                None => return Ok(()),
                Some(refused) => refused,
            };
            // In an empty room time alone makes room, and nobody tells.
            let _ = timeout(LOOK_AGAIN, room).await;
        }
    }

    /// Gives it back if there is no room.
    fn offer(&self, generation: Generation, pcm: Bytes) -> Result<Option<Bytes>, Stale> {
        let now = Instant::now();
        let mut state = self.lock();
        if state.playout.is_stale(generation) {
            return Err(Stale);
        }
        if !state.playout.has_room(now) {
            state.model_waits = true;
            return Ok(Some(pcm));
        }
        state.playout.push(generation, pcm, now);
        let listener = state.listener.take();
        drop(state);
        wake(listener);
        Ok(None)
    }

    /// The reply is complete.
    pub fn finish(&self, generation: Generation) {
        self.end(|playout| playout.finish(generation, Instant::now()));
    }

    /// The model is gone: what is there of its replies is all.
    pub fn abandon(&self) {
        self.end(|playout| playout.abandon(Instant::now()));
    }

    /// The last of a reply may come out of its conversion only now.
    fn end(&self, end: impl FnOnce(&mut Playout)) {
        let mut state = self.lock();
        end(&mut state.playout);
        let listener = state.listener.take();
        drop(state);
        wake(listener);
        self.0.heard.notify_waiters();
    }

    /// Silence, now: everything that has begun so far is stale. Tells what is known of the reply that was being
    /// played; `None` if there was none.
    /// Without a reason the client is not told: it was its own wish.
    pub fn stop(&self, reason: Option<StopReason>) -> Option<Cut> {
        let mut state = self.lock();
        let cut = state.playout.stop(reason, Instant::now());
        let listener = state.listener.take();
        drop(state);
        wake(listener);
        self.0.room.notify_waiters();
        cut
    }

    /// The same for the replies up to this one only: whoever speaks since then is not meant.
    pub fn stop_upto(&self, last: Generation, reason: StopReason) {
        let mut state = self.lock();
        state.playout.stop_upto(last, Some(reason), Instant::now());
        let listener = state.listener.take();
        drop(state);
        wake(listener);
        self.0.room.notify_waiters();
    }

    /// The client wants silence. False: it only answers a stop of ours.
    pub fn hush(&self) -> bool {
        let silent = self.lock().playout.hush(Instant::now());
        if silent {
            self.0.room.notify_waiters();
        }
        silent
    }

    /// Holds back what is not sent yet, until it is told to go on: perhaps somebody interrupts.
    pub fn pause(&self) {
        self.lock().playout.pause();
    }

    pub fn resume(&self) {
        let mut state = self.lock();
        state.playout.resume();
        let listener = state.listener.take();
        drop(state);
        wake(listener);
    }

    /// How far the user has heard a reply.
    pub fn played(&self, generation: Generation) -> Played {
        self.lock().playout.played(generation, Instant::now())
    }

    /// The reply that is being played, if any.
    pub fn current(&self) -> Option<Generation> {
        self.lock().playout.current(Instant::now())
    }

    /// Waits for news of what the user has heard, or until it is time to ask again.
    pub async fn heard(&self) {
        self.0.heard.notified().await;
    }

    /// A client tells what it has played. Only the holder knows.
    pub fn ack(&self, connection: ConnectionId, ack: PlaybackAck) {
        let mut state = self.lock();
        if state.holder == Some(connection) {
            state.playout.ack(ack, Instant::now());
            drop(state);
            self.0.heard.notify_waiters();
        }
    }

    /// From now on this socket plays; what the one before it has not played is played by this one.
    pub fn give_to(&self, holder: Option<ConnectionId>) {
        let mut state = self.lock();
        if state.holder == holder {
            return;
        }
        state.holder = holder;
        state.playout.hand_over(holder.is_some(), Instant::now());
        let others = std::mem::take(&mut state.others);
        let listener = state.listener.take();
        drop(state);
        wake(listener);
        others.into_iter().for_each(Waker::wake);
    }

    /// The place of one socket before this speaker. `echoes`: its client answers every stop with one of its own.
    pub fn listen(&self, connection: ConnectionId, echoes: bool) -> Listener {
        Listener { speaker: self.clone(), connection, echoes, until: None }
    }

    /// What this socket is to do next. Whoever leaves a waker is woken when that changes.
    fn next_for(&self, connection: ConnectionId, echoes: bool, waker: Option<&Waker>) -> Next {
        let mut state = self.lock();
        if state.holder != Some(connection) {
            state.wait_for_turn(waker);
            return Next::Nothing;
        }
        let next = state.playout.next(Instant::now(), echoes);
        let freed = state.playout.take_freed() && std::mem::take(&mut state.model_waits);
        if !matches!(next, Next::Sound(_)) {
            state.wait_for_news(waker);
        }
        drop(state);
        if freed {
            self.0.room.notify_waiters();
        }
        next
    }

    /// Replies that it keeps.
    #[cfg(test)]
    #[cfg(feature = "slow-tests")]
    pub(super) fn size(&self) -> usize {
        self.lock().playout.size()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wait_for_news(&mut self, waker: Option<&Waker>) {
        if let Some(waker) = waker
            && !self.listener.as_ref().is_some_and(|known| known.will_wake(waker))
        {
            self.listener = Some(waker.clone());
        }
    }

    /// Until the speaker changes hands.
    fn wait_for_turn(&mut self, waker: Option<&Waker>) {
        if let Some(waker) = waker
            && !self.others.iter().any(|known| known.will_wake(waker))
        {
            self.others.push(waker.clone());
        }
    }
}

/// Without the lock: whoever is woken takes it at once.
fn wake(listener: Option<Waker>) {
    if let Some(listener) = listener {
        listener.wake();
    }
}

/// One socket before the speaker. Hears something only while it holds it.
#[derive(Debug)]
pub struct Listener {
    speaker: Speaker,
    connection: ConnectionId,
    echoes: bool,
    /// When there will be more.
    until: Option<Pin<Box<Sleep>>>,
}

impl Listener {
    /// Waits for what is to be played. Loses nothing when it is cancelled.
    pub async fn next(&mut self) -> Sound {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// What may be played right now, if anything.
    pub fn ready(&mut self) -> Option<Sound> {
        match self.speaker.next_for(self.connection, self.echoes, None) {
            Next::Sound(sound) => Some(sound),
            Next::Wait(_) | Next::Nothing => None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Sound> {
        loop {
            match self.speaker.next_for(self.connection, self.echoes, Some(cx.waker())) {
                Next::Sound(sound) => return Poll::Ready(sound),
                Next::Nothing => return Poll::Pending,
                Next::Wait(moment) => {
                    let until = self.until.get_or_insert_with(|| Box::pin(sleep_until(moment)));
                    if until.deadline() != moment {
                        until.as_mut().reset(moment);
                    }
                    std::task::ready!(until.as_mut().poll(cx));
                }
            }
        }
    }
}
