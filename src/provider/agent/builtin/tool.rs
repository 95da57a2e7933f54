//! What the agent can do, as a model or a command asks for it.

use super::{Said, Texts};
use crate::provider::chat::ToolSpec;
use agent_client_protocol_schema::v1::ToolKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// Descriptions for models, in the order of [`Call`].
const SPECS: &str = include_str!("../../../../config/prompts/agent_tools.json");
/// How long a command may take unless it is told otherwise, and at most.
const USUAL_SECONDS: u64 = 120;
const MOST_SECONDS: u64 = 1800;
/// A longer title is cut; the whole command is in the input.
const LONGEST_TITLE: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Read {
        path: String,
        /// Lines, from 1 on.
        lines: Option<RangeInclusive<usize>>,
    },
    List {
        path: String,
    },
    Search {
        pattern: String,
        path: String,
    },
    Write {
        path: String,
        content: String,
    },
    Replace {
        path: String,
        old: String,
        new: String,
        /// Also if it occurs more than once.
        all: bool,
    },
    Run {
        command: String,
        seconds: u64,
    },
}

impl Call {
    /// What a model asks for; the error is for the model.
    pub(super) fn parse(name: &str, arguments: &str) -> Result<Self, String> {
        let wrong = |err: serde_json::Error| {
            format!("the arguments of {name} are not as its schema says: {err}")
        };
        Ok(match name {
            "read" => {
                let it: Read = serde_json::from_str(arguments).map_err(wrong)?;
                let (from, to) = (it.from.unwrap_or(1), it.to.unwrap_or(usize::MAX));
                if from == 0 || to < from {
                    return Err(format!("there are no lines {from} to {to}: lines count from 1"));
                }
                let lines = (it.from.is_some() || it.to.is_some()).then_some(from..=to);
                Self::Read { path: it.path, lines }
            }
            "list" => {
                let it: List = serde_json::from_str(arguments).map_err(wrong)?;
                Self::List { path: it.path }
            }
            "search" => {
                let it: Search = serde_json::from_str(arguments).map_err(wrong)?;
                Self::Search { pattern: it.pattern, path: it.path }
            }
            "write" => {
                let it: Write = serde_json::from_str(arguments).map_err(wrong)?;
                Self::Write { path: it.path, content: it.content }
            }
            "replace" => {
                let it: Replace = serde_json::from_str(arguments).map_err(wrong)?;
                Self::Replace { path: it.path, old: it.old, new: it.new, all: it.all }
            }
            "run" => {
                let it: Run = serde_json::from_str(arguments).map_err(wrong)?;
                let seconds = it.seconds.unwrap_or(USUAL_SECONDS).clamp(1, MOST_SECONDS);
                Self::Run { command: it.command, seconds }
            }
            other => {
                return Err(format!(
                    "there is no tool `{other}`; there are read, list, search, write, replace and run"
                ));
            }
        })
    }

    /// A command that a person typed may take as long as it may; there is a cancel.
    pub(super) fn run(command: String) -> Self {
        Self::Run { command, seconds: MOST_SECONDS }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::List { .. } => "list",
            Self::Search { .. } => "search",
            Self::Write { .. } => "write",
            Self::Replace { .. } => "replace",
            Self::Run { .. } => "run",
        }
    }

    pub(super) fn kind(&self) -> ToolKind {
        match self {
            Self::Read { .. } | Self::List { .. } => ToolKind::Read,
            Self::Search { .. } => ToolKind::Search,
            Self::Write { .. } | Self::Replace { .. } => ToolKind::Edit,
            Self::Run { .. } => ToolKind::Execute,
        }
    }

    /// For people, on one line.
    pub(super) fn title(&self, texts: &Texts) -> String {
        self.titled(|tool, values| texts.say(Said::Title { tool, values }))
    }

    /// For rules.
    pub(super) fn english_title(&self, texts: &Texts) -> String {
        self.titled(|tool, values| texts.say(Said::EnglishTitle { tool, values }))
    }

    fn titled(&self, say: impl FnOnce(&str, &[(&str, &str)]) -> String) -> String {
        let shown = |path: &str| short(if path.is_empty() { "." } else { path });
        let values = match self {
            Self::Read { path, .. }
            | Self::List { path }
            | Self::Write { path, .. }
            | Self::Replace { path, .. } => vec![("path", shown(path))],
            Self::Search { pattern, path } => {
                vec![("pattern", short(pattern)), ("path", shown(path))]
            }
            Self::Run { command, .. } => vec![("command", short(command))],
        };
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        say(self.name(), &values)
    }

    pub(super) fn input(&self) -> Value {
        match self {
            Self::Read { path, lines: None } | Self::List { path } => json!({ "path": path }),
            Self::Read { path, lines: Some(lines) } => {
                json!({ "path": path, "from": lines.start(), "to": lines.end() })
            }
            Self::Search { pattern, path } => json!({ "pattern": pattern, "path": path }),
            Self::Write { path, content } => json!({ "path": path, "content": content }),
            Self::Replace { path, old, new, all } => {
                json!({ "path": path, "old": old, "new": new, "all": all })
            }
            Self::Run { command, .. } => json!({ "command": command }),
        }
    }

    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Read { path, .. }
            | Self::List { path }
            | Self::Search { path, .. }
            | Self::Write { path, .. }
            | Self::Replace { path, .. } => Some(path),
            Self::Run { .. } => None,
        }
    }

    pub(super) fn line(&self) -> Option<u32> {
        match self {
            Self::Read { lines, .. } => u32::try_from(*lines.as_ref()?.start()).ok(),
            Self::List { .. }
            | Self::Search { .. }
            | Self::Write { .. }
            | Self::Replace { .. }
            | Self::Run { .. } => None,
        }
    }
}

