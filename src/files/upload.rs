//! Stores what users send, one new file each. A half-written file never appears under its name.

use super::{FileError, Files, clock, name, rights, thumbnail};
use crate::message::{FileNote, Principal};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use image::ImageFormat;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Uploads of one name in one second, before something is wrong.
const MOST_OF_ONE_NAME: u32 = 1_000;
const INPUT: &str = "input";
/// What models made.
const OUTPUT: &str = "output";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFile {
    /// For the user.
    pub note: FileNote,
    /// For the providers.
    pub absolute: PathBuf,
    pub is_image: bool,
}

impl Files {
    /// Stores a file under a name made of the time and its own.
    pub fn save_upload(
        &self,
        principal: &Principal,
        name: &str,
        bytes: &[u8],
    ) -> Result<SavedFile, FileError> {
        let picture = thumbnail::image_format(bytes);
        self.save(principal, INPUT, name::safe_name(name), bytes, picture)
    }

    /// Stores a picture that has no name, like one from a camera.
    pub fn save_image(&self, principal: &Principal, bytes: &[u8]) -> Result<SavedFile, FileError> {
        let format = thumbnail::image_format(bytes).ok_or(FileError::NotAnImage)?;
        let extension = format.extensions_str().first().ok_or(FileError::NotAnImage)?;
        self.save(principal, INPUT, format!("image.{extension}"), bytes, Some(format))
    }

    /// Stores a picture that a model made.
    pub fn save_made(&self, principal: &Principal, bytes: &[u8]) -> Result<SavedFile, FileError> {
        let format = thumbnail::image_format(bytes).ok_or(FileError::NotAnImage)?;
        let extension = format.extensions_str().first().ok_or(FileError::NotAnImage)?;
        self.save(principal, OUTPUT, format!("image.{extension}"), bytes, Some(format))
    }

    fn save(
        &self,
        principal: &Principal,
        place: &str,
        name: String,
        bytes: &[u8],
        picture: Option<ImageFormat>,
    ) -> Result<SavedFile, FileError> {
        let input = self.temp(principal).join(place);
        let stored = store(&input, &clock::stamp(SystemTime::now()), &name, bytes)?;
        let max_pixels = self.places.limits.max_pixels;
        let thumbnail = picture.and_then(|_| thumbnail::thumbnail(bytes, max_pixels));
        let absolute = input.join(&stored);
        self.note_temp(principal, &absolute);
        self.make_room(principal, &absolute);
        let note = FileNote { name, path: Some(format!("temp/{place}/{stored}")), thumbnail };
        Ok(SavedFile { note, absolute, is_image: picture.is_some() })
    }
}

/// Writes under a hidden name, and moves the file to a free visible one.
fn store(directory: &Path, stamp: &str, name: &str, bytes: &[u8]) -> Result<String, FileError> {
    rights::make_directory(directory)?;
    let directory = Dir::open_ambient_dir(directory, ambient_authority())?;
    let hidden = hidden_name();
    let stored = create(&directory, &hidden)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(FileError::from)
        .and_then(|()| give_name(&directory, &hidden, stamp, name));
    if stored.is_err() {
        // What could not be stored leaves nothing behind; there may be nothing, if the disk refused it all.
        let _ = directory.remove_file(&hidden);
    }
    stored
}

/// Moves the file to the first free one of `a.txt`, `a.2.txt`, `a.3.txt` ...
fn give_name(directory: &Dir, hidden: &str, stamp: &str, name: &str) -> Result<String, FileError> {
    let (stem, extension) = name::split_extension(name);
    for number in 1..=MOST_OF_ONE_NAME {
        let candidate = match number {
            1 => format!("{stamp}.{name}"),
            number => format!("{stamp}.{stem}.{number}{extension}"),
        };
        match place(directory, hidden, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => (),
            Err(err) => return Err(err.into()),
        }
    }
    Err(FileError::TooManySameName)
}

/// All at once, and never over another file.
pub(super) fn place(directory: &Dir, hidden: &str, name: &str) -> io::Result<()> {
    match renameat_with(directory, hidden, directory, name, RenameFlags::NOREPLACE) {
        // Not every file system can do that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => place_in_two(directory, hidden, name),
        done => Ok(done?),
    }
}

/// The name is taken first, so that nobody else can have it; for a moment it is that of an empty file.
fn place_in_two(directory: &Dir, hidden: &str, name: &str) -> io::Result<()> {
    create(directory, name)?;
    directory.rename(hidden, directory, name).inspect_err(|_| {
        let _ = directory.remove_file(name);
    })
}

pub(super) fn create(directory: &Dir, name: &str) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    directory.open_with(name, options.write(true).create_new(true).mode(rights::FILE))
}

