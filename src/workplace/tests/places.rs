//! Where a project can be, and where it cannot.

use super::*;

fn discover(project: &Path, fixture: &Fixture) -> Option<Repository> {
    Repository::discover(project, &fixture.data()).unwrap()
}

#[test]
fn without_a_repository_there_is_none() {
    let fixture = Fixture::new();
    let plain = fixture.dir.path().join("plain");
    fs::create_dir_all(plain.join("sub/.git")).unwrap();
    let has_git = |project: &Path| discover(project, &fixture).map(|found| found.has_git());
    assert_eq!(has_git(&plain), Some(false));
    assert_eq!(has_git(&plain.join("sub")), Some(false));
    fs::write(plain.join(".git"), "gitdir: /nowhere\n").unwrap();
    assert_eq!(has_git(&plain), Some(false));
    git(fixture.dir.path(), &["init", "-q", "--bare", "bare.git"]);
    assert!(discover(&fixture.dir.path().join("bare.git"), &fixture).is_none());
    assert!(discover(&fixture.top().join(".git"), &fixture).is_none());
    assert!(Repository::is_there(&fixture.top()) && !Repository::is_there(&plain));
}

#[test]
fn a_repository_without_a_commit_works() {
    let fixture = Fixture::empty();
    fixture.write("a", "1\n");
    let worktree = fixture.ensure(1);
    assert_eq!(files(worktree.top()), ["a"]);
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
    write(worktree.top(), "b", "1\n");
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(fixture.git(&["status", "--porcelain"]), "?? a\n?? b\n");
    assert!(!fixture.top().join(".git/index").exists());
}

#[test]
fn nothing_at_all_works_too() {
    let fixture = Fixture::empty();
    let worktree = fixture.ensure(1);
    assert_eq!(files(worktree.top()), Vec::<String>::new());
    write(worktree.top(), "first", "1\n");
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(fixture.read("first").unwrap(), "1\n");
}

#[test]
fn a_project_below_the_top_keeps_to_itself() {
    let fixture = Fixture::new();
    fixture.write("app/x", lines("x"));
    fixture.write("app/deep/y", lines("y"));
    fixture.commit("with a project");
    fixture.write("a", "not committed\n");
    fixture.write("beside", "untracked\n");
    fixture.write("app/new", "untracked\n");
    let repository = discover(&fixture.top().join("app"), &fixture).unwrap();
    assert_eq!(repository.prefix(), Path::new("app"));
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    assert_eq!(worktree.place(), worktree.top().join("app"));
    assert_eq!(files(&worktree.place()), ["deep/y", "new", "x"]);
    assert_eq!(read(worktree.top(), "a").unwrap(), "not committed\n");
    write(&worktree.place(), "x", "agent\n");
    fs::remove_dir_all(worktree.place().join("deep")).unwrap();
    write(worktree.top(), "b", "none of its business\n");
    write(worktree.top(), "stray", "none of its business\n");
    write(worktree.top(), "src/stray", "none of its business\n");
    assert_eq!(told(&worktree.changes().unwrap()), ["D deep/y +0 -10", "M x +1 -10"]);
    let result = worktree.result().unwrap();
    let (_, base) = worktree.base().unwrap();
    let diff = repository.diff(&base, &result.tree, Some("x")).unwrap();
    assert!(diff.text.starts_with("diff --git a/x b/x\n"), "{}", diff.text);
    let (backup, _) = repository.back_up(Place::Project, &session(), RunId(1)).unwrap();
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(files(&fixture.top().join("app")), ["new", "x"]);
    assert_eq!(fixture.read("b").unwrap(), lines("b"));
    fixture.write("b", "the user's\n");
    let back = repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(told(&back.changes), ["A deep/y +10 -0", "M x +10 -1"]);
    assert_eq!(fixture.read("b").unwrap(), "the user's\n");
    // Thrown away is what is beside it as well.
    worktree.discard().unwrap();
    let left = ["a", "app/deep/y", "app/new", "app/x", "b", "src/deep/c"];
    assert_eq!(files(worktree.top()), left);
    assert_eq!(read(worktree.top(), "b").unwrap(), "the user's\n");
}

#[test]
fn emptying_a_project_below_the_top_leaves_its_directory() {
    let fixture = Fixture::new();
    fixture.write("app/x", lines("x"));
    fixture.commit("with a project");
    let repository = discover(&fixture.top().join("app"), &fixture).unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    fs::remove_file(worktree.place().join("x")).unwrap();
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert!(fixture.top().join("app").is_dir() && worktree.place().is_dir());
}

#[test]
fn a_directory_that_its_repository_does_not_know_is_no_part_of_it() {
    let fixture = Fixture::new();
    fixture.write("elsewhere/x", "1");
    assert!(!discover(&fixture.top().join("elsewhere"), &fixture).unwrap().has_git());
    assert!(discover(&fixture.top().join("src"), &fixture).unwrap().has_git());
}

