//! What a session has decided but not yet shown: every change goes to the store first, and takes effect (is
//! published, acknowledged, begun) when it is committed. So whatever a client has seen survives `kill -9`.

use crate::message::{Channel, ConnectionId, Entry, RequestNo, RunId};
use crate::provider::live::LiveInput;
use crate::store::{Change, SessionWriter};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use tokio::sync::watch;

/// Steps waiting for their commit. Full: the session takes no more commands and no more output of its providers,
/// so that they wait in their own bounded queues.
const PENDING_LIMIT: usize = 512;

/// Changes that become visible together, and what follows from them.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) changes: Vec<Change>,
    pub(super) effects: Vec<Effect>,
}

#[derive(Debug)]
pub(super) enum Effect {
    Publish(Arc<Entry>),
    Ack {
        connection: ConnectionId,
        request: RequestNo,
        repeated: bool,
    },
    /// What the live model is to read or look at.
    Show(LiveInput),
    /// The run is on disk: its provider may start.
    Begin {
        channel: Channel,
        run: RunId,
    },
}

#[derive(Debug)]
pub(super) struct Journal {
    writer: SessionWriter,
    committed: watch::Receiver<u64>,
    /// Not yet taken by the writer.
    unsent: VecDeque<Step>,
    /// Taken, and waiting for the ticket to be committed.
    sent: VecDeque<(u64, Vec<Effect>)>,
    /// Numbers of commands that the database does not know yet.
    fresh_requests: HashSet<RequestNo>,
}

impl Journal {
    pub(super) fn new(writer: SessionWriter) -> Self {
        let committed = writer.watch();
        Self {
            writer,
            committed,
            unsent: VecDeque::new(),
            sent: VecDeque::new(),
            fresh_requests: HashSet::new(),
        }
    }

    pub(super) fn record(&mut self, step: Step) {
        for change in &step.changes {
            if let Change::Request(request) = change {
                self.fresh_requests.insert(request.clone());
            }
        }
        self.unsent.push_back(step);
        self.hand_over();
    }

    pub(super) fn is_full(&self) -> bool {
        self.unsent.len() + self.sent.len() >= PENDING_LIMIT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unsent.is_empty() && self.sent.is_empty()
    }

    /// Whether this command has been taken but is not committed yet.
    pub(super) fn is_fresh(&self, request: &RequestNo) -> bool {
        self.fresh_requests.contains(request)
    }

    /// Waits for something to do: a commit, or room for what could not be handed over. Never ends while there is
    /// nothing on its way.
    pub(super) async fn progress(&mut self) {
        let (writer, committed) = (&self.writer, &mut self.committed);
        tokio::select! {
            changed = committed.changed(), if !self.sent.is_empty() => {
                // Fails only without a writer, and then nothing will ever be committed again.
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            () = writer.room(), if !self.unsent.is_empty() => {}
            else => std::future::pending().await,
        }
    }

    /// Takes out what has been committed, in order.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        self.hand_over();
        let committed = *self.committed.borrow_and_update();
        let mut effects = Vec::new();
        while let Some((ticket, _)) = self.sent.front()
            && *ticket <= committed
            && let Some((_, done)) = self.sent.pop_front()
        {
            effects.extend(done);
        }
        for effect in &effects {
            if let Effect::Ack { request, repeated: false, .. } = effect {
                self.fresh_requests.remove(request);
            }
        }
        effects
    }

    fn hand_over(&mut self) {
        while let Some(step) = self.unsent.pop_front() {
            match self.writer.try_write(step.changes) {
                Ok(ticket) => self.sent.push_back((ticket, step.effects)),
                Err(changes) => {
                    self.unsent.push_front(Step { changes, effects: step.effects });
                    return;
                }
            }
        }
    }
}
