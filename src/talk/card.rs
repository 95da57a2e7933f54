//! A sound card. Its callbacks touch nothing but rings without locks; all the rest happens on a thread of its own, which
//! also owns the streams: not every system lets them change threads.

mod choice;
mod echo;
mod rack;
mod ring;
mod stream;

pub(super) use choice::names;

use super::device::{CAPTURE_CAPACITY, Captured, Device};
use super::speaker::Speaker;
use super::{Card, TalkError};
use rack::Rack;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use stream::Streams;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A fraction of what is always waiting for the card.
const TURN: Duration = Duration::from_millis(4);
/// Sound servers are restarted and plugs are pulled by mistake: so often in a row it is opened again.
const RETRIES: u32 = 5;
const RETRY_PAUSE: Duration = Duration::from_millis(400);
/// A device that has worked for so long has earned its retries anew.
const STEADY: Duration = Duration::from_secs(5);

/// Opens microphone and speaker. The speaker runs at once, the microphone is listened to when it is told to begin.
pub(super) async fn open(card: Card, speaker: Arc<Speaker>) -> Result<Device, TalkError> {
    let (captured_by, captured) = mpsc::channel(CAPTURE_CAPACITY);
    let (begin, begun) = oneshot::channel();
    let (ending, ended) = oneshot::channel();
    let (opening, opened) = oneshot::channel();
    let stop = CancellationToken::new();
    let work = Work { card, speaker, captured_by, begun, listening: false, stop: stop.clone() };
    let started = thread::Builder::new().name("talk-card".to_owned()).spawn(move || {
        match work.open() {
            Ok(first) => {
                // Both may be gone with the conversation, which is no news here.
                let _ = opening.send(Ok(()));
                let _ = ending.send(work.run(first));
            }
            Err(err) => drop(opening.send(Err(err))),
        }
    });
    started.map_err(|err| TalkError::NoDevice(err.to_string()))?;
    let gone = |_| TalkError::NoDevice("it could not be opened".to_owned());
    opened.await.map_err(gone)??;
    Ok(Device { captured, begin: Some(begin), stop, ended })
}

/// What the card's thread does.
struct Work {
    card: Card,
    speaker: Arc<Speaker>,
    captured_by: mpsc::Sender<Captured>,
    begun: oneshot::Receiver<()>,
    listening: bool,
    stop: CancellationToken,
}

impl Work {
    fn open(&self) -> Result<(Streams, Rack), TalkError> {
        let (streams, ends) = Streams::open(&self.card)?;
        let (speaker, captured) = (Arc::clone(&self.speaker), self.captured_by.clone());
        Ok((streams, Rack::new(ends, &self.card, speaker, captured)?))
    }

    fn run(mut self, first: (Streams, Rack)) -> Result<(), TalkError> {
        let mut next: Result<_, TalkError> = Ok(first);
        let mut failures = 0;
        loop {
            let since = Instant::now();
            let reason = match next {
                Ok((streams, rack)) => match self.serve(&streams, rack) {
                    Some(reason) => reason,
                    None => return Ok(()),
                },
                Err(err) => err.to_string(),
            };
            // What the card had taken is not heard any more.
            self.speaker.with(|playout| playout.forget_on_the_way());
            failures = if since.elapsed() > STEADY { 1 } else { failures + 1 };
            if failures > RETRIES {
                return Err(TalkError::DeviceLost(reason));
            }
            thread::sleep(RETRY_PAUSE);
            next = self.open();
        }
    }

    /// `None`: it was told to stop. Otherwise why it cannot go on.
    fn serve(&mut self, streams: &Streams, mut rack: Rack) -> Option<String> {
        while !self.stop.is_cancelled() {
            if let Some(reason) = streams.failure() {
                return Some(reason);
            }
            self.listening |= self.begun.try_recv().is_ok();
            rack.turn(self.listening);
            thread::sleep(TURN);
        }
        None
    }
}
