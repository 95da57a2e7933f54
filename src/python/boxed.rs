//! The closed view of one interpreter: Python, the packages, what they load, the data files, and a place to write.

use super::environment::Environment;
use super::error::PythonError;
use super::output::is_plain;
use crate::process::{self, Launcher};
use crate::sandbox::{self, ClosedView, Confinement, Means, Scratch, Shown, Way, Wish};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const WORKSPACE: &str = "/workspace";
const OWN: &str = "/python";
/// Where the loader looks besides; it needs not be there.
const LOADER_CACHE: &str = "/etc/ld.so.cache";
/// One thread is enough for a part of a machine, and more of them hang where memory is short.
const VARIABLES: [(&str, &str); 14] = [
    ("HOME", WORKSPACE),
    ("TMPDIR", WORKSPACE),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("MPLBACKEND", "Agg"),
    // Else it looks for settings in the home, and makes directories there.
    ("MATPLOTLIBRC", "/python/packages/matplotlib/mpl-data/matplotlibrc"),
    // Else it asks the network for the tables that it knows.
    ("SEABORN_DATA", "/python/datasets"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    ("LOKY_MAX_CPU_COUNT", "1"),
    ("JOBLIB_MULTIPROCESSING", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// How Python is started for a data directory.
pub fn launcher(data: &Path) -> Result<Launcher, PythonError> {
    let own = std::env::current_exe();
    let supervisor = own.map_err(|err| PythonError::File("/proc/self/exe".to_owned(), err))?;
    Ok(Launcher { supervisor, owner: process::owner(data), variables: Vec::new() })
}

/// By what programs are started here, and of what boxes are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxMeans {
    pub launcher: Launcher,
    pub means: Means,
}

impl BoxMeans {
    /// Blocking. Python runs in namespaces of our own or not at all.
    pub fn find(launcher: &Launcher) -> Result<Self, PythonError> {
        let refused = |reason: String| PythonError::NoBox { reason, advice: advice() };
        let means = sandbox::probe(&launcher.supervisor, Wish::Own)
            .map_err(|reason| refused(reason.to_owned()))?;
        if means.way != Way::Own {
            return Err(refused(sandbox::BoxError::NotClosed.to_string()));
        }
        Ok(Self { launcher: launcher.clone(), means: means.clone() })
    }
}

/// The line that most probably helps on this machine.
fn advice() -> &'static str {
    let says = |file: &str, value: &str| {
        fs::read_to_string(Path::new("/proc/sys").join(file)).is_ok_and(|text| text.trim() == value)
    };
    advice_for(
        says("kernel/apparmor_restrict_unprivileged_userns", "1"),
        says("kernel/unprivileged_userns_clone", "0"),
        says("user/max_user_namespaces", "0"),
    )
}

fn advice_for(apparmor: bool, clone: bool, none: bool) -> &'static str {
    if apparmor {
        "AppArmor forbids user namespaces: run `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
    } else if clone {
        "user namespaces are switched off: run `sudo sysctl -w kernel.unprivileged_userns_clone=1`"
    } else if none {
        "user namespaces are switched off: run `sudo sysctl -w user.max_user_namespaces=10000`"
    } else {
        "it needs Linux with Landlock and user namespaces; in Docker start the container with \
         `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`"
    }
}

/// The files that an interpreter works on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workspace {
    pub files: Vec<DataFile>,
    /// The one that the code finds as `df`.
    pub chosen: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// A name without a path.
    pub name: String,
    pub path: PathBuf,
}

/// How much an interpreter may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Of one action.
    pub time: Duration,
    /// Bytes of address space.
    pub memory: u64,
    /// Bytes of all files in the workspace.
    pub disk: u64,
    pub files: u64,
    /// Bytes of what an action says: half of it from the beginning, half from the end.
    pub output: usize,
    /// Files that an action may hand over.
    pub outputs: usize,
    pub output_size: u64,
    pub output_total: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            time: Duration::from_secs(180),
            memory: 1024 * MIB,
            disk: 256 * MIB,
            files: 4096,
            output: 64 * 1024,
            outputs: 20,
            output_size: 20 * MIB,
            output_total: 64 * MIB,
        }
    }
}

