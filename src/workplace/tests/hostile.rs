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
    let own = worktree.top().join(".git");
    // Another common directory behind its own.
    let evil = worktree.top().join("evil");
    git(worktree.top(), &["init", "-q", "--bare", "evil"]);
    for directory in [&own, &evil] {
        fs::write(directory.join("config"), trap.config()).unwrap();
        fs::write(directory.join("config.worktree"), trap.config()).unwrap();
        trap.plant_hooks(&directory.join("hooks"));
    }
    fs::write(own.join("commondir"), evil.as_os_str().as_bytes()).unwrap();
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
    for own in [0, 1] {
        let fixture = Fixture::new();
        let worktree = fixture.ensure(1);
        let (boxed, plain) = worktree.git_stand_in();
        assert_eq!(plain, worktree.top().join(".git"));
        check_links(&fixture, &worktree, &[plain, boxed][own]);
    }
}

fn check_links(fixture: &Fixture, worktree: &Worktree, own: &Path) {
    let victim = fixture.dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let outside = fixture.dir.path().join("outside");
    fs::create_dir_all(outside.join("info")).unwrap();
    let check = || {
        fixture.ensure(1);
        worktree.discard().unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(files(&outside), Vec::<String>::new());
        assert_eq!(git(worktree.top(), &["status", "--porcelain"]), "");
    };
    for name in ["HEAD", "index", "config", "commondir", "info/exclude", ".HEAD.kakehashi"] {
        let _ = fs::remove_file(own.join(name));
        symlink(&victim, own.join(name)).unwrap();
    }
    check();
    for name in ["objects", "objects/info", "refs", "refs/heads", "info"] {
        fs::remove_dir_all(own.join(name)).unwrap();
        symlink(&outside, own.join(name)).unwrap();
        check();
    }
    for name in ["HEAD", "index", "config"] {
        fs::remove_file(own.join(name)).unwrap();
        write(&own.join(name), "inside", "a directory\n");
        check();
    }
    for whole in [&victim, &outside] {
        fs::remove_dir_all(own).or_else(|_| fs::remove_file(own)).unwrap();
        symlink(whole, own).unwrap();
        check();
    }
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

/// The loose object of a blob, and its name.
fn blob(fixture: &Fixture, path: &str) -> (String, PathBuf) {
    let id = fixture.git(&["rev-parse", &format!("HEAD:{path}")]).trim().to_owned();
    let file = Path::new("objects").join(&id[..2]).join(&id[2..]);
    (id, file)
}

/// Writes an object whose content is not what its name says; git does not look when it checks out.
fn forge(fixture: &Fixture, git_dir: &Path, name: &Path, content: &str) {
    let other = fixture.dir.path().canonicalize().unwrap().join("forge");
    fs::create_dir_all(&other).unwrap();
    git(&other, &["init", "-q"]);
    fs::write(other.join("x"), content).unwrap();
    let id = git(&other, &["hash-object", "-w", "x"]).trim().to_owned();
    let made = other.join(".git/objects").join(&id[..2]).join(&id[2..]);
    let place = git_dir.join(name);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&place);
    fs::copy(made, place).unwrap();
}

#[test]
fn an_object_that_an_agent_has_forged_is_never_written_anywhere() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let (id, name) = blob(&fixture, "a");
    forge(&fixture, &worktree.top().join(".git"), &name, "forged\n");
    // Its own git believes it, and nobody else does.
    write(worktree.top(), "a", "mine\n");
    write(worktree.top(), "b", "mine\n");
    let Accepted::Project { backup, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    let repository = fixture.repository();
    repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
    assert_eq!(fixture.read("a").unwrap(), lines("a"));
    fixture.git(&["checkout", "-q", "-f", "HEAD"]);
    assert_eq!(fixture.git(&["cat-file", "-p", &id]), lines("a"));
    worktree.discard().unwrap();
    assert_eq!(read(worktree.top(), "a").unwrap(), lines("a"));
}

