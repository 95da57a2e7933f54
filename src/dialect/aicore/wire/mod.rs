//! The wire format of the AIcore dialect: all Japanese keys, values and paths, and the structs made of them.
//! Only this directory and `client/wire.rs` contain Japanese; the rest of the dialect uses these names.
#![expect(clippy::non_ascii_literal, reason = "wire keys of the packet dialect")]

mod activity;
mod command;
mod connect;
pub(super) mod field;
mod file;
mod http;
pub(super) mod key;
mod line;
mod ordered;
mod packet;
pub(super) mod path;
mod question;
mod result;
mod setting;
mod sound;

pub(super) use activity::{CostBody, PlanBody, PlanRow, StateBody, ToolBody, UsageBody};
pub(super) use command::{
    AcceptBody, AckBody, CommandPacket, CompareBody, ConfirmBody, DiffRequestBody, ListBody,
    OperationsBody, RestoreBody, TalkKeyBody, TalkKeyState, WatchBody,
};
pub(super) use connect::{ConnectPacket, DEFAULT_CONTROLS, FEATURES, InitBody, InitPacket};
pub(super) use file::{BackupBody, ChangedBody, FileRow, Rows, TempBody, UnchangedBody};
pub(super) use http::{
    ContentData, FIRST_PAGE, LoginData, ModelsData, OfferData, RestartData, ServerState,
    ServerStateBody, SessionData, SessionRow, SessionsData, UserData,
};
pub(super) use line::{
    CANCEL_TAKEN, STREAM_CANCELLED, STREAM_FAILED, STREAM_FINISHED, STREAM_STARTED,
};
pub(super) use ordered::OrderedMap;
pub(super) use packet::{AckPacket, Body, ConnectionPacket, HeartbeatBody, Packet};
pub(super) use question::{AskedBody, SettledBody, WarningBody};
pub(super) use result::{
    BackupRow, BackupsBody, ChangeRow, CheckRow, ChosenBody, ComparedBody, ComparedRow,
    ConflictRow, DiffBody, OverlapRow, SummaryBody,
};
pub use setting::UNSTATED_RATE;
pub(super) use setting::{AGENT_NAMES, CHAT_NAMES, KEYS, Key, LIVE_NAMES, SCRIPTED};
pub(super) use sound::{
    AUDIO_SUFFIX, LONGEST_AUDIO_SUFFIX, TimesBody, audio_prefix, push_audio_suffix,
};

/// Path of the WebSocket.
pub const SOCKET_PATH: &str = "/core/ws/AIコア";
