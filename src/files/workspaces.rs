//! Directories for data that is analysed: one for each session that has some, named after the time of its first file.
//! A file appears under its name only when it is complete, and never replaces another one.

use super::{FileError, Files, clock, name, rights, thumbnail, upload};
use crate::message::{FileNote, Principal, SessionId};
use crate::regular;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Below the data directory, and the first part of the paths by which users ask for these files.
pub(super) const DIRECTORY: &str = "workspace";
/// Names the session that a workspace belongs to.
const OWNER: &str = ".session";
/// Workspaces that one user begins in one second, before something is wrong.
const MOST_IN_A_SECOND: u32 = 1_000;

/// The workspaces of one user. Everything here blocks.
#[derive(Debug, Clone)]
pub struct Workspaces {
    root: PathBuf,
    max_pixels: u64,
}

/// A file that is being received.
#[derive(Debug)]
pub struct Incoming {
    directory: Dir,
    hidden: String,
    kept: bool,
}

impl Files {
    pub fn workspaces(&self, principal: &Principal) -> Workspaces {
        let root = self.data().join(DIRECTORY).join(name::principal_dir(principal));
        Workspaces { root, max_pixels: self.places.limits.max_pixels }
    }
}

impl Workspaces {
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The session's workspace; made if there is none.
    pub fn of(&self, session: &SessionId) -> Result<String, FileError> {
        if let Some(found) = self.find(session) {
            return Ok(found);
        }
        rights::make_directory(&self.root)?;
        let stamp = clock::stamp(SystemTime::now()).replace('.', "");
        for number in 1..=MOST_IN_A_SECOND {
            let name = if number == 1 { stamp.clone() } else { format!("{stamp}-{number}") };
            let directory = self.root.join(&name);
            match fs::create_dir(&directory) {
                Ok(()) => {
                    rights::tighten(&directory);
                    fs::write(directory.join(OWNER), session.as_str())?;
                    return Ok(name);
                }
                Err(err) if err.kind() == ErrorKind::AlreadyExists => (),
                Err(err) => return Err(err.into()),
            }
        }
        Err(FileError::TooManySameName)
    }

    /// The session's workspace, if it has one.
    pub fn find(&self, session: &SessionId) -> Option<String> {
        self.owned_by(session).into_iter().next()
    }

    fn owned_by(&self, session: &SessionId) -> Vec<String> {
        let entries = fs::read_dir(&self.root).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let is_own = |name: &String| {
            fs::read_to_string(self.root.join(name).join(OWNER))
                .is_ok_and(|owner| owner == session.as_str())
        };
        names.filter(is_own).collect()
    }

    /// Where a workspace is; `None` if this is no name of one.
    pub fn directory(&self, workspace: &str) -> Option<PathBuf> {
        let plain = workspace.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let directory = self.root.join(workspace);
        (plain && !workspace.is_empty() && directory.is_dir()).then_some(directory)
    }

    /// Begins to receive a file.
    pub fn receive(&self, workspace: &str) -> Result<(Incoming, File), FileError> {
        let directory = self.directory(workspace).ok_or_else(missing)?;
        let directory = Dir::open_ambient_dir(directory, ambient_authority())?;
        let hidden = upload::hidden_name();
        let file = upload::create(&directory, &hidden)?.into_std();
        Ok((Incoming { directory, hidden, kept: false }, file))
    }

    /// Stores a file that was made, and describes it.
    pub fn save(&self, workspace: &str, wanted: &str, bytes: &[u8]) -> Result<FileNote, FileError> {
        use std::io::Write;
        let (incoming, mut file) = self.receive(workspace)?;
        file.write_all(bytes)?;
        let name = incoming.keep(wanted)?;
        let path = Some(format!("{DIRECTORY}/{workspace}/{name}"));
        Ok(FileNote { name, path, thumbnail: thumbnail::thumbnail(bytes, self.max_pixels) })
    }

    /// What people are shown of a file, and its size.
    pub fn describe(&self, workspace: &str, name: &str) -> Result<(FileNote, u64), FileError> {
        let bytes = self.read(workspace, name)?;
        let path = Some(format!("{DIRECTORY}/{workspace}/{name}"));
        let thumbnail = thumbnail::thumbnail(&bytes, self.max_pixels);
        Ok((FileNote { name: name.to_owned(), path, thumbnail }, bytes.len() as u64))
    }

