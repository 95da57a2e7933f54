//! An agent's result goes into the project whole or not at all.

use super::super::ConflictKind;
use super::*;

#[track_caller]
fn accepted(worktree: &Worktree) -> Vec<String> {
    let accepted = worktree.accept(&Target::Project).unwrap();
    let Accepted::Project { changes, .. } = accepted else { panic!("{accepted:?}") };
    told(&changes)
}

fn branch(name: &str) -> Target {
    Target::Branch { name: name.to_owned(), message: "what the agent did\n\nand why".to_owned() }
}

#[test]
fn a_result_is_merged_with_what_the_user_did_meanwhile() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", lines("a").replace("a 1\n", "agent\n"));
    write(worktree.top(), "dir/new", "new\n");
    fs::remove_dir_all(worktree.top().join("src")).unwrap();
    fixture.write("a", lines("a").replace("a 10\n", "user\n"));
    fixture.write("own", "user\n");
    fixture.git(&["add", "own"]);
    let (index, _, branches, head) = fixture.traces();
    let expected = ["M a +1 -1", "A dir/new +1 -0", "D src/deep/c +0 -10"];
    assert_eq!(accepted(&worktree), expected);
    let after = fixture.traces();
    assert_eq!((after.0, after.2, after.3), (index, branches, head));
    assert_eq!(after.1, " M a\nA  own\n D src/deep/c\n?? dir/new\n");
    let merged = lines("a").replace("a 1\n", "agent\n").replace("a 10\n", "user\n");
    assert_eq!(fixture.read("a").unwrap(), merged);
    assert!(!fixture.top().join("src").exists());
    // The worktree goes on from there.
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
    assert_eq!(read(worktree.top(), "own").unwrap(), "user\n");
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Nothing { .. })));
}

#[test]
fn conflicts_are_told_and_nothing_is_changed() {
    let fixture = Fixture::new();
    fixture.write("picture", [0, 1, 2, 0]);
    fixture.write("gone", lines("gone"));
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", lines("a").replace("a 5\n", "agent\n"));
    write(worktree.top(), "picture", [0, 9, 9, 0]);
    write(worktree.top(), "gone", lines("gone").replace("gone 5\n", "agent\n"));
    write(worktree.top(), "both", "agent\n");
    write(worktree.top(), "fine", "agent\n");
    write(worktree.top(), "thing", "a file\n");
    fixture.write("a", lines("a").replace("a 5\n", "user\n"));
    fixture.write("picture", [0, 8, 8, 0]);
    fixture.remove("gone");
    fixture.write("both", "user\n");
    fixture.write("thing/inside", "a directory\n");
    let (before, listed) = (fixture.traces(), files(&fixture.top()));
    let Accepted::Conflicts(conflicts) = worktree.accept(&Target::Project).unwrap() else {
        panic!("no conflicts");
    };
    assert_eq!((fixture.traces(), files(&fixture.top())), (before, listed));
    let kinds = |path: &str| {
        let found = conflicts.iter().find(|conflict| conflict.path == path);
        found.map(|conflict| conflict.kinds.clone()).unwrap_or_default()
    };
    assert_eq!(kinds("a"), [ConflictKind::Content]);
    assert!(kinds("picture").contains(&ConflictKind::Binary), "{conflicts:?}");
    assert_eq!(kinds("gone"), [ConflictKind::ModifyDelete]);
    assert_eq!(kinds("both"), [ConflictKind::Content]);
    assert_eq!(kinds("thing"), [ConflictKind::FileDirectory]);
    assert_eq!(conflicts.len(), 5);
    assert!(fixture.repository().backups(&session()).unwrap().is_empty());
}

