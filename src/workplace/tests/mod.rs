//! Real repositories in temporary directories. The environment of the git that plays the user is empty, too.

mod accepting;
mod bytes;
mod changing;
mod counting;
mod filters;
mod hostile;
mod keeping;
mod leaving_out;
mod places;
mod races;
mod scratches;
mod takeover;
mod worktrees;

use super::{
    Accepted, Backup, Changes, Discarded, GitError, Place, Repository, Snapshot, Target, Worktree,
};
use crate::message::{AgentSlot, ChangeStatus, FileChange, RunId, SessionId};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;

struct Fixture {
    dir: TempDir,
}

impl Fixture {
    /// With one commit: `a`, `b` and `src/deep/c`, ten lines each.
    fn new() -> Self {
        let fixture = Self::empty();
        for path in ["a", "b", "src/deep/c"] {
            fixture.write(path, lines(path));
        }
        fixture.commit("first");
        fixture
    }

    /// Without a commit.
    fn empty() -> Self {
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(fixture.data()).unwrap();
        fs::create_dir(fixture.top()).unwrap();
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project")
    }

    fn data(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("data")
    }

    fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        write(&self.top(), path, content);
    }

    fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        read(&self.top(), path)
    }

    fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.top().join(path)).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// As the user does it.
    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        git(&self.top(), args)
    }

    fn repository(&self) -> Repository {
        Repository::discover(&self.top(), &self.data()).unwrap().unwrap()
    }

    fn path(&self, slot: u8) -> PathBuf {
        self.data().join(format!("worktrees/one/{slot}"))
    }

    fn ensure(&self, slot: u8) -> Worktree {
        let repository = self.repository();
        repository.ensure(&session(), AgentSlot::new(slot).unwrap(), &self.path(slot)).unwrap()
    }

    /// What the user would notice if we had touched anything.
    fn traces(&self) -> (Vec<u8>, String, String, String) {
        let index = fs::read(self.top().join(".git/index")).unwrap_or_default();
        let status = self.git(&["--no-optional-locks", "status", "--porcelain", "-uall"]);
        let branches = self.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/stash"]);
        let head = fs::read_to_string(self.top().join(".git/HEAD")).unwrap();
        (index, status, branches, head)
    }
}

fn session() -> SessionId {
    SessionId::from_random(1)
}

fn lines(word: &str) -> String {
    (1..=10).map(|number| format!("{word} {number}\n")).collect()
}

fn write(top: &Path, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    let path = top.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn read(top: &Path, path: impl AsRef<Path>) -> Option<String> {
    fs::read(top.join(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn try_git(at: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/nonexistent");
    command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
    command.envs([("GIT_AUTHOR_NAME", "User"), ("GIT_AUTHOR_EMAIL", "user@localhost")]);
    command.envs([("GIT_COMMITTER_NAME", "User"), ("GIT_COMMITTER_EMAIL", "user@localhost")]);
    command.args(["-c", "protocol.file.allow=always"]).args(args).current_dir(at);
    command.output().unwrap()
}

#[track_caller]
fn git(at: &Path, args: &[&str]) -> String {
    let output = try_git(at, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `M a +1 -1`, a line for each file.
fn told(changes: &Changes) -> Vec<String> {
    let count = |lines: Option<u32>| lines.map_or("-".to_owned(), |lines| lines.to_string());
    let tell = |change: &FileChange| {
        let letter = match change.status {
            ChangeStatus::Added => 'A',
            ChangeStatus::Modified => 'M',
            ChangeStatus::Deleted => 'D',
            ChangeStatus::Renamed => 'R',
            ChangeStatus::TypeChanged => 'T',
        };
        let old = change.old_path.as_deref().map_or(String::new(), |old| format!("{old} > "));
        let (added, removed) = (count(change.added), count(change.removed));
        format!("{letter} {old}{} +{added} -{removed}", change.path)
    };
    changes.files.iter().map(tell).collect()
}

/// Paths of everything below, without directories and `.git`.
fn files(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![top.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name() == Some(OsStr::new(".git")) {
                continue;
            }
            if path.symlink_metadata().unwrap().is_dir() {
                todo.push(path);
            } else {
                let path = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What git is started for by this thread meanwhile.
fn started_by<T>(work: impl FnOnce() -> T) -> (T, Vec<&'static str>) {
    super::git::STARTED.take();
    let done = work();
    (done, super::git::STARTED.take())
}

/// Waits until all files below are older than one step of the file system's clock.
fn settle(top: &Path) {
    while super::footprint::Footprint::of(top, &[]) == Err(super::footprint::NoFootprint::Unsure) {
        std::thread::yield_now();
    }
}
