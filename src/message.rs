//! The neutral vocabulary between dialects, sessions and readers: what a client asks (`Command`), what a
//! channel remembers (`Event`, one numbered packet each) and what merely passes by (`Signal`).
//! No serde, no I/O, nothing else of ours.

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
    Conflict, DiffNote, FileChange, MOST_LEFT_OUT, Overlap, PlaceKind, RunSummary,
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

/// Names one session for as long as its data exists: `ws-` and at least 128 random bits in hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    const PREFIX: &str = "ws-";

    /// Makes an id out of fresh random bits; the caller owns the source of randomness.
    pub fn from_random(bits: u128) -> Self {
        Self(format!("{}{bits:032x}", Self::PREFIX).into())
    }

    /// Accepts only ids that we could have made ourselves, so that nobody can choose a guessable one.
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

/// How a client names a session.
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

/// An id that the original of the packet dialect has made: ten lower-case hex digits. It may stand in the address of a
/// page that now comes to us. Too short to be one of ours, so it only stands for one.
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

/// The person a session belongs to.
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

    /// Slots count from 1 to 4, as on every screen.
    pub fn new(number: u8) -> Option<Self> {
        (1..=4).contains(&number).then_some(Self(number))
    }

    pub fn number(self) -> u8 {
        self.0
    }
}

/// One lane of a session, with its own numbered log.
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

    /// Where requests run one after the other: chat and the agents.
    pub fn runs_work(self) -> bool {
        match self {
            Self::Chat | Self::Agent(_) => true,
            Self::Audio | Self::Input | Self::File => false,
        }
    }
}

/// Changes whenever a cursor handed out earlier could lie beyond what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(pub u64);

/// Position in a channel's log; the first event is 1, so 0 means "nothing seen yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(pub u64);

/// Position in the session's history over all channels; rises with each event, and 0 means "nothing seen yet".
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

/// One piece of work on a channel, unique within its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// The client's own name for one command, so that it is carried out once however often it is sent.
/// It goes back to the client in the form it came in; 5 and "5" name the same command.
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

/// One WebSocket, unique within this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);

/// 16-bit little-endian mono samples, always a whole number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioChunk {
    pub rate: u32,
    pub pcm: Bytes,
}

/// Sound as it came from a microphone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `None`: what the live model expects, as clients without a word about it do.
    pub rate: Option<u32>,
    pub pcm: Bytes,
}

/// A command as it came from one client.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    pub request: Option<RequestNo>,
    pub command: Command,
}

/// What a client asks of its session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Remember the state of the user's switches.
    SaveControls(Controls),
    SendText {
        route: Route,
        text: Typed,
    },
    /// Ask agents for work and tell the chat when it is done.
    RequestRun {
        agents: AgentSet,
        text: String,
    },
    SendFile {
        channel: Channel,
        name: String,
        bytes: Bytes,
    },
    /// Show a picture to the live model.
    ShowImage {
        bytes: Bytes,
    },
    SendAudio(Recorded),
    /// The user wants silence now.
    StopPlayback,
    /// How far the user has heard.
    AckPlayback(PlaybackAck),
    /// The user begins or ends to speak by a key.
    PressTalkKey(TalkKey),
    CancelRun {
        channel: Channel,
        scope: CancelScope,
    },
    ListFiles {
        kind: ListKind,
        scope: ListScope,
        answer_on: Channel,
        /// What the client has already.
        known: Option<KnownList>,
    },
    /// Answer a question about a tool call.
    Confirm {
        id: ConfirmId,
        confirmed: Confirmed,
        /// Do not ask about this tool again in this session.
        always: bool,
        /// The user was asked twice, which a dangerous call needs.
        twice: bool,
    },
    /// Tell how the work of these agents compares.
    Compare {
        agents: AgentSet,
        check: CheckWish,
    },
    /// Tell what an agent has changed.
    ShowDiff {
        agent: AgentSlot,
        path: Option<String>,
    },
    /// Tell what can be brought back: on this agent's channel, or all of it.
    ListBackups {
        agent: Option<AgentSlot>,
    },
    /// Decide what becomes of an agent's work.
    Choose {
        agent: AgentSlot,
        choice: Choice,
    },
    /// Show lists whenever they change, or no longer.
    WatchFiles {
        target: WatchTarget,
        wish: WatchWish,
    },
}

