//! Everything that an agent can write is data: nothing of it is run, followed or believed.

use super::*;

/// A program that leaves a mark when it is run.
struct Trap {
    program: PathBuf,
    mark: PathBuf,
}

impl Trap {
    fn new(fixture: &Fixture) -> Self {
        let base = fixture.dir.path().canonicalize().unwrap();
        let (program, mark) = (base.join("trap"), base.join("sprung"));
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { program, mark }
    }

    /// All that a configuration can name.
    fn config(&self) -> String {
        let program = self.program.display();
        format!(
            "[core]\n\tfsmonitor = {program}\n\thooksPath = {hooks}\n\tsshCommand = {program}\n\tpager = {program}\n\
             [diff]\n\texternal = {program}\n\
             [diff \"x\"]\n\ttextconv = {program}\n\tcommand = {program}\n\
             [filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n\
             [filter \"y\"]\n\tprocess = {program}\n\trequired = true\n\
             [merge \"x\"]\n\tdriver = {program} %O %A %B\n\
             [gpg]\n\tprogram = {program}\n[commit]\n\tgpgSign = true\n",
            hooks = self.program.with_file_name("hooks").display(),
        )
    }

    fn plant_hooks(&self, directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        for hook in ["post-checkout", "pre-commit", "reference-transaction", "post-index-change"] {
            let path = directory.join(hook);
            let _ = fs::remove_file(&path);
            symlink(&self.program, path).unwrap();
        }
    }

    #[track_caller]
    fn check(&self) {
        assert!(!self.mark.exists(), "something that an agent planted was run");
    }
}

const ATTRIBUTES: &str = "* filter=x diff=x merge=x\n*.y filter=y\n";

/// Every call that looks at a worktree or the project.
fn everything(fixture: &Fixture, worktree: &Worktree) {
    let repository = fixture.repository();
    let place = Place::Worktree(worktree);
    let (backup, before) = repository.back_up(place, &session(), RunId(1)).unwrap();
    repository.back_up(Place::Project, &session(), RunId(2)).unwrap();
    write(worktree.top(), "a", lines("a").replace("a 1\n", "agent\n"));
    write(worktree.top(), "new.y", "agent\n");
    fixture.write("a", lines("a").replace("a 10\n", "user\n"));
    let after = worktree.result().unwrap();
    repository.diff(&before.tree, &after.tree, None).unwrap();
    assert_eq!(
        told(&worktree.changes().unwrap()).iter().filter(|line| line.contains(" a ")).count(),
        1
    );
    let name = Target::Branch { name: "result".to_owned(), message: "x".to_owned() };
    assert!(matches!(worktree.accept(&name), Ok(Accepted::Branch { .. })));
    assert!(matches!(worktree.accept(&Target::Project), Ok(Accepted::Project { .. })));
    repository.restore(place, &session(), &backup.name, None).unwrap();
    write(worktree.top(), "b", "agent\n");
    worktree.discard().unwrap();
    fixture.write("b", "user\n");
    fixture.ensure(1);
    assert_eq!(read(worktree.top(), "b").unwrap(), "user\n");
    repository.remove_session(&session()).unwrap();
}

#[test]
fn nothing_that_is_planted_in_a_worktree_is_run() {
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    let worktree = fixture.ensure(1);
    let folder = worktree.writable_git_paths()[0].clone();
    // An own repository in the place of the link, and another common directory behind it.
    fs::remove_file(worktree.top().join(".git")).unwrap();
    git(worktree.top(), &["init", "-q"]);
    let evil = worktree.top().join(".git");
    fs::write(evil.join("config"), trap.config()).unwrap();
    trap.plant_hooks(&evil.join("hooks"));
    fs::write(folder.join("commondir"), evil.as_os_str().as_bytes()).unwrap();
    fs::write(folder.join("config"), trap.config()).unwrap();
    fs::write(folder.join("config.worktree"), trap.config()).unwrap();
    trap.plant_hooks(&folder.join("hooks"));
    write(worktree.top(), ".gitattributes", ATTRIBUTES);
    everything(&fixture, &worktree);
    trap.check();
}

#[test]
fn nothing_that_the_repositorys_configuration_names_is_run() {
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    fixture.write(".gitattributes", ATTRIBUTES);
    let config = fixture.top().join(".git/config");
    let text = fs::read_to_string(&config).unwrap() + &trap.config();
    fs::write(&config, text).unwrap();
    trap.plant_hooks(&trap.program.with_file_name("hooks"));
    trap.plant_hooks(&fixture.top().join(".git/hooks"));
    let worktree = fixture.ensure(1);
    everything(&fixture, &worktree);
    trap.check();
}