/// Earlier versions let agents write there.
#[test]
fn what_was_forged_in_the_users_repository_is_not_taken_over() {
    for packed in [false, true] {
        let fixture = Fixture::new();
        let (_, name) = blob(&fixture, "a");
        let objects = fixture.top().join(".git");
        if packed {
            fixture.git(&["gc", "-q"]);
            // Without the pack, every object is one that anybody can write.
            let pack = objects.join("objects/pack");
            let away = fixture.dir.path().join("away");
            fs::rename(&pack, &away).unwrap();
            fs::create_dir(&pack).unwrap();
            for entry in fs::read_dir(&away).unwrap().flatten() {
                if entry.path().extension().is_some_and(|ending| ending == "pack") {
                    let file = fs::File::open(entry.path()).unwrap();
                    let mut unpack = Command::new("git");
                    unpack.args(["unpack-objects", "-q"]).current_dir(fixture.top());
                    assert!(unpack.stdin(file).status().unwrap().success());
                }
            }
        }
        forge(&fixture, &objects, &name, "forged\n");
        let worktree = fixture.ensure(1);
        assert_eq!(read(worktree.top(), "a").unwrap(), lines("a"), "{packed}");
        write(worktree.top(), "a", "mine\n");
        let accepted = worktree.accept(&Target::Project).unwrap();
        let Accepted::Project { backup, .. } = accepted else { panic!("{accepted:?}") };
        let repository = fixture.repository();
        repository.restore(Place::Project, &session(), &backup.name, None).unwrap();
        assert_eq!(fixture.read("a").unwrap(), lines("a"), "{packed}");
        // Where only the repository knows what there was, it is refused and not believed.
        write(worktree.top(), "b", "mine\n");
        let name = Target::Branch { name: "result".to_owned(), message: "x".to_owned() };
        fixture.remove("a");
        let refused = worktree.accept(&name);
        assert!(matches!(refused, Ok(_) | Err(GitError::Damaged { .. })), "{refused:?}");
    }
}

#[test]
fn sessions_do_not_see_each_others_drafts() {
    let fixture = Fixture::new();
    let repository = fixture.repository();
    let other = SessionId::from_random(2);
    let path = repository.worktree_path(&other, AgentSlot::new(1).unwrap());
    let theirs = repository.ensure(&other, AgentSlot::new(1).unwrap(), &path).unwrap();
    write(theirs.top(), "draft", "secret\n");
    git(theirs.top(), &["add", "-A"]);
    git(theirs.top(), &["commit", "-q", "-m", "draft"]);
    repository.back_up(Place::Worktree(&theirs), &other, RunId(1)).unwrap();
    let draft = git(theirs.top(), &["rev-parse", "HEAD:draft"]).trim().to_owned();
    let mine = fixture.ensure(1);
    for place in [mine.top(), &fixture.top()] {
        assert!(!try_git(place, &["cat-file", "-e", &draft]).status.success());
        assert_eq!(git(place, &["for-each-ref", "refs/kakehashi"]), "");
    }
    for borrowed in mine.borrowed_objects() {
        assert!(!files(&borrowed).iter().any(|file| file.contains(other.as_str())));
    }
}

#[test]
fn a_result_makes_no_repository_of_a_directory() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    git(worktree.top(), &["init", "-q", "--bare", "src/planted"]);
    write(worktree.top(), "sly/HEAD", "ref: refs/heads/main\n");
    write(worktree.top(), "sly/commondir", "../src/planted\n");
    write(worktree.top(), "HEAD", "only a name\n");
    let Accepted::Project { left_out, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    assert_eq!(left_out, ["sly/HEAD", "src/planted/HEAD"]);
    assert!(fixture.top().join("src/planted/config").exists());
    for planted in ["src/planted", "sly"] {
        let found = git(&fixture.top().join(planted), &["rev-parse", "--show-toplevel"]);
        assert_eq!(Path::new(found.trim()), fixture.top(), "{planted}");
    }
    assert_eq!(fixture.read("HEAD").unwrap(), "only a name\n");
}

