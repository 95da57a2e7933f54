//! Connecting, reconnecting with backoff, renewing a connection before the vendor closes it, and falling back to another
//! model.

use super::Conversation;
use super::model_choice::first_working;
use crate::provider::chat::presentable;
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::connection::availability::{Permit, Proof};
use crate::provider::live::remote::connection::dial::Refusal;
use crate::provider::live::remote::connection::socket::{SendQueueFull, SocketEvent, VendorSocket};
use crate::provider::live::remote::protocol::{Blame, Capabilities, Recovery, Request, Resume};
use crate::provider::live::remote::protocol_of;
use crate::provider::live::remote::speech::microphone;
use crate::provider::row::Turns;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{info, warn};

/// Base of the backoff, which doubles with each retry.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Failed connections in a row; after them the next model is tried.
const TRIES: u32 = 4;
/// How often a model that does not answer is connected again; after that the next model is tried.
const MOST_MUTE: u32 = 2;
/// Timeout until the vendor is ready.
const OPENING: Duration = Duration::from_secs(15);
/// A connection that lasts this long resets the count of retries.
const PROVEN: Duration = Duration::from_secs(60);
/// How long before the vendor's announced close the connection is left.
const MARGIN: Duration = Duration::from_secs(3);
/// How long after a turn the vendor's resume handle may come.
const HANDLE_COMES: Duration = Duration::from_secs(2);
/// How long a model is out of service: after failures, or if somebody has to do something (key, quota).
const REST: Duration = Duration::from_secs(60);
const LONG_REST: Duration = Duration::from_secs(600);
/// Close codes of a server that goes away, restarts or is overloaded.
const GOING: [u16; 3] = [1001, 1012, 1013];

#[derive(Debug)]
pub(super) struct Connection {
    /// The model's place in the list.
    place: usize,
    permit: Permit,
    phase: Phase,
    /// The previous socket, while it closes.
    before: Option<JoinHandle<()>>,
    /// Counts connections.
    pub(super) number: u64,
    pub(super) handle: Option<String>,
    /// This connection resumed the vendor's session by its handle.
    resumed: bool,
    tries: u32,
    /// Connections in a row that were left because the model did not answer.
    mute: u32,
    /// The vendor has announced that it will close; the connection is left by then.
    leave_by: Option<Instant>,
    /// Until then a resume handle is waited for.
    handle_by: Option<Instant>,
}

#[derive(Debug)]
enum Phase {
    Down { until: Instant },
    Opening { socket: VendorSocket, by: Instant },
    Ready { socket: VendorSocket, since: Instant },
}

/// Whether a close says something about the vendor or only about this conversation.
pub(super) fn closed_by(code: Option<u16>) -> Blame {
    let going = code.is_some_and(|code| GOING.contains(&code));
    if going { Blame::Vendor } else { Blame::Conversation }
}

impl Connection {
    pub(super) fn new(place: usize, permit: Permit) -> Self {
        let phase = Phase::Down { until: Instant::now() };
        Self {
            place,
            permit,
            phase,
            before: None,
            number: 0,
            handle: None,
            resumed: false,
            tries: 0,
            mute: 0,
            leave_by: None,
            handle_by: None,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready { .. })
    }

    /// The connection lasts, or a reply on it was complete.
    pub(super) fn works(&mut self) {
        self.tries = 0;
    }

    /// The model has answered.
    pub(super) fn answers(&mut self) {
        self.permit.works(Proof::Answer);
    }

    /// The model says or does something.
    pub(super) fn speaks(&mut self) {
        self.mute = 0;
    }

    /// Cancel-safe.
    pub(super) async fn next_event(&mut self) -> Option<SocketEvent> {
        match &mut self.phase {
            Phase::Down { .. } => pending().await,
            Phase::Opening { socket, .. } | Phase::Ready { socket, .. } => {
                socket.next_event().await
            }
        }
    }

    pub(super) fn leave_within(&mut self, left: Duration, now: Instant) {
        self.leave_by = Some(now + left.saturating_sub(MARGIN));
    }

    /// Whether this pause between turns should be used to reconnect.
    pub(super) fn wants_renewal(&mut self, vendor: &Capabilities, now: Instant) -> bool {
        let Phase::Ready { since, .. } = self.phase else { return false };
        let old = vendor.renew_after.is_some_and(|time| now >= since + time);
        // Nothing to wait for: the history is replayed, or the resume handle is there.
        if vendor.resume == Resume::Replay || self.handle.is_some() {
            return old || self.leave_by.is_some();
        }
        // The vendor will close, and no handle has come: replaying the history now is better than a cut within a turn.
        self.leave_by.is_some() && now >= *self.handle_by.get_or_insert(now + HANDLE_COMES)
    }

    /// When the connection is left even if somebody speaks.
    fn last_moment(&self, vendor: &Capabilities) -> Option<Instant> {
        let Phase::Ready { since, .. } = self.phase else { return None };
        [vendor.longest.map(|time| since + time), self.leave_by].into_iter().flatten().min()
    }

