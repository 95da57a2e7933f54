//! Backups of the project: everything once, then what has changed, each in a directory named by its time.
//! Made before and after every run of an agent, so that nothing an agent does is final.

mod archive;
mod copier;
mod copy;
mod moment;
mod obstacle;
mod restore;

pub use moment::{BadMoment, Moment};
pub use restore::Restored;

use super::catalog::with_slashes;
use super::listing::Place;
use super::tree::Tree;
use super::{FileError, Files};
use crate::message::ChangeStatus;
use archive::{Archive, Layer, Manifest};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use copier::Copier;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The project's files at one moment, without their contents.
#[derive(Debug, Clone)]
pub struct Snapshot {
    tree: Arc<Tree>,
    /// Greater if files have changed since an earlier snapshot of the same project.
    revision: u64,
}

impl Snapshot {
    /// What was made, changed or removed since, as people write paths.
    pub fn changes_until(&self, later: &Self) -> BTreeMap<String, ChangeStatus> {
        let (changed, gone) = self.tree.differences(&later.tree);
        let status = |path: &Path| {
            if self.tree.has(path) { ChangeStatus::Modified } else { ChangeStatus::Added }
        };
        let changed = changed.iter().map(|path| (with_slashes(path), status(path)));
        let gone = gone.iter().map(|path| (with_slashes(path), ChangeStatus::Deleted));
        changed.chain(gone).collect()
    }
}

/// One state that the project can be brought back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    pub moment: Moment,
    /// Every file was copied, and not only those that had changed.
    pub is_full: bool,
    /// How many the project had.
    pub files: usize,
}

impl Backup {
    pub fn kind(self) -> &'static str {
        if self.is_full { "full" } else { "changes" }
    }
}

#[derive(Debug)]
pub(super) struct Backups {
    archive: Archive,
    /// Held while a backup is made or restored: one at a time.
    work: Mutex<Work>,
    /// Beside the work, so that lists never wait for it.
    last: Mutex<Option<LastCopy>>,
    copier: Copier,
}

#[derive(Debug, Default)]
struct Work {
    /// What all layers together hold; `None` until it is needed, and after a failure.
    state: Option<State>,
}

#[derive(Debug)]
struct State {
    layers: Vec<Layer>,
    tree: Tree,
}

/// The newest backup, as lists tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastCopy {
    pub(super) shown: String,
    pub(super) path: String,
    pub(super) count: usize,
    pub(super) digest: u64,
}

impl Backups {
    pub(super) fn new(base: PathBuf) -> Self {
        let archive = Archive::new(base);
        let last = archive.layers().last().map(|layer| {
            let manifest = archive.manifest(layer);
            last_copy(&archive, layer, &manifest)
        });
        Self { archive, work: Mutex::default(), last: Mutex::new(last), copier: Copier::default() }
    }

    pub(super) fn last(&self) -> Option<LastCopy> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn base(&self) -> &Path {
        self.archive.base()
    }

    fn set_last(&self, last: LastCopy) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_state(&self, work: &mut Work) -> io::Result<State> {
        match work.state.take() {
            Some(state) => Ok(state),
            None => {
                self.archive.sweep();
                let layers = self.archive.layers();
                let tree = self.archive.tree(&layers)?;
                Ok(State { layers, tree })
            }
        }
    }
}

impl Files {
    /// Reads the whole project, so that nothing depends on a notice that is still on its way.
    pub fn survey(&self) -> Result<Snapshot, FileError> {
        let place = Place::Project;
        let seen = self.catalog(&place).index.survey();
        seen.map(|seen| Snapshot { tree: seen.tree, revision: seen.revision })
            .map_err(|err| super::listing::lost(&place, err))
    }

    /// Copies what has changed since the last backup; if that is nothing, there is no new one.
    pub fn back_up(&self, snapshot: &Snapshot) -> Result<(), FileError> {
        let mut work = self.places.backups.work();
        self.keep(&mut work, snapshot, Vec::new())?;
        if let Some(state) = &mut work.state {
            self.prune(state)?;
        }
        Ok(())
    }