#[test]
fn a_result_completes_no_repository_around_a_head_of_the_project() {
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    fixture.write("kit/HEAD", "ref: refs/heads/main\n");
    git(&fixture.top(), &["init", "-q", "--bare", "whole"]);
    fixture.write("whole/refs/heads/.keep", "");
    fixture.write("whole/objects/info/.keep", "");
    fixture.commit("a file with that name, and a repository as a fixture");
    let worktree = fixture.ensure(1);
    let kit = fixture.top().join("kit");
    let worktree_setting = format!("\tbare = false\n\tworktree = {}\n", kit.display());
    let config = trap.config().replacen("[core]\n", &format!("[core]\n{worktree_setting}"), 1);
    for (path, content) in [
        ("kit/config", config.as_str()),
        ("kit/objects/info/x", "x"),
        ("kit/refs/heads/x", "x"),
        ("kit/objects.txt", "like any other"),
        ("whole/refs/heads/more", "x"),
    ] {
        write(worktree.top(), path, content);
    }
    let Accepted::Project { left_out, .. } = worktree.accept(&Target::Project).unwrap() else {
        panic!("not accepted");
    };
    let _ = try_git(&kit, &["status"]);
    assert!(!trap.mark.exists(), "git status has run the agent's program");
    assert_eq!(left_out, ["kit/objects/info/x", "kit/refs/heads/x"]);
    for taken in ["kit/config", "kit/objects.txt", "kit/HEAD", "whole/refs/heads/more"] {
        assert!(fixture.read(taken).is_some(), "{taken}");
    }
}

/// Nothing of each result is a repository, all of them together are.
#[test]
fn several_results_make_no_repository_together() {
    let orders: [&[&[&str]]; 4] = [
        &[&["HEAD"], &["objects/keep", "refs/keep", "config"]],
        &[&["HEAD", "refs/keep"], &["config", "objects/keep"]],
        &[&["HEAD", "config"], &["commondir"]],
        &[&["objects/keep", "config"], &["refs/keep"], &["HEAD"]],
    ];
    for order in orders {
        let fixture = Fixture::new();
        let worktree = fixture.ensure(1);
        let content = "[core]\n\tbare = true\n";
        for parts in order {
            for part in *parts {
                let content = match *part {
                    "HEAD" => "ref: refs/heads/main\n",
                    "commondir" => "../src\n",
                    _ => content,
                };
                write(worktree.top(), Path::new("sly").join(part), content);
            }
            worktree.accept(&Target::Project).unwrap();
        }
        let sly = fixture.top().join("sly");
        assert!(!super::super::nested::is_layout(&sly), "{order:?}: {:?}", files(&sly));
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_that_git_reads_keeps_nobody_waiting() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let pipe = |path: &Path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    for name in [".gitignore", "src/deep/.gitattributes"] {
        pipe(&worktree.top().join(name));
        write(worktree.top(), "src/deep/new", name);
        assert_eq!(told(&worktree.changes().unwrap()), ["A src/deep/new +1 -0"], "{name}");
    }
    // We remove nothing of the user's.
    pipe(&fixture.top().join("src/.gitignore"));
    let refused = fixture.repository().snapshot(Place::Project);
    assert_eq!(refused, Err(GitError::Pipe { path: "src/.gitignore".to_owned() }));
    assert!(fixture.top().join("src/.gitignore").symlink_metadata().is_ok());
}

#[test]
fn ignored_files_are_not_copied_through_a_link_of_an_agent() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "keys/\n");
    fixture.write(".worktreeinclude", "keys/\n");
    fixture.write("keys/one", "of the project\n");
    fixture.commit("with keys");
    let outside = fixture.dir.path().canonicalize().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    let worktree = fixture.ensure(1);
    assert!(worktree.top().join("keys/one").exists());
    fs::remove_dir_all(worktree.top().join("keys")).unwrap();
    symlink(&outside, worktree.top().join("keys")).unwrap();
    let scratch = worktree.scratch().unwrap();
    assert!(scratch.worktree().top().join("keys").is_symlink());
    assert_eq!(files(&outside), [""; 0]);
}

