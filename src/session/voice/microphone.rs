//! Queue of everything that the live model is to hear, read and see, in order. It is shared with the sockets: sound
//! from the holder of the microphone reaches the model without passing through the session's actor. The actor decides
//! who the holder is, and sends what the model could not take at once.

use crate::message::{AudioChunk, ConnectionId, Recorded, TalkKey};
use crate::provider::live::LiveInput;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Inputs that wait while the model takes none, about four seconds of sound. Full: the oldest sound is dropped, counted
/// and marked as a gap. Texts and pictures are never dropped.
const RING_CAPACITY: usize = 64;
/// Texts and pictures that may wait. Full: the newest is refused, and the user is told.
pub(super) const WORDS_CAPACITY: usize = 16;
/// Bytes of texts and pictures that may wait: a picture or two.
const WORDS_BYTES: usize = 48 * 1024 * 1024;

#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Microphone(Arc<Mutex<Intake>>);

#[derive(Debug, Default)]
struct Intake {
    holder: Option<ConnectionId>,
    /// Name of the live model that listens.
    listener: Box<str>,
    /// The holder uses a talk key and holds it down.
    pressed: bool,
    /// `None` while there is no model.
    model: Option<mpsc::Sender<LiveInput>>,
    waiting: VecDeque<LiveInput>,
    /// Dropped chunks that the next chunk has to report as a gap.
    lost: u64,
}

/// What has become of one chunk of sound.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) enum Heard {
    Taken,
    /// The session has to open a model, or to wait until it has room.
    Waiting {
        /// How many older chunks were dropped to make room.
        dropped: usize,
    },
    /// The sender does not hold the microphone; the chunk is returned.
    NotHolder(Recorded),
}

impl Microphone {
    /// Changes the holder. A departing holder releases the talk key.
    pub(in crate::session) fn give_to(&self, holder: Option<ConnectionId>) {
        let mut intake = self.lock();
        if intake.holder != holder {
            intake.holder = holder;
            if std::mem::take(&mut intake.pressed) {
                intake.send(LiveInput::TalkKey(TalkKey::Released));
            }
        }
    }

    /// The talk key is queued in order with the sound around it.
    pub(in crate::session) fn press(&self, connection: ConnectionId, key: TalkKey) -> Fed {
        let mut intake = self.lock();
        if intake.holder != Some(connection) {
            return Fed::Everything;
        }
        intake.pressed = key == TalkKey::Pressed;
        intake.send(LiveInput::TalkKey(key))
    }

    pub(in crate::session) fn is_held_by(&self, connection: ConnectionId) -> bool {
        self.lock().holder == Some(connection)
    }

    /// Some clients record at the rate of the live model that listens, and do not state it.
    pub(super) fn listener_is(&self, model: &str) {
        self.lock().listener = model.into();
    }

    pub(super) fn rate_of(&self, sound: &Recorded) -> u32 {
        sound.rate.for_model(&self.lock().listener)
    }

    pub(in crate::session) fn hear(&self, connection: ConnectionId, sound: Recorded) -> Heard {
        let mut intake = self.lock();
        if intake.holder != Some(connection) {
            return Heard::NotHolder(sound);
        }
        let rate = sound.rate.for_model(&intake.listener);
        let chunk = AudioChunk { rate, pcm: sound.pcm };
        let lost = std::mem::take(&mut intake.lost);
        match intake.send(LiveInput::Audio { chunk, lost }) {
            Fed::Everything => Heard::Taken,
            Fed::Partly => Heard::Waiting { dropped: intake.drop_oldest() },
        }
    }

    /// Stops the model's speech, ahead of all input that waits. Only the holder can do this: existing clients answer
    /// every stop with a stop of their own, also after another socket took the microphone over.
    pub(in crate::session) fn interrupt(&self, connection: ConnectionId) -> Fed {
        let mut intake = self.lock();
        if intake.holder == Some(connection) && intake.model.is_some() {
            if !matches!(intake.waiting.front(), Some(LiveInput::Interrupt)) {
                intake.waiting.push_front(LiveInput::Interrupt);
            }
            intake.feed()
        } else {
            Fed::Everything
        }
    }

