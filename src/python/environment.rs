//! The packages that analyses use, below the data directory. One that is not finished is never used.

use super::datasets;
use super::error::PythonError;
use super::found;
use super::program::{self, LOCK, PREPARE};
use super::setup;
use crate::process::Launcher;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fmt, fs};
use tokio_util::sync::CancellationToken;

/// Written last, so an environment that has it is finished.
pub(super) const READY: &str = "ready.json";
const PLACE: &str = "python";

/// One step of making an environment, for people who wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    LookingForPython,
    /// Somebody else makes the same one.
    Waiting,
    Creating {
        python: String,
    },
    Installing {
        name: String,
        at: usize,
        of: usize,
    },
    Compiling,
    Ready,
}

/// Whether analyses can run on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outlook {
    Made(Environment),
    Possible(String),
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LookingForPython => out.write_str("looking for Python"),
            Self::Waiting => {
                out.write_str("somebody else installs the packages already; waiting for them")
            }
            Self::Creating { python } => write!(out, "making an environment of Python {python}"),
            Self::Installing { name, at, of } => write!(out, "installing {name} ({at} of {of})"),
            Self::Compiling => out.write_str("checking the packages and making the list of fonts"),
            Self::Ready => out.write_str("the packages for analyses are ready"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Below it are the packages.
    pub(super) directory: PathBuf,
    pub(super) program: PathBuf,
    /// Tables that seaborn knows by name.
    pub(super) datasets: PathBuf,
    pub(super) layout: Layout,
}

/// What the closed view has to show of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    pub(super) executable: PathBuf,
    /// Directories of the standard library.
    pub(super) standard: Vec<PathBuf>,
    pub(super) libraries: Vec<PathBuf>,
    /// The packages, as their directory is called in an environment of this version.
    pub(super) packages: PathBuf,
    pub(super) fonts: PathBuf,
}

impl Environment {
    /// The finished one of this data directory, if there is one. Starts nothing.
    pub fn find(data: &Path) -> Result<Self, PythonError> {
        let place = place(data);
        let entries = fs::read_dir(&place).map_err(|_| PythonError::NotMade)?;
        let named = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            entry.file_name().to_str()?.starts_with(&prefix()).then(|| entry.path())
        });
        let mut named: Vec<_> = named.collect();
        named.sort();
        let found = named.iter().rev().find_map(|directory| read(directory));
        let (directory, layout) = found.ok_or(PythonError::NotMade)?;
        let (program, datasets) = (program::write(&place)?, datasets::write(&place)?);
        Ok(Self { directory, program, datasets, layout })
    }

    /// The finished one, or a new one. Takes minutes, and needs the network.
    pub async fn make(
        data: &Path,
        python: Option<&Path>,
        launcher: &Launcher,
        stop: &CancellationToken,
        mut progress: impl FnMut(Step) + Send,
    ) -> Result<Self, PythonError> {
        if let Ok(found) = Self::find(data) {
            progress(Step::Ready);
            return Ok(found);
        }
        setup::make(&place(data), python, launcher, stop, &mut progress).await?;
        let made = Self::find(data)?;
        progress(Step::Ready);
        Ok(made)
    }

    /// The finished one, or the version of the Python that it could be made with. Blocking.
    pub fn outlook(data: &Path) -> Result<Outlook, PythonError> {
        match Self::find(data) {
            Err(PythonError::NotMade) => (),
            found => return found.map(Outlook::Made),
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let python = runtime.map_err(PythonError::Asked)?.block_on(found::python(None))?;
        Ok(Outlook::Possible(python.version()))
    }

    /// The version of its Python, for people.
    pub fn python(&self) -> &str {
        let name = self.directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix(&prefix()).unwrap_or_default()
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn packages(&self) -> PathBuf {
        self.directory.join(&self.layout.packages)
    }

    pub(super) fn fonts(&self) -> PathBuf {
        self.directory.join(&self.layout.fonts)
    }
}

/// Where all of them are.
fn place(data: &Path) -> PathBuf {
    data.join(PLACE)
}

/// How the names of those begin that are made from this lock file.
pub(super) fn prefix() -> String {
    program::short_hash(&[LOCK, PREPARE]) + "-"
}

/// One whose Python is gone or was replaced by another is not finished any more.
fn read(directory: &Path) -> Option<(PathBuf, Layout)> {
    let directory = directory.canonicalize().ok()?;
    let layout: Layout = serde_json::from_slice(&fs::read(directory.join(READY)).ok()?).ok()?;
    let needed = layout.standard.iter().chain(&layout.libraries).chain([&layout.executable]);
    let is_there = needed.into_iter().all(|path| path.exists());
    (is_there && directory.join(&layout.packages).is_dir()).then_some((directory, layout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_finished_environment_is_found() {
        let data = tempfile::tempdir().unwrap();
        let missing = || matches!(Environment::find(data.path()), Err(PythonError::NotMade));
        assert!(missing());
        let directory = place(data.path()).join(prefix() + "3.11.2");
        fs::create_dir_all(directory.join("lib")).unwrap();
        assert!(missing());
        let layout = |executable: &str| Layout {
            executable: executable.into(),
            standard: vec!["/".into()],
            libraries: Vec::new(),
            packages: "lib".into(),
            fonts: "fonts".into(),
        };
        let write = |layout: &Layout| {
            fs::write(directory.join(READY), serde_json::to_vec(layout).unwrap()).unwrap();
        };
        write(&layout("/surely/not/there"));
        assert!(missing());
        write(&layout("/bin/sh"));
        assert_eq!(Environment::find(data.path()).unwrap().python(), "3.11.2");
        fs::write(directory.join(READY), "{").unwrap();
        assert!(missing());
    }
}
