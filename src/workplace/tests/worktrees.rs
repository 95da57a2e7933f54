//! A worktree's life: made, found again, brought up to date, repaired, thrown away.

use super::*;
use rustix::fs::{CWD, Mode, mkfifoat};

#[test]
fn a_worktree_begins_with_the_project_as_it_is() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "ignored\n");
    fixture.write("a", "changed\n");
    fixture.write("new", "new\n");
    fixture.write("ignored", "1");
    fixture.remove("b");
    symlink("/etc/passwd", fixture.top().join("link")).unwrap();
    fs::set_permissions(fixture.top().join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = fixture.traces();
    let worktree = fixture.ensure(1);
    assert_eq!(fixture.traces(), before);
    assert_eq!(files(worktree.top()), [".gitignore", "a", "link", "new", "src/deep/c"]);
    assert_eq!(read(worktree.top(), "a").unwrap(), "changed\n");
    assert_eq!(fs::read_link(worktree.top().join("link")).unwrap(), Path::new("/etc/passwd"));
    let mode = fs::metadata(worktree.top().join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
    assert_eq!(git(worktree.top(), &["rev-parse", "HEAD~1"]), fixture.git(&["rev-parse", "HEAD"]));
    // Nothing of it is in the user's repository.
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(fixture.git(&["for-each-ref", "refs/kakehashi"]), "");
}

#[test]
fn without_uncommitted_work_its_head_is_the_users() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    assert_eq!(git(worktree.top(), &["rev-parse", "HEAD"]), fixture.git(&["rev-parse", "HEAD"]));
    // As text: two paths are the same with and without a slash at the end, but not to agents.
    assert_eq!(worktree.place().as_os_str(), worktree.top().as_os_str());
}

#[test]
fn what_an_agent_commits_and_what_it_does_not_is_its_result() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", "committed\n");
    write(worktree.top(), "new", "new\n");
    git(worktree.top(), &["add", "-A"]);
    git(worktree.top(), &["commit", "-q", "-m", "mine"]);
    write(worktree.top(), "b", "staged\n");
    git(worktree.top(), &["add", "b"]);
    write(worktree.top(), "new", "changed again\n");
    let expected = ["M a +1 -10", "M b +1 -10", "A new +1 -0"];
    assert_eq!(told(&worktree.changes().unwrap()), expected);
    let again = fixture.ensure(1);
    assert_eq!(told(&again.changes().unwrap()), expected);
    assert_eq!(git(worktree.top(), &["log", "-1", "--format=%s"]), "mine\n");
}

#[test]
fn one_without_changes_follows_the_project_and_one_with_changes_does_not() {
    let fixture = Fixture::new();
    let (idle, busy) = (fixture.ensure(1), fixture.ensure(2));
    write(idle.top(), "ignored.o", "built");
    fixture.write(".gitignore", "*.o\n");
    write(busy.top(), "a", "mine\n");
    fixture.write("b", "moved on\n");
    fixture.remove("src/deep/c");
    fixture.commit("second");
    fixture.write("late", "not committed\n");
    // The first time the object file is not ignored yet, and that is a change.
    fs::remove_file(idle.top().join("ignored.o")).unwrap();
    fixture.ensure(1);
    write(idle.top(), "ignored.o", "built");
    fixture.write("later", "1\n");
    fixture.ensure(1);
    fixture.ensure(2);
    assert_eq!(files(idle.top()), [".gitignore", "a", "b", "ignored.o", "late", "later"]);
    assert_eq!(read(idle.top(), "b").unwrap(), "moved on\n");
    assert_eq!(git(idle.top(), &["status", "--porcelain"]), "");
    assert_eq!(read(busy.top(), "b").unwrap(), lines("b"));
    assert_eq!(told(&busy.changes().unwrap()), ["M a +1 -10"]);
}

