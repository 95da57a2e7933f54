//! One conversation with a live model, over as many connections and models as it takes. Between the session, which
//! hands in sounds, texts and pictures, and the vendor's protocol, which says what to send and what was said. Handlers
//! are synchronous; what has to wait waits in a queue.

mod calls;
mod connection;
mod deeds;
mod hearing;
mod replies;
mod turn;

use super::captions::{Captions, Due};
use super::ear::Ear;
use super::floor::Floor;
use super::line::News;
use super::memory::Memory;
use super::picture;
use super::protocol::{Blame, Capabilities, Deed, Fate, Protocol, Said, Wish};
use super::{Remote, protocol_of};
use crate::message::{Generation, Speaker as Side};
use crate::provider::live::{LiveInput, LiveOutput, Speaker};
use bytes::Bytes;
use calls::Calls;
use connection::Connection;
use replies::Replies;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info, warn};
use turn::Turn;

/// How often it is looked how far a reply was heard.
const LOOK: Duration = Duration::from_millis(200);
/// What waits for a connection or for a picture. Full: the session is not listened to, so that what people write waits
/// there, where they are told when it is too much. Of reports the oldest is forgotten: they are in the log.
const MOST_WAITING: usize = 32;
/// The same by what it weighs: a picture or two.
const MOST_BEHIND: usize = 16 * 1024 * 1024;
/// While so much is not taken by the session, the vendor is not read.
const MOST_UNTOLD: usize = 16;

#[derive(Debug)]
pub(super) struct Conversation {
    remote: Remote,
    speaker: Speaker,
    outputs: mpsc::Sender<LiveOutput>,
    /// What the session has not taken yet.
    untold: VecDeque<LiveOutput>,
    protocol: Box<dyn Protocol>,
    vendor: Capabilities,
    connection: Connection,
    /// What the vendor's last words lead to, as far as it is not done yet.
    deeds: VecDeque<Deed>,
    /// A piece of a reply for which the speaker has no room yet.
    held: Option<(Generation, Bytes)>,
    /// What is to be told to the vendor when it can hear again.
    waiting: VecDeque<Wish>,
    /// What the user said, as far as it is known, when the connection ended before it was answered.
    unheard: Option<String>,
    /// News for the user that wait until nobody speaks.
    reports: VecDeque<String>,
    /// The one that the vendor was told last, and when, until something was said to its end.
    reported: Option<(String, Instant)>,
    pictures: JoinSet<Option<Bytes>>,
    /// Came behind a picture that is not ready yet.
    behind_picture: VecDeque<LiveInput>,
    ear: Ear,
    /// Heard, but perhaps by mistake: only where we tell who speaks.
    lead: VecDeque<Bytes>,
    floor: Floor,
    turn: Turn,
    calls: Calls,
    replies: Replies,
    captions: Captions,
    memory: Memory,
    /// Why no model is left.
    failed: Option<String>,
}

impl Conversation {
    /// With the first model that works; or why there is none.
    pub(super) fn new(
        remote: Remote,
        speaker: Speaker,
        outputs: mpsc::Sender<LiveOutput>,
        past: &[Said],
    ) -> Result<Self, String> {
        let (place, leave) =
            connection::next_place(&remote, 0).ok_or_else(|| connection::why_none(&remote))?;
        let protocol = protocol_of(&remote.models[place], &remote);
        let connection = Connection::new(place, leave);
        Ok(Self::with(remote, speaker, outputs, past, connection, protocol))
    }

    fn with(
        remote: Remote,
        speaker: Speaker,
        outputs: mpsc::Sender<LiveOutput>,
        past: &[Said],
        connection: Connection,
        protocol: Box<dyn Protocol>,
    ) -> Self {
        let vendor = protocol.capabilities();
        Self {
            ear: Ear::new((remote.client.gate)(&remote.rules), vendor.input_rate),
            connection,
            remote,
            speaker,
            outputs,
            untold: VecDeque::new(),
            protocol,
            vendor,
            deeds: VecDeque::new(),
            held: None,
            waiting: VecDeque::new(),
            unheard: None,
            reports: VecDeque::new(),
            reported: None,
            pictures: JoinSet::new(),
            behind_picture: VecDeque::new(),
            lead: VecDeque::new(),
            floor: Floor::default(),
            turn: Turn::default(),
            calls: Calls::default(),
            replies: Replies::default(),
            captions: Captions::default(),
            memory: Memory::of(past),
            failed: None,
        }
    }

    /// With a vendor of the test's own.
    #[cfg(test)]
    pub(super) fn with_vendor(
        remote: Remote,
        speaker: Speaker,
        outputs: mpsc::Sender<LiveOutput>,
        protocol: Box<dyn Protocol>,
    ) -> Self {
        let (place, leave) = connection::next_place(&remote, 0).unwrap();
        Self::with(remote, speaker, outputs, &[], Connection::new(place, leave), protocol)
    }

