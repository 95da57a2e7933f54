//! The session's link to the live model. It is opened at first use with the conversation so far, and gets the input
//! that the microphone could not hand over by itself. A model that is replaced or closed is still read until its last
//! output.

use super::Voice;
use super::microphone::{Fed, Heard};
use crate::message::{Channel, ConnectionId, PlaybackAck, Recorded, Seq, StopReason, TalkKey};
use crate::provider::live::{self, LiveConfig, LiveInput, LiveOutput};
use crate::session::chat::past;
use crate::session::shared::Shared;
use bytes::Bytes;
use std::future::pending;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Shortest time between two attempts to open a model that failed. Without it, a microphone that is left on would try
/// many times a second. Doubles with each failure until the model says something.
const REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(60);
/// A failure with the same reason is told to the user again after this long.
const SAID_AGAIN: Duration = Duration::from_secs(60);
/// How long a closed model is still read. Clients report within 150 ms how much of the last reply they have played.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A closed model that is still read.
#[derive(Debug)]
pub(super) struct Leaving {
    output: mpsc::Receiver<LiveOutput>,
    until: Instant,
}

impl Leaving {
    /// The next of the last outputs, `None` after the end or the timeout. Tool calls and failures of a closed model are
    /// ignored.
    async fn next(&mut self) -> Option<LiveOutput> {
        loop {
            let output = timeout_at(self.until, self.output.recv()).await.ok().flatten()?;
            match output {
                LiveOutput::Transcript { .. }
                | LiveOutput::Placed(_)
                | LiveOutput::Text(_)
                | LiveOutput::Turn(_)
                | LiveOutput::Usage { .. } => return Some(output),
                LiveOutput::ToolCall { .. }
                | LiveOutput::ToolsCancelled { .. }
                | LiveOutput::Replaced { .. }
                | LiveOutput::Failed { .. } => (),
            }
        }
    }
}

/// What the link is ready for.
#[derive(Debug)]
pub(in crate::session) enum LinkReady {
    /// `None`: the model has ended.
    Output(Option<LiveOutput>),
    Room,
}

impl Voice {
    /// Uses another model, or the same one with other settings. The change is immediate: the current reply is cut off.
    /// Returns whether an open model has left.
    pub(in crate::session) fn choose(&mut self, config: LiveConfig) -> bool {
        if self.config == config {
            return false;
        }
        let was_open = self.is_open();
        self.microphone.listener_is(config.name());
        self.config = config;
        (self.rest_until, self.failed, self.failures) = (None, None, 0);
        self.leave();
        was_open
    }

    /// Stops playback and closes the model. Its last outputs are still read.
    pub(super) fn leave(&mut self) {
        self.speaker.stop(Some(StopReason::ModelLeaves));
        let until = Instant::now() + LAST_WORDS;
        let left = self.link.take().map(|link| Leaving { output: link.output, until });
        self.leaving = left.or(self.leaving.take());
        self.speaker.abandon();
        self.microphone.detach();
        self.feed();
    }

    /// The next of the last outputs of a closed model.
    pub(super) async fn last_word(&mut self) -> Option<LiveOutput> {
        let word = self.leaving.as_mut()?.next().await;
        if word.is_none() {
            self.leaving = None;
        }
        word
    }

    /// Whether a model is connected.
    pub(in crate::session) fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Whether the queue has room for another text or picture.
    pub(in crate::session) fn has_room(&self) -> bool {
        self.microphone.has_room()
    }

    /// Returns false if this socket does not hold the microphone.
    pub(in crate::session) fn hear(
        &mut self,
        shared: &Shared,
        connection: ConnectionId,
        sound: Recorded,
    ) -> bool {
        let look = self.hearing.look(&sound);
        let heard = self.microphone.hear(connection, sound);
        self.feed();
        if !matches!(heard, Heard::NotHolder(_)) {
            self.hearing.count(connection, look);
        }
        match heard {
            Heard::Taken => true,
            Heard::Waiting { dropped } => {
                shared.env.metrics.audio_dropped(dropped);
                true
            }
            Heard::NotHolder(_) => false,
        }
    }

    /// Stops the model's speech, if this socket holds the microphone and does not only echo our own stop.
    pub(in crate::session) fn interrupt(&mut self, connection: ConnectionId) {
        if !self.microphone.is_held_by(connection) || self.speaker.hush() {
            self.microphone.interrupt(connection);
            self.feed();
        }
    }

