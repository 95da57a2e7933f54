//! Backups: kept by git, had again by file or whole, and gone with their session.

use super::*;
use crate::message::BackupReason;

#[test]
fn a_backup_brings_back_one_file_or_everything() {
    let fixture = Fixture::new();
    fixture.write("untracked", "1\n");
    let repository = fixture.repository();
    let (backup, _) = repository.back_up(Place::Project, &session(), RunId(7)).unwrap();
    assert_eq!(backup.name, format!("{}-7", session()));
    fixture.write("a", "broken\n");
    fixture.remove("untracked");
    fixture.remove("src/deep/c");
    fixture.write("later", "1\n");
    let one = repository.restore(Place::Project, &session(), &backup.name, Some("untracked"));
    assert_eq!(told(&one.unwrap().changes), ["A untracked +1 -0"]);
    assert_eq!(fixture.read("untracked").unwrap(), "1\n");
    assert_eq!(fixture.read("a").unwrap(), "broken\n");
    let before = fixture.traces();
    let all = repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(told(&all.changes), ["M a +10 -1", "D later +0 -1", "A src/deep/c +10 -0"]);
    assert_eq!(files(&fixture.top()), ["a", "b", "src/deep/c", "untracked"]);
    assert_eq!(fixture.traces().0, before.0);
    // What was there was backed up first.
    let undo = all.backup.unwrap();
    assert_eq!(undo.reason, BackupReason::Restore);
    repository.restore(Place::Project, &session(), &undo.name, None).unwrap();
    assert_eq!(fixture.read("a").unwrap(), "broken\n");
    assert_eq!(fixture.read("later").unwrap(), "1\n");
}

#[test]
fn what_no_backup_holds_is_refused() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let (backup, _) = repository.back_up(Place::Project, &session(), RunId(1)).unwrap();
    let restore = |session: &SessionId, name: &str, path: Option<&str>| {
        repository
            .restore(Place::Project, session, name, path)
            .map(|restored| restored.changes.total)
    };
    let unknown = restore(&session(), "nothing", None);
    assert_eq!(unknown, Err(GitError::NoSuchBackup));
    let another = restore(&SessionId::from_random(2), &backup.name, None);
    assert_eq!(another, Err(GitError::NoSuchBackup));
    // A directory is no file, and what git would take as a pattern is only a name.
    for path in [
        "nothing",
        "../a",
        "/etc/passwd",
        ".git/config",
        "",
        ".",
        "./a",
        "src",
        "src/",
        "src/deep",
        "*",
        ":/",
        ":(glob)**",
        "-r",
        "a\0b",
    ] {
        let missing = restore(&session(), &backup.name, Some(path));
        assert_eq!(missing, Err(GitError::NoSuchFile { path: path.to_owned() }), "{path:?}");
    }
    for name in ["", "../1", &format!("{}-", session()), &format!("{}-1/../1", session()), "HEAD"] {
        assert_eq!(restore(&session(), name, None), Err(GitError::NoSuchBackup), "{name}");
    }
    // Neither the agent's place nor the project is made of the other's backup.
    let worktree = fixture.ensure(1);
    let place = Place::Worktree(&worktree);
    let (own, _) = repository.back_up(place, &session(), RunId(2)).unwrap();
    let crossed = repository.restore(place, &session(), &backup.name, None);
    assert_eq!(crossed, Err(GitError::NoSuchBackup));
    assert_eq!(restore(&session(), &own.name, None), Err(GitError::NoSuchBackup));
    assert_eq!(restore(&session(), &backup.name, Some("a")), Ok(0));
}

#[test]
fn backups_are_kept_through_a_gc_and_listed_with_what_they_are() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let worktree = fixture.ensure(2);
    fixture.write("only/here", "1\n");
    repository.back_up(Place::Project, &session(), RunId(1)).unwrap();
    write(worktree.top(), "only/there", "1\n");
    repository.back_up(Place::Worktree(&worktree), &session(), RunId(2)).unwrap();
    repository.back_up(Place::Project, &SessionId::from_random(9), RunId(3)).unwrap();
    worktree.discard().unwrap();
    fs::remove_dir_all(fixture.top().join("only")).unwrap();
    rewrite_history(&fixture);
    let backups = repository.backups(&session()).unwrap();
    let seen: Vec<_> = backups.iter().map(|backup| (backup.reason, backup.slot)).collect();
    let two = AgentSlot::new(2);
    let expected = [
        (BackupReason::Run(RunId(1)), None),
        (BackupReason::Run(RunId(2)), two),
        (BackupReason::Discard, two),
    ];
    assert_eq!(seen, expected);
    repository.restore(Place::Project, &session(), &backups[0].name, None).unwrap();
    repository.restore(Place::Worktree(&worktree), &session(), &backups[1].name, None).unwrap();
    assert_eq!(fixture.read("only/here").unwrap(), "1\n");
    assert_eq!(read(worktree.top(), "only/there").unwrap(), "1\n");
}

