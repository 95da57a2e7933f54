//! The tool `python:interpreter`: runs Python on the data of a session, in a sandbox without the project and without the
//! network. Only the session has that sandbox; this checks the arguments.

use super::call::{Call, Work, arguments};
use super::data;
use super::registry::{Risk, Tool};
use super::workplace::Workplace;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(super) static INTERPRETER: Tool = Tool { name: NAME, risk: Risk::Compute, prepare };

const NAME: &str = "python:interpreter";

const LONGEST: usize = 256 * 1024;

/// What an execution has come to, as the outcome of the call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Computed {
    pub success: bool,
    pub stdout: String,
    pub error: Option<String>,
    pub files: Vec<ComputedFile>,
    /// Files that are not kept, each with the reason in a word.
    #[serde(default)]
    pub not_kept: Vec<(String, String)>,
}

/// A file that the code has saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputedFile {
    /// The name that the code gave it.
    pub saved_as: String,
    /// Its name among the files of the session.
    pub file_name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    code: String,
}

/// The arguments of a call that runs this code.
pub fn interpreter_arguments(code: &str) -> String {
    json!({ "code": code }).to_string()
}

/// The Python that a call of this tool runs; `None`: it runs none.
pub fn code(tool: &str, text: &str) -> Option<String> {
    match tool {
        NAME => serde_json::from_str(text).ok().map(|Arguments { code }| code),
        _ => data::code(tool, text),
    }
}

impl Computed {
    pub fn to_text(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|err| err.to_string())
    }

    /// Reads the outcome of a call. One that cannot be read has failed.
    pub fn read(outcome: Result<String, String>) -> Self {
        let read =
            outcome.and_then(|text| serde_json::from_str(&text).map_err(|err| err.to_string()));
        read.unwrap_or_else(|reason| Self { error: Some(reason), ..Self::default() })
    }
}

fn prepare(_: &Workplace, text: &str) -> Result<Call, String> {
    let Arguments { code } = arguments(&INTERPRETER, text)?;
    if code.trim().is_empty() || code.len() > LONGEST {
        return Err("code has to be a text of at most 256 KiB".to_owned());
    }
    let input = json!({ "code": code });
    let title_values = vec![("code", code.clone())];
    let work = Work::Compute { code };
    Ok(Call { tool: &INTERPRETER, input, title_values, path: None, lines: None, work })
}
