//! What the conversation needs of a vendor's protocol. Pure: no sockets, no clock of its own; bytes in, deeds out.

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
    /// What a model is told of the language, if there is one to be told of.
    pub(super) fn language(&self) -> Option<String> {
        let language = self.model.language.as_deref()?;
        Some(format!("The language of this conversation is {language}."))
    }
}

/// Something that the model may want done.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: String,
    /// JSON schema of its arguments.
    pub(super) parameters: serde_json::Value,
}

/// What a vendor can do, under the rules by which turns are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) input_rate: u32,
    pub(super) output_rate: u32,
    /// A reply can be stopped at the vendor.
    pub(super) cancel: bool,
    /// The vendor can be told how much of a reply was heard.
    pub(super) truncate: bool,
    pub(super) images: bool,
    /// It tells when the user begins and ends to speak.
    pub(super) hears_speech: bool,
    /// It falls silent by itself as soon as it hears anybody.
    pub(super) interrupts_itself: bool,
    /// It speaks when it has something to say, and not when it is asked to.
    pub(super) replies_unasked: bool,
    /// It goes on speaking while a tool works, and may say nothing to what came of it.
    pub(super) works_aside: bool,
    /// It can be given something to hear that it does not answer.
    pub(super) hears_aside: bool,
    /// Who tells that the user speaks can be changed within a connection.
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
    /// Only by telling it what was said.
    Replay,
    /// By a handle of the vendor.
    Handle,
}

/// Where and how a WebSocket is opened.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) url: String,
    /// Secrets among them; never shown.
    pub(super) headers: Vec<(&'static str, String)>,
}

/// What the conversation wants of the vendor.
#[derive(Debug)]
pub(super) enum Wish {
    /// PCM16 at the vendor's input rate.
    Hear(Bytes),
    /// The microphone pauses for long.
    HearNothing,
    /// The user began / stopped to speak, by key or by our own gate (only where turns are ours to tell).
    SpeechBegins,
    SpeechEnds,
    /// Answer what was said: only with vendors whose replies are asked for.
    Reply,
    /// The answer is long due: ask for it in so many words, whatever was heard since.
    Insist,
    Read(String),
    /// Say this in your own words.
    Report(String),
    /// A JPEG.
    See(Bytes),
    /// Stop the reply that is being made, if any.
    Cancel,
    /// So much of this reply was heard; `Duration::ZERO` means nothing at all.
    Heard {
        reply: String,
        played: Duration,
    },
    ToolResult {
        id: String,
        outcome: Result<String, String>,
    },
}

/// What a frame or a wish leads to, in order.
#[derive(Debug, PartialEq)]
pub(super) enum Deed {
    /// A JSON text for the vendor.
    Send(String),
    /// The connection can be used.
    Ready,
    /// The vendor heard the user begin to speak; `utterance` is its name for what follows.
    SpeechBegan {
        utterance: String,
    },
    SpeechEnded {
        utterance: String,
    },
    /// The vendor says what the user said; may come late, and in pieces (`last`: the final, whole text replaces the pieces).
    UserSaid {
        utterance: String,
        text: String,
        last: bool,
    },
    /// `reply` is the vendor's name for a reply (what [`Wish::Heard`] needs).
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
    /// No more sound of it.
    ReplyMade {
        reply: String,
    },
    /// No more sound or text of it.
    ReplyEnded {
        reply: String,
        end: ReplyEnd,
    },
    /// The vendor has cut the reply by itself because the user spoke.
    Interrupted,
    /// To the session as it is (tool calls, usage, texts).
    Tell(LiveOutput),
    /// From now on a new connection may go on with this handle; `None`: not at the moment.
    Handle(Option<String>),
    /// The vendor will close in this time.
    GoAway {
        left: Duration,
    },
    /// What the vendor allows is used up for so long.
    Limited {
        reset: Duration,
    },
    /// Harmless; for the log.
    Remark(String),
    Failed {
        reason: String,
        fate: Fate,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplyEnd {
    Complete,
    Cancelled,
    /// With the vendor's reason.
    Failed(String),
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Connect again and go on.
    Retry,
    /// The same with a new conversation (a refused handle).
    StartOver,
    /// This conversation and this model do not go together, whatever others say to it: take the next one.
    Unfit,
    /// This model will not work for anybody until somebody does something (key, quota, unknown model): take the next one.
    GiveUp,
}

/// Who a lost connection tells something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// What was said on it may have led to it.
    Conversation,
    /// It would have been so for everybody.
    Vendor,
}

pub(super) trait Protocol: Send + Debug {
    fn capabilities(&self) -> Capabilities;
    fn address(&self) -> Address;
    /// The first frames of a new connection. All state of an old one is forgotten; without a handle the vendor is told
    /// what was said.
    fn open(&mut self, handle: Option<&str>, said: &[Said]) -> Vec<Deed>;
    /// Other rules from the next connection on.
    fn set_rules(&mut self, rules: Arc<TurnRules>);
    fn wish(&mut self, wish: Wish) -> Vec<Deed>;
    /// A text or binary frame of the vendor.
    fn frame(&mut self, frame: &[u8]) -> Vec<Deed>;
    /// How much it keeps.
    #[cfg(test)]
    fn size(&self) -> usize;
    /// What the end of a connection means.
    fn closed(&mut self, code: Option<u16>, reason: &str) -> Fate;
}
