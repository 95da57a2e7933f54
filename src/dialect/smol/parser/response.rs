//! The response of an agent, with the words of the document. Fields that are missing or null are empty.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentResponse {
    /// The last answer.
    #[serde(deserialize_with = "or_empty")]
    pub text: String,
    #[serde(deserialize_with = "or_empty")]
    pub images: Vec<GivenImage>,
    /// An object with points.
    pub map_data: Option<Value>,
    /// What the agent printed.
    #[serde(deserialize_with = "or_empty")]
    pub raw_output: String,
    /// The value that the agent ended with. It is shown as `text` already, so it is not searched.
    pub result: Option<Value>,
    #[serde(deserialize_with = "or_empty")]
    pub code_steps: Vec<CodeStep>,
    #[serde(deserialize_with = "or_empty")]
    pub logs: Vec<Log>,
    /// Then `text` says what failed.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
}

/// Code that was run in one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeStep {
    #[serde(deserialize_with = "or_empty")]
    pub code: String,
    /// `Step 1`; without it, steps are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Log {
    Line(String),
    /// What tools a step called, or anything else: it is shown as it is, and has no code.
    Note(Value),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GivenImage {
    /// A path or a data URI.
    Named(String),
    Data {
        /// Base64.
        #[serde(alias = "data")]
        content: String,
        format: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// Something that is no image.
    Other(Value),
}

fn or_empty<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
