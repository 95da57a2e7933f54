//! Arguments as a command gets them, as far as they are known before it runs.

use std::path::Path;

/// Stand in a text for what is not known of it. No script has these characters: such a script is not read at all.
pub(super) const UNKNOWN: char = '\u{1}';
/// Not known, and from the network.
pub(super) const DOWNLOADED: char = '\u{2}';
/// `*`, `?` or `[` that stands for names of files.
pub(super) const WILD: char = '\u{3}';
/// Somebody's home directory.
pub(super) const HOME: char = '\u{4}';
/// Between two arguments.
pub(super) const SEPARATOR: char = '\u{5}';
/// `{`, `,` and `}` without quotes.
pub(super) const OPEN: char = '\u{6}';
pub(super) const COMMA: char = '\u{7}';
pub(super) const CLOSE: char = '\u{8}';
/// Not known, because the script sets it nowhere: a variable of the environment, within quotes.
pub(super) const UNSET: char = '\u{e}';
/// The same with a name that other programs know, too: it may lead to something of the user's.
pub(super) const EXPORTED: char = '\u{12}';
/// A file or directory that `mktemp` has made.
pub(super) const TEMPORARY: char = '\u{f}';
/// A branch or a commit, as git names it: it begins with no sign of an option, and has no blanks.
pub(super) const GIT_NAME: char = '\u{10}';
/// What a program says that sets up shells, such as `ssh-agent -s`.
pub(super) const SETUP: char = '\u{11}';

/// What a command reads, or says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Feed {
    /// Whatever the gateway gives to its commands.
    Nothing,
    /// As far as it is known.
    Known(String),
    /// A file, as it is on the disk.
    File,
    Unknown,
    Downloaded,
}

impl Feed {
    /// What becomes of it in a program that nobody knows.
    pub(super) fn worked_on(&self) -> Self {
        if self.is_downloaded() { Self::Downloaded } else { Self::Unknown }
    }

    pub(super) fn is_downloaded(&self) -> bool {
        match self {
            Self::Known(text) => text.contains(DOWNLOADED),
            Self::Downloaded => true,
            Self::Nothing | Self::File | Self::Unknown => false,
        }
    }

    /// As a part of a word.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Known(text) => text.trim_end_matches('\n').to_owned(),
            Self::File | Self::Unknown => UNKNOWN.to_string(),
            Self::Downloaded => DOWNLOADED.to_string(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    /// What is read from it, where it stands for a pipe: `<(...)`.
    pub(super) feed: Option<Feed>,
}

impl Field {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), feed: None }
    }

    /// What a program is known by: the last part of its path, without regard to case. `None`: nobody knows.
    pub(super) fn name(&self) -> Option<String> {
        let last = self.text.rsplit('/').next().unwrap_or_default();
        let last = last.strip_prefix('=').unwrap_or(last);
        let name = last.to_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        (!name.contains(|one| is_unknown(one) || one == WILD || one == HOME))
            .then(|| name.to_owned())
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.text.contains(is_unknown)
    }

    pub(super) fn is_downloaded(&self) -> bool {
        self.text.contains(DOWNLOADED) || self.feed.as_ref().is_some_and(Feed::is_downloaded)
    }

    /// It may turn out to be an option.
    pub(super) fn may_be_option(&self) -> bool {
        let begins = |one| is_unknown(one) && one != GIT_NAME && one != TEMPORARY;
        self.text.starts_with(|one| begins(one) || one == WILD)
    }

    pub(super) fn is_wild(&self) -> bool {
        self.text.contains(WILD)
    }

    /// It may be an option or a sign, or several arguments.
    pub(super) fn is_unclear(&self) -> bool {
        self.text.starts_with([UNSET, EXPORTED]) || self.may_be_several()
    }

    pub(super) fn may_be_several(&self) -> bool {
        let is_one =
            |one| matches!(one, UNSET | EXPORTED | GIT_NAME | TEMPORARY) || !is_unknown(one);
        !self.text.chars().all(is_one)
    }

    /// Nothing of it is unknown but variables that the script sets nowhere.
    pub(super) fn is_unset(&self) -> bool {
        self.is_unknown() && self.text.chars().all(|one| one == UNSET || !is_unknown(one))
    }

    /// One of a program's own devices, which are no danger.
    pub(super) fn device(&self) -> Option<String> {
        let path = lexical(Path::new(&self.text));
        let name = path.to_str()?.strip_prefix("/dev/")?;
        let harmless = [
            "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "random", "urandom", "ptmx",
        ];
        let is_harmless = harmless.contains(&name)
            || ["fd/", "pts/", "shm/"].iter().any(|begin| name.starts_with(begin));
        (!is_harmless).then(|| name.to_owned())
    }
}

