//! `[[agents]]`: the code agents that sessions may choose, and those that the shipped file has as comments.

use super::confine::BoxPath;
use crate::provider::row::{AgentKind, AgentRow, CommandFormat, JsonMapping};
use serde::Deserialize;

/// What every session has without any row, and what stands for one of them.
const TAKEN: [&str; 4] = ["builtin", "scripted", "auto", "analyst"];
const PLACE: &str = "{prompt}";
const FILE_PLACE: &str = "{prompt_file}";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawAgent")]
pub(super) struct Agent(pub(super) AgentRow);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAgent {
    name: String,
    label: Option<String>,
    kind: RawKind,
    command: Vec<String>,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    env: Vec<String>,
    mode: Option<String>,
    mode_option: Option<String>,
    model_option: Option<String>,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default = "yes")]
    network: bool,
    #[serde(default)]
    writable: Vec<BoxPath>,
    #[serde(default)]
    install: String,
    format: Option<RawFormat>,
    text: Option<String>,
    done: Option<String>,
    error: Option<String>,
    tool: Option<String>,
    #[serde(default)]
    tokens: Vec<String>,
    cost: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawKind {
    Acp,
    Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawFormat {
    Text,
    Jsonl,
}

fn takes_prompt(part: &str) -> bool {
    part.contains(PLACE) || part.contains(FILE_PLACE)
}

fn yes() -> bool {
    true
}

impl TryFrom<RawAgent> for Agent {
    type Error = String;

    fn try_from(raw: RawAgent) -> Result<Self, String> {
        let simple = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if raw.name.is_empty()
            || !raw.name.chars().all(simple)
            || TAKEN.contains(&raw.name.as_str())
        {
            let name = raw.name.escape_debug();
            return Err(format!(
                "`{name}` is not a name for an agent: letters, digits, - and _, and none of {}",
                TAKEN.join(", ")
            ));
        }
        if raw.command.first().is_none_or(String::is_empty) {
            return Err(format!("agent `{}` has no command", raw.name));
        }
        if raw.also.iter().any(String::is_empty) {
            return Err(format!("agent `{}` has an empty name in `also`", raw.name));
        }
        let variable = |entry: &String| {
            let name = entry.split('=').next().unwrap_or_default();
            !name.is_empty() && !entry.contains('\0')
        };
        if let Some(bad) = raw.env.iter().find(|entry| !variable(entry)) {
            return Err(format!(
                "`{}` is not a variable like NAME or NAME=value",
                bad.escape_debug()
            ));
        }
        if let Some(bad) = raw.models.iter().find(|model| !super::choice::names_a_model(model)) {
            return Err(format!("`{}` is not a model", bad.escape_debug()));
        }
        let kind = raw.checked_kind()?;
        Ok(Self(AgentRow {
            label: raw.label.unwrap_or_else(|| raw.name.clone()),
            name: raw.name,
            kind,
            command: raw.command,
            also: raw.also,
            env: raw.env,
            mode: raw.mode,
            mode_option: raw.mode_option,
            model_option: raw.model_option,
            models: raw.models,
            network: raw.network,
            writable: raw.writable.into_iter().map(|BoxPath(text)| text).collect(),
            install: raw.install,
        }))
    }
}

impl RawAgent {
    fn checked_kind(&self) -> Result<AgentKind, String> {
        let name = &self.name;
        let mapped = self.pointers().next().is_some();
        let chosen = self.mode.is_some()
            || self.mode_option.is_some()
            || self.model_option.is_some()
            || !self.models.is_empty();
        match (self.kind, self.format) {
            (RawKind::Acp, None) if !mapped => Ok(AgentKind::Acp),
            (RawKind::Acp, _) => Err(format!(
                "agent `{name}`: format, text, done, error, tool, tokens and cost are for kind = \"command\""
            )),
            (RawKind::Command, _) if chosen => Err(format!(
                "agent `{name}`: mode, mode_option, model_option and models are for kind = \"acp\""
            )),
            (RawKind::Command, _) if !self.command.iter().any(|part| takes_prompt(part)) => {
                Err(format!(
                    "agent `{name}`: its command needs {PLACE} or {FILE_PLACE} where the prompt belongs"
                ))
            }
            (RawKind::Command, None | Some(RawFormat::Text)) if !mapped => {
                Ok(AgentKind::Command(CommandFormat::Text))
            }
            (RawKind::Command, None | Some(RawFormat::Text)) => Err(format!(
                "agent `{name}`: text, done, error, tool, tokens and cost are for format = \"jsonl\""
            )),
            (RawKind::Command, Some(RawFormat::Jsonl)) => self.json_lines(),
        }
    }

    fn json_lines(&self) -> Result<AgentKind, String> {
        let name = &self.name;
        let Some(text) = self.text.clone() else {
            return Err(format!(
                "agent `{name}`: format = \"jsonl\" needs text, such as \"/message/text\""
            ));
        };
        if let Some(bad) = self.pointers().find(|one| !one.starts_with('/')) {
            return Err(format!("agent `{name}`: `{bad}` is not a path like \"/message/text\""));
        }
        let mapping = JsonMapping {
            text,
            done: self.done.clone(),
            error: self.error.clone(),
            tool: self.tool.clone(),
            tokens: self.tokens.clone(),
            cost: self.cost.clone(),
        };
        Ok(AgentKind::Command(CommandFormat::JsonLines(mapping)))
    }

    /// Paths into the lines of a command.
    fn pointers(&self) -> impl Iterator<Item = &String> {
        let single = [&self.text, &self.done, &self.error, &self.tool, &self.cost];
        single.into_iter().flatten().chain(&self.tokens)
    }
}

/// The first name that is there twice.
pub(super) fn repeated(agents: &[Agent]) -> Option<&str> {
    let again = |(at, agent): &(usize, &Agent)| {
        agents[..*at].iter().any(|other| other.0.name == agent.0.name)
    };
    agents.iter().enumerate().find(again).map(|(_, agent)| agent.0.name.as_str())
}

/// Agents that can be switched on: the rows that the shipped file has behind a `#`.
pub fn known_agents() -> Vec<AgentRow> {
    #[derive(Deserialize)]
    struct Rows {
        agents: Vec<Agent>,
    }
    let shipped = include_str!("../../config/kakehashi.toml");
    let hidden = shipped.lines().filter_map(|line| line.strip_prefix('#'));
    let rows = hidden.filter(|line| !line.starts_with([' ', '#']) && !line.is_empty());
    let rows: Vec<&str> = rows.collect();
    let rows = toml::from_str::<Rows>(&rows.join("\n"));
    rows.map(|rows| rows.agents.into_iter().map(|Agent(row)| row).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(row: &str, expected: Result<AgentKind, &str>) {
        let parsed = toml::from_str::<Agent>(row);
        match (parsed, expected) {
            (Ok(Agent(row)), Ok(kind)) => assert_eq!(row.kind, kind),
            (Err(err), Err(part)) => assert!(err.message().contains(part), "{err}"),
            (parsed, expected) => panic!("{parsed:?}, not {expected:?}"),
        }
    }

    #[test]
    fn rows_are_checked() {
        let acp = "name = \"a\"\nkind = \"acp\"\ncommand = [\"a\", \"acp\"]\n";
        check(acp, Ok(AgentKind::Acp));
        check(&format!("{acp}format = \"text\""), Err("are for kind = \"command\""));
        check(&format!("{acp}env = [\"=x\"]"), Err("is not a variable"));
        check(&format!("{acp}models = [\"a/b:c\"]"), Ok(AgentKind::Acp));
        check(&format!("{acp}models = [\"auto\"]"), Err("is not a model"));
        check(&format!("{acp}models = [\"\"]"), Err("is not a model"));
        check(&acp.replace("\"a\"\n", "\"scripted\"\n"), Err("not a name for an agent"));
        check("name = \"a\"\nkind = \"acp\"\ncommand = []", Err("has no command"));
        let command = "name = \"a\"\nkind = \"command\"\ncommand = [\"a\", \"{prompt}\"]\n";
        check(command, Ok(AgentKind::Command(CommandFormat::Text)));
        check(&command.replace("{prompt}", "x"), Err("needs {prompt} or {prompt_file}"));
        let by_file = command.replace("{prompt}", "--file={prompt_file}");
        check(&by_file, Ok(AgentKind::Command(CommandFormat::Text)));
        check(&format!("{command}mode = \"ask\""), Err("are for kind = \"acp\""));
        check(&format!("{command}models = [\"a\"]"), Err("are for kind = \"acp\""));
        check(&format!("{command}text = \"/a\""), Err("are for format = \"jsonl\""));
        check(&format!("{command}format = \"jsonl\""), Err("needs text"));
        check(&format!("{command}format = \"jsonl\"\ntext = \"a\""), Err("is not a path"));
        let mapped = CommandFormat::JsonLines(JsonMapping {
            text: "/a".to_owned(),
            error: Some("/e".to_owned()),
            tokens: vec!["/i".to_owned(), "/o".to_owned()],
            ..JsonMapping::default()
        });
        let row = format!("{command}format = \"jsonl\"\ntext = \"/a\"\nerror = \"/e\"\n");
        check(&format!("{row}tokens = [\"/i\", \"/o\"]"), Ok(AgentKind::Command(mapped)));
        check(&format!("{row}tokens = [\"i\"]"), Err("is not a path"));
        check(&format!("{command}cost = \"/c\""), Err("are for format = \"jsonl\""));
    }

    #[test]
    fn the_shipped_file_knows_seven_agents() {
        let known = known_agents();
        let names: Vec<&str> = known.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["goose", "codex", "claude", "gemini", "copilot", "opencode", "qwen"]);
        for row in known {
            assert!(row.kind == AgentKind::Acp && !row.install.is_empty(), "{row:?}");
        }
    }
}