#[test]
fn files_become_directories_and_links_and_back() {
    let fixture = Fixture::new();
    fixture.write("dir/x", "1\n");
    symlink("a", fixture.top().join("link")).unwrap();
    let outside = fixture.dir.path().join("outside");
    fs::write(&outside, "untouched").unwrap();
    symlink(&outside, fixture.top().join("out")).unwrap();
    let worktree = fixture.ensure(1);
    let top = worktree.top();
    fs::remove_dir_all(top.join("dir")).unwrap();
    write(top, "dir", "a file\n");
    fs::remove_file(top.join("a")).unwrap();
    write(top, "a/b/c", "deep\n");
    fs::remove_file(top.join("link")).unwrap();
    write(top, "link", "no link\n");
    fs::remove_file(top.join("out")).unwrap();
    write(top, "out", "inside\n");
    fs::remove_file(top.join("b")).unwrap();
    symlink(&outside, top.join("b")).unwrap();
    write(top, "run", "#!/bin/sh\n");
    fs::set_permissions(top.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    accepted(&worktree);
    assert_eq!(files(&fixture.top()), files(top));
    for path in ["dir", "a/b/c", "link", "out", "run"] {
        assert_eq!(fixture.read(path), read(top, path), "{path}");
    }
    assert_eq!(fs::read_link(fixture.top().join("b")).unwrap(), outside);
    let mode = fs::metadata(fixture.top().join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(fs::read_to_string(outside).unwrap(), "untouched");
    assert!(fixture.top().join("link").symlink_metadata().unwrap().is_file());
}

#[test]
fn who_may_read_a_file_stays_as_it_was() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.top().join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", "mine\n");
    fs::set_permissions(worktree.top().join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    accepted(&worktree);
    let mode = fs::metadata(fixture.top().join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn an_ignored_file_in_the_way_is_not_overwritten() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "config\nout\n");
    let worktree = fixture.ensure(1);
    write(worktree.top(), ".gitignore", "nothing\n");
    write(worktree.top(), "config", "agent's\n");
    write(worktree.top(), "b", "agent's\n");
    write(worktree.top(), "out", "a file\n");
    fixture.write("config", "the user's own\n");
    let before = (fixture.traces(), files(&fixture.top()));
    let refused = worktree.accept(&Target::Project).unwrap_err();
    assert_eq!(refused, GitError::PlaceChanged { paths: vec!["config".to_owned()] });
    assert_eq!((fixture.traces(), files(&fixture.top())), before);
    // A directory is found out only when the file is moved there, after others were.
    fixture.remove("config");
    fixture.write("out/built", "1");
    let before = (fixture.traces(), files(&fixture.top()));
    let refused = worktree.accept(&Target::Project).unwrap_err();
    assert_eq!(refused, GitError::PlaceChanged { paths: vec!["out".to_owned()] });
    assert_eq!((fixture.traces(), files(&fixture.top())), before);
    assert_eq!(fixture.read("b").unwrap(), lines("b"));
    let leftover = fs::read_dir(fixture.top().join(".git")).unwrap();
    let leftover = leftover.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!leftover.into_iter().any(|name| name.starts_with("kakehashi")));
}

#[test]
fn what_the_user_changes_meanwhile_is_not_overwritten() {
    use super::super::apply::Course;
    use super::super::index::Extent;
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let (from, index) = repository.snapshot_project("project").unwrap();
    fixture.write("a", "target\n");
    fixture.write("b", "target\n");
    let to = repository.snapshot(Place::Project).unwrap();
    fixture.write("a", lines("a"));
    fixture.write("b", "the user's, just now\n");
    let extent = Extent::Project;
    let course = Course { index: &index, from: &from.tree, to: &to.tree, extent, only: None };
    let refused = repository.bring(&course).unwrap_err();
    assert!(
        matches!(&refused, GitError::PlaceChanged { paths } if paths.contains(&"b".to_owned()))
    );
    assert_eq!(fixture.read("a").unwrap(), lines("a"));
    assert_eq!(fixture.read("b").unwrap(), "the user's, just now\n");
}

#[test]
fn an_accepted_result_can_be_undone() {
    let fixture = Fixture::new();
    fixture.write("own", "not committed\n");
    let worktree = fixture.ensure(1);
    write(worktree.top(), "own", "agent\n");
    write(worktree.top(), "new", "agent\n");
    let Accepted::Project { backup, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    let repository = fixture.repository();
    repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(fixture.read("own").unwrap(), "not committed\n");
    assert_eq!(fixture.read("new"), None);
}

#[test]
fn unusual_names_arrive() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let broken = OsStr::from_bytes(b"dir/br\xffken");
    for name in ["new\nline", "quo\"te", "-dash", ":(top)x", " x "] {
        write(worktree.top(), name, name);
    }
    write(worktree.top(), broken, "1");
    accepted(&worktree);
    for name in ["new\nline", "quo\"te", "-dash", ":(top)x", " x "] {
        assert_eq!(fixture.read(name).unwrap(), name);
    }
    assert_eq!(fixture.read(broken).unwrap(), "1");
}

#[test]
fn a_branch_gets_the_result_and_the_project_stays() {
    let fixture = Fixture::new();
    fixture.write("b", lines("b").replace("b 9\n", "not committed\n"));
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", "agent\n");
    write(worktree.top(), "b", read(worktree.top(), "b").unwrap().replace("b 1\n", "agent\n"));
    let (index, status, _, head) = fixture.traces();
    let Accepted::Branch { commit, changes, .. } = worktree.accept(&branch("agent/one")).unwrap()
    else {
        panic!("no branch");
    };
    assert_eq!(told(&changes), ["M a +1 -10", "M b +1 -1"]);
    let after = fixture.traces();
    assert_eq!((after.0, after.1, after.3), (index, status, head));
    assert_eq!(fixture.git(&["rev-parse", "agent/one"]).trim(), commit.as_str());
    assert_eq!(fixture.git(&["rev-parse", "agent/one~1"]), fixture.git(&["rev-parse", "HEAD"]));
    assert_eq!(
        fixture.git(&["log", "-1", "--format=%B", "agent/one"]),
        "what the agent did\n\nand why\n\n"
    );
    // Only what the agent did, and not what the user has not committed.
    let held = fixture.git(&["show", "agent/one:b"]);
    assert_eq!(held, lines("b").replace("b 1\n", "agent\n"));
    let taken = worktree.accept(&branch("agent/one")).unwrap_err();
    assert_eq!(taken, GitError::BranchExists { name: "agent/one".to_owned() });
}

#[test]
fn branches_need_a_name_and_something_to_start_from() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    for name in ["", "a b", "-x", "x..y", "x.lock", "/x", "HEAD", "x\ny", "@{-1}"] {
        let refused = worktree.accept(&branch(name)).unwrap_err();
        assert_eq!(refused, GitError::BadBranch { name: name.to_owned() });
    }
    assert!(matches!(worktree.accept(&branch("fine")), Ok(Accepted::Nothing { .. })));
    let fixture = Fixture::empty();
    fixture.write("a", "1\n");
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", "2\n");
    assert_eq!(worktree.accept(&branch("fine")), Err(GitError::NoCommit));
    assert_eq!(accepted(&worktree), ["M a +1 -1"]);
    assert_eq!(fixture.read("a").unwrap(), "2\n");
}
