//! What is in a data file, as far as a model may know it.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DataFrameInfo {
    /// Rows and columns.
    pub shape: [u64; 2],
    pub columns: Vec<String>,
    pub dtypes: BTreeMap<String, String>,
    /// The first rows; what is missing is null.
    pub head: Vec<Map<String, Value>>,
    pub encoding: String,
    pub delimiter: String,
    /// What was repaired or left out: each has a `kind` and its parameters, such as `line`.
    pub warnings: Vec<Map<String, Value>>,
    pub sampled: Option<Sampled>,
    /// All values of each text column that has few different ones.
    #[serde(default)]
    pub values: BTreeMap<String, Vec<String>>,
    /// How the dates of each column of dates are written, such as `%d/%m/%Y`.
    #[serde(default)]
    pub dates: BTreeMap<String, String>,
}

/// Of a file that is too large for one action only this many rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Sampled {
    pub rows_read: u64,
    pub rows_total: u64,
}

/// Something that was repaired or left out when a table was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub kind: String,
    /// What it is about, such as `line`, as texts.
    pub values: Vec<(String, String)>,
}

impl DataFrameInfo {
    /// The first rows as a JSON list of records.
    pub fn head_text(&self) -> String {
        serde_json::to_string(&self.head).unwrap_or_default()
    }

    pub fn warnings(&self) -> Vec<Warning> {
        let warning = |told: &Map<String, Value>| Warning {
            kind: told.get("kind").map(text).unwrap_or_default(),
            values: told.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        };
        self.warnings.iter().map(warning).collect()
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}
