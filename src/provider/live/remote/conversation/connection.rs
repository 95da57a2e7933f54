//! Connections come and go, the conversation stays: connecting, what a lost connection means, renewing one in time,
//! and going on with another model.

use super::Conversation;
use crate::provider::chat::presentable;
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::dial::Refusal;
use crate::provider::live::remote::ear;
use crate::provider::live::remote::health::{Leave, Proof};
use crate::provider::live::remote::line::{Jammed, Line, News};
use crate::provider::live::remote::protocol::{Blame, Capabilities, Fate, Resume, Wish};
use crate::provider::live::remote::{Remote, protocol_of};
use crate::provider::row::Turns;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{info, warn};

/// The first pause; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// In a row; then the next model is tried.
const TRIES: u32 = 4;
/// A model is connected anew so often because it says nothing; then the next model is tried.
const MOST_MUTE: u32 = 2;
/// A server has to be ready within this.
const OPENING: Duration = Duration::from_secs(15);
/// A connection that lasts so long is a good one.
const PROVEN: Duration = Duration::from_secs(60);
/// Before the moment at which the vendor would hang up.
const MARGIN: Duration = Duration::from_secs(3);
/// So long after a turn its handle may come.
const HANDLE_COMES: Duration = Duration::from_secs(2);
/// How long a model that does not work is left alone; or one that needs somebody to do something.
const REST: Duration = Duration::from_secs(60);
const LONG_REST: Duration = Duration::from_secs(600);
/// A server that closes with one of these goes away, is restarted or has too much to do.
const GOING: [u16; 3] = [1001, 1012, 1013];

#[derive(Debug)]
pub(super) struct Connection {
    /// The model's place in the list.
    place: usize,
    leave: Leave,
    phase: Phase,
    /// The line before this one, until it has hung up.
    before: Option<JoinHandle<()>>,
    /// Counts connections.
    pub(super) number: u64,
    pub(super) handle: Option<String>,
    /// This connection took up the session of the one before it, by its handle.
    resumed: bool,
    tries: u32,
    /// Connections in a row that were left because nothing was said on them.
    mute: u32,
    /// When it has to be left, by the vendor's word.
    leave_by: Option<Instant>,
    /// A handle for that is waited for until then.
    handle_by: Option<Instant>,
}

#[derive(Debug)]
enum Phase {
    Down { until: Instant },
    Opening { line: Line, by: Instant },
    Ready { line: Line, since: Instant },
}

/// The first model from there on that works.
pub(super) fn next_place(remote: &Remote, from: usize) -> Option<(usize, Leave)> {
    let able = (from..remote.models.len()).filter(|place| remote.models[*place].has_key());
    let mut open = able.filter_map(|place| {
        let leave = remote.client.health.enter(&remote.models[place].name)?;
        Some((place, leave))
    });
    open.next()
}

/// Who is to blame that a server has closed a connection.
pub(super) fn closed_by(code: Option<u16>) -> Blame {
    let going = code.is_some_and(|code| GOING.contains(&code));
    if going { Blame::Vendor } else { Blame::Conversation }
}

/// Why none of them does.
pub(super) fn why_none(remote: &Remote) -> String {
    let missing = remote.models.iter().filter(|model| !model.has_key());
    let missing = missing.filter_map(|model| Some((&model.label, &model.key.as_ref()?.variable)));
    let missing: Vec<_> =
        missing.map(|(label, key)| format!("{label} needs the variable {key}")).collect();
    if missing.is_empty() {
        let rests = remote.models.iter().filter(|model| model.has_key());
        let rests = rests.filter_map(|model| remote.client.health.rest_left(&model.name));
        let minutes = rests.min().map_or(1, |left| left.as_secs().div_ceil(60).max(1));
        let soon = if minutes == 1 { "a minute".to_owned() } else { format!("{minutes} minutes") };
        return format!("no live model works at the moment; the next try is worth while in {soon}");
    }
    format!("no live model works: {}; set it and start the gateway again", missing.join(", "))
}

