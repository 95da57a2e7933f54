//! The `.git` of an agent's own copy, with refs, index, settings and objects that only the agent writes. It borrows the
//! objects of its base and of the user's repository, which the agent cannot write. For us it is data: no call of ours
//! uses it as a repository. It is repaired before every run and never read.

use super::folder::Folder;
use super::objects::{Ids, Lender};
use super::private::{make_directory, replace};
use super::removal::remove_tree;
use super::{CommitId, GitError, Repository, TreeId};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const DOT_GIT: &str = ".git";
/// File beside the lent objects that names the user's commit which the agent's HEAD needs, if any.
const SHOWN: &str = "shown";

#[derive(Debug, Clone)]
pub(super) struct AgentGit {
    /// Top directory of the files.
    pub(super) top: PathBuf,
    /// Objects of the base, in the data directory.
    lent: PathBuf,
    /// What earlier versions kept below the user's `.git/worktrees`.
    earlier: Option<PathBuf>,
}

impl AgentGit {
    pub(super) fn new(repository: &Repository, name: &str, top: &Path) -> Self {
        let folder = format!("kakehashi-{name}");
        let earlier = repository.user().map(|user| user.common.join("worktrees").join(folder));
        Self { top: top.to_owned(), lent: repository.private().lent(name), earlier }
    }

    /// Object directories that the agent has to be able to read.
    pub(super) fn borrowed(&self, repository: &Repository) -> Vec<PathBuf> {
        let users = repository.user().map(|user| user.all_objects()).unwrap_or_default();
        [self.lent.clone()].into_iter().chain(users).collect()
    }

    /// Sets HEAD and index, whatever was there before. HEAD becomes a commit of `base`, after the user's own HEAD if
    /// there is one. The index is that of `now`.
    pub(super) fn show(
        &self,
        repository: &Repository,
        base: &TreeId,
        now: &TreeId,
        index: &Path,
    ) -> Result<(), GitError> {
        let head = self.lend(repository, base, now)?;
        let doing = "making an agent's repository";
        let index = fs::read(index).map_err(GitError::io(doing))?;
        let set = || {
            let git = self.put_right(repository)?;
            git.write("HEAD", format!("{head}\n").as_bytes())?;
            git.write("index", &index)
        };
        set().map_err(GitError::io(doing))?;
        self.forget_earlier()
    }

    /// Makes git work in there again, whatever the agent has done to it. The agent's commits stay.
    pub(super) fn repair(&self, repository: &Repository) -> Result<(), GitError> {
        self.put_right(repository).map(drop).map_err(GitError::io("making an agent's repository"))
    }

    pub(super) fn is_there(&self) -> bool {
        self.git().is_ok()
    }

    /// Whether it can be repaired: HEAD and index are there, and the user's repository still has the commit that HEAD
    /// follows.
    pub(super) fn is_usable(&self, repository: &Repository) -> Result<bool, GitError> {
        let has_parts = self.git().is_ok_and(|git| {
            let is_file = |name: &str| {
                git.stamp(Path::new(name)).is_ok_and(|stamp| stamp.is_some_and(|it| it.is_file()))
            };
            is_file("HEAD") && is_file("index")
        });
        let Ok(shown) = fs::read_to_string(self.lent.join(SHOWN)) else { return Ok(false) };
        let needed: Ids = shown.split_whitespace().map(str::to_owned).collect();
        match repository.user() {
            Some(user) if has_parts => repository.are_present(user, &needed),
            Some(_) | None => Ok(has_parts && needed.is_empty()),
        }
    }

    pub(super) fn remove(&self) -> Result<(), GitError> {
        for path in [&self.top, &self.lent] {
            remove_tree(path).map_err(GitError::io("removing a worktree"))?;
        }
        self.forget_earlier()
    }

    /// Copies the objects that the agent needs. Returns the commit that the agent sees as HEAD.
    fn lend(
        &self,
        repository: &Repository,
        base: &TreeId,
        now: &TreeId,
    ) -> Result<CommitId, GitError> {
        let pack = self.lent.join("pack");
        make_directory(&pack).map_err(GitError::io("lending objects to an agent"))?;
        let users = repository.head()?;
        let (head, mut ids) = match &users {
            Some((commit, tree)) if tree == base => (commit.clone(), Ids::new()),
            Some((commit, tree)) => {
                let head = repository.commit_after(base, commit, "base")?;
                (head, repository.objects_since(Some(tree), base)?)
            }
            None => (repository.commit(base, None, "base")?, repository.objects_since(None, base)?),
        };
        if users.as_ref().is_none_or(|(_, tree)| tree != base) {
            ids.insert(head.as_str().to_owned());
        }
        if now != base {
            ids.extend(repository.objects_since(Some(base), now)?);
        }
        let wrong = repository.copy_objects(&ids, Lender::Own, &self.lent)?;
        if !wrong.is_empty() {
            return Err(GitError::Damaged { count: wrong.len() });
        }
        let needed = users.map(|(commit, _)| commit.to_string()).unwrap_or_default();
        let noted = replace(&self.lent.join(SHOWN), needed.as_bytes());
        noted.map_err(GitError::io("lending objects to an agent"))?;
        Ok(head)
    }

    /// Directories are opened one by one, so that no symlink of an agent leads anywhere else.
    fn put_right(&self, repository: &Repository) -> io::Result<Folder> {
        let git = Folder::open(&self.top)?.ensure(OsStr::new(DOT_GIT))?;
        let objects = git.ensure(OsStr::new("objects"))?;
        objects.ensure(OsStr::new("pack"))?;
        let mut borrowed = Vec::new();
        let users = repository.user().map(|user| user.objects());
        for path in [Some(self.lent.clone()), users].into_iter().flatten() {
            borrowed.extend_from_slice(path.as_os_str().as_bytes());
            borrowed.push(b'\n');
        }
        put(&objects.ensure(OsStr::new("info"))?, "alternates", &borrowed)?;
        let refs = git.ensure(OsStr::new("refs"))?;
        for name in ["heads", "tags"] {
            refs.ensure(OsStr::new(name))?;
        }
        let info = git.ensure(OsStr::new("info"))?;
        for (name, content) in repository.private().agent_info() {
            put(&info, name, &content)?;
        }
        // Left by a git process that was killed, or put there to lead git elsewhere.
        for name in ["index.lock", "HEAD.lock", "commondir"] {
            git.clear(OsStr::new(name))?;
        }
        put(&git, "config", &repository.private().agent_config())?;
        for name in ["HEAD", "index"] {
            git.clear_unless_file(OsStr::new(name))?;
        }
        Ok(git)
    }

    fn git(&self) -> io::Result<Folder> {
        Folder::open(&self.top)?.child(OsStr::new(DOT_GIT))
    }

    fn forget_earlier(&self) -> Result<(), GitError> {
        let Some(earlier) = &self.earlier else { return Ok(()) };
        remove_tree(earlier).map_err(GitError::io("removing a worktree"))?;
        if let Some(worktrees) = earlier.parent() {
            // Fails if somebody else still has worktrees there.
            let _ = fs::remove_dir(worktrees);
        }
        Ok(())
    }
}

/// Replaces whatever has this name, also a directory.
fn put(folder: &Folder, name: &str, content: &[u8]) -> io::Result<()> {
    folder.clear_unless_file(OsStr::new(name))?;
    folder.write(name, content)
}
