//! A transport that puts the bytes of pictures into frames as they are sent: encoders read no files.

use super::super::attached::{End, FrameTransport, Incoming};
use crate::dialect::{Frame, FrameId, smol};
use crate::locale::Locale;
use crate::message::{Principal, SessionId};
use crate::session::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest picture that is sent, in bytes. A larger one can be downloaded.
const LARGEST: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Filling<T> {
    pub(super) transport: T,
    pub(super) pictures: Pictures,
    /// The last event that the client was told.
    pub(super) told: Arc<AtomicU64>,
}

/// The pictures of one session.
#[derive(Debug)]
pub(super) struct Pictures {
    pub(super) registry: Arc<Registry>,
    pub(super) principal: Principal,
    pub(super) session: SessionId,
    pub(super) locale: Locale,
}

impl<T: FrameTransport> FrameTransport for Filling<T> {
    const ANSWERS_PINGS: bool = T::ANSWERS_PINGS;

    async fn receive(&mut self) -> Result<Incoming, End> {
        self.transport.receive().await
    }

    async fn send(&mut self, frames: &mut Vec<Frame>) -> Result<(), End> {
        let mut next = Vec::new();
        for frame in frames.drain(..) {
            let wanted = frame.text().and_then(smol::wanted);
            let Some(name) = wanted else {
                next.push(frame);
                continue;
            };
            // One picture at a time is in memory, also for a client that does not read.
            self.pass(&mut next).await?;
            let filled = self.pictures.filled(frame.text().unwrap_or_default(), &name).await;
            next.push(match frame {
                Frame::Event(id, _) => Frame::Event(id, filled),
                Frame::Text(_) | Frame::Binary(_) => Frame::Text(filled),
            });
            self.pass(&mut next).await?;
        }
        self.pass(&mut next).await
    }

    async fn ping(&mut self) -> Result<(), End> {
        self.transport.ping().await
    }

    async fn close(&mut self, end: &End) {
        self.transport.close(end).await;
    }
}

impl<T: FrameTransport> Filling<T> {
    async fn pass(&mut self, frames: &mut Vec<Frame>) -> Result<(), End> {
        let number = |frame: &Frame| match frame {
            Frame::Event(FrameId::Number(number), _) => Some(*number),
            Frame::Event(FrameId::Order(..), _) | Frame::Text(_) | Frame::Binary(_) => None,
        };
        let newest = frames.iter().rev().find_map(number);
        if !frames.is_empty() {
            self.transport.send(frames).await?;
        }
        if let Some(number) = newest {
            self.told.store(number, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Pictures {
    /// Only files of the session's own workspace have names here.
    async fn filled(&self, frame: &str, name: &str) -> String {
        let found = self.registry.workspace_file(&self.principal, &self.session, name).await;
        let found = found.filter(|file| file.media_type.starts_with("image/"));
        let problem = match found {
            Some(file) if file.bytes.len() > LARGEST => "picture_too_large",
            Some(file) => match smol::filled(frame, &file.bytes) {
                Some(filled) => return filled,
                None => "picture_gone",
            },
            None => "picture_gone",
        };
        let text = self.locale.say("smol", problem, &[("name", name)]);
        smol::refusal(&text).to_string()
    }
}
