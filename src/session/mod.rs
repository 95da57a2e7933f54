//! Sessions: one actor each, reached through a [`SessionHandle`], found through the [`Registry`].
//! Knows neither JSON nor WebSocket.

mod actor;
mod analysis;
mod approval;
mod chat;
mod command;
mod dispatch;
mod job;
mod journal;
mod keeping;
mod language;
mod models;
mod registry;
mod run;
mod shared;
mod sockets;
mod tools;
mod voice;
mod workplace;

pub use crate::files::{Backup, Content, ContentError, FileError, Moment, Restored};
pub use analysis::{IncomingTable, Table, TableError, WorkspaceFile};
pub use keeping::archive::Archive;
pub use keeping::erase::forget_agents;
pub use keeping::library::{Handout, HandoutError, LibraryError, file_limits};
pub use keeping::sessions::KeepingError;
pub use keeping::settings::SettingsError;
pub use registry::{OpenError, OutsideError, Registry, StartError};
pub use sockets::audience::{Devices, Role};
pub use sockets::reader::{Reader, ReaderEnd, Step};
pub use workplace::choice::ChoiceError;

pub use crate::store::{Scope, SessionSummary, StoreError};

use self::analysis::Interpreters;
use self::language::Language;
use crate::config::Config;
use crate::files::Files;
use crate::locale::Locale;
use crate::message::{
    Command, ConnectionId, Epoch, Features, Greeting, Inbound, Position, Principal, Recorded,
    SessionId, SettingProblem, SystemNotice, View,
};
use crate::metrics::Metrics;
use crate::policy::Rules;
use crate::provider::live::Speaker;
use crate::provider::{chat as chat_model, live, webhook};
use crate::store::{SessionKey, Store};
use keeping::erase::DeletionReply;
use keeping::idle::IdleSessions;
use keeping::projects::Projects;
use keeping::settings::{AppliedSettings, NewSettings};
use sockets::audience::{LogQueue, SocketQueues};
use sockets::reader::{Source, Start};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use voice::hearing::Hearing;
use voice::microphone::{Fed, Heard, Microphone};
use workplace::choice::Inquiry;
use workplace::place_work::PlaceWork;

/// Commands on their way to the session's backlog. Full: the sending sockets wait, and their clients with them.
const COMMAND_CAPACITY: usize = 16;
/// Payload of all commands that are not settled yet, mostly files. Used up: the sending sockets wait.
const COMMAND_BYTES: usize = 64 * 1024 * 1024;
/// Cancels, arrivals and departures, which must not wait behind commands. Full: the socket waits.
const URGENT_CAPACITY: usize = 128;

/// Settings and services that every session works with.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    pub(crate) config: Arc<Config>,
    pub(crate) store: Store,
    pub(crate) files: Files,
    /// Files of all projects that a session can choose.
    pub(crate) projects: Projects,
    pub(crate) metrics: Metrics,
    /// The queue for work on agents' workplaces.
    pub(crate) place_work: PlaceWork,
    /// Sessions in memory without sockets and work.
    pub(crate) idle: IdleSessions,
    /// The rules by which the gate judges tool calls.
    pub(crate) rules: Arc<Rules>,
    /// Why agents run without a sandbox, if they do.
    pub(crate) no_box: Option<Arc<str>>,
    /// Paths that agents do not see.
    pub(crate) hidden: Arc<[PathBuf]>,
    /// One client for all chats, so that connections are reused.
    pub(crate) chat: chat_model::Client,
    /// One client for all live models, so that a vendor that fails is known to all sessions.
    pub(crate) live: live::Client,
    /// Python for sessions that compute.
    pub(crate) python: Interpreters,
    /// `None`: no webhook is configured.
    pub(crate) webhook: Option<webhook::Caller>,
    /// The session's own language.
    pub(crate) language: Language,
}

/// Cheap handle; the only way to reach a running session.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    inner: Arc<HandleInner>,
}

#[derive(Debug)]
struct HandleInner {
    id: SessionId,
    key: SessionKey,
    principal: Principal,
    env: Env,
    commands: mpsc::Sender<Submitted>,
    budget: Arc<Semaphore>,
    urgent: mpsc::Sender<Urgent>,
    microphone: Microphone,
    hearing: Hearing,
    speaker: Speaker,
    /// Files of the project that the session works on now.
    workplace: watch::Receiver<Files>,
    last_order: AtomicU64,
    /// When the session was last used, counted over all uses of all sessions.
    last_use: AtomicU64,
}

