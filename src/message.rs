//! The types that dialects, sessions and readers exchange: what a client asks for (`Command`), what a channel remembers
//! (`Event`, numbered and stored) and what is sent without being stored (`Signal`). No serde, no I/O, and no imports
//! from our other modules.

mod activity;
mod agent_set;
mod answer;
mod backup;
mod caller;
mod channel;
mod choice;
mod command;
mod confirmation;
mod event;
mod file;
pub mod floor;
mod greeting;
mod notice;
mod offer;
mod order;
mod playback;
mod problem;
mod quote;
mod request;
mod run;
mod session;
mod setting;
mod settings;
mod signal;
mod slots;
mod sound;
mod typed;
mod view;
mod work;

pub use activity::{
    AgentState, Cost, PlanStep, PlanStepState, StateNote, ToolNote, ToolState, Usage,
};
pub use agent_set::AgentSet;
pub use answer::{AnswerNote, SourceNote};
pub use backup::{BackupList, BackupNote, BackupReason, RestorePoint};
pub use caller::{Caller, Callers};
pub use channel::Channel;
pub use choice::{
    Branch, ChangeStatus, Check, Choice, ChoiceKind, Chosen, ChosenOutcome, ComparisonRow,
    Conflict, DiffNote, FileChange, MOST_LEFT_OUT, Overlap, PlaceKind, RunSummary, WorkVersion,
};
pub use command::{CancelScope, CheckWish, Command, ControlValue, Controls, Route, SecondYes};
pub use confirmation::{AuditEntry, ConfirmId, Confirmation, Confirmed, DecidedBy, WarningLevel};
pub use event::{AgentReport, Entry, Event, ReportStage, Speaker};
pub use file::{
    FileList, FileNote, KnownList, ListKind, ListRoots, ListScope, ListedFile, WatchTarget,
    WatchWish,
};
pub use greeting::{Features, Greeting};
pub use notice::{Notice, SystemNotice};
pub use offer::{ModelOffer, Offered, OfferedModel, SettingsNote, SetupHint};
pub use order::{Epoch, EventTime, Order, Seq};
pub use playback::{Generation, Interruption, PlaybackAck, TalkKey, TurnTimes};
pub use problem::Problem;
pub use quote::{attached, fenced, one_line};
pub use request::{ConnectionId, Inbound, RequestNo};
pub use run::{Run, RunId, RunOrigin, RunOutcome};
pub use session::{OriginalSession, OutsideId, Principal, SentSessionId, SessionId};
pub use setting::{AUTO, RefusedSetting, Setting, SettingChange, SettingProblem};
pub use settings::{AgentSettings, AssistantName, SessionSettings, ToolChoice, WorkplaceChoice};
pub use signal::{Delivery, Signal, StopReason};
pub use slots::{AgentSlot, Slots};
pub use sound::{AudioChunk, ModelRates, Recorded, SampleRate};
pub use typed::Typed;
pub use view::{Position, View};
pub use work::{
    Artifact, ArtifactKind, CodeNote, Column, Dataset, Decision, Execution, FloorNote, NextAction,
    Output, OutputKind, Report, Section, SectionKind, Work,
};
