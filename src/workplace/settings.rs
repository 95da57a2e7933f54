//! The few settings of the user's repository that we use, too. They are read as text: nothing is included, and a value
//! is never more than a value.

use super::GitError;
use super::git::Git;
use super::repository::small_file;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Settings about how files look on disk and how git names objects. All others are left out, above all those that name
/// programs: filters, diff and merge drivers, monitors.
const READ: &str = "^(extensions\\.objectformat|core\\.(filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol|trustctime|checkstat|sharedrepository|bigfilethreshold))$";
/// Most configuration texts whose settings are remembered. With more, all of them are forgotten.
const MOST_KNOWN: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) format: ObjectFormat,
    /// Settings of `core` with plain values.
    pub(super) copied: Vec<(String, String)>,
}

/// The hash that git names objects by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl Settings {
    /// `common` need not exist. Git is asked once for each text.
    pub(super) fn read(common: &Path) -> Result<Self, GitError> {
        static KNOWN: LazyLock<Mutex<HashMap<Vec<u8>, Settings>>> = LazyLock::new(Mutex::default);
        let config = common.join("config");
        if !config.is_file() {
            return Ok(Self::parse(&[]));
        }
        let git = Git::new("config").arg("--no-includes").arg("--file");
        let Some(text) = small_file(&config) else {
            // A symlink, or far too long: git reads the file itself.
            return Self::ask(git.arg(config));
        };
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known().get(&text) {
            return Ok(settings.clone());
        }
        let settings = Self::ask(git.arg("-").input(text.clone()))?;
        let mut known = known();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(text, settings.clone());
        Ok(settings)
    }

    fn ask(git: Git) -> Result<Self, GitError> {
        Ok(Self::parse(&git.args(["-z", "--get-regexp", READ]).run()?.stdout))
    }

    fn parse(listed: &[u8]) -> Self {
        let mut settings = Self { format: ObjectFormat::Sha1, copied: Vec::new() };
        let text = String::from_utf8_lossy(listed).into_owned();
        for setting in text.split('\0').filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('\n').unwrap_or((setting, "true"));
            let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
            match name.strip_prefix("core.") {
                Some(name) if is_plain => settings.copied.push((name.to_owned(), value.to_owned())),
                Some(_) => {}
                // The last setting counts.
                None => {
                    let is_sha256 = value.trim().eq_ignore_ascii_case("sha256");
                    settings.format =
                        if is_sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
                }
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workplace::git::STARTED;
    use std::fs;

    #[test]
    fn git_is_asked_once_for_each_text() {
        let dir = tempfile::tempdir().unwrap();
        let started = || STARTED.with_borrow(Vec::len);
        let text = "[core]\n\tautocrlf = input\n\teol = \"a b\"\n[include]\n\tpath = other\n";
        fs::write(dir.path().join("other"), "[core]\n\tsymlinks = false\n").unwrap();
        fs::write(dir.path().join("config"), text).unwrap();
        let read = Settings::read(dir.path()).unwrap();
        assert_eq!(read.format, ObjectFormat::Sha1);
        assert_eq!(read.copied, [("autocrlf".to_owned(), "input".to_owned())]);
        let asked = started();
        assert_eq!(Settings::read(dir.path()).unwrap(), read);
        assert_eq!(started(), asked);
        let other = format!("{text}[extensions]\n\tobjectFormat = SHA256\n");
        fs::write(dir.path().join("config"), other).unwrap();
        assert_eq!(Settings::read(dir.path()).unwrap().format, ObjectFormat::Sha256);
        assert_eq!(started(), asked + 1);
    }
}
