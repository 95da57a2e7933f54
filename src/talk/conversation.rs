//! One conversation: between a device, two sockets of one session, and a person at a keyboard.

use super::device::{Captured, Device};
use super::keyboard::Key;
use super::level;
use super::line::{Line, NEWS_CAPACITY, News};
use super::outbox::{Outbox, Outgoing};
use super::playout::{Generation, Progress, RATE, Taken};
use super::screen::{Screen, Status};
use super::seam::Seam;
use super::speaker::Speaker;
use super::{Plan, TalkError, terminal};
use crate::audio::resample::Resampler;
use crate::dialect::aicore::client::{Author, Content, Playback, Press};
use crate::message::Channel;
use crate::task::Tasks;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

/// How often the gateway is told how far we are.
const PROGRESS: Duration = Duration::from_millis(150);
const STATUS: Duration = Duration::from_millis(100);
/// For closing the sockets in an orderly way.
const FAREWELL: Duration = Duration::from_millis(1_500);

/// What is known about the gateway's counting of answers.
#[derive(Debug, Default)]
struct Count {
    life: u32,
    /// The highest number of this life.
    highest: u64,
    /// Whether it counts at all; an older one does not.
    numbered: bool,
}

#[derive(Debug)]
pub(super) struct Conversation {
    plan: Plan,
    speaker: Arc<Speaker>,
    outbox: Arc<Outbox>,
    screen: Screen,
    count: Count,
    seam: Seam,
    status: Status,
    /// For sound at another rate than ours.
    resampler: Option<(u32, Resampler)>,
    news: mpsc::Sender<(Channel, News)>,
    lines: CancellationToken,
    tasks: Tasks,
    session: Option<String>,
    told_overflow: bool,
}

/// Talks until the device ends, somebody wants to stop, or the gateway refuses.
pub(super) async fn hold(
    plan: Plan,
    mut device: Device,
    speaker: Arc<Speaker>,
    stop: CancellationToken,
) -> Result<(), TalkError> {
    let (news, mut heard) = mpsc::channel(NEWS_CAPACITY);
    let no_thread = |err: std::io::Error| TalkError::NoThread(err.to_string());
    let screen = Screen::open(plan.language).map_err(no_thread)?;
    let mut keys = screen.is_terminal().then(terminal::keys).transpose().map_err(no_thread)?;
    let lines = stop.child_token();
    let mut talk = Conversation::new(plan, Arc::clone(&speaker), screen, news, lines);
    talk.begin();
    let (mut progress, mut status) = (interval(PROGRESS), interval(STATUS));
    progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
    status.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = loop {
        tokio::select! {
            () = stop.cancelled() => break Ok(()),
            key = next_key(&mut keys) => if talk.on_key(key) { break Ok(()) },
            // The socket's sender is ours too, so there always is one.
            Some((channel, news)) = heard.recv() => match talk.on_news(channel, news) {
                Ok(true) => drop(device.begin.take().map(|begin| begin.send(()))),
                Ok(false) => (),
                Err(err) => break Err(err),
            },
            Some(captured) = device.captured.recv() => talk.on_captured(captured),
            () = speaker.drained() => talk.report(),
            _ = progress.tick() => talk.report_while_playing(),
            _ = status.tick() => talk.show_status(),
            ended = &mut device.ended => return talk.end(ended.unwrap_or(Ok(()))).await,
        }
    };
    device.stop.cancel();
    // The files have to be written to their end, and the sound card to be given back.
    let device_ended = device.ended.await.unwrap_or(Ok(()));
    talk.end(ended.and(device_ended)).await
}

async fn next_key(keys: &mut Option<mpsc::Receiver<Key>>) -> Key {
    let key = match keys {
        Some(keys) => keys.recv().await,
        None => None,
    };
    match key {
        Some(key) => key,
        None => std::future::pending().await,
    }
}

impl Conversation {
    fn new(
        plan: Plan,
        speaker: Arc<Speaker>,
        screen: Screen,
        news: mpsc::Sender<(Channel, News)>,
        lines: CancellationToken,
    ) -> Self {
        let status = Status { talking: plan.push_to_talk.then_some(false), ..Status::default() };
        let session = plan.session.clone();
        Self {
            plan,
            speaker,
            outbox: Arc::default(),
            screen,
            count: Count::default(),
            seam: Seam::default(),
            status,
            resampler: None,
            news,
            lines,
            tasks: Tasks::default(),
            session,
            told_overflow: false,
        }
    }

