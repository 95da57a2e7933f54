//! What the user's files are made of arrives and comes back byte by byte.

use super::*;

/// A project that is no repository.
fn without_git(fixture: &Fixture) -> PathBuf {
    let plain = fixture.dir.path().canonicalize().unwrap().join("plain");
    fs::create_dir(&plain).unwrap();
    plain
}

fn ensure(fixture: &Fixture, project: &Path) -> Worktree {
    let repository = Repository::discover(project, &fixture.data()).unwrap().unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let path = repository.worktree_path(&session(), slot);
    repository.ensure(&session(), slot, &path).unwrap()
}

#[test]
fn a_change_that_git_was_told_to_overlook_is_not_lost() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let fixture = Fixture::new();
        fixture.git(&["update-index", flag, "a"]);
        fixture.write("a", "settings of the user\n");
        let worktree = fixture.ensure(1);
        assert_eq!(read(worktree.top(), "a").unwrap(), "settings of the user\n", "{flag}");
        write(worktree.top(), "a", "agent\n");
        let accepted = worktree.accept(&Target::Project).unwrap();
        let Accepted::Project { backup, .. } = accepted else { panic!("{accepted:?}") };
        assert_eq!(fixture.read("a").unwrap(), "agent\n");
        let repository = fixture.repository();
        repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
        assert_eq!(fixture.read("a").unwrap(), "settings of the user\n", "{flag}");
    }
}

const MIXED: &[u8] = b"one\r\ntwo\nthree\r\n\xff\xfe$Id$\n";

#[test]
fn without_git_no_byte_is_changed() {
    let fixture = Fixture::empty();
    let plain = without_git(&fixture);
    for attributes in
        ["* text=auto ident\n", "* text eol=crlf\n", "* working-tree-encoding=UTF-16\n"]
    {
        write(&plain, ".gitattributes", attributes);
        write(&plain, "mixed", MIXED);
        write(&plain, "odd", b"odd");
        let worktree = ensure(&fixture, &plain);
        assert_eq!(fs::read(worktree.top().join("mixed")).unwrap(), MIXED, "{attributes}");
        let changed = [b"agent\r\n", MIXED].concat();
        write(worktree.top(), "mixed", &changed);
        let accepted = worktree.accept(&Target::Project).unwrap();
        let Accepted::Project { backup, .. } = accepted else { panic!("{accepted:?}") };
        assert_eq!(fs::read(plain.join("mixed")).unwrap(), changed, "{attributes}");
        let repository = worktree.repository();
        repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
        assert_eq!(fs::read(plain.join("mixed")).unwrap(), MIXED, "{attributes}");
        worktree.discard().unwrap();
    }
}

#[test]
fn attributes_of_an_agent_do_not_keep_its_work_from_being_looked_at() {
    for (attributes, content) in [
        ("* working-tree-encoding=UTF-16\n", b"odd".as_slice()),
        ("* working-tree-encoding=no-such-thing\n", b"odd"),
        ("* text eol=crlf\n", b"one\r\ntwo\n"),
        ("* filter=none diff=none merge=none ident\n", b"$Id: $\n"),
    ] {
        let fixture = Fixture::new();
        fixture.git(&["config", "core.safecrlf", "true"]);
        let worktree = fixture.ensure(1);
        write(worktree.top(), ".gitattributes", attributes);
        write(worktree.top(), "new", content);
        let changes = worktree.changes();
        assert!(changes.is_ok(), "{attributes}: {changes:?}");
        worktree.accept(&Target::Project).unwrap();
        write(worktree.top(), "new", [content, content].concat());
        worktree.discard().unwrap();
        fixture.repository().back_up(Place::Project, &session(), RunId(1)).unwrap();
    }
}
