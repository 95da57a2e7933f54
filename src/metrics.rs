//! What the gateway counts, for `/metrics`. One set of numbers per running gateway, cheap to clone.
//! Labels come from closed sets: neither sessions nor users nor texts can appear here.

mod page;

use crate::audio::condition::Condition;
use crate::message::{Channel, RunOutcome, TurnTimes};
use page::{CodeLabel, ConditionLabel, DirectionLabel, OutcomeLabel, Page, ReasonLabel};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Metrics(Arc<Numbers>);

impl Metrics {
    pub fn new() -> Self {
        Self(Arc::new(Numbers::new()))
    }

    /// Counts until the returned value is dropped.
    pub fn connection_opened(&self) -> Held {
        Held::new(&self.0.connections)
    }

    pub fn connection_refused(&self, reason: ConnectionRefused) {
        self.0.connections_refused[reason as usize].inc();
    }

    pub fn request_refused(&self, reason: RequestRefused) {
        self.0.requests_refused[reason as usize].inc();
    }

    /// Counts until the returned value is dropped.
    pub fn socket_opened(&self, channel: Channel) -> Held {
        Held::new(&self.0.sockets[channel.index()])
    }

    /// Counts until the returned value is dropped.
    pub fn view_opened(&self) -> Held {
        Held::new(&self.0.views)
    }

    /// Counts until the returned value is dropped.
    pub fn session_loaded(&self) -> Held {
        Held::new(&self.0.sessions)
    }

    /// Counts until the returned value is dropped.
    pub fn place_work_waits(&self) -> Held {
        Held::new(&self.0.place_work_waiting)
    }

    /// Counts until the returned value is dropped.
    pub fn place_work_begun(&self) -> Held {
        self.0.place_work_begun.inc();
        Held::new(&self.0.place_work)
    }

    pub fn frame_in(&self, bytes: usize) {
        self.0.frames_in.inc();
        self.0.bytes_in.inc_by(wide(bytes));
    }

    pub fn frame_out(&self, bytes: usize) {
        self.0.frames_out.inc();
        self.0.bytes_out.inc_by(wide(bytes));
    }

    /// `code` is one of the few names of our own errors, never a text of the peer.
    pub fn frame_refused(&self, code: &'static str) {
        self.0.frames_refused.get_or_create(&CodeLabel { code }).inc();
    }

    pub fn audio_dropped(&self, chunks: usize) {
        self.0.audio_dropped.inc_by(wide(chunks));
    }

    /// A piece of sound from the holder of the microphone.
    #[inline]
    pub fn sound_heard(&self, condition: Condition, uneven: Option<Uneven>) {
        self.0.audio_heard[condition as usize].inc();
        if let Some(uneven) = uneven {
            self.0.audio_uneven[uneven as usize].inc();
        }
    }

    /// How long the parts of a spoken exchange took.
    pub fn turn_taken(&self, times: &TurnTimes) {
        let parts = [
            times.end_of_turn,
            times.first_sound,
            times.first_sent,
            times.first_played,
            times.stop,
        ];
        for (histogram, part) in self.0.turn.iter().zip(parts) {
            part.iter().for_each(|took| histogram.observe(took.as_secs_f64()));
        }
        self.0.underruns.inc_by(times.underruns);
    }

    pub fn live_tokens(&self, input: u64, output: u64) {
        let [read, written] = &self.0.live_tokens;
        read.inc_by(input);
        written.inc_by(output);
    }

    pub fn batch_committed(&self, events: usize, took: Duration) {
        self.0.events_committed.inc_by(wide(events));
        self.0.commit.observe(took.as_secs_f64());
    }

    pub fn run_started(&self) {
        self.0.runs_started.inc();
    }

    pub fn run_ended(&self, outcome: RunOutcome) {
        self.0.runs_ended[outcome_index(outcome)].inc();
    }

    /// Runs that have started and not ended. The interrupted ones ended before this process began.
    pub fn busy_runs(&self) -> usize {
        let [finished, cancelled, failed, _] = &self.0.runs_ended;
        let ended = finished.get() + cancelled.get() + failed.get();
        usize::try_from(self.0.runs_started.get().saturating_sub(ended)).unwrap_or(usize::MAX)
    }

