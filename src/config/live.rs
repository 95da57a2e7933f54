//! `[[live]]`: which live speech models there are, in the order in which they stand in for each other. Keys are only
//! named here; their values come from the environment.

use super::chat::{BaseUrl, Model, Name, Variable};
use super::vendor;
use crate::provider::row::{ChatKey, LiveKind, LiveModel, Secret};
use serde::Deserialize;

const LONGEST_WORD: usize = 64;

/// A row as it is written.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "Row")]
pub(super) struct RawLive(Row);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: Name,
    kind: Kind,
    base_url: Option<LiveUrl>,
    model: Model,
    voice: Option<Word>,
    key: Option<Variable>,
    label: Option<String>,
    language: Option<Word>,
    transcription: Option<Model>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    OpenAi,
    Gemini,
}

impl Kind {
    fn vendor(self) -> &'static str {
        match self {
            Self::OpenAi => vendor::OPENAI_LIVE,
            Self::Gemini => vendor::GEMINI_LIVE,
        }
    }
}

impl From<Kind> for LiveKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::OpenAi => Self::OpenAi,
            Kind::Gemini => Self::Gemini,
        }
    }
}

impl TryFrom<Row> for RawLive {
    type Error = String;

    fn try_from(row: Row) -> Result<Self, String> {
        if row.key.is_none() && row.base_url.is_none() {
            let name = row.name.0;
            return Err(format!(
                "`{name}` has no key: name its variable with `key`, or say with `base_url` which server needs none"
            ));
        }
        if row.transcription.is_some() && row.kind == Kind::Gemini {
            let name = row.name.0;
            return Err(format!(
                "`{name}` writes down by itself what is said: leave out `transcription`"
            ));
        }
        Ok(Self(row))
    }
}

impl RawLive {
    /// The model, with the key that its variable holds now.
    pub(super) fn model(self, variable: impl Fn(&str) -> Option<String>) -> LiveModel {
        let row = self.0;
        let key = row.key.map(|Variable(name)| {
            let value = variable(&name).map(|text| text.trim().to_owned());
            let secret = value.filter(|text| !text.is_empty()).map(Secret::new);
            ChatKey { variable: name, secret }
        });
        LiveModel {
            name: row.name.0,
            label: row.label.unwrap_or_else(|| row.model.0.clone()),
            kind: row.kind.into(),
            base_url: row.base_url.map_or_else(|| row.kind.vendor().to_owned(), |url| url.0),
            model: row.model.0,
            voice: row.voice.map(|word| word.0),
            key,
            language: row.language.map(|word| word.0),
            transcription: row.transcription.map(|model| model.0),
        }
    }
}

/// The first name that is there twice.
pub(super) fn repeated(rows: &[RawLive]) -> Option<&str> {
    let again =
        |(at, row): &(usize, &RawLive)| rows[..*at].iter().any(|other| other.0.name == row.0.name);
    rows.iter().enumerate().find(again).map(|(_, row)| row.0.name.0.as_str())
}

/// A voice or a language.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Word(String);

impl TryFrom<String> for Word {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let good = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if (1..=LONGEST_WORD).contains(&text.len()) && text.chars().all(good) {
            return Ok(Self(text));
        }
        Err(format!("`{}` is not a word like marin or ja-JP", text.escape_debug()))
    }
}

/// The same rules as for other addresses, whatever the scheme is called.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct LiveUrl(String);

impl TryFrom<String> for LiveUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let http = match text.strip_prefix("ws") {
            Some(rest) if rest.starts_with("://") || rest.starts_with("s://") => {
                format!("http{rest}")
            }
            Some(_) | None => text,
        };
        let BaseUrl(checked) = BaseUrl::try_from(http)?;
        Ok(Self(checked.replacen("http", "ws", 1)))
    }
}
