//! Our own data about one repository, in the data directory: a git directory with everything that we keep (bases,
//! snapshots, backups), an index for each worktree, and the objects that are lent to agents. Agents can write none of
//! it and read only what is lent to them.

use super::GitError;
use super::generated::{DESKTOP_FILES, GENERATED};
use super::repository::small_file;
use super::settings::{ObjectFormat, Settings};
use super::user::UserGit;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Attributes for a project without git, so that contents are kept byte for byte. A `.gitattributes` file there has
/// never changed the files, whoever wrote it.
const BYTES: &[u8] = b"* -text -ident -filter !eol !working-tree-encoding\n";

/// Directory in the data directory, with one directory in it for each repository.
pub(super) const DIRECTORY: &str = "workplace";
/// In the directory of a repository, with one git directory in it for each copy.
pub(super) const AGENT_GITS: &str = "agent-git";
/// In the same directory, what was moved out of each copy.
pub(super) const ASIDE: &str = "aside";
const PARTS: [&str; 8] =
    ["git/objects/pack", "git/refs", "git/info", "index", "state", "lent", "moving", AGENT_GITS];
const ONCE: &str = "once-";
/// Prefix of directories with new files that are made in the project itself.
pub(super) const STAGING: &str = ".kakehashi-new-";
/// What a killed gateway has left behind is removed after this time.
const LEFTOVER: Duration = Duration::from_secs(24 * 60 * 60);
/// Marks that nothing of ours is in the user's repository any more; see [`super::takeover`].
const LAYOUT: (&str, &[u8]) = ("layout", b"2\n");

#[derive(Debug)]
pub(super) struct Private {
    root: PathBuf,
    owner: String,
    format: ObjectFormat,
}

impl Private {
    /// `common` is the user's git directory, or where `git init` would make it. So a project that becomes a repository
    /// later, or is none any more, keeps its data here.
    pub(super) fn open(data: &Path, common: &Path) -> Result<Self, GitError> {
        let format = Settings::read(common)?.format;
        let mut root = data.join(DIRECTORY).join(fingerprint(common.as_os_str()));
        if Settings::read(&root.join("git"))?.format != format && root.join("git/config").exists() {
            let name = root.file_name().unwrap_or_default().display();
            root = root.with_file_name(format!("{name}-{format:?}"));
        }
        let private = Self { root, owner: fingerprint(data.as_os_str()), format };
        let is_new = !private.root.exists();
        for part in PARTS {
            make_directory(&private.root.join(part)).map_err(GitError::io("making a directory"))?;
        }
        private.write("git/HEAD", b"ref: refs/heads/none\n")?;
        if is_new {
            private.is_taken_over()?;
        }
        Ok(private)
    }

    /// Whether an earlier version may have left something in the user's repository.
    pub(super) fn has_old_layout(&self) -> bool {
        !self.root.join(LAYOUT.0).exists()
    }

    pub(super) fn is_taken_over(&self) -> Result<(), GitError> {
        self.write(LAYOUT.0, LAYOUT.1)
    }

    /// Identifies the data directory in our commits. Earlier versions kept commits in the user's repository, where
    /// several gateways may have theirs.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// What git's answers depend on besides the files: settings, ignore rules and attributes.
    pub(super) fn rules(&self) -> [Vec<u8>; 3] {
        ["config", "info/exclude", "info/attributes"]
            .map(|name| fs::read(self.git_dir().join(name)).unwrap_or_default())
    }

    /// The repository's directory name, which tells it from others.
    pub(super) fn name(&self) -> &OsStr {
        self.root.file_name().unwrap_or_default()
    }

    pub(super) fn git_dir(&self) -> PathBuf {
        self.root.join("git")
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.root.join("git/objects")
    }

    /// Object directory that one agent may read. It holds the objects of the agent's base that the user's repository
    /// lacks.
    pub(super) fn lent(&self, name: &str) -> PathBuf {
        self.root.join("lent").join(name)
    }

