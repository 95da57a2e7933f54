//! A client's speaker that knows to the sample what it has played. It buffers a little before it begins, tells what it
//! has played, and is silent when it is told to be.

use crate::message::{ConnectionId, Generation, PlaybackAck};
use crate::provider::live::{SPEAKER_RATE, Sound, Speaker};
use crate::task;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval};

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
}

impl Player {
    pub(super) fn start(speaker: &Speaker, connection: ConnectionId) -> Self {
        let player = Self {
            played: Record::default(),
            deaf: Arc::default(),
            hush: Arc::default(),
            current: Arc::default(),
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

    /// Its user wants silence.
    pub(super) fn hush(&self) {
        self.hush.notify_one();
    }

    pub(super) fn samples(&self) -> usize {
        self.played.lock().unwrap().values().sum()
    }

    async fn run(&self, speaker: &Speaker, connection: ConnectionId) {
        let mut listener = speaker.listen(connection, false);
        let mut queue: VecDeque<(Generation, VecDeque<i16>)> = VecDeque::new();
        let mut told: BTreeMap<Generation, u64> = BTreeMap::new();
        let mut begins = None;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0;
        loop {
            tokio::select! {
                sound = listener.next() => match sound {
                    Sound::Play { generation, chunk } => {
                        let samples = chunk.pcm.chunks_exact(2);
                        let samples = samples.map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
                        if queue.is_empty() {
                            begins = Some(Instant::now() + BUFFER);
                        }
                        queue.push_back((generation, samples.collect()));
                    }
                    Sound::Stop { generation, .. } => {
                        queue.clear();
                        self.tell(speaker, connection, &told, generation);
                    }
                },
                () = self.hush.notified() => {
                    queue.clear();
                    if let Some(newest) = told.keys().last() {
                        self.tell(speaker, connection, &told, *newest);
                    }
                }
                _ = ticks.tick(), if !queue.is_empty() => {
                    // A socket that is gone plays nothing.
                    if self.current.load(Ordering::Relaxed) != connection.0 {
                        return;
                    }
                    if begins.is_some_and(|moment| moment > Instant::now()) {
                        continue;
                    }
                    self.play(&mut queue, &mut told);
                    count += 1;
                    if (count % ACK_EVERY == 0 || queue.is_empty()) && let Some(newest) = told.keys().last() {
                        self.tell(speaker, connection, &told, *newest);
                    }
                }
            }
        }
    }

    fn play(
        &self,
        queue: &mut VecDeque<(Generation, VecDeque<i16>)>,
        told: &mut BTreeMap<Generation, u64>,
    ) {
        let mut played = self.played.lock().unwrap();
        for _ in 0..SAMPLES {
            let Some((generation, samples)) = queue.front_mut() else { return };
            if let Some(sample) = samples.pop_front() {
                *played.entry(sample).or_default() += 1;
                *told.entry(*generation).or_default() += 1;
            }
            if samples.is_empty() {
                queue.pop_front();
            }
        }
    }

    /// Of every reply up to this one.
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
            speaker.ack(connection, ack);
        }
    }
}
