//! The sockets of a session: which are attached, what each still has to be sent, which of them holds microphone and
//! speaker, and who watches which file list. Knows events and signals, but neither runs nor agents; a socket that
//! cannot keep up is this room's problem alone.

pub(super) mod audience;
pub(super) mod file_watch;
mod handlers;
pub(super) mod presence;
pub(super) mod reader;

use self::audience::Peer;
use self::file_watch::FileWatches;
use self::presence::Presence;
use super::voice::microphone::Microphone;
use crate::message::{Channel, Order, Seq, SessionId};
use crate::provider::live::Speaker;

#[derive(Debug)]
pub(super) struct Sockets {
    /// Newest published event of each channel, and of all channels.
    tops: [Seq; Channel::COUNT],
    published: Order,
    /// In the order of their arrival.
    peers: Vec<Peer>,
    /// The same socket holds both; they change hands as sockets come and go.
    microphone: Microphone,
    speaker: Speaker,
    presence: Presence,
    file_watches: FileWatches,
}

impl Sockets {
    pub(super) fn new(
        session: &SessionId,
        tops: [Seq; Channel::COUNT],
        last_order: Order,
        microphone: Microphone,
        speaker: Speaker,
    ) -> Self {
        Self {
            tops,
            published: last_order,
            peers: Vec::new(),
            microphone,
            speaker,
            presence: Presence::new(session),
            file_watches: FileWatches::default(),
        }
    }
}
