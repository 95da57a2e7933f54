//! The same view made by bubblewrap, for systems that give us no namespaces but have given it the right to make some.
//! It becomes our own binary again within the view, which then closes the rest.

use super::error::BoxError;
use super::means::{Seen, Way};
use super::plan::{Access, Change, Plan, open_real};
use super::{Confinement, Network};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use std::ffi::{OsStr, OsString};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Where our own binary is within the view, wherever it is outside.
const BINARY: &str = "/run/kakehashi-box";
const NAME: &str = "bwrap";

/// Where it is installed.
pub(super) fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|directory| directory.join(NAME));
    found.filter(|program| program.is_absolute()).find(|program| program.is_file())
}

/// What this process has to become in order to be the command in its box.
pub(super) fn wrapped(
    program: &Path,
    confinement: &Confinement,
    directory: &Path,
    command: &[OsString],
) -> Result<Command, BoxError> {
    let plan = Plan::new(confinement)?;
    let mut arguments = Arguments::new(program, confinement.network);
    arguments.arrange(&plan)?;
    let own = std::env::current_exe()
        .map_err(|reason| BoxError::Path { path: "/proc/self/exe".into(), reason })?;
    arguments.add([OsStr::new("--ro-bind"), own.as_os_str(), OsStr::new(BINARY)]);
    // Nothing more has to be put into what is empty.
    arguments.close(&plan);
    arguments.add([OsStr::new("--chdir"), directory.as_os_str(), OsStr::new("--")]);
    let inner = inner(confinement, plan)?.to_text()?;
    let mut bwrap = Command::new(program);
    bwrap.args(&arguments.list).args([BINARY, "boxed", &inner, "--"]).args(command);
    Ok(bwrap)
}

/// What is left to do within the view.
fn inner(confinement: &Confinement, plan: Plan) -> Result<Confinement, BoxError> {
    let shown = plan.changes.iter().filter(|(_, change)| matches!(change, Change::Show(_)));
    let seen = shown.map(|(path, _)| seen(path)).collect::<Result<_, _>>()?;
    let mut inner = confinement.clone();
    inner.means.way = Way::Made(seen);
    inner.writable = plan.writable;
    inner.hidden = Arc::new([]);
    inner.secrets = Vec::new();
    Ok(inner)
}

pub(super) fn seen(path: &Path) -> Result<Seen, BoxError> {
    let about = fstat(open_real(path)?)
        .map_err(|err| BoxError::Path { path: path.to_owned(), reason: err.into() })?;
    Ok(Seen { path: path.to_owned(), device: about.st_dev, inode: about.st_ino })
}

/// Bubblewrap finds things by their paths; what an agent has put there meanwhile is not what was meant.
pub(super) fn check(seen_before: &[Seen]) -> Result<(), BoxError> {
    for before in seen_before {
        if seen(&before.path)? != *before {
            return Err(BoxError::Replaced(before.path.clone()));
        }
    }
    Ok(())
}

struct Arguments {
    list: Vec<OsString>,
}

impl Arguments {
    fn new(program: &Path, network: Network) -> Self {
        let mut all = Self { list: Vec::new() };
        let has_rights =
            program.metadata().is_ok_and(|about| about.permissions().mode() & 0o4000 != 0);
        if !has_rights {
            all.add(["--unshare-user-try"]);
        }
        all.add(["--unshare-ipc", "--unshare-pid", "--die-with-parent", "--cap-drop", "ALL"]);
        match network {
            Network::None => all.add(["--unshare-net"]),
            Network::Open => (),
        }
        all.add(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]);
        all
    }

    fn add<Part: AsRef<OsStr>>(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.list.extend(parts.into_iter().map(|part| part.as_ref().to_owned()));
    }

    fn arrange(&mut self, plan: &Plan) -> Result<(), BoxError> {
        for (at, (path, change)) in plan.changes.iter().enumerate() {
            let name = path.as_os_str();
            match change {
                Change::Show(Access::Write) => self.add([OsStr::new("--bind"), name, name]),
                Change::Show(Access::Read) => self.add([OsStr::new("--ro-bind"), name, name]),
                Change::Fresh => self.add([OsStr::new("--tmpfs"), name]),
                // What is in something empty is gone with it.
                Change::Hide if is_emptied(path, &plan.changes[..at]) => (),
                Change::Hide if path.is_dir() => self.add([OsStr::new("--tmpfs"), name]),
                Change::Hide => self.hide_file(path)?,
            }
        }
        Ok(())
    }

    fn hide_file(&mut self, path: &Path) -> Result<(), BoxError> {
        // Without CLOEXEC and never closed here: the program that this process becomes reads it, and finds nothing.
        let empty = openat(CWD, "/dev/null", OFlags::RDONLY, Mode::empty())
            .map_err(|err| BoxError::Path { path: "/dev/null".into(), reason: err.into() })?;
        let number = OsString::from(empty.into_raw_fd().to_string());
        self.add([OsStr::new("--ro-bind-data"), &number, path.as_os_str()]);
        Ok(())
    }

    fn close(&mut self, plan: &Plan) {
        for (at, (path, change)) in plan.changes.iter().enumerate() {
            let is_closed = match change {
                Change::Hide => path.is_dir() && !is_emptied(path, &plan.changes[..at]),
                Change::Fresh => path == Path::new("/run"),
                Change::Show(_) => false,
            };
            if is_closed {
                self.add([OsStr::new("--remount-ro"), path.as_os_str()]);
            }
        }
    }
}

/// Whether the nearest change around it leaves nothing there.
fn is_emptied(path: &Path, around: &[(PathBuf, Change)]) -> bool {
    let nearest = around.iter().rev().find(|(other, _)| path.starts_with(other) && other != path);
    nearest.is_some_and(|(_, change)| matches!(change, Change::Hide | Change::Fresh))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_something_empty_needs_not_be_hidden() {
        let show = Change::Show(Access::Write);
        let around = [("/a", Change::Hide), ("/a/b", show), ("/a/b/c", Change::Fresh)]
            .map(|(path, change)| (PathBuf::from(path), change));
        for (path, expected) in
            [("/a/x", true), ("/a/b/x", false), ("/a/b/c/x", true), ("/ab", false), ("/x", false)]
        {
            assert_eq!(is_emptied(Path::new(path), &around), expected, "{path}");
        }
    }

    #[test]
    fn what_was_replaced_meanwhile_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (place, other) = (directory.path().join("place"), directory.path().join("other"));
        std::fs::create_dir(&place).unwrap();
        std::fs::create_dir(&other).unwrap();
        let before = [seen(&place.canonicalize().unwrap()).unwrap()];
        check(&before).unwrap();
        std::fs::rename(&place, directory.path().join("old")).unwrap();
        std::os::unix::fs::symlink(&other, &place).unwrap();
        assert!(check(&before).is_err());
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&other, &place).unwrap();
        assert!(matches!(check(&before), Err(BoxError::Replaced(_))));
    }
}