    fn hang_up(&mut self, until: Instant) {
        (self.leave_by, self.handle_by) = (None, None);
        match std::mem::replace(&mut self.phase, Phase::Down { until }) {
            Phase::Down { .. } => (),
            Phase::Opening { socket, .. } | Phase::Ready { socket, .. } => {
                self.before = Some(socket.close());
            }
        }
    }
}

impl Conversation {
    pub(super) fn send(&mut self, frame: String) {
        let sent = match &self.connection.phase {
            Phase::Down { .. } => Ok(()),
            Phase::Opening { socket, .. } | Phase::Ready { socket, .. } => socket.send(frame),
        };
        if let Err(SendQueueFull) = sent {
            let now = Instant::now();
            self.on_lost("its server does not read", Recovery::Retry, Blame::Conversation, now);
        }
    }

    /// Applies timeouts: retry, opening, longest age.
    pub(super) fn settle_connection(&mut self, now: Instant) {
        match &self.connection.phase {
            Phase::Down { until } if *until <= now && self.may_dial() => self.dial(now),
            Phase::Opening { by, .. } if *by <= now => {
                self.on_lost("its server does not get ready", Recovery::Retry, Blame::Vendor, now);
            }
            Phase::Ready { since, .. } => {
                if now >= *since + PROVEN {
                    self.connection.works();
                }
                let last = self.connection.last_moment(&self.vendor);
                if last.is_some_and(|moment| moment <= now) {
                    info!("the connection to the live model is as old as it can get");
                    self.drop_connection(now);
                }
            }
            Phase::Down { .. } | Phase::Opening { .. } => (),
        }
    }

    pub(super) fn connection_alarm(&self) -> Option<Instant> {
        match &self.connection.phase {
            Phase::Down { until } => self.may_dial().then_some(*until),
            Phase::Opening { by, .. } => Some(*by),
            Phase::Ready { since, .. } => {
                // A moment in the past is checked again when the current turn is over.
                let old = self.vendor.renew_after.map(|time| *since + time);
                let old = old.filter(|moment| *moment > Instant::now());
                let last = self.connection.last_moment(&self.vendor);
                let handle = self.connection.handle_by.filter(|moment| *moment > Instant::now());
                [old, last, handle].into_iter().flatten().min()
            }
        }
    }

    /// Without a handle the history is replayed, which has to include how much of the last reply was heard. That is known
    /// only when the reply is over.
    fn may_dial(&self) -> bool {
        !self.replies.are_open() || self.connection.handle.is_some()
    }

    fn dial(&mut self, now: Instant) {
        let dialer = self.remote.client.dialer.clone();
        let socket =
            VendorSocket::open(dialer, self.protocol.address(), self.connection.before.take());
        self.connection.number += 1;
        self.connection.phase = Phase::Opening { socket, by: now + OPENING };
    }

    pub(super) fn on_opened(&mut self) {
        let handle = self.connection.handle.clone();
        self.connection.resumed = handle.is_some() && self.vendor.resume == Resume::Handle;
        let effects = self.protocol.open(handle.as_deref(), self.history.said());
        self.send_or_queue(effects);
    }

    pub(super) fn on_ready(&mut self, now: Instant) {
        let down = Phase::Down { until: now };
        self.connection.phase = match std::mem::replace(&mut self.connection.phase, down) {
            Phase::Opening { socket, .. } => Phase::Ready { socket, since: now },
            phase @ (Phase::Down { .. } | Phase::Ready { .. }) => phase,
        };
        self.connection.permit.works(Proof::Ready);
        // A replayed history contains this text already; a resumed session does not.
        if let Some(text) = self.unanswered_text.take().filter(|_| self.connection.resumed) {
            self.request(Request::Read(text));
        }
        for request in std::mem::take(&mut self.waiting) {
            if let Request::Read(text) = request {
                self.read(text, now);
            } else {
                self.request(request);
            }
        }
        if self.turn.unanswered {
            self.say_again(now);
        } else if self.turn.is_awaited() {
            self.ask_again(now);
        }
    }

    /// Replays the user's sound that no connection has heard to its end.
    fn say_again(&mut self, now: Instant) {
        let ours = self.remote.rules.turns == Turns::Gateway || self.turn.key.is_some();
        if ours {
            self.request(Request::SpeechBegins);
        }
        // A resumed session has heard the beginning.
        let most =
            if self.connection.resumed { microphone::KEPT } else { microphone::LONGEST_KEPT };
        for pcm in self.microphone.replay(most) {
            self.request(Request::Hear(pcm));
        }
        if ours && !self.user_speaks() {
            self.request(Request::SpeechEnds);
            self.ask(now);
        }
    }

