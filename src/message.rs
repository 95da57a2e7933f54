//! The neutral types between dialects, sessions and readers: what a client asks for (`Command`), what a channel
//! remembers (`Event`, numbered and stored) and what is not stored (`Signal`).
//! No serde, no I/O, and no imports from our other modules.

mod activity;
mod agent_set;
mod backup;
mod choice;
mod confirmation;
mod playback;
mod quote;
mod setting;
mod slots;
mod view;

pub use activity::{
    AgentState, Cost, PlanStep, PlanStepState, StateNote, ToolNote, ToolState, Usage,
};
pub use agent_set::AgentSet;
pub use backup::{BackupList, BackupNote, BackupReason, RestorePoint};
pub use choice::{
    Branch, ChangeStatus, Check, Choice, ChoiceKind, Chosen, ChosenOutcome, ComparisonRow,
    Conflict, DiffNote, FileChange, MOST_LEFT_OUT, Overlap, PlaceKind, RunSummary, WorkVersion,
};
pub use confirmation::{AuditEntry, ConfirmId, Confirmation, Confirmed, DecidedBy, WarningLevel};
pub use playback::{Generation, Interruption, PlaybackAck, TalkKey, TurnTimes};
pub use quote::{attached, fenced, one_line};
pub use setting::{
    ModelOffer, Offered, OfferedModel, SettingProblem, SettingValue, Settings, SetupHint,
};
pub use slots::Slots;
pub use view::{Position, View};

use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Identifies a session for as long as its data exists: `ws-` and at least 128 random bits in hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    const PREFIX: &str = "ws-";

    /// Makes an id from fresh random bits, which the caller provides.
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{}{bits:032x}", Self::PREFIX).into())
    }

    /// Accepts only ids in our own format, so that nobody can choose a guessable one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(Self::PREFIX)?;
        let well_formed = (32..=64).contains(&digits.len())
            && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The session id that a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionName {
    Ours(SessionId),
    Original(OriginalSession),
}

impl SessionName {
    pub fn parse(text: &str) -> Option<Self> {
        SessionId::parse(text)
            .map(Self::Ours)
            .or_else(|| OriginalSession::parse(text).map(Self::Original))
    }
}

/// A session id made by the original AIcore server: ten lower-case hex digits. It may still be in the address of a page
/// that now connects to us. It is too short to be a session id of ours, so it is only mapped to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalSession(Arc<str>);

impl OriginalSession {
    fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 10 && text.bytes().all(is_digit)).then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The user who owns a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The only user of a gateway without configured users.
    pub fn local() -> Self {
        Self::new("local")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One of the four code agents of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentSlot(u8);

impl AgentSlot {
    pub const ALL: [Self; 4] = [Self(1), Self(2), Self(3), Self(4)];

    /// Slots are numbered 1 to 4, as users see them.
    pub fn new(number: u8) -> Option<Self> {
        (1..=4).contains(&number).then_some(Self(number))
    }

    pub fn number(self) -> u8 {
        self.0
    }
}

/// One stream of a session, with its own numbered log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    Audio,
    Input,
    File,
    Chat,
    Agent(AgentSlot),
}

impl Channel {
    pub const COUNT: usize = 8;
    pub const ALL: [Self; Self::COUNT] = [
        Self::Audio,
        Self::Input,
        Self::File,
        Self::Chat,
        Self::Agent(AgentSlot::ALL[0]),
        Self::Agent(AgentSlot::ALL[1]),
        Self::Agent(AgentSlot::ALL[2]),
        Self::Agent(AgentSlot::ALL[3]),
    ];

    /// Position in [`Channel::ALL`]; also the number under which the store keeps a channel.
    pub fn index(self) -> usize {
        match self {
            Self::Audio => 0,
            Self::Input => 1,
            Self::File => 2,
            Self::Chat => 3,
            Self::Agent(slot) => 3 + usize::from(slot.number()),
        }
    }

    /// Whether the channel has a lane, where runs are queued: chat and the agents.
    pub fn runs_work(self) -> bool {
        match self {
            Self::Chat | Self::Agent(_) => true,
            Self::Audio | Self::Input | Self::File => false,
        }
    }
}