/// Words that a user has typed, as they came over a socket of that user. Only these answer questions and decide about
/// results: never an attachment, the output of an agent or a tool, what a model said or wants, or a call from outside.
/// So only a dialect makes them, from what it reads on a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed(String);

impl Typed {
    pub fn on_socket(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text like any other from here on.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Who answers a text, and where the text itself is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Chat,
    Live {
        echo: Option<Channel>,
    },
    /// Typed in the agent's own pane.
    Agent(AgentSlot),
    /// Typed in the chat pane for agents: a request to each, whose answers are told in the chat.
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
    /// Whatever runs at this moment.
    Current,
    One(RunId),
    /// The running one and everything that waits behind it.
    All,
}

/// Opaque to the session: what the frontend wants to find again after a reload.
pub type Controls = BTreeMap<String, ControlValue>;

#[derive(Debug, Clone, PartialEq)]
pub enum ControlValue {
    Flag(bool),
    Number(f64),
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// The project and its last backup.
    Backup,
    /// Recent uploads and results.
    Temp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListScope {
    /// Of uploads and results those of the last hour.
    Usual,
    All,
}

/// How a client names a list that it has.
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
    /// Newest time in the list, or the last backup's; `None` if there is none.
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
    /// Shared by files of the same second, of which there are often many.
    pub modified: Arc<str>,
}

/// One piece of work on a channel, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub channel: Channel,
    pub origin: RunOrigin,
    pub text: String,
    /// Files the user sent shortly before, as shown to clients.
    pub attachments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOrigin {
    /// Typed in the channel's own pane.
    Pane,
    /// Asked for from elsewhere: start and end are reported, and the chat gets the answer.
    Request,
}

/// One remembered event of one channel. Only a session makes these, so no event is without a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub channel: Channel,
    pub seq: Seq,
    pub order: Order,
    pub at: EventTime,
    pub event: Event,
}

/// What a channel remembers. Each is one numbered packet; none is split over two.
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
        /// The run that answers; a live model has none.
        run: Option<RunId>,
    },
    RunStarted(RunId),
    RunLine(String),
    /// A tool call as it is now.
    Tool(ToolNote),
    /// All steps of an agent's plan as it is now.
    Plan(Vec<PlanStep>),
    /// An agent waits for the user.
    ConfirmAsked(Confirmation),
    /// It waits no longer.
    ConfirmSettled {
        id: ConfirmId,
        agent: AgentSlot,
        number: u32,
        confirmed: Confirmed,
        by: DecidedBy,
    },
    RunEnded(RunOutcome),
    RunSummed(RunSummary),
    /// What has become of an agent's work.
    Chosen(Chosen),
    FileMade(FileNote),
    /// An agent's answer, told where the request was typed.
    RequestAnswered {
        text: String,
        /// `None`: an earlier version did not note it.
        by: Option<AgentSlot>,
    },
    /// During a run, whoever did it; `by` says whose run it was where that is not seen from the channel.
    FilesChanged {
        paths: Vec<String>,
        by: Option<AgentSlot>,
        /// The agent in whose own copy of the project they are; `None`: in the project itself.
        copy_of: Option<AgentSlot>,
    },
    /// What was said, in the order in which it was said.
    Transcript {
        speaker: Speaker,
        text: String,
        /// The model was interrupted; the text is what was heard of it.
        interrupted: Option<Interruption>,
    },
    /// A cancel was taken; what it stopped follows.
    CancelTaken,
    AgentReport(AgentReport),
    Notice(Notice),
    /// A list is state, not history: the store keeps only that it was shown (`None`), and a replay shows the
    /// list as it is then.
    Files {
        kind: ListKind,
        list: Option<Arc<FileList>>,
    },
}

