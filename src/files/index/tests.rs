//! Whatever happens to the files, the index soon says the same as a fresh look.

use super::super::rules::Rules;
use super::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Fixture {
    directory: TempDir,
    index: Index,
}

impl Fixture {
    fn new(sight: Sight) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("root");
        fs::create_dir(&path).unwrap();
        let rules = Rules::Project { data: "/nowhere".into(), private: Vec::new() };
        let index = Index { sight, ..Index::new(Root { path, rules }) };
        Self { directory, index }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.index.root.path.join(below)
    }

    fn add(&self, below: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    fn is_right(&self) -> bool {
        let fresh = Tree::survey(&self.index.root, &mut |_| {}).unwrap();
        self.index.refresh().is_ok_and(|seen| seen.tree.same_files(&fresh))
    }

    #[track_caller]
    fn becomes_right(&self) {
        eventually(|| self.is_right());
    }

    #[track_caller]
    fn becomes(&self, expected: &[&str]) {
        eventually(|| self.index.refresh().is_ok_and(|seen| names(&seen.tree) == expected));
    }

    fn is_watching(&self) -> bool {
        matches!(self.index.lock().view, Some(View { eye: Eye::Open(_), .. }))
    }
}

fn names(tree: &Tree) -> Vec<String> {
    let mut names: Vec<_> =
        tree.files().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[track_caller]
fn eventually(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn files_and_directories_come_change_and_go() {
    let fixture = Fixture::new(Sight::Wanted);
    fixture.add("src/a");
    fixture.becomes(&["src/a"]);
    assert!(fixture.is_watching());
    fixture.add("src/deep/er/b");
    fixture.becomes(&["src/a", "src/deep/er/b"]);
    fixture.add("src/deep/er/c");
    fixture.becomes(&["src/a", "src/deep/er/b", "src/deep/er/c"]);
    fs::rename(fixture.path("src/deep"), fixture.path("moved")).unwrap();
    fixture.becomes(&["moved/er/b", "moved/er/c", "src/a"]);
    fixture.add("moved/er/d");
    fixture.becomes(&["moved/er/b", "moved/er/c", "moved/er/d", "src/a"]);
    fs::remove_dir_all(fixture.path("moved")).unwrap();
    fixture.becomes(&["src/a"]);
    fixture.add("moved/again");
    fixture.becomes(&["moved/again", "src/a"]);
    fs::write(fixture.path("src/a"), "longer").unwrap();
    fixture.becomes_right();
    assert!(fixture.is_watching());
}

#[test]
fn generated_and_ignored_names_are_neither_listed_nor_watched() {
    let fixture = Fixture::new(Sight::Wanted);
    fixture.add("a");
    fixture.becomes(&["a"]);
    let ours = ".kakehashi-restore.part/d";
    for path in ["node_modules/x/y.js", ".git/HEAD", "sub/target/z", ".DS_Store", ours] {
        fixture.add(path);
    }
    fixture.add("sub/b");
    fixture.becomes(&["a", "sub/b"]);
    fs::write(fixture.path(".gitignore"), "b\n/out/\n").unwrap();
    fixture.becomes(&[".gitignore", "a"]);
    fixture.add("out/c");
    fs::write(fixture.path("sub/.gitignore"), "!b\n").unwrap();
    fixture.becomes(&[".gitignore", "a", "sub/.gitignore", "sub/b"]);
    fs::remove_file(fixture.path(".gitignore")).unwrap();
    fixture.becomes(&["a", "out/c", "sub/.gitignore", "sub/b"]);
}

#[test]
fn an_overflow_leads_to_a_rescan() {
    let fixture = Fixture::new(Sight::Wanted);
    fixture.becomes(&[]);
    let before = fixture.index.refresh().unwrap().revision;
    // More than may wait, so that even a path that was lost is found.
    for number in 0..5_000 {
        fs::write(fixture.path(&format!("f{number}")), "").unwrap();
    }
    eventually(|| fixture.index.refresh().unwrap().tree.files().count() == 5_000);
    assert!(fixture.index.refresh().unwrap().revision > before);
    fixture.becomes_right();
}

#[test]
fn a_root_that_is_replaced_or_gone_is_noticed() {
    let fixture = Fixture::new(Sight::Wanted);
    fixture.add("a");
    fixture.becomes(&["a"]);
    let aside = fixture.directory.path().join("aside");
    fs::rename(&fixture.index.root.path, &aside).unwrap();
    eventually(|| fixture.index.refresh().is_err());
    fixture.add("b");
    fixture.becomes(&["b"]);
    fixture.add("c");
    fixture.becomes(&["b", "c"]);
    fs::write(aside.join("elsewhere"), "x").unwrap();
    assert_eq!(names(&fixture.index.refresh().unwrap().tree), ["b", "c"]);
}

#[test]
fn what_cannot_be_watched_is_read_again_now_and_then() {
    let fixture = Fixture::new(Sight::Missing);
    fixture.add("a");
    fixture.becomes(&["a"]);
    assert!(!fixture.is_watching());
    fixture.add("b");
    // Not at once, but without a walk either.
    assert_eq!(names(&fixture.index.refresh().unwrap().tree), ["a"]);
    fixture.becomes(&["a", "b"]);
}

#[test]
fn what_we_did_ourselves_is_seen_at_once_also_where_nothing_is_watched() {
    let fixture = Fixture::new(Sight::Missing);
    fixture.add("a");
    fixture.becomes(&["a"]);
    let before = fixture.index.refresh().unwrap().revision;
    fixture.add("new/deep/b");
    fixture.index.note(&fixture.path("new/deep/b"));
    let seen = fixture.index.ready().unwrap();
    assert_eq!(names(&seen.tree), ["a", "new/deep/b"]);
    assert!(seen.revision > before);
    fs::remove_file(fixture.path("a")).unwrap();
    fixture.index.note(&fixture.path("a"));
    assert_eq!(names(&fixture.index.refresh().unwrap().tree), ["new/deep/b"]);
}

#[test]
fn a_gitignore_that_is_no_file_keeps_nobody_waiting() {
    let fixture = Fixture::new(Sight::Wanted);
    fixture.add("a");
    let rules = fixture.path(".gitignore");
    rustix::fs::mkfifoat(rustix::fs::CWD, &rules, rustix::fs::Mode::RWXU).unwrap();
    fixture.becomes(&["a"]);
    fs::remove_file(&rules).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &rules).unwrap();
    fixture.becomes(&["a"]);
    fs::remove_file(&rules).unwrap();
    // Longer than what is read; the rules at its beginning count.
    fs::write(&rules, "\u{feff}b\r\n".to_owned() + &"c\n".repeat(600_000) + "a\n").unwrap();
    fixture.add("b");
    fixture.add("c");
    fixture.becomes(&[".gitignore", "a"]);
}

#[test]
fn a_revision_stays_as_long_as_nothing_changes() {
    let fixture = Fixture::new(Sight::Wanted);
    fixture.add("a");
    fixture.add("node_modules/x");
    let first = fixture.index.refresh().unwrap();
    fs::read(fixture.path("a")).unwrap();
    fixture.add("node_modules/y");
    fixture.index.lock().view = None;
    fixture.index.refresh().unwrap();
    let again = fixture.index.refresh().unwrap();
    assert!(again.tree.same_files(&first.tree));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(fixture.index.refresh().unwrap().revision, again.revision);
    assert!(fixture.index.ready().is_some_and(|seen| seen.revision == again.revision));
}

#[test]
fn odd_names_and_unreadable_places_do_no_harm() {
    let fixture = Fixture::new(Sight::Wanted);
    fs::write(fixture.index.root.path.join(OsStr::from_bytes(b"a\xff")), "x").unwrap();
    fixture.becomes(&["a\u{fffd}"]);
    std::os::unix::fs::symlink("/etc", fixture.path("etc")).unwrap();
    std::os::unix::fs::symlink(".", fixture.path("loop")).unwrap();
    fixture.add("b");
    fixture.becomes(&["a\u{fffd}", "b"]);
    fs::remove_file(fixture.path("b")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", fixture.path("b")).unwrap();
    fixture.becomes(&["a\u{fffd}"]);
}

/// The same few names again and again, so that files become directories and back, and names change hands.
#[test]
fn random_changes_end_in_the_right_list() {
    let fixture = Fixture::new(Sight::Wanted);
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let names = ["a", "b", "a/c", "a/d", "b/c", "b/c/e", "temp", "temp/x", "a/c/.gitignore"];
    for round in 0..600 {
        let pick = |number: u64| fixture.path(names[usize::try_from(number).unwrap()]);
        let (one, other) = (pick(random(9)), pick(random(9)));
        // What cannot be done is passed over; it is only to be wild.
        match random(6) {
            0 => drop(fs::create_dir_all(&one)),
            1 | 2 => drop(fs::write(&one, format!("{round}"))),
            3 => drop(fs::rename(&one, &other)),
            4 => drop(fs::remove_file(&one)),
            _ => remove_all(&one),
        }
        if random(4) == 0 {
            let _ = fixture.index.refresh();
        }
        if round % 100 == 99 {
            fixture.becomes_right();
        }
    }
}

fn remove_all(path: &Path) {
    let _ = fs::remove_dir_all(path);
}