/// Identifies one history of a session. It changes when stored events may be lost, so that cursors from before are not
/// used as positions in what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(pub u64);

/// Number of an event in its channel's log; the first is 1, and 0 means "nothing seen yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(pub u64);

/// Number of an event in the session's history over all channels. It rises with each event; 0 means "nothing seen yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Order(pub u64);

/// When an event happened, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EventTime(pub i64);

impl EventTime {
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Number of a run, unique within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// The client's own id for one command, so that a resent command is carried out only once.
/// It is returned in the form it came in; 5 and "5" are the same id.
#[derive(Debug, Clone)]
pub enum RequestNo {
    Number(u64),
    Text(Arc<str>),
}

impl PartialEq for RequestNo {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for RequestNo {}

impl Hash for RequestNo {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl fmt::Display for RequestNo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => text.fmt(out),
        }
    }
}

/// One attached socket or event stream, unique within this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);

/// 16-bit little-endian mono PCM, always whole samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioChunk {
    pub rate: u32,
    pub pcm: Bytes,
}

/// Microphone audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `None`: the client sent no rate; the rate that the live model expects is assumed.
    pub rate: Option<u32>,
    pub pcm: Bytes,
}

/// A command as one client sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    pub request: Option<RequestNo>,
    pub command: Command,
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Store the state of the user's switches.
    SaveControls(Controls),
    SendText {
        route: Route,
        text: Typed,
    },
    /// Send a request to agents; the chat gets their answers.
    RequestRun {
        agents: AgentSet,
        text: String,
    },
    SendFile {
        channel: Channel,
        name: String,
        bytes: Bytes,
    },
    /// Show an image to the live model.
    ShowImage {
        bytes: Bytes,
    },
    SendAudio(Recorded),
    /// Stop playback now.
    StopPlayback,
    /// Report the playback position.
    AckPlayback(PlaybackAck),
    /// The user presses or releases the push-to-talk key.
    PressTalkKey(TalkKey),
    CancelRun {
        channel: Channel,
        scope: CancelScope,
    },
    ListFiles {
        kind: ListKind,
        scope: ListScope,
        answer_on: Channel,
        /// The list that the client already has.
        known: Option<KnownList>,
    },
    /// Answer an approval question.
    Confirm {
        id: ConfirmId,
        confirmed: Confirmed,
        /// Approve such calls of this agent without asking from now on; ignored for dangerous calls.
        always: bool,
        /// The user confirmed twice, which a dangerous call requires.
        twice: bool,
    },
    /// Compare the results of these agents.
    Compare {
        agents: AgentSet,
        check: CheckWish,
    },
    /// Show what an agent has changed.
    ShowDiff {
        agent: AgentSlot,
        path: Option<String>,
    },
    /// List the backups that can be restored on this agent's channel, or all.
    ListBackups {
        agent: Option<AgentSlot>,
    },
    /// Accept, discard or restore an agent's work.
    Choose {
        agent: AgentSlot,
        choice: Choice,
    },
    /// Start or stop sending file lists whenever they change.
    WatchFiles {
        target: WatchTarget,
        wish: WatchWish,
    },
}

/// Text that a user typed and sent over a socket. Only typed text can answer approval questions or decide about
/// results. Attachments, output of agents and tools, words of a model, and calls from outside never can. So only a
/// dialect creates it, from what it reads on a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed(String);