#[test]
fn names_that_only_look_different_from_gits_own_are_left_out() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    let names = [".g\u{200c}it", "src/.gi\u{ad}t", "src/.GIT\u{feff}", "src/git~1"];
    for name in names {
        write(worktree.top(), Path::new(name).join("config"), "[core]\n\tfsmonitor = x\n");
    }
    write(worktree.top(), ".g\u{e9}it/ordinary", "x\n");
    let Accepted::Project { changes, left_out, .. } = worktree.accept(&Target::Project).unwrap()
    else {
        panic!("not accepted");
    };
    assert_eq!(told(&changes), ["A .g\u{e9}it/ordinary +1 -0"]);
    assert_eq!(left_out.len(), names.len(), "{left_out:?}");
}

#[test]
fn a_copy_that_is_too_deep_for_any_path_is_removed() {
    let fixture = Fixture::new();
    let worktree = fixture.ensure(1);
    for place in [worktree.top().to_owned(), worktree.top().join(".git")] {
        let mut folder = super::super::folder::Folder::open(&place).unwrap();
        for _ in 0..14_000 {
            folder = folder.child_or_new(OsStr::new("index.lock")).unwrap();
        }
    }
    fixture.ensure(1);
    assert!(!worktree.top().join(".git/index.lock").exists());
    fixture.repository().remove_session(&session()).unwrap();
    assert!(!worktree.top().exists());
}

/// The agent's own git directory is another one in its sandbox.
#[test]
fn what_an_earlier_version_let_agents_write_becomes_their_own() {
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    let worktree = fixture.ensure(1);
    let (own, plain) = worktree.git_stand_in();
    fs::remove_dir_all(&own).unwrap();
    fs::write(plain.join("config"), trap.config()).unwrap();
    fs::write(plain.join("config.worktree"), trap.config()).unwrap();
    trap.plant_hooks(&plain.join("hooks"));
    fs::write(plain.join("refs/heads/idea"), git(&fixture.top(), &["rev-parse", "HEAD"])).unwrap();
    assert!(fixture.ensure(1).is_fresh());
    assert!(own.join("refs/heads/idea").exists() && own.join("hooks").exists());
    assert!(!plain.join("refs/heads/idea").exists() && !plain.join("hooks").exists());
    look_around(worktree.top());
    trap.check();
}

/// As a person does it who wants to know what the agent is doing.
fn look_around(at: &Path) {
    for args in ["status", "status --porcelain -uall", "diff", "diff HEAD", "log -p", "branch -a"] {
        let _ = try_git(at, &args.split(' ').collect::<Vec<_>>());
    }
}

#[test]
fn a_submodule_that_an_agent_fills_is_not_looked_into() {
    let library = Fixture::new();
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    fixture.git(&["submodule", "add", "-q", library.top().to_str().unwrap(), "lib"]);
    fixture.commit("with a submodule");
    let worktree = fixture.ensure(1);
    let lib = worktree.top().join("lib");
    git(&lib, &["init", "-q"]);
    write(&lib, "x", "1\n");
    git(&lib, &["add", "-A"]);
    git(&lib, &["commit", "-q", "-m", "x"]);
    write(worktree.top(), ".gitmodules", "[submodule \"x\"]\n\tpath = lib\n\tignore = none\n");
    fs::write(lib.join(".git/config"), trap.config()).unwrap();
    look_around(worktree.top());
    trap.check();
    assert_eq!(git(worktree.top(), &["status", "--porcelain"]), " M .gitmodules\n");
}

#[test]
fn a_repository_between_the_copy_and_the_project_in_it_is_moved_out() {
    let fixture = Fixture::new();
    let trap = Trap::new(&fixture);
    let project = fixture.top().join("src/deep");
    let repository = Repository::discover(&project, &fixture.data()).unwrap().unwrap();
    let slot = AgentSlot::new(1).unwrap();
    let worktree = repository.ensure(&session(), slot, &fixture.path(1)).unwrap();
    for planted in ["src", "src/deep"] {
        let planted = worktree.top().join(planted);
        git(&planted, &["init", "-q"]);
        fs::write(planted.join(".git/config"), trap.config()).unwrap();
    }
    write(&worktree.place(), "new", "x\n");
    assert_eq!(told(&worktree.changes().unwrap()), ["A new +1 -0"]);
    look_around(&worktree.place());
    trap.check();
    repository.remove_session(&session()).unwrap();
    assert_eq!(fs::read_dir(repository.private().root().join("aside")).unwrap().count(), 0);
}