impl Workspace {
    pub(super) fn check(&self) -> Result<(), PythonError> {
        let mut seen = BTreeSet::new();
        let bad = self.files.iter().find(|one| !is_plain(&one.name) || !seen.insert(&one.name));
        if let Some(bad) = bad {
            return Err(PythonError::Name(bad.name.clone()));
        }
        match &self.chosen {
            Some(chosen) if !seen.contains(chosen) => Err(PythonError::Name(chosen.clone())),
            Some(_) | None => Ok(()),
        }
    }
}

/// Blocking: looks at many files.
pub(super) fn confinement(
    environment: &Environment,
    boxes: &BoxMeans,
    workspace: &Workspace,
    limits: &Limits,
) -> Result<Confinement, PythonError> {
    workspace.check()?;
    let layout = &environment.layout;
    let mut shown = vec![
        at(environment.packages(), "packages")?,
        at(environment.fonts(), "fonts")?,
        at(environment.program.clone(), "program")?,
        at(environment.datasets.clone(), "datasets")?,
    ];
    let same = layout.standard.iter().chain([&layout.executable]).chain(&layout.libraries);
    for path in same {
        shown.push(Shown { outside: real(path)?, inside: real(path)? });
    }
    if let Ok(path) = Path::new(LOADER_CACHE).canonicalize() {
        shown.push(Shown { inside: LOADER_CACHE.into(), outside: path });
    }
    for DataFile { name, path } in &workspace.files {
        let outside = real(path)?;
        if !outside.is_file() {
            return Err(PythonError::Name(name.clone()));
        }
        shown.push(Shown { outside, inside: Path::new(WORKSPACE).join(name) });
    }
    let view = ClosedView {
        shown,
        scratch: Scratch { place: WORKSPACE.into(), bytes: limits.disk, files: limits.files },
        executable: vec![real(&layout.executable)?],
        variables: VARIABLES.map(|(name, value)| (name.into(), value.into())).into(),
        memory: limits.memory,
    };
    Ok(Confinement {
        means: boxes.means.clone(),
        // The kernel counts processes of root nowhere, so a filter refuses new ones instead.
        limits: sandbox::Limits { processes: None, open_files: Some(256) },
        closed: Some(Box::new(view)),
        ..Confinement::closed(&boxes.launcher.supervisor)
    })
}

/// What children may read, by its paths inside.
pub(super) fn readable(confinement: &Confinement) -> Vec<String> {
    let shown = confinement.closed.iter().flat_map(|view| &view.shown);
    let inside = shown.map(|one| one.inside.to_string_lossy().into_owned());
    inside.filter(|path| !path.starts_with(WORKSPACE)).collect()
}

fn at(outside: PathBuf, name: &str) -> Result<Shown, PythonError> {
    Ok(Shown { outside: real(&outside)?, inside: Path::new(OWN).join(name) })
}

fn real(path: &Path) -> Result<PathBuf, PythonError> {
    path.canonicalize().map_err(|err| PythonError::File(path.display().to_string(), err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_layer_is_named_with_the_line_that_helps() {
        for (found, line) in [
            (advice_for(true, false, false), "kernel.apparmor_restrict_unprivileged_userns=0"),
            (advice_for(false, true, false), "kernel.unprivileged_userns_clone=1"),
            (advice_for(false, false, true), "user.max_user_namespaces=10000"),
            (advice_for(false, false, false), "seccomp=unconfined"),
        ] {
            assert!(found.contains(line), "{found}");
        }
    }

    #[test]
    fn names_of_files_are_plain_and_different() {
        let named = |names: &[&str], chosen: Option<&str>| {
            let file = |name: &&str| DataFile { name: (*name).to_owned(), path: "/x".into() };
            let files = names.iter().map(file).collect();
            Workspace { files, chosen: chosen.map(str::to_owned) }.check().is_ok()
        };
        assert!(named(&["a.csv", "b.csv"], Some("b.csv")));
        for names in [&["../a.csv"][..], &["a", "a"], &["a/b"], &[""], &[".pth"]] {
            assert!(!named(names, None), "{names:?}");
        }
        assert!(!named(&["a"], Some("b")));
    }
}