/// What a socket asks for when it attaches.
#[derive(Debug, Clone)]
pub struct Attach {
    pub view: View,
    pub connection: ConnectionId,
    /// Where the client is, for the audit log.
    pub address: Option<IpAddr>,
    pub role: Role,
    pub devices: Devices,
    /// Where the client wants to resume.
    pub cursor: Option<Cursor>,
    /// What is replayed if the client cannot resume.
    pub history: History,
    pub features: Features,
    /// The language that the client asked for. That of a participant becomes the language of the session.
    pub language: Option<Locale>,
}

/// How much of the history a client is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    Whole,
    /// This many of the newest events.
    Last(usize),
    /// The newest run, and what has come since. Only for a view of one channel.
    LastRun,
}

impl From<Option<usize>> for History {
    /// A number of events, or all.
    fn from(count: Option<usize>) -> Self {
        count.map_or(Self::Whole, Self::Last)
    }
}

/// How far a client has read its view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// `None`: the client did not keep it.
    pub epoch: Option<Epoch>,
    /// The newest event that the client has.
    pub at: Position,
    /// How many events up to that one are read again.
    pub again: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error(transparent)]
    Closed(#[from] SessionClosed),
    #[error("channel takes at most {limit} sockets")]
    TooMany { limit: usize },
}

#[derive(Debug, thiserror::Error)]
#[error("session is closed")]
pub struct SessionClosed;

impl SessionHandle {
    pub fn id(&self) -> &SessionId {
        &self.inner.id
    }

    /// Attaches one more socket. Dropping the reader detaches it.
    pub async fn attach(&self, attach: Attach) -> Result<(Greeting, Reader), AttachError> {
        self.note_use();
        let (reply, answer) = oneshot::channel();
        let (view, connection) = (attach.view, attach.connection);
        self.inner
            .urgent
            .send(Urgent::Attach { attach: Box::new(attach), reply })
            .await
            .map_err(|_| SessionClosed)?;
        let Attached { greeting, start, queues } = answer.await.map_err(|_| SessionClosed)??;
        let source = Source {
            store: self.inner.env.store.clone(),
            workplace: self.inner.workplace.clone(),
            key: self.inner.key,
            principal: self.inner.principal.clone(),
            view,
        };
        Ok((greeting, Reader::new(source, self.clone(), connection, start, queues)))
    }

    /// Hands a command over, waiting while the session is busy. Sound and cancels bypass the other commands.
    pub async fn submit(
        &self,
        connection: ConnectionId,
        inbound: Inbound,
    ) -> Result<(), SessionClosed> {
        self.note_use();
        let urgent = match (inbound.request, inbound.command) {
            (None, Command::SendAudio(sound)) => {
                let Some(urgent) = self.hear(connection, sound) else { return Ok(()) };
                urgent
            }
            (None, Command::StopPlayback) => match self.silence(connection) {
                Fed::Everything => return Ok(()),
                Fed::Partly => Urgent::SoundWaits,
            },
            (None, Command::PressTalkKey(key)) => {
                if self.inner.microphone.is_held_by(connection) {
                    self.inner.hearing.forget();
                }
                match self.inner.microphone.press(connection, key) {
                    Fed::Everything => return Ok(()),
                    Fed::Partly => Urgent::SoundWaits,
                }
            }
            (None, Command::AckPlayback(ack)) => {
                self.inner.speaker.ack(connection, ack);
                return Ok(());
            }
            (request, command @ Command::CancelRun { .. }) => {
                let inbound = Inbound { request, command };
                let order = self.next_order();
                Urgent::Cancel(Box::new(Submitted { connection, inbound, order, held: None }))
            }
            (request, command) => {
                let held = self.hold(payload(&command)).await?;
                let inbound = Inbound { request, command };
                let submitted = Submitted { connection, inbound, order: self.next_order(), held };
                return self.inner.commands.send(submitted).await.map_err(|_| SessionClosed);
            }
        };
        self.inner.urgent.send(urgent).await.map_err(|_| SessionClosed)
    }

    /// Passes sound straight to the live model. Returns what is left for the actor to do.
    fn hear(&self, connection: ConnectionId, sound: Recorded) -> Option<Urgent> {
        let look = self.inner.hearing.look(&sound);
        let heard = self.inner.microphone.hear(connection, sound);
        if !matches!(heard, Heard::NotHolder(_)) {
            self.inner.hearing.count(connection, look);
        }
        match heard {
            Heard::Taken => None,
            Heard::Waiting { dropped } => {
                self.inner.env.metrics.audio_dropped(dropped);
                Some(Urgent::SoundWaits)
            }
            // The former holder's departure may still be in the inbox ahead of this, so the actor checks again.
            Heard::NotHolder(sound) => {
                Some(Urgent::NotHolder { connection, sound: Box::new(sound) })
            }
        }
    }