    fn begin(&self) {
        if self.plan.address.is_open_to_others() && self.plan.token.is_some() {
            self.screen.notice(
                "this connection is not encrypted: others on the way can read the token and hear you",
            );
        }
        self.open(Channel::Audio, false);
    }

    fn open(&self, channel: Channel, known_good: bool) {
        let line = Line {
            channel,
            address: self.plan.address.clone(),
            token: self.plan.token.clone(),
            language: self.plan.language,
            session: self.session.clone(),
            outbox: (channel == Channel::Audio).then(|| Arc::clone(&self.outbox)),
            news: self.news.clone(),
            stop: self.lines.clone(),
            known_good,
            cursor: None,
            reborn: false,
        };
        self.tasks.spawn("talk-line", line.keep());
    }

    async fn end(self, ended: Result<(), TalkError>) -> Result<(), TalkError> {
        self.lines.cancel();
        // A gateway that does not answer finds out alone.
        let _ = timeout(FAREWELL, self.tasks.finish()).await;
        ended
    }

    /// True: the conversation can begin.
    fn on_news(&mut self, channel: Channel, news: News) -> Result<bool, TalkError> {
        match news {
            News::Opened { session, reborn } if channel == Channel::Audio => {
                self.on_open(session, reborn);
                return Ok(true);
            }
            News::Opened { .. } => (),
            News::Heard(what) => self.on_heard(channel, what),
            News::Lost { reason } if channel == Channel::Audio => {
                self.status.connected = false;
                self.screen.notice(&format!("connection lost ({reason}); connecting again"));
            }
            News::Lost { .. } => (),
            News::Failed(err) => return Err(err),
        }
        Ok(false)
    }

    fn on_open(&mut self, session: String, reborn: bool) {
        self.status.connected = true;
        self.seam.reconnected();
        if reborn {
            self.count = Count { life: self.count.life + 1, ..Count::default() };
        }
        let first = self.session.as_deref() != Some(session.as_str());
        self.screen.notice(&format!("connected, session {session}"));
        if first || self.plan.session.take().is_some() {
            self.session = Some(session);
            self.open(Channel::Chat, true);
        }
        if self.status.talking == Some(true) {
            self.outbox.push(Outgoing::Press(Press::Start));
        }
        self.report();
    }

    fn on_heard(&mut self, channel: Channel, content: Content) {
        match content {
            Content::Audio { generation, rate, pcm } => self.on_audio(generation, rate, &pcm),
            Content::Stop { generation } => self.on_stop(generation),
            Content::Text { from, text } if channel == Channel::Chat => match from {
                Author::User => self.screen.caption("you", &text),
                Author::Model => self.screen.caption("model", &text),
                Author::Gateway => self.screen.notice(&text),
            },
            // A gateway that does not know acks and keys does well without them.
            Content::Refused { code, .. } if code == "unknown_kind" => (),
            Content::Refused { text, .. } => self.screen.notice(&text),
            Content::Text { .. } | Content::Welcome { .. } | Content::Other => (),
        }
    }

    fn on_audio(&mut self, number: Option<u64>, rate: u32, pcm: &Bytes) {
        let generation = self.count.generation(number);
        let pcm = self.at_our_rate(rate, pcm);
        let new = self.seam.pass(generation, pcm);
        let taken = self.speaker.with(|playout| playout.push(generation, new));
        if taken == Taken::Full && !std::mem::replace(&mut self.told_overflow, true) {
            self.screen
                .notice("the gateway sends more than anybody can hear; the rest is left out");
        }
    }

    /// As it is where no resampler can be made: wrong, but heard.
    fn at_our_rate(&mut self, rate: u32, pcm: &Bytes) -> Bytes {
        if rate == RATE {
            return pcm.clone();
        }
        if self.resampler.as_ref().is_none_or(|(known, _)| *known != rate) {
            self.resampler = Resampler::new(rate, RATE).ok().map(|made| (rate, made));
        }
        self.resampler.as_mut().map_or_else(|| pcm.clone(), |(_, resampler)| resampler.push(pcm))
    }

