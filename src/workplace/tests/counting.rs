//! How often git is started. A process costs milliseconds, and a run waits for all of them.

use super::*;

/// More backups than any of these tests makes, but for one.
const KEEP: usize = 20;

/// As a session does it before and after a run.
fn run(fixture: &Fixture, number: u64) -> (Worktree, Vec<String>) {
    let slot = AgentSlot::new(1).unwrap();
    let repository = fixture.repository();
    let kept = repository.ensure_backed_up(&session(), slot, &fixture.path(1), RunId(number));
    let (worktree, before) = kept.unwrap();
    let after = worktree.result().unwrap();
    let changes = worktree.repository().changes(&before, &after.tree).unwrap();
    worktree.repository().prune_backups(&session(), KEEP, Duration::from_secs(3_600)).unwrap();
    (worktree, told(&changes))
}

fn settle_both(fixture: &Fixture) {
    settle(&fixture.top());
    settle(&fixture.path(1));
}

/// Two runs: the first one makes the place, the second one looks at files that are old enough.
fn warm(fixture: &Fixture) {
    for number in 1..=2 {
        run(fixture, number);
        settle_both(fixture);
    }
}

#[test]
fn a_run_without_changes_starts_git_only_for_the_backup() {
    let without_git = || {
        let fixture = Fixture::new();
        fs::remove_dir_all(fixture.top().join(".git")).unwrap();
        fixture
    };
    let packed = || {
        let fixture = Fixture::new();
        fixture.git(&["gc", "-q", "--prune=now"]);
        fixture
    };
    for (what, fixture) in [("git", Fixture::new()), ("packs", packed()), ("none", without_git())] {
        warm(&fixture);
        for number in 3..KEEP as u64 + 5 {
            let (_, started) = started_by(|| run(&fixture, number));
            assert_eq!(started, ["commit-tree"], "{what}, run {number}");
        }
        // Old ones went without a process, too.
        assert_eq!(fixture.repository().backups(&session()).unwrap().len(), KEEP, "{what}");
    }
}

#[test]
fn a_project_below_its_repository_costs_no_more() {
    let fixture = Fixture::new();
    let discover = || Repository::discover(&fixture.top().join("src"), &fixture.data()).unwrap();
    // The first one writes settings of our own, the second one reads them.
    for _ in 0..2 {
        discover().unwrap();
    }
    let (found, started) = started_by(discover);
    assert_eq!(started, [""; 0]);
    assert_eq!(found.unwrap().prefix(), Path::new("src"));
    fixture.git(&["rm", "-q", "-r", "--cached", "src"]);
    assert_eq!(discover().unwrap().prefix(), Path::new(""));
}

#[test]
fn every_change_is_found_and_costs_a_bounded_number() {
    let fixture = Fixture::new();
    warm(&fixture);
    let in_copy = fixture.path(1);
    let mut number = 2;
    // How often git was started, and what the run began with.
    let mut next = || {
        number += 1;
        let (_, started) = started_by(|| run(&fixture, number));
        settle_both(&fixture);
        let name = format!("{}-{number}", session());
        let backups = fixture.repository().backups(&session()).unwrap();
        let backup = backups.into_iter().find(|backup| backup.name == name).unwrap();
        (started.len(), backup.tree)
    };
    let changes: [&dyn Fn(); 5] = [
        &|| write(&in_copy, "a", "another\n"),
        &|| write(&in_copy, "deep/new", "new\n"),
        &|| fs::remove_file(in_copy.join("b")).unwrap(),
        &|| write(&in_copy, ".gitignore", "deep\n"),
        &|| fs::set_permissions(in_copy.join("a"), fs::Permissions::from_mode(0o755)).unwrap(),
    ];
    let mut trees = Vec::new();
    for change in changes {
        change();
        let (started, tree) = next();
        assert!(started <= 14, "{started}");
        // The files were too young to be remembered.
        let (started, same) = next();
        assert!(started <= 4 && same == tree, "{started}");
        assert_eq!(next(), (1, tree.clone()));
        trees.push(tree);
    }
    let count = trees.len();
    trees.dedup();
    assert_eq!(trees.len(), count);
}

#[test]
fn what_the_user_changes_reaches_a_warm_copy() {
    let fixture = Fixture::new();
    warm(&fixture);
    let time = fixture.top().join("a").metadata().unwrap().modified().unwrap();
    let text = lines("a").replace("a 1\n", "b 1\n");
    fixture.write("a", &text);
    // As a tool does it that keeps times; the size is the same, too.
    let file = fs::File::options().write(true).open(fixture.top().join("a")).unwrap();
    file.set_modified(time).unwrap();
    let (worktree, _) = run(&fixture, 9);
    assert_eq!(read(worktree.top(), "a"), Some(text));
}

#[test]
fn a_snapshot_that_is_gone_is_made_again() {
    let fixture = Fixture::new();
    warm(&fixture);
    let (worktree, _) = run(&fixture, 9);
    let repository = fixture.repository();
    repository.forget(&[worktree.last_name()]).unwrap();
    let (result, started) = started_by(|| worktree.result().unwrap());
    assert!(started.contains(&"write-tree"), "{started:?}");
    assert_eq!(repository.kept_one(&worktree.last_name()).unwrap().unwrap().commit, result.commit);
}

#[test]
fn refs_that_somebody_has_packed_are_found_and_removed() {
    let fixture = Fixture::new();
    warm(&fixture);
    let repository = fixture.repository();
    let own = repository.private().git_dir();
    git(&own, &["--git-dir", ".", "pack-refs", "--all"]);
    assert_eq!(repository.backups(&session()).unwrap().len(), 2);
    run(&fixture, 3);
    repository.forget(&[format!("backup/{}-1", session())]).unwrap();
    let names: Vec<_> =
        repository.backups(&session()).unwrap().into_iter().map(|backup| backup.name).collect();
    assert_eq!(names, [2, 3].map(|run| format!("{}-{run}", session())));
}
