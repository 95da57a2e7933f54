//! The repository of an agent's own copy, which has two git directories:
//!
//! - `.git` in the copy, which only we write. It is for people who look into the copy with git, and shows all of the
//!   agent's work as changes since the base. Nothing of the agent's is in it, so git runs nothing of the agent's there.
//! - One in the data directory, which the agent sees as its `.git` in the sandbox. Its refs, index, settings and objects
//!   are the agent's. An agent without a sandbox has only the first one.
//!
//! Both borrow the objects of the base and of the user's repository, which the agent cannot write. For us both are data:
//! no call of ours uses them as a repository. They are repaired before every run and never read.

use super::folder::Folder;
use super::index::Index;
use super::objects::{Ids, Lender};
use super::private::{make_directory, replace};
use super::removal::remove_tree;
use super::{CommitId, GitError, Repository, TreeId};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const DOT_GIT: &str = ".git";
/// File beside the lent objects that names the user's commit which the agent's HEAD needs, if any.
const SHOWN: &str = "shown";
/// Parts of a git directory by which other programs or other settings come into it. An agent without a sandbox may have
/// put them into the copy's `.git`.
const UNSAFE: [&str; 4] = ["hooks", "config.worktree", "worktrees", "modules"];

#[derive(Debug, Clone)]
pub(super) struct AgentGit {
    /// Top directory of the files.
    pub(super) top: PathBuf,
    /// The git directory that the agent writes.
    own: PathBuf,
    /// Objects of the base, in the data directory.
    lent: PathBuf,
    /// What earlier versions kept below the user's `.git/worktrees`.
    earlier: Option<PathBuf>,
}

impl AgentGit {
    pub(super) fn new(repository: &Repository, name: &str, top: &Path) -> Self {
        let folder = format!("kakehashi-{name}");
        let earlier = repository.user().map(|user| user.common.join("worktrees").join(folder));
        let (own, lent) = (repository.private().agent_git(name), repository.private().lent(name));
        Self { top: top.to_owned(), own, lent, earlier }
    }

    /// The git directory that the agent writes, and the path at which the agent sees it.
    pub(super) fn stand_in(&self) -> (PathBuf, PathBuf) {
        (self.own.clone(), self.top.join(DOT_GIT))
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
        index: &Index,
    ) -> Result<(), GitError> {
        let head = self.lend(repository, base, now)?;
        let doing = "making an agent's repository";
        let entries = fs::read(index.path()).map_err(GitError::io(doing))?;
        let for_people = index.without_submodules(&entries)?;
        let set = || {
            for (git, index) in self.put_right(repository)?.iter().zip([&for_people, &entries]) {
                git.write("HEAD", format!("{head}\n").as_bytes())?;
                git.write("index", index)?;
            }
            Ok(())
        };
        set().map_err(GitError::io(doing))?;
        self.forget_earlier()
    }

    /// Makes git work in there again, whatever the agent has done to it. The agent's commits stay.
    pub(super) fn repair(&self, repository: &Repository) -> Result<(), GitError> {
        self.put_right(repository).map(drop).map_err(GitError::io("making an agent's repository"))
    }

    pub(super) fn is_there(&self) -> bool {
        self.both().is_ok()
    }

    /// Whether it can be repaired: HEAD and index are there, and the user's repository still has the commit that HEAD
    /// follows.
    pub(super) fn is_usable(&self, repository: &Repository) -> Result<bool, GitError> {
        let has_parts = self.both().is_ok_and(|both| {
            let is_file = |git: &Folder, name: &str| {
                git.stamp(Path::new(name)).is_ok_and(|stamp| stamp.is_some_and(|it| it.is_file()))
            };
            both.iter().all(|git| is_file(git, "HEAD") && is_file(git, "index"))
        });
        let Ok(shown) = fs::read_to_string(self.lent.join(SHOWN)) else { return Ok(false) };
        let needed: Ids = shown.split_whitespace().map(str::to_owned).collect();
        match repository.user() {
            Some(user) if has_parts => repository.are_present(user, &needed),
            Some(_) | None => Ok(has_parts && needed.is_empty()),
        }
    }

    pub(super) fn remove(&self) -> Result<(), GitError> {
        for path in [&self.top, &self.own, &self.lent] {
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

    /// Directories are opened one by one, so that no symlink of an agent leads anywhere else. Returns the git directory
    /// for people and the agent's own.
    fn put_right(&self, repository: &Repository) -> io::Result<[Folder; 2]> {
        let (top, name) = (Folder::open(&self.top)?, OsStr::new(DOT_GIT));
        let (gits, own) = self.own_parent()?;
        // Agents of earlier versions wrote into the copy's `.git`, and keep what they have there.
        if gits.stamp(Path::new(&own))?.is_none() && top.child(name).is_ok() {
            top.move_to(name, &gits, &own)?;
        }
        let both = [top.ensure(name)?, gits.ensure(&own)?];
        for unsafe_part in UNSAFE {
            both[0].clear(OsStr::new(unsafe_part))?;
        }
        for git in &both {
            self.put_parts(repository, git)?;
        }
        Ok(both)
    }

    fn put_parts(&self, repository: &Repository, git: &Folder) -> io::Result<()> {
        let objects = git.ensure(OsStr::new("objects"))?;
        objects.ensure(OsStr::new("pack"))?;
        put(&objects.ensure(OsStr::new("info"))?, "alternates", &self.alternates(repository))?;
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
        put(git, "config", &repository.private().agent_config())?;
        for name in ["HEAD", "index"] {
            git.clear_unless_file(OsStr::new(name))?;
        }
        Ok(())
    }

    fn alternates(&self, repository: &Repository) -> Vec<u8> {
        let users = repository.user().map(|user| user.objects());
        let both = [Some(self.lent.clone()), users].into_iter().flatten();
        both.flat_map(|path| [path.as_os_str().as_bytes(), b"\n"].concat()).collect()
    }

    /// The directory that holds the agent's own git directory, and its name there.
    fn own_parent(&self) -> io::Result<(Folder, OsString)> {
        let (Some(parent), Some(name)) = (self.own.parent(), self.own.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok((Folder::open(parent)?, name.to_owned()))
    }

    /// Both git directories, if they are there.
    fn both(&self) -> io::Result<[Folder; 2]> {
        let (gits, own) = self.own_parent()?;
        Ok([Folder::open(&self.top)?.child(OsStr::new(DOT_GIT))?, gits.child(&own)?])
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