    /// The gateway waits for what was heard of what it has cancelled, and that may be nothing.
    fn on_stop(&mut self, number: Option<u64>) {
        let cancelled = number.map(|number| Generation { life: self.count.life, number });
        let heard = self.speaker.with(|playout| {
            match cancelled {
                Some(generation) => playout.cancel(generation),
                None => playout.silence(),
            }
            playout.progress()
        });
        if let Some(heard) = heard {
            self.tell(heard);
        }
        if let Some(generation) = cancelled
            && heard.is_none_or(|heard| heard.generation != generation)
        {
            self.tell(self.speaker.with(|playout| playout.progress_of(generation)));
        }
    }

    /// Tells how far the last answer was played.
    fn report(&self) {
        if let Some(progress) = self.speaker.with(|playout| playout.progress()) {
            self.tell(progress);
        }
    }

    fn report_while_playing(&self) {
        if self.speaker.with(|playout| playout.is_busy()) {
            self.report();
        }
    }

    /// A gateway knows only what it has counted itself, in this life.
    fn tell(&self, progress: Progress) {
        let Progress { generation, played, left_ms, gaps } = progress;
        if self.status.connected && self.count.numbered && generation.life == self.count.life {
            let played = self.seam.heard_here(generation, played);
            let playback = Playback { generation: generation.number, played, left_ms, gaps };
            self.outbox.push(Outgoing::Playback(playback));
        }
    }

    fn on_captured(&mut self, captured: Captured) {
        match captured {
            Captured::Sound(pcm) => {
                self.status.microphone = self.status.microphone.max(level::peak(&pcm));
                if let Some(pcm) = self.allowed(pcm) {
                    self.outbox.push(Outgoing::Sound(pcm));
                }
            }
            Captured::Lost(time) => self.on_lost(time),
            Captured::Begun => self.press(true),
            Captured::Over => self.press(false),
        }
    }

    /// Said once; how much it has become is below the captions.
    fn on_lost(&mut self, time: Duration) {
        if self.status.lost.is_zero() {
            self.screen.notice(
                "the sound device delivers more at once than can be kept: some of what you say is lost",
            );
        }
        self.status.lost += time;
    }

    /// A model has to hear silence to know that somebody has finished; only a key says it better.
    fn allowed(&self, pcm: Bytes) -> Option<Bytes> {
        if self.status.talking == Some(false) {
            return None;
        }
        let echoes = self.plan.half_duplex && self.speaker.with(|playout| playout.is_audible());
        Some(if self.status.muted || echoes { vec![0; pcm.len()].into() } else { pcm })
    }

    /// True: enough.
    fn on_key(&mut self, key: Key) -> bool {
        match key {
            Key::Quit => return true,
            Key::Mute => self.status.muted = !self.status.muted,
            Key::Down => self.press(true),
            Key::Up => self.press(false),
            Key::Toggle => self.press(self.status.talking == Some(false)),
            Key::CanTell => self.screen.tell_release(),
        }
        self.show_status();
        false
    }

    fn press(&mut self, down: bool) {
        let Some(before) = self.status.talking else { return };
        if before != down {
            self.status.talking = Some(down);
            let press = if down { Press::Start } else { Press::End };
            self.outbox.push(Outgoing::Press(press));
        }
    }

    fn show_status(&mut self) {
        self.status.speaker = self.speaker.with(|playout| playout.take_peak());
        self.screen.status(self.status);
        self.status.microphone = 0;
    }
}

impl Count {
    /// Numbers only rise; one that does not comes from a gateway that was started again.
    fn generation(&mut self, number: Option<u64>) -> Generation {
        if let Some(number) = number {
            if self.numbered && number < self.highest {
                self.life += 1;
            }
            (self.highest, self.numbered) = (number, true);
        }
        Generation { life: self.life, number: self.highest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_counts_anew_is_another_life() {
        let mut count = Count::default();
        assert_eq!(count.generation(Some(1)), Generation { life: 0, number: 1 });
        assert_eq!(count.generation(Some(4)), Generation { life: 0, number: 4 });
        assert_eq!(count.generation(Some(4)), Generation { life: 0, number: 4 });
        assert_eq!(count.generation(Some(1)), Generation { life: 1, number: 1 });
        assert!(count.generation(Some(1)) > Generation { life: 0, number: u64::MAX });
    }
}
