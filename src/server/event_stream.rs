//! The transport of server-sent events: an HTTP answer that never ends. The loop of the client runs within the answer's
//! body, so it ends when the client leaves.

use super::attached::{Attached, End, FrameTransport, Incoming};
use crate::dialect::{Dialect, Frame};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::convert::Infallible;
use std::pin::Pin;
use tokio::sync::mpsc;
use tracing::debug;

/// Events between the loop and the answer's body. Full: the loop waits until the client has read one.
const EVENT_CAPACITY: usize = 1;

/// The transport. A client cannot send over it, and binary frames are left out.
#[derive(Debug)]
pub(super) struct EventStream {
    events: mpsc::Sender<Event>,
}

/// The other end of an [`EventStream`].
#[derive(Debug)]
pub(super) struct Events(mpsc::Receiver<Event>);

impl EventStream {
    pub(super) fn new() -> (Self, Events) {
        let (events, taken) = mpsc::channel(EVENT_CAPACITY);
        (Self { events }, Events(taken))
    }
}

impl FrameTransport for EventStream {
    const ANSWERS_PINGS: bool = false;

    async fn receive(&mut self) -> Result<Incoming, End> {
        std::future::pending().await
    }

    /// A browser's `EventSource` resumes with the id of the last frame that had one.
    async fn send(&mut self, frames: &mut Vec<Frame>) -> Result<(), End> {
        for frame in frames.drain(..) {
            let event = match frame {
                Frame::Event(id, text) => Event::default().id(id.to_string()).data(text),
                Frame::Text(text) => Event::default().data(text),
                Frame::Binary(_) => continue,
            };
            self.events.send(event).await.map_err(|_| End::Peer)?;
        }
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), End> {
        self.events.send(Event::default().comment("")).await.map_err(|_| End::Peer)
    }

    /// Nothing is sent: the client sees the end of the answer.
    async fn close(&mut self, _end: &End) {}
}

impl Events {
    /// The answer whose body runs the loop. `kept` is dropped with it.
    pub(super) fn answer<D: Dialect>(
        self,
        client: Attached<D, EventStream>,
        kept: impl Send + 'static,
    ) -> Response {
        let body = Body { running: Some(Box::pin(client.run())), events: self.0, _kept: kept };
        let events = stream::unfold(body, |mut body| async {
            let event = body.next().await?;
            Some((Ok::<_, Infallible>(event), body))
        });
        // Tells a proxy not to buffer, so that each event arrives at once.
        let headers = [("x-accel-buffering", "no")];
        (headers, Sse::new(events)).into_response()
    }
}

struct Body<K> {
    /// `None`: the loop has ended.
    running: Option<Pin<Box<dyn Future<Output = End> + Send>>>,
    events: mpsc::Receiver<Event>,
    _kept: K,
}

impl<K> Body<K> {
    /// `None` ends the answer; the client reconnects with the last id it has seen.
    async fn next(&mut self) -> Option<Event> {
        while let Some(running) = &mut self.running {
            tokio::select! {
                biased;
                event = self.events.recv() => return event,
                end = running => {
                    debug!(%end, "stream of events closed");
                    self.running = None;
                }
            }
        }
        self.events.recv().await
    }
}