#[test]
fn named_ignored_files_are_copied_and_nothing_else() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", ".env*\nnode_modules\n*.key\n");
    fixture.write(".worktreeinclude", "# secrets that builds need\n.env\n/conf/*.key\n");
    fixture.write(".env", "A=1");
    fixture.write(".env.local", "B=1");
    fixture.write("conf/x.key", "k");
    fixture.write("conf/sub/.env", "C=1");
    fixture.write("node_modules/x", "1");
    let worktree = fixture.ensure(1);
    let copied: Vec<_> =
        files(worktree.top()).into_iter().filter(|path| path.contains('.')).collect();
    assert_eq!(copied, [".env", ".gitignore", ".worktreeinclude", "conf/sub/.env", "conf/x.key"]);
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
}

#[test]
fn only_a_regular_file_names_what_is_copied() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", ".env\n");
    fixture.write(".env", "A=1");
    let (patterns, elsewhere) =
        (fixture.top().join(".worktreeinclude"), fixture.dir.path().join("elsewhere"));
    fs::write(&elsewhere, ".env\n").unwrap();
    symlink(&elsewhere, &patterns).unwrap();
    assert!(!fixture.ensure(1).top().join(".env").exists());
    fs::remove_file(&patterns).unwrap();
    mkfifoat(CWD, &patterns, Mode::RWXU).unwrap();
    assert!(!fixture.ensure(2).top().join(".env").exists());
    fs::remove_file(&patterns).unwrap();
    fs::rename(&elsewhere, &patterns).unwrap();
    let top = fixture.ensure(3).top().to_owned();
    assert_eq!(fs::read_to_string(top.join(".env")).unwrap(), "A=1");
    // Nothing is left of what git needed for that.
    let indexes = fixture.repository().private().index("");
    let names = fs::read_dir(indexes).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.into_iter().any(|name| name.as_bytes().starts_with(b"once-")));
}

#[test]
fn a_worktree_that_was_removed_or_pruned_is_made_anew() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    fs::remove_dir_all(worktree.top()).unwrap();
    assert_eq!(worktree.changes(), Err(GitError::WorktreeGone));
    assert!(fixture.ensure(1).is_fresh() && !fixture.ensure(1).is_fresh());
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
    // Only its repository.
    write(worktree.top(), "a", "mine\n");
    fs::remove_dir_all(worktree.top().join(".git")).unwrap();
    let again = fixture.ensure(1);
    assert!(again.is_fresh());
    assert_eq!(told(&again.changes().unwrap()), ["M a +1 -10"]);
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), " M a\n");
    // Only our own index.
    let index = fixture.repository().private().index(&worktree.name());
    fs::remove_file(&index).unwrap();
    assert_eq!(told(&again.changes().unwrap()), ["M a +1 -10"]);
    fs::write(&index, "nonsense").unwrap();
    assert_eq!(told(&again.changes().unwrap()), ["M a +1 -10"]);
}

#[test]
fn a_creation_that_was_cut_off_is_done_again() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let state = fixture.repository().private().state(&worktree.name());
    let mut cut_off = b"begun\n".to_vec();
    cut_off.extend_from_slice(worktree.top().as_os_str().as_bytes());
    fs::write(&state, cut_off).unwrap();
    fs::remove_file(worktree.top().join("a")).unwrap();
    write(worktree.top(), "half", "1");
    let lock = fixture.repository().private().index(&format!("{}.lock", worktree.name()));
    fs::write(lock, "").unwrap();
    fs::write(worktree.top().join(".git/index.lock"), "").unwrap();
    assert!(fixture.repository().worktree(&session(), worktree.slot()).unwrap().is_none());
    fixture.ensure(1);
    assert_eq!(files(worktree.top()), ["a", "b", "src/deep/c"]);
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
}

#[test]
fn what_is_not_ours_is_never_overwritten() {
    let fixture = Fixture::new();
    write(&fixture.path(1), "precious", "1");
    let (repository, slot) = (fixture.repository(), AgentSlot::new(1).unwrap());
    let refused = repository.ensure(&session(), slot, &fixture.path(1)).unwrap_err();
    assert_eq!(refused, GitError::NotOurs { path: fixture.path(1).display().to_string() });
    repository.remove_session(&session()).unwrap();
    assert_eq!(files(&fixture.path(1)), ["precious"]);
}