impl Event {
    /// Whether it tells somebody who is there what has just happened, and nothing to somebody who comes later. News is
    /// numbered and stored like everything else, so that a reader that was away for a moment gets it; a replay of the
    /// whole history leaves it out.
    pub fn is_news(&self, channel: Channel) -> bool {
        match self {
            // Existing clients open a dialog for the first; the second asks a model to say something now.
            Self::FilesChanged { .. } | Self::AgentReport(_) => true,
            // Announced there for a model; the file itself belongs to the channel of its run.
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
    /// Where clients ask for the content; `None` if nothing was stored.
    pub path: Option<String>,
    /// PNG.
    pub thumbnail: Option<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    Finished,
    Cancelled,
    Failed,
    /// Cut off by the end of the gateway's process.
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

/// Tells the input channel (and a live model that is listening) how a request fares.
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

/// What the gateway itself has to say in a channel, worded in the reader's language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Place 1 is the next to start.
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
    /// What waited for the session's project is not carried out in another.
    ProjectGone {
        project: String,
    },
    LiveDown {
        reason: String,
    },
    /// Another live model goes on.
    LiveReplaced {
        model: String,
        reason: String,
    },
    /// A yes or no in words, while it does not say which of these questions it answers.
    WhichQuestion {
        open: Vec<u32>,
    },
    /// A run has changed so many files in the agent's own copy of the project.
    InCopy {
        agent: AgentSlot,
        files: usize,
    },
    /// What a user wanted in words to become of an agent's work is not possible.
    NotChosen {
        reason: String,
    },
    /// What was asked is dangerous, and is allowed only by a second yes.
    ConfirmAgain {
        number: u32,
    },
    /// A text was taken as a request while this agent waits for an answer to these questions.
    StillOpen {
        agent: AgentSlot,
        open: Vec<u32>,
    },
    /// An agent works in the project now; what it changed in a copy of its own before is still there.
    WorkKept {
        agent: AgentSlot,
        files: usize,
    },
    /// An agent's own copy of the project was made without these.
    CopyLacks {
        agent: AgentSlot,
        paths: Vec<String>,
    },
    /// The model had no room for the rest of its answer.
    AnswerCut {
        run: RunId,
    },
}

/// What passes by: not numbered, not stored, not replayed.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    Audio {
        generation: Generation,
        chunk: AudioChunk,
    },
    /// The user started to speak, or another socket took over: stop what is playing.
    StopPlayback {
        /// `None`: whatever it has; the sound of another moment may be for this socket again.
        generation: Option<Generation>,
        reason: StopReason,
    },
    /// How long the last spoken exchange took.
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
    /// The list that was asked for is the one that the client has.
    FilesUnchanged {
        kind: ListKind,
        channel: Channel,
        list: KnownList,
    },
    System(SystemNotice),
    /// The next piece of an answer on its way; the whole of it is an event at the end.
    AnswerPart {
        channel: Channel,
        run: RunId,
        text: String,
    },
    /// The same for who does not ask for pieces: the next lines of an agent's answer.
    AnswerLines {
        channel: Channel,
        text: String,
    },
    /// How agents compare; told in the chat, where one chooses.
    Compared {
        rows: Arc<[ComparisonRow]>,
    },
    Diff(Arc<DiffNote>),
    Backups(Arc<BackupList>),
    /// What an agent does now.
    State {
        agent: AgentSlot,
        note: StateNote,
    },
    /// What an agent's run has used so far.
    Usage {
        agent: AgentSlot,
        run: RunId,
        usage: Usage,
    },
}

/// What a client says it can show besides what every client can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// Answers while they are made.
    pub stream: bool,
    /// Questions about tool calls as such; others are asked in plain text.
    pub confirm: bool,
    /// What agents do and what has become of it, as such; others are told in lines.
    pub agents: bool,
    /// Generations of sound, and telling what was played.
    pub playback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    UserSpeaks,
    AnotherSocket,
    /// Another model was chosen, or none is left.
    ModelLeaves,
}

/// The only thing that reaches every session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemNotice {
    Say(Arc<str>),
    ShuttingDown,
}

/// A client's command that was understood but not carried out.
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
    /// A word for programs; people get the text.
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

/// What a newly attached reader needs for its greeting.
#[derive(Debug, Clone)]
pub struct Greeting {
    pub session: SessionId,
    pub view: View,
    pub epoch: Epoch,
    /// Everything since the client's cursor follows; otherwise the history from its beginning (or as much as was asked).
    pub resumed: bool,
    /// First input socket since the session came to life.
    pub first_input: bool,
    pub controls: Controls,
    pub settings: Arc<Settings>,
    pub project: Arc<str>,
    /// What the project says about itself.
    pub overview: Option<String>,
    /// For the chat alone.
    pub setup: Option<SetupHint>,
}

/// What a reader hands to its socket, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    Logged(Arc<Entry>),
    Passing(Signal),
}