    /// Passes on this socket's playback position.
    pub(in crate::session) fn ack(&self, connection: ConnectionId, ack: PlaybackAck) {
        self.speaker.ack(connection, ack);
    }

    /// Passes the talk key on, if this socket holds the microphone.
    pub(in crate::session) fn press(&mut self, connection: ConnectionId, key: TalkKey) {
        if self.microphone.is_held_by(connection) {
            self.hearing.forget();
        }
        self.microphone.press(connection, key);
        self.feed();
    }

    /// Queues a text or picture for the model. Somebody waits for the answer, so a model that has failed is tried again
    /// at once.
    pub(in crate::session) fn show(&mut self, input: LiveInput) {
        self.rest_until = None;
        self.microphone.show(input);
        self.feed();
    }

    /// The model has said something, so failures are counted from zero again.
    pub(super) fn works(&mut self) {
        self.failures = 0;
    }

    /// Closes the model after a failure. Returns whether the user has to be told.
    pub(super) fn on_failure(&mut self, reason: &str) -> bool {
        self.close();
        let now = Instant::now();
        let rest = REST * 2_u32.saturating_pow(self.failures.min(8));
        self.rest_until = Some(now + rest.min(LONGEST_REST));
        self.failures += 1;
        let known = self.failed.as_ref().is_some_and(|(last, when)| {
            last == reason && now.saturating_duration_since(*when) < SAID_AGAIN
        });
        if !known {
            self.failed = Some((reason.to_owned(), now));
        }
        !known
    }

    /// Waits for the model's next output (if `listening`) or for room to send it more. Without a model it
    /// waits forever.
    pub(in crate::session) async fn ready(&mut self, listening: bool) -> LinkReady {
        if self.leaving.is_some() {
            if !listening {
                return pending().await;
            }
            return self
                .last_word()
                .await
                .map_or(LinkReady::Room, |word| LinkReady::Output(Some(word)));
        }
        let Some(link) = &mut self.link else { return pending().await };
        tokio::select! {
            output = link.output.recv(), if listening => LinkReady::Output(output),
            // An error means that the model is gone, which its output reports.
            Ok(_) = link.input.reserve(), if self.behind == Fed::Partly => LinkReady::Room,
            else => pending().await,
        }
    }

    /// The model's next output, without waiting.
    pub(in crate::session) fn more_output(&mut self) -> Option<LiveOutput> {
        self.link.as_mut()?.output.try_recv().ok()
    }

    /// Sends the model as much of the waiting input as it takes.
    pub(in crate::session) fn feed(&mut self) {
        self.behind = self.microphone.feed();
    }

    /// Whether input waits and a model may be opened: none is open, the closed one is read to its end, and no pause
    /// after a failure is left.
    fn is_wanted(&self) -> bool {
        let rests = || self.rest_until.is_some_and(|until| Instant::now() < until);
        let free = self.link.is_none() && self.leaving.is_none();
        self.behind == Fed::Partly && free && !rests()
    }

    /// The next model has to know the chat up to its newest event.
    pub(super) fn note_told(&mut self, shared: &Shared) {
        self.told_upto = shared.journal.assigned(Channel::Chat);
    }

    /// Opens a model if input waits for one and the chat that it has to know is `published`. It sees the pictures first.
    pub(super) fn open_if_wanted(
        &mut self,
        shared: &Shared,
        published: Seq,
        pictures: impl FnOnce() -> Vec<Bytes>,
    ) {
        if !self.is_wanted() || published < self.told_upto {
            return;
        }
        let asked = self.microphone.unread();
        let past = past::said(shared.env.store.clone(), shared.key, published, asked);
        for picture in pictures().into_iter().rev() {
            self.microphone.show_first(LiveInput::Image(picture));
        }
        let link = self.link.insert(live::connect(&self.config, self.speaker.clone(), past));
        self.microphone.connect(link.input.clone());
        self.behind = self.microphone.feed();
    }

    /// Drops the model and the input that waits for it. The next use opens a new one.
    pub(super) fn close(&mut self) {
        self.link = None;
        self.speaker.abandon();
        self.behind = Fed::Everything;
        self.microphone.disconnect();
    }
}
