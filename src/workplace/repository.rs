//! The project, the repository that it is in (if any), and our own git directory for it.

use super::footprint::Mark;
use super::git::{self, Git};
use super::index::Index;
use super::memory::Memory;
use super::private::Private;
use super::user::UserGit;
use super::{GitError, nested};
use crate::regular;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Larger files are not read. What git itself writes besides objects is far smaller.
const SMALL: u64 = 1 << 20;

/// The project with everything that copies of it need. Cheap to clone.
///
/// - A project that is a subdirectory of its repository: changes, results and restores are those of the subdirectory.
///   Worktrees are of the whole repository, as git makes them, and agents work in the same subdirectory there.
/// - A project that is a linked worktree or a submodule has its own files and its own HEAD. Submodules inside of it are
///   neither looked into nor checked out.
/// - A project without a repository, or a subdirectory that its repository ignores or has nothing of, is looked at by
///   its files alone. Nothing of git is put into it, and there are no branches.
/// - A bare repository, and what is in a git directory, is no place for worktrees.
/// - A repository without any commit works, but there is nothing a branch could start from.
#[derive(Debug, Clone)]
pub struct Repository(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Top directory of the repository's files.
    top: PathBuf,
    /// Path of the project below `top`; empty if they are the same.
    prefix: PathBuf,
    /// `None`: the project is in no repository.
    user: Option<UserGit>,
    data: PathBuf,
    /// Paths of the gateway and its operator. They are no part of the project, although they may lie in it.
    hidden: Vec<PathBuf>,
    private: Private,
    memory: Arc<Memory>,
    lock: Arc<Mutex<()>>,
}

impl Repository {
    /// `data` is the gateway's own directory, which is no part of any project. `None`: the project is a git directory
    /// itself, or git is missing. [`super::version`] tells what is wrong with git.
    pub fn discover(project: &Path, data: &Path) -> Result<Option<Self>, GitError> {
        Self::discover_without(project, data, &[])
    }

    /// [`Repository::discover`] for a project that may hold private files of the operator. Agents do not get them
    /// unless git tracks them.
    pub fn discover_without(
        project: &Path,
        data: &Path,
        private: &[PathBuf],
    ) -> Result<Option<Self>, GitError> {
        match git::version() {
            Err(GitError::Missing) => return Ok(None),
            Err(err) => return Err(err),
            Ok(_) => {}
        }
        let unreadable = GitError::io("looking at the project");
        let project = project.canonicalize().map_err(unreadable)?;
        let data = data.canonicalize().map_err(GitError::io("looking at the data directory"))?;
        if let Some((top, git_dir)) = find(&project) {
            let user = UserGit { common: common_dir(&git_dir), git_dir };
            let repository = Self::open(&project, top, &data, private, Some(user))?;
            if repository.holds_the_project()? {
                return Ok(Some(repository));
            }
        }
        if is_gits(&project) {
            return Ok(None);
        }
        Self::open(&project, project.clone(), &data, private, None).map(Some)
    }

    fn open(
        project: &Path,
        top: PathBuf,
        data: &Path,
        private: &[PathBuf],
        user: Option<UserGit>,
    ) -> Result<Self, GitError> {
        let prefix = project.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        let common = user.as_ref().map_or_else(|| top.join(".git"), |user| user.common.clone());
        let lock = lock_of(&common);
        let hidden = private.iter().filter_map(|path| path.canonicalize().ok());
        let hidden = hidden.chain([data.to_owned()]).collect();
        let private = {
            let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
            let private = Private::open(data, &common)?;
            private.configure(user.as_ref())?;
            private
        };
        let (data, memory) = (data.to_owned(), Memory::of(private.root()));
        let inner = Inner { top, prefix, user, data, hidden, private, memory, lock };
        let repository = Self(Arc::new(inner));
        repository.take_over_earlier()?;
        Ok(repository)
    }

    /// Whether the project is in a repository. This changes nothing and does not even start git.
    pub fn is_there(project: &Path) -> bool {
        project.canonicalize().is_ok_and(|project| find(&project).is_some())
    }

    /// Top directory of the user's files. It is above the project if that is a subdirectory.
    pub fn top(&self) -> &Path {
        &self.0.top
    }

    /// Path of the project below [`Repository::top`].
    pub fn prefix(&self) -> &Path {
        &self.0.prefix
    }

    /// The project's directory in a checkout of the repository. Joining an empty prefix would add a slash, and agents
    /// compare paths as text.
    pub(super) fn project_in(&self, top: &Path) -> PathBuf {
        if self.0.prefix.as_os_str().is_empty() { top.to_owned() } else { top.join(&self.0.prefix) }
    }

    /// Whether the project is in a repository of its user.
    pub fn has_git(&self) -> bool {
        self.0.user.is_some()
    }

    /// The user id that owns the repository, if it is not ours. Git itself refuses to work in such a repository; our
    /// calls start nothing that it names.
    pub fn foreign_owner(&self) -> Option<u32> {
        let owner = fs::metadata(&self.0.user.as_ref()?.common).ok()?.uid();
        (owner != rustix::process::geteuid().as_raw()).then_some(owner)
    }

    pub(super) fn user(&self) -> Option<&UserGit> {
        self.0.user.as_ref()
    }

    pub(super) fn private(&self) -> &Private {
        &self.0.private
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.0.memory
    }

    pub(super) fn data(&self) -> &Path {
        &self.0.data
    }

