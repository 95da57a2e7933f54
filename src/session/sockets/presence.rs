//! Sockets that come and go: attaching, heartbeats, broadcasts, storage trouble.

use super::reader::Start;
use crate::message::{
    Channel, ConnectionId, Greeting, Problem, SessionId, Signal, SystemNotice, View,
};
use crate::session::actor::Session;
use crate::session::journal::Step;
use crate::session::{Attach, AttachError, Attached, Cursor, Role, Urgent};
use crate::store::Change;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

const HEARTBEAT: Duration = Duration::from_secs(5);
/// How many different start times within a heartbeat period sessions are spread over.
const PHASES: u64 = 1000;
/// How often the store is told that a session is in use.
const USED_EVERY: Duration = Duration::from_secs(60);
/// How often the store is told so while sockets are attached but no commands come.
const OPEN_EVERY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(in crate::session) struct Presence {
    pub(in crate::session) heartbeat: Interval,
    /// From the first socket on `input` to its first heartbeat.
    phase: Duration,
    heartbeats: u64,
    born: Instant,
    /// Views that were greeted since this actor started.
    seen: HashSet<View>,
    used: Option<Instant>,
}

impl Presence {
    /// The session id decides when heartbeats start. Otherwise sessions that are loaded together, as after a restart,
    /// would all wake up in the same moment, and live sound would stutter in it.
    pub(in crate::session) fn new(session: &SessionId) -> Self {
        let mut hasher = DefaultHasher::new();
        session.hash(&mut hasher);
        let phase = HEARTBEAT * (1 + hasher.finish() % PHASES) as u32 / PHASES as u32;
        let mut heartbeat = interval_at(Instant::now() + phase, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            heartbeat,
            phase,
            heartbeats: 0,
            born: Instant::now(),
            seen: HashSet::new(),
            used: None,
        }
    }

    /// The first socket on `input` has come: its heartbeats start after this session's phase.
    fn begin(&mut self) {
        self.heartbeat.reset_after(self.phase);
    }
}

impl Session {
    pub(in crate::session) fn on_urgent(&mut self, urgent: Urgent) {
        match urgent {
            Urgent::SoundWaits => self.voice.feed(),
            Urgent::NotHolder { connection, sound } => self.on_not_holder(connection, *sound),
            Urgent::Cancel(submitted) => self.on_cancel(*submitted),
            // A socket that is gone already does not wait for the answer.
            Urgent::Attach { attach, reply } => drop(reply.send(self.on_attach(&attach))),
            Urgent::CatchUp { connection, reply } => {
                let _ = reply.send(self.audience.catch_up(connection));
            }
            Urgent::Detach { connection } => {
                self.audience.detach(connection);
                self.forget_watcher(connection);
                self.stop_following_alone();
            }
            Urgent::System(notice) => self.on_system(&notice),
            Urgent::Settings { new, reply } => drop(reply.send(self.on_settings(*new))),
            Urgent::Inquiry(inquiry) => self.on_inquiry(*inquiry),
            // The actor ends after this message. A second deletion is dropped; its sender asks again when the first is
            // done.
            Urgent::Delete(doom) => drop(self.doom.get_or_insert(doom)),
        }
    }

