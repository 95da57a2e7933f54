//! An agent that changes its files at the very moment at which we look at them.

use super::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Each look reads all of these, and each is a chance for the agent.
const FILES: usize = 30;
const LOOKS: usize = 25;
/// The longer a path takes to follow, the more time is between git's look at a file and its reading.
const DEPTH: usize = 150;
/// Git reads as many bytes as the file had when it looked, so the agent's own files are as long.
const SECRET: &str = "key of the user\n";
const HARMLESS: &str = "work of agents\n\n";

fn deep(number: usize) -> String {
    format!("{}file{number}", "d/".repeat(DEPTH))
}

/// Exchanges each file with its link, over and over.
fn swap_all(top: &Path, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        for number in 0..FILES {
            let (file, link) = (deep(number), format!("swap/{number}"));
            let exchange = RenameFlags::EXCHANGE;
            renameat_with(CWD, top.join(file), CWD, top.join(link), exchange).unwrap();
        }
    }
}

/// Looks while the files in `top` are swapped for links to a secret, and says how often the secret was stored.
fn leaks(fixture: &Fixture, top: &Path, look: impl Fn()) -> usize {
    let secret = fixture.dir.path().canonicalize().unwrap().join("secret");
    fs::write(&secret, SECRET).unwrap();
    assert_eq!(SECRET.len(), HARMLESS.len());
    for number in 0..FILES {
        write(top, deep(number), HARMLESS);
        write(top, "swap/.gitignore", "*\n");
        symlink(&secret, top.join(format!("swap/{number}"))).unwrap();
    }
    let id = git(&fixture.top(), &["hash-object", secret.to_str().unwrap()]).trim().to_owned();
    let stored = fixture.repository().private().objects().join(&id[..2]).join(&id[2..]);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| swap_all(top, &is_over));
        let found = (0..LOOKS).filter(|_| {
            look();
            fs::remove_file(&stored).is_ok()
        });
        let found = found.count();
        is_over.store(true, Ordering::Relaxed);
        found
    })
}

#[test]
fn a_link_that_takes_the_place_of_a_file_meanwhile_is_not_followed_in_a_copy() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let look = || drop(worktree.result().unwrap());
    assert_eq!(leaks(&fixture, worktree.top(), look), 0);
}

#[test]
fn a_link_that_takes_the_place_of_a_file_meanwhile_is_not_followed_in_the_project() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let look = || drop(repository.snapshot(Place::Project).unwrap());
    assert_eq!(leaks(&fixture, &fixture.top(), look), 0);
}

/// A path that is a link at first and a directory afterwards.
#[test]
fn a_copy_of_a_link_is_not_written_through() {
    use crate::workplace::folder::Folder;
    use crate::workplace::frozen::Frozen;
    let fixture = Fixture::new();
    let (top, base) = (fixture.top(), fixture.dir.path().canonicalize().unwrap());
    let outside = base.join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, top.join("x")).unwrap();
    let place = Folder::open(&top).unwrap();
    let mut frozen = Frozen::new(&fixture.repository(), &place).unwrap();
    assert!(frozen.add(OsStr::new("x")).unwrap());
    fixture.remove("x");
    fixture.write("x/planted", "by an agent\n");
    assert!(!frozen.add(OsStr::new("x/planted")).unwrap());
    assert_eq!(files(&outside), [""; 0]);
}
