//! What an earlier version left in the user's repository becomes ours, and nothing of it is lost.

use super::*;
use crate::message::BackupReason;

/// A repository as an earlier version left it: refs in it, a linked worktree with work, a note in the data directory.
fn earlier(fixture: &Fixture, data: &Path) -> PathBuf {
    let repository = Repository::discover(&fixture.top(), data).unwrap().unwrap();
    let private = repository.private();
    let author = format!("{}@kakehashi.invalid", private.owner());
    let keep = |name: &str, parent: &str, about: &str, changed: &str| {
        fixture.write("a", changed);
        fixture.git(&["add", "-A"]);
        let tree = fixture.git(&["write-tree"]).trim().to_owned();
        let email = format!("user.email={author}");
        let commit =
            ["-c", &email, "-c", "user.name=Kakehashi", "commit-tree", "-p", parent, "-m", about];
        let mut command = Command::new("git");
        command.args(commit).arg(&tree).current_dir(fixture.top());
        command.env("GIT_AUTHOR_DATE", "@1700000000 +0000");
        let made = command.env("GIT_COMMITTER_DATE", "@1700000000 +0000").output().unwrap();
        let made = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        fixture.git(&["update-ref", &format!("refs/kakehashi/{name}"), &made]);
        made
    };
    let name = format!("{}-1", session());
    let base = keep(&format!("base/{name}"), "HEAD", "base", "the base\n");
    let run = format!("backup/{name}");
    keep(&run, &base, "backup of channel 1", "before the run\n");
    keep(&format!("backup/{}-2", session()), "HEAD", "backup of the project", "the project\n");
    fixture.git(&["reset", "-q", "--hard"]);
    let top = repository.worktree_path(&session(), AgentSlot::new(1).unwrap());
    fixture.git(&["worktree", "add", "-q", "--detach", top.to_str().unwrap(), &base]);
    let folder = fixture.top().join(".git/worktrees");
    let made = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let own = folder.join(format!("kakehashi-{name}"));
    fs::rename(made, &own).unwrap();
    fs::write(top.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    write(&top, "a", "the work\n");
    let mut note = b"ready\n".to_vec();
    note.extend_from_slice(top.strip_prefix(data).unwrap().as_os_str().as_bytes());
    fs::write(private.state(&name), note).unwrap();
    fs::write(private.index(&name), "of another time").unwrap();
    fs::remove_file(private.git_dir().with_file_name("layout")).unwrap();
    top
}

#[test]
fn work_and_backups_of_an_earlier_version_are_taken_over() {
    let fixture = Fixture::new();
    let top = earlier(&fixture, &fixture.data());
    let foreign = fixture.dir.path().canonicalize().unwrap().join("other-data");
    fs::create_dir(&foreign).unwrap();
    fixture.git(&["update-ref", "refs/kakehashi/backup/ws-00-9", "HEAD"]);
    let repository = fixture.repository();
    // Those of another gateway stay.
    let left = fixture.git(&["for-each-ref", "--format=%(refname)", "refs/kakehashi"]);
    assert_eq!(left, "refs/kakehashi/backup/ws-00-9\n");
    fixture.git(&["update-ref", "-d", "refs/kakehashi/backup/ws-00-9"]);
    fixture.git(&["reflog", "expire", "--expire=now", "--all"]);
    fixture.git(&["gc", "-q", "--prune=now"]);
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.worktree(&session(), slot).unwrap().unwrap();
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -1"]);
    let backups = repository.backups(&session()).unwrap();
    let seen: Vec<_> = backups.iter().map(|backup| (backup.reason, backup.slot)).collect();
    let expected = [(BackupReason::Run(RunId(1)), Some(slot)), (BackupReason::Run(RunId(2)), None)];
    assert_eq!(seen, expected);
    assert_eq!(backups[0].made, std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    // The next run makes a repository of its own of it.
    let worktree = repository.ensure(&session(), slot, &top).unwrap();
    assert!(top.join(".git").is_dir() && !fixture.top().join(".git/worktrees").exists());
    assert_eq!(git(&top, &["status", "--porcelain"]), " M a\n");
    assert_eq!(read(&top, "a").unwrap(), "the work\n");
    let place = Place::Worktree(&worktree);
    repository.restore(place, &session(), &backups[0].name, None).unwrap();
    assert_eq!(read(&top, "a").unwrap(), "before the run\n");
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -1"]);
    repository.restore(Place::Project, &session(), &backups[1].name, None).unwrap();
    assert_eq!(fixture.read("a").unwrap(), "the project\n");
}
