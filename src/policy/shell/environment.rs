//! Variables that programs run, or read as a script.

use super::field::{Feed, Field};
use super::walk::{Dirs, Walker};

/// Variables whose value is run by whatever reads them.
const RUN_BY_NAME: [&str; 27] = [
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "BROWSER",
    "LESSOPEN",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "ENV",
    "RUSTC_WRAPPER",
    "RSYNC_RSH",
    "FZF_DEFAULT_COMMAND",
    "SUDO_EDITOR",
    "SHELL",
];
/// Variables that name a script which shells read when they start.
const SCRIPTS: [&str; 2] = ["BASH_ENV", "ENV"];
/// Parts of the names of variables that hold a text for people.
const SPOKEN: [&str; 8] = ["MSG", "MESSAGE", "TITLE", "BODY", "TEXT", "DESC", "COMMENT", "PROMPT"];
/// Programs that variables stand for where nobody has set them.
const TOOLS: [(&str, &str); 18] = [
    ("CC", "cc"),
    ("CXX", "c++"),
    ("LD", "ld"),
    ("AR", "ar"),
    ("MAKE", "make"),
    ("CMAKE", "cmake"),
    ("CARGO", "cargo"),
    ("RUSTC", "rustc"),
    ("PYTHON", "python3"),
    ("PIP", "pip"),
    ("NODE", "node"),
    ("NPM", "npm"),
    ("GO", "go"),
    ("EDITOR", "vi"),
    ("VISUAL", "vi"),
    ("PAGER", "less"),
    ("SHELL", "sh"),
    ("BASH", "bash"),
];

/// Names of files in scripts.
const FILES: [&str; 9] =
    ["TMP", "TEMP", "TMPFILE", "TEMPFILE", "OUT", "OUTPUT", "FILE", "LOG", "LOGFILE"];

/// Names that only scripts use for themselves; other programs have capital letters.
pub(super) fn is_of_script(name: &str) -> bool {
    !name.contains(|one: char| one.is_ascii_uppercase()) || FILES.contains(&name)
}

/// What a variable holds that the script sets nowhere, as far as that is the same everywhere.
pub(super) fn usual(name: &str) -> Option<&'static str> {
    TOOLS.iter().find(|(variable, _)| *variable == name).map(|(_, program)| *program)
}

/// Who sees a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    ByTheShell,
    /// Programs that it starts, too.
    ByPrograms,
}

impl Walker<'_> {
    pub(super) fn variable(&mut self, name: &str, value: &Field, dirs: &Dirs, seen: Seen) {
        if SCRIPTS.contains(&name) {
            self.sourced(std::slice::from_ref(value), dirs, &Feed::Nothing);
        }
        if let Some(name) = name.strip_prefix("BASH_FUNC_") {
            let name = name.trim_end_matches(['%', '(', ')']);
            self.text(&format!("{name} {}", value.text), dirs, &Feed::Nothing);
        } else if RUN_BY_NAME.contains(&name) || name.starts_with("GIT_CONFIG_VALUE") {
            let before = std::mem::replace(&mut self.lenient, true);
            self.text(&value.text, dirs, &Feed::Nothing);
            self.lenient = before;
        } else if seen == Seen::ByPrograms && !SPOKEN.iter().any(|part| name.contains(part)) {
            let is_command = value.text.contains(char::is_whitespace);
            self.perhaps_texts(is_command.then(|| value.text.clone()).as_slice(), dirs);
        }
    }
}