    /// Until the session drops its end, or no model is left.
    pub(super) async fn run(mut self, mut inputs: mpsc::Receiver<LiveInput>) {
        let outputs = self.outputs.clone();
        while self.failed.is_none() {
            self.settle(Instant::now());
            let alarm = self.alarm(Instant::now());
            let reading = self.deeds.is_empty() && self.untold.len() < MOST_UNTOLD;
            let room = self.has_room();
            tokio::select! {
                input = inputs.recv(), if room => match input {
                    Some(input) => self.on_input(input, Instant::now()),
                    None => break,
                },
                () = outputs.closed(), if !room => break,
                news = self.connection.news(), if reading => self.on_news(news),
                room = outputs.reserve(), if !self.untold.is_empty() => match room {
                    Ok(room) => drop(self.untold.pop_front().map(|output| room.send(output))),
                    Err(_) => return,
                },
                // The reply may be stale by then, which is as good.
                _ = push(&self.speaker, self.held.as_ref()), if self.held.is_some() => self.held = None,
                Some(jpeg) = self.pictures.join_next() => self.on_picture(jpeg.ok().flatten()),
                () = self.speaker.heard(), if self.replies.are_open() => (),
                () = sleep_until(alarm) => (),
            }
        }
        self.end().await;
    }

    /// What was heard is part of what was said, however the conversation ends.
    async fn end(mut self) {
        self.drop_line(Instant::now());
        if self.silence(Instant::now()) {
            sleep(replies::FINAL_ACK).await;
        }
        let now = Instant::now();
        self.settle_replies(now);
        let rest = self.captions.rest(now);
        rest.into_iter().for_each(|due| self.tell_due(due));
        self.untold.extend(self.failed.take().map(|reason| LiveOutput::Failed { reason }));
        for output in self.untold {
            let _ = self.outputs.send(output).await;
        }
    }

    /// Does everything that can be done by now.
    fn settle(&mut self, now: Instant) {
        self.do_deeds(now);
        self.settle_replies(now);
        self.settle_turn(now);
        self.pass_on_results(now);
        self.captions.due(now).into_iter().for_each(|due| self.tell_due(due));
        if self.is_idle() {
            self.be_idle(now);
        }
        // Nobody is left to be called.
        if self.failed.is_none() {
            self.settle_connection(now);
        }
        #[cfg(test)]
        self.remote.client.probe.note(self.size());
    }

    fn tell_due(&mut self, due: Due) {
        match due {
            Due::Said(caption) => {
                self.memory.keep(caption.speaker == Side::User, &caption.text);
                if !caption.typed {
                    self.untold.push_back(caption.into());
                }
            }
            Due::Place(place) => self.untold.push_back(LiveOutput::Placed(place)),
        }
    }

    /// How many things it keeps.
    #[cfg(test)]
    fn size(&self) -> usize {
        let queues = self.untold.len() + self.deeds.len() + self.waiting.len();
        let input = self.reports.len() + self.behind_picture.len() + self.lead.len();
        let turn = self.turn.utterances.len() + self.turn.undecided.len() + self.calls.size();
        let said = self.replies.size() + self.captions.size() + self.memory.size();
        queues + input + turn + said + self.ear.size() + self.protocol.size()
    }

    /// When it has to be looked again, if nothing happens.
    fn alarm(&self, now: Instant) -> Instant {
        let look = self.replies.are_open().then(|| now + LOOK);
        let alarms = [
            look,
            self.replies.deadline(),
            self.captions.deadline(),
            self.turn_alarm(),
            self.connection_alarm(),
        ];
        let next = alarms.into_iter().flatten().min();
        next.unwrap_or(now + Duration::from_secs(3600)).max(now + Duration::from_millis(1))
    }

    fn on_input(&mut self, input: LiveInput, now: Instant) {
        match input {
            LiveInput::Audio { chunk, lost } => self.on_audio(chunk, lost, now),
            LiveInput::Interrupt => self.on_user_cancel(now),
            LiveInput::TalkKey(key) => self.on_talk_key(key, now),
            LiveInput::ToolResult { id, outcome } => self.on_tool_result(id, outcome),
            LiveInput::Text(_)
            | LiveInput::Place(_)
            | LiveInput::Report(_)
            | LiveInput::Image(_)
                if !self.pictures.is_empty() =>
            {
                bounded(&mut self.behind_picture, input);
            }
            LiveInput::Text(text) => self.on_text(text, now),
            LiveInput::Place(place) => self.captions.place_here(place),
            LiveInput::Report(text) => bounded(&mut self.reports, text),
            LiveInput::Image(bytes) => {
                self.pictures.spawn_blocking(move || picture::jpeg(&bytes));
            }
        }
    }