    /// All numbers in the OpenMetrics text format.
    pub fn text(&self) -> String {
        self.0.panics.inner().store(PANICS.load(Relaxed), Relaxed);
        let mut text = String::new();
        // Writing into a string fails only for a metric that breaks its own rules; half a page is still of use.
        let _ = encode(&mut text, &self.0.registry);
        text
    }
}

/// Panics belong to the process: the hook that sees them knows no gateway.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// Counts a bug that ended a task; called by the process's panic hook.
pub fn panicked() {
    PANICS.fetch_add(1, Relaxed);
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// One more of something, until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held(Gauge);

impl Held {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Why a TCP connection was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionRefused {
    TooMany,
    TooManyFromAddress,
}

/// Why a request was turned away before it reached its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRefused {
    Host,
    Origin,
}

/// How sound came that did not come as it was spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uneven {
    /// Nothing for a moment, and then more.
    Gap,
    /// Much more at once than anybody speaks.
    Burst,
}

/// In the order of their enums, as are the arrays of counters made from them.
const CONNECTION_REASONS: [&str; 2] = ["too_many", "too_many_from_address"];
const REQUEST_REASONS: [&str; 2] = ["host", "origin"];
const CONDITIONS: [&str; 3] = ["fine", "silent", "clipped"];
const UNEVEN: [&str; 2] = ["gap", "burst"];
const OUTCOMES: [&str; 4] = ["finished", "cancelled", "failed", "interrupted"];
/// In the order of [`Metrics::turn_taken`].
const TURN_PARTS: [&str; 5] =
    ["end_of_turn", "first_sound", "first_sent", "first_played", "interruption_stop"];
const DIRECTIONS: [&str; 2] = ["input", "output"];
/// In the order of [`Channel::ALL`].
const CHANNELS: [&str; Channel::COUNT] = ["audio", "input", "file", "0", "1", "2", "3", "4"];

