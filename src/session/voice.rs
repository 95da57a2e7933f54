//! The session's end of the live model: opened at first use, listened to, and fed with what the microphone could not
//! hand over by itself.

use super::microphone::{Fed, Heard, Microphone};
use crate::message::{ConnectionId, PlaybackAck, Recorded, TalkKey};
use crate::provider::live::{self, LiveConfig, LiveInput, LiveLink, LiveOutput, Speaker};
use std::future::pending;
use std::time::Duration;
use tokio::time::Instant;

/// A microphone that is left on would otherwise open a model that cannot be used many times a second.
const REST: Duration = Duration::from_secs(5);
/// The same failure is told again after this long.
const SAID_AGAIN: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Voice {
    config: LiveConfig,
    link: Option<LiveLink>,
    microphone: Microphone,
    speaker: Speaker,
    /// What waits at the microphone can be fed only when the model has room again.
    behind: Fed,
    /// After a failure sound alone opens no model before this.
    rest_until: Option<Instant>,
    /// What the user was told of the last failure, and when.
    failed: Option<(String, Instant)>,
}

#[derive(Debug)]
pub(super) enum Wake {
    /// `None`: the model is gone.
    Output(Option<LiveOutput>),
    Room,
}

impl Voice {
    pub(super) fn new(config: LiveConfig, microphone: Microphone, speaker: Speaker) -> Self {
        microphone.expect_rate(config.usual_rate());
        Self {
            config,
            link: None,
            microphone,
            speaker,
            behind: Fed::Everything,
            rest_until: None,
            failed: None,
        }
    }

    /// Another model speaks from now on, or the same in another way: at once, because nobody would wait for it.
    pub(super) fn choose(&mut self, config: LiveConfig) {
        if self.config != config {
            self.microphone.expect_rate(config.usual_rate());
            self.config = config;
            (self.rest_until, self.failed) = (None, None);
            self.speaker.stop(None);
            self.close();
        }
    }

    /// Whether somebody is talking with the model.
    pub(super) fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Whether the model is ready for more to read or to look at.
    pub(super) fn has_room(&self) -> bool {
        self.microphone.has_room()
    }

    pub(super) fn hear(&mut self, connection: ConnectionId, sound: Recorded) -> Heard {
        let heard = self.microphone.hear(connection, sound);
        self.feed();
        heard
    }

    /// Silences the model, if this socket may.
    pub(super) fn interrupt(&mut self, connection: ConnectionId) {
        if !self.microphone.is_held_by(connection) || self.speaker.hush() {
            self.microphone.interrupt(connection);
            self.feed();
        }
    }

    /// How far this socket has played.
    pub(super) fn ack(&self, connection: ConnectionId, ack: PlaybackAck) {
        self.speaker.ack(connection, ack);
    }

    /// The user speaks by a key, if this socket may.
    pub(super) fn press(&mut self, connection: ConnectionId, key: TalkKey) {
        self.microphone.press(connection, key);
        self.feed();
    }

    /// Gives the model something to read or to look at. Somebody waits for it, so a model that has failed is tried
    /// again at once.
    pub(super) fn show(&mut self, input: LiveInput) {
        self.rest_until = None;
        self.microphone.show(input);
        self.feed();
    }

    /// The model has failed. True: the user does not know yet.
    pub(super) fn on_failure(&mut self, reason: &str) -> bool {
        self.close();
        let now = Instant::now();
        self.rest_until = Some(now + REST);
        let known = self.failed.as_ref().is_some_and(|(last, when)| {
            last == reason && now.saturating_duration_since(*when) < SAID_AGAIN
        });
        if !known {
            self.failed = Some((reason.to_owned(), now));
        }
        !known
    }

    /// Waits for the model's next word (if `listening`) or for room to feed it more; never without a model.
    pub(super) async fn wake(&mut self, listening: bool) -> Wake {
        let Some(link) = &mut self.link else { return pending().await };
        tokio::select! {
            output = link.output.recv(), if listening => Wake::Output(output),
            // An error means that the model is gone, which its output reports.
            Ok(_) = link.input.reserve(), if self.behind == Fed::Partly => Wake::Room,
            else => pending().await,
        }
    }

    /// Takes what else the model has said, if anything.
    pub(super) fn more_output(&mut self) -> Option<LiveOutput> {
        self.link.as_mut()?.output.try_recv().ok()
    }

    /// Hands over what waits, as far as it is taken; the first time to a new model.
    pub(super) fn feed(&mut self) {
        self.behind = self.microphone.feed();
        let rests = self.rest_until.is_some_and(|until| Instant::now() < until);
        if self.behind == Fed::Partly && self.link.is_none() && !rests {
            let link = self.link.insert(live::connect(&self.config, self.speaker.clone()));
            self.microphone.connect(link.input.clone());
            self.behind = self.microphone.feed();
        }
    }

    /// Forgets the model; the next use opens a new one.
    pub(super) fn close(&mut self) {
        self.link = None;
        self.speaker.abandon();
        self.behind = Fed::Everything;
        self.microphone.disconnect();
    }
}

/// Sockets may hold on to the microphone for a while, but the model ends with the session.
impl Drop for Voice {
    fn drop(&mut self) {
        self.microphone.give_to(None);
        self.close();
    }
}
