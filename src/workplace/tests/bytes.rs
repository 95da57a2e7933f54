//! What the user's files are made of arrives and comes back byte by byte.

use super::*;

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
