//! What belongs to one repository in the data directory: a git directory of our own, which lends its configuration to
//! every call that looks at files, and an index for each worktree. Agents can neither read nor write it.

use super::GitError;
use super::git::Git;
use super::repository::small_file;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Settings about how files look on disk. Everything else of the user's configuration is left out, above all what
/// names programs: filters, diff and merge drivers, monitors.
const COPIED: &str = "^core\\.(filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol|safecrlf|trustctime|checkstat|sharedrepository|bigfilethreshold)$";

/// Of all repositories, in the data directory.
pub(super) const DIRECTORY: &str = "workplace";
const ONCE: &str = "once-";
/// What directories of new files beside a project begin with.
pub(super) const STAGING: &str = ".kakehashi-new-";
/// What a killed gateway has left behind is not needed after this time.
const LEFTOVER: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(super) struct Private {
    root: PathBuf,
    owner: String,
}

impl Private {
    pub(super) fn open(data: &Path, common: &Path) -> Result<Self, GitError> {
        let name = fingerprint(common.as_os_str());
        let private =
            Self { root: data.join(DIRECTORY).join(name), owner: fingerprint(data.as_os_str()) };
        for part in ["git/objects", "git/refs", "git/info", "index", "state"] {
            make_directory(&private.root.join(part)).map_err(GitError::io("making a directory"))?;
        }
        private.write("git/HEAD", b"ref: refs/heads/none\n")?;
        Ok(private)
    }

    /// Names the data directory in commits of ours, because two gateways may work with one repository.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Of the repository among others.
    pub(super) fn name(&self) -> &OsStr {
        self.root.file_name().unwrap_or_default()
    }

    pub(super) fn git_dir(&self) -> PathBuf {
        self.root.join("git")
    }

    pub(super) fn index(&self, name: &str) -> PathBuf {
        self.root.join("index").join(name)
    }

    pub(super) fn fresh_index(&self) -> PathBuf {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        self.index(&format!("{ONCE}{}-{number}", std::process::id()))
    }

    pub(super) fn state(&self, name: &str) -> PathBuf {
        self.root.join("state").join(name)
    }

    pub(super) fn states(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.join("state")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// The configuration as the repository has it now.
    pub(super) fn configure(&self, common: &Path) -> Result<(), GitError> {
        let format = Git::new("rev-parse").arg("--show-object-format").env("GIT_DIR", common);
        let sha256 = format.word()? == "sha256";
        let mut config = String::from("[core]\n\tbare = true\n");
        config.push_str(if sha256 {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n[core]\n"
        } else {
            "\trepositoryformatversion = 0\n"
        });
        for (name, value) in copied_settings(common)? {
            config.push_str(&format!("\t{name} = \"{value}\"\n"));
        }
        self.write("git/config", config.as_bytes())
    }

    /// What is ignored beside `.gitignore` files.
    pub(super) fn exclude(&self, common: &Path, hidden: &[&Path]) -> Result<(), GitError> {
        let mut rules = small_file(&common.join("info/exclude")).unwrap_or_default();
        rules.extend_from_slice(format!("\n/{STAGING}*/\n").as_bytes());
        for hidden in hidden {
            rules.push(b'/');
            for byte in hidden.as_os_str().as_bytes() {
                if b"\\*?[ ".contains(byte) {
                    rules.push(b'\\');
                }
                rules.push(*byte);
            }
            rules.push(b'\n');
        }
        self.write("git/info/exclude", &rules)?;
        let attributes = small_file(&common.join("info/attributes")).unwrap_or_default();
        self.write("git/info/attributes", &attributes)
    }

    /// Indexes and prepared files of gateways that were killed.
    pub(super) fn tidy(&self, common: &Path) {
        for (directory, prefix) in
            [(self.root.join("index"), ONCE), (common.to_owned(), "kakehashi-")]
        {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let ours = entry.file_name().to_string_lossy().starts_with(prefix);
                let age =
                    entry.metadata().and_then(|about| about.modified()).map(|time| time.elapsed());
                if ours && matches!(age, Ok(Ok(age)) if age > LEFTOVER) {
                    let _ =
                        fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
                }
            }
        }
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), GitError> {
        replace(&self.root.join(name), content).map_err(GitError::io("writing settings for git"))
    }
}

/// Never half there, and not written at all if it is the same.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let part = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&part, content)?;
    fs::rename(&part, path)
}

pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(err) if err.kind() != ErrorKind::NotFound => Err(err),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Read as text: nothing is included, and no value can be more than a value.
fn copied_settings(common: &Path) -> Result<Vec<(String, String)>, GitError> {
    let config = common.join("config");
    let git = Git::new("config").arg("--no-includes").arg("--file").arg(config);
    let listed = git.args(["-z", "--get-regexp", COPIED]).run()?.stdout;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let settings = text.split('\0').filter_map(|setting| {
        let (name, value) = setting.split_once('\n').unwrap_or((setting, "true"));
        let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let name = name.strip_prefix("core.").filter(|_| plain)?;
        Some((name.to_owned(), value.to_owned()))
    });
    Ok(settings.collect())
}

pub(super) fn fingerprint(text: &OsStr) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