    /// Git directory that one agent sees and writes in its sandbox, as the `.git` of its copy.
    pub(super) fn agent_git(&self, name: &str) -> PathBuf {
        self.root.join(AGENT_GITS).join(name)
    }

    /// Repositories that were moved out of one agent's copy.
    pub(super) fn aside(&self, name: &str) -> PathBuf {
        self.root.join(ASIDE).join(name)
    }

    /// A new temporary directory for objects and files.
    pub(super) fn fresh_directory(&self) -> Result<PathBuf, GitError> {
        let path = self.root.join("moving").join(self.once());
        make_directory(&path).map_err(GitError::io("making a directory"))?;
        Ok(path)
    }

    pub(super) fn index(&self, name: &str) -> PathBuf {
        self.root.join("index").join(name)
    }

    pub(super) fn indexes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root.join("index")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    pub(super) fn fresh_index(&self) -> PathBuf {
        self.index(&self.once())
    }

    fn once(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("{ONCE}{}-{number}", std::process::id())
    }

    pub(super) fn state(&self, name: &str) -> PathBuf {
        self.root.join("state").join(name)
    }

    pub(super) fn states(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.join("state")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Writes our configuration, with the settings that the user's repository has now.
    pub(super) fn configure(&self, user: Option<&UserGit>) -> Result<(), GitError> {
        let mut settings = String::new();
        let users = user.map(|user| Settings::read(&user.common)).transpose()?;
        for (name, value) in users.into_iter().flat_map(|users| users.copied) {
            settings.push_str(&format!("\t{name} = \"{value}\"\n"));
        }
        self.write("git/config", self.config("true", &settings).as_bytes())?;
        self.write("agent-config", (self.config("false", &settings) + QUIET).as_bytes())
    }

    /// Configuration of a copy's repository, of both of its git directories.
    pub(super) fn agent_config(&self) -> Vec<u8> {
        fs::read(self.root.join("agent-config")).unwrap_or_default()
    }

    /// Ignore rules besides `.gitignore` files, and attributes, for an agent's repository.
    pub(super) fn agent_info(&self) -> [(&'static str, Vec<u8>); 2] {
        ["exclude", "attributes"].map(|name| {
            (name, fs::read(self.git_dir().join("info").join(name)).unwrap_or_default())
        })
    }

    fn config(&self, bare: &str, settings: &str) -> String {
        let format = match self.format {
            ObjectFormat::Sha1 => "\trepositoryformatversion = 0\n",
            ObjectFormat::Sha256 => {
                "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n[core]\n"
            }
        };
        format!("[core]\n\tbare = {bare}\n{format}{settings}")
    }

    /// Writes the ignore rules besides `.gitignore` files, and attributes. Without a repository, the rules name what
    /// lists leave out.
    pub(super) fn exclude(&self, user: Option<&UserGit>, hidden: &[&Path]) -> Result<(), GitError> {
        let users = |name: &str| {
            let user = user.map(|user| user.common.join("info").join(name));
            user.and_then(|path| small_file(&path)).unwrap_or_default()
        };
        let mut rules = users("exclude");
        rules.extend_from_slice(format!("\n/{STAGING}*/\n").as_bytes());
        if user.is_none() {
            let directories = GENERATED.iter().map(|name| format!("{name}/\n"));
            let files = DESKTOP_FILES.iter().map(|name| format!("{name}\n"));
            rules.extend(directories.chain(files).flat_map(String::into_bytes));
        }
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
        let attributes = if user.is_none() { BYTES.to_vec() } else { users("attributes") };
        self.write("git/info/attributes", &attributes)
    }

    /// Removes indexes and prepared files of killed gateways.
    pub(super) fn tidy(&self, user: Option<&UserGit>) {
        let own = ["index", "moving"].map(|name| (self.root.join(name), ONCE));
        let users = user.map(|user| (user.common.clone(), "kakehashi-"));
        for (directory, prefix) in own.into_iter().chain(users) {
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

/// Agents' repositories start no maintenance by themselves.
const QUIET: &str = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// Replaces a file atomically. An unchanged file is not written.
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

pub(super) fn fingerprint(text: &OsStr) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
