//! Files on disk: what users send, small pictures of it, lists of what is there, backups, the project's overview.
//! Everything here blocks unless it says otherwise; callers use `spawn_blocking`. Clients never see where the directories really are.

mod backup;
mod belongings;
mod catalog;
mod clock;
mod content;
mod error;
mod found;
mod index;
mod listing;
mod name;
mod overview;
mod quota;
mod rules;
mod thumbnail;
mod tree;
mod upload;
mod watch;

pub use backup::{Backup, BadMoment, Moment, Restored, Snapshot};
pub use belongings::Belongings;
pub use catalog::Listed;
pub use content::{Content, ContentError};
pub use error::FileError;
pub use upload::SavedFile;

use crate::message::Principal;
use backup::Backups;
use catalog::Catalog;
use listing::Place;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, io};

/// The directories of one gateway; a clone is another handle to the same.
#[derive(Debug, Clone)]
pub struct Files {
    places: Arc<Places>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// Pictures with more than this get no thumbnail.
    pub max_pixels: u64,
    /// Older backups than these are given up.
    pub backup_keep: usize,
    pub backup_age: Duration,
    /// Bytes of one user's uploads and results.
    pub temp_quota: u64,
    pub temp_age: Duration,
    /// Larger files are not handed out.
    pub content: u64,
}

#[derive(Debug)]
struct Places {
    project: PathBuf,
    data: PathBuf,
    limits: FileLimits,
    /// Started at first use.
    catalogs: Mutex<HashMap<Place, Arc<Catalog>>>,
    backups: Backups,
}

impl Files {
    /// The project has to exist; the data directory is made, and old uploads in it are removed.
    pub fn new(project: &Path, data: &Path, limits: FileLimits) -> io::Result<Self> {
        let files = Self::open(project, data, limits)?;
        files.tidy_all();
        Ok(files)
    }

    /// The same data directory and limits for another project.
    pub fn for_project(&self, project: &Path) -> io::Result<Self> {
        Self::open(project, self.data(), self.places.limits)
    }

    /// The same, but nothing is removed.
    pub fn open(project: &Path, data: &Path, limits: FileLimits) -> io::Result<Self> {
        fs::create_dir_all(data.join("temp"))?;
        let (project, data) = (project.canonicalize()?, data.canonicalize()?);
        let backups = Backups::new(backup_base(&project, &data));
        let places = Places { project, data, limits, catalogs: Mutex::default(), backups };
        Ok(Self { places: Arc::new(places) })
    }

    pub fn project(&self) -> &Path {
        &self.places.project
    }

    fn data(&self) -> &Path {
        &self.places.data
    }

    /// Where one user's uploads (`input`) and results (`output`) are; shown to that user as `temp`.
    fn temp(&self, principal: &Principal) -> PathBuf {
        self.data().join("temp").join(name::principal_dir(principal))
    }
}

fn backup_base(project: &Path, data: &Path) -> PathBuf {
    data.join("backup").join(project_name(project))
}

fn project_name(project: &Path) -> String {
    let name = project.file_name();
    name.map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod fixture;
