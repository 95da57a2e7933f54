//! `[[tool]]`: further tools of the agent UI's agent. Each is a Python file with a function `run`, and a schema of its
//! arguments.

use crate::tool;
use serde::Deserialize;
use serde_json::Value;
use std::fs;

/// Bytes of a file: more would not be read by anybody who sees the step.
const LONGEST: usize = 64 * 1024;
const LONGEST_NAME: usize = 64;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    name: Name,
    description: String,
    schema: Schema,
    file: Source,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Name(String);

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Schema(String);

/// What is in the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Source(String);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = text.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
        if !begins || text.len() > LONGEST_NAME || !text.bytes().all(is_plain) {
            return Err(format!("`{text}` is not a name for a tool; use a-z, 0-9 and _"));
        }
        match tool::find(&text) {
            Some(_) => Err(format!("the gateway has a tool `{text}` of its own")),
            None => Ok(Self(text)),
        }
    }
}

impl TryFrom<String> for Schema {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = serde_json::from_str::<Value>(&text).ok();
        match read.filter(|schema| schema["type"] == "object") {
            Some(_) => Ok(Self(text)),
            None => Err("a schema is a JSON object with \"type\": \"object\"".to_owned()),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        // A pipe would keep the gateway waiting.
        if fs::metadata(&path).is_ok_and(|about| !about.is_file()) {
            return Err(format!("`{path}` is no file"));
        }
        let has_run = |text: &str| {
            text.lines().any(|line| line.starts_with("def run(") || line.starts_with("run ="))
        };
        match fs::read_to_string(&path) {
            Ok(text) if text.len() > LONGEST => Err(format!("`{path}` is longer than 64 KiB")),
            Ok(text) if has_run(&text) => Ok(Self(text)),
            Ok(_) => Err(format!("`{path}` has no function `run`")),
            Err(reason) => Err(format!("`{path}` cannot be read: {reason}")),
        }
    }
}

impl From<RawTool> for CustomTool {
    fn from(raw: RawTool) -> Self {
        let RawTool { name, description, schema, file } = raw;
        Self { name: name.0, description, schema: schema.0, source: file.0 }
    }
}

/// The first name that two rows have.
pub(super) fn repeated(tools: &[RawTool]) -> Option<&str> {
    let again = |(at, tool): &(usize, &RawTool)| {
        tools[..*at].iter().any(|other| other.name.0 == tool.name.0)
    };
    tools.iter().enumerate().find(again).map(|(_, tool)| tool.name.0.as_str())
}

/// A tool that is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomTool {
    pub name: String,
    /// For models.
    pub description: String,
    /// JSON schema of its arguments.
    pub schema: String,
    /// Python with a function `run`.
    pub source: String,
}

impl CustomTool {
    /// The Python that a call runs: one function, in which the file has variables of its own. The error is for the
    /// model.
    pub fn code(&self, arguments: &str) -> Result<String, String> {
        let read = serde_json::from_str::<Value>(arguments).ok().filter(Value::is_object);
        let Some(arguments) = read else {
            return Err(format!("the arguments of {} have to be a JSON object", self.name));
        };
        // A JSON text is a Python text, too.
        let literal = Value::from(arguments.to_string());
        let name = &self.name;
        let source = self.source.trim_end().replace('\\', "\\\\").replace('"', "\\\"");
        Ok(format!(
            "def tool_{name}(arguments):\n    import json\n    space = {{\"__name__\": \"{name}\"}}\n    exec(\"\"\"\n{source}\n\"\"\", space)\n    \
             result = space[\"run\"](**json.loads(arguments))\n    if result is not None:\n        print(result)\n\n\
             tool_{name}({literal})\n"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_checked_and_a_call_is_python() {
        for name in ["", "Draw", "9a", "a b", "draw_arrow", "query", "file_read"] {
            assert!(Name::try_from(name.to_owned()).is_err(), "{name}");
        }
        assert!(Name::try_from("double_it".to_owned()).is_ok());
        for schema in ["", "[]", "{}", r#"{"type": "string"}"#] {
            assert!(Schema::try_from(schema.to_owned()).is_err(), "{schema}");
        }
        assert!(Source::try_from("/surely/not/there.py".to_owned()).is_err());
        let place = tempfile::tempdir().unwrap();
        for (text, is_fine) in
            [("def run(n):\n    return n\n", true), ("def walk():\n    pass\n", false)]
        {
            let file = place.path().join("tool.py");
            fs::write(&file, text).unwrap();
            assert_eq!(Source::try_from(file.display().to_string()).is_ok(), is_fine, "{text}");
        }
        assert!(Source::try_from(place.path().display().to_string()).is_err());
        let tool = CustomTool {
            name: "double_it".into(),
            description: String::new(),
            schema: r#"{"type": "object"}"#.into(),
            source: "def run(n):\n    return 2 * n\n".into(),
        };
        let code = tool.code(r#"{"n": "\"\u3042"}"#).unwrap();
        assert!(code.contains(r#"tool_double_it("{\"n\":\"\\\""#), "{code}");
        assert!(tool.code("[]").is_err() && tool.code("n").is_err());
    }
}