#[test]
fn a_linked_worktree_is_a_project_of_its_own() {
    let fixture = Fixture::new();
    let linked = fixture.dir.path().canonicalize().unwrap().join("linked");
    fixture.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    write(&linked, "a", "side\n");
    let before = fixture.traces();
    let repository = discover(&linked, &fixture).unwrap();
    assert_eq!(repository.user().unwrap().common, fixture.top().join(".git"));
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    assert_eq!(read(worktree.top(), "a").unwrap(), "side\n");
    write(worktree.top(), "b", "agent\n");
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(read(&linked, "b").unwrap(), "agent\n");
    assert_eq!(git(&linked, &["status", "--porcelain"]), " M a\n M b\n");
    assert_eq!(fixture.traces(), before);
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let library = Fixture::new();
    let fixture = Fixture::new();
    fixture.git(&["submodule", "add", "-q", library.top().to_str().unwrap(), "lib"]);
    let submodule = fixture.top().join("lib");
    let repository = discover(&submodule, &fixture).unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    write(worktree.top(), "a", "agent\n");
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), " M a\n");
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(git(&submodule, &["status", "--porcelain"]), " M a\n");
}

#[test]
fn the_data_directory_in_the_project_is_no_part_of_it() {
    let fixture = Fixture::new();
    let data = fixture.top().join("my [data]");
    fs::create_dir(&data).unwrap();
    write(&data, "token", "secret");
    let repository = Repository::discover(&fixture.top(), &data).unwrap().unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &data.join("worktrees/1")).unwrap();
    assert_eq!(files(worktree.top()), ["a", "b", "src/deep/c"]);
    let taken = repository.snapshot(Place::Project).unwrap();
    assert_eq!(taken.left_out, Vec::<String>::new());
}

#[test]
fn another_hash_works() {
    let fixture = Fixture { dir: tempfile::tempdir().unwrap() };
    fs::create_dir(fixture.data()).unwrap();
    fs::create_dir(fixture.top()).unwrap();
    fixture.git(&["init", "-q", "--object-format=sha256"]);
    fixture.write("a", "1\n");
    fixture.commit("first");
    let worktree = fixture.ensure(1);
    write(worktree.top(), "a", "2\n");
    assert_eq!(worktree.base().unwrap().0.as_str().len(), 64);
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(fixture.read("a").unwrap(), "2\n");
}

#[test]
fn a_project_without_a_repository_is_worked_on_by_its_files() {
    let fixture = Fixture::new();
    let plain = fixture.dir.path().canonicalize().unwrap().join("plain");
    for (path, content) in [("a", "1\n"), ("node_modules/x", "1\n"), ("x.log", "1\n")] {
        write(&plain, path, content);
    }
    write(&plain, ".gitignore", "*.log\n");
    let repository = discover(&plain, &fixture).unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let path = repository.worktree_path(&session(), slot);
    let worktree = repository.ensure(&session(), slot, &path).unwrap();
    assert_eq!(files(worktree.top()), [".gitignore", "a"]);
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
    assert_eq!(git(worktree.top(), &["log", "--format=%s"]), "base\n");
    write(worktree.top(), "a", "2\n");
    write(worktree.top(), "node_modules/y", "installed\n");
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), " M a\n");
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -1"]);
    let onto = Target::Branch { name: "one".to_owned(), message: "x".to_owned() };
    assert_eq!(worktree.accept(&onto), Err(GitError::NoBranches));
    let Accepted::Project { backup, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    assert_eq!(read(&plain, "a").unwrap(), "2\n");
    repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(read(&plain, "a").unwrap(), "1\n");
    assert!(!plain.join(".git").exists());
    // The copy follows the project as long as nothing is changed in it.
    let again = repository.ensure(&session(), slot, &path).unwrap();
    assert_eq!(read(again.top(), "a").unwrap(), "1\n");
    assert_eq!(git(again.top(), &["status", "--porcelain"]), "");
    // What is ignored is up to the repository, once there is one.
    fs::remove_dir_all(worktree.top().join("node_modules")).unwrap();
    // Work that is under way when the project becomes a repository is still there.
    write(worktree.top(), "a", "3\n");
    git(&plain, &["init", "-q"]);
    let repository = discover(&plain, &fixture).unwrap();
    assert!(repository.has_git());
    let worktree = repository.ensure(&session(), slot, &path).unwrap();
    assert!(!worktree.is_fresh());
    assert_eq!(told(&worktree.changes().unwrap()), ["M a +1 -1"]);
    git(&plain, &["add", "-A"]);
    git(&plain, &["commit", "-q", "-m", "first"]);
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(read(&plain, "a").unwrap(), "3\n");
}

#[test]
fn a_partial_clone_with_a_sparse_checkout_works() {
    let origin = Fixture::new();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let fixture = Fixture::empty();
    fs::remove_dir_all(fixture.top()).unwrap();
    let (url, top) = (format!("file://{}", origin.top().display()), fixture.top());
    let clone = ["clone", "-q", "--filter=blob:none", "--sparse", &url, top.to_str().unwrap()];
    git(fixture.dir.path(), &clone);
    fixture.git(&["sparse-checkout", "set", "--no-cone", "/a"]);
    let worktree = fixture.ensure(1);
    assert_eq!(files(worktree.top()).iter().filter(|file| *file == "src/deep/c").count(), 0);
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
    write(worktree.top(), "a", "agent\n");
    let name = Target::Branch { name: "result".to_owned(), message: "x".to_owned() };
    assert!(matches!(worktree.accept(&name), Ok(Accepted::Branch { .. })));
    assert_eq!(fixture.git(&["diff", "--name-only", "main", "result"]), "a\n");
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    assert_eq!(fixture.read("a").unwrap(), "agent\n");
    write(worktree.top(), "a", "again\n");
    worktree.discard().unwrap();
    assert_eq!(read(worktree.top(), "a").unwrap(), "agent\n");
}