    fn has_room(&self) -> bool {
        let waiting = self.waiting.len() + self.behind_picture.len() + self.pictures.len();
        let weight = self.behind_picture.iter().map(|input| match input {
            LiveInput::Image(image) => image.len(),
            LiveInput::Text(text) | LiveInput::Report(text) => text.len(),
            LiveInput::Audio { .. }
            | LiveInput::Place(_)
            | LiveInput::Interrupt
            | LiveInput::TalkKey(_)
            | LiveInput::ToolResult { .. } => 0,
        });
        waiting < MOST_WAITING && weight.sum::<usize>() < MOST_BEHIND
    }

    fn on_picture(&mut self, jpeg: Option<Bytes>) {
        match jpeg {
            Some(jpeg) if self.vendor.images => self.wish(Wish::See(jpeg)),
            Some(_) => debug!("the live model does not look at pictures"),
            None => debug!("a picture for the live model cannot be read"),
        }
        while self.pictures.is_empty()
            && let Some(input) = self.behind_picture.pop_front()
        {
            self.on_input(input, Instant::now());
        }
    }

    /// A written text is a turn of its own.
    fn on_text(&mut self, text: String, now: Instant) {
        self.interrupt(Some(now), now);
        self.read(text, now);
        self.ask(now);
    }

    /// What was read is part of what was said; what is still to be read is not, or a new connection would read it twice.
    fn read(&mut self, text: String, now: Instant) {
        if self.connection.is_ready() {
            self.captions.user_wrote(&text, now);
        }
        self.wish(Wish::Read(text));
    }

    fn on_news(&mut self, news: Option<News>) {
        let now = Instant::now();
        match news {
            Some(News::Opened) => self.on_opened(),
            Some(News::Frame(frame)) => {
                let deeds = self.protocol.frame(&frame);
                self.deeds.extend(deeds);
            }
            Some(News::Closed { code, reason }) => {
                let fate = self.protocol.closed(code, &reason);
                let blame = connection::closed_by(code);
                let code = code.map_or_else(String::new, |code| format!(" ({code})"));
                let reason = format!("the connection was closed{code}: {reason}");
                self.on_lost(&reason, fate, blame, now);
            }
            Some(News::Refused(refusal)) => self.on_refused(&refusal, now),
            None => {
                self.on_lost("the connection ended", Fate::Retry, Blame::Conversation, now);
            }
        }
    }

    /// Tells the vendor, at once or as soon as it can hear. Sound is kept by the ear.
    fn wish(&mut self, wish: Wish) {
        if self.connection.is_ready() {
            let deeds = self.protocol.wish(wish);
            self.obey(deeds);
            return;
        }
        match wish {
            Wish::Read(_) | Wish::Report(_) | Wish::See(_) | Wish::ToolResult { .. } => {
                bounded(&mut self.waiting, wish);
            }
            // A new connection knows nothing of what these are about; what is to be answered is asked for anew.
            Wish::Hear(_)
            | Wish::HearNothing
            | Wish::SpeechBegins
            | Wish::SpeechEnds
            | Wish::Reply
            | Wish::Insist
            | Wish::Cancel
            | Wish::Heard { .. } => (),
        }
    }

    /// What a wish leads to is sent now; everything else waits behind what the vendor has said before.
    fn obey(&mut self, deeds: Vec<Deed>) {
        for deed in deeds {
            if let Deed::Send(frame) = deed {
                self.send(frame);
            } else {
                self.deeds.push_back(deed);
            }
        }
    }

    /// Nobody speaks, and nobody is expected to.
    fn is_idle(&self) -> bool {
        self.connection.is_ready()
            && !self.replies.are_open()
            && !self.turn.is_awaited()
            && !self.user_speaks()
            && self.deeds.is_empty()
            && self.pictures.is_empty()
    }

    /// What had to wait until nobody speaks.
    fn be_idle(&mut self, now: Instant) {
        if let Some(report) = self.reports.pop_front() {
            self.wish(Wish::Report(report.clone()));
            self.reported = Some((report, now));
            self.expect(now);
        } else if self.captions.are_complete() && self.connection.wants_renewal(&self.vendor, now) {
            info!("the connection to the live model is renewed between two turns");
            self.renew(now);
        }
    }
}

/// Waits for room; what is stale needs none.
async fn push(speaker: &Speaker, held: Option<&(Generation, Bytes)>) {
    if let Some((generation, pcm)) = held {
        let _ = speaker.push(*generation, pcm.clone()).await;
    }
}

fn bounded<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= MOST_WAITING {
        warn!("too much waits for the live model; the oldest is forgotten");
        queue.pop_front();
    }
    queue.push_back(item);
}

#[cfg(test)]
mod tests;