    /// Queues a text or picture for the model.
    pub(super) fn show(&self, input: LiveInput) -> Fed {
        self.lock().send(input)
    }

    /// Queues a picture before everything else, for the model that is connected next.
    pub(super) fn show_first(&self, input: LiveInput) {
        self.lock().waiting.push_front(input);
    }

    /// Whether the queue has room for another text or picture.
    pub(super) fn has_room(&self) -> bool {
        let intake = self.lock();
        let counts = |input: &&LiveInput| !is_sound(input) && !matches!(input, LiveInput::Place(_));
        let words = intake.waiting.iter().filter(counts);
        let bytes = words.clone().map(|input| match input {
            LiveInput::Image(image) => image.len(),
            LiveInput::Text(text) | LiveInput::Report(text) => text.len(),
            LiveInput::ToolResult { outcome, .. } => {
                let (Ok(text) | Err(text)) = outcome;
                text.len()
            }
            LiveInput::Audio { .. }
            | LiveInput::Place(_)
            | LiveInput::Interrupt
            | LiveInput::TalkKey(_) => 0,
        });
        words.count() < WORDS_CAPACITY && bytes.sum::<usize>() < WORDS_BYTES
    }

    /// Texts that wait and were sent to no model.
    pub(super) fn unread(&self) -> Vec<String> {
        let intake = self.lock();
        let texts = intake.waiting.iter().filter_map(|input| match input {
            LiveInput::Text(text) => Some(text.clone()),
            LiveInput::Audio { .. }
            | LiveInput::Place(_)
            | LiveInput::Report(_)
            | LiveInput::Image(_)
            | LiveInput::Interrupt
            | LiveInput::TalkKey(_)
            | LiveInput::ToolResult { .. } => None,
        });
        texts.collect()
    }

    /// Input goes to this model from now on.
    pub(super) fn connect(&self, model: mpsc::Sender<LiveInput>) {
        let mut intake = self.lock();
        let told = intake.waiting.iter().any(|input| matches!(input, LiveInput::TalkKey(_)));
        // The key was pressed while another model was connected.
        if intake.pressed && !told {
            intake.waiting.push_front(LiveInput::TalkKey(TalkKey::Pressed));
        }
        intake.model = Some(model);
    }

    /// Sends the model as much of the waiting input as it takes.
    pub(super) fn feed(&self) -> Fed {
        self.lock().feed()
    }

    /// Disconnects the model. Waiting input is kept for the next one.
    pub(super) fn detach(&self) {
        self.lock().model = None;
    }

    /// Disconnects the model and drops the waiting input.
    pub(super) fn disconnect(&self) {
        let mut intake = self.lock();
        intake.model = None;
        intake.waiting = VecDeque::new();
    }

    fn lock(&self) -> MutexGuard<'_, Intake> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether all waiting input was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Fed {
    Everything,
    Partly,
}

impl Intake {
    fn send(&mut self, input: LiveInput) -> Fed {
        self.waiting.push_back(input);
        self.feed()
    }

    fn feed(&mut self) -> Fed {
        let Some(model) = &self.model else { return self.fed() };
        while let Some(input) = self.waiting.pop_front() {
            if let Err(refused) = model.try_send(input) {
                self.waiting.push_front(refused.into_inner());
                break;
            }
        }
        self.fed()
    }

    fn fed(&self) -> Fed {
        if self.waiting.is_empty() { Fed::Everything } else { Fed::Partly }
    }

    fn drop_oldest(&mut self) -> usize {
        let mut dropped = 0;
        while self.waiting.len() > RING_CAPACITY
            && let Some(oldest) = self.waiting.iter().position(is_sound)
        {
            if let Some(LiveInput::Audio { lost, .. }) = self.waiting.remove(oldest) {
                self.mark_gap(oldest, lost + 1);
            }
            dropped += 1;
        }
        dropped
    }