    /// One call at a time in this process. Other programs are kept out by git's own locks.
    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A git call about contents, with our own git directory and nothing of the user's repository.
    pub(super) fn content(&self, what: &'static str, settings: &[&str]) -> Git {
        Git::with(what, settings).env("GIT_DIR", self.0.private.git_dir())
    }

    /// Writes the ignore rules again, because they may have changed.
    pub(super) fn update_excludes(&self) -> Result<(), GitError> {
        let hidden = self.0.hidden.iter().filter_map(|path| path.strip_prefix(&self.0.top).ok());
        let hidden: Vec<_> = hidden.filter(|path| !path.as_os_str().is_empty()).collect();
        self.0.private.exclude(self.0.user.as_ref(), &hidden)
    }

    /// Whether a path belongs to the gateway or its operator, and not to the project.
    pub(super) fn is_hidden(&self, path: &Path) -> bool {
        self.0.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Whether git tracks files of the project. A project in somebody's home must not count as a part of the repository
    /// that holds the home.
    fn holds_the_project(&self) -> Result<bool, GitError> {
        if self.0.prefix.as_os_str().is_empty() {
            return Ok(true);
        }
        let mark = self.0.user.as_ref().and_then(|user| Mark::of_replaced(&user.index()));
        // Several projects may be in one repository.
        let place = self.mark();
        if let Some(holds) = mark.and_then(|mark| self.0.memory.holds_project(&place, &mark)) {
            return Ok(holds);
        }
        let index = Index::of_project(self)?;
        let listed = index.git("ls-files").args(["-z", "--cached", "--"]).arg(&self.0.prefix);
        let holds = !listed.most(1).run()?.stdout.is_empty();
        if let Some(mark) = mark {
            self.0.memory.note_holds_project(place, mark, holds);
        }
        Ok(holds)
    }
}

/// Whether the project is a git directory, or inside of one.
fn is_gits(project: &Path) -> bool {
    let is_dot_git = |part: &Path| part.file_name().is_some_and(nested::is_dot_git);
    project.ancestors().any(is_dot_git) || nested::is_layout(project)
}

/// Finds the repository as git does, but without git, which would trust whatever it finds on the way.
fn find(project: &Path) -> Option<(PathBuf, PathBuf)> {
    let inside = project.ancestors().any(|part| part.file_name() == Some(OsStr::new(".git")));
    let mut found = project.ancestors().filter_map(|top| {
        let git_dir = named_git_dir(&top.join(".git"))?;
        Some((top.to_owned(), git_dir))
    });
    found.next().filter(|_| !inside)
}

/// An agent in a project without a repository could forge one, to be shown what its links lead to. So a repository is
/// accepted only if its parts are not elsewhere, and a `.git` file only if its target points back.
fn named_git_dir(dot_git: &Path) -> Option<PathBuf> {
    let about = fs::symlink_metadata(dot_git).ok()?;
    let git_dir = if about.is_file() {
        let text = small_file(dot_git)?;
        let target = text.strip_prefix(b"gitdir:")?.trim_ascii();
        let git_dir = dot_git.parent()?.join(OsStr::from_bytes(target)).canonicalize().ok()?;
        points_back(&git_dir, dot_git).then_some(git_dir)?
    } else if about.is_dir() && fs::symlink_metadata(dot_git.join("commondir")).is_err() {
        dot_git.canonicalize().ok()?
    } else {
        return None;
    };
    let common = common_dir(&git_dir);
    let is_own = |name: &str| {
        fs::symlink_metadata(common.join(name)).map_or(name == "worktrees", |about| about.is_dir())
    };
    let has_head = git_dir.join("HEAD").symlink_metadata().is_ok();
    (has_head && ["objects", "refs", "worktrees"].into_iter().all(is_own)).then_some(git_dir)
}

/// A linked worktree has a file that says where it is, and a submodule a setting.
fn points_back(git_dir: &Path, dot_git: &Path) -> bool {
    let same = |path: PathBuf, other: Option<&Path>| {
        let (path, other) = (path.canonicalize(), other.map(Path::canonicalize));
        matches!((path, other), (Ok(path), Some(Ok(other))) if path == other)
    };
    if let Some(note) = small_file(&git_dir.join("gitdir")) {
        return same(git_dir.join(OsStr::from_bytes(note.trim_ascii())), Some(dot_git));
    }
    let settings = small_file(&git_dir.join("config")).unwrap_or_default();
    let settings = String::from_utf8_lossy(&settings).into_owned();
    let mut lines = settings.lines().filter_map(|line| line.trim().strip_prefix("worktree"));
    let place = lines.find_map(|rest| rest.trim_start().strip_prefix('='));
    place.is_some_and(|place| same(git_dir.join(place.trim()), dot_git.parent()))
}

/// `None` if the file is too large, or not a regular file.
pub(super) fn small_file(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    regular::open(path).ok()?.take(SMALL).read_to_end(&mut content).ok()?;
    ((content.len() as u64) < SMALL).then_some(content)
}

fn common_dir(git_dir: &Path) -> PathBuf {
    let Some(text) = small_file(&git_dir.join("commondir")) else { return git_dir.to_owned() };
    let common = git_dir.join(OsStr::from_bytes(text.trim_ascii()));
    common.canonicalize().unwrap_or(common)
}

fn lock_of(common: &Path) -> Arc<Mutex<()>> {
    static LOCKS: LazyLock<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>> = LazyLock::new(Mutex::default);
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(locks.entry(common.to_owned()).or_default())
}
