//! Patterns of file names, such as `/etc/*` and `~/**`. What stands before the first wildcard is a path like any other.

use std::path::{Component, Path};

const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// The directory below which everything lies that fits; all of it where there is no wildcard.
pub(super) fn base(pattern: &str) -> &str {
    let pattern = pattern.trim_start_matches('!');
    let Some(wild) = pattern.find(WILDCARDS) else { return pattern };
    let fixed = &pattern[..wild];
    &fixed[..fixed.rfind('/').map_or(0, |slash| slash + 1)]
}

/// Whether a text that may also be a regular expression, or just a text, reads like a pattern of names that leads away
/// from where the agent works.
pub(super) fn leads_away(text: &str) -> bool {
    if !text.contains(WILDCARDS) || !may_be_names(text) {
        return false;
    }
    let base = base(text);
    let path = Path::new(base);
    let climbs = path.components().any(|part| part == Component::ParentDir);
    // Of `/api/.*` there is no directory here.
    base.starts_with("~/") || climbs || (path.is_absolute() && path.is_dir())
}

/// Whether such a text may be a pattern of names at all. A plain word is one that is looked for in files, a comment
/// begins with two slashes, and what is quoted is no name.
pub(super) fn may_be_names(text: &str) -> bool {
    (text.contains(WILDCARDS) || text.contains('/'))
        && !text.starts_with("//")
        && text.chars().all(is_of_names)
}

fn is_of_names(one: char) -> bool {
    one.is_alphanumeric() || "~!._-+@/*?[]{},".contains(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_wildcard_is_a_path() {
        for (pattern, expected) in [
            ("/etc/*", "/etc/"),
            ("/etc/ss?/x", "/etc/"),
            ("~/**", "~/"),
            ("/**/*.rs", "/"),
            ("!/etc/{a,b}", "/etc/"),
            ("../../x[0-9]", "../../"),
            ("/etc/passwd", "/etc/passwd"),
            ("**/*.rs", ""),
            ("src*", ""),
        ] {
            assert_eq!(base(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn texts_and_expressions_are_told_from_names() {
        for text in ["/etc/*", "~/**", "/**/*.pem", "../*", "src/../../*"] {
            assert!(leads_away(text), "{text}");
        }
        for text in
            ["/api/.*", "/etc/", "src/*", "//.*TODO", "/* a comment */", r"/etc\b.*", "a.*b"]
        {
            assert!(!leads_away(text), "{text}");
        }
    }
}
