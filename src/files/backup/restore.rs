//! Brings files of a backup back into the project. What is there at that moment is backed up first, and what cannot be
//! is neither removed nor overwritten.

use super::archive::{Archive, Layer};
use super::copy::copy_file;
use super::obstacle::{Ground, is_file};
use super::{Backup, Moment, Snapshot};
use crate::files::catalog::with_slashes;
use crate::files::{FileError, Files, backup_base, spelling};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};
use tracing::warn;

/// The files that a restore has touched, as people write paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub written: Vec<String>,
    pub removed: Vec<String>,
}

const PART: &str = ".kakehashi-restore.part";

impl Files {
    /// Newest last.
    pub fn backups(&self) -> Vec<Backup> {
        self.places.backups.archive.backups()
    }

    /// The same without anything else of the data directory; nothing is made for this.
    pub fn backups_of(project: &Path, data: &Path) -> Vec<Backup> {
        Archive::new(backup_base(project, data)).backups()
    }

    /// One file, or everything, as it was after this backup.
    pub fn restore(&self, moment: Moment, path: Option<&str>) -> Result<Restored, FileError> {
        match path {
            Some(path) => self.restore_file(moment, path),
            None => self.restore_all(moment),
        }
    }

    fn restore_file(&self, moment: Moment, path: &str) -> Result<Restored, FileError> {
        let now = self.survey()?;
        let mut work = self.places.backups.work();
        let layers = self.layers_until(moment)?;
        let path = self.meant(&layers, Path::new(path))?;
        let from = self.layer_of(&layers, &path).ok_or(FileError::NotInBackup)?;
        let project = self.open_project()?;
        let wanted = [path];
        let kept = self.keep(&mut work, &now, self.unlisted(&project, &now, &wanted))?;
        let ground = Ground { project: &project, kept };
        refuse_blocked(&ground, &wanted, &BTreeSet::new())?;
        let [path] = &wanted;
        put_back(&self.places.backups.archive.open(from)?, &project, path)?;
        Ok(Restored { written: vec![with_slashes(path)], removed: Vec::new() })
    }

    /// Files that were not there then are removed, as far as a backup holds them.
    fn restore_all(&self, moment: Moment) -> Result<Restored, FileError> {
        let now = self.survey()?;
        let mut work = self.places.backups.work();
        let layers = self.layers_until(moment)?;
        let then = self.places.backups.archive.tree(&layers)?;
        let project = self.open_project()?;
        let (mut changed, mut gone) = now.tree.differences(&then);
        if !layers.last().is_some_and(|layer| self.places.backups.archive.manifest(layer).hidden) {
            // That nothing is known of them does not mean that they were not there.
            gone.retain(|path| !is_hidden(path));
        }
        // The operator's own files stay as they are.
        changed.retain(|path| !self.has_private_name(path));
        let kept = self.keep(&mut work, &now, self.unlisted(&project, &now, &changed))?;
        let ground = Ground { project: &project, kept };
        let (gone, unkept): (BTreeSet<_>, BTreeSet<_>) =
            gone.into_iter().partition(|path| ground.is_kept(path));
        if !unkept.is_empty() {
            warn!(files = unkept.len(), "files that cannot be backed up are not removed");
        }
        refuse_blocked(&ground, &changed, &gone)?;
        // Removed first, because a file may have taken the place of a directory.
        for path in &gone {
            remove(&project, path)?;
        }
        for path in &changed {
            let from = self.layer_of(&layers, path).ok_or(FileError::NotInBackup)?;
            put_back(&self.places.backups.archive.open(from)?, &project, path)?;
        }
        let written = changed.iter().map(|path| with_slashes(path)).collect();
        Ok(Restored { written, removed: gone.iter().map(|path| with_slashes(path)).collect() })
    }

