//! One conversation with a live model, over as many connections and models as it takes: turns, interruptions, reconnects,
//! tool calls. It decides everything that does not depend on the vendor, and knows neither vendors' frames nor sockets'
//! details. Handlers are synchronous; what has to wait is in a bounded queue.

mod model_choice;
mod picture;
mod reconnect;
mod replies;
mod tool_calls;
mod turn;
mod user_input;
mod vendor_effects;

use super::connection::socket::SocketEvent;
use super::protocol::{Blame, Capabilities, Effect, Protocol, Recovery, Request, Said};
use super::speech::history::History;
use super::speech::microphone::Microphone;
use super::speech::transcript::{Due, Transcript};
use super::speech::turn_taking::TurnTaking;
use super::{Remote, protocol_of};
use crate::message::{Generation, Speaker as Side};
use crate::provider::live::{LiveInput, LiveOutput, Speaker};
use bytes::Bytes;
use reconnect::Connection;
use replies::Replies;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tool_calls::ToolCalls;
use tracing::{debug, info, warn};
use turn::Turn;

/// How often the playback position of a reply is checked.
const LOOK: Duration = Duration::from_millis(200);
/// Input that waits for a connection or for a picture. Full: nothing more is taken from the session, which tells users
/// when too much waits there. Of reports the oldest is dropped: they are stored in the session anyway.
const MOST_WAITING: usize = 32;
/// Limit of the same queue in bytes, enough for one or two pictures.
const MOST_BEHIND: usize = 16 * 1024 * 1024;
/// While this many outputs wait for the session, nothing is read from the vendor.
const MOST_IN_OUTBOX: usize = 16;

#[derive(Debug)]
pub(super) struct Conversation {
    remote: Remote,
    speaker: Speaker,
    outputs: mpsc::Sender<LiveOutput>,
    /// Outputs that the session has not taken yet.
    outbox: VecDeque<LiveOutput>,
    protocol: Box<dyn Protocol>,
    vendor: Capabilities,
    connection: Connection,
    /// Effects of the vendor's frames that are not applied yet.
    effects: VecDeque<Effect>,
    /// A piece of a reply for which the speaker has no room yet.
    held_sound: Option<(Generation, Bytes)>,
    /// Requests that wait for a connection.
    waiting: VecDeque<Request>,
    /// Text of the user that was not answered when the connection was lost.
    unanswered_text: Option<String>,
    /// Reports that wait until nobody speaks.
    reports: VecDeque<String>,
    /// The last report that the vendor was given, and when, until a reply is complete.
    reported: Option<(String, Instant)>,
    pictures: JoinSet<Option<Bytes>>,
    /// Input that came after a picture that is still being converted.
    behind_picture: VecDeque<LiveInput>,
    microphone: Microphone,
    /// Microphone sound that is held back until it is clear whether the user speaks.
    lead_in: VecDeque<Bytes>,
    turn_taking: TurnTaking,
    turn: Turn,
    calls: ToolCalls,
    replies: Replies,
    transcript: Transcript,
    history: History,
    /// Why no model is left; ends the conversation.
    failed: Option<String>,
}