impl Typed {
    pub fn on_socket(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// From here on an ordinary text, which can no longer answer questions.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Who answers a text, and where the text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Chat,
    Live {
        echo: Option<Channel>,
    },
    /// Typed in the agent's own pane.
    Agent(AgentSlot),
    /// Typed in the chat pane, for agents: each gets a request, and its answer is shown in the chat.
    AgentsFromChat(AgentSet),
}

/// Whether a comparison waits for the operator's check command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckWish {
    Run,
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelScope {
    /// The run that is active now.
    Current,
    One(RunId),
    /// The active run and the whole queue behind it.
    All,
}

/// Switches that the frontend wants to find again after a reload; the session does not interpret them.
pub type Controls = BTreeMap<String, ControlValue>;

#[derive(Debug, Clone, PartialEq)]
pub enum ControlValue {
    Flag(bool),
    Number(f64),
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Files of the project, with the last file backup.
    Backup,
    /// Recent uploads and results.
    Temp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListScope {
    /// Only uploads and results of the last hour; the project's list is always complete.
    Usual,
    All,
}

/// Describes the list that a client already has, by its newest time and its length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownList {
    pub newest: Option<String>,
    pub count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchTarget {
    One(ListKind),
    Every,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchWish {
    Start,
    Stop,
}

/// A file list as shown to people: local times, forward slashes, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    pub roots: ListRoots,
    /// Newest time in the list, or time of the last backup; `None` if there is neither.
    pub newest: Option<String>,
    pub files: Vec<ListedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListRoots {
    Backup { project: String, backup: String },
    Temp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    pub path: String,
    /// Shared by files with the same time, because many files often have the same second.
    pub modified: Arc<str>,
}

/// One piece of work on a channel, as it was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub channel: Channel,
    pub origin: RunOrigin,
    pub text: String,
    /// Files that the user sent shortly before, with the paths that clients show.
    pub attachments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOrigin {
    /// Typed in the channel's own pane.
    Pane,
    /// Requested from another channel: start and end are reported, and the chat gets the answer.
    Request,
}

/// One stored event of one channel. Only a session creates entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub channel: Channel,
    pub seq: Seq,
    pub order: Order,
    pub at: EventTime,
    pub event: Event,
}

/// What a channel remembers. Each event is one numbered packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    UserText {
        text: String,
        attachments: Vec<String>,
    },
    UserRequest {
        text: String,
        attachments: Vec<String>,
    },
    UserFile(FileNote),
    /// An answer, or a part of a very long one.
    Text {
        text: String,
        /// The run that gave the answer; `None` for a live model.
        run: Option<RunId>,
    },
    RunStarted(RunId),
    RunLine(String),
    /// The current state of a tool call.
    Tool(ToolNote),
    /// All steps of an agent's plan, as they are now.
    Plan(Vec<PlanStep>),
    /// An agent waits for approval.
    ConfirmAsked(Confirmation),
    /// The approval question is answered or has lapsed.
    ConfirmSettled {
        id: ConfirmId,
        agent: AgentSlot,
        number: u32,
        confirmed: Confirmed,
        by: DecidedBy,
    },
    RunEnded(RunOutcome),
    RunSummed(RunSummary),
    /// An agent's work was accepted, discarded or restored, or the attempt failed.
    Chosen(Chosen),
    FileMade(FileNote),
    /// An agent's answer, shown in the chat where the request was typed.
    RequestAnswered {
        text: String,
        /// `None`: stored by an earlier version, which did not record the agent.
        by: Option<AgentSlot>,
    },
    /// Files that changed during a run, whoever changed them. `by` names the agent of the run where the channel does
    /// not.
    FilesChanged {
        paths: Vec<String>,
        by: Option<AgentSlot>,
        /// The agent in whose own copy of the project the files are; `None`: in the project itself.
        copy_of: Option<AgentSlot>,
    },
    /// Spoken words, in the order in which they were said.
    Transcript {
        speaker: Speaker,
        text: String,
        /// Set if the user interrupted the model; the text is what the user heard of it.
        interrupted: Option<Interruption>,
    },
    /// A cancel was received; what it stopped follows.
    CancelTaken,
    AgentReport(AgentReport),
    Notice(Notice),
    /// A list is state, not history. The store keeps only that a list was shown (`None`), and a replay shows the
    /// current list.
    Files {
        kind: ListKind,
        list: Option<Arc<FileList>>,
    },
}