    pub(super) fn on_refused(&mut self, refusal: &Refusal, now: Instant) {
        let recovery = match refusal.status {
            Some(400..=404) => Recovery::GiveUp,
            Some(_) | None => Recovery::Retry,
        };
        self.on_lost(&refusal.reason, recovery, Blame::Vendor, now);
    }

    pub(super) fn on_lost(&mut self, reason: &str, recovery: Recovery, blame: Blame, now: Instant) {
        let secret = self.model_row().key.as_ref().and_then(|key| key.secret.as_ref());
        let reason = presentable(reason, secret);
        let proof = if self.connection.is_ready() { Proof::Answer } else { Proof::Ready };
        self.drop_connection(now);
        self.connection.tries += 1;
        // A probe is not retried: the other conversations wait for its result.
        let hopeless = blame == Blame::Vendor && self.connection.permit.is_probe();
        match recovery {
            Recovery::GiveUp => {
                self.connection.permit.report_outage(LONG_REST, proof);
                self.replace(reason, now);
            }
            Recovery::Unfit => self.replace(reason, now),
            Recovery::Retry | Recovery::StartOver if hopeless || self.connection.tries > TRIES => {
                if blame == Blame::Vendor {
                    self.connection.permit.report_outage(REST, Proof::Ready);
                }
                self.replace(reason, now);
            }
            Recovery::StartOver => {
                self.connection.handle = None;
                self.try_again(&reason, now);
            }
            Recovery::Retry => self.try_again(&reason, now),
        }
    }

    /// The model does not answer although it was asked twice.
    pub(super) fn on_mute(&mut self, now: Instant) {
        self.drop_connection(now);
        self.connection.mute += 1;
        if self.connection.mute <= MOST_MUTE {
            warn!("the live model does not answer; it is connected anew");
            return;
        }
        // This conversation may be the cause, so it is not reported as an outage.
        let mut reason = "it takes what is said to it, but does not answer".to_owned();
        if let Some(failure) = self.turn.failure.take() {
            let secret = self.model_row().key.as_ref().and_then(|key| key.secret.as_ref());
            reason = format!("{reason}: {}", presentable(&failure, secret));
        }
        self.replace(reason, now);
    }

    fn try_again(&mut self, reason: &str, now: Instant) {
        warn!(reason, "the live model is connected again");
        let pause = PAUSE * 2_u32.saturating_pow(self.connection.tries - 1);
        // The first retry is quick.
        let pause = if self.connection.tries == 1 { PAUSE / 5 } else { pause.min(LONGEST_PAUSE) };
        self.connection.phase = Phase::Down { until: now + pause };
    }

    /// Reconnects between two turns, when nothing is lost.
    pub(super) fn renew(&mut self, now: Instant) {
        self.effects.clear();
        self.connection.hang_up(now);
    }

    /// Closes the connection. Its reply is broken off, and what it has not answered will be requested again.
    pub(super) fn drop_connection(&mut self, now: Instant) {
        self.connection.hang_up(now);
        self.effects.clear();
        self.held_sound = None;
        let broken = self.break_off();
        self.turn.utterances.clear();
        let pieces = if self.user_speaks() { None } else { self.transcript.settle_for_pieces(now) };
        self.unanswered_text = pieces.or(self.unanswered_text.take());
        let unknown = self.transcript.forget_unknown();
        self.turn.undecided.clear();
        if self.turn.suspected.take().is_some() {
            self.speaker.resume();
        }
        // A known text is replayed as text, so its sound must not be replayed too.
        self.turn.unanswered &= unknown || self.user_speaks();
        let reporting = self.report_again();
        if broken && !self.turn.unanswered && !reporting {
            self.expect(now);
        }
    }

    /// Queues an unfinished report again, for the next connection. True if nothing else was requested since.
    fn report_again(&mut self) -> bool {
        let Some((report, when)) = self.reported.take() else { return false };
        self.reports.push_front(report);
        let last = self.turn.asked_at(when);
        if last {
            self.turn.forget_asked();
        }
        last
    }

    /// Falls back to the next model, or fails if there is none.
    fn replace(&mut self, reason: String, now: Instant) {
        let Some((place, permit)) = first_working(&self.remote, self.connection.place + 1) else {
            self.failed = Some(reason);
            return;
        };
        let model = Arc::clone(&self.remote.models[place]);
        warn!(model = model.name, reason, "another live model goes on");
        self.protocol = protocol_of(&model, &self.remote);
        self.vendor = self.protocol.capabilities();
        self.microphone.tune(self.vendor.input_rate);
        self.replies.forget_voice();
        self.lead_in.clear();
        let (before, number) = (self.connection.before.take(), self.connection.number);
        self.connection = Connection { before, number, ..Connection::new(place, permit) };
        self.connection.phase = Phase::Down { until: now };
        self.outbox.push_back(LiveOutput::Replaced { model: model.label.clone(), reason });
    }

    fn model_row(&self) -> &crate::provider::row::LiveModel {
        &self.remote.models[self.connection.place]
    }
}
