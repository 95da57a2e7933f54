//! The second half of the way into a box: what our own binary is told when it is started again within a view that is
//! made already, by bubblewrap or by the process before it.

use super::Confinement;
use super::error::BoxError;
use super::means::{Seen, Way};
use super::plan::{Change, Plan, open_real};
use rustix::fs::fstat;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The arguments by which our own binary goes on from there.
pub(super) fn again(
    binary: &mut Command,
    inner: &Confinement,
    command: &[OsString],
) -> Result<(), BoxError> {
    binary.arg("boxed").arg(inner.to_text()?).arg("--").args(command);
    Ok(())
}

/// What is left to do within the view that the plan describes. `found` says where this process finds what the next one
/// has to see at a path.
pub(super) fn inner<'a>(
    confinement: &Confinement,
    plan: &'a Plan,
    found: impl Fn(&'a Path) -> &'a Path,
    way: fn(Vec<Seen>) -> Way,
) -> Result<Confinement, BoxError> {
    let shown = plan.changes.iter().filter(|(_, change)| matches!(change, Change::Show(_)));
    let seen = shown.map(|(path, _)| Ok(Seen { path: path.clone(), ..seen(found(path))? }));
    let seen = seen.collect::<Result<_, _>>()?;
    let mut inner = confinement.clone();
    inner.means.way = way(seen);
    inner.writable = plan.writable.clone();
    inner.hidden = Arc::new([]);
    (inner.secrets, inner.readable, inner.protected) = (Vec::new(), Vec::new(), Vec::new());
    inner.stand_ins = Vec::new();
    Ok(inner)
}

fn seen(path: &Path) -> Result<Seen, BoxError> {
    let about = fstat(open_real(path)?)
        .map_err(|err| BoxError::Path { path: path.to_owned(), reason: err.into() })?;
    Ok(Seen { path: path.to_owned(), device: about.st_dev, inode: about.st_ino })
}

/// Things are found by their paths; what an agent has put there meanwhile is not what was meant.
pub(super) fn check(seen_before: &[Seen]) -> Result<(), BoxError> {
    for before in seen_before {
        if seen(&before.path)? != *before {
            return Err(BoxError::Replaced(before.path.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_replaced_meanwhile_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (place, other) = (directory.path().join("place"), directory.path().join("other"));
        std::fs::create_dir(&place).unwrap();
        std::fs::create_dir(&other).unwrap();
        let before = [seen(&place.canonicalize().unwrap()).unwrap()];
        check(&before).unwrap();
        std::fs::rename(&place, directory.path().join("old")).unwrap();
        std::os::unix::fs::symlink(&other, &place).unwrap();
        assert!(check(&before).is_err());
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&other, &place).unwrap();
        assert!(matches!(check(&before), Err(BoxError::Replaced(_))));
    }
}
