//! The session's end of the live model: opened at first use with what was said before, listened to, and fed with what
//! the microphone could not hand over by itself. A model that leaves is listened to until its last word.

use super::microphone::{Fed, Heard, Microphone};
use super::sight::Unwritten;
use crate::message::{Channel, ConnectionId, PlaybackAck, Recorded, Seq, StopReason, TalkKey};
use crate::provider::live::{self, LiveConfig, LiveInput, LiveLink, LiveOutput, Said, Speaker};
use crate::session::actor::Session;
use crate::session::chat::past;
use std::future::pending;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// A microphone that is left on would otherwise open a model that cannot be used many times a second. Twice as long after
/// each further failure, until something is said.
const REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(60);
/// The same failure is told again after this long.
const SAID_AGAIN: Duration = Duration::from_secs(60);
/// So long a model that leaves is listened to: a client tells within 150 ms how much of the last reply it has played.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(in crate::session) struct Voice {
    config: LiveConfig,
    link: Option<LiveLink>,
    /// Another one was chosen, but this one has not said its last word.
    leaving: Option<Leaving>,
    /// The chat up to here is what a new model has to know.
    told_upto: Seq,
    /// A text that is shown to the model, and written down when its place in the conversation is known.
    pub(in crate::session) unwritten: Option<Unwritten>,
    microphone: Microphone,
    speaker: Speaker,
    /// What waits at the microphone can be fed only when the model has room again.
    behind: Fed,
    /// After a failure sound alone opens no model before this.
    rest_until: Option<Instant>,
    /// What the user was told of the last failure, and when.
    failed: Option<(String, Instant)>,
    /// In a row.
    failures: u32,
}

#[derive(Debug)]
struct Leaving {
    output: mpsc::Receiver<LiveOutput>,
    until: Instant,
}

impl Leaving {
    /// The next of its last words; `None`: that was all. What it wants to be done is not its affair any more.
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

#[derive(Debug)]
pub(in crate::session) enum Wake {
    /// `None`: the model is gone.
    Output(Option<LiveOutput>),
    Room,
}

impl Voice {
    pub(in crate::session) fn new(
        config: LiveConfig,
        microphone: Microphone,
        speaker: Speaker,
    ) -> Self {
        microphone.expect_rate(config.usual_rate());
        Self {
            config,
            link: None,
            leaving: None,
            told_upto: Seq(0),
            unwritten: None,
            microphone,
            speaker,
            behind: Fed::Everything,
            rest_until: None,
            failed: None,
            failures: 0,
        }
    }

    /// Another model speaks from now on, or the same in another way: at once, because nobody would wait for it.
    pub(in crate::session) fn choose(&mut self, config: LiveConfig) {
        if self.config != config {
            self.microphone.expect_rate(config.usual_rate());
            self.config = config;
            (self.rest_until, self.failed, self.failures) = (None, None, 0);
            self.leave();
        }
    }

    /// Silences the model and says goodbye to it; its last words are still to come.
    pub(super) fn leave(&mut self) {
        self.speaker.stop(Some(StopReason::ModelLeaves));
        let until = Instant::now() + LAST_WORDS;
        let left = self.link.take().map(|link| Leaving { output: link.output, until });
        self.leaving = left.or(self.leaving.take());
        self.speaker.abandon();
        self.microphone.detach();
        self.feed();
    }

    /// The next of the last words of a model that has left.
    pub(super) async fn last_word(&mut self) -> Option<LiveOutput> {
        let word = self.leaving.as_mut()?.next().await;
        if word.is_none() {
            self.leaving = None;
        }
        word
    }

    /// Whether somebody is talking with the model.
    pub(in crate::session) fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Whether the model is ready for more to read or to look at.
    pub(in crate::session) fn has_room(&self) -> bool {
        self.microphone.has_room()
    }

    pub(super) fn hear(&mut self, connection: ConnectionId, sound: Recorded) -> Heard {
        let heard = self.microphone.hear(connection, sound);
        self.feed();
        heard
    }

    pub(super) fn is_held_by(&self, connection: ConnectionId) -> bool {
        self.microphone.is_held_by(connection)
    }

    /// Silences the model, if this socket may.
    pub(in crate::session) fn interrupt(&mut self, connection: ConnectionId) {
        if !self.is_held_by(connection) || self.speaker.hush() {
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
    pub(in crate::session) fn show(&mut self, input: LiveInput) {
        self.rest_until = None;
        self.microphone.show(input);
        self.feed();
    }

    /// The model has said something.
    pub(super) fn works(&mut self) {
        self.failures = 0;
    }

    /// The model has failed. True: the user does not know yet.
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

    /// Waits for the model's next word (if `listening`) or for room to feed it more; never without a model.
    pub(in crate::session) async fn wake(&mut self, listening: bool) -> Wake {
        if self.leaving.is_some() {
            if !listening {
                return pending().await;
            }
            return self.last_word().await.map_or(Wake::Room, |word| Wake::Output(Some(word)));
        }
        let Some(link) = &mut self.link else { return pending().await };
        tokio::select! {
            output = link.output.recv(), if listening => Wake::Output(output),
            // An error means that the model is gone, which its output reports.
            Ok(_) = link.input.reserve(), if self.behind == Fed::Partly => Wake::Room,
            else => pending().await,
        }
    }

    /// Takes what else the model has said, if anything.
    pub(in crate::session) fn more_output(&mut self) -> Option<LiveOutput> {
        self.link.as_mut()?.output.try_recv().ok()
    }

    /// Hands over what waits, as far as it is taken.
    pub(in crate::session) fn feed(&mut self) {
        self.behind = self.microphone.feed();
    }

    /// Whether somebody waits for a model that is not there; not before the one that leaves has said its last word.
    fn is_wanted(&self) -> bool {
        let rests = || self.rest_until.is_some_and(|until| Instant::now() < until);
        let free = self.link.is_none() && self.leaving.is_none();
        self.behind == Fed::Partly && free && !rests()
    }

    fn open(&mut self, past: impl Future<Output = Vec<Said>> + Send + 'static) {
        let link = self.link.insert(live::connect(&self.config, self.speaker.clone(), past));
        self.microphone.connect(link.input.clone());
        self.behind = self.microphone.feed();
    }

    /// Forgets the model; the next use opens a new one.
    pub(super) fn close(&mut self) {
        self.link = None;
        self.speaker.abandon();
        self.behind = Fed::Everything;
        self.microphone.disconnect();
    }
}

impl Session {
    /// What a model has said is what the next one has to know.
    pub(in crate::session) fn note_live_words(&mut self) {
        self.voice.told_upto = self.audience.assigned(Channel::Chat);
    }

    /// Opens a model if somebody waits for one and everything that it has to know is stored.
    pub(in crate::session) fn open_voice(&mut self) {
        let upto = self.audience.published(Channel::Chat);
        if self.voice.is_wanted() && upto >= self.voice.told_upto {
            let asked = self.voice.microphone.unread();
            let past = past::said(self.env.store.clone(), self.key, upto, asked);
            for picture in self.recent.take_unseen().into_iter().rev() {
                self.voice.microphone.show_first(LiveInput::Image(picture));
            }
            self.voice.open(past);
        }
    }

    /// The session ends: what was said so far is written down.
    pub(in crate::session) async fn take_last_words(&mut self) {
        self.voice.leave();
        while let Some(word) = self.voice.last_word().await {
            self.on_live(Some(word));
        }
        self.write_text();
    }
}

/// Sockets may hold on to the microphone for a while, but the model ends with the session.
impl Drop for Voice {
    fn drop(&mut self) {
        self.microphone.give_to(None);
        self.close();
    }
}
