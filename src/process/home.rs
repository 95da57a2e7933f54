//! The home of an agent: directories of its own for what it keeps and for what it needs for a moment, and links to
//! the few things of ours that it may use.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

const FOR_NOBODY_ELSE: u32 = 0o700;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentHome {
    /// Holds what it keeps.
    pub directory: PathBuf,
    /// What it needs for a moment: nobody else's, whatever else works under the same name.
    pub temp: PathBuf,
    /// Where something appears in the home, and what that is.
    pub links: Vec<(PathBuf, PathBuf)>,
}

impl AgentHome {
    pub fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// Makes what is missing. Few and small, so it does not matter that it blocks.
    pub(crate) fn make(&self) -> io::Result<()> {
        for directory in [self.home(), self.temp.clone()] {
            DirBuilder::new().recursive(true).mode(FOR_NOBODY_ELSE).create(directory)?;
        }
        // The agent may have put links of its own there, and none of them may lead us elsewhere.
        let home = Dir::open_ambient_dir(self.home(), ambient_authority())?;
        for (name, target) in &self.links {
            if !target.exists() || home.symlink_metadata(name).is_ok() {
                continue;
            }
            let parent = name.parent().filter(|parent| !parent.as_os_str().is_empty());
            let made = parent.map_or(Ok(()), |parent| home.create_dir_all(parent));
            made.and_then(|()| home.symlink_contents(target, name))?;
        }
        Ok(())
    }

    pub(crate) fn variables(&self) -> [(OsString, OsString); 2] {
        [("HOME".into(), self.home().into()), ("TMPDIR".into(), self.temp.clone().into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_home_is_private_and_its_links_lead_where_they_should() {
        let directory = tempfile::tempdir().unwrap();
        let login = directory.path().join("login");
        fs::write(&login, "key").unwrap();
        let links = vec![
            (".config/tool/login".into(), login.clone()),
            (".missing".into(), directory.path().join("missing")),
        ];
        let temp = directory.path().join("c/d");
        let home = AgentHome { directory: directory.path().join("a/b"), temp, links };
        home.make().unwrap();
        home.make().unwrap();
        assert_eq!(fs::read_to_string(home.home().join(".config/tool/login")).unwrap(), "key");
        assert!(home.home().join(".missing").symlink_metadata().is_err());
        for path in [home.home(), home.temp.clone()] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn links_of_the_agent_do_not_lead_us_out() {
        let directory = tempfile::tempdir().unwrap();
        let (login, outside) = (directory.path().join("login"), directory.path().join("outside"));
        fs::write(&login, "key").unwrap();
        fs::create_dir(&outside).unwrap();
        let links = vec![(".config/login".into(), login)];
        let temp = directory.path().join("temp");
        let home = AgentHome { directory: directory.path().join("agent"), temp, links };
        fs::create_dir_all(home.home()).unwrap();
        symlink(&outside, home.home().join(".config")).unwrap();
        assert!(home.make().is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
