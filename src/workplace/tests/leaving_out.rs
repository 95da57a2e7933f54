//! What no snapshot holds: it is told, and nothing of it is ever lost.

use super::*;

/// A repository of its own, as `git clone` makes it.
fn make_repository(top: &Path, name: &str) {
    write(top, format!("{name}/file"), "precious\n");
    git(&top.join(name), &["init", "-q"]);
}

#[test]
fn a_result_tells_what_it_does_not_hold() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    make_repository(worktree.top(), "src/nested");
    assert_eq!(worktree.result().unwrap().left_out, ["src/nested/"]);
    let Accepted::Nothing { left_out } = worktree.accept(&Target::Project).unwrap() else {
        panic!("something was accepted");
    };
    assert_eq!(left_out, ["src/nested/"]);
    write(worktree.top(), "a", "mine\n");
    let Accepted::Project { left_out, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    assert_eq!(left_out, ["src/nested/"]);
    assert_eq!(fixture.read("src/nested/file"), None);
    write(worktree.top(), "a", "mine again\n");
    let discarded = worktree.discard().unwrap();
    assert_eq!((discarded.left_out, discarded.fresh), (vec!["src/nested/".to_owned()], false));
    assert_eq!(read(worktree.top(), "src/nested/file").unwrap(), "precious\n");
}

#[test]
fn a_project_in_a_directory_is_told_its_own_paths() {
    let fixture = Fixture::new();
    let project = fixture.top().join("src");
    let repository = Repository::discover(&project, &fixture.data()).unwrap().unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    make_repository(&worktree.place(), "nested");
    assert_eq!(worktree.result().unwrap().left_out, ["nested/"]);
}

#[test]
fn a_new_copy_says_what_it_lacks() {
    let library = Fixture::new();
    let fixture = Fixture::new();
    fixture.git(&["submodule", "add", "-q", library.top().to_str().unwrap(), "lib"]);
    fixture.commit("with a submodule");
    make_repository(&fixture.top(), "nested");
    let worktree = fixture.ensure(1);
    assert_eq!(worktree.lacks(), ["lib/", "nested/"]);
    assert_eq!(fixture.ensure(1).lacks(), Vec::<String>::new());
    // What an agent writes where a submodule would be is no part of its result either.
    assert_eq!(worktree.result().unwrap().left_out, Vec::<String>::new());
    write(worktree.top(), "lib/made-up", "1\n");
    assert_eq!(worktree.result().unwrap().left_out, ["lib/"]);
}

#[test]
fn a_copy_that_holds_more_than_its_backup_is_not_removed() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    make_repository(worktree.top(), "nested");
    // The project gets a file of the same name, so the copy cannot follow it.
    fixture.write("nested", "a file\n");
    let unmoved = fixture.ensure(1);
    assert!(!unmoved.is_fresh());
    assert_eq!(read(worktree.top(), "nested/file").unwrap(), "precious\n");
    let refused = worktree.discard().unwrap_err();
    assert_eq!(refused, GitError::Unkept { paths: vec!["nested/".to_owned()] });
    assert_eq!(read(worktree.top(), "nested/file").unwrap(), "precious\n");
    fs::rename(worktree.top().join("nested"), worktree.top().join("moved")).unwrap();
    let discarded = worktree.discard().unwrap();
    assert_eq!((discarded.left_out, discarded.fresh), (vec!["moved/".to_owned()], false));
    assert_eq!(read(worktree.top(), "nested").unwrap(), "a file\n");
    assert_eq!(read(worktree.top(), "moved/file").unwrap(), "precious\n");
}

#[test]
fn a_copy_with_files_beside_the_project_is_not_removed() {
    let fixture = Fixture::new();
    fixture.write("src/.gitignore", "gen\n");
    fixture.commit("ignores");
    let project = fixture.top().join("src");
    let repository = Repository::discover(&project, &fixture.data()).unwrap().unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let ensure = || repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    let worktree = ensure();
    write(worktree.top(), "beside", "precious\n");
    write(worktree.top(), "src/gen/deep", "built");
    fixture.write("src/gen", "now a source\n");
    fixture.git(&["add", "-f", "src/gen"]);
    assert!(!ensure().is_fresh());
    assert_eq!(read(worktree.top(), "beside").unwrap(), "precious\n");
    fs::remove_file(worktree.top().join("beside")).unwrap();
    assert!(ensure().is_fresh());
}

#[test]
fn names_that_git_refuses_are_told() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let names = [".GIT/config", ".git ", "git~1/x", "sub/.Git"];
    for name in names {
        write(worktree.top(), name, "x\n");
    }
    write(worktree.top(), "new", "x\n");
    let accepted = worktree.accept(&Target::Project).unwrap();
    let Accepted::Project { left_out, .. } = accepted else { panic!("{accepted:?}") };
    assert_eq!(left_out, names);
    assert_eq!(files(&fixture.top()), ["a", "b", "new", "src/deep/c"]);
}

#[test]
fn without_git_a_directory_that_may_be_work_is_told() {
    let fixture = Fixture::empty();
    let plain = fixture.dir.path().canonicalize().unwrap().join("plain");
    write(&plain, "a", "a\n");
    let repository = Repository::discover(&plain, &fixture.data()).unwrap().unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let path = repository.worktree_path(&session(), slot);
    let worktree = repository.ensure(&session(), slot, &path).unwrap();
    write(worktree.top(), "dist/index.html", "page\n");
    write(worktree.top(), "web/build/x", "x\n");
    write(worktree.top(), "node_modules/x/y", "y\n");
    let accepted = worktree.accept(&Target::Project).unwrap();
    let left_out = ["dist/", "web/build/"].map(str::to_owned).to_vec();
    assert_eq!(accepted, Accepted::Nothing { left_out });
}
