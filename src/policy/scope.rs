//! Where an agent works. Paths are compared part by part after links are followed, so neither `..` nor a link nor a
//! directory with a longer name of the same beginning gets through. This is consent, not the boundary: the box is.

use std::path::{Component, Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Scope {
    /// As the agent sees it; what relative paths start from.
    place: PathBuf,
    /// The same without links.
    root: PathBuf,
    /// Where it may read only, without links.
    readable: Vec<PathBuf>,
}

/// Where a path lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lies {
    Inside,
    /// Where the agent may look, and leaves everything as it is.
    Readable,
    Outside,
}

impl Scope {
    /// Below `place`; and to be read also below `readable`, such as what the user has sent.
    pub fn new(place: &Path, readable: &[PathBuf]) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let readable = readable.iter().map(|path| real(path)).collect();
        Self { place: place.to_owned(), root: real(place), readable }
    }

    /// Of several paths the one that lies farthest away, with where that is.
    pub(super) fn farthest<'a>(&self, paths: &'a [PathBuf]) -> Option<(Lies, &'a Path)> {
        let lies = paths.iter().map(|path| (self.lies(path), path.as_path()));
        lies.max_by_key(|(lies, _)| *lies)
    }

    /// Where an agent's commands begin.
    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// Where a path leads when links are followed; `None` if one of them leads nowhere.
    pub(super) fn real(&self, path: &Path) -> Option<PathBuf> {
        resolved(&self.place.join(path))
    }

    pub(super) fn lies(&self, path: &Path) -> Lies {
        // Tools go by what a shell would make of it.
        let real = if is_a_home(path) { None } else { resolved(&self.place.join(path)) };
        match real {
            Some(real) if real.starts_with(&self.root) => Lies::Inside,
            Some(real) if self.readable.iter().any(|root| real.starts_with(root)) => Lies::Readable,
            Some(_) | None => Lies::Outside,
        }
    }
}

/// `~` and `~name`.
fn is_a_home(path: &Path) -> bool {
    let first = path.components().next().map(|first| first.as_os_str().to_string_lossy());
    let user = first.as_deref().and_then(|first| first.strip_prefix('~'));
    user.is_some_and(|user| user.chars().all(|one| one.is_alphanumeric() || "-_".contains(one)))
}

/// Links are followed as far as the path exists; what does not exist yet must not climb.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::CurDir => {}
            Component::RootDir => real.push("/"),
            // After links were followed, so that `link/..` is where the system would go.
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                real.push(name);
                match real.canonicalize() {
                    Ok(found) => real = found,
                    // A link that leads nowhere may lead somewhere when it is written through.
                    Err(_) if real.is_symlink() => return None,
                    Err(_) => {}
                }
            }
        }
    }
    Some(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_really_inside_is_inside() {
        let dir = tempfile::tempdir().unwrap();
        let (root, trap) = (dir.path().join("root"), dir.path().join("root2"));
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir(&trap).unwrap();
        symlink(&trap, root.join("out")).unwrap();
        symlink(root.join("src"), root.join("in")).unwrap();
        symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        let scope = Scope::new(&root, &[]);
        for (path, inside) in [
            (PathBuf::from("src/a.rs"), true),
            (root.join("new/dir/a.rs"), true),
            (PathBuf::from("in/a.rs"), true),
            (root.clone(), true),
            (PathBuf::from("src/../src/a"), true),
            (PathBuf::from("../root2/a"), false),
            (PathBuf::from("src/../../root2/a"), false),
            (trap.join("a"), false),
            (PathBuf::from("out/a"), false),
            (PathBuf::from("dangling"), false),
            (PathBuf::from("/etc/passwd"), false),
            (PathBuf::from("new/../../root2/a"), false),
            (PathBuf::from("~/.ssh/id"), false),
            (PathBuf::from("~root"), false),
            (PathBuf::from("~$report.docx"), true),
            (PathBuf::from("src/~"), true),
        ] {
            let expected = if inside { Lies::Inside } else { Lies::Outside };
            assert_eq!(scope.lies(&path), expected, "{}", path.display());
        }
        let wider = Scope::new(&root, std::slice::from_ref(&trap));
        assert_eq!(wider.lies(&trap.join("a")), Lies::Readable);
        assert_eq!(wider.lies(Path::new("out/a")), Lies::Readable);
        let paths = ["a".into(), trap.join("a"), "/etc".into(), "b".into()];
        assert_eq!(wider.farthest(&paths[..2]), Some((Lies::Readable, paths[1].as_path())));
        assert_eq!(wider.farthest(&paths), Some((Lies::Outside, Path::new("/etc"))));
        assert_eq!(wider.farthest(&[]), None);
    }
}
