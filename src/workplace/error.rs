//! Errors around git: what went wrong, whose fault it is and what to do.

use std::io::{self, ErrorKind};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error(
        "git is not installed, so there is no copy of the project to work in; install it, or choose `shared`"
    )]
    Missing,
    #[error("git {found} is too old; install git {needed} or later")]
    TooOld { found: String, needed: &'static str },
    #[error("this repository {what}, which worktrees of agents cannot be made for; use `shared`")]
    Unsupported { what: &'static str },
    #[error(
        "another program holds a lock of the repository; try again, and if no git is running remove the lock ({lock})"
    )]
    Locked { lock: String },
    #[error("the server's disk is full; ask the operator to make room, then try again")]
    DiskFull,
    #[error(
        "the gateway may not write where it has to ({doing}); ask the operator to check owner and permissions"
    )]
    NoPermission { doing: &'static str },
    #[error(
        "the server may not start another process now; try again, and ask the operator to raise its limit of processes if it happens again"
    )]
    NoProcess,
    #[error("git {what} did not end within {seconds} seconds and was stopped; try again")]
    TimedOut { what: &'static str, seconds: u64 },
    #[error(
        "git {what} had more to say than the gateway takes; is something generated not ignored?"
    )]
    TooMuch { what: &'static str },
    #[error("`{path}` in the project is a pipe, and git would wait for it; remove it")]
    Pipe { path: String },
    #[error("`{name}` is no name for a branch; choose another")]
    BadBranch { name: String },
    #[error("there is a branch `{name}` already; choose another name")]
    BranchExists { name: String },
    #[error(
        "the project is in no git repository, so there are no branches; accept into the project"
    )]
    NoBranches,
    #[error("no backup of this name; choose another")]
    NoSuchBackup,
    #[error("`{path}` is not there; choose another file")]
    NoSuchFile { path: String },
    #[error("the project has no commit yet; commit once, then make a branch")]
    NoCommit,
    #[error("{path} is in the way and was not made by the gateway; move it away")]
    NotOurs { path: String },
    #[error(
        "{count} objects of the repository are missing or not what their names say; run `git fsck` in the project"
    )]
    Damaged { count: usize },
    #[error(
        "the project is in no git repository and too large for a copy ({files} files, {mib} MiB); run `git init` in it, name what is generated in .gitignore, or choose `shared`"
    )]
    TooLarge { files: usize, mib: u64 },
    #[error("the result has changed since you looked; look again, then accept it")]
    ResultChanged,
    #[error("the worktree is gone or not complete; the next run makes it anew")]
    WorktreeGone,
    /// Nothing was changed: what was written has been undone.
    #[error("files have changed meanwhile, or something is in the way ({}); try again", .paths.join(", "))]
    PlaceChanged { paths: Vec<String> },
    /// Nothing was changed: a new copy would be without these paths.
    #[error(
        "the agent's copy has to be made anew, and holds what no backup keeps ({}); let the agent move or remove it, then try again",
        .paths.join(", ")
    )]
    Unkept { paths: Vec<String> },
    #[error("the server's storage failed ({doing}: {reason}); try again")]
    Storage { doing: &'static str, reason: ErrorKind },
    #[error("git {what} failed: {stderr}")]
    Failed { what: &'static str, stderr: String },
}

impl GitError {
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        const FULL: [ErrorKind; 2] = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        const REFUSED: [ErrorKind; 2] =
            [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
        const NO_PROCESS: [ErrorKind; 2] = [ErrorKind::WouldBlock, ErrorKind::OutOfMemory];
        move |err| {
            let reason = err.kind();
            if FULL.contains(&reason) {
                Self::DiskFull
            } else if NO_PROCESS.contains(&reason) {
                Self::NoProcess
            } else if REFUSED.contains(&reason) {
                Self::NoPermission { doing }
            } else {
                Self::Storage { doing, reason }
            }
        }
    }

    /// Git's messages are in English because every call uses the C locale.
    pub(super) fn from_stderr(what: &'static str, stderr: &str) -> Self {
        let says = |words: &str| stderr.contains(words);
        if says("No space left on device") || says("Disk quota exceeded") {
            Self::DiskFull
        } else if says("cannot fork") || says("unable to create thread") {
            Self::NoProcess
        } else if let Some(lock) = held_lock(stderr) {
            Self::Locked { lock }
        } else if says("Permission denied")
            || says("Read-only file system")
            || says("insufficient permission")
        {
            Self::NoPermission { doing: what }
        } else {
            Self::Failed { what, stderr: shortened(stderr) }
        }
    }
}

/// `Unable to create '/repo/.git/packed-refs.lock': File exists.`
fn held_lock(stderr: &str) -> Option<String> {
    let line = stderr.lines().find(|line| line.contains(".lock': File exists"))?;
    line.split('\'').find(|part| part.ends_with(".lock")).map(str::to_owned)
}

fn shortened(stderr: &str) -> String {
    const LONGEST: usize = 300;
    let text = stderr.trim();
    if text.is_empty() {
        return "it said nothing".to_owned();
    }
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_words_become_advice() {
        for (stderr, expected) in [
            ("error: file write error: No space left on device", GitError::DiskFull),
            (
                "fatal: Unable to create '/r/.git/x.lock': File exists.\n\nAnother git",
                GitError::Locked { lock: "/r/.git/x.lock".to_owned() },
            ),
            (
                "error: insufficient permission for adding an object to repository database",
                GitError::NoPermission { doing: "x" },
            ),
            (
                "fatal: bad object\n",
                GitError::Failed { what: "x", stderr: "fatal: bad object".to_owned() },
            ),
            ("", GitError::Failed { what: "x", stderr: "it said nothing".to_owned() }),
        ] {
            assert_eq!(GitError::from_stderr("x", stderr), expected);
        }
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(GitError::io("writing")(full), GitError::DiskFull);
    }
}
