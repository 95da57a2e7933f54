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
mod private;
mod quota;
mod rights;
mod rules;
mod spelling;
mod thumbnail;
mod tree;
mod upload;
mod watch;
mod workspaces;

pub use backup::{Backup, BadMoment, Moment, Restored, Snapshot};
pub use belongings::Belongings;
pub use catalog::Listed;
pub use clock::shown;
pub use content::{Content, ContentError};
pub use error::FileError;
pub use upload::SavedFile;
pub use workspaces::{Incoming, Workspaces};

use crate::message::Principal;
use backup::Backups;
use catalog::Catalog;
use listing::Place;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, io};
use tracing::warn;

/// In a project's backups: where the project is.
const OWNER: &str = ".project";

/// The directories of one gateway; a clone is another handle to the same.
#[derive(Debug, Clone)]
pub struct Files {
    places: Arc<Places>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The operator's own files, which are no part of a project that happens to hold them. Absolute.
    pub private: Vec<PathBuf>,
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
    /// The project has to exist; the data directory is made, closed to others, and old uploads in it are removed.
    pub fn new(project: &Path, data: &Path, limits: FileLimits) -> io::Result<Self> {
        let files = Self::open(project, data, limits)?;
        for name in ["temp", "backup", "workspace"] {
            rights::tighten(&files.data().join(name));
        }
        files.tidy_all();
        Ok(files)
    }

    /// The same data directory and limits for another project.
    pub fn for_project(&self, project: &Path) -> io::Result<Self> {
        Self::open(project, self.data(), self.places.limits.clone())
    }

    /// The same, but nothing is removed.
    pub fn open(project: &Path, data: &Path, limits: FileLimits) -> io::Result<Self> {
        rights::make_directory(&data.join("temp"))?;
        let (project, data) = (project.canonicalize()?, data.canonicalize()?);
        let base = backup_base(&project, &data);
        claim(&base, &project);
        let backups = Backups::new(base);
        let places = Places { project, data, limits, catalogs: Mutex::default(), backups };
        Ok(Self { places: Arc::new(places) })
    }

    pub fn project(&self) -> &Path {
        &self.places.project
    }

    fn data(&self) -> &Path {
        &self.places.data
    }

    /// What this user has sent and what was made for it; agents that work for it may read that.
    pub fn uploads(&self, principal: &Principal) -> PathBuf {
        self.temp(principal)
    }

    /// The same, and there from now on: a box shows only what is there when it is entered, and files are sent later.
    pub fn made_uploads(&self, principal: &Principal) -> PathBuf {
        let uploads = self.temp(principal);
        if let Err(err) = rights::make_directory(&uploads) {
            warn!(%err, "agents will not see files that are sent to them");
        }
        uploads
    }

    /// Where an agent that works for this user keeps its own things.
    pub fn agent_home(&self, principal: &Principal, agent: &str) -> PathBuf {
        self.data().join("agents").join(name::principal_dir(principal)).join(agent)
    }

    /// Where one user's uploads (`input`) and results (`output`) are; shown to that user as `temp`.
    fn temp(&self, principal: &Principal) -> PathBuf {
        self.data().join("temp").join(name::principal_dir(principal))
    }
}

/// Named after the project. Another project of the same name gets a name of its own.
fn backup_base(project: &Path, data: &Path) -> PathBuf {
    let base = data.join("backup").join(project_name(project));
    match fs::read(base.join(OWNER)) {
        Ok(owner) if owner != project.as_os_str().as_bytes() => {
            let mut hasher = DefaultHasher::new();
            project.hash(&mut hasher);
            base.with_file_name(format!("{}-{:016x}", project_name(project), hasher.finish()))
        }
        Ok(_) | Err(_) => base,
    }
}

/// Without it two projects of one name would share their backups, and a restore could bring back the other's files.
fn claim(base: &Path, project: &Path) {
    let owner = base.join(OWNER);
    if owner.exists() {
        return;
    }
    let claimed = rights::make_directory(base)
        .and_then(|()| fs::write(owner, project.as_os_str().as_bytes()));
    if let Err(err) = claimed {
        warn!(%err, "the backups of this project cannot be marked as its own");
    }
}

fn project_name(project: &Path) -> String {
    let name = project.file_name();
    name.map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
pub(crate) use fixture::without_rights;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_projects_of_one_name_keep_their_backups_apart() {
        let dir = tempfile::tempdir().unwrap();
        let (data, one, two) =
            (dir.path().join("data"), dir.path().join("1/app"), dir.path().join("2/app"));
        for path in [&data, &one, &two] {
            fs::create_dir_all(path).unwrap();
        }
        let first = backup_base(&one, &data);
        assert_eq!(first, data.join("backup/app"));
        claim(&first, &one);
        let second = backup_base(&two, &data);
        assert_ne!(second, first);
        claim(&second, &two);
        assert_eq!((backup_base(&one, &data), backup_base(&two, &data)), (first, second));
    }
}
