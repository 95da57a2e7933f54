//! Looks for a Python on this machine that can be used.

use super::error::PythonError;
use crate::which;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// The newest that the lock file is made for comes first; the last may be any version.
const NAMES: [&str; 4] = ["python3.13", "python3.12", "python3.11", "python3"];
const FIRST: (u32, u32) = (3, 11);
const LAST: (u32, u32) = (3, 13);
const ASK: &str = "import importlib.util as u, json, os, sys; print(json.dumps({'version': list(sys.version_info[:3]), \
                   'executable': os.path.realpath(getattr(sys, '_base_executable', None) or sys.executable), \
                   'venv': all(u.find_spec(name) for name in ('venv', 'ensurepip'))}))";
/// One that does not answer is as good as none.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Found {
    version: (u32, u32, u32),
    pub(super) executable: PathBuf,
    /// Whether it can make environments.
    venv: bool,
}

impl Found {
    pub(super) fn version(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{major}.{minor}.{patch}")
    }

    fn is_usable(&self) -> bool {
        (FIRST..=LAST).contains(&(self.version.0, self.version.1))
    }
}

/// This one, or the first that can be used. A name may belong to a wrapper that has no Python behind it.
pub(super) async fn python(wanted: Option<&Path>) -> Result<Found, PythonError> {
    let candidates = match wanted {
        Some(wanted) => vec![wanted.to_owned()],
        None => NAMES.iter().filter_map(|name| which::which(name)).collect(),
    };
    first_usable(candidates).await
}

async fn first_usable(candidates: Vec<PathBuf>) -> Result<Found, PythonError> {
    let (mut wrong, mut lacks_venv) = (None, false);
    for candidate in candidates {
        match ask(&candidate).await {
            Some(found) if found.is_usable() && found.venv => return Ok(found),
            Some(found) if found.is_usable() => lacks_venv = true,
            Some(found) => wrong = wrong.or(Some(found.version())),
            None => (),
        }
    }
    if lacks_venv {
        return Err(PythonError::NoVenv);
    }
    Err(wrong.map_or(PythonError::NoPython, PythonError::WrongVersion))
}

async fn ask(candidate: &Path) -> Option<Found> {
    let mut command = Command::new(candidate);
    command.args(["-I", "-S", "-c", ASK]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = timeout(PATIENCE, command.kill_on_drop(true).output()).await.ok()?.ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn what_is_too_old_or_no_python_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let candidate = |name: &str, script: &str| {
            let path = directory.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let says = |version: &str| {
            format!("echo '{{\"version\": {version}, \"executable\": \"/p\", \"venv\": true}}'")
        };
        let empty = candidate("empty", "exit 127");
        let old = candidate("old", &says("[3, 9, 2]"));
        let new = candidate("new", &says("[3, 14, 0]"));
        let bare = candidate("bare", &says("[3, 11, 2]").replace("true", "false"));
        let bare = first_usable(vec![bare, old.clone()]).await;
        assert!(matches!(bare, Err(PythonError::NoVenv)));
        let good = candidate("good", &says("[3, 12, 4]"));
        let all = vec![empty.clone(), old.clone(), good];
        assert_eq!(first_usable(all).await.unwrap().version(), "3.12.4");
        let wrong = first_usable(vec![empty.clone(), old, new]).await;
        assert!(matches!(wrong, Err(PythonError::WrongVersion(version)) if version == "3.9.2"));
        assert!(matches!(first_usable(vec![empty]).await, Err(PythonError::NoPython)));
    }
}