/// The user's repository has nothing any more of what it had.
fn rewrite_history(fixture: &Fixture) {
    let earlier = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["checkout", "-q", "--orphan", "other"]);
    fixture.git(&["rm", "-r", "-f", "-q", "--cached", "."]);
    fixture.write("another", "project\n");
    fixture.git(&["add", "another"]);
    fixture.git(&["commit", "-q", "-m", "another"]);
    fixture.git(&["branch", "-q", "-D", "main"]);
    fixture.git(&["reflog", "expire", "--expire=now", "--all"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    assert!(!try_git(&fixture.top(), &["cat-file", "-e", earlier.trim()]).status.success());
}

#[test]
fn nothing_that_is_kept_needs_the_users_repository() {
    let fixture = Fixture::new();
    fixture.write("a", "before\n");
    let repository = fixture.repository();
    let (idle, worktree) = (fixture.ensure(2), fixture.ensure(1));
    write(worktree.top(), "a", "mine\n");
    let Accepted::Project { backup, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    write(worktree.top(), "b", "more\n");
    rewrite_history(&fixture);
    // What was not accepted, what is compared and what is undone.
    assert_eq!(told(&worktree.changes().unwrap()), ["M b +1 -10"]);
    let result = worktree.result().unwrap();
    let diff = repository.diff(&worktree.base().unwrap().1, &result.tree, None).unwrap();
    assert!(diff.text.contains("-b 1\n"), "{}", diff.text);
    repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(fixture.read("a").unwrap(), "before\n");
    assert_eq!(fixture.read("src/deep/c").unwrap(), lines("src/deep/c"));
    // Git works in the copies again, whatever they were made of.
    for top in [fixture.ensure(1).top(), fixture.ensure(2).top()] {
        git(top, &["commit", "-q", "-a", "--allow-empty", "-m", "mine"]);
        assert!(git(top, &["log", "-p"]).contains("mine"));
        git(top, &["fsck", "--no-dangling"]);
    }
    assert_eq!(told(&worktree.changes().unwrap()), ["M b +1 -10"]);
    worktree.discard().unwrap();
    assert_eq!(read(worktree.top(), "b").unwrap(), lines("b"));
    drop(idle);
}

#[test]
fn what_nobody_needs_any_more_goes_and_the_rest_stays() {
    let fixture = Fixture::new();
    let (repository, worktree) = (fixture.repository(), fixture.ensure(1));
    let objects = repository.private().objects();
    for number in 0..2_100 {
        write(worktree.top(), format!("many/{number}"), format!("{number}\n"));
    }
    worktree.result().unwrap();
    fs::remove_dir_all(worktree.top().join("many")).unwrap();
    write(worktree.top(), "a", "mine\n");
    let (backup, _) = repository.back_up(Place::Worktree(&worktree), &session(), RunId(1)).unwrap();
    let count = || files(&objects).len();
    assert!(count() > 2_000);
    // Young objects stay.
    repository.prune(|_| true).unwrap();
    assert!(count() > 2_000);
    for path in files(&objects) {
        let path = objects.join(path);
        let mode = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::File::open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        fs::set_permissions(&path, mode).unwrap();
    }
    repository.prune(|_| true).unwrap();
    assert!(count() < 30, "{:?}", files(&objects));
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -10"]);
    worktree.discard().unwrap();
    let place = Place::Worktree(&worktree);
    repository.restore(place, &session(), &backup.name, None).unwrap();
    assert_eq!(read(worktree.top(), "a").unwrap(), "mine\n");
}

#[test]
fn an_accept_can_be_undone_and_the_work_is_still_there_to_accept() {
    let fixture = Fixture::new();
    let (repository, worktree) = (fixture.repository(), fixture.ensure(1));
    write(worktree.top(), "a", "better\n");
    let Accepted::Project { backup, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    assert_eq!(fixture.read("a").unwrap(), "better\n");
    let undone = repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(told(&undone.changes), ["M a +10 -1"]);
    assert_eq!(fixture.read("a").unwrap(), lines("a"));
    // The worktree went on from what was accepted, so nothing in it is the agent's any more.
    assert_eq!(worktree.changes().unwrap().total, 0);
    let backups = repository.backups(&session()).unwrap();
    let of_work = |backup: &&Backup| {
        backup.reason == BackupReason::Accept && backup.slot == Some(worktree.slot())
    };
    let work = backups.iter().find(of_work).unwrap();
    let place = Place::Worktree(&worktree);
    let back = repository.restore(place, &session(), &work.name, None).unwrap();
    assert_eq!((back.changes.total, back.backup.is_some()), (0, true));
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -10"]);
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(fixture.read("a").unwrap(), "better\n");
}

#[test]
fn a_restore_that_is_in_the_way_of_something_changes_nothing() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "build\n");
    fixture.write("build", "ignored since\n");
    fixture.git(&["add", "-f", "build"]);
    let repository = fixture.repository();
    let (backup, _) = repository.back_up(Place::Project, &session(), RunId(1)).unwrap();
    fixture.git(&["rm", "-q", "--cached", "build"]);
    fixture.write("build", "of somebody else\n");
    fixture.write("a", "broken\n");
    let refused = repository.restore(Place::Project, &session(), &backup.name, None).unwrap_err();
    assert_eq!(refused, GitError::PlaceChanged { paths: vec!["build".to_owned()] });
    assert_eq!(fixture.read("a").unwrap(), "broken\n");
    assert_eq!(fixture.read("build").unwrap(), "of somebody else\n");
}

#[test]
fn projects_of_one_repository_have_their_own_backups() {
    let fixture = Fixture::new();
    let whole = fixture.repository();
    let part = Repository::discover(&fixture.top().join("src"), &fixture.data()).unwrap().unwrap();
    whole.back_up(Place::Project, &session(), RunId(1)).unwrap();
    part.back_up(Place::Project, &session(), RunId(2)).unwrap();
    let runs = |repository: &Repository| {
        let backups = repository.backups(&session()).unwrap();
        backups.into_iter().map(|backup| backup.reason).collect::<Vec<_>>()
    };
    assert_eq!(runs(&whole), [BackupReason::Run(RunId(1))]);
    assert_eq!(runs(&part), [BackupReason::Run(RunId(2))]);
    let name = format!("{}-1", session());
    let crossed = part.restore(Place::Project, &session(), &name, None);
    assert_eq!(crossed, Err(GitError::NoSuchBackup));
}

#[test]
fn too_many_and_too_old_ones_go() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    for run in 1..=5 {
        repository.back_up(Place::Project, &session(), RunId(run)).unwrap();
    }
    let (day, names) = (Duration::from_secs(86_400), || {
        let backups = repository.backups(&session()).unwrap();
        backups.into_iter().map(|backup| backup.reason).collect::<Vec<_>>()
    });
    assert_eq!(repository.prune_backups(&session(), 2, day), Ok(3));
    assert_eq!(names(), [BackupReason::Run(RunId(4)), BackupReason::Run(RunId(5))]);
    assert_eq!(repository.prune_backups(&session(), 2, day), Ok(0));
    assert_eq!(repository.prune_backups(&session(), 2, Duration::ZERO), Ok(2));
    assert_eq!(names(), []);
}