/// Lists leave out hidden names, so nobody sees a file that is not complete.
pub(super) fn hidden_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = clock::stamp(SystemTime::now());
    format!(".{now}.{}.{count}.part", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, picture};
    use super::*;
    use notify::Watcher;
    use std::fs;

    #[test]
    fn upload_is_stored_under_time_and_name() {
        let fixture = Fixture::new();
        let saved = fixture.files.save_upload(&Principal::local(), "note.txt", b"hello").unwrap();
        assert_eq!((saved.note.name.as_str(), saved.is_image), ("note.txt", false));
        assert_eq!(saved.note.thumbnail, None);
        let stored = saved.absolute.file_name().unwrap().to_str().unwrap();
        assert_eq!(stored.len(), "YYYYMMDD.HHMMSS.note.txt".len());
        assert!(stored.ends_with(".note.txt"));
        assert_eq!(saved.note.path.unwrap(), format!("temp/input/{stored}"));
        assert_eq!(fs::read(saved.absolute).unwrap(), b"hello");
    }

    #[test]
    fn names_cannot_leave_the_directory() {
        let fixture = Fixture::new();
        let input = fixture.data().canonicalize().unwrap().join("temp/a%2f..%2f..%2fb/input");
        let long = "x".repeat(10_000);
        for name in ["../../etc/passwd", "..\\x", "/abs", "a/../b", "CON", "", "..", "a\0b", &long]
        {
            let saved =
                fixture.files.save_upload(&Principal::new("a/../../b"), name, b"x").unwrap();
            assert_eq!(saved.absolute.parent().unwrap(), input);
        }
        assert_eq!(fs::read_dir(input).unwrap().count(), 9);
        // `temp` and `backup`.
        assert_eq!(fs::read_dir(fixture.data()).unwrap().count(), 2);
    }

    #[test]
    fn same_name_in_the_same_second_is_kept_beside() {
        let directory = tempfile::tempdir().unwrap();
        let save = |name, content: &[u8]| store(directory.path(), "1.2", name, content).unwrap();
        for (content, expected) in
            [(b"1", "1.2.a.txt"), (b"2", "1.2.a.2.txt"), (b"3", "1.2.a.3.txt")]
        {
            assert_eq!(save("a.txt", content), expected);
        }
        assert_eq!([save("file", b""), save("file", b"")], ["1.2.file", "1.2.file.2"]);
        assert_eq!(fs::read(directory.path().join("1.2.a.txt")).unwrap(), b"1");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_name_appears_with_the_whole_file() {
        let directory = tempfile::tempdir().unwrap();
        let (told, events) = std::sync::mpsc::channel();
        let mut watcher = notify::recommended_watcher(told).unwrap();
        watcher.watch(directory.path(), notify::RecursiveMode::NonRecursive).unwrap();
        let stored = directory.path().join(store(directory.path(), "1.2", "a.txt", b"x").unwrap());
        let mut about = events.iter().map(Result::unwrap).filter(|it| it.paths.contains(&stored));
        let first = about.next().unwrap().kind;
        assert!(!first.is_create(), "{first:?}");
    }

    #[test]
    fn names_are_given_once_also_in_two_steps() {
        let directory = tempfile::tempdir().unwrap();
        let opened = Dir::open_ambient_dir(directory.path(), ambient_authority()).unwrap();
        fs::write(directory.path().join(".hidden"), "1").unwrap();
        place_in_two(&opened, ".hidden", "a").unwrap();
        fs::write(directory.path().join(".hidden"), "2").unwrap();
        let refused = place_in_two(&opened, ".hidden", "a").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(directory.path().join("a")).unwrap(), b"1");
    }

    #[test]
    fn uploads_at_the_same_time_do_not_meet() {
        let fixture = Fixture::new();
        let save = |n: u8| {
            fixture.files.save_upload(&Principal::local(), "same.bin", &[n; 1_000]).unwrap()
        };
        let save = &save;
        let saved: Vec<(u8, SavedFile)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|n| scope.spawn(move || (n, save(n)))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (n, saved) in saved {
            assert_eq!(fs::read(saved.absolute).unwrap(), [n; 1_000]);
        }
    }

    #[test]
    fn picture_gets_a_thumbnail_whatever_its_name() {
        let fixture = Fixture::new();
        let png = picture(640, 480, ImageFormat::Png);
        let saved = fixture.files.save_upload(&Principal::local(), "data.bin", &png).unwrap();
        assert!(saved.is_image && saved.note.thumbnail.is_some());
        let broken =
            fixture.files.save_upload(&Principal::local(), "x.png", b"no picture").unwrap();
        assert!(!broken.is_image && broken.note.thumbnail.is_none());
    }

    #[test]
    fn camera_picture_is_named_by_its_content() {
        let fixture = Fixture::new();
        for (format, name) in [(ImageFormat::Jpeg, "image.jpg"), (ImageFormat::Png, "image.png")] {
            let saved =
                fixture.files.save_image(&Principal::local(), &picture(8, 8, format)).unwrap();
            assert_eq!(saved.note.name, name);
        }
        let refused = fixture.files.save_image(&Principal::local(), b"<svg/>");
        assert_eq!(refused, Err(FileError::NotAnImage));
    }

    #[test]
    fn storage_that_refuses_is_told_without_paths() {
        let fixture = Fixture::new();
        let temp = fixture.data().join("temp");
        fs::remove_dir(&temp).unwrap();
        fs::write(&temp, "in the way").unwrap();
        let err = fixture.files.save_upload(&Principal::local(), "a", b"x").unwrap_err();
        assert!(matches!(err, FileError::Storage { .. }), "{err}");
        assert!(!err.to_string().contains('/'), "{err}");
    }

    #[test]
    fn read_only_directory_is_a_matter_of_permission() {
        let fixture = Fixture::new();
        let temp = fixture.data().join("temp");
        let mut permissions = fs::metadata(&temp).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&temp, permissions).unwrap();
        // The superuser may write everywhere.
        if fs::write(temp.join("probe"), "").is_ok() {
            return;
        }
        let refused = fixture.files.save_upload(&Principal::local(), "a", b"x");
        assert_eq!(refused, Err(FileError::NoPermission));
    }
}
