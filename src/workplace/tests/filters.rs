//! Files that a filter stores in another form, as Git LFS does. The filters are the user's, and we never run them.

use super::*;
use crate::message::BackupReason;

const REAL: &str = "real one\n";
const STORED: &str = "stored one\n";

/// A repository with `x.big`, which git stores as another text.
fn with_filter() -> Fixture {
    let fixture = Fixture::new();
    fixture.git(&["config", "filter.form.clean", "sed s/real/stored/"]);
    fixture.git(&["config", "filter.form.smudge", "sed s/stored/real/"]);
    fixture.git(&["config", "filter.form.required", "true"]);
    fixture.write(".gitattributes", "*.big filter=form\n");
    fixture.write("x.big", "real zero\n");
    fixture.commit("zero");
    write_old(&fixture, "x.big");
    fixture.commit("one");
    assert_eq!(fixture.git(&["show", "HEAD:x.big"]), STORED);
    fixture
}

/// Writes a file that is older than the index. Git and we would read a younger one to be sure.
fn write_old(fixture: &Fixture, path: &str) {
    write_old_content(fixture, path, REAL);
}

fn write_old_content(fixture: &Fixture, path: &str, content: &str) {
    fixture.write(path, content);
    let file = fs::File::options().write(true).open(fixture.top().join(path)).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
}

#[track_caller]
fn accept(worktree: &Worktree) -> (Vec<String>, Backup, Vec<String>) {
    let accepted = worktree.accept(&Target::Project).unwrap();
    let Accepted::Project { changes, backup, left_out } = accepted else {
        panic!("{accepted:?}");
    };
    (told(&changes), backup, left_out)
}

fn undo(fixture: &Fixture, backup: &Backup) -> Vec<String> {
    let restored =
        fixture.repository().restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(restored.left_out, [""; 0]);
    told(&restored.changes)
}

#[test]
fn an_undo_brings_the_real_file_back_and_not_its_stored_form() {
    let fixture = with_filter();
    let worktree = fixture.ensure(1);
    assert_eq!(read(worktree.top(), "x.big").unwrap(), STORED);
    write(worktree.top(), "x.big", "of the agent\n");
    let (changes, backup, _) = accept(&worktree);
    assert_eq!(changes, ["M x.big +1 -1"]);
    assert_eq!(fixture.read("x.big").unwrap(), "of the agent\n");
    assert_eq!(undo(&fixture, &backup), ["M x.big +1 -1"]);
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
    // For us nothing has changed, also before the user's git has looked.
    let repository = fixture.repository();
    let now = repository.snapshot(Place::Project).unwrap();
    assert_eq!(now.tree, repository.head().unwrap().unwrap().1);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    // The work is there to be accepted again.
    let backups = repository.backups(&session()).unwrap();
    let own = backups.iter().find(|backup| backup.slot.is_some()).unwrap();
    repository.restore(Place::Worktree(&worktree), &session(), &own.name, None).unwrap();
    accept(&worktree);
    assert_eq!(fixture.read("x.big").unwrap(), "of the agent\n");
}

#[test]
fn a_file_that_was_removed_or_moved_keeps_its_real_content() {
    let fixture = with_filter();
    let worktree = fixture.ensure(1);
    fs::remove_file(worktree.top().join("x.big")).unwrap();
    let (_, backup, _) = accept(&worktree);
    assert_eq!(fixture.read("x.big"), None);
    assert_eq!(undo(&fixture, &backup), ["A x.big +1 -0"]);
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
    fixture.git(&["status"]);
    let worktree = fixture.ensure(1);
    fs::create_dir(worktree.top().join("moved")).unwrap();
    fs::rename(worktree.top().join("x.big"), worktree.top().join("moved/y.big")).unwrap();
    accept(&worktree);
    assert_eq!((fixture.read("x.big"), fixture.read("moved/y.big")), (None, Some(REAL.to_owned())));
}

