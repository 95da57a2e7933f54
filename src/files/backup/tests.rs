//! What is backed up can be had again, at every moment that is kept.

use super::super::fixture::Fixture;
use super::*;
use crate::message::ChangeStatus;
use crate::message::{ListKind, ListRoots, ListScope, Principal};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

impl Fixture {
    pub(super) fn back_up(&self) -> Option<Moment> {
        let before = self.moments().last().copied();
        self.files.back_up(&self.files.survey().unwrap()).unwrap();
        self.moments().last().copied().filter(|last| Some(*last) != before)
    }

    pub(super) fn moments(&self) -> Vec<Moment> {
        self.files.backups().iter().map(|backup| backup.moment).collect()
    }

    fn base(&self) -> PathBuf {
        self.files.places.backups.base().to_owned()
    }

    /// The directory of a backup, and the files in it.
    fn copies(&self, moment: Moment) -> (String, Vec<String>) {
        let layers = self.files.places.backups.archive.layers();
        let layer = layers.into_iter().find(|layer| layer.moment == moment).unwrap();
        let path = self.files.places.backups.archive.path(&layer);
        let root = super::super::tree::Root {
            path: path.clone(),
            rules: super::super::rules::Rules::Everything,
        };
        let tree = Tree::survey(&root, &mut |_| {}).unwrap();
        let mut names: Vec<_> = tree.files().map(|(path, _)| with_slashes(&path)).collect();
        names.sort();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), names)
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.project().join(path)).ok()
    }
}

#[test]
fn everything_first_then_what_changed() {
    let fixture = Fixture::new();
    assert_eq!(fixture.back_up(), None);
    fixture.add("src/a", "1");
    fixture.add("src/b", "1");
    fixture.add("catalog.md", "1");
    fixture.add("node_modules/x", "1");
    fixture.add(".gitignore", "*.log\n");
    fixture.add("a.log", "1");
    let first = fixture.back_up().unwrap();
    let (name, files) = fixture.copies(first);
    assert_eq!(name, format!("{}.all", first.time()));
    assert_eq!(files, [".gitignore", "catalog.md", "src/a", "src/b"]);
    assert_eq!(fixture.back_up(), None);
    fixture.add("src/a", "22");
    fs::remove_file(fixture.project().join("src/b")).unwrap();
    let second = fixture.back_up().unwrap();
    assert!(second > first);
    assert_eq!(fixture.copies(second), (second.time(), vec!["src/a".to_owned()]));
    assert_eq!(fixture.back_up(), None);
}

#[test]
fn another_process_goes_on_where_the_last_one_ended() {
    let mut fixture = Fixture::new();
    fixture.add("a", "1");
    fixture.add("b", "1");
    let first = fixture.back_up().unwrap();
    fixture.add("a", "22");
    fs::remove_file(fixture.project().join("b")).unwrap();
    let second = fixture.back_up().unwrap();
    // What a crash leaves is in nobody's way.
    let part = fixture.base().join(second.day()).join(".000000.part");
    fs::create_dir(&part).unwrap();
    fixture.reopen();
    assert_eq!(fixture.moments(), [first, second]);
    assert_eq!(fixture.back_up(), None);
    assert!(!part.exists());
    fixture.add("c", "1");
    assert_eq!(fixture.copies(fixture.back_up().unwrap()).1, ["c"]);
}

#[test]
fn copies_are_exact_and_nothing_outside_is_copied() {
    let fixture = Fixture::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "x").unwrap();
    symlink(outside.path(), fixture.project().join("door")).unwrap();
    symlink(outside.path().join("secret"), fixture.project().join("window")).unwrap();
    let odd = fixture.project().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    fs::write(&odd, vec![7; 300_000]).unwrap();
    fixture.add("run.sh", "#!/bin/sh\n");
    let script = fixture.project().join("run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let moment = fixture.back_up().unwrap();
    let (name, files) = fixture.copies(moment);
    assert_eq!(files, ["odd\u{fffd}", "run.sh"]);
    let copy = fixture.base().join(moment.day()).join(name);
    let about = fs::metadata(copy.join("run.sh")).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o755);
    assert_eq!(about.modified().unwrap(), fs::metadata(script).unwrap().modified().unwrap());
    assert_eq!(fs::read(copy.join(odd.file_name().unwrap())).unwrap(), vec![7; 300_000]);
}

