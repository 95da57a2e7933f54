//! What the steps of the analyst say to each other: what a table looks like, what to do next, code, results, a report.
//! Whatever a model wrote is checked here before anything acts on it.

use crate::locale::Locale;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// JSON schemas for models that can be held to one.
pub const REASON_SCHEMA: &str = include_str!("../../../config/prompts/analyst/reason.schema.json");
pub const CODE_SCHEMA: &str = include_str!("../../../config/prompts/analyst/code.schema.json");
pub const REPORT_SCHEMA: &str = include_str!("../../../config/prompts/analyst/report.schema.json");

/// What is known of a table without reading it: the only part of it that a model may see.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DataFrameInfo {
    /// Rows and columns.
    pub shape: (u64, u64),
    pub columns: Vec<String>,
    pub dtypes: Dtypes,
    /// The first five rows. What is missing is null.
    pub head: Vec<Map<String, Value>>,
    /// All values of each text column that has few different ones. Only the planner knows them: a model sees rows of
    /// the table nowhere but in `head`.
    #[serde(default, skip_serializing)]
    pub values: BTreeMap<String, Vec<String>>,
    /// How the dates of each column of dates are written, such as `%d/%m/%Y`.
    #[serde(default, skip_serializing)]
    pub dates: BTreeMap<String, String>,
}

/// The type of each column as pandas calls it, in the order of the columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dtypes(pub Vec<(String, String)>);

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NextAction {
    Ask,
    Act,
    Finalize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonOutput {
    pub next_action: NextAction,
    #[serde(default)]
    pub instruction: Option<String>,
    #[serde(default)]
    pub question: Option<String>,
    #[serde(default)]
    pub assumption: Option<String>,
    pub rationale: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeGenOutput {
    pub code: String,
    pub expected_outputs: Vec<ExpectedOutput>,
}

/// A file that code says it will save.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedOutput {
    pub file_name: String,
    pub description: String,
    pub output_type: OutputType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputType {
    Figure,
    Table,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionResult {
    pub success: bool,
    pub code: String,
    #[serde(default)]
    pub stdout: Option<String>,
    #[serde(default)]
    pub error: Option<String>,
    /// The files that are really there.
    #[serde(default)]
    pub outputs: Vec<ExpectedOutput>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportOutput {
    pub title: String,
    pub sections: Vec<ReportSection>,
    #[serde(default)]
    pub suggestions: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportSection {
    pub section_type: SectionType,
    /// Markdown, the name of an image, or a table as JSON.
    pub content: String,
    #[serde(default)]
    pub description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionType {
    Text,
    Image,
    Table,
}

/// Why something that a model wrote cannot be used. The model is told, so that it can write it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("this is not the JSON that was asked for: {0}")]
    NotTheSchema(String),
    #[error("next_action is act, but there is no instruction")]
    NoInstruction,
    #[error("there is no code")]
    NoCode,
    #[error("{0:?} is not a file name: write it without a directory")]
    NotAName(String),
    #[error("the report has no sections")]
    NoSections,
}

/// A section that was taken out of a report, by what it wanted to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedImage(pub String);

impl DataFrameInfo {
    /// `head` is a JSON list of records.
    pub fn new(rows: u64, columns: Vec<(String, String)>, head: &str) -> Self {
        Self {
            shape: (rows, columns.len() as u64),
            columns: columns.iter().map(|(name, _)| name.clone()).collect(),
            dtypes: Dtypes(columns),
            head: serde_json::from_str(head).unwrap_or_default(),
            values: BTreeMap::new(),
            dates: BTreeMap::new(),
        }
    }

    pub fn dtype(&self, column: &str) -> Option<&str> {
        self.dtypes.get(column)
    }
}

impl Dtypes {
    pub fn get(&self, column: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == column).map(|(_, dtype)| dtype.as_str())
    }
}

impl ReasonOutput {
    /// Reads what a model wrote. A question without words gets the usual ones.
    pub fn read(written: &str, locale: Locale) -> Result<Self, SchemaError> {
        let mut output: Self = parsed(written)?;
        let [instruction, question, assumption] =
            [&output.instruction, &output.question, &output.assumption].map(said);
        (output.instruction, output.assumption) = (instruction, assumption);
        output.question = match output.next_action {
            NextAction::Ask => {
                Some(question.unwrap_or_else(|| locale.say("analyst", "which_analysis", &[])))
            }
            NextAction::Act | NextAction::Finalize => question,
        };
        match (output.next_action, &output.instruction) {
            (NextAction::Act, None) => Err(SchemaError::NoInstruction),
            (NextAction::Act | NextAction::Ask | NextAction::Finalize, _) => Ok(output),
        }
    }
}

impl CodeGenOutput {
    pub fn read(written: &str) -> Result<Self, SchemaError> {
        let output: Self = parsed(written)?;
        if output.code.trim().is_empty() {
            return Err(SchemaError::NoCode);
        }
        match output.expected_outputs.iter().find(|file| !is_file_name(&file.file_name)) {
            Some(file) => Err(SchemaError::NotAName(file.file_name.clone())),
            None => Ok(output),
        }
    }
}

impl ReportOutput {
    /// Reads what a model wrote. Images that no code saved are taken out, and told to the caller; a table that is not
    /// one becomes a text.
    pub fn read(
        written: &str,
        outputs: &[ExpectedOutput],
    ) -> Result<(Self, Vec<RefusedImage>), SchemaError> {
        let mut report: Self = parsed(written)?;
        if report.sections.is_empty() {
            return Err(SchemaError::NoSections);
        }
        let mut refused = Vec::new();
        let mut kept = Vec::new();
        for mut section in std::mem::take(&mut report.sections) {
            match section.section_type {
                SectionType::Image if !shows(outputs, &section.content) => {
                    refused.push(RefusedImage(section.content));
                    continue;
                }
                SectionType::Table if !is_table(&section.content) => {
                    section.section_type = SectionType::Text;
                }
                SectionType::Text | SectionType::Image | SectionType::Table => {}
            }
            kept.push(section);
        }
        report.sections = kept;
        Ok((report, refused))
    }
}

/// Whether a name stays in the directory that it is used in.
pub fn is_file_name(name: &str) -> bool {
    let is_sign = |one: char| matches!(one, '/' | '\\' | ':') || one.is_control();
    !name.is_empty() && !name.starts_with('.') && !name.contains(is_sign)
}

fn shows(outputs: &[ExpectedOutput], name: &str) -> bool {
    let is_it =
        |file: &ExpectedOutput| file.file_name == name && file.output_type == OutputType::Figure;
    is_file_name(name) && outputs.iter().any(is_it)
}

/// Whether a text is JSON of which a data frame can be made: records, or columns.
fn is_table(content: &str) -> bool {
    match serde_json::from_str(content) {
        Ok(Value::Array(rows)) => rows.iter().all(Value::is_object),
        Ok(Value::Object(columns)) => {
            columns.values().all(|column| column.is_array() || column.is_object())
        }
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => false,
    }
}

fn parsed<'a, T: Deserialize<'a>>(written: &'a str) -> Result<T, SchemaError> {
    serde_json::from_str(written).map_err(|err| SchemaError::NotTheSchema(err.to_string()))
}

/// Models write an empty text where they mean none.
fn said(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.trim().is_empty())
}

impl Serialize for Dtypes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, dtype)| (name, dtype)))
    }
}

impl<'de> Deserialize<'de> for Dtypes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Dtypes;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("columns")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Dtypes, A::Error> {
                let mut dtypes = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    dtypes.push(entry);
                }
                Ok(Dtypes(dtypes))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests;
