//! A client's speaker that knows to the sample what it has played. It buffers a little before it begins, tells what it
//! has played, and is silent when it is told to be. The way to it and back may take its time.

use crate::message::{ConnectionId, Generation, PlaybackAck};
use crate::provider::live::{SPEAKER_RATE, Sound, Speaker};
use crate::task;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

/// How much is played at once.
const TICK: Duration = Duration::from_millis(10);
const SAMPLES: usize = SPEAKER_RATE as usize / 100;
/// It waits so long for more before it begins.
const BUFFER: Duration = Duration::from_millis(80);
/// It tells so many ticks apart what it has played.
const ACK_EVERY: u32 = 15;

/// Samples that were played, by their value.
pub(super) type Record = Arc<Mutex<BTreeMap<i16, usize>>>;

#[derive(Clone)]
pub(super) struct Player {
    pub(super) played: Record,
    /// Its messages get lost.
    pub(super) deaf: Arc<AtomicBool>,
    hush: Arc<Notify>,
    current: Arc<AtomicU64>,
    network: Arc<Mutex<Network>>,
}

/// How long something is on its way, at most: sound and stops in their order, what the client tells in any.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Network {
    pub(super) seed: u64,
    pub(super) down: Duration,
    pub(super) up: Duration,
}

impl Network {
    /// Anything up to this, and the same again for the same seed.
    fn delay(&mut self, most: Duration) -> Duration {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let part = u32::try_from(self.seed >> 40).unwrap() % 101;
        most * part / 100
    }
}

/// What one socket has got.
#[derive(Default)]
struct Received {
    /// On its way until then.
    coming: VecDeque<(Instant, Sound)>,
    queue: VecDeque<(Generation, VecDeque<i16>)>,
    told: BTreeMap<Generation, u64>,
    begins: Option<Instant>,
}

impl Player {
    pub(super) fn start(speaker: &Speaker, connection: ConnectionId) -> Self {
        let player = Self {
            played: Record::default(),
            deaf: Arc::default(),
            hush: Arc::default(),
            current: Arc::default(),
            network: Arc::default(),
        };
        player.take_over(speaker, connection);
        player
    }

    /// Another socket of the same ear.
    pub(super) fn take_over(&self, speaker: &Speaker, connection: ConnectionId) {
        self.current.store(connection.0, Ordering::Relaxed);
        speaker.give_to(Some(connection));
        let (player, speaker) = (self.clone(), speaker.clone());
        task::spawn("player", async move { player.run(&speaker, connection).await });
    }

    /// From now on the way is as long as this.
    pub(super) fn far_away(&self, network: Network) {
        *self.network.lock().unwrap() = network;
    }

    /// Its user wants silence.
    pub(super) fn hush(&self) {
        self.hush.notify_one();
    }

    pub(super) fn samples(&self) -> usize {
        self.played.lock().unwrap().values().sum()
    }

    async fn run(&self, speaker: &Speaker, connection: ConnectionId) {
        let mut listener = speaker.listen(connection, false);
        let mut received = Received::default();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0;
        loop {
            let comes = received.coming.front().map(|(moment, _)| *moment);
            tokio::select! {
                sound = listener.next() => self.send(sound, &mut received),
                () = sleep_until(comes.unwrap_or_else(Instant::now)), if comes.is_some() => {
                    if let Some(stopped) = received.take() {
                        self.tell(speaker, connection, &received.told, stopped);
                    }
                }
                () = self.hush.notified() => {
                    received.coming.clear();
                    received.queue.clear();
                    if let Some(newest) = received.told.keys().last() {
                        self.tell(speaker, connection, &received.told, *newest);
                    }
                }
                _ = ticks.tick(), if !received.queue.is_empty() => {
                    // A socket that is gone plays nothing.
                    if self.current.load(Ordering::Relaxed) != connection.0 {
                        return;
                    }
                    if received.begins.is_some_and(|moment| moment > Instant::now()) {
                        continue;
                    }
                    received.play(&self.played);
                    count += 1;
                    let told = count % ACK_EVERY == 0 || received.queue.is_empty();
                    if told && let Some(newest) = received.told.keys().last() {
                        self.tell(speaker, connection, &received.told, *newest);
                    }
                }
            }
        }
    }

    fn send(&self, sound: Sound, received: &mut Received) {
        let mut network = self.network.lock().unwrap();
        let most = network.down;
        let comes = Instant::now() + network.delay(most);
        let before = received.coming.back().map(|(moment, _)| *moment);
        received.coming.push_back((before.map_or(comes, |before| before.max(comes)), sound));
    }

    /// Of every reply up to this one. Later news may come earlier.
    fn tell(
        &self,
        speaker: &Speaker,
        connection: ConnectionId,
        told: &BTreeMap<Generation, u64>,
        newest: Generation,
    ) {
        if self.deaf.load(Ordering::Relaxed) {
            return;
        }
        for (generation, samples) in told.range(..=newest) {
            let ack = PlaybackAck {
                generation: *generation,
                samples: *samples,
                buffered: Duration::ZERO,
                underruns: 0,
            };
            let mut network = self.network.lock().unwrap();
            let most = network.up;
            let delay = network.delay(most);
            if delay.is_zero() {
                speaker.ack(connection, ack);
            } else {
                let speaker = speaker.clone();
                task::spawn("ack", async move {
                    sleep(delay).await;
                    speaker.ack(connection, ack);
                });
            }
        }
    }
}

impl Received {
    /// What has come now; up to which reply it stops, if it does.
    fn take(&mut self) -> Option<Generation> {
        match self.coming.pop_front()?.1 {
            Sound::Play { generation, chunk } => {
                let samples = chunk.pcm.chunks_exact(2);
                let samples = samples.map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
                if self.queue.is_empty() {
                    self.begins = Some(Instant::now() + BUFFER);
                }
                self.queue.push_back((generation, samples.collect()));
                None
            }
            Sound::Stop { generation, .. } => {
                self.queue.clear();
                Some(generation)
            }
        }
    }

    fn play(&mut self, record: &Record) {
        let mut played = record.lock().unwrap();
        for _ in 0..SAMPLES {
            let Some((generation, samples)) = self.queue.front_mut() else { return };
            if let Some(sample) = samples.pop_front() {
                *played.entry(sample).or_default() += 1;
                *self.told.entry(*generation).or_default() += 1;
            }
            if samples.is_empty() {
                self.queue.pop_front();
            }
        }
    }
}