pub(super) fn is_unknown(one: char) -> bool {
    matches!(one, UNKNOWN | DOWNLOADED | UNSET | EXPORTED | TEMPORARY | GIT_NAME | SETUP)
}

/// Devices on which everything is that a machine has.
pub(super) fn is_disk(device: &str) -> bool {
    let disks = [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "loop", "mapper/", "disk/", "disk",
        "rdisk", "mem", "kmem", "port",
    ];
    disks.iter().any(|begin| device.starts_with(begin))
}

/// Whether a path has a part that may be `..` once its wildcards are filled in.
pub(super) fn may_climb(part: &str) -> bool {
    part.starts_with('.')
        && part.contains(WILD)
        && part.chars().all(|one| one == '.' || one == WILD || one == ']' || one == '!')
}

/// `{a,b}` and `{a..c}` written out; braces that mean nothing stand for themselves.
pub(super) fn braces(text: &str, most: usize) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        match first_group(&text) {
            Some((begin, choices, end)) => {
                let written = choices.iter().rev().map(|choice| format!("{begin}{choice}{end}"));
                open.extend(written);
            }
            None => done.push(text.replace(OPEN, "{").replace(COMMA, ",").replace(CLOSE, "}")),
        }
        if done.len() + open.len() > most {
            return None;
        }
    }
    Some(done)
}

/// The first pair of braces that means something, with what it stands for.
fn first_group(text: &str) -> Option<(String, Vec<String>, String)> {
    for (at, _) in text.match_indices(OPEN) {
        let (mut depth, mut commas) = (0_usize, Vec::new());
        for (index, one) in text[at..].char_indices() {
            match one {
                OPEN => depth += 1,
                COMMA if depth == 1 => commas.push(at + index),
                CLOSE => depth -= 1,
                _ => {}
            }
            if depth > 0 {
                continue;
            }
            let (inner, end) = (&text[at + 1..at + index], text[at + index + 1..].to_owned());
            let choices = if commas.is_empty() {
                range(inner)
            } else {
                Some(split(text, at, &commas, at + index))
            };
            if let Some(choices) = choices {
                // What stands before it means nothing any more.
                let before = text[..at].replace(OPEN, "{");
                return Some((before, choices, end));
            }
            break;
        }
    }
    None
}

fn split(text: &str, open: usize, commas: &[usize], close: usize) -> Vec<String> {
    let mut begin = open + 1;
    let mut choices = Vec::new();
    for end in commas.iter().copied().chain([close]) {
        choices.push(text[begin..end].to_owned());
        begin = end + 1;
    }
    choices
}

/// `a..e` and `1..9`; nobody needs many.
fn range(inner: &str) -> Option<Vec<String>> {
    let (first, last) = inner.split_once("..")?;
    if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
        return (first.abs_diff(last) < 64)
            .then(|| (first.min(last)..=first.max(last)).map(|one| one.to_string()).collect());
    }
    let only = |text: &str| {
        Some(text.chars().next()?).filter(|one| one.is_ascii_alphabetic() && text.len() == 1)
    };
    let (first, last) = (only(first)?, only(last)?);
    Some((first.min(last)..=first.max(last)).map(|one| one.to_string()).collect())
}

/// The same path without `.` and `..`, as `cd` follows it.
pub(super) fn lexical(path: &Path) -> std::path::PathBuf {
    use std::path::Component;
    let mut found = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => found.push(part),
        }
    }
    found
}
