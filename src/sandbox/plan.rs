//! What is to happen to the disk as it looks from within, path by path, whoever makes it so.

use super::error::BoxError;
use super::fresh::FRESH;
use super::{Confinement, StandIn};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Links of the system that lead to where nothing is to be seen.
const NEEDED: [&str; 4] =
    ["/etc/resolv.conf", "/etc/localtime", "/run/current-system", "/run/opengl-driver"];
/// Everything in here is the agent's own.
pub(super) const OWN: [&str; 3] = ["/tmp", "/var/tmp", "/dev"];

/// What happens at one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Empty, and so it stays.
    Hide,
    /// Empty, and the agent's own.
    Fresh,
    /// As it was.
    Show(Access),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

#[derive(Debug)]
pub(super) struct Plan {
    /// What may be changed, by its real paths.
    pub(super) writable: Vec<PathBuf>,
    /// From the outside in, so that each change happens within what the earlier ones have made.
    pub(super) changes: Vec<(PathBuf, Change)>,
    stand_ins: Vec<StandIn>,
}

impl Plan {
    pub(super) fn new(confinement: &Confinement) -> Result<Self, BoxError> {
        check_secrets(&confinement.secrets)?;
        let stand_ins = confinement.stand_ins.clone();
        for StandIn { directory, place } in &stand_ins {
            // Unlike other paths these have to be there, and no link may be on the way: the agent must not get what is
            // behind a place instead.
            open_real(directory)?;
            open_real(place)?;
        }
        let mut writable = real(&confinement.writable, confinement);
        writable.extend(stand_ins.iter().map(|one| one.place.clone()));
        let changes = changes(confinement, &writable);
        Ok(Self { writable, changes, stand_ins })
    }

    /// Where that is outside which the agent sees at this path.
    pub(super) fn outside<'a>(&'a self, path: &'a Path) -> &'a Path {
        let found = self.stand_ins.iter().find(|one| one.place == path);
        found.map_or(path, |one| &one.directory)
    }
}

/// A file with two names can be hidden under one of them only.
fn check_secrets(secrets: &[PathBuf]) -> Result<(), BoxError> {
    let has_second = |path: &&PathBuf| {
        fs::metadata(path).is_ok_and(|about| about.is_file() && about.nlink() > 1)
    };
    match secrets.iter().find(has_second) {
        Some(path) => Err(BoxError::SecondName(path.clone())),
        None => Ok(()),
    }
}

/// Real paths. What is within something writable may be a link that an agent has put there, and is not followed.
fn real(paths: &[PathBuf], confinement: &Confinement) -> Vec<PathBuf> {
    let is_within = |path: &Path, other: &PathBuf| other != path && path.starts_with(other);
    let resolve = |path: &PathBuf| {
        let real = path.canonicalize().ok()?;
        let may_be_planted = confinement.writable.iter().any(|other| is_within(path, other));
        (real == *path || !may_be_planted).then_some(real)
    };
    paths.iter().filter_map(resolve).collect()
}

fn changes(confinement: &Confinement, writable: &[PathBuf]) -> Vec<(PathBuf, Change)> {
    let mut changes: Vec<(PathBuf, Change)> = Vec::new();
    let mut add = |path: PathBuf, change| {
        if changes.iter().all(|(other, _)| *other != path) {
            changes.push((path, change));
        }
    };
    let needed = NEEDED.map(PathBuf::from);
    let readable = [&confinement.protected, &confinement.readable, needed.as_slice()]
        .map(|paths| real(paths, confinement));
    // Who may change a place may see it, so these come first.
    for path in writable {
        add(path.clone(), Change::Show(Access::Write));
    }
    for path in readable.into_iter().flatten() {
        add(path, Change::Show(Access::Read));
    }
    for path in FRESH.iter().filter_map(|path| Path::new(path).canonicalize().ok()) {
        add(path, Change::Fresh);
    }
    let hidden = confinement.hidden.iter().chain(&confinement.secrets);
    for path in hidden.filter_map(|path| path.canonicalize().ok()) {
        add(path, Change::Hide);
    }
    changes.sort_by_key(|(path, _)| path.components().count());
    changes
}

/// The path is a real one; if there is a link in it by now, somebody has just put it there.
pub(super) fn open_real(path: &Path) -> Result<OwnedFd, BoxError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(|err| BoxError::Path { path: path.to_owned(), reason: err.into() })
}
