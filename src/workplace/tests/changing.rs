//! What a snapshot holds, and what is told of the difference between two.

use super::*;

fn snapshot(fixture: &Fixture) -> Snapshot {
    fixture.repository().snapshot(Place::Project).unwrap()
}

/// In our own git directory, without anything of the user's.
#[track_caller]
fn kept_git(fixture: &Fixture, args: &[&str]) -> String {
    git(&fixture.repository().private().git_dir(), args)
}

#[track_caller]
fn check(fixture: &Fixture, before: &Snapshot, expected: &[&str]) {
    let after = snapshot(fixture);
    let changes = fixture.repository().changes(&before.tree, &after.tree).unwrap();
    assert_eq!(told(&changes), expected);
}

#[test]
fn every_kind_of_change_is_told_with_its_lines() {
    let fixture = Fixture::new();
    fixture.write("picture", [0, 1, 2, 0]);
    let before = snapshot(&fixture);
    fixture.write("a", lines("a").replace("a 5\n", "five\nfive\n"));
    fixture.remove("b");
    fs::create_dir(fixture.top().join("moved")).unwrap();
    fs::rename(fixture.top().join("src/deep/c"), fixture.top().join("moved/c")).unwrap();
    fixture.write("new", "1\n2\n");
    fixture.write("picture", [0, 1, 2, 3]);
    check(
        &fixture,
        &before,
        &[
            "M a +2 -1",
            "D b +0 -10",
            "R src/deep/c > moved/c +0 -0",
            "A new +2 -0",
            "M picture +- --",
        ],
    );
}

#[test]
fn a_snapshot_leaves_no_trace_and_ignores_what_git_ignores() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "*.log\n/out/\n");
    fixture.write("x.log", "1");
    fixture.write("out/y", "1");
    fixture.write("kept.log", "1");
    fixture.git(&["add", "-f", "kept.log"]);
    fixture.write(".git/info/exclude", "secret\n");
    fixture.write("secret", "1");
    fixture.write("staged", "1");
    fixture.git(&["add", "staged"]);
    fixture.write("staged", "2");
    let before = fixture.traces();
    let taken = snapshot(&fixture);
    assert_eq!(fixture.traces(), before);
    let listed = kept_git(&fixture, &["ls-tree", "-r", "--name-only", taken.tree.as_str()]);
    assert_eq!(listed, ".gitignore\na\nb\nkept.log\nsrc/deep/c\nstaged\n");
    assert_eq!(kept_git(&fixture, &["cat-file", "-p", &format!("{}:staged", taken.tree)]), "2");
    // Nothing of it is in the user's repository.
    let there = try_git(&fixture.top(), &["cat-file", "-e", taken.tree.as_str()]);
    assert!(!there.status.success());
    assert!(files(&fixture.data()).iter().all(|path| !path.contains("index/once")));
}

#[test]
fn a_change_in_the_second_of_the_last_look_is_seen() {
    let fixture = Fixture::new();
    for round in 0..20 {
        let text = format!("{round:02}");
        fixture.write("racy", &text);
        fixture.git(&["add", "racy"]);
        fixture.write("racy", text.replace('0', "x"));
        let taken = snapshot(&fixture);
        let held = kept_git(&fixture, &["cat-file", "-p", &format!("{}:racy", taken.tree)]);
        assert_eq!(held, text.replace('0', "x"));
    }
}

#[test]
fn unusual_names_survive() {
    let fixture = Fixture::new();
    let before = snapshot(&fixture);
    let broken = OsStr::from_bytes(b"br\xffken");
    for name in ["new\nline", "quo\"te", "-dash", ":(top)x", "tab\tname", " space "] {
        fixture.write(name, "1\n");
    }
    fixture.write(broken, "1\n");
    let after = snapshot(&fixture);
    let repository = fixture.repository();
    let changes = repository.changes(&before.tree, &after.tree).unwrap();
    let mut paths: Vec<_> = changes.files.iter().map(|change| change.path.as_str()).collect();
    paths.sort_unstable();
    let expected =
        [" space ", "-dash", ":(top)x", "br\u{fffd}ken", "new\nline", "quo\"te", "tab\tname"];
    assert_eq!(paths, expected);
    for path in paths {
        let diff = repository.diff(&before.tree, &after.tree, Some(path)).unwrap();
        assert_eq!(diff.text.matches("new file mode").count(), 1, "{path}: {}", diff.text);
        assert!(diff.text.ends_with("+1\n"));
    }
}

#[test]
fn modes_links_and_kinds_are_changes() {
    let fixture = Fixture::new();
    symlink("/etc/passwd", fixture.top().join("link")).unwrap();
    fixture.write("dir/x", "x\n");
    let before = snapshot(&fixture);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(fixture.top().join("a"), executable).unwrap();
    fixture.remove("b");
    symlink("a", fixture.top().join("b")).unwrap();
    fixture.remove("dir/x");
    fs::remove_dir(fixture.top().join("dir")).unwrap();
    fixture.write("dir", "now a file\n");
    fixture.remove("link");
    fixture.write("link/inside", "something else\n");
    check(
        &fixture,
        &before,
        &[
            "M a +0 -0",
            "T b +1 -10",
            "A dir +1 -0",
            "D dir/x +0 -1",
            "D link +0 -1",
            "A link/inside +1 -0",
        ],
    );
    let held = kept_git(&fixture, &["cat-file", "-p", &format!("{}:link", before.tree)]);
    assert_eq!(held, "/etc/passwd");
}