#[test]
fn many_at_once_get_their_own() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for slot in 1..=4 {
            let fixture = &fixture;
            scope.spawn(move || {
                for number in 2..4 {
                    let session = SessionId::from_random(number);
                    let path = fixture.data().join(format!("worktrees/{number}/{slot}"));
                    let repository = fixture.repository();
                    let slot = AgentSlot::new(slot).unwrap();
                    let worktree = repository.ensure(&session, slot, &path).unwrap();
                    write(worktree.top(), "a", format!("{number} {}\n", slot.number()));
                    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -10"]);
                }
            });
        }
    });
    assert_eq!(fixture.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_discarded_result_is_gone_and_can_be_had_again() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "*.o\n");
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", "mine\n");
    write(worktree.top(), "dir/new", "new\n");
    write(worktree.top(), "x.o", "built");
    fs::remove_dir_all(worktree.top().join("src")).unwrap();
    git(worktree.top(), &["add", "-A"]);
    git(worktree.top(), &["commit", "-q", "-m", "mine"]);
    fixture.write("b", "moved on\n");
    let Discarded { backup, fresh, left_out } = worktree.discard().unwrap();
    assert!(!fresh && left_out.is_empty());
    assert_eq!(files(worktree.top()), [".gitignore", "a", "b", "src/deep/c", "x.o"]);
    assert!(!worktree.top().join("dir").exists());
    assert_eq!(read(worktree.top(), "b").unwrap(), "moved on\n");
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
    let place = Place::Worktree(&worktree);
    worktree.repository().restore(place, &session(), &backup.name, None).unwrap();
    assert_eq!(read(worktree.top(), "a").unwrap(), "mine\n");
    assert_eq!(read(worktree.top(), "dir/new").unwrap(), "new\n");
    assert_eq!(read(worktree.top(), "src/deep/c"), None);
}

#[test]
fn an_ignored_file_in_the_way_costs_a_new_worktree_and_nothing_else() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "gen\n");
    let worktree = fixture.ensure(1);
    write(worktree.top(), "gen/deep", "built");
    fixture.write("gen", "now a source\n");
    fixture.git(&["add", "-f", "gen"]);
    assert!(fixture.ensure(1).is_fresh());
    assert_eq!(read(worktree.top(), "gen").unwrap(), "now a source\n");
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
}

#[test]
fn many_files_are_no_problem() {
    let fixture = Fixture::new();
    for number in 0..5_000 {
        fixture.write(format!("d{}/{number}", number % 50), format!("{number}\n"));
    }
    fixture.commit("many");
    let worktree = fixture.ensure(1);
    assert_eq!(files(worktree.top()).len(), 5_003);
    write(worktree.top(), "d7/7", "changed\n");
    assert_eq!(told(&worktree.changes().unwrap()), ["M d7/7 +1 -1"]);
    let Accepted::Project { changes, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    assert_eq!(told(&changes), ["M d7/7 +1 -1"]);
    assert_eq!(fixture.git(&["status", "--porcelain"]), " M d7/7\n");
}

#[test]
fn a_data_directory_can_be_moved_and_a_worktree_too() {
    let fixture = Fixture::new();
    let (repository, slot) = (fixture.repository(), AgentSlot::new(1).unwrap());
    let path = repository.worktree_path(&session(), slot);
    let worktree = repository.ensure(&session(), slot, &path).unwrap();
    write(worktree.top(), "a", "mine\n");
    let moved = fixture.dir.path().join("moved-data");
    fs::rename(fixture.data(), &moved).unwrap();
    let repository = Repository::discover(&fixture.top(), &moved).unwrap().unwrap();
    let path = repository.worktree_path(&session(), slot);
    let worktree = repository.ensure(&session(), slot, &path).unwrap();
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -10"]);
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), " M a\n");
    // Asked for elsewhere, it is made there, but never over something that is there.
    let elsewhere = moved.join("elsewhere");
    write(&elsewhere, "precious", "1");
    let refused = repository.ensure(&session(), slot, &elsewhere).unwrap_err();
    assert!(matches!(refused, GitError::NotOurs { .. }), "{refused:?}");
    fs::remove_file(elsewhere.join("precious")).unwrap();
    assert!(repository.ensure(&session(), slot, &elsewhere).unwrap().is_fresh());
    assert!(!path.exists());
}