    /// Stops playback at once, whatever the actor is doing.
    fn silence(&self, connection: ConnectionId) -> Fed {
        let holds = self.inner.microphone.is_held_by(connection);
        if holds && !self.inner.speaker.hush() {
            return Fed::Everything;
        }
        self.inner.microphone.interrupt(connection)
    }

    fn note_use(&self) {
        static USES: AtomicU64 = AtomicU64::new(0);
        self.inner.last_use.store(USES.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn last_use(&self) -> u64 {
        self.inner.last_use.load(Ordering::Relaxed)
    }

    fn is_of(&self, principal: &Principal) -> bool {
        self.inner.principal == *principal && !self.is_closed()
    }

    /// Files of the project that the session works on now.
    fn workplace(&self) -> Files {
        self.inner.workplace.borrow().clone()
    }

    fn next_order(&self) -> u64 {
        self.inner.last_order.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Waits until the memory budget has room for this many bytes.
    async fn hold(&self, bytes: usize) -> Result<Option<OwnedSemaphorePermit>, SessionClosed> {
        let Ok(bytes) = u32::try_from(bytes.min(COMMAND_BYTES)) else { return Ok(None) };
        let budget = Arc::clone(&self.inner.budget);
        tokio::select! {
            held = budget.acquire_many_owned(bytes) => Ok(held.ok()),
            () = self.inner.commands.closed() => Err(SessionClosed),
        }
    }

    fn is_closed(&self) -> bool {
        self.inner.urgent.is_closed()
    }

    /// Best effort: a session whose urgent inbox is full misses the notice.
    fn tell(&self, notice: SystemNotice) -> bool {
        self.inner.urgent.try_send(Urgent::System(notice)).is_ok()
    }

    async fn catch_up(&self, connection: ConnectionId) -> Option<LogQueue> {
        let (reply, answer) = oneshot::channel();
        self.inner.urgent.send(Urgent::CatchUp { connection, reply }).await.ok()?;
        answer.await.ok()?
    }

    /// If the urgent inbox is full, the session notices the departure at its next sweep.
    fn detach(&self, connection: ConnectionId) {
        let _ = self.inner.urgent.try_send(Urgent::Detach { connection });
    }
}

/// A command and the socket it came from.
#[derive(Debug)]
struct Submitted {
    connection: ConnectionId,
    inbound: Inbound,
    /// Rises with every command: a cancel that overtakes others must not stop what was requested after it.
    order: u64,
    held: Option<OwnedSemaphorePermit>,
}

/// Bytes that a command keeps in memory until it is settled.
fn payload(command: &Command) -> usize {
    match command {
        Command::SendFile { bytes, .. } | Command::ShowImage { bytes } => bytes.len(),
        Command::SendText { text, .. } => text.as_str().len(),
        Command::RequestRun { text, .. } => text.len(),
        Command::SendAudio(sound) => sound.pcm.len(),
        Command::ChangeSettings(changes) => changes.iter().map(|change| change.value().len()).sum(),
        Command::AddDataset(set) => set.head.len(),
        Command::ChooseDataset { name } => name.len(),
        Command::SaveControls(_)
        | Command::StopPlayback
        | Command::AckPlayback(_)
        | Command::PressTalkKey(_)
        | Command::CancelRun { .. }
        | Command::Confirm { .. }
        | Command::Compare { .. }
        | Command::ShowDiff { .. }
        | Command::ListBackups { .. }
        | Command::Choose { .. }
        | Command::ListFiles { .. }
        | Command::ShowSettings
        | Command::WatchFiles { .. } => 0,
    }
}

/// Messages that do not wait behind commands. A queue reserves the largest size for each message, so large ones are
/// boxed.
#[derive(Debug)]
enum Urgent {
    /// The live model has to be opened, or has not taken all sound yet.
    SoundWaits,
    /// Sound from a socket that did not hold the microphone when it arrived.
    NotHolder {
        connection: ConnectionId,
        sound: Box<Recorded>,
    },
    Cancel(Box<Submitted>),
    Attach {
        attach: Box<Attach>,
        reply: oneshot::Sender<Result<Attached, AttachError>>,
    },
    CatchUp {
        connection: ConnectionId,
        reply: oneshot::Sender<Option<LogQueue>>,
    },
    Detach {
        connection: ConnectionId,
    },
    System(SystemNotice),
    Settings {
        new: Box<NewSettings>,
        reply: oneshot::Sender<Result<AppliedSettings, SettingProblem>>,
    },
    /// A question or choice about agents' work that came from outside of any socket.
    Inquiry(Box<Inquiry>),
    Delete(DeletionReply),
    /// Delete the session if it is as it was made; otherwise the reply is dropped.
    DeleteUnused(DeletionReply),
}

#[derive(Debug)]
struct Attached {
    greeting: Greeting,
    start: Start,
    queues: SocketQueues,
}
