//! Our refs, below `refs/kakehashi` of our own git directory. They keep git from removing what they name.

use super::git::{Git, LOCK_PAUSE, LOCK_TRIES};
use super::private::{make_directory, remove_file};
use super::repository::small_file;
use super::user::UserGit;
use super::{GitError, Repository};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Calls about refs are short, and somebody may wait for the answer.
const TIME_LIMIT: Duration = Duration::from_secs(60);
pub(super) const OURS: &str = "refs/kakehashi/";
/// Suffix of files that git does not take for refs.
const LOCK: &str = ".lock";

/// A tree of files, by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TreeId(String);

/// A commit, by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommitId(String);

impl TreeId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        is_hash(text).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl CommitId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        is_hash(text).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// SHA-1 or SHA-256.
pub(super) fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A ref of ours with the commit that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// Without `refs/kakehashi/`.
    pub(super) name: String,
    pub(super) commit: CommitId,
    pub(super) tree: TreeId,
    /// The first parent.
    pub(super) parent: Option<CommitId>,
    pub(super) seconds: i64,
    /// The data directory that it belongs to.
    pub(super) owner: String,
    pub(super) subject: String,
}

const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(tree)%00%(parent)%00%(committerdate:unix)%00%(authoremail)%00%(subject)";

impl Repository {
    /// All our refs below `name`, or the one of this name.
    pub(super) fn kept(&self, name: &str) -> Result<Vec<Kept>, GitError> {
        if let Some(known) = self.known(name) {
            return Ok(known);
        }
        let kept = read_refs(self.content("for-each-ref", &[]), name)?;
        for one in &kept {
            self.memory().note_commit(one.clone());
        }
        Ok(kept)
    }

    pub(super) fn kept_one(&self, name: &str) -> Result<Option<Kept>, GitError> {
        Ok(self.kept(name)?.into_iter().find(|kept| kept.name == name))
    }

    /// Reads the refs without git, if every commit that they name is remembered. Nobody else writes these files.
    fn known(&self, name: &str) -> Option<Vec<Kept>> {
        if self.has_packed_refs() {
            return None;
        }
        let mut found = Vec::new();
        read_loose(&self.private().git_dir().join(OURS), name.trim_end_matches('/'), &mut found)?;
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let kept = |(name, commit)| Some(Kept { name, ..self.memory().commit(&commit)? });
        found.into_iter().map(kept).collect()
    }

    /// Writes a ref as git does: the lock file becomes the ref, so that it is never half written.
    pub(super) fn keep(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        let path = self.private().git_dir().join(OURS).join(name);
        let mut lock = path.clone().into_os_string();
        lock.push(LOCK);
        let lock = PathBuf::from(lock);
        let doing = "keeping a backup";
        make_directory(path.parent().unwrap_or(&path)).map_err(GitError::io(doing))?;
        let mut file = take_lock(&lock)?;
        let written = file.write_all(format!("{commit}\n").as_bytes());
        let kept = written.and_then(|()| fs::rename(&lock, &path));
        if kept.is_err() {
            let _ = fs::remove_file(&lock);
        }
        kept.map_err(GitError::io(doing))
    }

    /// Deletes refs. A ref that is gone already is no error.
    pub(super) fn forget(&self, names: &[String]) -> Result<(), GitError> {
        if self.has_packed_refs() {
            return delete_refs(self.content("update-ref", &[]), names);
        }
        for name in names {
            let removed = remove_file(&self.private().git_dir().join(OURS).join(name));
            removed.map_err(GitError::io("removing a backup"))?;
        }
        Ok(())
    }

    /// We never pack refs, but somebody else may.
    fn has_packed_refs(&self) -> bool {
        self.private().git_dir().join("packed-refs").exists()
    }

    /// The user's HEAD. `None`: there is no commit yet, or no repository.
    pub(super) fn head(&self) -> Result<Option<(CommitId, TreeId)>, GitError> {
        let head = self.user().and_then(UserGit::head);
        let Some(commit) = head.as_deref().and_then(CommitId::parse) else { return Ok(None) };
        let tree = self.with_users("rev-parse", &[]).args(["--verify", "--quiet"]);
        let tree = tree.arg(format!("{commit}^{{tree}}")).word()?;
        Ok(Some((commit, tree_id("rev-parse", &tree)?)))
    }

    /// A git call about refs of the user's repository, with its configuration except for what [`Git`] overrides.
    /// `None`: there is no repository.
    pub(super) fn real(&self, what: &'static str) -> Option<Git> {
        let user = self.user()?;
        Some(Git::new(what).env("GIT_DIR", &user.git_dir).within(TIME_LIMIT))
    }
}

fn take_lock(lock: &Path) -> Result<File, GitError> {
    let mut tries = 0;
    loop {
        tries += 1;
        match File::create_new(lock) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists && tries < LOCK_TRIES => {
                thread::sleep(LOCK_PAUSE);
            }
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
                return Err(GitError::Locked { lock: lock.display().to_string() });
            }
            taken => return taken.map_err(GitError::io("keeping a backup")),
        }
    }
}

/// Adds the refs below `name`, or the one of this name. `None`: a file there is not a plain ref.
fn read_loose(ours: &Path, name: &str, found: &mut Vec<(String, CommitId)>) -> Option<()> {
    let path = ours.join(name);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Some(()),
        Err(err) if err.kind() == io::ErrorKind::NotADirectory => {
            let text = small_file(&path)?;
            let commit = CommitId::parse(std::str::from_utf8(&text).ok()?.trim_end())?;
            found.push((name.to_owned(), commit));
            return Some(());
        }
        Err(_) => return None,
    };
    for entry in entries {
        let inside = entry.ok()?.file_name().into_string().ok()?;
        if !inside.ends_with(LOCK) {
            let below = if name.is_empty() { inside } else { format!("{name}/{inside}") };
            read_loose(ours, &below, found)?;
        }
    }
    Some(())
}

/// Our refs below `name`, in whichever repository.
pub(super) fn read_refs(for_each_ref: Git, name: &str) -> Result<Vec<Kept>, GitError> {
    let listed = for_each_ref.arg(FORMAT).arg(format!("{OURS}{name}")).read()?;
    Ok(String::from_utf8_lossy(&listed).lines().filter_map(parse).collect())
}

pub(super) fn delete_refs(update_ref: Git, names: &[String]) -> Result<(), GitError> {
    if names.is_empty() {
        return Ok(());
    }
    let lines = names.iter().map(|name| format!("delete {OURS}{name}\0\0"));
    let input = lines.collect::<String>().into_bytes();
    update_ref.args(["-z", "--stdin"]).input(input).read().map(drop)
}

pub(super) fn tree_id(what: &'static str, text: &str) -> Result<TreeId, GitError> {
    TreeId::parse(text).ok_or_else(|| GitError::Failed { what, stderr: text.to_owned() })
}

pub(super) fn commit_id(what: &'static str, text: &str) -> Result<CommitId, GitError> {
    CommitId::parse(text).ok_or_else(|| GitError::Failed { what, stderr: text.to_owned() })
}

fn parse(line: &str) -> Option<Kept> {
    let mut parts = line.splitn(7, '\0');
    Some(Kept {
        name: parts.next()?.strip_prefix(OURS)?.to_owned(),
        commit: CommitId::parse(parts.next()?)?,
        tree: TreeId::parse(parts.next()?)?,
        parent: parts.next()?.split(' ').next().and_then(CommitId::parse),
        seconds: parts.next()?.parse().ok()?,
        owner: parts.next()?.trim_matches(['<', '>']).split('@').next()?.to_owned(),
        subject: parts.next()?.to_owned(),
    })
}
