//! Repositories inside of a project. Like those of the project's own repository, their hooks and settings apply to
//! whoever uses git there next.

use super::folder::Folder;
use super::repository::small_file;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most directories that are searched, nearest first. More would keep a run waiting.
const MOST_DIRECTORIES: usize = 20_000;
/// Most repositories, because each of them costs an agent's sandbox some mounts.
const MOST_REPOSITORIES: usize = 64;
/// Large directories that tools make. A repository may be directly in one, but hardly deeper.
const HEAVY: [&str; 4] = ["node_modules", "target", ".venv", "__pycache__"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nested {
    /// The `.git` of each repository, and what a `.git` file points to within the project. Symlinks are left out.
    pub entries: Vec<PathBuf>,
    /// Some directories were not searched, or some repositories are not in the list.
    pub cut: bool,
}

impl Nested {
    /// Searches below the project, which is a real path, except in `hidden`. Blocking.
    pub fn find(project: &Path, hidden: &[PathBuf]) -> Self {
        Self::within(project, hidden, MOST_DIRECTORIES, MOST_REPOSITORIES)
    }

    fn within(project: &Path, hidden: &[PathBuf], most: usize, repositories: usize) -> Self {
        let hidden: Vec<_> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut found = Self::default();
        let mut waiting = VecDeque::from([project.to_owned()]);
        let mut looked_at = 0;
        while let Some(directory) = waiting.pop_front() {
            if looked_at == most {
                found.cut = true;
                break;
            }
            looked_at += 1;
            let is_heavy = HEAVY.iter().any(|name| directory.file_name() == Some(OsStr::new(name)));
            // A directory that cannot be read cannot be used either.
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if entry.file_name() == ".git" {
                    if directory != project {
                        found.add(project, &hidden, entry.path(), kind);
                    }
                } else if kind.is_dir() && !is_heavy && !hidden.contains(&entry.path()) {
                    waiting.push_back(entry.path());
                }
            }
        }
        found.entries.sort();
        found.entries.dedup();
        found.cut |= found.entries.len() > repositories;
        found.entries.truncate(repositories);
        found
    }

    fn add(&mut self, project: &Path, hidden: &[PathBuf], dot_git: PathBuf, kind: FileType) {
        let target = if kind.is_file() { pointed_to(&dot_git) } else { None };
        let own = project.join(".git");
        let is_elsewhere = |path: &PathBuf| {
            !path.starts_with(project)
                || path.starts_with(&own)
                || hidden.iter().any(|hidden| path.starts_with(hidden))
        };
        let target = target.filter(|path| !is_elsewhere(path));
        let entry = Some(dot_git).filter(|_| !kind.is_symlink());
        for path in [entry, target].into_iter().flatten() {
            // The sandbox takes paths as text.
            if path.to_str().is_some() {
                self.entries.push(path);
            } else {
                self.cut = true;
            }
        }
    }
}

/// Whether git takes this name for a repository on some file system. Some ignore case, some ignore characters that
/// nobody sees, and some know `.git` by a short name.
pub fn is_dot_git(name: &OsStr) -> bool {
    let is_short = name.eq_ignore_ascii_case("git~1");
    is_short || name.eq_ignore_ascii_case(".git") || is_dot_git_with_unseen(name)
}

fn is_dot_git_with_unseen(name: &OsStr) -> bool {
    let Some(text) = name.to_str().filter(|text| !text.is_ascii()) else { return false };
    let seen: String = text.chars().filter(|letter| !is_unseen(*letter)).collect();
    seen.eq_ignore_ascii_case(".git")
}

/// Unicode calls these "default ignorable", as far as file systems know them.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether git would take a directory for a git directory, such as that of a bare repository.
pub(super) fn is_layout(path: &Path) -> bool {
    Folder::open(path).is_ok_and(|folder| folder.is_layout())
}

/// Target of the `.git` file of a submodule or linked worktree.
fn pointed_to(dot_git: &Path) -> Option<PathBuf> {
    let text = small_file(dot_git)?;
    let target = text.strip_prefix(b"gitdir:")?.trim_ascii();
    dot_git.parent()?.join(OsStr::from_bytes(target)).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn make(project: &Path, directories: &[&str]) {
        for path in directories {
            fs::create_dir_all(project.join(path)).unwrap();
        }
    }

    fn names(project: &Path, found: &Nested) -> Vec<String> {
        let told = found.entries.iter().map(|path| path.strip_prefix(project).unwrap());
        told.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn repositories_are_found_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap();
        make(
            &project,
            &[".git/modules/own", "a/.git", "a/b/c/.git", "node_modules/.git", "stores/far.git"],
        );
        make(&project, &["node_modules/x/y/.git", "own", "far", "link"]);
        fs::write(project.join("own/.git"), "gitdir: ../.git/modules/own\n").unwrap();
        fs::write(project.join("far/.git"), "gitdir: ../stores/far.git\n").unwrap();
        symlink("/etc", project.join("link/.git")).unwrap();
        make(&project, &["data/worktrees/x/.git", "sly"]);
        fs::write(project.join("sly/.git"), "gitdir: ../data/worktrees\n").unwrap();
        let found = Nested::find(&project, &[project.join("data")]);
        let expected = [
            "a/.git",
            "a/b/c/.git",
            "far/.git",
            "node_modules/.git",
            "own/.git",
            "sly/.git",
            "stores/far.git",
        ];
        assert_eq!(names(&project, &found), expected);
        assert!(!found.cut);
    }

    #[test]
    fn the_nearest_are_found_first_and_the_rest_is_told() {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path(), &["a/a/a/.git", "b/.git", "c/.git"]);
        let found = Nested::within(dir.path(), &[], 4, 9);
        assert_eq!(names(dir.path(), &found), ["b/.git", "c/.git"]);
        assert!(found.cut);
        let found = Nested::within(dir.path(), &[], 9, 2);
        assert_eq!((found.entries.len(), found.cut), (2, true));
    }
}
