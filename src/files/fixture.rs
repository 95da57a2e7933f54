//! Directories and pictures for the tests of this module.

use super::{FileLimits, Files};
use image::{DynamicImage, ImageFormat};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

pub(super) const MAX_PIXELS: u64 = 40_000_000;
pub(super) const LIMITS: FileLimits = FileLimits {
    max_pixels: MAX_PIXELS,
    backup_keep: 5,
    backup_age: Duration::from_secs(86_400),
    temp_quota: 1_000_000,
    temp_age: Duration::from_secs(7 * 86_400),
    content: 1_000,
    private: Vec::new(),
};

/// A project and a data directory that vanish with it.
pub(super) struct Fixture {
    directory: TempDir,
    pub(super) files: Files,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        fs::create_dir(&project).unwrap();
        let files = Files::new(&project, &directory.path().join("state"), LIMITS).unwrap();
        Self { directory, files }
    }

    pub(super) fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// The same directories as another process would find them.
    pub(super) fn reopen(&mut self) {
        self.files = Files::new(&self.project(), &self.data(), LIMITS).unwrap();
    }

    /// Makes a file of the project, with its directories.
    pub(super) fn add(&self, path: &str, content: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

pub(super) fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::new_rgb8(width, height).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Without the rights of root, if we have them: for root nothing is locked. Only this one thread gives them up.
pub(crate) fn without_rights(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let root = rustix::process::getuid();
                set_thread_res_uid(root, Uid::from_raw(65_534), root).unwrap();
            }
            work();
        });
        working.join().unwrap();
    });
}