impl Event {
    /// Whether the event matters only at the moment it happens. News is numbered and stored like every event, so that a
    /// reader which resumes after a short absence gets it. A replay of the whole history leaves it out.
    pub fn is_news(&self, channel: Channel) -> bool {
        match self {
            // Existing clients open a dialog for `FilesChanged`; `AgentReport` makes a live model speak now.
            Self::FilesChanged { .. } | Self::AgentReport(_) => true,
            // On the input channel a file is only announced for a live model; the event that counts is on the run's
            // channel.
            Self::FileMade(_) => channel == Channel::Input,
            Self::UserText { .. }
            | Self::UserRequest { .. }
            | Self::UserFile(_)
            | Self::Text { .. }
            | Self::RunStarted(_)
            | Self::RunLine(_)
            | Self::Tool(_)
            | Self::Plan(_)
            | Self::ConfirmAsked(_)
            | Self::ConfirmSettled { .. }
            | Self::RunEnded(_)
            | Self::RunSummed(_)
            | Self::Chosen(_)
            | Self::RequestAnswered { .. }
            | Self::Transcript { .. }
            | Self::CancelTaken
            | Self::Notice(_)
            | Self::Files { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNote {
    pub name: String,
    /// Path by which clients request the content; `None` if nothing was stored.
    pub path: Option<String>,
    /// PNG data.
    pub thumbnail: Option<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    Finished,
    Cancelled,
    Failed,
    /// The gateway's process ended during the run.
    Interrupted,
}

impl RunOutcome {
    pub const ALL: [Self; 4] = [Self::Finished, Self::Cancelled, Self::Failed, Self::Interrupted];

    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Model,
}

/// Progress of a request, for the input channel and for a connected live model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReport {
    pub agent: AgentSlot,
    pub stage: ReportStage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportStage {
    Started { request: String },
    Finished { request: String, answer: String },
    Stopped,
}

/// A message of the gateway itself, phrased in the reader's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// `place` is the position in the queue; 1 is next.
    Queued {
        run: RunId,
        place: usize,
    },
    QueuedCancelled {
        run: RunId,
    },
    NothingToCancel,
    RunCancelled {
        run: RunId,
    },
    RunFailed {
        run: RunId,
        reason: String,
    },
    RunInterrupted {
        run: RunId,
        request: String,
    },
    /// The session's project is no longer configured. Queued runs are dropped, because they must not run in another
    /// one.
    ProjectGone {
        project: String,
    },
    LiveDown {
        reason: String,
    },
    /// Another live model took over.
    LiveReplaced {
        model: String,
        reason: String,
    },
    /// The user said yes or no in words, but several questions are open and the text names none of them.
    WhichQuestion {
        open: Vec<u32>,
    },
    /// A run changed this many files in the agent's own copy of the project.
    InCopy {
        agent: AgentSlot,
        files: usize,
    },
    /// The user asked in words to accept, discard or restore an agent's work, but that is not possible.
    NotChosen {
        reason: String,
    },
    /// The call is dangerous, so it needs a second yes.
    ConfirmAgain {
        number: u32,
    },
    /// A text was taken as a request although this agent still waits for answers to these questions.
    StillOpen {
        agent: AgentSlot,
        open: Vec<u32>,
    },
    /// The agent now works in the shared project; the changed files in its earlier workplace are kept.
    WorkKept {
        agent: AgentSlot,
        files: usize,
    },
    /// The agent's own copy of the project was made without these paths.
    CopyLacks {
        agent: AgentSlot,
        paths: Vec<String>,
    },
    /// The answer was cut off at the model's output limit.
    AnswerCut {
        run: RunId,
    },
}

/// What is not stored: neither numbered nor replayed.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    Audio {
        generation: Generation,
        chunk: AudioChunk,
    },
    /// Stop playback: the user started to speak, another socket took over, or the model is gone.
    StopPlayback {
        /// Stop this reply and all before it. `None`: stop everything that is buffered now; later audio of the same
        /// reply may still be for this socket.
        generation: Option<Generation>,
        reason: StopReason,
    },
    /// Latencies of the last spoken exchange.
    TurnTimes(TurnTimes),
    Heartbeat {
        count: u64,
        uptime_seconds: f64,
    },
    Ack {
        request: RequestNo,
        repeated: bool,
    },
    Failed {
        problem: Problem,
        request: Option<RequestNo>,
    },
    /// The answer to a list request: the client already has the current list.
    FilesUnchanged {
        kind: ListKind,
        channel: Channel,
        list: KnownList,
    },
    System(SystemNotice),
    /// The next piece of a streamed answer; an event with the whole answer follows at the end.
    AnswerPart {
        channel: Channel,
        run: RunId,
        text: String,
    },
    /// The next lines of an agent's answer, for clients that do not support `AnswerPart`.
    AnswerLines {
        channel: Channel,
        text: String,
    },
    /// A comparison of agents. It is sent to the chat, because users decide there.
    Compared {
        rows: Arc<[ComparisonRow]>,
    },
    Diff(Arc<DiffNote>),
    Backups(Arc<BackupList>),
    /// What an agent is doing now.
    State {
        agent: AgentSlot,
        note: StateNote,
    },
    /// Tokens and cost that an agent reports during a run.
    Usage {
        agent: AgentSlot,
        run: RunId,
        usage: Usage,
    },
}

/// Optional features that a client says it supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// Streamed answers.
    pub stream: bool,
    /// Approval questions as structured data; other clients get plain text.
    pub confirm: bool,
    /// Agent activity and results as structured data; other clients get lines of text.
    pub agents: bool,
    /// Numbered replies in audio, and acknowledging the playback position.
    pub playback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    UserSpeaks,
    AnotherSocket,
    /// Another model was chosen, or no model is left.
    ModelLeaves,
}

