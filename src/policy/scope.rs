//! Where an agent works. Paths are compared part by part after links are followed, so neither `..` nor a link nor a
//! directory with a longer name of the same beginning gets through. This is consent, not the boundary: the box is.

use std::path::{Component, Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Scope {
    /// As the agent sees it; what relative paths start from.
    place: PathBuf,
    /// Without links.
    roots: Vec<PathBuf>,
}

impl Scope {
    /// Below `place`, and below `others`, such as the agent's own temp directory.
    pub fn new(place: &Path, others: &[PathBuf]) -> Self {
        let roots = others.iter().map(PathBuf::as_path).chain([place]);
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { place: place.to_owned(), roots: roots.map(real).collect() }
    }

    /// The first path that lies elsewhere is the error.
    pub(super) fn holds_all<'a>(&self, paths: &'a [PathBuf]) -> Result<(), &'a Path> {
        match paths.iter().find(|path| !self.holds(path)) {
            Some(outside) => Err(outside),
            None => Ok(()),
        }
    }

    fn holds(&self, path: &Path) -> bool {
        let real = resolved(&self.place.join(path));
        real.is_some_and(|real| self.roots.iter().any(|root| real.starts_with(root)))
    }
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
        ] {
            assert_eq!(scope.holds(&path), inside, "{}", path.display());
        }
        let wider = Scope::new(&root, std::slice::from_ref(&trap));
        assert!(wider.holds(&trap.join("a")));
    }
}
