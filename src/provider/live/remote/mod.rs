//! Live models behind a WebSocket. A conversation of ours speaks with the session; a [`protocol::Protocol`] says how a
//! vendor wants to be spoken to.

mod captions;
mod conversation;
mod dial;
mod ear;
mod floor;
mod gemini;
mod health;
mod line;
mod memory;
mod openai;
mod picture;
mod protocol;
mod speech;

use super::{
    GIVE_WORK_TOOL, LIVE_INPUT_CAPACITY, LIVE_OUTPUT_CAPACITY, LiveLink, LiveOutput, Said, Speaker,
};
use crate::audio::voice::VoiceGate;
use crate::provider::row::{LiveKind, LiveModel, TurnRules};
use crate::task;
use conversation::Conversation;
use dial::Dialer;
use health::Health;
use protocol::{Protocol, Setup, Tool};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// What all conversations share: the way to the vendors, and who of them does not work.
#[derive(Debug, Clone)]
pub struct Client {
    dialer: Dialer,
    health: Health,
    /// Our own ear.
    gate: fn(&TurnRules) -> VoiceGate,
    #[cfg(test)]
    probe: Probe,
}

/// The most that a conversation has kept since somebody looked, all things counted.
#[cfg(test)]
#[derive(Debug, Clone, Default)]
struct Probe(Arc<std::sync::atomic::AtomicUsize>);

#[cfg(test)]
impl Probe {
    fn note(&self, size: usize) {
        self.0.fetch_max(size, std::sync::atomic::Ordering::Relaxed);
    }

    fn most(&self) -> usize {
        self.0.swap(0, std::sync::atomic::Ordering::Relaxed)
    }
}

impl Default for Client {
    /// Reads the system's certificates.
    fn default() -> Self {
        let gate = |rules: &TurnRules| VoiceGate::new(rules.threshold_percent, rules.silence);
        Self {
            dialer: Dialer::default(),
            health: Health::default(),
            gate,
            #[cfg(test)]
            probe: Probe::default(),
        }
    }
}

/// Models that can hold a conversation, and how.
#[derive(Debug, Clone)]
pub struct Remote {
    /// The first that works speaks.
    pub models: Vec<Arc<LiveModel>>,
    pub rules: Arc<TurnRules>,
    /// What a model is told about its part.
    pub instructions: Arc<str>,
    pub client: Client,
}

/// The client is the same for all.
impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &Self, two: &Self| one.models == two.models && one.rules == two.rules;
        same(self, other) && self.instructions == other.instructions
    }
}

impl Eq for Remote {}

/// So long a conversation waits for what was said before it; then it begins without.
const PAST: Duration = Duration::from_secs(2);

pub(super) fn connect(
    remote: Remote,
    speaker: Speaker,
    past: impl Future<Output = Vec<Said>> + Send + 'static,
) -> LiveLink {
    let (input, inputs) = mpsc::channel(LIVE_INPUT_CAPACITY);
    let (outputs, output) = mpsc::channel(LIVE_OUTPUT_CAPACITY);
    task::spawn("live-remote", async move {
        let past = timeout(PAST, past).await.unwrap_or_default();
        match Conversation::new(remote, speaker, outputs.clone(), &past) {
            Ok(conversation) => Box::pin(conversation.run(inputs)).await,
            Err(reason) => drop(outputs.send(LiveOutput::Failed { reason }).await),
        }
    });
    LiveLink { input, output }
}

/// The way of this model's vendor.
fn protocol_of(model: &Arc<LiveModel>, remote: &Remote) -> Box<dyn Protocol> {
    let setup = Setup {
        model: Arc::clone(model),
        instructions: remote.instructions.to_string(),
        tools: vec![code_agent_request()],
        rules: Arc::clone(&remote.rules),
    };
    match model.kind {
        LiveKind::OpenAi => Box::new(openai::OpenAi::new(setup)),
        LiveKind::Gemini => Box::new(gemini::Gemini::new(setup)),
    }
}

/// Voices that a vendor is known to have; there may be others.
pub fn voices(kind: LiveKind) -> &'static [&'static str] {
    match kind {
        LiveKind::OpenAi => &[
            "marin", "cedar", "alloy", "ash", "ballad", "coral", "echo", "sage", "shimmer", "verse",
        ],
        LiveKind::Gemini => {
            &["Zephyr", "Puck", "Charon", "Kore", "Fenrir", "Leda", "Orus", "Aoede"]
        }
    }
}

/// What the session does is its own affair; this is only how a model asks for it.
fn code_agent_request() -> Tool {
    Tool {
        name: GIVE_WORK_TOOL,
        description: "Gives a piece of work to one of the four code agents. Returns at once; the user and you are \
                      told when it is done."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "channel": {"type": "integer", "minimum": 1, "maximum": 4, "description": "Which agent; 1 if the user names none."},
                "request": {"type": "string", "description": "What is to be done, complete and in the user's words."},
            },
            "required": ["channel", "request"],
        }),
    }
}

#[cfg(test)]
mod tests;