#[test]
fn a_session_that_changes_its_project_finds_its_work_again() {
    let (one, two) = (Fixture::new(), Fixture::new());
    let slot = AgentSlot::new(1).unwrap();
    let place = |project: &Fixture| {
        let repository = Repository::discover(&project.top(), &one.data()).unwrap().unwrap();
        let path = repository.worktree_path(&session(), slot);
        repository.ensure(&session(), slot, &path).unwrap()
    };
    write(place(&one).top(), "a", "mine\n");
    let second = place(&two);
    assert!(second.is_fresh());
    assert_eq!(told(&second.changes().unwrap()), Vec::<String>::new());
    let first = place(&one);
    assert!(!first.is_fresh());
    assert_eq!(told(&first.changes().unwrap()), ["M a +1 -10"]);
}

#[test]
fn an_agent_has_all_of_git_and_the_user_sees_nothing_of_it() {
    let fixture = Fixture::new();
    fixture.write("b", "not committed\n");
    let before = fixture.traces();
    let users = files(&fixture.top().join(".git"));
    let worktree = fixture.ensure(1);
    let top = worktree.top();
    write(top, "a", "stashed\n");
    git(top, &["stash", "-q"]);
    assert_eq!(read(top, "a").unwrap(), lines("a"));
    git(top, &["checkout", "-q", "-b", "idea"]);
    write(top, "new", "1\n");
    git(top, &["add", "-A"]);
    git(top, &["commit", "-q", "-m", "an idea"]);
    git(top, &["tag", "v1"]);
    git(top, &["stash", "pop", "-q"]);
    git(top, &["gc", "-q", "--prune=now"]);
    git(top, &["fsck", "--no-dangling"]);
    // The history of the project is there, and what was not committed is the last commit of it.
    let log = git(top, &["log", "--format=%s"]);
    assert_eq!(log, "an idea\nbase\nfirst\n");
    assert_eq!(git(top, &["diff", "HEAD~2", "--stat", "--", "b"]).lines().count(), 2);
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -10", "A new +1 -0"]);
    // All of it is there in the next run.
    assert!(!fixture.ensure(1).is_fresh());
    assert_eq!(git(top, &["branch", "--show-current"]), "idea\n");
    assert_eq!(fixture.traces(), before);
    assert_eq!(files(&fixture.top().join(".git")), users);
}

/// A repository that borrows from others, as `git clone --shared` makes it.
#[test]
fn objects_of_a_shared_clone_are_found() {
    let (origin, middle) = (Fixture::new(), Fixture::empty());
    let clone = |from: &Path, to: &Path| {
        fs::remove_dir_all(to).unwrap();
        git(from, &["clone", "-q", "--shared", ".", to.to_str().unwrap()]);
    };
    clone(&origin.top(), &middle.top());
    let fixture = Fixture::empty();
    clone(&middle.top(), &fixture.top());
    let worktree = fixture.ensure(1);
    assert_eq!(read(worktree.top(), "a").unwrap(), lines("a"));
    assert_eq!(git(worktree.top(), &["log", "--format=%s"]), "first\n");
    let borrowed = worktree.borrowed_objects();
    for project in [&origin, &middle, &fixture] {
        assert!(borrowed.contains(&project.top().join(".git/objects")), "{borrowed:?}");
    }
}
