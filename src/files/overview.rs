//! The project's own words about itself, shown as a welcome.

use super::Files;
use super::name::cut;
use crate::regular;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::ffi::OsString;
use std::io::Read;

/// Any mixture of upper and lower case is accepted.
const NAME: &str = "_AIDIY.md";
const LONGEST: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Files {
    /// `None` if there is no readable overview; nothing outside the project is ever shown.
    pub fn overview(&self) -> Option<String> {
        let project = Dir::open_ambient_dir(self.project(), ambient_authority()).ok()?;
        let name = find(&project)?;
        let file = regular::open_below(&project, name.as_ref()).ok()?;
        let mut bytes = Vec::new();
        file.take(LONGEST as u64 + 4).read_to_end(&mut bytes).ok()?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let text = String::from_utf8_lossy(text);
        Some(cut(&text, LONGEST).to_owned())
    }
}

/// The exact name wins over other spellings.
fn find(project: &Dir) -> Option<OsString> {
    let names = project.entries().ok()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let spelled = names.filter(|name| name.eq_ignore_ascii_case(NAME));
    spelled.min_by_key(|name| (name != NAME, name.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn overview_is_found_in_any_spelling() {
        let fixture = Fixture::new();
        assert_eq!(fixture.files.overview(), None);
        fixture.add("_AiDiy.md", "\u{feff}# hello\n");
        assert_eq!(fixture.files.overview().as_deref(), Some("# hello\n"));
        fixture.add("_AIDIY.md", "exact");
        assert_eq!(fixture.files.overview().as_deref(), Some("exact"));
    }

    #[test]
    fn long_and_broken_texts_are_cut_and_shown() {
        let fixture = Fixture::new();
        fixture.add(NAME, &"\u{3042}".repeat(50_000));
        assert_eq!(fixture.files.overview().unwrap(), "\u{3042}".repeat(LONGEST / 3));
        fs::write(fixture.project().join(NAME), b"a\xffb").unwrap();
        assert_eq!(fixture.files.overview().as_deref(), Some("a\u{fffd}b"));
    }

    #[test]
    fn link_may_not_leave_the_project() {
        let fixture = Fixture::new();
        fs::write(fixture.data().join("secret"), "x").unwrap();
        symlink(fixture.data().join("secret"), fixture.project().join(NAME)).unwrap();
        assert_eq!(fixture.files.overview(), None);
        fs::remove_file(fixture.project().join(NAME)).unwrap();
        fixture.add("docs/about.md", "inside");
        symlink("docs/about.md", fixture.project().join(NAME)).unwrap();
        assert_eq!(fixture.files.overview().as_deref(), Some("inside"));
    }

    #[test]
    fn directory_of_that_name_is_no_overview() {
        let fixture = Fixture::new();
        fixture.add("_aidiy.md/x", "");
        assert_eq!(fixture.files.overview(), None);
    }
}