/// The only message that is sent to every session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemNotice {
    Say(Arc<str>),
    ShuttingDown,
}

/// Why a valid command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{waiting} requests wait on this channel already; cancel one or try again later")]
    QueueFull { waiting: usize },
    #[error("this socket only reads; connect without the view flag to send")]
    ReadOnly,
    #[error("another socket holds the microphone")]
    NotHolder,
    #[error("the file was not stored: {reason}")]
    FileRefused { reason: String },
    #[error("the list could not be made: {reason}")]
    ListFailed { reason: String },
    #[error("at most {limit} switches are remembered")]
    TooManyControls { limit: usize },
    #[error("storage does not answer ({reason}); nothing is lost, waiting for it")]
    StoreStalled { reason: String },
    #[error(
        "nothing waits for this answer: it was given before, came too late, or its run has ended"
    )]
    NothingToConfirm,
    #[error("this call is dangerous and was not allowed yet: it takes a second confirmation")]
    ConfirmTwice,
    #[error("this is not possible with this agent's work: {reason}")]
    NoChoice { reason: String },
    #[error("the command was not carried out ({reason}); send it again")]
    NotCarriedOut { reason: String },
    #[error("this session was deleted; connect without its id to start a new one")]
    SessionDeleted,
    #[error(
        "the database is damaged, so nothing can be read or stored; the operator learns from `kakehashi doctor` what to do"
    )]
    StorageDamaged,
}

impl Problem {
    /// For programs; people get the text.
    pub fn code(&self) -> &'static str {
        match self {
            Self::QueueFull { .. } => "queue_full",
            Self::ReadOnly => "read_only",
            Self::NotHolder => "not_holder",
            Self::FileRefused { .. } => "file_refused",
            Self::ListFailed { .. } => "list_failed",
            Self::TooManyControls { .. } => "too_many_controls",
            Self::StoreStalled { .. } => "store_stalled",
            Self::NothingToConfirm => "nothing_to_confirm",
            Self::ConfirmTwice => "confirm_twice",
            Self::NoChoice { .. } => "no_choice",
            Self::NotCarriedOut { .. } => "not_carried_out",
            Self::SessionDeleted => "session_deleted",
            Self::StorageDamaged => "storage_damaged",
        }
    }
}

/// What an encoder needs to greet a newly attached reader.
#[derive(Debug, Clone)]
pub struct Greeting {
    pub session: SessionId,
    pub view: View,
    pub epoch: Epoch,
    /// Whether the replay continues at the client's cursor. Otherwise it covers the history from the beginning, or as
    /// much as the client asked for.
    pub resumed: bool,
    /// Whether this is the first socket that sees the input channel since the session was loaded.
    pub first_input: bool,
    pub controls: Controls,
    pub settings: Arc<Settings>,
    pub project: Arc<str>,
    /// The project's description of itself.
    pub overview: Option<String>,
    /// Only for the chat.
    pub setup: Option<SetupHint>,
}

/// What a reader passes to its socket, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    Logged(Arc<Entry>),
    Passing(Signal),
}
