//! `[projects]`: further directories that a session may choose to work on.

use serde::Deserialize;

/// What people see in a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ProjectName(pub(super) String);

impl TryFrom<String> for ProjectName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(format!("`{}` is not a name for a project", text.escape_debug()));
        }
        Ok(Self(text))
    }
}