    /// Reads a whole file of a workspace.
    pub fn read(&self, workspace: &str, name: &str) -> Result<Vec<u8>, FileError> {
        let directory = self.directory(workspace).ok_or_else(missing)?;
        if name.starts_with('.') || name::safe_name(name) != name {
            return Err(missing().into());
        }
        let directory = Dir::open_ambient_dir(directory, ambient_authority())?;
        let mut bytes = Vec::new();
        regular::open_below(&directory, Path::new(name))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The last of `stem.ending`, `stem-2.ending`, `stem-3.ending` ... of a session.
    pub fn newest(&self, session: &SessionId, stem: &str, ending: &str) -> Option<String> {
        let directory = self.directory(&self.find(session)?)?;
        let names = (1..=MOST_IN_A_SECOND).map(|number| match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        });
        names.take_while(|name| directory.join(name).is_file()).last()
    }

    /// Removes a file that is of no use.
    pub fn forget(&self, workspace: &str, name: &str) -> io::Result<()> {
        let directory = self.directory(workspace).ok_or_else(missing)?;
        Dir::open_ambient_dir(directory, ambient_authority())?.remove_file(name)
    }

    /// Removes everything of a session that is deleted.
    pub fn remove(&self, session: &SessionId) -> io::Result<()> {
        self.owned_by(session).iter().try_for_each(|name| fs::remove_dir_all(self.root.join(name)))
    }
}

impl Incoming {
    /// Gives the complete file the first free name: `a.csv`, `a-2.csv`, `a-3.csv` ...
    pub fn keep(mut self, wanted: &str) -> Result<String, FileError> {
        let wanted = name::safe_name(wanted);
        let (stem, extension) = name::split_extension(&wanted);
        for number in 1..=MOST_IN_A_SECOND {
            let name = match number {
                1 => wanted.clone(),
                number => format!("{stem}-{number}{extension}"),
            };
            match upload::place(&self.directory, &self.hidden, &name) {
                Ok(()) => {
                    self.kept = true;
                    return Ok(name);
                }
                Err(err) if err.kind() == ErrorKind::AlreadyExists => (),
                Err(err) => return Err(err.into()),
            }
        }
        Err(FileError::TooManySameName)
    }
}

impl Drop for Incoming {
    /// What was not received completely leaves nothing behind.
    fn drop(&mut self) {
        if !self.kept {
            let _ = self.directory.remove_file(&self.hidden);
        }
    }
}

fn missing() -> io::Error {
    ErrorKind::NotFound.into()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use std::io::Write;

    fn session(digit: u64) -> SessionId {
        SessionId::from_random(digit.into())
    }

    #[test]
    fn a_session_has_one_workspace_and_two_sessions_never_share_one() {
        let fixture = Fixture::new();
        let own = fixture.files.workspaces(&Principal::local());
        let (first, second) = (own.of(&session(1)).unwrap(), own.of(&session(2)).unwrap());
        assert_ne!(first, second);
        assert_eq!(own.of(&session(1)).unwrap(), first);
        assert!(first.len() >= 14 && first[..14].bytes().all(|byte| byte.is_ascii_digit()));
        let other = fixture.files.workspaces(&Principal::new("ann"));
        assert_eq!(other.directory(&first), None);
    }

    #[test]
    fn files_get_free_names_and_are_read_by_them() {
        let fixture = Fixture::new();
        let own = fixture.files.workspaces(&Principal::local());
        let place = own.of(&session(1)).unwrap();
        let names = ["a.csv", "a.csv", "../a.csv", ".session"];
        let saved = names.map(|name| own.save(&place, name, b"x").unwrap().name);
        assert_eq!(saved, ["a.csv", "a-2.csv", "a-3.csv", "session"]);
        assert_eq!(own.read(&place, "a-2.csv").unwrap(), b"x");
        for name in ["../a.csv", ".session", "none", "", "/etc/passwd", "a/../a.csv"] {
            assert!(own.read(&place, name).is_err(), "{name}");
        }
        for name in ["..", "", "x", "../local"] {
            assert_eq!(own.directory(name), None, "{name}");
        }
    }

    #[test]
    fn a_link_in_a_workspace_is_not_followed() {
        let fixture = Fixture::new();
        let own = fixture.files.workspaces(&Principal::local());
        let place = own.of(&session(1)).unwrap();
        let link = own.directory(&place).unwrap().join("link");
        std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
        assert!(own.read(&place, "link").is_err());
    }

    #[test]
    fn half_a_file_leaves_nothing_and_a_deleted_session_neither() {
        let fixture = Fixture::new();
        let own = fixture.files.workspaces(&Principal::local());
        let place = own.of(&session(1)).unwrap();
        let (incoming, mut file) = own.receive(&place).unwrap();
        file.write_all(b"half").unwrap();
        drop(incoming);
        let left = fs::read_dir(own.directory(&place).unwrap()).unwrap().count();
        assert_eq!(left, 1, "only the name of the owner");
        own.remove(&session(1)).unwrap();
        assert_eq!(own.directory(&place), None);
    }
}
