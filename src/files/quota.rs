//! Keeps users' files within their share: what is too old goes, and then the oldest until the rest fits.

use super::listing::Place;
use super::rules::Rules;
use super::tree::{Root, Stamp, Tree};
use super::{FileError, Files};
use crate::message::Principal;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tracing::{info, warn};

/// Nobody writes this long at one upload.
const HALF_AGE: Duration = Duration::from_secs(3_600);

impl Files {
    /// After an upload; `stored` is the one that has just come and stays in any case.
    pub(super) fn make_room(&self, principal: &Principal, stored: &Path) {
        let tidied = self.catalog(&Place::Temp(principal.clone())).index.refresh();
        let tidied = tidied.map_err(FileError::from).and_then(|seen| {
            let root = self.temp(principal);
            let removed = self.tidy(&root, &seen.tree, Some(stored))?;
            removed.iter().for_each(|path| self.note_temp(principal, path));
            Ok(())
        });
        // The upload itself has worked; the next one tries again.
        if let Err(err) = tidied {
            warn!(%err, "a user's files could not be tidied");
        }
    }

    /// At the start, for every user, with what a crash has left half-written.
    pub(super) fn tidy_all(&self) {
        for (root, tree) in self.users() {
            if let Err(err) = self.tidy(&root, &tree, None) {
                warn!(%err, "a user's files could not be tidied");
            }
        }
    }

    /// Now and then, for every user: what is too old, and what was begun and never finished.
    pub fn retire_uploads(&self) {
        for (root, tree) in self.users() {
            let old = tree.files().filter(|(path, stamp)| {
                let age = if is_half(path) { HALF_AGE } else { self.places.limits.temp_age };
                SystemTime::now().checked_sub(age).is_some_and(|limit| stamp.modified < limit)
            });
            match self.remove_all(&root, old.map(|(path, _)| path).collect()) {
                Ok(removed) => removed.iter().for_each(|path| self.note_in_temp(path)),
                Err(err) => warn!(%err, "old files of a user could not be removed"),
            }
        }
    }

    /// Where each user's files are, and all of them, hidden ones too.
    fn users(&self) -> Vec<(PathBuf, Tree)> {
        let Ok(users) = fs::read_dir(self.data().join("temp")) else { return Vec::new() };
        let roots = users.filter_map(Result::ok).map(|user| user.path());
        let read = |path: PathBuf| {
            let root = Root { path, rules: Rules::Everything };
            Tree::survey(&root, &mut |_| {}).ok().map(|tree| (root.path, tree))
        };
        roots.filter_map(read).collect()
    }

    fn tidy(
        &self,
        root: &Path,
        tree: &Tree,
        stored: Option<&Path>,
    ) -> Result<Vec<PathBuf>, FileError> {
        let spare = stored.and_then(|stored| stored.strip_prefix(root).ok());
        self.remove_all(root, self.unwanted(tree, spare))
    }

    /// Returns what is gone.
    fn remove_all(&self, root: &Path, unwanted: Vec<PathBuf>) -> Result<Vec<PathBuf>, FileError> {
        if unwanted.is_empty() {
            return Ok(Vec::new());
        }
        info!(files = unwanted.len(), "old files of a user are removed");
        let directory = Dir::open_ambient_dir(root, ambient_authority())?;
        let removed = unwanted.into_iter().filter(|path| directory.remove_file(path).is_ok());
        Ok(removed.map(|path| root.join(path)).collect())
    }

    fn unwanted(&self, tree: &Tree, spare: Option<&Path>) -> Vec<PathBuf> {
        let limits = &self.places.limits;
        let too_old = SystemTime::now().checked_sub(limits.temp_age);
        let mut files: Vec<(PathBuf, Stamp)> = tree.files().collect();
        files.sort_by_key(|(_, stamp)| stamp.modified);
        let mut total: u64 = files.iter().map(|(_, stamp)| stamp.size).sum();
        let mut unwanted = Vec::new();
        for (path, stamp) in files {
            let is_old = too_old.is_some_and(|too_old| stamp.modified < too_old);
            // Nothing is being written at the start, when hidden names are seen too.
            let unneeded = is_old || is_half(&path) || total > limits.temp_quota;
            if Some(path.as_path()) != spare && unneeded {
                total -= stamp.size;
                unwanted.push(path);
            }
        }
        unwanted
    }
}

