//! Files below the workplace. Paths are resolved by descriptor, so neither `..` nor a symbolic link leads out.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use image::{ImageError, ImageFormat, Rgb, RgbImage};
use std::io::{self, Cursor, Read};
use std::path::{Component, Path, PathBuf};

/// Largest file that `read` shows.
const MOST_READ: u64 = 1024 * 1024;
const PICTURE_SIDE: u32 = 64;

#[derive(Debug)]
pub(super) struct Workplace {
    root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum WorkplaceError {
    #[error("{path} leads outside the workplace")]
    Outside { path: String },
    #[error("{path} belongs to git; use git itself")]
    Git { path: String },
    #[error("{path} is not a regular file")]
    NotAFile { path: String },
    #[error("{path} is larger than 1 MiB")]
    TooLarge { path: String },
    #[error("{path} could not be opened: {source}")]
    Io { path: String, source: io::Error },
    #[error("the gateway is shutting down")]
    ShuttingDown,
}

impl Workplace {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Writes a file and the directories it needs; returns its real path below the workplace.
    pub(super) async fn write(&self, path: &str, bytes: Vec<u8>) -> Result<String, WorkplaceError> {
        self.blocking(path, move |root, path| write(&root, path, &bytes)).await
    }

    pub(super) async fn read(&self, path: &str) -> Result<Vec<u8>, WorkplaceError> {
        self.blocking(path, |root, path| read(&root, path)).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        path: &str,
        work: impl FnOnce(Dir, &str) -> Result<T, WorkplaceError> + Send + 'static,
    ) -> Result<T, WorkplaceError> {
        let (root, path) = (self.root.clone(), path.to_owned());
        let work = move || {
            let root =
                Dir::open_ambient_dir(root, ambient_authority()).map_err(|err| failed(".", err))?;
            work(root, &path)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(WorkplaceError::ShuttingDown))
    }
}

/// A small picture that looks like one.
pub(super) fn picture() -> Result<Vec<u8>, ImageError> {
    let shade = |at: u32| u8::try_from(at * 255 / PICTURE_SIDE).unwrap_or(u8::MAX);
    let picture =
        RgbImage::from_fn(PICTURE_SIDE, PICTURE_SIDE, |x, y| Rgb([shade(x), shade(y), 160]));
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, ImageFormat::Png)?;
    Ok(png.into_inner())
}

fn write(root: &Dir, path: &str, bytes: &[u8]) -> Result<String, WorkplaceError> {
    let inside = |err| failed(path, err);
    refuse_git(root, path)?;
    if let Some(parent) = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_directories(root, parent).map_err(inside)?;
    }
    refuse_special(root, path)?;
    root.write(path, bytes).map_err(inside)?;
    let real = root.canonicalize(path).map_err(inside)?;
    Ok(with_slashes(&real))
}

/// A link that leads outside is reported as something that exists; opening it tells the truth.
fn make_directories(root: &Dir, path: &Path) -> io::Result<()> {
    match root.create_dir_all(path) {
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => root.open_dir(path).map(drop),
        made => made,
    }
}