#[test]
fn one_file_comes_back_as_it_was() {
    let fixture = Fixture::new();
    fixture.add("dir/a", "1");
    fixture.add("b", "1");
    let first = fixture.back_up().unwrap();
    fixture.add("dir/a", "22");
    let second = fixture.back_up().unwrap();
    fs::remove_dir_all(fixture.project().join("dir")).unwrap();
    let third = fixture.back_up().unwrap();
    for (moment, content) in [(second, "22"), (first, "1")] {
        let restored = fixture.files.restore(moment, Some("dir/a")).unwrap();
        assert_eq!(restored, Restored { written: vec!["dir/a".to_owned()], removed: Vec::new() });
        assert_eq!(fixture.read("dir/a").as_deref(), Some(content));
    }
    for (moment, path) in [
        (third, "dir/a"),
        (first, "none"),
        (first, "../b"),
        (first, "/b"),
        (first, "dir"),
        (first, ""),
    ] {
        let refused = fixture.files.restore(moment, Some(path));
        assert_eq!(refused, Err(FileError::NotInBackup), "{path}");
    }
    let unknown = Moment::parse("20000101", "000000").unwrap();
    assert_eq!(fixture.files.restore(unknown, Some("b")), Err(FileError::NotInBackup));
    assert_eq!(fs::read_dir(fixture.project().join("dir")).unwrap().count(), 1);
}

#[test]
fn a_name_that_is_no_text_is_found_as_it_is_shown() {
    let fixture = Fixture::new();
    let odd = |name: &[u8]| fixture.project().join(std::ffi::OsStr::from_bytes(name));
    fs::create_dir(odd(b"d\xff")).unwrap();
    fs::write(odd(b"d\xff/z\xfe"), "1").unwrap();
    fs::write(odd(b"a\xfe"), "1").unwrap();
    fs::write(odd(b"a\xff"), "2").unwrap();
    let first = fixture.back_up().unwrap();
    fs::remove_file(odd(b"d\xff/z\xfe")).unwrap();
    let restored = fixture.files.restore(first, Some("d\u{fffd}/z\u{fffd}")).unwrap();
    assert_eq!(restored.written, ["d\u{fffd}/z\u{fffd}"]);
    assert_eq!(fs::read_to_string(odd(b"d\xff/z\xfe")).unwrap(), "1");
    let several = fixture.files.restore(first, Some("a\u{fffd}"));
    assert!(matches!(several, Err(FileError::Ambiguous { .. })), "{several:?}");
    let none = fixture.files.restore(first, Some("b\u{fffd}"));
    assert_eq!(none, Err(FileError::NotInBackup));
}

#[test]
fn everything_comes_back_and_nothing_is_lost_by_that() {
    let fixture = Fixture::new();
    fixture.add("a", "1");
    fixture.add("thing", "file");
    fixture.add("deep/er/b", "1");
    let first = fixture.back_up().unwrap();
    fs::remove_file(fixture.project().join("thing")).unwrap();
    fixture.add("thing/inside", "1");
    fixture.add("a", "22");
    fixture.add("new/c", "1");
    fs::remove_dir_all(fixture.project().join("deep")).unwrap();
    // Never backed up before the restore itself does it.
    let restored = fixture.files.restore(first, None).unwrap();
    assert_eq!(restored.written, ["a", "thing", "deep/er/b"]);
    assert_eq!(restored.removed, ["new/c", "thing/inside"]);
    assert_eq!(fixture.read("a").as_deref(), Some("1"));
    assert_eq!(fixture.read("thing").as_deref(), Some("file"));
    assert_eq!(fixture.read("deep/er/b").as_deref(), Some("1"));
    assert!(!fixture.project().join("new").exists());
    let before = fixture.moments()[1];
    fixture.files.restore(before, None).unwrap();
    assert_eq!(fixture.read("a").as_deref(), Some("22"));
    assert_eq!(fixture.read("thing/inside").as_deref(), Some("1"));
    assert!(!fixture.project().join("deep").exists());
}

#[test]
fn old_backups_are_merged_and_the_kept_ones_stay_whole() {
    let mut fixture = Fixture::new();
    let mut made = Vec::new();
    for round in 0..9 {
        fixture.add("always", "same");
        fixture.add("changes", &"x".repeat(round + 1));
        fixture.add(&format!("round{round}/f"), "1");
        if round > 0 {
            fs::remove_dir_all(fixture.project().join(format!("round{}", round - 1))).unwrap();
        }
        made.push(fixture.back_up().unwrap());
        if round == 6 {
            fixture.reopen();
        }
    }
    assert_eq!(fixture.moments(), made[4..]);
    let (oldest, files) = fixture.copies(made[4]);
    assert!(oldest.ends_with(".all"));
    assert_eq!(files, ["always", "changes", "round4/f"]);
    fixture.files.restore(made[4], None).unwrap();
    assert_eq!(fixture.read("changes").as_deref(), Some("xxxxx"));
    assert_eq!(fixture.read("round4/f").as_deref(), Some("1"));
    assert!(!fixture.project().join("round8").exists());
    let days: Vec<_> = fs::read_dir(fixture.base()).unwrap().collect();
    assert!(days.len() <= 2, "{days:?}");
}

