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
