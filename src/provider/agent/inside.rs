//! An agent that lives in this process and speaks the protocol over a pipe, so that the gateway has one way to open,
//! ask, show and stop. What it does is not known here.

use super::program::Program;
use crate::process::Place;
use crate::task;
use std::any::Any;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

/// Bytes on their way in each direction. Full: the writer waits.
const STREAM_CAPACITY: usize = 256 * 1024;

/// The agent's side of ACP. It ends when the host closes the stream or asks the agent to end.
pub type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

pub trait InsideAgent: Any + fmt::Debug + Send + Sync {
    /// How the programs that it runs are started, and what it is called.
    fn program(&self) -> &Arc<Program>;
    /// The file in which it keeps its conversation.
    fn memory(&self) -> &Path;
    /// Whether it works on the project, so that it needs a workplace and backups.
    fn works_on_project(&self) -> bool;
    fn serve(self: Arc<Self>, place: Place, stream: DuplexStream, signals: EndSignals) -> Serving;
    /// Whether the other one would do the same, so that there is no need to replace it.
    fn is_same(&self, other: &dyn InsideAgent) -> bool;
}

#[derive(Debug, Clone)]
pub struct Inside(pub Arc<dyn InsideAgent>);

impl PartialEq for Inside {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(&*other.0)
    }
}

impl Eq for Inside {}

impl Inside {
    pub(super) fn program(&self) -> &Arc<Program> {
        self.0.program()
    }

    /// The name of the conversation that an earlier process has left.
    pub(super) async fn remembered(&self) -> Option<String> {
        let there = tokio::fs::try_exists(self.0.memory()).await.unwrap_or(false);
        there.then(|| self.program().row.name.clone())
    }

    /// Dropping the stream ends the agent, too.
    pub(super) fn start(&self, place: &Place) -> (EndSignals, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(STREAM_CAPACITY);
        let signals = EndSignals::default();
        let serving = Arc::clone(&self.0).serve(place.clone(), theirs, signals.clone());
        // Dropped also after a panic.
        let gone = signals.gone.clone().drop_guard();
        task::spawn("agent-inside", async move {
            serving.await;
            drop(gone);
        });
        (signals, ours)
    }
}

/// Tells an inside agent when to end, and its host when it has ended.
#[derive(Debug, Clone, Default)]
pub struct EndSignals {
    end_requested: CancellationToken,
    kill_now: CancellationToken,
    gone: CancellationToken,
}

impl EndSignals {
    /// Cancelled when the agent is to end. Programs that it has started get two seconds.
    pub fn end_requested(&self) -> &CancellationToken {
        &self.end_requested
    }

    /// Cancelled when programs that it has started are to be killed.
    pub fn kill_now(&self) -> &CancellationToken {
        &self.kill_now
    }

    pub(super) fn end(&self) {
        self.end_requested.cancel();
    }

    pub(super) fn kill(&self) {
        self.end_requested.cancel();
        self.kill_now.cancel();
    }

    /// Returns when the agent and everything that it started is gone.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }
}
