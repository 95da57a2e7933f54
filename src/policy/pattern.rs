//! Names with `*` for anything, without regard to case.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern(Vec<String>);

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self(text.to_lowercase().split('*').map(str::to_owned).collect())
    }
}

impl Pattern {
    pub(super) fn fits(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|only| *only == name);
        };
        let Some(mut rest) = name.strip_prefix(first.as_str()) else { return false };
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, fits: bool) {
        assert_eq!(Pattern::from(pattern.to_owned()).fits(name), fits, "{pattern} {name}");
    }

    #[test]
    fn stars_stand_for_anything() {
        check("read", "Read", true);
        check("read", "read_file", false);
        check("*", "", true);
        check("read*", "read_file", true);
        check("*git push*", "Run `git push origin`", true);
        check("a*b*c", "a-x-b-y-c", true);
        check("a*b*c", "a-c-b", false);
        check("ab*ba", "aba", false);
    }
}
