//! Our refs, below `refs/kakehashi` of our own git directory, so that git keeps what they name.

use super::git::Git;
use super::user::UserGit;
use super::{GitError, Repository};
use std::fmt;
use std::time::Duration;

/// Refs are small things, and somebody may wait for an answer.
const TIME_LIMIT: Duration = Duration::from_secs(60);
pub(super) const OURS: &str = "refs/kakehashi/";

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

/// A ref of ours with what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// Without `refs/kakehashi/`.
    pub(super) name: String,
    pub(super) commit: CommitId,
    pub(super) tree: TreeId,
    pub(super) seconds: i64,
    /// The data directory that it belongs to.
    pub(super) owner: String,
    pub(super) subject: String,
}

const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)%00%(authoremail)%00%(subject)";

impl Repository {
    /// All of ours below `name`, or the one that is called so.
    pub(super) fn kept(&self, name: &str) -> Result<Vec<Kept>, GitError> {
        read_refs(self.content("for-each-ref", &[]), name)
    }

    pub(super) fn kept_one(&self, name: &str) -> Result<Option<Kept>, GitError> {
        Ok(self.kept(name)?.into_iter().find(|kept| kept.name == name))
    }

    pub(super) fn keep(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        let name = format!("{OURS}{name}");
        self.content("update-ref", &[]).arg(name).arg(commit.as_str()).read().map(drop)
    }

    /// Those that are gone already are none of our business.
    pub(super) fn forget(&self, names: &[String]) -> Result<(), GitError> {
        delete_refs(self.content("update-ref", &[]), names)
    }

    /// The user's own. `None`: there is no commit yet, or no repository.
    pub(super) fn head(&self) -> Result<Option<(CommitId, TreeId)>, GitError> {
        let head = self.user().and_then(UserGit::head);
        let Some(commit) = head.as_deref().and_then(CommitId::parse) else { return Ok(None) };
        let tree = self.with_users("rev-parse", &[]).args(["--verify", "--quiet"]);
        let tree = tree.arg(format!("{commit}^{{tree}}")).word()?;
        Ok(Some((commit, tree_id("rev-parse", &tree)?)))
    }

    /// A call about refs of the user's repository, with its configuration, but see [`Git`]. `None`: there is none.
    pub(super) fn real(&self, what: &'static str) -> Option<Git> {
        let user = self.user()?;
        Some(Git::new(what).env("GIT_DIR", &user.git_dir).within(TIME_LIMIT))
    }
}

/// Those below `name` of ours, in whichever repository.
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
    let mut parts = line.splitn(6, '\0');
    Some(Kept {
        name: parts.next()?.strip_prefix(OURS)?.to_owned(),
        commit: CommitId::parse(parts.next()?)?,
        tree: TreeId::parse(parts.next()?)?,
        seconds: parts.next()?.parse().ok()?,
        owner: parts.next()?.trim_matches(['<', '>']).split('@').next()?.to_owned(),
        subject: parts.next()?.to_owned(),
    })
}
