//! Copies that are thrown away, and projects that must not meet.

use super::*;

#[test]
fn what_happens_in_a_copy_is_nobodys_work() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "ignored\n");
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", "changed\n");
    write(worktree.top(), "new", "1\n");
    write(worktree.top(), "ignored", "1\n");
    fs::remove_file(worktree.top().join("b")).unwrap();
    let before = worktree.result().unwrap().tree;
    let scratch = worktree.scratch().unwrap();
    let top = scratch.worktree().top().to_owned();
    assert_ne!(top, worktree.top());
    assert_eq!(files(&top), [".gitignore", "a", "new", "src/deep/c"]);
    assert_eq!(read(&top, "a").unwrap(), "changed\n");
    // It is a checkout in which git works.
    assert_eq!(git(&top, &["diff", "--name-status", "HEAD"]), "M\ta\nD\tb\nA\tnew\n");
    write(&top, "made", "by a check\n");
    write(&top, "a", "by a check\n");
    assert_eq!(worktree.result().unwrap().tree, before);
    drop(scratch);
    assert!(!top.exists());
    let notes = files(&fixture.data().join("workplace"));
    assert!(!notes.iter().any(|path| path.contains("copy")), "{notes:?}");
}

#[test]
fn copies_do_not_meet_and_one_of_a_killed_gateway_makes_room() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let (one, two) = (worktree.scratch().unwrap(), worktree.scratch().unwrap());
    assert_ne!(one.worktree().top(), two.worktree().top());
    let top = one.worktree().top().to_owned();
    drop(one);
    assert!(two.worktree().top().join("a").exists());
    // As if the first had never been removed.
    let left = worktree.scratch().unwrap();
    assert_eq!(left.worktree().top(), top);
    write(&top, "left", "1\n");
    super::super::scratch::forget(left);
    let next = worktree.scratch().unwrap();
    assert_eq!((next.worktree().top(), files(&top).len()), (top.as_path(), 3));
    // A session takes those that are left with it.
    super::super::scratch::forget(next);
    fixture.repository().remove_session(&session()).unwrap();
    assert!(!top.exists());
}

#[test]
fn projects_of_one_repository_have_their_own_worktrees() {
    let fixture = Fixture::new();
    let second = fixture.dir.path().join("second");
    fixture.git(&["worktree", "add", "-q", "-b", "second", second.to_str().unwrap()]);
    write(&second, "a", "second\n");
    let slot = AgentSlot::new(1).unwrap();
    let ensured = [fixture.top(), fixture.top().join("src"), second.clone()].map(|project| {
        let repository = Repository::discover(&project, &fixture.data()).unwrap().unwrap();
        let path = repository.worktree_path(&session(), slot);
        repository.ensure(&session(), slot, &path).unwrap()
    });
    let [whole, part, other] = &ensured;
    for (one, another) in [(whole, part), (whole, other), (part, other)] {
        assert_ne!(one.top(), another.top());
    }
    assert_eq!(read(other.top(), "a").unwrap(), "second\n");
    assert_eq!(read(whole.top(), "a").unwrap(), lines("a"));
    // What is made in one of them is found there again, and goes into its own project only.
    write(other.top(), "made", "1\n");
    let found = other.repository().worktree(&session(), slot).unwrap().unwrap();
    assert_eq!(found.top(), other.top());
    assert!(matches!(found.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(read(&second, "made").unwrap(), "1\n");
    assert_eq!(fixture.read("made"), None);
    assert_eq!(whole.changes().unwrap().total + part.changes().unwrap().total, 0);
}