#[test]
fn a_nested_repository_is_not_entered() {
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    let worktree = fixture.ensure(1);
    for nested in ["nested", "src/deep"] {
        let nested = worktree.top().join(nested);
        fs::create_dir_all(&nested).unwrap();
        git(&nested, &["init", "-q"]);
        write(&nested, "x.y", "1\n");
        write(&nested, ".gitattributes", ATTRIBUTES);
        git(&nested, &["add", "-A"]);
        git(&nested, &["commit", "-q", "-m", "x"]);
        fs::write(nested.join(".git/config"), trap.config()).unwrap();
        write(&nested, "x.y", "changed\n");
    }
    write(worktree.top(), ".gitmodules", "[submodule \"x\"]\n\tpath = nested\n\turl = ext::trap\n");
    let result = worktree.result().unwrap();
    assert_eq!(result.left_out, ["nested/"]);
    everything(&fixture, &worktree);
    trap.check();
}

#[test]
fn a_submodule_of_the_user_is_left_as_it_is() {
    let library = Fixture::new();
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    fixture.git(&["submodule", "add", "-q", library.top().to_str().unwrap(), "lib"]);
    fixture.commit("with a submodule");
    fixture.write("lib/a", "dirty\n");
    let config = fixture.top().join(".git/modules/lib/config");
    let text = fs::read_to_string(&config).unwrap() + &trap.config();
    fs::write(&config, text).unwrap();
    fs::write(fixture.top().join(".git/modules/lib/info/attributes"), ATTRIBUTES).unwrap();
    let worktree = fixture.ensure(1);
    assert!(worktree.top().join("lib").is_dir());
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
    fs::remove_dir(worktree.top().join("lib")).unwrap();
    assert_eq!(told(&worktree.changes().unwrap()), Vec::<String>::new());
    everything(&fixture, &worktree);
    trap.check();
    assert_eq!(fixture.read("lib/a").unwrap(), "dirty\n");
}

#[test]
fn links_in_the_agents_own_folder_are_not_written_through() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let folder = worktree.writable_git_paths()[0].clone();
    let victim = fixture.dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for name in ["HEAD", "index", "gitdir", "commondir", ".HEAD.kakehashi"] {
        let _ = fs::remove_file(folder.join(name));
        symlink(&victim, folder.join(name)).unwrap();
    }
    fs::remove_file(worktree.top().join(".git")).unwrap();
    symlink(&victim, worktree.top().join(".git")).unwrap();
    fixture.ensure(1);
    worktree.discard().unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
}

#[test]
fn a_directory_that_became_a_link_leads_nowhere() {
    let fixture = Fixture::new();
    let outside = fixture.dir.path().canonicalize().unwrap().join("outside");
    write(&outside, "c", "precious");
    let worktree = fixture.ensure(1);
    fs::remove_dir_all(worktree.top().join("src")).unwrap();
    symlink(outside.parent().unwrap(), worktree.top().join("src")).unwrap();
    write(&outside.parent().unwrap().join("deep"), "c", "precious");
    let Discarded { backup, .. } = worktree.discard().unwrap();
    assert!(worktree.top().join("src").symlink_metadata().unwrap().is_dir());
    assert_eq!(read(worktree.top(), "src/deep/c").unwrap(), lines("src/deep/c"));
    let place = Place::Worktree(&worktree);
    let repository = fixture.repository();
    repository.restore(place, &session(), &backup.name, None).unwrap();
    assert!(worktree.top().join("src").is_symlink());
    let Accepted::Project { .. } = worktree.accept(&Target::Project).unwrap() else { panic!() };
    // The project has the link itself now; what is behind it was never written.
    assert!(fixture.top().join("src").is_symlink());
    fixture.git(&["checkout", "-q", "-f", "--", "."]);
    assert_eq!(read(&outside, "c").unwrap(), "precious");
    assert_eq!(read(&outside.parent().unwrap().join("deep"), "c").unwrap(), "precious");
    repository.remove_session(&session()).unwrap();
    assert_eq!(read(&outside, "c").unwrap(), "precious");
}

#[test]
fn the_environment_of_the_gateway_reaches_no_call() {
    let fixture = Fixture::new();
    let output =
        super::super::git::Git::new("var").arg("-l").env("GIT_DIR", fixture.top().join(".git"));
    let listed = output.word().unwrap();
    assert!(listed.contains("core.hookspath=/dev/null"), "{listed}");
    assert!(!listed.contains("core.editor"), "{listed}");
}
