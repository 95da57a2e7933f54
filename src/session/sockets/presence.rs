//! Signs of life: heartbeats for clients, and notes in the store that the session is in use.

use super::Sockets;
use crate::message::{Channel, ConnectionId, Problem, SessionId, Signal, View};
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::store::Change;
use std::collections::HashSet;
use std::future::pending;
use std::hash::{DefaultHasher, Hash, Hasher};
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
pub(super) struct Presence {
    heartbeat: Interval,
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
    pub(super) fn new(session: &SessionId) -> Self {
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

impl Sockets {
    /// Waits for the time of the next heartbeat; for ever while no socket is attached.
    pub(in crate::session) async fn heartbeat_due(&mut self) {
        if self.is_empty() {
            return pending().await;
        }
        self.presence.heartbeat.tick().await;
    }

    /// Forgets sockets that closed without detaching, and tells the others that the session is alive. Called only while
    /// sockets are attached.
    pub(in crate::session) fn on_heartbeat(&mut self, shared: &mut Shared) {
        self.sweep();
        self.stop_unwanted_watches();
        if !self.is_empty() {
            self.note_use_every(shared, OPEN_EVERY);
        }
        if self.count(Channel::Input) == 0 {
            return;
        }
        self.presence.heartbeats += 1;
        let (count, uptime_seconds) =
            (self.presence.heartbeats, self.presence.born.elapsed().as_secs_f64());
        self.signal_channel(Channel::Input, &Signal::Heartbeat { count, uptime_seconds });
    }

    /// Called before a socket with this view attaches. Returns whether it is the first one with this view since the
    /// actor started.
    pub(super) fn greet(&mut self, view: View) -> bool {
        if view.contains(Channel::Input) && self.count(Channel::Input) == 0 {
            self.presence.begin();
        }
        self.presence.seen.insert(view)
    }

    /// Tells the store that the session is in use, at most once in `USED_EVERY`.
    pub(in crate::session) fn note_use(&mut self, shared: &mut Shared) {
        self.note_use_every(shared, USED_EVERY);
    }

    fn note_use_every(&mut self, shared: &mut Shared, period: Duration) {
        let recent = self.presence.used.is_some_and(|used| used.elapsed() < period);
        if !recent && !shared.journal.is_full() {
            self.presence.used = Some(Instant::now());
            shared.journal.record(Step { changes: vec![Change::Used], effects: Vec::new() });
        }
    }

    /// Tells a new socket why nothing happens while storage does not answer.
    pub(super) fn tell_trouble(&mut self, shared: &Shared, connection: ConnectionId) {
        if let Some(reason) = shared.env.store.trouble() {
            let problem = Problem::StoreStalled { reason };
            self.signal(connection, Signal::Failed { problem, request: None });
        }
    }

    /// Storage has failed, with the reason; `None`: it works again.
    pub(in crate::session) fn on_trouble(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            let problem = Problem::StoreStalled { reason };
            self.signal_channel(Channel::Input, &Signal::Failed { problem, request: None });
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
