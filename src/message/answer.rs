//! Notes about an answer: the files it is based on, and how long it took.

use std::time::Duration;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerNote {
    /// Files that tools read for this answer.
    pub sources: Vec<SourceNote>,
    /// Time from the request to this answer; `None` if it was not measured.
    pub latency: Option<Duration>,
}

/// A file that a tool read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceNote {
    /// Relative to the project.
    pub path: String,
    /// First and last line, if not the whole file was read.
    pub lines: Option<(u32, u32)>,
}
