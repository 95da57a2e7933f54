//! `[[chat]]`: which chat models there are. Keys are only named here; their values come from the environment.

use super::raw::Within;
use super::vendor;
use crate::provider::row::{ChatKey, ChatKind, ChatModel, Secret};
use serde::Deserialize;
use std::time::Duration;

const LONGEST_NAME: usize = 128;
/// The name of the model that needs no configuration.
const SCRIPTED: &str = "scripted";

/// A row as it is written.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "Row")]
pub(super) struct RawChat(Row);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: Name,
    kind: Kind,
    base_url: Option<BaseUrl>,
    model: Model,
    key: Option<Variable>,
    label: Option<String>,
    context_tokens: Option<Within<1, 100_000_000>>,
    max_output_tokens: Option<Within<1, 100_000_000>>,
    images: Option<bool>,
    image_output: Option<bool>,
    tools: Option<bool>,
    timeout_seconds: Option<Within<1, 86_400>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Kind {
    fn vendor(self) -> &'static str {
        match self {
            Self::OpenAi => vendor::OPENAI,
            Self::Anthropic => vendor::ANTHROPIC,
            Self::Gemini => vendor::GEMINI,
        }
    }
}

impl From<Kind> for ChatKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::OpenAi => Self::OpenAi,
            Kind::Anthropic => Self::Anthropic,
            Kind::Gemini => Self::Gemini,
        }
    }
}

impl TryFrom<Row> for RawChat {
    type Error = String;

    fn try_from(row: Row) -> Result<Self, String> {
        if row.key.is_none() && row.base_url.is_none() {
            let name = row.name.0;
            return Err(format!(
                "`{name}` has no key: name its variable with `key`, or say with `base_url` which server needs none"
            ));
        }
        Ok(Self(row))
    }
}

impl RawChat {
    /// The model, with the key that its variable holds now.
    pub(super) fn model(self, variable: impl Fn(&str) -> Option<String>) -> ChatModel {
        let row = self.0;
        let key = row.key.map(|Variable(name)| {
            let value = variable(&name).map(|text| text.trim().to_owned());
            let secret = value.filter(|text| !text.is_empty()).map(Secret::new);
            ChatKey { variable: name, secret }
        });
        ChatModel {
            name: row.name.0,
            label: row.label.unwrap_or_else(|| row.model.0.clone()),
            kind: row.kind.into(),
            base_url: row.base_url.map_or_else(|| row.kind.vendor().to_owned(), |url| url.0),
            model: row.model.0,
            key,
            context_tokens: row.context_tokens.map(|tokens| tokens.0),
            max_output_tokens: row.max_output_tokens.map(|tokens| tokens.0),
            images: row.images.unwrap_or(true),
            image_output: row.image_output.unwrap_or(false),
            tools: row.tools.unwrap_or(true),
            patience: row.timeout_seconds.map(|seconds| Duration::from_secs(seconds.0.into())),
        }
    }
}

/// The first name that is there twice.
pub(super) fn repeated(rows: &[RawChat]) -> Option<&str> {
    let again =
        |(at, row): &(usize, &RawChat)| rows[..*at].iter().any(|other| other.0.name == row.0.name);
    rows.iter().enumerate().find(again).map(|(_, row)| row.0.name.0.as_str())
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Name(pub(super) String);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == SCRIPTED {
            return Err(format!("`{SCRIPTED}` is taken by the model that is always there"));
        }
        check(&text, "a model's name")?;
        Ok(Self(text))
    }
}

/// Part of an address at some vendors.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Model(pub(super) String);

impl TryFrom<String> for Model {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        check(&text, "a model")?;
        if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(format!("`{text}` is not a model"));
        }
        Ok(Self(text))
    }
}

fn check(text: &str, what: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || "._:/@+-".contains(c);
    if (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(good) {
        return Ok(());
    }
    Err(format!(
        "`{}` is not {what}: up to {LONGEST_NAME} letters, digits and ._:/@+-",
        text.escape_debug()
    ))
}

/// A mistake must not be repeated in the message: it may well be the key itself.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Variable(pub(super) String);

impl TryFrom<String> for Variable {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let good = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let first = text.chars().next();
        if first.is_some_and(|c| !c.is_ascii_digit()) && text.chars().all(good) {
            return Ok(Self(text));
        }
        Err("this is not the name of a variable like OPENAI_API_KEY; a key itself does not belong here".to_owned())
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct BaseUrl(pub(super) String);

impl TryFrom<String> for BaseUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        if host.contains('@') {
            return Err("an address with a password; name the variable of a key instead".to_owned());
        }
        if text.contains(['?', '#']) {
            return Err("an address with a question in it".to_owned());
        }
        let good = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
        let port = match host.rsplit_once(':') {
            Some((_, digits)) if !digits.contains(']') => digits.parse::<u16>().is_ok(),
            Some(_) | None => true,
        };
        if host.is_empty() || host.starts_with(':') || !port || !text.chars().all(good) {
            return Err(format!(
                "`{}` is not an address like https://host/v1",
                text.escape_debug()
            ));
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}