impl Conversation {
    /// Uses the first model that works. The error says why there is none.
    pub(super) fn new(
        remote: Remote,
        speaker: Speaker,
        outputs: mpsc::Sender<LiveOutput>,
        past: &[Said],
    ) -> Result<Self, String> {
        let (place, permit) = model_choice::first_working(&remote, 0)
            .ok_or_else(|| model_choice::why_none(&remote))?;
        let protocol = protocol_of(&remote.models[place], &remote);
        let connection = Connection::new(place, permit);
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
            microphone: Microphone::new((remote.client.gate)(&remote.rules), vendor.input_rate),
            connection,
            remote,
            speaker,
            outputs,
            outbox: VecDeque::new(),
            protocol,
            vendor,
            effects: VecDeque::new(),
            held_sound: None,
            waiting: VecDeque::new(),
            unanswered_text: None,
            reports: VecDeque::new(),
            reported: None,
            pictures: JoinSet::new(),
            behind_picture: VecDeque::new(),
            lead_in: VecDeque::new(),
            turn_taking: TurnTaking::default(),
            turn: Turn::default(),
            calls: ToolCalls::default(),
            replies: Replies::default(),
            transcript: Transcript::default(),
            history: History::of(past),
            failed: None,
        }
    }

    /// With a protocol of the test's own.
    #[cfg(test)]
    pub(super) fn with_vendor(
        remote: Remote,
        speaker: Speaker,
        outputs: mpsc::Sender<LiveOutput>,
        protocol: Box<dyn Protocol>,
    ) -> Self {
        let (place, permit) = model_choice::first_working(&remote, 0).unwrap();
        Self::with(remote, speaker, outputs, &[], Connection::new(place, permit), protocol)
    }

    /// Runs until the session drops its end, or no model is left.
    pub(super) async fn run(mut self, mut inputs: mpsc::Receiver<LiveInput>) {
        let outputs = self.outputs.clone();
        while self.failed.is_none() {
            self.settle(Instant::now());
            let alarm = self.alarm(Instant::now());
            let reading = self.effects.is_empty() && self.outbox.len() < MOST_IN_OUTBOX;
            let room = self.has_room();
            tokio::select! {
                input = inputs.recv(), if room => match input {
                    Some(input) => self.on_input(input, Instant::now()),
                    None => break,
                },
                () = outputs.closed(), if !room => break,
                news = self.connection.next_event(), if reading => self.on_socket_event(news),
                room = outputs.reserve(), if !self.outbox.is_empty() => match room {
                    Ok(room) => drop(self.outbox.pop_front().map(|output| room.send(output))),
                    Err(_) => return,
                },
                // If the reply is stale by then, nothing is lost.
                _ = push(&self.speaker, self.held_sound.as_ref()), if self.held_sound.is_some() => self.held_sound = None,
                Some(jpeg) = self.pictures.join_next() => self.on_picture(jpeg.ok().flatten()),
                () = self.speaker.heard(), if self.replies.are_open() => (),
                () = sleep_until(alarm) => (),
            }
        }
        self.end().await;
    }

    /// Reports how much was heard of the last replies, however the conversation ends.
    async fn end(mut self) {
        self.drop_connection(Instant::now());
        if self.silence(Instant::now()) {
            sleep(replies::FINAL_ACK).await;
        }
        let now = Instant::now();
        self.settle_replies(now);
        let rest = self.transcript.rest(now);
        rest.into_iter().for_each(|due| self.tell_due(due));
        self.outbox.extend(self.failed.take().map(|reason| LiveOutput::Failed { reason }));
        for output in self.outbox {
            let _ = self.outputs.send(output).await;
        }
    }

    /// Does everything that is due.
    fn settle(&mut self, now: Instant) {
        self.apply_effects(now);
        self.settle_replies(now);
        self.settle_turn(now);
        self.pass_on_results(now);
        self.transcript.due(now).into_iter().for_each(|due| self.tell_due(due));
        if self.is_idle() {
            self.on_idle(now);
        }
        // Without a model there is nothing to connect to.
        if self.failed.is_none() {
            self.settle_connection(now);
        }
        #[cfg(test)]
        self.remote.client.size_probe.note(self.size());
    }

    fn tell_due(&mut self, due: Due) {
        match due {
            Due::Said(line) => {
                self.history.keep(line.speaker == Side::User, &line.text);
                if !line.typed {
                    self.outbox.push_back(line.into());
                }
            }
            Due::Place(place) => self.outbox.push_back(LiveOutput::Placed(place)),
        }
    }

    /// How many things are kept in memory.
    #[cfg(test)]
    fn size(&self) -> usize {
        let queues = self.outbox.len() + self.effects.len() + self.waiting.len();
        let input = self.reports.len() + self.behind_picture.len() + self.lead_in.len();
        let turn = self.turn.utterances.len() + self.turn.undecided.len() + self.calls.size();
        let said = self.replies.size() + self.transcript.size() + self.history.size();
        queues + input + turn + said + self.microphone.size() + self.protocol.size()
    }

    /// When `settle` has to run again, if nothing happens before.
    fn alarm(&self, now: Instant) -> Instant {
        let look = self.replies.are_open().then(|| now + LOOK);
        let alarms = [
            look,
            self.replies.deadline(),
            self.transcript.deadline(),
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
            LiveInput::Place(place) => self.transcript.place_here(place),
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
            Some(jpeg) if self.vendor.images => self.request(Request::See(jpeg)),
            Some(_) => debug!("the live model does not look at pictures"),
            None => debug!("a picture for the live model cannot be read"),
        }
        while self.pictures.is_empty()
            && let Some(input) = self.behind_picture.pop_front()
        {
            self.on_input(input, Instant::now());
        }
    }

    /// A typed text is a turn of its own.
    fn on_text(&mut self, text: String, now: Instant) {
        self.interrupt(Some(now), now);
        self.read(text, now);
        self.ask(now);
    }

    /// Only a text that is sent at once goes into the transcript now. One that waits for a connection goes there when it is
    /// sent; otherwise the new connection would be told of it twice.
    fn read(&mut self, text: String, now: Instant) {
        if self.connection.is_ready() {
            self.transcript.user_wrote(&text, now);
        }
        self.request(Request::Read(text));
    }

    fn on_socket_event(&mut self, news: Option<SocketEvent>) {
        let now = Instant::now();
        match news {
            Some(SocketEvent::Opened) => self.on_opened(),
            Some(SocketEvent::Frame(frame)) => {
                let effects = self.protocol.frame(&frame);
                self.effects.extend(effects);
            }
            Some(SocketEvent::Closed { code, reason }) => {
                let recovery = self.protocol.closed(code, &reason);
                let blame = reconnect::closed_by(code);
                let code = code.map_or_else(String::new, |code| format!(" ({code})"));
                let reason = format!("the connection was closed{code}: {reason}");
                self.on_lost(&reason, recovery, blame, now);
            }
            Some(SocketEvent::Refused(refusal)) => self.on_refused(&refusal, now),
            None => {
                self.on_lost("the connection ended", Recovery::Retry, Blame::Conversation, now);
            }
        }
    }

    /// Passes a request to the vendor, at once or as soon as there is a connection. `microphone` keeps the sound itself.
    fn request(&mut self, request: Request) {
        if self.connection.is_ready() {
            let effects = self.protocol.request(request);
            self.send_or_queue(effects);
            return;
        }
        match request {
            Request::Read(_)
            | Request::Report(_)
            | Request::See(_)
            | Request::ToolResult { .. } => {
                bounded(&mut self.waiting, request);
            }
            // These make no sense on a new connection; an answer that is due is requested again.
            Request::Hear(_)
            | Request::HearNothing
            | Request::SpeechBegins
            | Request::SpeechEnds
            | Request::Reply
            | Request::Insist
            | Request::Cancel
            | Request::Heard { .. } => (),
        }
    }

    /// Sends frames at once; other effects of a request wait behind those of earlier frames.
    fn send_or_queue(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Send(frame) = effect {
                self.send(frame);
            } else {
                self.effects.push_back(effect);
            }
        }
    }

    /// Nobody speaks, and no answer is expected.
    fn is_idle(&self) -> bool {
        self.connection.is_ready()
            && !self.replies.are_open()
            && !self.turn.is_awaited()
            && !self.user_speaks()
            && self.effects.is_empty()
            && self.pictures.is_empty()
    }

    /// Does what had to wait until nobody speaks: reports, and renewing the connection.
    fn on_idle(&mut self, now: Instant) {
        if let Some(report) = self.reports.pop_front() {
            self.request(Request::Report(report.clone()));
            self.reported = Some((report, now));
            self.expect(now);
        } else if self.transcript.are_complete() && self.connection.wants_renewal(&self.vendor, now)
        {
            info!("the connection to the live model is renewed between two turns");
            self.renew(now);
        }
    }
}

/// Waits until the speaker has room, or the sound is stale.
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
