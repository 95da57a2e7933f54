//! Remembers git's answers about one repository, so that git is not asked again. Every answer is checked before it is
//! used: a commit is named by its content, and files are compared by their footprint.

use super::change::Mode;
use super::footprint::{Footprint, Mark};
use super::refs::Kept;
use super::snapshot::Snapshot;
use super::{CommitId, TreeId};
use std::collections::HashMap;
use std::ffi::OsString;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// With more answers of one kind, all of that kind are forgotten. They can be found again.
const MOST: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    commits: HashMap<CommitId, Kept>,
    looks: HashMap<String, Look>,
    /// Objects that the user's repository had when its directories had these marks.
    present: HashMap<String, Vec<Mark>>,
    /// Files of a tree that have a filter: their hashes and paths.
    filtered: HashMap<TreeId, Vec<(String, OsString)>>,
    /// What was on disk at a path when it had this mark.
    contents: HashMap<OsString, (Mark, Mode, String)>,
    /// Whether the user's repository had files of a project when its index had this mark.
    holds: HashMap<String, (Mark, bool)>,
}

/// The last look at the files of one place.
#[derive(Debug, Clone)]
pub(super) enum Look {
    /// There are so many files that looking for changes without git does not pay.
    TooLarge,
    Seen(Box<Seen>),
}

#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// From before the look, so that a change during the look is noticed.
    pub(super) footprint: Footprint,
    /// Mark of the index that the next look starts with.
    pub(super) index: Option<Mark>,
    pub(super) snapshot: Snapshot,
}

impl Memory {
    /// The memory for this directory of ours, one in the whole process.
    pub(super) fn of(private: &Path) -> Arc<Self> {
        static ALL: LazyLock<Mutex<HashMap<PathBuf, Arc<Memory>>>> = LazyLock::new(Mutex::default);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(private.to_owned()).or_default())
    }

    /// A commit that was seen before. Its `name` may be that of another ref, or empty.
    pub(super) fn commit(&self, commit: &CommitId) -> Option<Kept> {
        self.answers().commits.get(commit).cloned()
    }

    pub(super) fn note_commit(&self, kept: Kept) {
        insert(&mut self.answers().commits, kept.commit.clone(), kept);
    }

    pub(super) fn look(&self, place: &str) -> Option<Look> {
        self.answers().looks.get(place).cloned()
    }

    pub(super) fn note_look(&self, place: String, look: Look) {
        insert(&mut self.answers().looks, place, look);
    }

    pub(super) fn is_present(&self, id: &str, marks: &[Mark]) -> bool {
        self.answers().present.get(id).is_some_and(|known| known == marks)
    }

    pub(super) fn note_present(&self, id: &str, marks: Vec<Mark>) {
        insert(&mut self.answers().present, id.to_owned(), marks);
    }

    pub(super) fn filtered(&self, tree: &TreeId) -> Option<Vec<(String, OsString)>> {
        self.answers().filtered.get(tree).cloned()
    }

    pub(super) fn note_filtered(&self, tree: TreeId, files: Vec<(String, OsString)>) {
        insert(&mut self.answers().filtered, tree, files);
    }

    pub(super) fn content(&self, path: &OsString, mark: &Mark) -> Option<(Mode, String)> {
        let answers = self.answers();
        let (known, mode, hash) = answers.contents.get(path)?;
        (known == mark).then(|| (*mode, hash.clone()))
    }

    pub(super) fn note_content(&self, path: OsString, mark: Mark, mode: Mode, hash: String) {
        insert(&mut self.answers().contents, path, (mark, mode, hash));
    }

    pub(super) fn holds_project(&self, project: &str, index: &Mark) -> Option<bool> {
        let answers = self.answers();
        let (known, holds) = answers.holds.get(project)?;
        (known == index).then_some(*holds)
    }

    pub(super) fn note_holds_project(&self, project: String, index: Mark, holds: bool) {
        insert(&mut self.answers().holds, project, (index, holds));
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn insert<K: Eq + Hash, V>(answers: &mut HashMap<K, V>, key: K, value: V) {
    if answers.len() >= MOST {
        answers.clear();
    }
    answers.insert(key, value);
}
