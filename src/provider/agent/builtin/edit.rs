//! Changes to one file: planned before they are asked about, and made only if the file is still the same.

use super::tool::Call;
use super::workplace::{Workplace, WorkplaceError};
use agent_client_protocol_schema::v1::Diff;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    path: String,
    before: Option<String>,
    after: String,
    /// What is said when it is done.
    done: String,
}

/// `None`: this call changes no file. Blocks.
pub(super) fn plan(place: &Workplace, call: &Call) -> Result<Option<Edit>, String> {
    let told = |err: WorkplaceError| err.to_string();
    Ok(match call {
        Call::Write { path, content } => {
            place.check_change(path).map_err(told)?;
            let before = place.text_if_there(path).map_err(told)?;
            let size = content.len();
            let done = match before {
                Some(_) => format!("{path} is rewritten: {size} bytes"),
                None => format!("{path} is written: {size} bytes"),
            };
            Some(Edit { path: path.clone(), before, after: content.clone(), done })
        }
        Call::Replace { path, old, new, all } => {
            place.check_change(path).map_err(told)?;
            let before = place.text(path).map_err(told)?;
            let count = occurrences(path, &before, old, *all)?;
            let after = before.replace(old, new);
            let done = match count {
                1 => format!("replaced once in {path}"),
                count => format!("replaced {count} times in {path}"),
            };
            Some(Edit { path: path.clone(), before: Some(before), after, done })
        }
        Call::Read { .. } | Call::List { .. } | Call::Search { .. } | Call::Run { .. } => None,
    })
}

fn occurrences(path: &str, text: &str, old: &str, all: bool) -> Result<usize, String> {
    if old.is_empty() {
        return Err("the old text is empty: give the text that is to be replaced".to_owned());
    }
    match text.matches(old).count() {
        0 => Err(format!(
            "the old text does not occur in {path}: read the file and take it exactly as it is there"
        )),
        count if count > 1 && !all => Err(format!(
            "the old text occurs {count} times in {path}: give more of what is around it, or ask for all"
        )),
        count => Ok(count),
    }
}

impl Edit {
    pub(super) fn diff(&self, place: &Workplace) -> Diff {
        let path = place.root().join(&self.path);
        Diff::new(path, self.after.clone()).old_text(self.before.clone())
    }

    /// Blocks.
    pub(super) fn make(&self, place: &Workplace) -> Result<String, String> {
        place
            .write(&self.path, self.before.as_deref(), &self.after)
            .map_err(|err| err.to_string())?;
        Ok(self.done.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(old: &str, new: &str, all: bool) -> Call {
        let text = |text: &str| text.to_owned();
        Call::Replace { path: text("a.txt"), old: text(old), new: text(new), all }
    }

    #[test]
    fn a_text_is_replaced_where_it_is_meant() {
        let directory = tempfile::tempdir().unwrap();
        let place = Workplace::new(directory.path(), &[]);
        std::fs::write(directory.path().join("a.txt"), "one two two").unwrap();
        for (call, expected) in [
            (replace("", "x", false), "is empty"),
            (replace("three", "x", true), "does not occur in a.txt"),
            (replace("two", "x", false), "occurs 2 times in a.txt"),
        ] {
            let refused = plan(&place, &call).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
        let edit = plan(&place, &replace("two", "2", true)).unwrap().unwrap();
        assert_eq!(edit.make(&place).unwrap(), "replaced 2 times in a.txt");
        assert_eq!(place.text("a.txt").unwrap(), "one 2 2");
        // What was shown is not what is there any more.
        assert!(edit.make(&place).unwrap_err().contains("has changed meanwhile"));
    }
}