    /// The same, but every older backup stays, and `unlisted` files are copied too. Tells what backups hold then.
    fn keep<'a>(
        &self,
        work: &'a mut Work,
        snapshot: &Snapshot,
        unlisted: Vec<PathBuf>,
    ) -> Result<&'a Tree, FileError> {
        let mut state = self.places.backups.take_state(work)?;
        self.add_layer(&mut state, &snapshot.tree, unlisted)?;
        Ok(&work.state.insert(state).tree)
    }

    fn add_layer(
        &self,
        state: &mut State,
        now: &Tree,
        unlisted: Vec<PathBuf>,
    ) -> Result<(), FileError> {
        let (mut changed, gone) = state.tree.differences(now);
        changed.extend(unlisted);
        if changed.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let last = state.layers.last().map(|layer| layer.moment);
        let layer = Layer { moment: Moment::after(last), is_full: state.layers.is_empty() };
        match self.fill(&layer, state, now, changed, gone) {
            Ok(true) => state.layers.push(layer),
            Ok(false) => self.places.backups.archive.abandon(&layer),
            Err(err) => {
                self.places.backups.archive.abandon(&layer);
                return Err(err);
            }
        }
        Ok(())
    }

    /// False: there was nothing to copy after all.
    fn fill(
        &self,
        layer: &Layer,
        state: &mut State,
        now: &Tree,
        changed: Vec<PathBuf>,
        gone: Vec<PathBuf>,
    ) -> Result<bool, FileError> {
        let backups = &self.places.backups;
        let project = Dir::open_ambient_dir(self.project(), ambient_authority())?;
        let target = backups.archive.begin(layer)?;
        let mut copied = Vec::new();
        for path in changed {
            match copy::copy_file(&project, &target, &path) {
                Ok(stamp) => copied.push((path, stamp)),
                Err(err) if is_ours(&err) => return Err(err.into()),
                // Vanished, unreadable or no longer a file: there is nothing to keep.
                Err(_) => {
                    let _ = target.remove_file(&path);
                }
            }
        }
        if copied.is_empty() && gone.is_empty() {
            return Ok(false);
        }
        let catalog = self.catalog(&Place::Project);
        let (count, digest) = catalog.digest(now);
        let manifest = Manifest { count, digest, hidden: true, gone };
        backups.archive.commit(layer, &manifest)?;
        let last = last_copy(&backups.archive, layer, &manifest);
        catalog.remember(Some(last.shown.clone()), count, digest);
        backups.set_last(last);
        catalog.index.poke();
        for path in manifest.gone {
            state.tree.remove(&path);
        }
        for (path, stamp) in copied {
            state.tree.insert(&path, stamp);
        }
        Ok(true)
    }

    /// Old states go; the newest always stays.
    fn prune(&self, state: &mut State) -> Result<(), FileError> {
        let limits = &self.places.limits;
        while let [oldest, next, ..] = state.layers.as_slice() {
            let too_many = state.layers.len() > limits.backup_keep;
            if !too_many && !oldest.moment.is_older_than(limits.backup_age) {
                break;
            }
            self.places.backups.archive.merge(oldest, next)?;
            state.layers.remove(0);
            state.layers[0].is_full = true;
            if let [only] = state.layers.as_slice() {
                // It has another name now.
                let backups = &self.places.backups;
                let manifest = backups.archive.manifest(only);
                backups.set_last(last_copy(&backups.archive, only, &manifest));
            }
        }
        Ok(())
    }
}

/// Whether this is something in a backup, seen from the directory of all backups.
pub(super) fn is_backup(path: &Path) -> bool {
    let mut parts = path.iter().map(|part| part.to_str().unwrap_or_default());
    let (day, time) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    archive::layer(day, time).is_some() && parts.next().is_some()
}

fn last_copy(archive: &Archive, layer: &Layer, manifest: &Manifest) -> LastCopy {
    LastCopy {
        shown: layer.moment.to_string(),
        path: archive.path(layer).to_string_lossy().into_owned(),
        count: manifest.count,
        digest: manifest.digest,
    }
}

/// Whether it is the backup's own disk that refuses.
fn is_ours(err: &io::Error) -> bool {
    let told = FileError::from(io::Error::from(err.kind()));
    told == FileError::DiskFull || err.kind() == io::ErrorKind::ReadOnlyFilesystem
}

#[cfg(test)]
mod tests;
