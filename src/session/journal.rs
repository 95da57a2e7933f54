//! What a session has decided but not yet shown. Every change is stored first, and takes effect (is published,
//! acknowledged, begun) after its commit. So whatever a client has seen survives `kill -9`.

use super::run::lanes::LaneId;
use super::sockets::audience::{Piece, weight};
use super::tools::CallId;
use crate::message::{Channel, ConnectionId, Entry, Order, RequestNo, RunId, Seq};
use crate::provider::agent::{AskId, Decision};
use crate::provider::live::LiveInput;
use crate::provider::row::WebhookCall;
use crate::store::{Change, Progress, SessionWriter};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// Steps waiting for their commit. Full: the session takes no more commands and no more output of its providers,
/// so that they wait in their own bounded queues.
const PENDING_STEPS: usize = 512;
/// Limit of those steps in bytes.
const PENDING_BYTES: usize = 8 * 1024 * 1024;
/// Cancels are taken even when the journal is full, up to this many more steps.
const PENDING_CANCELS: usize = 64;

/// Changes that are committed together, and their effects.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) changes: Vec<Change>,
    pub(super) effects: Vec<Effect>,
}

#[derive(Debug)]
pub(super) enum Effect {
    Publish(Arc<Entry>),
    /// Part of an answer, in order with the events around it.
    Pass(Piece),
    Ack {
        connection: ConnectionId,
        request: RequestNo,
        repeated: bool,
    },
    /// The decision about a question of a lane's worker, for that worker.
    Decide {
        lane: LaneId,
        ask: AskId,
        decision: Decision,
    },
    /// A call waits for approval: the operator's webhook is called.
    Call(Box<WebhookCall>),
    /// Wakes somebody who waits for this commit.
    Settled(oneshot::Sender<()>),
    /// New settings are stored: clients are shown them.
    ShowSettings,
    /// Something for the live model to read or look at.
    Show(LiveInput),
    /// A tool call is allowed: it is carried out.
    UseTool(CallId),
    /// The run is on disk: its provider may start.
    Begin {
        channel: Channel,
        run: RunId,
    },
}

impl Step {
    fn weight(&self) -> usize {
        let entries = self.effects.iter().filter_map(|effect| match effect {
            Effect::Publish(entry) => Some(weight(&entry.event)),
            Effect::Pass(piece) => Some(piece.weight()),
            Effect::Show(LiveInput::Image(image)) => Some(image.len()),
            Effect::Show(_)
            | Effect::Ack { .. }
            | Effect::Begin { .. }
            | Effect::UseTool(_)
            | Effect::Decide { .. }
            | Effect::Call(_)
            | Effect::ShowSettings
            | Effect::Settled(_) => None,
        });
        entries.sum()
    }
}

/// The store has refused a change for good, so the session cannot go on with what it has in memory.
#[derive(Debug)]
pub(super) struct Diverged;

#[derive(Debug)]
struct Pending {
    ticket: u64,
    effects: Vec<Effect>,
    weight: usize,
}

#[derive(Debug)]
pub(super) struct Journal {
    writer: SessionWriter,
    progress: watch::Receiver<Progress>,
    /// Not yet taken by the writer.
    unsent: VecDeque<Step>,
    /// Taken, and waiting for the ticket to be committed.
    sent: VecDeque<Pending>,
    bytes: usize,
    /// Request numbers that are not committed yet.
    fresh_requests: HashSet<RequestNo>,
    /// Numbers of the newest event: in each channel, and in the session.
    newest: [Seq; Channel::COUNT],
    newest_order: Order,
}

impl Journal {
    /// Numbers of events go on after the stored ones.
    pub(super) fn new(
        writer: SessionWriter,
        newest: [Seq; Channel::COUNT],
        newest_order: Order,
    ) -> Self {
        Self {
            progress: writer.watch(),
            writer,
            unsent: VecDeque::new(),
            sent: VecDeque::new(),
            bytes: 0,
            fresh_requests: HashSet::new(),
            newest,
            newest_order,
        }
    }

    /// Numbers for the next event of a channel: its place in the channel, and in the session.
    pub(super) fn assign(&mut self, channel: Channel) -> (Seq, Order) {
        let newest = &mut self.newest[channel.index()];
        *newest = Seq(newest.0 + 1);
        self.newest_order = Order(self.newest_order.0 + 1);
        (*newest, self.newest_order)
    }

    /// Number of the channel's newest event, which may not be committed yet.
    pub(super) fn assigned(&self, channel: Channel) -> Seq {
        self.newest[channel.index()]
    }

    /// Whether nothing has ever happened in the session.
    pub(super) fn has_no_events(&self) -> bool {
        self.newest_order == Order(0)
    }

    pub(super) fn record(&mut self, step: Step) {
        for change in &step.changes {
            if let Change::Request(request) = change {
                self.fresh_requests.insert(request.clone());
            }
        }
        self.bytes += step.weight();
        self.unsent.push_back(step);
        self.hand_over();
    }

    /// Puts effects that need no row behind the steps that are not committed yet. Returns them if there are none.
    #[must_use]
    pub(super) fn follow(&mut self, step: Step) -> Vec<Effect> {
        let weight = step.weight();
        if let Some(last) = self.unsent.back_mut() {
            last.effects.extend(step.effects);
        } else if let Some(last) = self.sent.back_mut() {
            last.effects.extend(step.effects);
            last.weight += weight;
        } else {
            return step.effects;
        }
        self.bytes += weight;
        Vec::new()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= PENDING_STEPS || self.bytes >= PENDING_BYTES
    }

    /// Whether there is not even room for a cancel.
    pub(super) fn is_stuck(&self) -> bool {
        self.len() >= PENDING_STEPS + PENDING_CANCELS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.unsent.len() + self.sent.len()
    }

    /// Whether this request number is recorded but not committed yet.
    pub(super) fn is_fresh(&self, request: &RequestNo) -> bool {
        self.fresh_requests.contains(request)
    }

    /// Waits for a commit, or for room in the writer. Never returns while nothing is pending.
    pub(super) async fn progress(&mut self) {
        let (writer, progress) = (&self.writer, &mut self.progress);
        tokio::select! {
            changed = progress.changed(), if !self.sent.is_empty() => {
                // Fails only without a writer, and then nothing will ever be committed again.
                if changed.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            () = writer.room(), if !self.unsent.is_empty() => {}
            else => std::future::pending().await,
        }
    }

    /// Takes the effects of all committed steps, in order.
    pub(super) fn take_effects(&mut self) -> Result<Vec<Effect>, Diverged> {
        self.hand_over();
        let Progress { committed, failed } = *self.progress.borrow_and_update();
        if failed {
            return Err(Diverged);
        }
        let mut effects = Vec::new();
        let done = self.sent.partition_point(|pending| pending.ticket <= committed);
        for done in self.sent.drain(..done) {
            self.bytes -= done.weight;
            effects.extend(done.effects);
        }
        for effect in &effects {
            if let Effect::Ack { request, repeated: false, .. } = effect {
                self.fresh_requests.remove(request);
            }
        }
        Ok(effects)
    }

    fn hand_over(&mut self) {
        while let Some(step) = self.unsent.pop_front() {
            let weight = step.weight();
            match self.writer.try_write(step.changes) {
                Ok(ticket) => {
                    self.sent.push_back(Pending { ticket, effects: step.effects, weight })
                }
                Err(changes) => {
                    self.unsent.push_front(Step { changes, effects: step.effects });
                    return;
                }
            }
        }
    }
}
