//! The directory that agents work on: whether they can, whether it can be undone, and how much there is.

use super::Finding;
use crate::config::Config;
use crate::gitignore;
use crate::workplace;
use rustix::fs::{Access, access};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const CHECK: &str = "project";
const GIT: &str = "git";
/// Counting ends here; nobody wants to wait for the exact number.
const MOST_FILES: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(5);

/// Also tells how many directories there are, as far as they were counted.
pub(super) fn look(config: &Config) -> (Vec<Finding>, usize) {
    let count = Count::of(&config.project, MOST_FILES);
    let findings =
        vec![rights(&config.project, &config.data), git(&config.project), count.finding()];
    (findings, count.directories)
}

pub(super) fn missing(path: &Path) -> Finding {
    let found = format!("{} is not a directory", path.display());
    Finding::fail(CHECK, found, "choose one with --project")
}

fn rights(project: &Path, data: &Path) -> Finding {
    let shown = project.display();
    if let Err(err) = access(project, Access::READ_OK | Access::EXEC_OK) {
        let found = format!("{shown} cannot be read: {err}");
        return Finding::fail(CHECK, found, "change its rights, or choose another with --project");
    }
    if let Err(err) = access(project, Access::WRITE_OK) {
        let found = format!("{shown} cannot be written: {err}");
        return Finding::warn(
            CHECK,
            found,
            "agents can only read it; change its rights if they should do more",
        );
    }
    if data.starts_with(project) {
        return Finding::warn(
            CHECK,
            format!("{shown} holds the data directory, so agents can change it"),
            "choose a smaller --project, or a --data outside of it",
        );
    }
    Finding::ok(CHECK, format!("{shown} can be read and written"))
}

/// Agents get a copy of the project of their own, which git makes.
fn git(project: &Path) -> Finding {
    match workplace::version() {
        Ok(_) => repository(project),
        Err(err) => Finding::warn(
            GIT,
            format!("agents have no copies of the project, and do not work without: {err}"),
            "install a newer git, or set CODE_AI1_PLACE to CODE_AI4_PLACE to \"shared\"",
        ),
    }
}

fn repository(project: &Path) -> Finding {
    match project.ancestors().find(|place| place.join(".git").exists()) {
        Some(place) => Finding::ok(GIT, format!("repository at {}", place.display())),
        None => Finding::ok(
            GIT,
            "the project is in no repository; agents work in copies of its files, and there are no branches",
        ),
    }
}

/// What a list of the project would have to look at, about.
#[derive(Debug, Default, PartialEq)]
struct Count {
    files: usize,
    directories: usize,
    complete: bool,
}

impl Count {
    fn of(project: &Path, most: usize) -> Self {
        let (started, mut count) = (Instant::now(), Self::default());
        let walk = gitignore::walk(project, project, |entry| entry.file_name() != ".git");
        for entry in walk.build().flatten() {
            if count.files >= most || started.elapsed() > PATIENCE {
                return count;
            }
            match entry.file_type() {
                Some(kind) if kind.is_dir() => count.directories += 1,
                Some(kind) if kind.is_file() => count.files += 1,
                Some(_) | None => (),
            }
        }
        Self { complete: true, ..count }
    }

    fn finding(&self) -> Finding {
        const CHECK: &str = "files";
        let Self { files, directories, .. } = self;
        if self.complete {
            return Finding::ok(CHECK, format!("{files} files in {directories} directories"));
        }
        Finding::warn(
            CHECK,
            format!("more than {files} files in {directories} directories; counting ended there"),
            "lists will be long; name generated files in .gitignore, or choose a smaller --project",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_project_is_counted_without_what_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("src")).unwrap();
        std::fs::create_dir_all(dir.path().join(".git")).unwrap();
        for name in ["src/a", "src/b", "c.log", ".git/HEAD"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::fs::write(dir.path().join(".gitignore"), "*.log\n").unwrap();
        let all = Count::of(dir.path(), 100);
        assert_eq!(all, Count { files: 3, directories: 2, complete: true });
        assert_eq!(repository(&dir.path().join("src")).verdict, Verdict::Ok);
        let some = Count::of(dir.path(), 1);
        assert_eq!((some.files, some.complete), (1, false));
        assert_eq!(some.finding().verdict, Verdict::Warn);
    }

    #[test]
    fn a_gitignore_that_is_a_pipe_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().unwrap();
        mkfifoat(CWD, dir.path().join(".gitignore"), Mode::RWXU).unwrap();
        std::fs::write(dir.path().join("a"), "").unwrap();
        let (told, counted) = mpsc::channel();
        thread::spawn(move || told.send(Count::of(dir.path(), 100)));
        let counted = counted.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(counted, Count { files: 1, directories: 1, complete: true });
    }

    #[test]
    fn a_project_around_the_data_directory_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(rights(dir.path(), &dir.path().join("data")).verdict, Verdict::Warn);
        assert_eq!(rights(dir.path(), Path::new("/elsewhere")).verdict, Verdict::Ok);
        assert_eq!(rights(Path::new("/no/such"), Path::new("/elsewhere")).verdict, Verdict::Fail);
    }
}