#[test]
fn backups_of_long_ago_are_merged_except_the_last() {
    let mut fixture = Fixture::new();
    fixture.add("a", "1");
    let first = fixture.back_up().unwrap();
    let old = fixture.base().join("20200101");
    fs::rename(fixture.base().join(first.day()), &old).unwrap();
    fixture.reopen();
    assert_eq!(fixture.back_up(), None);
    assert_eq!(fixture.moments().len(), 1);
    fixture.add("b", "1");
    let second = fixture.back_up().unwrap();
    assert_eq!(fixture.moments(), [second]);
    assert_eq!(fixture.copies(second).1, ["a", "b"]);
    assert!(!old.exists());
}

#[test]
fn what_older_gateways_did_not_look_at_is_not_removed() {
    for is_older in [true, false] {
        let fixture = Fixture::new();
        fixture.add("a", "1");
        fixture.add(".env", "1");
        let first = fixture.back_up().unwrap();
        if is_older {
            let manifest =
                fixture.base().join(first.day()).join(format!("{}.manifest", first.time()));
            let text = fs::read(&manifest).unwrap();
            fs::write(manifest, text.strip_suffix(b"\0").unwrap()).unwrap();
        }
        fixture.add(".github/workflows/a.yml", "1");
        fixture.add("src/.config/b", "1");
        fixture.add("src/.c", "1");
        let removed = fixture.files.restore(first, None).unwrap().removed;
        let all = [".github/workflows/a.yml", "src/.c", "src/.config/b"];
        assert_eq!(removed, if is_older { &all[1..2] } else { &all });
        assert_eq!(fixture.read(all[0]).is_some(), is_older);
    }
}

#[test]
fn the_list_tells_the_last_backup() {
    let mut fixture = Fixture::new();
    fixture.add("a", "1");
    let local = Principal::local();
    let list =
        |fixture: &Fixture| fixture.files.list(ListKind::Backup, ListScope::Usual, &local).unwrap();
    assert_eq!(list(&fixture).list.newest, None);
    let first = fixture.back_up().unwrap();
    let listed = list(&fixture);
    assert_eq!(listed.list.newest, Some(first.to_string()));
    let copy = fixture.base().join(first.day()).join(format!("{}.all", first.time()));
    let ListRoots::Backup { backup, .. } = &listed.list.roots else { panic!("no roots") };
    assert_eq!(Path::new(backup), copy);
    assert!(listed.unique);
    fixture.reopen();
    assert_eq!(list(&fixture), listed);
    // Edited while nobody looked: the same time and number, but not the same list.
    fixture.add("a", "22");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let file = fs::File::options().write(true).open(fixture.project().join("a")).unwrap();
    file.set_modified(later).unwrap();
    fixture.reopen();
    assert_eq!(list(&fixture).list.newest, listed.list.newest);
    assert!(!list(&fixture).unique);
}

#[test]
fn a_snapshot_knows_what_changed() {
    let fixture = Fixture::new();
    fixture.add("same", "1");
    fixture.add("changed", "1");
    fixture.add("gone", "1");
    let before = fixture.files.survey().unwrap();
    fixture.add("changed", "22");
    fixture.add("new/file", "1");
    fs::remove_file(fixture.project().join("gone")).unwrap();
    let after = fixture.files.survey().unwrap();
    let changes: Vec<_> = before.changes_until(&after).into_iter().collect();
    let expected = [
        ("changed", ChangeStatus::Modified),
        ("gone", ChangeStatus::Deleted),
        ("new/file", ChangeStatus::Added),
    ];
    assert_eq!(changes, expected.map(|(path, status)| (path.to_owned(), status)));
}

#[test]
fn a_place_that_cannot_be_written_is_told_and_tried_again() {
    let fixture = Fixture::new();
    fixture.add("a", "1");
    let base = fixture.data().join("backup");
    fs::remove_dir_all(&base).unwrap();
    fs::write(&base, "in the way").unwrap();
    let refused = fixture.files.back_up(&fixture.files.survey().unwrap());
    assert!(matches!(refused, Err(FileError::Storage { .. })), "{refused:?}");
    fs::remove_file(base).unwrap();
    assert!(fixture.back_up().is_some());
}