/// The first line, or the beginning of it. What a language says behind it stays to be seen.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST_TITLE).collect();
    if short.len() < text.trim_end().len() { format!("{short}...") } else { short }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    path: String,
    from: Option<usize>,
    to: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    pattern: String,
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    command: String,
    seconds: Option<u64>,
}

#[derive(Deserialize)]
struct Spec {
    name: String,
    description: String,
    schema: Box<RawValue>,
}

/// What a model is told about the tools. The file is ours, and a test reads it.
pub(super) fn specs() -> Vec<ToolSpec> {
    let specs: Vec<Spec> = serde_json::from_str(SPECS).unwrap_or_default();
    let spec = |Spec { name, description, schema }| ToolSpec {
        name,
        description,
        schema: schema.get().to_owned(),
    };
    specs.into_iter().map(spec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_described_and_takes_what_its_schema_wants() {
        let specs = specs();
        let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["read", "list", "search", "write", "replace", "run"]);
        for spec in &specs {
            let schema: Value = serde_json::from_str(&spec.schema).unwrap();
            let fields = schema["properties"].as_object().unwrap();
            let value = |(name, about): (&String, &Value)| {
                let value = match about["type"].as_str().unwrap() {
                    "string" => json!("x"),
                    "integer" => json!(1),
                    "boolean" => json!(true),
                    other => panic!("{other}"),
                };
                (name.clone(), value)
            };
            let all: serde_json::Map<_, _> = fields.iter().map(value).collect();
            let call = Call::parse(&spec.name, &Value::from(all).to_string()).unwrap();
            assert_eq!(call.name(), spec.name);
            let required = schema["required"].as_array().unwrap().len();
            assert_eq!(Call::parse(&spec.name, "{}").is_ok(), required == 0, "{}", spec.name);
        }
    }

    #[test]
    fn wrong_calls_are_explained_to_the_model() {
        for (name, arguments, expected) in [
            ("fly", "{}", "there is no tool `fly`; there are read"),
            ("read", "{", "the arguments of read are not as its schema says"),
            ("read", r#"{"path":"a","from":0}"#, "lines count from 1"),
            ("read", r#"{"path":"a","from":5,"to":4}"#, "there are no lines 5 to 4"),
            ("write", r#"{"path":"a"}"#, "missing field `content`"),
            ("write", r#"{"path":"a","content":"x","mode":1}"#, "unknown field `mode`"),
        ] {
            let wrong = Call::parse(name, arguments).unwrap_err();
            assert!(wrong.contains(expected), "{wrong}");
        }
    }

    #[test]
    fn a_title_is_one_short_line() {
        let texts = Texts::new(|said| match said {
            Said::Title { tool, values: [(_, value)] } => format!("{tool} {value}"),
            Said::Title { .. }
            | Said::EnglishTitle { .. }
            | Said::Help
            | Said::NoModel
            | Said::Phrase(_) => format!("{said:?}"),
        });
        let run = |command: &str| Call::run(command.to_owned()).title(&texts);
        assert_eq!(run("ls"), "run ls");
        assert_eq!(run("ls\nrm x"), "run ls...");
        assert!(run(&"x".repeat(1000)).len() < 130);
    }
}
