//! A git index of our own for some files. It notes what git has hashed, so that only changed files are read again. It
//! is never the user's index, and never one that an agent can write.

use super::folder::Folder;
use super::frozen::{Frozen, LARGEST_FILE};
use super::generated::AMBIGUOUS;
use super::git::{Git, Output};
use super::layout;
use super::nested::is_dot_git;
use super::objects::Ids;
use super::pipes::{self, Owner};
use super::private::remove_file;
use super::refs::{TreeId, tree_id};
use super::user::UserGit;
use super::{GitError, Repository};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Limits for a project without a repository. A repository says itself what belongs to it.
const MOST_FILES: usize = 200_000;
const MOST_BYTES: u64 = 8 << 30;
/// Name of the index of a project without a repository. No session has this name.
pub(super) const PROJECT: &str = "project";
/// Also looks at files that exist although a sparse checkout leaves them out.
const SPARSE: &str = "core.sparseCheckout=true";
/// Most failed calls in the search for files that git refuses.
const MOST_FAILURES: usize = 1_000;
/// Long for a look at files. After that we look for pipes.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
/// What git prints before a name that it refuses.
const IGNORING: &str = "Ignoring path ";
/// A submodule in the output of `ls-files -t --stage`, after a letter and a space.
const SUBMODULE: &[u8] = b"160000 ";
const UNTRACKED: &[u8] = b"? ";

#[derive(Debug)]
pub(super) struct Index {
    repository: Repository,
    path: PathBuf,
    /// Top directory of the files.
    top: PathBuf,
    once: bool,
    /// Whether its objects may be only in the user's repository.
    borrows: bool,
}

/// Which files are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    /// All tracked files, and new files of the project.
    Repository,
    /// Only files of the project.
    Project,
    /// All tracked and all new files, also outside of the project.
    Everything,
}

/// Files that git lists besides the changed ones.
#[derive(Debug, Default)]
struct Listed {
    /// A name that ends with a slash is another repository.
    untracked: Vec<OsString>,
    /// Submodules of the project.
    submodules: Vec<OsString>,
    /// Entries of the index, as lines of `ls-files --stage` that end with a zero.
    tracked: Vec<u8>,
}

impl Index {
    /// Starts as a copy of the user's own index. Without a repository, the index is kept between runs.
    pub(super) fn of_project(repository: &Repository) -> Result<Self, GitError> {
        let (private, top) = (repository.private(), repository.top());
        let Some(user) = repository.user() else {
            return Ok(Self::kept(repository, PROJECT, top));
        };
        let path = private.fresh_index();
        let (repository, top) = (repository.clone(), top.to_owned());
        let index = Self { repository, path, top, once: true, borrows: true };
        let copied = copy_with_time(&user.index(), &index.path);
        match copied {
            Err(err) if err.kind() != ErrorKind::NotFound => {
                Err(GitError::io("reading the index")(err))
            }
            Ok(()) => index.overlook_nothing().map(|()| index),
            Err(_) => Ok(index),
        }
    }

    /// Also looks at files that the user has marked with `--assume-unchanged`. Otherwise their content on disk could be
    /// overwritten, and no backup would have it. An index that cannot be read is noticed at the next look.
    fn overlook_nothing(&self) -> Result<(), GitError> {
        let options = ["-q", "--really-refresh", "--ignore-submodules"];
        self.try_look(|| self.git("update-index").args(options)).map(drop)
    }

    /// Kept between runs.
    pub(super) fn of_worktree(repository: &Repository, name: &str, top: &Path) -> Self {
        Self::kept(repository, name, top)
    }

    fn kept(repository: &Repository, name: &str, top: &Path) -> Self {
        let (path, top) = (repository.private().index(name), top.to_owned());
        let repository = repository.clone();
        let index = Self { repository, path, top, once: false, borrows: false };
        index.unlock();
        index
    }