    fn on_attach(&mut self, attach: &Attach) -> Result<Attached, AttachError> {
        let limit = self.shared.env.config.limits.sockets_per_channel;
        if self.audience.count_view(attach.view) >= limit {
            return Err(AttachError::TooMany { limit });
        }
        if let Some(locale) = attach.language.filter(|_| attach.role == Role::Participant) {
            self.speak(locale);
        }
        let only_input =
            attach.view.contains(Channel::Input) && self.audience.count(Channel::Input) == 0;
        if only_input {
            self.presence.begin();
        }
        let published = self.audience.published_in(attach.view);
        let resume = attach.cursor.filter(|cursor| self.trusts(*cursor) && cursor.at <= published);
        let start = match (resume, attach.history) {
            (Some(cursor), _) => Start::Resume(cursor.at),
            (None, Some(count)) => Start::Last(count),
            (None, None) => Start::Whole,
        };
        let greeting = Greeting {
            session: self.shared.id.clone(),
            view: attach.view,
            epoch: self.shared.epoch,
            resumed: resume.is_some(),
            first: self.presence.seen.insert(attach.view),
            controls: self.desk.controls.clone(),
            settings: Arc::clone(&self.shared.settings),
            project: self.shared.env.files.project().display().to_string().into(),
            overview: None,
            setup: None,
        };
        self.idleness.note_arrival();
        let lanes = self.audience.attach(attach);
        if attach.view.contains(Channel::Input) {
            self.tell_trouble(attach.connection);
        }
        if attach.features.agents {
            self.tell_present_state(attach.view, attach.connection);
        }
        self.note_use();
        if let View::One(Channel::Agent(slot)) = attach.view {
            self.warm_up(slot);
        }
        Ok(Attached { greeting, start, lanes })
    }

    /// A cursor without an epoch is taken as one of this session's history.
    fn trusts(&self, cursor: Cursor) -> bool {
        cursor.epoch.is_none_or(|epoch| epoch == self.shared.epoch)
    }

    /// Tells the store that the session is in use, at most once in `USED_EVERY`.
    pub(in crate::session) fn note_use(&mut self) {
        self.note_use_every(USED_EVERY);
    }

    fn note_use_every(&mut self, period: Duration) {
        let recent = self.presence.used.is_some_and(|used| used.elapsed() < period);
        if !recent && !self.shared.journal.is_full() {
            self.presence.used = Some(Instant::now());
            self.shared.journal.record(Step { changes: vec![Change::Used], effects: Vec::new() });
        }
    }

    fn on_system(&mut self, notice: &SystemNotice) {
        self.audience.signal_everyone(&Signal::System(notice.clone()));
    }

    /// Called only while sockets are attached.
    pub(in crate::session) fn on_heartbeat(&mut self) {
        self.audience.sweep();
        self.stop_following_alone();
        if !self.audience.is_empty() {
            self.note_use_every(OPEN_EVERY);
        }
        if self.audience.count(Channel::Input) == 0 {
            return;
        }
        self.presence.heartbeats += 1;
        let (count, uptime_seconds) =
            (self.presence.heartbeats, self.presence.born.elapsed().as_secs_f64());
        self.audience.signal_channel(Channel::Input, &Signal::Heartbeat { count, uptime_seconds });
    }

    /// Tells a new socket why nothing happens while storage does not answer.
    fn tell_trouble(&mut self, connection: ConnectionId) {
        if let Some(reason) = self.shared.env.store.trouble() {
            let problem = Problem::StoreStalled { reason };
            let signal = Signal::Failed { problem, request: None };
            self.audience.signal(connection, signal);
        }
    }

    /// Storage has failed, with the reason; `None`: it works again.
    pub(in crate::session) fn on_trouble(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            let problem = Problem::StoreStalled { reason };
            self.audience
                .signal_channel(Channel::Input, &Signal::Failed { problem, request: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[tokio::test(start_paused = true)]
    async fn sessions_that_come_to_life_together_wake_up_one_by_one() {
        let mut phases = HashSet::new();
        for number in 0..20 {
            let begun = Instant::now();
            let mut presence = Presence::new(&SessionId::from_random(number));
            presence.heartbeat.tick().await;
            let phase = begun.elapsed();
            assert!(phase <= HEARTBEAT);
            phases.insert(phase);
            // The page reconnects at the same moment as others.
            let begun = Instant::now();
            presence.begin();
            presence.heartbeat.tick().await;
            assert_eq!(begun.elapsed(), phase);
        }
        assert!(phases.len() > 15, "{phases:?}");
    }
}