    /// The path that was shown so. Names that are no text are shown with a sign for what cannot be shown.
    fn meant(&self, layers: &[Layer], shown: &Path) -> Result<PathBuf, FileError> {
        let plain = shown.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || shown.as_os_str().is_empty() || self.has_private_name(shown) {
            return Err(FileError::NotInBackup);
        }
        if !spelling::may_be_another(shown) || self.layer_of(layers, shown).is_some() {
            return Ok(shown.to_owned());
        }
        let text = with_slashes(shown);
        let then = self.places.backups.archive.tree(layers)?;
        let mut alike =
            then.files().map(|(path, _)| path).filter(|path| with_slashes(path) == text);
        match (alike.next(), alike.next()) {
            (Some(path), None) if !self.has_private_name(&path) => Ok(path),
            (Some(_), Some(_)) => Err(FileError::Ambiguous { path: text }),
            (Some(_) | None, _) => Err(FileError::NotInBackup),
        }
    }

    /// Files that are to be overwritten and in no list: ignored by now, for instance. The operator's own stay out of
    /// backups, whatever they are called.
    fn unlisted(&self, project: &Dir, now: &Snapshot, wanted: &[PathBuf]) -> Vec<PathBuf> {
        let is_private = |path: &PathBuf| {
            let about = self.project().join(path).symlink_metadata();
            about.is_ok_and(|about| self.is_private(&about))
        };
        let unlisted = wanted.iter().filter(|path| !now.tree.has(path) && is_file(project, path));
        unlisted.filter(|path| !is_private(path)).cloned().collect()
    }

    fn open_project(&self) -> Result<Dir, FileError> {
        Ok(Dir::open_ambient_dir(self.project(), ambient_authority())?)
    }

    fn layers_until(&self, moment: Moment) -> Result<Vec<Layer>, FileError> {
        let mut layers = self.places.backups.archive.layers();
        let end = layers.iter().position(|layer| layer.moment == moment);
        layers.truncate(end.ok_or(FileError::NotInBackup)? + 1);
        Ok(layers)
    }

    /// The newest of these that holds the file; `None` if it was not there at the end of them.
    fn layer_of<'a>(&self, layers: &'a [Layer], path: &Path) -> Option<&'a Layer> {
        for layer in layers.iter().rev() {
            let copy = self.places.backups.archive.path(layer).join(path);
            if copy.symlink_metadata().is_ok_and(|about| about.is_file()) {
                return Some(layer);
            }
            if self.places.backups.archive.manifest(layer).gone.iter().any(|gone| gone == path) {
                return None;
            }
        }
        None
    }
}

/// Whether it lies in a directory whose name begins with a dot.
fn is_hidden(path: &Path) -> bool {
    let mut directories = path.ancestors().skip(1).filter_map(Path::file_name);
    directories.any(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn refuse_blocked(
    ground: &Ground<'_>,
    wanted: &[PathBuf],
    leaving: &BTreeSet<PathBuf>,
) -> Result<(), FileError> {
    match wanted.iter().find(|path| ground.is_blocked(path, leaving)) {
        Some(path) => Err(FileError::InTheWay { path: with_slashes(path) }),
        None => Ok(()),
    }
}

/// Under another name first, so that the file is never half there.
fn put_back(from: &Dir, project: &Dir, path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new(""));
    if !parent.as_os_str().is_empty() {
        project.create_dir_all(parent)?;
    }
    let staging = parent.join(PART);
    let _ = project.remove_dir_all(&staging);
    project.create_dir(&staging)?;
    let placed = project.open_dir(&staging).and_then(|staged| {
        copy_file(from, &staged, path)?;
        // Nothing may be there, and what holds a file stays.
        let _ = remove_hollow(project, path);
        staged.rename(path, project, path)
    });
    let _ = project.remove_dir_all(&staging);
    placed
}

/// Removes a directory that holds at most other directories; fails at the first file.
fn remove_hollow(project: &Dir, directory: &Path) -> io::Result<()> {
    if !project.symlink_metadata(directory)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    for entry in project.read_dir(directory)? {
        remove_hollow(project, &directory.join(entry?.file_name()))?;
    }
    project.remove_dir(directory)
}

/// With the directories that it leaves empty.
fn remove(project: &Dir, path: &Path) -> io::Result<()> {
    match project.remove_file(path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
        Ok(()) | Err(_) => {}
    }
    for parent in path.ancestors().skip(1).take_while(|parent| !parent.as_os_str().is_empty()) {
        // Fails at the first that still holds something.
        if project.remove_dir(parent).is_err() {
            break;
        }
    }
    Ok(())
}
