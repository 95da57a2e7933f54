//! Files as clients see them: lists, watches on lists, and single files in the history.

use bytes::Bytes;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Files of the project, with the last file backup.
    Backup,
    /// Recent uploads and results.
    Temp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListScope {
    /// Only uploads and results of the last hour; the project's list is always complete.
    Usual,
    All,
}

/// Describes the list that a client already has, by its newest time and its length.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownList {
    pub newest: Option<String>,
    pub count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchTarget {
    One(ListKind),
    Every,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchWish {
    Start,
    Stop,
}

/// A file list as shown to people: local times, forward slashes, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileList {
    pub roots: ListRoots,
    /// Newest time in the list, or time of the last backup; `None` if there is neither.
    pub newest: Option<String>,
    pub files: Vec<ListedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListRoots {
    Backup { project: String, backup: String },
    Temp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    pub path: String,
    /// Shared by files with the same time, because many files often have the same second.
    pub modified: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNote {
    pub name: String,
    /// Path by which clients request the content; `None` if nothing was stored.
    pub path: Option<String>,
    /// PNG data.
    pub thumbnail: Option<Bytes>,
}
