//! Where a command is found on this machine, as a shell would find it.

use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};

/// `None` if it is not there or may not be run.
pub fn which(command: &str) -> Option<PathBuf> {
    let name = Path::new(command);
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(runs);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(runs)
}

/// The first of these names that is there, and where.
pub fn first_of<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<(&'a str, PathBuf)> {
    names.find_map(|name| Some((name, which(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_is_taken_where_the_first_is_missing() {
        let found = first_of(["surely-not-installed", "sh", "env"].into_iter()).unwrap();
        assert_eq!(found, ("sh", which("sh").unwrap()));
        assert_eq!(first_of(["surely-not-installed"].into_iter()), None);
    }

    #[test]
    fn only_what_may_be_run_is_found() {
        let shell = which("sh").unwrap();
        assert!(shell.is_absolute());
        assert_eq!(which(shell.to_str().unwrap()), Some(shell));
        assert_eq!(which("surely-not-installed"), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(which(file.path().to_str().unwrap()), None);
        assert_eq!(which("/"), None);
    }
}
