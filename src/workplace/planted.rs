//! Git directories that appear in a project while an agent works in it. Their settings could run programs, outside of
//! any sandbox, for whoever uses git there next, so they are moved out of the project.

use super::folder::Folder;
use super::nested::is_dot_git;
use super::private::{make_directory, replace};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Most directories that are searched, nearest first.
const MOST_DIRECTORIES: usize = 50_000;
/// Most git directories that are moved at once; the next search moves the rest.
const MOST_MOVED: usize = 256;

/// The git directories of a project at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLayouts {
    project: PathBuf,
    hidden: Vec<PathBuf>,
    /// Relative to the project: each `.git`, and each `HEAD` of a directory that looks like a git directory.
    known: BTreeSet<PathBuf>,
}

/// Something that was moved out of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where it was, relative to the project.
    pub path: String,
    /// Where it is.
    pub place: PathBuf,
}

impl GitLayouts {
    /// `project` is a real path. Blocking.
    pub fn find(project: &Path, hidden: &[PathBuf]) -> Self {
        let hidden: Vec<_> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let known = look(project, &hidden);
        Self { project: project.to_owned(), hidden, known }
    }

    /// Stores the list for the next gateway, in case this one is killed while an agent works. Blocking.
    pub fn save(&self, file: &Path) -> io::Result<()> {
        let paths = [&self.project].into_iter().chain(&self.known);
        let text = paths.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat());
        make_directory(file.parent().unwrap_or(Path::new("/")))?;
        replace(file, &text.collect::<Vec<_>>())
    }

    pub fn load(file: &Path, hidden: &[PathBuf]) -> io::Result<Self> {
        let text = fs::read(file)?;
        let mut paths = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let project = PathBuf::from(OsStr::from_bytes(paths.next().unwrap_or(b"/nonexistent")));
        let known = paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
        let hidden = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        Ok(Self { project, hidden, known })
    }

    /// Moves everything that is not in the list into `aside`, a directory of the gateway. Blocking.
    pub fn set_new_ones_aside(&self, aside: &Path) -> Vec<SetAside> {
        let found = look(&self.project, &self.hidden);
        let new = found.difference(&self.known).take(MOST_MOVED);
        let mut moved = Vec::new();
        for path in new {
            match move_out(&self.project, path, aside) {
                Ok(place) => {
                    let path = path.to_string_lossy().into_owned();
                    moved.push(SetAside { path, place });
                }
                // The agent may have removed it itself.
                Err(err) if err.kind() == io::ErrorKind::NotFound => {}
                Err(err) => {
                    tracing::error!(%err, path = %path.display(), "a git directory that an agent made stays");
                }
            }
        }
        moved
    }
}

/// Moves repositories into `aside` that are on the way from the top of a copy down to the project in it. Git would find
/// them before the copy's own. Other repositories in a copy are the agent's business.
pub(super) fn clear_way(top: &Path, prefix: &Path, aside: &Path) {
    for directory in prefix.ancestors().filter(|directory| !directory.as_os_str().is_empty()) {
        let entries = fs::read_dir(top.join(directory)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name());
        for name in names.filter(|name| is_dot_git(name)) {
            match move_out(top, &directory.join(name), aside) {
                Ok(place) => {
                    tracing::warn!(place = %place.display(), "a repository that an agent made around the project was moved out of its copy")
                }
                Err(err) => tracing::error!(%err, "a git directory that an agent made stays"),
            }
        }
    }
}

/// Finds what git would take for a repository. Symlinks to directories are not followed, but one that is named `.git`
/// counts.
fn look(project: &Path, hidden: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut waiting = VecDeque::from([PathBuf::new()]);
    for _ in 0..MOST_DIRECTORIES {
        let Some(directory) = waiting.pop_front() else { break };
        let whole = project.join(&directory);
        if Folder::open(&whole).is_ok_and(|folder| folder.is_layout()) {
            found.insert(directory.join("HEAD"));
        }
        for entry in fs::read_dir(&whole).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), directory.join(entry.file_name()));
            if is_dot_git(&name) {
                found.insert(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !hidden.contains(&entry.path())
            {
                waiting.push_back(path);
            }
        }
    }
    found
}

