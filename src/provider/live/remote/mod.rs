//! Live models behind a WebSocket. Owns what all conversations share, and starts each conversation as a task.
//! `conversation` decides what happens, `speech` knows what was said and heard, `vendor` translates to and from a
//! vendor's frames, and `connection` carries the frames. Sessions, channels and clients are not known here.

mod connection;
mod conversation;
mod protocol;
mod speech;
mod vendor;

pub use vendor::voices;

use super::{
    GIVE_WORK_TOOL, LIVE_INPUT_CAPACITY, LIVE_OUTPUT_CAPACITY, LiveLink, LiveOutput, Said, Speaker,
};
use crate::audio::voice::VoiceGate;
use crate::provider::chat::ToolSpec;
use crate::provider::row::{LiveModel, TurnRules};
use crate::task;
use connection::availability::Availability;
use connection::dial::Dialer;
use conversation::Conversation;
use protocol::{Protocol, Setup, Tool};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Shared by all conversations: how to reach the vendors, and which models are out of service.
#[derive(Debug, Clone)]
pub struct Client {
    dialer: Dialer,
    availability: Availability,
    /// Makes the voice detection of one conversation.
    gate: fn(&TurnRules) -> VoiceGate,
    #[cfg(test)]
    size_probe: SizeProbe,
}

/// The largest number of things that a conversation has kept in memory since the last look.
#[cfg(test)]
#[derive(Debug, Clone, Default)]
struct SizeProbe(Arc<std::sync::atomic::AtomicUsize>);

#[cfg(test)]
impl SizeProbe {
    fn note(&self, size: usize) {
        self.0.fetch_max(size, std::sync::atomic::Ordering::Relaxed);
    }

    #[cfg(feature = "slow-tests")]
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
            availability: Availability::default(),
            gate,
            #[cfg(test)]
            size_probe: SizeProbe::default(),
        }
    }
}

/// What a conversation is started with.
#[derive(Debug, Clone)]
pub struct Remote {
    /// In order of preference; the first that works is used.
    pub models: Vec<Arc<LiveModel>>,
    pub rules: Arc<TurnRules>,
    /// System instructions for the model.
    pub instructions: Arc<str>,
    /// Tools that the session carries out, besides giving work to agents.
    pub tools: Vec<ToolSpec>,
    pub client: Client,
}

/// Compares the configuration; the client is shared by all and left out.
impl PartialEq for Remote {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &Self, two: &Self| one.models == two.models && one.rules == two.rules;
        same(self, other) && self.instructions == other.instructions && self.tools == other.tools
    }
}

impl Eq for Remote {}

/// Timeout for loading what was said earlier in the session; after it the conversation begins without that.
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

/// The protocol of this model's vendor, with what the model is to be told.
fn protocol_of(model: &Arc<LiveModel>, remote: &Remote) -> Box<dyn Protocol> {
    vendor::protocol(Setup {
        model: Arc::clone(model),
        instructions: remote.instructions.to_string(),
        tools: std::iter::once(code_agent_request()).chain(remote.tools.iter().map(tool)).collect(),
        rules: Arc::clone(&remote.rules),
    })
}

/// A tool as vendors are told about it. A schema that cannot be read takes no arguments.
fn tool(spec: &ToolSpec) -> Tool {
    Tool {
        name: spec.name.clone(),
        description: spec.description.clone(),
        parameters: serde_json::from_str(&spec.schema)
            .unwrap_or_else(|_| json!({"type": "object", "properties": {}})),
    }
}

/// The tool by which a model gives work to an agent. The session carries it out.
fn code_agent_request() -> Tool {
    Tool {
        name: GIVE_WORK_TOOL.to_owned(),
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
