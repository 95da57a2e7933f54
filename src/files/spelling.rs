//! Names that are no text are shown with a sign for what cannot be shown. Here they are found again.

use cap_std::fs::Dir;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// What a path that was shown may mean.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    One(PathBuf),
    /// Several names look alike.
    Several,
}

/// Every part is what it says, if there is something of that name, or the only name that looks like it.
pub(super) fn meaning(root: &Dir, shown: &Path) -> io::Result<Meaning> {
    let mut path = PathBuf::new();
    for part in shown {
        let exact = path.join(part);
        if !may_be_another(part) || root.symlink_metadata(&exact).is_ok() {
            path = exact;
            continue;
        }
        let mut alike =
            names(root, &path)?.into_iter().filter(|name| *name.to_string_lossy() == *part);
        match (alike.next(), alike.next()) {
            (Some(name), None) => path.push(name),
            (Some(_), Some(_)) => return Ok(Meaning::Several),
            (None, _) => path = exact,
        }
    }
    Ok(Meaning::One(path))
}

/// Whether it holds the sign.
pub(super) fn may_be_another(shown: impl AsRef<OsStr>) -> bool {
    shown.as_ref().to_str().is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER))
}

fn names(root: &Dir, directory: &Path) -> io::Result<Vec<OsString>> {
    let inside = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = root.read_dir(inside)?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect())
}