/// Commits are dated in whole seconds, and as texts `-10` comes before `-9`.
#[test]
fn of_the_backups_of_one_second_those_of_the_newest_runs_stay() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    for run in 8..=11 {
        repository.back_up(Place::Project, &session(), RunId(run)).unwrap();
    }
    let runs = || {
        let backups = repository.backups(&session()).unwrap();
        backups.into_iter().map(|backup| backup.reason).collect::<Vec<_>>()
    };
    assert_eq!(runs(), [8, 9, 10, 11].map(|run| BackupReason::Run(RunId(run))));
    assert_eq!(repository.prune_backups(&session(), 2, Duration::from_secs(86_400)), Ok(2));
    assert_eq!(runs(), [10, 11].map(|run| BackupReason::Run(RunId(run))));
}

#[test]
fn a_session_goes_with_all_it_had_and_others_stay() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let other = SessionId::from_random(2);
    let (one, two) = (fixture.ensure(1), fixture.ensure(2));
    let path = fixture.data().join("worktrees/two/1");
    let kept = repository.ensure(&other, AgentSlot::new(1).unwrap(), &path).unwrap();
    for session in [&session(), &other] {
        repository.back_up(Place::Project, session, RunId(1)).unwrap();
    }
    // An agent cannot keep its worktree from being removed.
    let closed = one.top().join("closed");
    write(&closed, "x", "1");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    repository.remove_session(&session()).unwrap();
    repository.remove_session(&session()).unwrap();
    assert!(!one.top().exists() && !two.top().exists());
    assert!(kept.top().join("a").exists());
    let refs: Vec<_> = repository.kept("").unwrap().into_iter().map(|kept| kept.name).collect();
    assert_eq!(refs.iter().filter(|name| name.contains(other.as_str())).count(), 2);
    assert!(!refs.iter().any(|name| name.contains(session().as_str())), "{refs:?}");
    let notes = files(&fixture.data().join("workplace"));
    assert!(!notes.iter().any(|path| path.contains(session().as_str())), "{notes:?}");
}

