//! Brings files of a backup back into the project. What is there at that moment is backed up first.

use super::Moment;
use super::archive::Layer;
use super::copy::copy_file;
use crate::files::{FileError, Files};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::io;
use std::path::{Component, Path};

/// How many files a restore has touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    pub written: usize,
    pub removed: usize,
}

const PART: &str = ".kakehashi-restore.part";

impl Files {
    /// Newest last.
    pub fn backups(&self) -> Vec<Moment> {
        self.places.backups.archive.layers().iter().map(|layer| layer.moment).collect()
    }

    /// One file as it was after this backup.
    pub fn restore_file(&self, moment: Moment, path: &str) -> Result<(), FileError> {
        let path = Path::new(path);
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || path.as_os_str().is_empty() {
            return Err(FileError::NotInBackup);
        }
        let now = self.survey()?;
        let mut work = self.places.backups.work();
        self.keep(&mut work, &now)?;
        let layers = self.layers_until(moment)?;
        let from = self.layer_of(&layers, path).ok_or(FileError::NotInBackup)?;
        let project = self.open_project()?;
        put_back(&self.places.backups.archive.open(from)?, &project, path)?;
        Ok(())
    }

    /// The whole project as it was after this backup; files that were not there then are removed.
    pub fn restore_all(&self, moment: Moment) -> Result<Restored, FileError> {
        let now = self.survey()?;
        let mut work = self.places.backups.work();
        self.keep(&mut work, &now)?;
        let layers = self.layers_until(moment)?;
        let then = self.places.backups.archive.tree(&layers)?;
        let project = self.open_project()?;
        let (changed, gone) = now.0.differences(&then);
        // Removed first, because a file may have taken the place of a directory.
        for path in &gone {
            remove(&project, path)?;
        }
        for path in &changed {
            let from = self.layer_of(&layers, path).ok_or(FileError::NotInBackup)?;
            put_back(&self.places.backups.archive.open(from)?, &project, path)?;
        }
        Ok(Restored { written: changed.len(), removed: gone.len() })
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
        staged.rename(path, project, path)
    });
    let _ = project.remove_dir_all(&staging);
    placed
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
