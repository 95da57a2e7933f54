//! One user's uploads and results by the paths that the user knows. Needs neither the project nor an index, so that
//! commands beside the gateway can use it.

use super::{Files, name};
use crate::message::Principal;
use crate::regular;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Names what belongs to one user; nothing has to exist.
#[derive(Debug, Clone)]
pub struct Belongings {
    root: PathBuf,
}

impl Belongings {
    /// Below the data directory of a gateway.
    pub fn of(data: &Path, principal: &Principal) -> Self {
        Self { root: data.join("temp").join(name::principal_dir(principal)) }
    }

    /// `None` if there is no such file, or the path is not one of this user's.
    pub fn open(&self, shown: &str) -> Option<File> {
        regular::open_below(&self.directory().ok()?, below(shown)?).ok()
    }

    pub fn holds(&self, shown: &str) -> bool {
        let about = |directory: Dir| directory.symlink_metadata(below(shown)?).ok();
        self.directory().ok().and_then(about).is_some_and(|about| about.is_file())
    }

    /// A file that is gone already is no mistake.
    pub fn remove(&self, shown: &str) -> io::Result<()> {
        let Some(below) = below(shown) else { return Ok(()) };
        match self.directory().and_then(|directory| directory.remove_file(below)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Paths are resolved below it, so that no link leads out.
    fn directory(&self) -> io::Result<Dir> {
        Dir::open_ambient_dir(&self.root, ambient_authority())
    }
}

impl Files {
    pub fn belongings(&self, principal: &Principal) -> Belongings {
        Belongings::of(self.data(), principal)
    }

    /// Removes some of a user's files; lists show it at once.
    pub fn remove(&self, principal: &Principal, shown: &str) -> io::Result<()> {
        let belongings = self.belongings(principal);
        belongings.remove(shown)?;
        if let Some(below) = below(shown) {
            self.note_temp(principal, &belongings.root.join(below));
        }
        Ok(())
    }
}

fn below(shown: &str) -> Option<&Path> {
    let below = Path::new(shown).strip_prefix("temp").ok()?;
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && below.components().next().is_some()).then_some(below)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::message::{ListKind, ListScope};
    use std::io::Read;

    #[test]
    fn a_file_is_found_and_removed_by_the_path_its_user_knows() {
        let fixture = Fixture::new();
        let (ann, bob) = (Principal::new("ann"), Principal::new("bob"));
        let shown = fixture.files.save_upload(&ann, "a.txt", b"hello").unwrap().note.path.unwrap();
        let count = || {
            let listed = fixture.files.list(ListKind::Temp, ListScope::All, &ann).unwrap();
            listed.list.files.len()
        };
        assert_eq!(count(), 1);
        assert!(fixture.files.belongings(&bob).open(&shown).is_none());
        fixture.files.remove(&bob, &shown).unwrap();
        let mut text = String::new();
        let belongings = fixture.files.belongings(&ann);
        belongings.open(&shown).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        fixture.files.remove(&ann, &shown).unwrap();
        assert!(!belongings.holds(&shown));
        assert_eq!(count(), 0);
        fixture.files.remove(&ann, &shown).unwrap();
    }

    #[test]
    fn no_path_leads_out() {
        let fixture = Fixture::new();
        let ann = Principal::new("ann");
        fixture.files.save_upload(&ann, "a.txt", b"x").unwrap();
        let secret = fixture.data().join("secret");
        std::fs::write(&secret, "s").unwrap();
        let input = fixture.files.temp(&ann).join("input");
        std::os::unix::fs::symlink(&secret, input.join("link")).unwrap();
        let belongings = fixture.files.belongings(&ann);
        for path in ["temp/../../secret", "temp", "temp/", "/etc/passwd", "secret", "temp/input"] {
            assert!(belongings.open(path).is_none(), "{path}");
            let _ = belongings.remove(path);
        }
        assert!(belongings.open("temp/input/link").is_none());
        assert!(!belongings.holds("temp/input/link"));
        assert!(secret.exists() && input.exists());
    }
}