impl Connection {
    pub(super) fn new(place: usize, leave: Leave) -> Self {
        let phase = Phase::Down { until: Instant::now() };
        Self {
            place,
            leave,
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

    /// It lasts, or something was said on it from beginning to end.
    pub(super) fn works(&mut self) {
        self.tries = 0;
    }

    /// The model has answered.
    pub(super) fn answers(&mut self) {
        self.leave.works(Proof::Answer);
    }

    /// Something is said, or done.
    pub(super) fn speaks(&mut self) {
        self.mute = 0;
    }

    /// Loses nothing when it is cancelled.
    pub(super) async fn news(&mut self) -> Option<News> {
        match &mut self.phase {
            Phase::Down { .. } => pending().await,
            Phase::Opening { line, .. } | Phase::Ready { line, .. } => line.news().await,
        }
    }

    pub(super) fn leave_within(&mut self, left: Duration, now: Instant) {
        self.leave_by = Some(now + left.saturating_sub(MARGIN));
    }

    /// Whether this pause should be used for a new connection.
    pub(super) fn wants_renewal(&mut self, vendor: &Capabilities, now: Instant) -> bool {
        let Phase::Ready { since, .. } = self.phase else { return false };
        let old = vendor.renew_after.is_some_and(|time| now >= since + time);
        // A vendor that resumes by a handle says when it can.
        if vendor.resume == Resume::Replay || self.handle.is_some() {
            return old || self.leave_by.is_some();
        }
        // One that has to be left is told what was said: that is better than to leave it in the middle of a turn.
        self.leave_by.is_some() && now >= *self.handle_by.get_or_insert(now + HANDLE_COMES)
    }

    /// When it is left, whoever speaks.
    fn last_moment(&self, vendor: &Capabilities) -> Option<Instant> {
        let Phase::Ready { since, .. } = self.phase else { return None };
        [vendor.longest.map(|time| since + time), self.leave_by].into_iter().flatten().min()
    }

    fn hang_up(&mut self, until: Instant) {
        (self.leave_by, self.handle_by) = (None, None);
        match std::mem::replace(&mut self.phase, Phase::Down { until }) {
            Phase::Down { .. } => (),
            Phase::Opening { line, .. } | Phase::Ready { line, .. } => {
                self.before = Some(line.hang_up());
            }
        }
    }
}

impl Conversation {
    pub(super) fn send(&mut self, frame: String) {
        let sent = match &self.connection.phase {
            Phase::Down { .. } => Ok(()),
            Phase::Opening { line, .. } | Phase::Ready { line, .. } => line.send(frame),
        };
        if let Err(Jammed) = sent {
            let now = Instant::now();
            self.on_lost("its server does not read", Fate::Retry, Blame::Conversation, now);
        }
    }

    /// What time alone brings about.
    pub(super) fn settle_connection(&mut self, now: Instant) {
        match &self.connection.phase {
            Phase::Down { until } if *until <= now && self.may_dial() => self.dial(now),
            Phase::Opening { by, .. } if *by <= now => {
                self.on_lost("its server does not get ready", Fate::Retry, Blame::Vendor, now);
            }
            Phase::Ready { since, .. } => {
                if now >= *since + PROVEN {
                    self.connection.works();
                }
                let last = self.connection.last_moment(&self.vendor);
                if last.is_some_and(|moment| moment <= now) {
                    info!("the connection to the live model is as old as it can get");
                    self.drop_line(now);
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
                // Whoever is busy is looked at again when that is over.
                let old = self.vendor.renew_after.map(|time| *since + time);
                let old = old.filter(|moment| *moment > Instant::now());
                let last = self.connection.last_moment(&self.vendor);
                let handle = self.connection.handle_by.filter(|moment| *moment > Instant::now());
                [old, last, handle].into_iter().flatten().min()
            }
        }
    }

    /// A vendor that is told what was said has to be told how much of the last reply was heard, which is known when
    /// that is over.
    fn may_dial(&self) -> bool {
        !self.replies.are_open() || self.connection.handle.is_some()
    }

    fn dial(&mut self, now: Instant) {
        let dialer = self.remote.client.dialer.clone();
        let line = Line::open(dialer, self.protocol.address(), self.connection.before.take());
        self.connection.number += 1;
        self.connection.phase = Phase::Opening { line, by: now + OPENING };
    }

    pub(super) fn on_opened(&mut self) {
        let handle = self.connection.handle.clone();
        self.connection.resumed = handle.is_some() && self.vendor.resume == Resume::Handle;
        let deeds = self.protocol.open(handle.as_deref(), self.memory.said());
        self.obey(deeds);
    }

    pub(super) fn on_ready(&mut self, now: Instant) {
        let down = Phase::Down { until: now };
        self.connection.phase = match std::mem::replace(&mut self.connection.phase, down) {
            Phase::Opening { line, .. } => Phase::Ready { line, since: now },
            phase @ (Phase::Down { .. } | Phase::Ready { .. }) => phase,
        };
        self.connection.leave.works(Proof::Ready);
        // One that was told all that was said knows it already; one that took up its own session does not.
        if let Some(text) = self.unheard.take().filter(|_| self.connection.resumed) {
            self.wish(Wish::Read(text));
        }
        for wish in std::mem::take(&mut self.waiting) {
            if let Wish::Read(text) = wish {
                self.read(text, now);
            } else {
                self.wish(wish);
            }
        }
        if self.turn.unanswered {
            self.say_again(now);
        } else if self.turn.is_awaited() {
            self.ask_again(now);
        }
    }

    /// What the user said while nobody could hear it, or heard it to its end.
    fn say_again(&mut self, now: Instant) {
        let ours = self.remote.rules.turns == Turns::Gateway || self.turn.key.is_some();
        if ours {
            self.wish(Wish::SpeechBegins);
        }
        // One that took up its own session has heard the beginning of it.
        let most = if self.connection.resumed { ear::KEPT } else { ear::LONGEST_KEPT };
        for pcm in self.ear.replay(most) {
            self.wish(Wish::Hear(pcm));
        }
        if ours && !self.user_speaks() {
            self.wish(Wish::SpeechEnds);
            self.ask(now);
        }
    }

    pub(super) fn on_refused(&mut self, refusal: &Refusal, now: Instant) {
        let fate = match refusal.status {
            Some(400..=404) => Fate::GiveUp,
            Some(_) | None => Fate::Retry,
        };
        self.on_lost(&refusal.reason, fate, Blame::Vendor, now);
    }

    pub(super) fn on_lost(&mut self, reason: &str, fate: Fate, blame: Blame, now: Instant) {
        let secret = self.model_row().key.as_ref().and_then(|key| key.secret.as_ref());
        let reason = presentable(reason, secret);
        let proof = if self.connection.is_ready() { Proof::Answer } else { Proof::Ready };
        self.drop_line(now);
        self.connection.tries += 1;
        // Everybody waits for what comes of a probe.
        let hopeless = blame == Blame::Vendor && self.connection.leave.is_probe();
        match fate {
            Fate::GiveUp => {
                self.connection.leave.rest(LONG_REST, proof);
                self.replace(reason, now);
            }
            Fate::Unfit => self.replace(reason, now),
            Fate::Retry | Fate::StartOver if hopeless || self.connection.tries > TRIES => {
                if blame == Blame::Vendor {
                    self.connection.leave.rest(REST, Proof::Ready);
                }
                self.replace(reason, now);
            }
            Fate::StartOver => {
                self.connection.handle = None;
                self.try_again(&reason, now);
            }
            Fate::Retry => self.try_again(&reason, now),
        }
    }

    /// It was asked, and asked again, and says nothing.
    pub(super) fn on_mute(&mut self, now: Instant) {
        self.drop_line(now);
        self.connection.mute += 1;
        if self.connection.mute <= MOST_MUTE {
            warn!("the live model does not answer; it is connected anew");
            return;
        }
        // What was said to it may be the cause, so it is nothing that others have to know.
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
        // The first time it costs nothing to be quick.
        let pause = if self.connection.tries == 1 { PAUSE / 5 } else { pause.min(LONGEST_PAUSE) };
        self.connection.phase = Phase::Down { until: now + pause };
    }

    /// Between two turns: nothing is lost by it.
    pub(super) fn renew(&mut self, now: Instant) {
        self.deeds.clear();
        self.connection.hang_up(now);
    }

    /// What the vendor was saying is broken off; what it has not answered is asked again.
    pub(super) fn drop_line(&mut self, now: Instant) {
        self.connection.hang_up(now);
        self.deeds.clear();
        self.held = None;
        let broken = self.break_off();
        self.turn.utterances.clear();
        let pieces = if self.user_speaks() { None } else { self.captions.settle_for_pieces(now) };
        self.unheard = pieces.or(self.unheard.take());
        let unknown = self.captions.forget_unknown();
        self.turn.undecided.clear();
        if self.turn.suspected.take().is_some() {
            self.speaker.resume();
        }
        // A text that is known is replayed as text, so its sound must not be.
        self.turn.unanswered &= unknown || self.user_speaks();
        let reporting = self.report_again();
        if broken && !self.turn.unanswered && !reporting {
            self.expect(now);
        }
    }

    /// No other connection knows of news that were not told to their end. True if nothing else was asked for since.
    fn report_again(&mut self) -> bool {
        let Some((report, when)) = self.reported.take() else { return false };
        self.reports.push_front(report);
        let last = self.turn.asked_at(when);
        if last {
            self.turn.forget_asked();
        }
        last
    }

    /// Another model goes on, if there is one.
    fn replace(&mut self, reason: String, now: Instant) {
        let Some((place, leave)) = next_place(&self.remote, self.connection.place + 1) else {
            self.failed = Some(reason);
            return;
        };
        let model = Arc::clone(&self.remote.models[place]);
        warn!(model = model.name, reason, "another live model goes on");
        self.protocol = protocol_of(&model, &self.remote);
        self.vendor = self.protocol.capabilities();
        self.ear.tune(self.vendor.input_rate);
        self.replies.forget_voice();
        self.lead.clear();
        let (before, number) = (self.connection.before.take(), self.connection.number);
        self.connection = Connection { before, number, ..Connection::new(place, leave) };
        self.connection.phase = Phase::Down { until: now };
        self.untold.push_back(LiveOutput::Replaced { model: model.label.clone(), reason });
    }

    fn model_row(&self) -> &crate::provider::row::LiveModel {
        &self.remote.models[self.connection.place]
    }
}