/// Uses descriptors, because an agent may replace a directory on the way by a symlink meanwhile.
fn move_out(project: &Path, path: &Path, aside: &Path) -> io::Result<PathBuf> {
    make_directory(aside)?;
    let (folder, name) = Folder::open(project)?.parent_of(path)?;
    let place = fresh_name(&name);
    match folder.move_to(&name, &Folder::open(aside)?, &place) {
        Ok(()) => Ok(aside.join(place)),
        // `aside` is on another disk: the directory stays in the project, under a name that means nothing to git.
        Err(err) if err.kind() == io::ErrorKind::CrossesDevices => {
            let mut beside = OsString::from(".kakehashi-aside-");
            beside.push(&place);
            folder.move_to(&name, &folder, &beside)?;
            if let Ok(moved) = folder.child(&beside) {
                let _ = moved.move_to(OsStr::new("HEAD"), &moved, OsStr::new("HEAD.aside"));
            }
            Ok(project.join(path).with_file_name(beside))
        }
        Err(err) => Err(err),
    }
}

/// A name with the time in it, so that the next one of the same name has room.
fn fresh_name(name: &OsStr) -> OsString {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let mut fresh = OsString::from(format!("{now}-"));
    // The name must mean nothing to git here either.
    fresh.push(name.to_string_lossy().trim_start_matches('.'));
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn layout(project: &Path, at: &str) {
        for part in ["objects", "refs"] {
            fs::create_dir_all(project.join(at).join(part)).unwrap();
        }
        fs::write(project.join(at).join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn only_what_is_new_is_moved_wherever_it_is_and_however_it_is_written() {
        let (dir, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = dir.path().canonicalize().unwrap();
        layout(&project, ".git");
        layout(&project, "old/.git");
        layout(&project, "fixtures/bare.git");
        layout(&project, "data/copy/.git");
        fs::write(project.join("HEAD"), "a file of the user\n").unwrap();
        let before = GitLayouts::find(&project, &[project.join("data")]);
        assert_eq!(before.set_new_ones_aside(aside.path()), []);
        let note = aside.path().join("notes/1");
        before.save(&note).unwrap();
        let before = GitLayouts::load(&note, &[project.join("data")]).unwrap();
        layout(&project, "new/.git");
        layout(&project, "new/deep/.GIT");
        layout(&project, "node_modules/a/b/.git");
        layout(&project, "src/bare");
        layout(&project, "data/copy/more/.git");
        fs::create_dir_all(project.join("file")).unwrap();
        fs::write(project.join("file/.git"), "gitdir: ../src/bare\n").unwrap();
        fs::create_dir_all(project.join("linked")).unwrap();
        symlink("../src/bare", project.join("linked/.gIt")).unwrap();
        fs::write(project.join("linked/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(project.join("linked/commondir"), "../src/bare\n").unwrap();
        let moved = before.set_new_ones_aside(aside.path());
        let paths: Vec<_> = moved.iter().map(|one| one.path.as_str()).collect();
        let expected = [
            "file/.git",
            "linked/.gIt",
            "linked/HEAD",
            "new/.git",
            "new/deep/.GIT",
            "node_modules/a/b/.git",
            "src/bare/HEAD",
        ];
        assert_eq!(paths, expected);
        for one in &moved {
            assert!(one.place.symlink_metadata().is_ok(), "{one:?}");
            assert!(project.join(&one.path).symlink_metadata().is_err(), "{one:?}");
        }
        assert!(project.join("src/bare/refs").is_dir());
        assert!(project.join("data/copy/more/.git").is_dir());
        assert_eq!(before.set_new_ones_aside(aside.path()), []);
    }

    #[test]
    fn a_directory_that_became_a_link_leads_nowhere() {
        let (dir, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = dir.path().canonicalize().unwrap();
        let (project, other) = (base.join("project"), base.join("other"));
        layout(&other, ".git");
        fs::create_dir(&project).unwrap();
        symlink(&other, project.join("sub")).unwrap();
        // As if it had been a directory during the search.
        let refused = move_out(&project, Path::new("sub/.git"), aside.path());
        assert!(refused.is_err());
        assert!(other.join(".git/HEAD").exists());
    }
}