fn is_half(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, LIMITS};
    use super::*;
    use crate::message::{ListKind, ListScope};
    use std::fs::File;

    fn age(fixture: &Fixture, principal: &Principal, path: &Path, seconds: u64) {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        // The system's notice would take a moment.
        fixture.files.note_temp(principal, path);
    }

    fn names(fixture: &Fixture, principal: &Principal) -> Vec<String> {
        let list = fixture.files.list(ListKind::Temp, ListScope::All, principal).unwrap().list;
        let name = |path: &str| path.rsplit('.').next().unwrap().to_owned();
        let mut names: Vec<_> = list.files.iter().map(|file| name(&file.path)).collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_make_room_for_the_newest() {
        let fixture = Fixture::new();
        let (ann, bob) = (Principal::new("ann"), Principal::new("bob"));
        let half = vec![1; usize::try_from(LIMITS.temp_quota / 2).unwrap()];
        for (name, seconds) in [("first", 30), ("second", 20)] {
            let saved = fixture.files.save_upload(&ann, name, &half).unwrap();
            age(&fixture, &ann, &saved.absolute, seconds);
        }
        fixture.files.save_upload(&bob, "other", &half).unwrap();
        assert_eq!(names(&fixture, &ann), ["first", "second"]);
        fixture.files.save_upload(&ann, "third", b"x").unwrap();
        assert_eq!(names(&fixture, &ann), ["second", "third"]);
        let all = vec![1; usize::try_from(LIMITS.temp_quota + 1).unwrap()];
        let huge = fixture.files.save_upload(&ann, "huge", &all).unwrap();
        assert_eq!(names(&fixture, &ann), ["huge"]);
        assert_eq!(fs::read(huge.absolute).unwrap(), all);
        assert_eq!(names(&fixture, &bob), ["other"]);
    }

    #[test]
    fn what_is_too_old_goes_now_and_then_and_nothing_else_does() {
        let fixture = Fixture::new();
        let (ann, bob) = (Principal::new("ann"), Principal::new("Bob"));
        let days = LIMITS.temp_age.as_secs() + 60;
        let old = [&ann, &bob].map(|user| {
            let saved = fixture.files.save_upload(user, "old", b"x").unwrap().absolute;
            age(&fixture, user, &saved, days);
            saved
        });
        // More than the quota, but the newest.
        let huge = vec![1; usize::try_from(LIMITS.temp_quota + 1).unwrap()];
        let huge = fixture.files.save_upload(&Principal::local(), "huge", &huge).unwrap().absolute;
        let (written, left) = (huge.with_file_name(".1.part"), huge.with_file_name(".2.part"));
        fs::write(&written, "x").unwrap();
        fs::write(&left, "x").unwrap();
        age(&fixture, &ann, &left, 4_000);
        assert_eq!(names(&fixture, &bob), ["old"]);
        fixture.files.retire_uploads();
        assert_eq!(old.map(|path| path.exists()), [false, false]);
        assert_eq!([&huge, &written, &left].map(|path| path.exists()), [true, true, false]);
        assert_eq!(names(&fixture, &bob), Vec::<String>::new());
    }

    #[test]
    fn what_is_too_old_goes_with_an_upload_and_at_the_start() {
        let mut fixture = Fixture::new();
        let local = Principal::local();
        let old = LIMITS.temp_age.as_secs() + 60;
        let saved = fixture.files.save_upload(&local, "old", b"x").unwrap();
        age(&fixture, &local, &saved.absolute, old);
        let new = fixture.files.save_upload(&local, "new", b"x").unwrap();
        assert!(!saved.absolute.exists() && new.absolute.exists());
        age(&fixture, &local, &new.absolute, old);
        let half = new.absolute.with_file_name(".1.part");
        fs::write(&half, "x").unwrap();
        fixture.reopen();
        assert!(!new.absolute.exists() && !half.exists());
        assert_eq!(names(&fixture, &local), Vec::<String>::new());
    }
}