#[test]
fn a_run_in_the_project_is_undone_with_real_contents() {
    let fixture = with_filter();
    fixture.write("b", "another\n");
    let repository = fixture.repository();
    for run in [1, 2] {
        let (backup, before) = repository.back_up(Place::Project, &session(), RunId(run)).unwrap();
        // What has changed is still told by what git stores.
        assert_eq!(repository.snapshot(Place::Project).unwrap().tree, before.tree);
        fixture.write("x.big", "of the agent\n");
        fixture.write("b", "of the agent\n");
        assert_eq!(undo(&fixture, &backup), ["M b +1 -1", "M x.big +1 -1"], "{run}");
        assert_eq!(fixture.read("x.big").unwrap(), REAL, "{run}");
        assert_eq!(fixture.read("b").unwrap(), "another\n", "{run}");
    }
}

#[test]
fn a_stored_form_never_overwrites_a_file() {
    let fixture = with_filter();
    let worktree = fixture.ensure(1);
    // As `git checkout HEAD~ -- x.big` does it in the copy, where there is no filter.
    write(worktree.top(), "x.big", "stored zero\n");
    write(worktree.top(), "b", "of the agent\n");
    let (changes, _, left_out) = accept(&worktree);
    assert_eq!((changes, left_out), (vec!["M b +1 -10".to_owned()], vec!["x.big".to_owned()]));
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
}

#[test]
fn files_of_a_project_below_its_repository_have_real_contents_too() {
    let fixture = with_filter();
    write_old(&fixture, "src/x.big");
    fixture.commit("below");
    let project = fixture.top().join("src");
    let repository = Repository::discover(&project, &fixture.data()).unwrap().unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    write(&worktree.place(), "x.big", "of the agent\n");
    let (changes, backup, _) = accept(&worktree);
    assert_eq!(changes, ["M x.big +1 -1"]);
    repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(fixture.read("src/x.big").unwrap(), REAL);
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
}

#[test]
fn an_earlier_backup_has_real_contents_of_files_that_were_changed_later() {
    let fixture = with_filter();
    write_old_content(&fixture, "y.big", "real two\n");
    fixture.commit("two");
    let worktree = fixture.ensure(1);
    write(worktree.top(), "x.big", "of the agent\n");
    let (_, first, _) = accept(&worktree);
    // For this backup `y.big` has not changed, so it has only the stored form.
    write(worktree.top(), "y.big", "of the agent\n");
    accept(&worktree);
    assert_eq!(undo(&fixture, &first), ["M x.big +1 -1", "M y.big +1 -1"]);
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
    assert_eq!(fixture.read("y.big").unwrap(), "real two\n");
}

#[test]
fn a_file_that_no_snapshot_can_hold_is_neither_overwritten_nor_removed() {
    let large = "real one\n".repeat(200_000);
    for removes in [false, true] {
        let fixture = with_filter();
        write_old_content(&fixture, "x.big", &large);
        fixture.commit("large");
        let worktree = fixture.ensure(1);
        if removes {
            fs::remove_file(worktree.top().join("x.big")).unwrap();
        } else {
            write(worktree.top(), "x.big", "of the agent\n");
        }
        write(worktree.top(), "b", "of the agent\n");
        let (changes, backup, left_out) = accept(&worktree);
        assert_eq!((changes, left_out), (vec!["M b +1 -10".to_owned()], vec!["x.big".to_owned()]));
        assert!(fixture.read("x.big").unwrap() == large, "{removes}");
        assert_eq!(undo(&fixture, &backup), ["M b +10 -1"]);
        assert!(fixture.read("x.big").unwrap() == large, "{removes}");
    }
}