fn outcome_index(outcome: RunOutcome) -> usize {
    match outcome {
        RunOutcome::Finished => 0,
        RunOutcome::Cancelled => 1,
        RunOutcome::Failed => 2,
        RunOutcome::Interrupted => 3,
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Labelled numbers of closed sets are arrays: the hot path never takes a family's lock.
#[derive(Debug)]
struct Numbers {
    registry: Registry,
    connections: Gauge,
    connections_refused: [Counter; 2],
    requests_refused: [Counter; 2],
    sockets: [Gauge; Channel::COUNT],
    views: Gauge,
    sessions: Gauge,
    place_work: Gauge,
    place_work_waiting: Gauge,
    place_work_begun: Counter,
    frames_in: Counter,
    frames_out: Counter,
    bytes_in: Counter,
    bytes_out: Counter,
    frames_refused: Family<CodeLabel, Counter>,
    audio_heard: [Counter; 3],
    audio_uneven: [Counter; 2],
    audio_dropped: Counter,
    turn: [Histogram; 5],
    underruns: Counter,
    live_tokens: [Counter; 2],
    events_committed: Counter,
    commit: Histogram,
    runs_started: Counter,
    runs_ended: [Counter; 4],
    panics: Counter,
}

impl Numbers {
    fn new() -> Self {
        let mut page = Page(Registry::with_prefix("kakehashi"));
        Self {
            connections: page.gauge("connections", "Open TCP connections"),
            connections_refused: page.counters(
                "connections_refused",
                "TCP connections turned away",
                CONNECTION_REASONS.map(|reason| ReasonLabel { reason }),
            ),
            requests_refused: page.counters(
                "requests_refused",
                "Requests turned away for their Host or Origin",
                REQUEST_REASONS.map(|reason| ReasonLabel { reason }),
            ),
            sockets: page.sockets(),
            views: page.gauge("views", "Attached clients that see a whole session"),
            sessions: page.gauge("sessions", "Sessions in memory"),
            place_work: page.gauge("place_work", "Work on agents' places under way"),
            place_work_waiting: page
                .gauge("place_work_waiting", "Work on agents' places that waits for its turn"),
            place_work_begun: page.counter("place_work_begun", "Work on agents' places begun"),
            frames_in: page.counter("frames_in", "WebSocket frames received"),
            frames_out: page.counter("frames_out", "WebSocket frames sent"),
            bytes_in: page.counter("bytes_in", "Bytes of WebSocket frames received"),
            bytes_out: page.counter("bytes_out", "Bytes of WebSocket frames sent"),
            frames_refused: page.family("frames_refused", "WebSocket frames answered by an error"),
            audio_heard: page.counters(
                "audio_chunks_heard",
                "Audio chunks of the one who holds the microphone",
                CONDITIONS.map(|condition| ConditionLabel { condition }),
            ),
            audio_uneven: page.counters(
                "audio_uneven",
                "Times that sound did not come as it was spoken",
                UNEVEN.map(|reason| ReasonLabel { reason }),
            ),
            audio_dropped: page.counter("audio_chunks_dropped", "Audio chunks that were too late"),
            turn: page.turn(),
            underruns: page.counter("playback_underruns", "Times that a speaker ran dry"),
            live_tokens: page.counters(
                "live_tokens",
                "Tokens of live models",
                DIRECTIONS.map(|direction| DirectionLabel { direction }),
            ),
            events_committed: page.counter("events_committed", "Events written to the store"),
            commit: page.commit(),
            runs_started: page.counter("runs_started", "Runs of chat and agents started"),
            runs_ended: page.counters(
                "runs_ended",
                "Runs of chat and agents ended",
                OUTCOMES.map(|outcome| OutcomeLabel { outcome }),
            ),
            panics: page.counter("panics", "Bugs that ended a task"),
            registry: page.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(metrics: &Metrics, line: &str) {
        let text = metrics.text();
        assert!(text.lines().any(|candidate| candidate == line), "{line} is not in\n{text}");
    }

    #[test]
    fn a_held_number_falls_when_it_is_dropped() {
        let metrics = Metrics::new();
        let held = metrics.socket_opened(Channel::Chat);
        check(&metrics, "kakehashi_sockets{channel=\"0\"} 1");
        drop(held);
        check(&metrics, "kakehashi_sockets{channel=\"0\"} 0");
    }

    #[test]
    fn counters_carry_their_labels() {
        let metrics = Metrics::new();
        metrics.connection_refused(ConnectionRefused::TooManyFromAddress);
        metrics.request_refused(RequestRefused::Origin);
        metrics.run_ended(RunOutcome::Cancelled);
        metrics.frame_refused("unknown_kind");
        metrics.sound_heard(Condition::Clipped, Some(Uneven::Burst));
        metrics.sound_heard(Condition::Silent, None);
        check(&metrics, "kakehashi_audio_chunks_heard_total{condition=\"clipped\"} 1");
        check(&metrics, "kakehashi_audio_chunks_heard_total{condition=\"silent\"} 1");
        check(&metrics, "kakehashi_audio_chunks_heard_total{condition=\"fine\"} 0");
        check(&metrics, "kakehashi_audio_uneven_total{reason=\"burst\"} 1");
        check(&metrics, "kakehashi_audio_uneven_total{reason=\"gap\"} 0");
        check(&metrics, "kakehashi_connections_refused_total{reason=\"too_many_from_address\"} 1");
        check(&metrics, "kakehashi_requests_refused_total{reason=\"origin\"} 1");
        check(&metrics, "kakehashi_runs_ended_total{outcome=\"cancelled\"} 1");
        check(&metrics, "kakehashi_frames_refused_total{code=\"unknown_kind\"} 1");
    }

    #[test]
    fn frames_and_batches_add_up() {
        let metrics = Metrics::new();
        metrics.frame_in(10);
        metrics.frame_in(5);
        metrics.batch_committed(3, Duration::from_millis(1));
        check(&metrics, "kakehashi_frames_in_total 2");
        check(&metrics, "kakehashi_bytes_in_total 15");
        check(&metrics, "kakehashi_events_committed_total 3");
        check(&metrics, "kakehashi_commit_seconds_count 1");
    }
}