    /// A temporary, empty index.
    pub(super) fn of_nothing(repository: &Repository, top: &Path) -> Self {
        let path = repository.private().fresh_index();
        let (repository, top) = (repository.clone(), top.to_owned());
        Self { repository, path, top, once: true, borrows: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    pub(super) fn git(&self, what: &'static str) -> Git {
        if self.borrows {
            self.about_files(self.repository.with_users(what, &[SPARSE]))
        } else {
            self.alone(what)
        }
    }

    /// Without the user's objects, so that objects that only the user has are written to ours.
    fn alone(&self, what: &'static str) -> Git {
        self.about_files(self.repository.content(what, &[SPARSE]))
    }

    fn about_files(&self, git: Git) -> Git {
        let git = git.at(&self.top).env("GIT_WORK_TREE", &self.top);
        git.env("GIT_INDEX_FILE", &self.path)
    }

    /// Starts again from `tree`. The next look reads all files.
    pub(super) fn reset(&self, tree: Option<&TreeId>) -> Result<(), GitError> {
        self.unlock();
        remove_file(&self.path).map_err(GitError::io("removing an index"))?;
        match tree {
            Some(tree) => self.git("read-tree").arg(tree.as_str()).read()?,
            None => self.git("read-tree").arg("--empty").read()?,
        };
        self.skip_absent()
    }

    /// Skips files of a partial clone whose content was never fetched: they cannot be written, and they are not deleted
    /// either.
    fn skip_absent(&self) -> Result<(), GitError> {
        if !self.repository.user().is_some_and(UserGit::is_partial) {
            return Ok(());
        }
        let listed = self.git("ls-files").args(["-z", "--stage"]).read()?;
        let mut files: Vec<_> = listed.split(|byte| *byte == 0).filter_map(entry).collect();
        let absent =
            self.repository.absent_here(&files.iter().map(|(id, _)| id.clone()).collect())?;
        files.retain(|(id, _)| absent.contains(id));
        let paths: Vec<_> = files.into_iter().map(|(_, path)| path).collect();
        update(self.git("update-index"), &["--skip-worktree"], &paths).map(drop)
    }

    /// Adds the files as they are now. Returns their tree, and the paths that were left out, as people know them.
    pub(super) fn take(&self, extent: Extent) -> Result<(TreeId, Vec<String>), GitError> {
        self.repository.update_excludes()?;
        let mut candidates = self.changed(extent)?;
        let mut left_out = Vec::new();
        let Listed { untracked, submodules, tracked } = self.listed(extent)?;
        for path in untracked {
            // Another repository; its files are its own.
            if path.as_bytes().ends_with(b"/") {
                left_out.push(path);
            } else {
                candidates.insert(path);
            }
        }
        let (mut present, mut gone) = (Vec::new(), Vec::new());
        let top = Folder::open(&self.top).map_err(GitError::io("looking at the files"))?;
        let mut size = Size::default();
        for path in candidates {
            match look(&top, Path::new(&path)) {
                Found::File(_) if is_gits(&top, Path::new(&path)) => left_out.push(path),
                Found::File(bytes) => {
                    size.add(bytes);
                    present.push(path);
                }
                Found::Nothing => gone.push(path),
                Found::Unfit => left_out.push(path),
            }
        }
        if !self.repository.has_git() {
            size.check()?;
        }
        // What is in submodules is no part of the tree.
        let filled = submodules.iter().filter(|path| top.holds_something(Path::new(path)));
        left_out.extend(filled.map(|path| OsString::from_vec([path.as_bytes(), b"/"].concat())));
        left_out.extend(layout::take_out(&mut present, &gone, &tracked));
        update(self.git("update-index"), &["--force-remove"], &gone)?;
        let add = |frozen: &Frozen<'_>| self.add(frozen);
        left_out.extend(self.frozen(&top, &present, add)?);
        let tree = write_tree(self.git("write-tree"))?;
        let mut told: Vec<_> = left_out.iter().map(|path| self.told(path)).collect();
        told.sort();
        Ok((tree, told))
    }

    /// Reads the files with these hashes again, because the objects are damaged. Returns the tree with their new
    /// hashes.
    pub(super) fn take_again(&self, ids: &Ids) -> Result<TreeId, GitError> {
        let listed = self.alone("ls-files").args(["-z", "--stage"]).read()?;
        let lines = listed.split(|byte| *byte == 0).filter_map(entry);
        let lines = lines.filter_map(|(id, path)| ids.contains(&id).then_some(path));
        let top = Folder::open(&self.top).map_err(GitError::io("looking at the files"))?;
        let is_file = |path: &OsString| matches!(look(&top, Path::new(path)), Found::File(_));
        let paths: Vec<_> = lines.filter(is_file).collect();
        update(self.alone("update-index"), &["--force-remove"], &paths)?;
        let add = |frozen: &Frozen<'_>| {
            let git = self.alone("update-index").env("GIT_WORK_TREE", frozen.top());
            update(git.at(frozen.top()), &["--add", "--replace"], frozen.paths())
        };
        self.frozen(&top, &paths, add)?;
        write_tree(self.alone("write-tree"))
    }

    /// Lets git hash private copies of these files, then notes which files are still like their copies. Returns the
    /// paths that cannot be copied, and those that `add` returns.
    fn frozen(
        &self,
        top: &Folder,
        paths: &[OsString],
        add: impl Fn(&Frozen<'_>) -> Result<Vec<OsString>, GitError>,
    ) -> Result<Vec<OsString>, GitError> {
        let mut left_out = Vec::new();
        let mut rest = paths.iter().peekable();
        while rest.peek().is_some() {
            let mut frozen = Frozen::new(&self.repository, top)?;
            while let Some(path) = rest.next_if(|_| !frozen.is_full()) {
                if !frozen.add(path)? {
                    left_out.push(path.clone());
                }
            }
            left_out.extend(add(&frozen)?);
        }
        if !paths.is_empty() {
            self.note(&[])?;
        }
        Ok(left_out)
    }

    /// A path as people know it. A directory keeps its slash.
    fn told(&self, path: &OsString) -> String {
        let slash = if path.as_bytes().ends_with(b"/") { "/" } else { "" };
        self.repository.told(path) + slash
    }

    /// Adds files and returns those that git refuses: names that are special on other systems, and files that
    /// contradict their attributes, such as another encoding. A failed batch is split, so that one such file does not
    /// keep the others out.
    fn add(&self, frozen: &Frozen<'_>) -> Result<Vec<OsString>, GitError> {
        let how = ["--add", "--remove", "--replace"];
        let mut waiting = vec![frozen.paths()];
        let (mut refused, mut failures) = (Vec::new(), 0);
        while let Some(paths) = waiting.pop().filter(|paths| !paths.is_empty()) {
            let git = self.git("update-index").env("GIT_WORK_TREE", frozen.top());
            match update(git.at(frozen.top()), &how, paths) {
                Ok(ignored) => refused.extend(ignored),
                // After so many failures the index itself is at fault, or every file is.
                Err(err @ GitError::Failed { .. }) if failures == MOST_FAILURES => return Err(err),
                Err(GitError::Failed { .. }) if paths.len() == 1 => refused.push(paths[0].clone()),
                Err(GitError::Failed { .. }) => {
                    let (first, second) = paths.split_at(paths.len() / 2);
                    waiting.extend([first, second]);
                    failures += 1;
                }
                Err(err) => return Err(err),
            }
        }
        Ok(refused)
    }

    /// Paths that differ from the index. Submodules are not looked into, because that would run git with their
    /// configuration.
    pub(super) fn changed(&self, extent: Extent) -> Result<BTreeSet<OsString>, GitError> {
        let options = ["-z", "--raw", "--ignore-submodules=all", "--"];
        let listed = self.look(|| {
            let git = self.git("diff-files").args(options);
            match extent {
                Extent::Repository | Extent::Everything => git,
                Extent::Project => self.only_project(git),
            }
        })?;
        let parts: Vec<_> = listed.split(|byte| *byte == 0).collect();
        let pairs = parts.chunks_exact(2);
        let files = pairs.filter(|pair| !is_submodule(pair[0]));
        Ok(files.map(|pair| OsString::from_vec(pair[1].to_vec())).collect())
    }

    /// Lists new files, submodules and tracked files in one call.
    fn listed(&self, extent: Extent) -> Result<Listed, GitError> {
        let listed = self.look(|| {
            let git = self.git("ls-files").args(["-t", "-z", "--others", "--exclude-standard"]);
            let git = git.args(["--cached", "--stage", "--"]);
            match extent {
                Extent::Everything => git,
                Extent::Repository | Extent::Project => self.only_project(git),
            }
        })?;
        let mut found = Listed::default();
        for line in listed.split(|byte| *byte == 0) {
            if let Some(path) = line.strip_prefix(UNTRACKED) {
                found.untracked.push(OsString::from_vec(path.to_vec()));
                continue;
            }
            found.tracked.extend_from_slice(line);
            found.tracked.push(0);
            if line.get(2..).is_some_and(|rest| rest.starts_with(SUBMODULE)) {
                let path = line.splitn(2, |byte| *byte == b'\t').nth(1).map(<[u8]>::to_vec);
                found.submodules.extend(path.map(OsString::from_vec));
            }
        }
        found.submodules.retain(|path| Path::new(path).starts_with(self.repository.prefix()));
        Ok(found)
    }

    /// Directories that are named like generated ones, with a slash at the end. Without a repository nobody has said
    /// that they are not part of the work, so people are told.
    pub(super) fn generated(&self) -> Result<Vec<String>, GitError> {
        if self.repository.has_git() {
            return Ok(Vec::new());
        }
        let options = ["-z", "--others", "--ignored", "--exclude-standard", "--directory", "--"];
        let listed = paths(&self.look(|| self.git("ls-files").args(options))?);
        let is_ambiguous = |path: &&OsString| {
            let name = Path::new(path).file_name();
            let is_directory = path.as_bytes().ends_with(b"/");
            is_directory && AMBIGUOUS.iter().any(|known| name == Some(OsStr::new(known)))
        };
        Ok(listed.iter().filter(is_ambiguous).map(|path| self.told(path)).collect())
    }

    /// Runs a git call that looks at the files themselves, and returns its output.
    pub(super) fn look(&self, call: impl Fn() -> Git) -> Result<Vec<u8>, GitError> {
        let output = self.try_look(&call)?;
        match output.code {
            0 => Ok(output.stdout),
            _ => Err(GitError::from_stderr(call().what(), &output.stderr)),
        }
    }

    /// [`Index::look`] with any exit code. A call that takes long may wait for a pipe that an agent has made; it is
    /// made again when there is none.
    fn try_look(&self, call: impl Fn() -> Git) -> Result<Output, GitError> {
        match call().within(PATIENCE).run() {
            Err(GitError::TimedOut { .. }) => {
                let owner =
                    if self.top == self.repository.top() { Owner::User } else { Owner::Agent };
                pipes::remove(&self.top, owner)?;
                self.unlock();
                call().run()
            }
            done => done,
        }
    }

    pub(super) fn only_project(&self, git: Git) -> Git {
        let prefix = self.repository.prefix();
        if prefix.as_os_str().is_empty() { git } else { git.arg(prefix) }
    }

    /// Writes entries as they are in a tree. `lines` are `MODE HASH\tPATH`.
    pub(super) fn set(&self, lines: &[Vec<u8>]) -> Result<(), GitError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for line in lines {
            input.extend_from_slice(line);
            input.push(0);
        }
        self.git("update-index").args(["-z", "--index-info"]).input(input).read().map(drop)
    }

    /// Hashes and paths of all files.
    pub(super) fn entries(&self) -> Result<Vec<(String, OsString)>, GitError> {
        let listed = self.git("ls-files").args(["-z", "--stage"]).read()?;
        Ok(listed.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    pub(super) fn tree(&self) -> Result<TreeId, GitError> {
        write_tree(self.git("write-tree"))
    }

    /// [`Index::set`], then notes which files match the entries.
    pub(super) fn note(&self, lines: &[Vec<u8>]) -> Result<(), GitError> {
        self.set(lines)?;
        // The exit code says that some file is not up to date, which is no error here.
        let options = ["-q", "--refresh", "--ignore-submodules"];
        self.try_look(|| self.git("update-index").args(options)).map(drop)
    }

    /// The entries of this index with submodules skipped. Otherwise `git status` would look into the directory of a
    /// submodule and use the settings of whatever repository an agent has made there.
    pub(super) fn without_submodules(&self, entries: &[u8]) -> Result<Vec<u8>, GitError> {
        // As the mode of a submodule is stored. Other bytes may look the same, which costs only a call.
        if !entries.windows(4).any(|bytes| *bytes == [0, 0, 0xe0, 0]) {
            return Ok(entries.to_vec());
        }
        let doing = "making an agent's repository";
        let copy = Self::of_nothing(&self.repository, &self.top);
        fs::write(&copy.path, entries).map_err(GitError::io(doing))?;
        let listed = copy.git("ls-files").args(["-z", "--stage"]).read()?;
        let submodules = listed.split(|byte| *byte == 0).filter(|line| line.starts_with(SUBMODULE));
        let paths = submodules.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
        let paths: Vec<_> = paths.map(|path| OsString::from_vec(path.to_vec())).collect();
        update(copy.git("update-index"), &["--skip-worktree"], &paths)?;
        fs::read(&copy.path).map_err(GitError::io(doing))
    }

    /// Removes the lock of a git process of ours that was killed. Nobody else uses this index.
    fn unlock(&self) {
        let _ = fs::remove_file(lock_path(&self.path));
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        if self.once {
            self.unlock();
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Hash and path of a file in a line of `ls-files --stage`.
fn entry(line: &[u8]) -> Option<(String, OsString)> {
    let (about, path) = line.split_at_checked(line.iter().position(|byte| *byte == b'\t')?)?;
    let id = std::str::from_utf8(about).ok()?.split(' ').nth(1)?;
    (!about.starts_with(SUBMODULE)).then(|| (id.to_owned(), OsString::from_vec(path[1..].to_vec())))
}

/// Returns the names that git refuses.
fn update(mut git: Git, how: &[&str], paths: &[OsString]) -> Result<Vec<OsString>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    for option in how {
        git = git.arg(option);
    }
    let output = git.args(["-z", "--stdin"]).input(joined(paths)).run()?;
    if output.code != 0 {
        return Err(GitError::from_stderr("update-index", &output.stderr));
    }
    let ignored = output.stderr.lines().filter_map(|line| line.strip_prefix(IGNORING));
    Ok(ignored.map(OsString::from).collect())
}

/// `--missing-ok`: objects of a partial clone may be elsewhere, and git need not check.
fn write_tree(git: Git) -> Result<TreeId, GitError> {
    tree_id("write-tree", &git.arg("--missing-ok").word()?)
}

/// Size of the new files in a project without a repository, where nobody has chosen what belongs to it.
#[derive(Debug, Default)]
struct Size {
    files: usize,
    bytes: u64,
}

impl Size {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }

    fn check(&self) -> Result<(), GitError> {
        if self.files <= MOST_FILES && self.bytes <= MOST_BYTES {
            return Ok(());
        }
        Err(GitError::TooLarge { files: self.files, mib: self.bytes >> 20 })
    }
}

/// Whether git would take the file for a part of a repository, on this file system or on another one.
fn is_gits(top: &Folder, path: &Path) -> bool {
    path.iter().any(is_dot_git) || makes_repository(top, path)
}

/// Whether a new `HEAD` file would make its directory a git directory, whose settings apply to whoever uses git there.
/// Only this file is left out; the rest are ordinary files.
fn makes_repository(top: &Folder, path: &Path) -> bool {
    let is_head = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("HEAD"));
    let directory = path.parent().unwrap_or(Path::new(""));
    is_head && top.descend(directory).is_ok_and(|folder| folder.is_layout())
}

/// Whether the entry is a submodule, also one whose directory was removed. A file in its place is a change.
fn is_submodule(change: &[u8]) -> bool {
    change.starts_with(b":160000 160000") || change.starts_with(b":160000 000000")
}

fn lock_path(path: &Path) -> PathBuf {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    PathBuf::from(lock)
}

enum Found {
    /// The size in bytes; 0 for a symlink.
    File(u64),
    Nothing,
    /// Too large, or not readable for us. Its entry stays as it was.
    Unfit,
}

fn look(top: &Folder, path: &Path) -> Found {
    match top.stamp(path) {
        Err(_) => Found::Unfit,
        Ok(Some(stamp)) if stamp.is_link() => Found::File(0),
        Ok(Some(stamp)) if stamp.is_file() => {
            let fits = stamp.size() <= LARGEST_FILE && top.can_read(path);
            if fits { Found::File(stamp.size()) } else { Found::Unfit }
        }
        Ok(_) => Found::Nothing,
    }
}

/// Copies an index with its time. Git compares that with the times of files, so the copy must not look younger.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let modified = source.metadata()?.modified()?;
    let mut copy = File::create(to)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_modified(modified)
}

pub(super) fn paths(listed: &[u8]) -> Vec<OsString> {
    let parts = listed.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| OsString::from_vec(part.to_vec())).collect()
}

pub(super) fn joined(paths: &[OsString]) -> Vec<u8> {
    let mut joined = Vec::new();
    for path in paths {
        joined.extend_from_slice(path.as_bytes());
        joined.push(0);
    }
    joined
}