fn read(root: &Dir, path: &str) -> Result<Vec<u8>, WorkplaceError> {
    refuse_git(root, path)?;
    refuse_special(root, path)?;
    let mut bytes = Vec::new();
    let file = root.open(path).map_err(|err| failed(path, err))?;
    file.take(MOST_READ + 1).read_to_end(&mut bytes).map_err(|err| failed(path, err))?;
    if bytes.len() as u64 > MOST_READ {
        return Err(WorkplaceError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

/// Whoever uses git next, outside of any box, uses what is in there; also by the name of a link that leads there.
fn refuse_git(root: &Dir, path: &str) -> Result<(), WorkplaceError> {
    let is_gits = |path: &Path| path.iter().any(|part| part.eq_ignore_ascii_case(".git"));
    let existing = Path::new(path).ancestors().filter(|part| !part.as_os_str().is_empty());
    let real = existing.into_iter().find_map(|part| root.canonicalize(part).ok());
    if is_gits(Path::new(path)) || real.is_some_and(|real| is_gits(&real)) {
        return Err(WorkplaceError::Git { path: path.to_owned() });
    }
    Ok(())
}

/// Opening a pipe would wait for its other end, on a thread that nobody can cancel.
fn refuse_special(root: &Dir, path: &str) -> Result<(), WorkplaceError> {
    match root.metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(WorkplaceError::NotAFile { path: path.to_owned() }),
        // The following open says it better, or creates the file.
        Err(_) => Ok(()),
    }
}

fn failed(path: &str, source: io::Error) -> WorkplaceError {
    let path = path.to_owned();
    // An escape is refused by cap-std itself, so no operating system's code comes with it.
    let escape =
        source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none();
    if escape { WorkplaceError::Outside { path } } else { WorkplaceError::Io { path, source } }
}

fn with_slashes(path: &Path) -> String {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[tokio::test]
    async fn written_file_is_read_back_under_its_real_path() {
        let (_keep, workplace) = workplace();
        assert_eq!(workplace.write("a/./b/../b/c.txt", b"hi".to_vec()).await.unwrap(), "a/b/c.txt");
        assert_eq!(workplace.read("a/b/c.txt").await.unwrap(), b"hi");
    }

    #[tokio::test]
    async fn nothing_leads_outside() {
        let (keep, workplace) = workplace();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        symlink(outside.path(), keep.path().join("door")).unwrap();
        symlink(outside.path().join("secret"), keep.path().join("window")).unwrap();
        symlink(outside.path().join("new"), keep.path().join("hatch")).unwrap();
        let absolute = outside.path().join("secret").to_string_lossy().into_owned();
        for path in [
            "../x",
            "a/../../x",
            "door/secret",
            "door/x",
            "door/new/x",
            "window",
            "hatch",
            "/etc/passwd",
            &absolute,
        ] {
            let written = workplace.write(path, b"y".to_vec()).await.unwrap_err();
            assert!(matches!(written, WorkplaceError::Outside { .. }), "write {path}: {written}");
            let read = workplace.read(path).await.unwrap_err();
            assert!(matches!(read, WorkplaceError::Outside { .. }), "read {path}: {read}");
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"x");
    }

    #[tokio::test]
    async fn links_inside_are_fine() {
        let (keep, workplace) = workplace();
        std::fs::create_dir(keep.path().join("real")).unwrap();
        symlink("real", keep.path().join("alias")).unwrap();
        assert_eq!(workplace.write("alias/x", b"1".to_vec()).await.unwrap(), "real/x");
    }

    #[tokio::test]
    async fn what_is_gits_is_neither_read_nor_written() {
        let (keep, workplace) = workplace();
        std::fs::create_dir_all(keep.path().join(".git/hooks")).unwrap();
        std::fs::write(keep.path().join(".git/config"), "[core]\n").unwrap();
        symlink(".git", keep.path().join("alias")).unwrap();
        for path in [
            ".git/config",
            "alias/config",
            "x/../.git/config",
            ".GIT/config",
            "sub/.git",
            "alias/hooks/new",
        ] {
            for outcome in [
                workplace.read(path).await.map(drop),
                workplace.write(path, vec![1]).await.map(drop),
            ] {
                assert!(matches!(outcome, Err(WorkplaceError::Git { .. })), "{path}: {outcome:?}");
            }
        }
        assert_eq!(std::fs::read(keep.path().join(".git/config")).unwrap(), b"[core]\n");
        assert_eq!(std::fs::read_dir(keep.path().join(".git/hooks")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn special_and_large_files_are_refused() {
        let (keep, workplace) = workplace();
        std::fs::create_dir(keep.path().join("directory")).unwrap();
        std::fs::write(keep.path().join("large"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
        let made =
            std::process::Command::new("mkfifo").arg(keep.path().join("pipe")).status().unwrap();
        assert!(made.success());
        for path in ["directory", "pipe"] {
            let err = workplace.read(path).await.unwrap_err();
            assert!(matches!(err, WorkplaceError::NotAFile { .. }), "{path}: {err}");
            let err = workplace.write(path, Vec::new()).await.unwrap_err();
            assert!(matches!(err, WorkplaceError::NotAFile { .. }), "{path}: {err}");
        }
        assert_eq!(
            workplace.read("large").await.unwrap_err().to_string(),
            "large is larger than 1 MiB"
        );
        assert!(matches!(workplace.read("missing").await, Err(WorkplaceError::Io { .. })));
        assert!(matches!(workplace.write("", Vec::new()).await, Err(WorkplaceError::Io { .. })));
    }

    fn workplace() -> (tempfile::TempDir, Workplace) {
        let directory = tempfile::tempdir().unwrap();
        let workplace = Workplace::new(directory.path().to_owned());
        (directory, workplace)
    }
}
