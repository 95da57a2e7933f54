//! Frames of `BidiGenerateContent`, as far as we need them. Unknown fields are ignored, and `null` counts as absent.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A frame to the vendor: an object with exactly one of these.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ToVendor<'a> {
    Setup(Box<Setup<'a>>),
    ClientContent(ClientContent<'a>),
    RealtimeInput(Input<'a>),
    ToolResponse(ToolResponse<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Setup<'a> {
    pub(super) model: String,
    pub(super) generation_config: Generation<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<Instruction>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tools<'a>>,
    pub(super) realtime_input_config: InputConfig,
    pub(super) input_audio_transcription: Transcribed<'a>,
    pub(super) output_audio_transcription: Transcribed<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_resumption: Option<Resumption<'a>>,
    pub(super) context_window_compression: Compression,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) history_config: Option<History>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Generation<'a> {
    pub(super) response_modalities: [&'static str; 1],
    pub(super) speech_config: Speech<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Speech<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) voice_config: Option<Voice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) language_code: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Voice<'a> {
    pub(super) prebuilt_voice_config: VoiceName<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VoiceName<'a> {
    pub(super) voice_name: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct Instruction {
    pub(super) parts: [Words<String>; 1],
}

#[derive(Debug, Serialize)]
pub(super) struct Words<T> {
    pub(super) text: T,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tools<'a> {
    pub(super) function_declarations: Vec<Declaration<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Declaration<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) parameters_json_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) behavior: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputConfig {
    pub(super) automatic_activity_detection: Detection,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Detection {
    pub(super) disabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) silence_duration_ms: Option<u64>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Transcribed<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) language_codes: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
pub(super) struct Resumption<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compression {
    pub(super) sliding_window: Empty,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct History {
    pub(super) initial_history_in_client_content: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Empty {}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientContent<'a> {
    pub(super) turns: Vec<Content<'a>>,
    pub(super) turn_complete: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Words<&'a str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Model,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Input<'a> {
    Audio(Media),
    Video(Media),
    Text(&'a str),
    AudioStreamEnd(bool),
    ActivityStart(Empty),
    ActivityEnd(Empty),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Media {
    pub(super) data: String,
    pub(super) mime_type: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolResponse<'a> {
    pub(super) function_responses: Vec<FunctionResponse<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) response: Outcome<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scheduling: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome<'a> {
    Output(&'a str),
    Error(&'a str),
}

/// A frame from the vendor. It may have several of these fields.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FromVendor<'a> {
    pub(super) setup_complete: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(super) server_content: Option<ServerContent<'a>>,
    pub(super) tool_call: Option<ToolCall>,
    pub(super) tool_call_cancellation: Option<Cancellation>,
    pub(super) session_resumption_update: Option<ResumptionUpdate>,
    pub(super) go_away: Option<GoAway>,
    pub(super) usage_metadata: Option<Usage>,
    pub(super) error: Option<Trouble>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ServerContent<'a> {
    #[serde(borrow)]
    pub(super) model_turn: Option<ModelTurn<'a>>,
    #[serde(deserialize_with = "or_default")]
    pub(super) generation_complete: bool,
    #[serde(deserialize_with = "or_default")]
    pub(super) turn_complete: bool,
    pub(super) turn_complete_reason: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) interrupted: bool,
    pub(super) input_transcription: Option<Transcription>,
    pub(super) output_transcription: Option<Transcription>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelTurn<'a> {
    #[serde(borrow, deserialize_with = "or_default")]
    pub(super) parts: Vec<Part<'a>>,
}

/// Its texts are left out: they are thoughts, or repeat the transcription.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) inline_data: Option<InlineData<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct InlineData<'a> {
    #[serde(borrow)]
    pub(super) mime_type: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) data: Cow<'a, str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Transcription {
    #[serde(deserialize_with = "or_default")]
    pub(super) text: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) finished: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ToolCall {
    #[serde(deserialize_with = "or_default")]
    pub(super) function_calls: Vec<FunctionCall>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cancellation {
    #[serde(deserialize_with = "or_default")]
    pub(super) ids: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ResumptionUpdate {
    pub(super) new_handle: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) resumable: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GoAway {
    /// Such as `50s` or `1.5s`.
    pub(super) time_left: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Usage {
    #[serde(deserialize_with = "or_default")]
    pub(super) prompt_token_count: u64,
    #[serde(deserialize_with = "or_default")]
    pub(super) tool_use_prompt_token_count: u64,
    #[serde(deserialize_with = "or_default")]
    pub(super) response_token_count: u64,
    #[serde(deserialize_with = "or_default")]
    pub(super) thoughts_token_count: u64,
}

/// What went wrong; also the body of a refused handshake.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Trouble {
    pub(super) code: Option<u16>,
    #[serde(deserialize_with = "or_default")]
    pub(super) message: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) status: String,
}

/// Some of its servers put it into a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Refusal {
    // First, because a struct takes a list as the list of its fields.
    List([Wrapped; 1]),
    One(Wrapped),
}

#[derive(Debug, Deserialize)]
pub(super) struct Wrapped {
    pub(super) error: Trouble,
}

fn or_default<'de, D, T>(source: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(source).map(Option::unwrap_or_default)
}