#[test]
fn what_cannot_be_taken_is_told() {
    let fixture = Fixture::new();
    let before = snapshot(&fixture).tree;
    fixture.write("other/file", "1");
    git(&fixture.top().join("other"), &["init", "-q"]);
    let large = fs::File::create(fixture.top().join("large")).unwrap();
    large.set_len(300 << 20).unwrap();
    fixture.remove("a");
    let pipe = Command::new("mkfifo").arg(fixture.top().join("a")).status().unwrap();
    assert!(pipe.success());
    let mut taken = snapshot(&fixture);
    taken.left_out.sort();
    assert_eq!(taken.left_out, ["large", "other/"]);
    let changes = fixture.repository().changes(&before, &taken.tree).unwrap();
    assert_eq!(told(&changes), ["D a +0 -10"]);
}

#[test]
fn a_long_diff_is_cut_at_a_line_and_a_long_list_is_counted() {
    let fixture = Fixture::new();
    let before = snapshot(&fixture);
    fixture.write("long", "a line that is repeated\n".repeat(100_000));
    let after = snapshot(&fixture);
    let repository = fixture.repository();
    let diff = repository.diff(&before.tree, &after.tree, None).unwrap();
    assert!(diff.truncated);
    assert!(diff.text.len() <= 1 << 20);
    assert!(diff.text.ends_with("a line that is repeated\n"));
    for number in 0..2_100 {
        fixture.write(format!("many/{number}"), "1\n");
    }
    let changes = repository.changes(&before.tree, &snapshot(&fixture).tree).unwrap();
    assert_eq!((changes.files.len(), changes.total, changes.is_cut()), (2_000, 2_101, true));
}

#[test]
fn a_file_without_lines_is_noted_and_an_unknown_one_refused() {
    let fixture = Fixture::new();
    let before = snapshot(&fixture);
    fixture.write("picture", [0, 1, 2, 0]);
    let after = snapshot(&fixture);
    let repository = fixture.repository();
    let diff = repository.diff(&before.tree, &after.tree, Some("picture")).unwrap();
    assert!(diff.text.contains("Binary files /dev/null and b/picture differ"), "{}", diff.text);
    let unknown = repository.diff(&before.tree, &after.tree, Some("../a"));
    assert_eq!(unknown, Err(GitError::NoSuchFile { path: "../a".to_owned() }));
}

#[test]
fn a_conflict_in_progress_is_taken_as_it_is_on_disk() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "-q", "-b", "other"]);
    fixture.write("a", "theirs\n");
    fixture.commit("theirs");
    fixture.git(&["checkout", "-q", "main"]);
    fixture.write("a", "ours\n");
    fixture.commit("ours");
    assert!(!try_git(&fixture.top(), &["merge", "-q", "other"]).status.success());
    let before = fixture.traces();
    let taken = snapshot(&fixture);
    assert_eq!(fixture.traces(), before);
    let held = kept_git(&fixture, &["cat-file", "-p", &format!("{}:a", taken.tree)]);
    assert_eq!(Some(held), fixture.read("a"));
}

#[test]
fn a_sparse_checkout_is_no_deletion() {
    let fixture = Fixture::new();
    fixture.git(&["sparse-checkout", "set", "--no-cone", "/a", "/b"]);
    assert_eq!(fixture.read("src/deep/c"), None);
    let head = fixture.repository().head().unwrap().unwrap().1;
    assert_eq!(snapshot(&fixture).tree, head);
    fixture.write("src/deep/c", "here after all\n");
    let changes = fixture.repository().changes(&head, &snapshot(&fixture).tree).unwrap();
    assert_eq!(told(&changes), ["M src/deep/c +1 -10"]);
}

#[test]
fn a_split_index_and_a_damaged_one_only_cost_time() {
    let fixture = Fixture::new();
    fixture.git(&["update-index", "--split-index"]);
    fixture.write("a", "1\n");
    let head = fixture.repository().head().unwrap().unwrap().1;
    check_tree(&fixture, &head);
    fixture.write(".git/index", "nonsense");
    check_tree(&fixture, &head);
}

#[track_caller]
fn check_tree(fixture: &Fixture, head: &super::super::TreeId) {
    let changes = fixture.repository().changes(head, &snapshot(fixture).tree).unwrap();
    assert_eq!(told(&changes), ["M a +1 -10"]);
}

#[test]
fn line_ends_are_gits_business() {
    let fixture = Fixture::new();
    fixture.write(".gitattributes", "*.txt eol=crlf\n");
    fixture.write("x.txt", "1\r\n2\r\n");
    fixture.commit("with attributes");
    let head = fixture.repository().head().unwrap().unwrap().1;
    fs::File::open(fixture.top().join("x.txt"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(snapshot(&fixture).tree, head);
    let worktree = fixture.ensure(1);
    assert_eq!(read(worktree.top(), "x.txt").unwrap(), "1\r\n2\r\n");
    write(worktree.top(), "x.txt", "1\r\n2\r\n3\r\n");
    assert_eq!(told(&worktree.changes().unwrap()), ["M x.txt +1 -0"]);
    worktree.accept(&Target::Project).unwrap();
    assert_eq!(fixture.read("x.txt").unwrap(), "1\r\n2\r\n3\r\n");
}