#[test]
fn a_backup_of_an_earlier_version_does_not_replace_a_file_by_its_stored_form() {
    let fixture = with_filter();
    let repository = fixture.repository();
    let before = repository.snapshot(Place::Project).unwrap();
    let reason = BackupReason::Run(RunId(1));
    let backup = repository.keep_backup(&session(), reason, &before, None).unwrap();
    fixture.write("x.big", "of the agent\n");
    fixture.write("b", "of the agent\n");
    let restore = |path| {
        let restored = repository.restore(Place::Project, &session(), &backup.name, path).unwrap();
        (told(&restored.changes), restored.left_out)
    };
    assert_eq!(restore(Some("x.big")), (Vec::new(), vec!["x.big".to_owned()]));
    assert_eq!(restore(Some("b")), (vec!["M b +10 -1".to_owned()], Vec::new()));
    fixture.write("b", "of the agent\n");
    assert_eq!(restore(None), (vec!["M b +10 -1".to_owned()], vec!["x.big".to_owned()]));
    // The backup also brings back the rule that the file has a filter.
    fixture.remove(".gitattributes");
    let rule = vec!["A .gitattributes +1 -0".to_owned()];
    assert_eq!(restore(None), (rule, vec!["x.big".to_owned()]));
    assert_eq!(fixture.read("x.big").unwrap(), "of the agent\n");
}

/// As on a machine without Git LFS, where pointers are on disk.
#[test]
fn a_file_whose_filter_is_not_installed_is_undone_like_any_other() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.big filter=form\n");
    write_old(&fixture, "x.big");
    fixture.commit("one");
    assert_eq!(fixture.git(&["show", "HEAD:x.big"]), REAL);
    let worktree = fixture.ensure(1);
    write(worktree.top(), "x.big", "of the agent\n");
    let (_, backup, _) = accept(&worktree);
    fixture.commit("of the agent");
    assert_eq!(undo(&fixture, &backup), ["M x.big +1 -1"]);
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
}

#[test]
fn an_undo_that_brings_the_filter_back_brings_real_contents_back_too() {
    let fixture = with_filter();
    let worktree = fixture.ensure(1);
    fs::remove_file(worktree.top().join(".gitattributes")).unwrap();
    write(worktree.top(), "x.big", "of the agent\n");
    let (_, backup, _) = accept(&worktree);
    assert_eq!(fixture.read(".gitattributes"), None);
    undo(&fixture, &backup);
    assert_eq!(fixture.read(".gitattributes").unwrap(), "*.big filter=form\n");
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
}

#[test]
fn what_the_user_has_changed_is_neither_hidden_nor_lost() {
    let fixture = with_filter();
    let worktree = fixture.ensure(1);
    write(worktree.top(), "b", "of the agent\n");
    fixture.write("x.big", "of the user\n");
    let repository = fixture.repository();
    let (before_run, _) = repository.back_up(Place::Project, &session(), RunId(1)).unwrap();
    let (_, before_accept, _) = accept(&worktree);
    assert_eq!(fixture.git(&["status", "--porcelain"]), " M b\n M x.big\n");
    for backup in [before_accept, before_run] {
        fixture.write("x.big", "of somebody else\n");
        undo(&fixture, &backup);
        assert_eq!(fixture.read("x.big").unwrap(), "of the user\n");
    }
}

#[test]
fn a_change_after_the_snapshot_does_not_count_as_the_real_content() {
    let fixture = with_filter();
    let repository = fixture.repository();
    let before = repository.snapshot(Place::Project).unwrap();
    fixture.write("x.big", "of the user\n");
    assert_ne!(repository.real_tree(&before.tree).unwrap(), before.tree);
    let now = repository.snapshot(Place::Project).unwrap();
    assert_eq!(told(&repository.changes(&before.tree, &now.tree).unwrap()), ["M x.big +1 -1"]);
}

#[test]
fn a_content_that_was_swept_away_is_read_again() {
    let fixture = with_filter();
    let repository = fixture.repository();
    settle(&fixture.top());
    repository.back_up(Place::Project, &session(), RunId(1)).unwrap();
    let hash = fixture.git(&["hash-object", "--no-filters", "x.big"]);
    let (folder, name) = hash.trim().split_at(2);
    fs::remove_file(repository.private().objects().join(folder).join(name)).unwrap();
    let (backup, _) = repository.back_up(Place::Project, &session(), RunId(2)).unwrap();
    fixture.write("x.big", "of the agent\n");
    assert_eq!(undo(&fixture, &backup), ["M x.big +1 -1"]);
    assert_eq!(fixture.read("x.big").unwrap(), REAL);
}
