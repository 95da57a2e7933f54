//! What an answer has come to so far, and small conversions that all vendors share.

use super::error::ChatError;
use super::{ChatOutput, DoneReason, Picture, ToolSpec, Usage};
use base64_simd::STANDARD;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// More is a model gone mad.
pub(super) const LONGEST_ARGUMENTS: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Answer {
    /// What is ready to be handed out.
    pub(super) outputs: Vec<ChatOutput>,
    pub(super) usage: Option<Usage>,
    /// How it ended, as soon as that is known.
    pub(super) end: Option<DoneReason>,
    /// Nothing more is to be expected.
    pub(super) over: bool,
}

impl Answer {
    pub(super) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.outputs.push(ChatOutput::Delta(text));
        }
    }

    pub(super) fn image(&mut self, mime: &str, base64: &str) -> Result<(), ChatError> {
        let bytes = STANDARD.decode_to_vec(base64.as_bytes());
        let bytes = bytes.map_err(|_| malformed("a picture that is not base64"))?.into();
        self.outputs.push(ChatOutput::Image { mime: mime.to_owned(), bytes });
        Ok(())
    }

    /// Only pictures that are in the address itself: others would make us fetch what somebody else chose.
    pub(super) fn image_url(&mut self, url: &str) -> Result<(), ChatError> {
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        let (mime, base64) = data.ok_or_else(|| malformed("a picture by address"))?;
        self.image(mime, base64)
    }
}

pub(super) fn data_url(picture: &Picture) -> String {
    format!("data:{};base64,{}", picture.mime, base64(picture))
}

pub(super) fn base64(picture: &Picture) -> String {
    STANDARD.encode_to_string(&picture.bytes)
}

pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ChatError> {
    serde_json::from_str(text).map_err(|err| malformed(&format!("an event: {err}")))
}

pub(super) fn schema(tool: &ToolSpec) -> Result<&RawValue, ChatError> {
    serde_json::from_str(&tool.schema)
        .map_err(|_| malformed(&format!("the schema of the tool {} is not JSON", tool.name)))
}

/// A call without arguments is one with none.
pub(super) fn arguments(text: String) -> String {
    if text.trim().is_empty() { "{}".to_owned() } else { text }
}

/// Arguments as the object that some vendors want to see again, whatever the model wrote.
pub(super) fn object(arguments: &str) -> Result<Box<RawValue>, ChatError> {
    let text = arguments.trim();
    let text = match serde_json::from_str::<&RawValue>(text) {
        Ok(_) if text.starts_with('{') => text.to_owned(),
        Ok(_) | Err(_) => serde_json::json!({ "arguments": text }).to_string(),
    };
    RawValue::from_string(text).map_err(|_| malformed("arguments of a tool"))
}

pub(super) fn malformed(reason: &str) -> ChatError {
    ChatError::Malformed { reason: reason.to_owned() }
}
