//! Events of the Realtime protocol, as far as we need them. Unknown kinds and fields are ignored.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// With an event id, so that an error names its event.
#[derive(Debug, Serialize)]
pub(super) struct Outgoing<'a> {
    pub(super) event_id: &'a str,
    #[serde(flatten)]
    pub(super) event: ClientEvent,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum ClientEvent {
    #[serde(rename = "session.update")]
    Update { session: Value },
    #[serde(rename = "input_audio_buffer.append")]
    Append { audio: String },
    #[serde(rename = "input_audio_buffer.commit")]
    Commit,
    #[serde(rename = "input_audio_buffer.clear")]
    Clear,
    #[serde(rename = "conversation.item.create")]
    Create { item: Item },
    #[serde(rename = "conversation.item.delete")]
    Delete { item_id: String },
    #[serde(rename = "conversation.item.truncate")]
    Truncate { item_id: String, content_index: u32, audio_end_ms: u64 },
    #[serde(rename = "response.create")]
    Respond,
    #[serde(rename = "response.cancel")]
    Cancel { response_id: String },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    Message { role: &'static str, content: Vec<Content> },
    FunctionCallOutput { call_id: String, output: String },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content {
    InputText { text: String },
    OutputText { text: String },
    InputImage { image_url: String },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum ServerEvent {
    #[serde(rename = "session.created")]
    SessionCreated,
    #[serde(rename = "session.updated")]
    SessionUpdated,
    #[serde(rename = "error")]
    Error { error: Trouble },
    #[serde(rename = "input_audio_buffer.speech_started")]
    SpeechStarted { item_id: String },
    #[serde(rename = "input_audio_buffer.speech_stopped")]
    SpeechStopped { item_id: String },
    #[serde(rename = "input_audio_buffer.committed")]
    Committed { item_id: String },
    #[serde(rename = "conversation.item.input_audio_transcription.delta")]
    HeardPiece {
        item_id: String,
        #[serde(default)]
        delta: String,
    },
    #[serde(rename = "conversation.item.input_audio_transcription.completed")]
    Heard { item_id: String, transcript: String },
    #[serde(rename = "conversation.item.input_audio_transcription.failed")]
    NotHeard { item_id: String },
    #[serde(rename = "response.created")]
    ResponseCreated { response: ResponseHead },
    #[serde(rename = "response.output_item.added")]
    ItemAdded { response_id: String, item: OutputItem },
    #[serde(rename = "response.output_audio.delta")]
    Audio { response_id: String, item_id: String, delta: String },
    #[serde(rename = "response.output_audio_transcript.delta")]
    Said { response_id: String, item_id: String, delta: String },
    #[serde(rename = "response.function_call_arguments.done")]
    Called {
        response_id: String,
        call_id: String,
        #[serde(default)]
        name: String,
        arguments: String,
    },
    #[serde(rename = "rate_limits.updated")]
    Limits {
        #[serde(default)]
        rate_limits: Vec<Limit>,
    },
    #[serde(rename = "response.done")]
    ResponseDone { response: Response },
    #[serde(other)]
    Other,
}

/// How much more is allowed, of requests or of tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limit {
    pub(super) remaining: Option<f64>,
    pub(super) reset_seconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ResponseHead {
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Response {
    pub(super) id: String,
    pub(super) status: Status,
    #[serde(default)]
    pub(super) status_details: Option<StatusDetails>,
    #[serde(default)]
    pub(super) output: Vec<OutputItem>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Completed,
    Cancelled,
    Failed,
    /// It became too long, or was not allowed.
    Incomplete,
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct StatusDetails {
    #[serde(default)]
    pub(super) reason: Option<String>,
    #[serde(default)]
    pub(super) error: Option<Trouble>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum OutputItem {
    Message {
        id: String,
    },
    FunctionCall {
        call_id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        arguments: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) input_tokens: u64,
    #[serde(default)]
    pub(super) output_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Trouble {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) code: Option<String>,
    #[serde(default)]
    pub(super) message: Option<String>,
    /// Id of our event that caused it.
    #[serde(default)]
    pub(super) event_id: Option<String>,
    /// The field that is wrong.
    #[serde(default)]
    pub(super) param: Option<String>,
}

impl Trouble {
    pub(super) fn code(&self) -> &str {
        self.code.as_deref().or(self.kind.as_deref()).unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        self.message.clone().unwrap_or_else(|| self.code().to_owned())
    }
}