#[test]
fn only_this_gateways_lost_sessions_are_swept() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let (gone, alive) = (SessionId::from_random(2), session());
    let elsewhere = fixture.dir.path().join("other-data");
    fs::create_dir(&elsewhere).unwrap();
    let theirs = Repository::discover(&fixture.top(), &elsewhere).unwrap().unwrap();
    let foreign = SessionId::from_random(3);
    theirs.back_up(Place::Project, &foreign, RunId(1)).unwrap();
    let worktree = fixture.ensure(1);
    let path = fixture.data().join("worktrees/gone/1");
    repository.ensure(&gone, AgentSlot::new(1).unwrap(), &path).unwrap();
    repository.back_up(Place::Project, &gone, RunId(1)).unwrap();
    repository.back_up(Place::Project, &alive, RunId(1)).unwrap();
    repository.prune(|session| *session == alive).unwrap();
    assert!(worktree.top().exists() && !path.exists());
    assert!(repository.backups(&gone).unwrap().is_empty());
    assert_eq!(repository.backups(&alive).unwrap().len(), 1);
    assert_eq!(theirs.backups(&foreign).unwrap().len(), 1);
}

#[test]
fn a_lock_of_somebody_else_is_waited_for_and_then_told() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let refs = repository.private().git_dir().join("refs/kakehashi/backup");
    let lock = refs.join(format!("{}-1.lock", session()));
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let refused = repository.back_up(Place::Project, &session(), RunId(1)).unwrap_err();
    assert_eq!(refused, GitError::Locked { lock: lock.display().to_string() });
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| repository.back_up(Place::Project, &session(), RunId(1)));
        fs::remove_file(&lock).unwrap();
        assert!(waiting.join().unwrap().is_ok());
    });
}

#[test]
fn a_session_whose_project_is_gone_leaves_nothing_in_the_data_directory() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let repository = fixture.repository();
    let other = SessionId::from_random(2);
    let path = repository.worktree_path(&other, worktree.slot());
    repository.ensure(&other, worktree.slot(), &path).unwrap();
    fs::remove_dir_all(fixture.top()).unwrap();
    super::super::remove_leftovers(&fixture.data(), &session()).unwrap();
    super::super::remove_leftovers(&fixture.data(), &session()).unwrap();
    assert!(!worktree.top().exists() && path.join("a").exists());
    let notes = files(&fixture.data().join("workplace"));
    assert!(!notes.iter().any(|path| path.contains(session().as_str())), "{notes:?}");
}

/// Accepted, undone on both sides, and accepted again, while the user goes on.
#[test]
fn a_result_that_was_taken_back_looks_to_its_agent_as_it_did() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let changed = lines("a").replace("a 10", "agent");
    write(worktree.top(), "a", &changed);
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    fixture.write("b", "the user's\n");
    let repository = fixture.repository();
    let backups = repository.backups(&session()).unwrap();
    let of = |slot: Option<AgentSlot>| backups.iter().find(|one| one.slot == slot).unwrap();
    repository.restore(Place::Project, &session(), &of(None).name, Some("a")).unwrap();
    assert_eq!(fixture.read("a").unwrap(), lines("a"));
    let place = Place::Worktree(&worktree);
    repository.restore(place, &session(), &of(Some(worktree.slot())).name, None).unwrap();
    // What git tells the agent is what is told of it.
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -1"]);
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), " M a\n");
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(
        (fixture.read("a").unwrap(), fixture.read("b").unwrap()),
        (changed, "the user's\n".to_owned())
    );
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
}