    /// The next chunk reports how many chunks before it were dropped.
    fn mark_gap(&mut self, from: usize, more: u64) {
        for input in self.waiting.iter_mut().skip(from) {
            if let LiveInput::Audio { lost, .. } = input {
                *lost += more;
                return;
            }
        }
        self.lost += more;
    }
}

fn is_sound(input: &LiveInput) -> bool {
    matches!(input, LiveInput::Audio { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ModelRates, SampleRate};

    const HOLDER: ConnectionId = ConnectionId(1);
    const OTHER: ConnectionId = ConnectionId(2);

    fn chunk(mark: u8) -> Recorded {
        Recorded { rate: SampleRate::Hz(24_000), pcm: bytes::Bytes::from(vec![mark; 2]) }
    }

    fn held() -> Microphone {
        let microphone = Microphone::default();
        microphone.give_to(Some(HOLDER));
        microphone
    }

    #[test]
    fn a_model_that_does_not_listen_costs_the_oldest_sound_and_no_word() {
        let (model, mut taken) = mpsc::channel(1);
        let microphone = held();
        microphone.connect(model);
        let mut lost = 0;
        for mark in 0..=u8::try_from(RING_CAPACITY).unwrap() + 10 {
            if let Heard::Waiting { dropped } = microphone.hear(HOLDER, chunk(mark)) {
                lost += dropped;
            }
            if mark == 5 {
                assert_eq!(microphone.show(LiveInput::Text("hello".into())), Fed::Partly);
            }
        }
        assert_eq!(lost, 11);
        let mut heard = Vec::new();
        let mut texts = 0;
        while let Ok(input) = taken.try_recv() {
            match input {
                LiveInput::Audio { chunk, lost } => heard.push((chunk.pcm[0], lost)),
                LiveInput::Text(_) => texts += 1,
                LiveInput::Place(_)
                | LiveInput::Report(_)
                | LiveInput::Image(_)
                | LiveInput::Interrupt
                | LiveInput::TalkKey(_)
                | LiveInput::ToolResult { .. } => {}
            }
            microphone.feed();
        }
        assert_eq!(texts, 1);
        assert_eq!(heard[0], (0, 0), "the first was taken at once");
        assert_eq!(heard[1], (12, 11), "the first after the gap says how long it is");
        assert!(heard[2..].iter().all(|(_, lost)| *lost == 0));
        assert_eq!(heard.last(), Some(&(74, 0)));
    }

    #[test]
    fn only_the_holder_is_heard_and_can_silence_the_model() {
        let (model, mut taken) = mpsc::channel(8);
        let microphone = held();
        microphone.connect(model);
        assert_eq!(microphone.hear(OTHER, chunk(1)), Heard::NotHolder(chunk(1)));
        microphone.interrupt(OTHER);
        assert!(taken.try_recv().is_err());
        microphone.give_to(Some(OTHER));
        assert_eq!(microphone.hear(HOLDER, chunk(2)), Heard::NotHolder(chunk(2)));
        assert_eq!(microphone.hear(OTHER, chunk(3)), Heard::Taken);
        microphone.give_to(None);
        assert_eq!(microphone.hear(OTHER, chunk(4)), Heard::NotHolder(chunk(4)));
        let Ok(LiveInput::Audio { chunk, .. }) = taken.try_recv() else { panic!("nothing heard") };
        assert_eq!(chunk.pcm[0], 3);
        assert!(taken.try_recv().is_err());
    }

    #[test]
    fn a_key_keeps_its_place_and_is_released_with_its_socket() {
        let (model, mut taken) = mpsc::channel(8);
        let microphone = held();
        microphone.connect(model);
        microphone.press(OTHER, TalkKey::Pressed);
        microphone.press(HOLDER, TalkKey::Pressed);
        microphone.hear(HOLDER, chunk(1));
        microphone.give_to(Some(OTHER));
        microphone.give_to(None);
        let next = &mut || taken.try_recv();
        assert!(matches!(next(), Ok(LiveInput::TalkKey(TalkKey::Pressed))));
        assert!(matches!(next(), Ok(LiveInput::Audio { .. })));
        assert!(matches!(next(), Ok(LiveInput::TalkKey(TalkKey::Released))));
        assert!(next().is_err());
    }

    #[test]
    fn another_model_gets_what_waits_and_knows_of_the_key() {
        let microphone = held();
        let (model, taken) = mpsc::channel(1);
        microphone.connect(model);
        microphone.press(HOLDER, TalkKey::Pressed);
        microphone.hear(HOLDER, chunk(1));
        microphone.show(LiveInput::Text("wait".into()));
        microphone.detach();
        drop(taken);
        assert_eq!(microphone.unread(), ["wait"]);
        let (model, mut taken) = mpsc::channel(8);
        microphone.connect(model);
        assert_eq!(microphone.feed(), Fed::Everything);
        assert!(matches!(taken.try_recv(), Ok(LiveInput::TalkKey(TalkKey::Pressed))));
        assert!(matches!(taken.try_recv(), Ok(LiveInput::Audio { .. })));
        assert!(matches!(taken.try_recv(), Ok(LiveInput::Text(_))));
        assert!(taken.try_recv().is_err());
    }

    #[test]
    fn sound_without_a_rate_goes_by_the_model_that_listens() {
        let (model, mut taken) = mpsc::channel(8);
        let microphone = held();
        microphone.connect(model);
        static RATES: ModelRates = ModelRates { named: &[("fast", 24_000)], other: 16_000 };
        let unstated = SampleRate::ByModel(&RATES);
        for (listener, stated, rate) in [
            ("other", unstated, 16_000),
            ("fast", unstated, 24_000),
            ("fast", SampleRate::Hz(8_000), 8_000),
        ] {
            microphone.listener_is(listener);
            microphone.hear(HOLDER, Recorded { rate: stated, ..chunk(1) });
            let Ok(LiveInput::Audio { chunk, .. }) = taken.try_recv() else { panic!("nothing") };
            assert_eq!(chunk.rate, rate);
        }
    }

    #[test]
    fn a_stop_goes_ahead_of_what_waits_and_is_said_once() {
        let (model, mut taken) = mpsc::channel(1);
        let microphone = held();
        microphone.connect(model);
        microphone.hear(HOLDER, chunk(1));
        microphone.hear(HOLDER, chunk(2));
        assert_eq!(microphone.interrupt(HOLDER), Fed::Partly);
        assert_eq!(microphone.interrupt(HOLDER), Fed::Partly);
        let mut next = || {
            let input = taken.try_recv();
            microphone.feed();
            input
        };
        assert!(matches!(next(), Ok(LiveInput::Audio { .. })), "this was on its way already");
        assert!(matches!(next(), Ok(LiveInput::Interrupt)));
        assert!(matches!(next(), Ok(LiveInput::Audio { .. })));
        assert!(next().is_err());
    }

    #[test]
    fn sound_waits_in_order_for_a_model_and_ends_with_it() {
        let microphone = held();
        assert_eq!(microphone.interrupt(HOLDER), Fed::Everything, "nobody speaks");
        assert_eq!(microphone.hear(HOLDER, chunk(1)), Heard::Waiting { dropped: 0 });
        let (model, mut taken) = mpsc::channel(8);
        microphone.connect(model);
        assert_eq!(microphone.hear(HOLDER, chunk(2)), Heard::Taken);
        for mark in [1, 2] {
            let Ok(LiveInput::Audio { chunk, .. }) = taken.try_recv() else { panic!("{mark}") };
            assert_eq!(chunk.pcm[0], mark);
        }
        microphone.disconnect();
        assert_eq!(taken.try_recv().err(), Some(mpsc::error::TryRecvError::Disconnected));
    }
}
