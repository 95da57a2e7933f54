//! Finds again what is there already: uploads by the path their user knows, and results below the project.

use super::content::is_gits;
use super::{Files, name, thumbnail};
use crate::message::{FileNote, Principal};
use crate::regular;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Larger results are announced without a picture.
const LARGEST_PICTURE: u64 = 32 * 1024 * 1024;

impl Files {
    /// Where a path shown to this user as `temp/...` is stored; `None` for anything else.
    pub fn stored(&self, principal: &Principal, shown: &str) -> Option<PathBuf> {
        let below = Path::new(shown).strip_prefix("temp").ok()?;
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let absolute = self.temp(principal).join(below);
        (plain && absolute.is_file()).then_some(absolute)
    }

    /// A note about a file below the project, with a small picture if it is one.
    pub fn describe(&self, path: &str) -> FileNote {
        let name = path.rsplit('/').next().unwrap_or(path);
        FileNote {
            name: name::safe_name(name),
            path: Some(path.to_owned()),
            thumbnail: self
                .read_picture(path)
                .and_then(|bytes| thumbnail::thumbnail(&bytes, self.places.limits.max_pixels)),
        }
    }

    fn read_picture(&self, path: &str) -> Option<Vec<u8>> {
        let project = Dir::open_ambient_dir(self.project(), ambient_authority()).ok()?;
        if is_gits(&project.canonicalize(path).ok()?) {
            return None;
        }
        let file = regular::open_below(&project, Path::new(path)).ok()?;
        if file.metadata().ok()?.len() > LARGEST_PICTURE {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(LARGEST_PICTURE).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, picture};
    use super::*;
    use image::ImageFormat;

    #[test]
    fn an_upload_is_found_by_the_path_its_user_knows() {
        let fixture = Fixture::new();
        let local = Principal::local();
        let saved = fixture.files.save_upload(&local, "a.txt", b"x").unwrap();
        let shown = saved.note.path.unwrap();
        assert_eq!(fixture.files.stored(&local, &shown), Some(saved.absolute));
        assert_eq!(fixture.files.stored(&Principal::new("other"), &shown), None);
        for trick in ["temp/../../token", "/etc/passwd", "temp/input/../../x", "temp", "a.txt"] {
            assert_eq!(fixture.files.stored(&local, trick), None, "{trick}");
        }
    }

    #[test]
    fn a_result_outside_the_project_gets_no_picture() {
        let fixture = Fixture::new();
        let png = picture(640, 480, ImageFormat::Png);
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.png"), &png).unwrap();
        let link = fixture.project().join("link.png");
        std::os::unix::fs::symlink(outside.path().join("secret.png"), link).unwrap();
        std::fs::write(fixture.project().join("own.png"), &png).unwrap();
        assert!(fixture.files.describe("own.png").thumbnail.is_some());
        for path in ["link.png", "../x.png", "/etc/hostname"] {
            assert_eq!(fixture.files.describe(path).thumbnail, None, "{path}");
        }
    }

    #[test]
    fn a_picture_below_a_git_directory_is_not_shown() {
        let fixture = Fixture::new();
        let png = picture(640, 480, ImageFormat::Png);
        for path in [".git/own.png", "sub/.GiT/own.png", "x.git/own.png"] {
            fixture.add(path, "");
            std::fs::write(fixture.project().join(path), &png).unwrap();
        }
        std::os::unix::fs::symlink(".git", fixture.project().join("door")).unwrap();
        for path in [".git/own.png", "sub/.GiT/own.png", "door/own.png"] {
            assert_eq!(fixture.files.describe(path).thumbnail, None, "{path}");
        }
        assert!(fixture.files.describe("x.git/own.png").thumbnail.is_some());
    }
}
