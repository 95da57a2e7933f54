//! The contract between the conversation and a vendor's protocol: requests and frames in, effects out. Pure: a protocol
//! has no sockets and plays no sound.

use crate::provider::live::LiveOutput;
pub(super) use crate::provider::live::Said;
use crate::provider::row::{LiveModel, TurnRules};
use bytes::Bytes;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// What a protocol is built from.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) model: Arc<LiveModel>,
    pub(super) instructions: String,
    pub(super) tools: Vec<Tool>,
    pub(super) rules: Arc<TurnRules>,
}

impl Setup {
    /// A sentence for the model about the configured language.
    pub(super) fn language(&self) -> Option<String> {
        let language = self.model.language.as_deref()?;
        Some(format!("The language of this conversation is {language}."))
    }
}

/// A tool that is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    /// JSON schema of its arguments.
    pub(super) parameters: serde_json::Value,
}

/// What a vendor can do, given the rules of turn taking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) input_rate: u32,
    pub(super) output_rate: u32,
    /// A reply can be cancelled.
    pub(super) cancel: bool,
    /// The vendor can be told how much of a reply was heard.
    pub(super) truncate: bool,
    pub(super) images: bool,
    /// It reports when the user begins and stops to speak.
    pub(super) hears_speech: bool,
    /// It interrupts its reply by itself at any sound of the user.
    pub(super) interrupts_itself: bool,
    /// It replies by itself, without being asked for a reply.
    pub(super) replies_unasked: bool,
    /// It goes on speaking while a tool runs, and may say nothing about the result.
    pub(super) works_aside: bool,
    /// It can transcribe sound without answering it.
    pub(super) hears_aside: bool,
    /// Its voice detection can be switched off within a connection.
    pub(super) yields_turns: bool,
    pub(super) resume: Resume,
    /// A connection is renewed at the next pause after this long...
    pub(super) renew_after: Option<Duration>,
    /// ...and in any case after this.
    pub(super) longest: Option<Duration>,
}

/// How a new connection goes on with the conversation of an old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// By replaying the history.
    Replay,
    /// By a handle of the vendor, who keeps the session.
    Handle,
}

/// Where and how a WebSocket is opened.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) url: String,
    /// Contain secrets; never logged.
    pub(super) headers: Vec<(&'static str, String)>,
}

/// What the conversation asks of the vendor.
#[derive(Debug)]
pub(super) enum Request {
    /// PCM16 at the vendor's input rate.
    Hear(Bytes),
    /// The microphone is off.
    HearNothing,
    /// The user begins or stops to speak, by the talk key or by our own voice detection.
    SpeechBegins,
    SpeechEnds,
    /// Answer what was said. Vendors that reply by themselves need it only if they were given nothing since.
    Reply,
    /// The answer is overdue: ask for it explicitly, even if something was heard since.
    Insist,
    Read(String),
    /// Tell the user this, in the model's own words.
    Report(String),
    /// A JPEG.
    See(Bytes),
    /// Stop the current reply, if any.
    Cancel,
    /// How much of this reply was heard; `Duration::ZERO` means nothing.
    Heard {
        reply: String,
        played: Duration,
    },
    ToolResult {
        id: String,
        outcome: Result<String, String>,
    },
}

/// What a frame or a request leads to, in order.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    /// A JSON text for the vendor.
    Send(String),
    /// The connection can be used.
    Ready,
    /// The vendor heard the user begin to speak; `utterance` is its id of what follows.
    SpeechBegan {
        utterance: String,
    },
    SpeechEnded {
        utterance: String,
    },
    /// Transcription of the user; may come late, and in pieces (`last`: the final, whole text replaces the pieces).
    UserSaid {
        utterance: String,
        text: String,
        last: bool,
    },
    /// `reply` is the vendor's id of a reply, as [`Request::Heard`] needs it.
    ReplyBegan {
        reply: String,
    },
    Sound {
        reply: String,
        pcm: Bytes,
    },
    ReplySaid {
        reply: String,
        text: String,
    },
    /// All of its sound has come.
    ReplyMade {
        reply: String,
    },
    /// It is over; only text may still follow.
    ReplyEnded {
        reply: String,
        end: ReplyEnd,
    },
    /// The vendor has stopped the reply by itself because the user spoke.
    Interrupted,
    /// An output for the session (tool calls, usage, texts).
    Tell(LiveOutput),
    /// A new connection can resume with this handle; `None`: not at the moment.
    Handle(Option<String>),
    /// The vendor will close the connection in this time.
    GoAway {
        left: Duration,
    },
    /// Rate limit: used up for this long.
    Limited {
        reset: Duration,
    },
    /// Harmless; for the log.
    Remark(String),
    Failed {
        reason: String,
        recovery: Recovery,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplyEnd {
    Complete,
    Cancelled,
    /// With the vendor's reason.
    Failed(String),
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovery {
    /// Reconnect and go on.
    Retry,
    /// Reconnect without the resume handle.
    StartOver,
    /// The model refuses this conversation, but may work for others: take the next model.
    Unfit,
    /// The model works for nobody until somebody does something (key, quota, unknown model): take the next model.
    GiveUp,
}

/// Whether a lost connection concerns all conversations with the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// This conversation may have caused it.
    Conversation,
    /// It would have happened to every conversation.
    Vendor,
}

pub(super) trait Protocol: Send + Debug {
    fn capabilities(&self) -> Capabilities;
    fn address(&self) -> Address;
    /// The first frames of a new connection. State of the old connection is forgotten. Without a handle the vendor is told
    /// what was said.
    fn open(&mut self, handle: Option<&str>, said: &[Said]) -> Vec<Effect>;
    /// The rules change from the next connection on.
    fn set_rules(&mut self, rules: Arc<TurnRules>);
    fn request(&mut self, request: Request) -> Vec<Effect>;
    /// A text or binary frame of the vendor.
    fn frame(&mut self, frame: &[u8]) -> Vec<Effect>;
    /// How many things are kept in memory.
    #[cfg(test)]
    fn size(&self) -> usize;
    /// The vendor has closed the connection.
    fn closed(&mut self, code: Option<u16>, reason: &str) -> Recovery;
}
