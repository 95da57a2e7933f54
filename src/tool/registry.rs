//! All tools, found by their names.

use super::call::Call;
use super::workplace::Workplace;
use super::{data, edit, floor, look, python, query, request, shell};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What models are told about each tool.
const DESCRIPTIONS: &str = include_str!("../../config/prompts/tools.json");

static TOOLS: [&Tool; 15] = [
    &look::READ,
    &look::LIST,
    &look::SEARCH,
    &edit::WRITE,
    &edit::REPLACE,
    &shell::EXECUTE,
    &request::REQUEST,
    &python::INTERPRETER,
    &floor::DRAW_ARROW,
    &floor::CLEAR_ARROWS,
    &floor::SHOW_MAP,
    &floor::CLEAR_MAP,
    &data::TITANIC,
    &data::SAVE,
    &query::QUERY,
];

#[derive(Debug)]
pub struct Tool {
    /// Namespace and verb, as rules and users know it, such as `file:read`; or a word that a document gives.
    pub name: &'static str,
    pub risk: Risk,
    /// Checks the arguments, a JSON object, and says what the call would do. Reads files, so it is blocking.
    pub(super) prepare: fn(&Workplace, &str) -> Result<Call, String>,
}

/// What a wrong call could do. Rules can name a risk instead of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Risk {
    Read,
    Search,
    Edit,
    Execute,
    /// It gives work to an agent, which asks for itself.
    Request,
    /// It computes in a sandbox of its own, out of reach of the project.
    Compute,
}

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub tool: &'static str,
    pub text: String,
    /// JSON schema of the arguments.
    pub schema: String,
}

pub fn all() -> &'static [&'static Tool] {
    &TOOLS
}

/// The tool that a model calls by this name. The error is for the model.
pub fn find_for_model(name: &str) -> Result<&'static Tool, String> {
    find(name).ok_or_else(|| {
        let names: Vec<_> = TOOLS.iter().map(|tool| tool.model_name()).collect();
        format!("there is no tool `{name}`; there are {}", names.join(", "))
    })
}

/// Finds a tool by its name or by its name for models.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name || tool.model_name() == name)
}

/// The descriptions of these tools, in this order. The file is compiled in, and a test checks that it can be read.
pub fn descriptions(tools: &[&str]) -> Vec<Description> {
    #[derive(Deserialize)]
    struct Row {
        name: String,
        description: String,
        schema: Box<RawValue>,
    }
    let rows: Vec<Row> = serde_json::from_str(DESCRIPTIONS).unwrap_or_default();
    let described = |name: &&str| {
        let row = rows.iter().find(|row| row.name == **name)?;
        let (text, schema) = (row.description.clone(), row.schema.get().to_owned());
        Some(Description { tool: find(name)?.name, text, schema })
    };
    tools.iter().filter_map(described).collect()
}

impl Tool {
    /// The name for models: vendors allow only letters, digits, `_` and `-`.
    pub fn model_name(&self) -> String {
        self.name.replace(':', "_")
    }

    /// Checks a call; blocking. The error tells the model what is wrong with its arguments.
    pub fn prepare(&self, place: &Workplace, arguments: &str) -> Result<Call, String> {
        (self.prepare)(place, arguments)
    }
}

impl Risk {
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Edit => "edit",
            Self::Execute => "execute",
            Self::Request => "request",
            Self::Compute => "compute",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_tool_is_described_and_accepts_what_its_schema_says() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("x"), "x\n").unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        let place = Workplace::new(directory.path(), &[]);
        let names: Vec<_> = all().iter().map(|tool| tool.name).collect();
        let descriptions = descriptions(&names);
        assert_eq!(descriptions.iter().map(|one| one.tool).collect::<Vec<_>>(), names);
        for described in &descriptions {
            let tool = find(described.tool).unwrap();
            let schema: Value = serde_json::from_str(&described.schema).unwrap();
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
            let arguments: serde_json::Map<_, _> = fields.iter().map(value).collect();
            let call = tool.prepare(&place, &Value::Object(arguments).to_string());
            assert!(call.is_ok(), "{}: {call:?}", tool.name);
            let missing = schema["required"].as_array().unwrap();
            let refused = tool.prepare(&place, "{}");
            assert_eq!(refused.is_err(), !missing.is_empty(), "{}", tool.name);
            assert!(tool.prepare(&place, r#"{"other": 1}"#).is_err(), "{}", tool.name);
        }
    }

    #[test]
    fn models_find_every_tool_by_a_name_that_vendors_allow() {
        for tool in all() {
            let name = tool.model_name();
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                "{name}"
            );
            assert_eq!(find(&name).unwrap().name, tool.name);
        }
        assert!(
            find_for_model("file_burn").unwrap_err().contains("there are file_read, file_list")
        );
    }
}
