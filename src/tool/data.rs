//! Tools for data that run as Python in the session's sandbox: a table to try things with, and saving a table. This
//! writes their code; only the session has the sandbox.

use super::call::{Call, Work, arguments};
use super::registry::{Risk, Tool};
use super::workplace::Workplace;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) static TITANIC: Tool = tool("get_titanic_data", titanic);
pub(super) static SAVE: Tool = tool("save_data", save);

const LONGEST_NAME: usize = 120;
const LONGEST_DATA: usize = 200 * 1024;

/// The table stays in the variable that the text names.
const LOAD: &str = "\
titanic = sns.load_dataset('titanic')
print(f'variable titanic: {len(titanic)} rows, columns {list(titanic.columns)}')
print(titanic.head(10).to_csv(index=False))
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaveArguments {
    dataset: String,
    file_name: String,
}

const fn tool(name: &'static str, prepare: fn(&Workplace, &str) -> Result<Call, String>) -> Tool {
    Tool { name, risk: Risk::Compute, prepare }
}

/// The code that a call of one of these tools runs.
pub(super) fn code(name: &str, text: &str) -> Option<String> {
    match name {
        "get_titanic_data" => titanic_code(text).ok(),
        "save_data" => save_code(text).ok()?.ok(),
        _ => None,
    }
}

fn titanic(_: &Workplace, text: &str) -> Result<Call, String> {
    titanic_code(text).map(|code| call(&TITANIC, json!({}), Work::Compute { code }))
}

fn titanic_code(text: &str) -> Result<String, String> {
    let Nothing {} = arguments(&TITANIC, text)?;
    Ok(LOAD.to_owned())
}

fn save(_: &Workplace, text: &str) -> Result<Call, String> {
    let code = save_code(text)?;
    let input: Value = serde_json::from_str(text).map_err(|err| err.to_string())?;
    let work =
        code.map_or_else(|why| Work::Impossible(why.to_owned()), |code| Work::Compute { code });
    Ok(call(&SAVE, input, work))
}

/// Wrong arguments are an error; a value that is not allowed is the inner one.
fn save_code(text: &str) -> Result<Result<String, &'static str>, String> {
    let SaveArguments { dataset, file_name } = arguments(&SAVE, text)?;
    if !is_name(&file_name) {
        return Ok(Err("file_name has to be a plain name such as data.csv"));
    }
    if dataset.len() > LONGEST_DATA {
        return Ok(Err(
            "dataset has to be at most 200 KiB; save the variable of a larger one by its name",
        ));
    }
    let table = if is_variable(&dataset) {
        dataset
    } else if serde_json::from_str::<Value>(&dataset).is_ok() {
        format!("json.loads({})", json!(dataset))
    } else {
        return Ok(Err("dataset has to be the name of a variable, or a table as JSON"));
    };
    let name = if file_name.contains('.') { file_name } else { format!("{file_name}.csv") };
    let place = json!(name);
    Ok(Ok(format!(
        "import json\npd.DataFrame({table}).to_csv(f'{{workspace_dir}}/' + {place}, index=False)\nprint('saved', {place})\n"
    )))
}

fn is_variable(text: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    text.as_bytes().first().is_some_and(is_letter)
        && text.bytes().all(|byte| is_letter(&byte) || byte.is_ascii_digit())
        && !["true", "false", "null"].contains(&text)
}

fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_. ".contains(letter);
    !text.is_empty()
        && text.len() <= LONGEST_NAME
        && !text.starts_with(['.', '-', ' '])
        && !text.ends_with(['.', ' '])
        && text.chars().all(is_plain)
}

fn call(tool: &'static Tool, input: Value, work: Work) -> Call {
    let title_values = input["file_name"].as_str().map(|name| ("file_name", name.to_owned()));
    let title_values = title_values.into_iter().collect();
    Call { tool, input, title_values, path: None, lines: None, work }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn only_plain_names_and_tables_become_code() {
        let place = Workplace::new(Path::new("/"), &[]);
        let saved = |dataset: &str, file: &str| {
            let text = json!({"dataset": dataset, "file_name": file}).to_string();
            let call = SAVE.prepare(&place, &text).unwrap();
            assert_eq!(call.code(), code("save_data", &text).as_deref());
            call.code().map(str::to_owned).ok_or_else(|| call.impossible().unwrap().to_owned())
        };
        assert!(saved("titanic", "a.csv").unwrap().contains("pd.DataFrame(titanic)"));
        let quoted = saved(r#"[{"a": "it's \"b\"\n"}]"#, "a").unwrap();
        assert!(
            quoted.contains(r#"json.loads("[{\"a\": "#) && quoted.contains("\"a.csv\""),
            "{quoted}"
        );
        for (dataset, file) in [
            ("titanic", "../a.csv"),
            ("titanic", ".a"),
            ("titanic", "a'b"),
            ("titanic", ""),
            ("__import__('os')", "a.csv"),
            ("a b", "a.csv"),
            ("", "a.csv"),
        ] {
            assert!(saved(dataset, file).is_err(), "{dataset} {file}");
        }
    }
}
