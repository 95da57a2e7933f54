//! Shared libraries in a closed view. Our own binary is started in the view, too, so what it has loaded is shown there;
//! and the loader finds libraries by names that are often symbolic links.

use super::closed::{ClosedView, Shown};
use super::error::BoxError;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MAPS: &str = "/proc/self/maps";
/// Some systems have links here that programs and the loader go through.
const OLDER_PLACES: [&str; 4] = ["/lib", "/lib64", "/bin", "/usr/lib64"];

/// A symbolic link, for a program that looks for something under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) place: PathBuf,
    pub(super) target: PathBuf,
}

/// The view with the libraries of this process, and the loaders among all libraries as programs that may be started.
pub(super) fn with_own(view: &ClosedView) -> Result<ClosedView, BoxError> {
    let mut whole = view.clone();
    for path in loaded()? {
        if whole.shown.iter().all(|one| one.inside != path) {
            whole.shown.push(Shown { outside: path.clone(), inside: path });
        }
    }
    let is_loader = |path: &&PathBuf| name(path).is_some_and(|name| name.starts_with("ld-"));
    let loaders = libraries(&whole);
    whole.executable.extend(loaders.iter().filter(is_loader).cloned());
    Ok(whole)
}

/// Other names of the libraries in the view.
pub(super) fn links(view: &ClosedView) -> Vec<Link> {
    let libraries = libraries(view);
    let older: Vec<_> =
        OLDER_PLACES.iter().map(PathBuf::from).filter(|place| place.is_symlink()).collect();
    let beside = libraries.iter().filter_map(|path| path.parent()).map(Path::to_owned);
    // The loader itself is often named by a link elsewhere.
    let places: BTreeSet<_> = beside.chain(OLDER_PLACES.map(PathBuf::from)).collect();
    let names = places.iter().flat_map(|place| other_names(place, &libraries));
    let is_below_older = |path: &Path| older.iter().any(|place| path.starts_with(place));
    let mut links: Vec<_> = names.filter(|link| !is_below_older(&link.place)).collect();
    links.extend(older.iter().filter_map(|place| {
        Some(Link { place: place.clone(), target: fs::read_link(place).ok()? })
    }));
    links
}

fn other_names(place: &Path, libraries: &BTreeSet<PathBuf>) -> Vec<Link> {
    let entries = fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
    let links = entries.filter(|entry| {
        is_library(&entry.path()) && entry.file_type().is_ok_and(|kind| kind.is_symlink())
    });
    let found = links.filter_map(|entry| {
        let target = entry.path().canonicalize().ok()?;
        libraries.contains(&target).then(|| Link { place: entry.path(), target })
    });
    found.collect()
}

/// Files, by their names, that are shown where they also are outside.
fn libraries(view: &ClosedView) -> BTreeSet<PathBuf> {
    let same = view.shown.iter().filter(|one| one.inside == one.outside);
    same.map(|one| one.inside.clone()).filter(|path| is_library(path)).collect()
}

/// What this process has loaded.
fn loaded() -> Result<BTreeSet<PathBuf>, BoxError> {
    let maps =
        fs::read_to_string(MAPS).map_err(|reason| BoxError::Path { path: MAPS.into(), reason })?;
    let mapped = maps.lines().filter_map(|line| line.split_once('/'));
    let paths = mapped.map(|(_, path)| PathBuf::from(format!("/{path}")));
    Ok(paths.filter(|path| is_library(path) && path.is_file()).collect())
}

fn is_library(path: &Path) -> bool {
    name(path).is_some_and(|name| name.contains(".so"))
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Scratch;

    #[test]
    fn our_own_libraries_are_shown_and_found_by_their_other_names() {
        let scratch = Scratch { place: "/workspace".into(), bytes: 1, files: 1 };
        let empty = ClosedView {
            shown: Vec::new(),
            scratch,
            executable: Vec::new(),
            variables: Vec::new(),
            memory: 1,
        };
        let whole = with_own(&empty).unwrap();
        let loaded = loaded().unwrap();
        assert!(loaded.iter().any(|path| name(path).unwrap().starts_with("libc")), "{loaded:?}");
        let inside: BTreeSet<_> = whole.shown.iter().map(|one| one.inside.clone()).collect();
        assert_eq!(inside, loaded);
        assert_eq!(whole.executable.len(), 1, "{whole:?}");
        // Shown twice it would be in its own way.
        assert_eq!(with_own(&whole).unwrap().shown, whole.shown);
        for Link { place, target } in links(&whole) {
            let is_older = OLDER_PLACES.iter().any(|older| place == Path::new(older));
            assert!(is_older || inside.contains(&target), "{place:?} {target:?}");
        }
    }
}
