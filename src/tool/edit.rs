//! Tools that change one file: `file:write` and `file:replace`. A change is worked out before the user is asked for
//! approval, and applied only if the file has not changed since.

use super::call::{Call, Outcome, Work, arguments, shown_path};
use super::registry::{Risk, Tool};
use super::workplace::{Workplace, WorkplaceError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) static WRITE: Tool =
    Tool { name: "file:write", risk: Risk::Edit, prepare: prepare_write };
pub(super) static REPLACE: Tool =
    Tool { name: "file:replace", risk: Risk::Edit, prepare: prepare_replace };

/// The change that a call makes once it is approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    path: String,
    /// `None`: the file does not exist.
    pub before: Option<String>,
    pub after: String,
    /// The result that is reported once the change is applied.
    done: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplaceArguments {
    path: String,
    old: String,
    new: String,
    /// Replace every occurrence; otherwise there must be exactly one.
    #[serde(default)]
    all: bool,
}

fn prepare_write(place: &Workplace, text: &str) -> Result<Call, String> {
    let WriteArguments { path, content } = arguments(&WRITE, text)?;
    let input = json!({ "path": path, "content": content });
    Ok(call(&WRITE, input, path.clone(), write(place, path, content)))
}

fn prepare_replace(place: &Workplace, text: &str) -> Result<Call, String> {
    let asked: ReplaceArguments = arguments(&REPLACE, text)?;
    let ReplaceArguments { path, old, new, all } = &asked;
    let input = json!({ "path": path, "old": old, "new": new, "all": all });
    Ok(call(&REPLACE, input, path.clone(), replace(place, asked)))
}

fn write(place: &Workplace, path: String, content: String) -> Result<Change, String> {
    let reason = |err: WorkplaceError| err.to_string();
    place.check_change(&path).map_err(reason)?;
    let before = place.text_if_there(&path).map_err(reason)?;
    let size = content.len();
    let done = match before {
        Some(_) => format!("{path} is rewritten: {size} bytes"),
        None => format!("{path} is written: {size} bytes"),
    };
    Ok(Change { path, before, after: content, done })
}

fn replace(place: &Workplace, asked: ReplaceArguments) -> Result<Change, String> {
    let ReplaceArguments { path, old, new, all } = asked;
    let reason = |err: WorkplaceError| err.to_string();
    place.check_change(&path).map_err(reason)?;
    let before = place.text(&path).map_err(reason)?;
    let count = occurrences(&path, &before, &old, all)?;
    let after = before.replace(&old, &new);
    let done = match count {
        1 => format!("replaced once in {path}"),
        count => format!("replaced {count} times in {path}"),
    };
    Ok(Change { path, before: Some(before), after, done })
}

fn call(tool: &'static Tool, input: Value, path: String, change: Result<Change, String>) -> Call {
    let title_values = vec![("path", shown_path(&path))];
    let work = change.map_or_else(Work::Impossible, Work::Edit);
    Call { tool, input, title_values, path: Some(path), lines: None, work }
}

fn occurrences(path: &str, text: &str, old: &str, all: bool) -> Result<usize, String> {
    if old.is_empty() {
        return Err("the old text is empty: give the text that is to be replaced".to_owned());
    }
    match text.matches(old).count() {
        0 => Err(format!(
            "the old text does not occur in {path}: read the file and copy the text exactly"
        )),
        count if count > 1 && !all => Err(format!(
            "the old text occurs {count} times in {path}: include more of the text around it, or set `all`"
        )),
        count => Ok(count),
    }
}

impl Change {
    /// The path of the changed file.
    pub fn file(&self, place: &Workplace) -> PathBuf {
        place.root().join(&self.path)
    }

    /// Writes the file; blocking.
    pub(super) fn apply(&self, place: &Workplace) -> Outcome {
        place
            .write(&self.path, self.before.as_deref(), &self.after)
            .map_err(|err| err.to_string())?;
        Ok(self.done.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(place: &Workplace, old: &str, new: &str, all: bool) -> Result<Change, String> {
        let arguments = json!({ "path": "a.txt", "old": old, "new": new, "all": all });
        let call = prepare_replace(place, &arguments.to_string()).unwrap();
        match call.impossible() {
            Some(reason) => Err(reason.to_owned()),
            None => Ok(call.change().unwrap().clone()),
        }
    }

    #[test]
    fn a_replacement_must_be_unambiguous_and_the_file_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let place = Workplace::new(directory.path(), &[]);
        std::fs::write(directory.path().join("a.txt"), "one two two").unwrap();
        for (old, all, expected) in [
            ("", false, "is empty"),
            ("three", true, "does not occur in a.txt"),
            ("two", false, "occurs 2 times in a.txt"),
        ] {
            let refused = plan(&place, old, "x", all).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
        let change = plan(&place, "two", "2", true).unwrap();
        assert_eq!(change.apply(&place).unwrap(), "replaced 2 times in a.txt");
        assert_eq!(place.text("a.txt").unwrap(), "one 2 2");
        // The file has changed since the change was worked out.
        assert!(change.apply(&place).unwrap_err().contains("has changed meanwhile"));
    }
}
