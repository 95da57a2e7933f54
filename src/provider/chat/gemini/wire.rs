//! `generateContent` on the wire, as Google describes it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<Instruction<'a>>,
    pub(super) contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generation_config: Option<Generation>,
}

#[derive(Debug, Serialize)]
pub(super) struct Instruction<'a> {
    pub(super) parts: [Part<'a>; 1],
}

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Model,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        inline_data: Data<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Response {
        function_response: Response<'a>,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: Box<RawValue>,
}

#[derive(Debug, Serialize)]
pub(super) struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) response: Outcome<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome<'a> {
    Output(&'a str),
    Error(&'a str),
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
    pub(super) parameters_json_schema: &'a RawValue,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Generation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_modalities: Option<[&'static str; 2]>,
}

/// One event of a stream, or a whole answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) candidates: Vec<Candidate>,
    #[serde(default)]
    pub(super) prompt_feedback: Option<Feedback>,
    #[serde(default)]
    pub(super) usage_metadata: Option<Usage>,
    #[serde(default)]
    pub(super) error: Option<Details>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default)]
    pub(super) content: Option<Said>,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
    #[serde(default)]
    pub(super) finish_message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) parts: Vec<SaidPart>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SaidPart {
    #[serde(default)]
    pub(super) text: Option<String>,
    /// What the model thinks, not what it says.
    #[serde(default)]
    pub(super) thought: bool,
    #[serde(default)]
    pub(super) inline_data: Option<SaidData>,
    #[serde(default)]
    pub(super) function_call: Option<SaidCall>,
    #[serde(default)]
    pub(super) thought_signature: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SaidData {
    pub(super) mime_type: String,
    pub(super) data: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct SaidCall {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback {
    #[serde(default)]
    pub(super) block_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    #[serde(default)]
    pub(super) prompt_token_count: u64,
    #[serde(default)]
    pub(super) candidates_token_count: u64,
    #[serde(default)]
    pub(super) thoughts_token_count: u64,
}

/// The body of a refusal; some of its servers put it into a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Refusal {
    // First, because a struct takes a list as the list of its fields.
    List([Wrapped; 1]),
    One(Wrapped),
}

#[derive(Debug, Deserialize)]
pub(super) struct Wrapped {
    pub(super) error: Details,
}

#[derive(Debug, Deserialize)]
pub(super) struct Details {
    #[serde(default)]
    pub(super) code: Option<u16>,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) details: Vec<Detail>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Detail {
    #[serde(default)]
    pub(super) reason: Option<String>,
    /// Such as `17s`.
    #[serde(default)]
    pub(super) retry_delay: Option<String>,
}
