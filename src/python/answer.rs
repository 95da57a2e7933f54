//! What came of an action.

use super::boxed::Limits;
use super::frame::Status;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct ActionResult {
    /// `None`: it succeeded.
    pub failure: Option<Failure>,
    /// What it said on stdout and stderr; `cut` bytes of the middle are left out.
    pub stdout: String,
    pub cut: u64,
    /// Files that are new or changed, also after a failure.
    pub outputs: Vec<OutputFile>,
    pub skipped: Vec<Skipped>,
    pub elapsed: Duration,
}

impl ActionResult {
    pub fn success(&self) -> bool {
        self.failure.is_none()
    }

    /// Why it failed, for models and people.
    pub fn error(&self) -> Option<String> {
        self.failure.as_ref().map(ToString::to_string)
    }
}

/// Why an action did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A traceback, with the lines of the code alone.
    #[error("{0}")]
    Exception(String),
    #[error("the code needed more than {}; use fewer rows or columns", size(*.0))]
    Memory(u64),
    #[error("the disk of this analysis is full: its files may have {} together; save fewer or smaller ones", size(*.0))]
    Disk(u64),
    #[error("the disk of this analysis is full: there may be {0} files; save fewer")]
    Files(u64),
    #[error("the code took longer than {} seconds and was stopped", .0.as_secs())]
    Time(Duration),
    #[error("Python ended while it ran the code (signal {0})")]
    Killed(i32),
    /// The whole interpreter is gone, and the next action starts a new one.
    #[error("the interpreter ended: {0}")]
    Ended(String),
}

impl Failure {
    pub(super) fn new(status: Status, text: &str, limits: &Limits) -> Option<Self> {
        match status {
            Status::Success => None,
            Status::Failed => Some(Self::Exception(text.to_owned())),
            Status::Memory => Some(Self::Memory(limits.memory)),
            Status::Disk if text == "files" => Some(Self::Files(limits.files)),
            Status::Disk => Some(Self::Disk(limits.disk)),
            Status::Killed => Some(Self::Killed(text.parse().unwrap_or(0))),
        }
    }
}

fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    match bytes / MIB {
        mib if mib >= 1024 && mib.is_multiple_of(1024) => format!("{} GB of memory", mib / 1024),
        mib => format!("{mib} MB"),
    }
}

/// A file that the code has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// A name without a path.
    pub name: String,
    pub kind: OutputKind,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    Figure,
    Table,
    Other,
}

impl OutputKind {
    pub(super) fn of(name: &str) -> Self {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("png" | "jpg" | "jpeg" | "svg" | "webp" | "gif") => Self::Figure,
            Some("csv" | "tsv" | "xlsx") => Self::Table,
            Some(_) | None => Self::Other,
        }
    }
}

/// A file that is not handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub name: String,
    /// A word: `many`, `large`, `total`, `name`, `directory`, `link` or `unreadable`.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_how_much_there_is() {
        let limits = Limits::default();
        let said = |status| Failure::new(status, "11", &limits).map(|one| one.to_string());
        assert_eq!(said(Status::Success), None);
        assert!(said(Status::Memory).unwrap().contains("more than 1 GB of memory"));
        assert!(said(Status::Disk).unwrap().contains("256 MB"));
        assert!(said(Status::Killed).unwrap().contains("signal 11"));
        assert_eq!(said(Status::Failed).unwrap(), "11");
        let files = Failure::new(Status::Disk, "files", &limits).map(|one| one.to_string());
        assert!(files.unwrap().contains("4096 files"));
    }

    #[test]
    fn files_are_told_apart_by_their_ending() {
        for (name, kind) in [
            ("a.PNG", OutputKind::Figure),
            ("b.csv", OutputKind::Table),
            ("png", OutputKind::Other),
            ("a.html", OutputKind::Other),
        ] {
            assert_eq!(OutputKind::of(name), kind, "{name}");
        }
    }
}
