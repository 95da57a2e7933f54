//! The same view made by bubblewrap, for systems that give us no namespaces but have given it the right to make some.
//! It becomes our own binary again within the view, which then closes the rest.

use super::error::BoxError;
use super::inner::{again, inner};
use super::means::Way;
use super::plan::{Access, Change, Plan};
use super::{Confinement, Network};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::{OsStr, OsString};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let mut bwrap = Command::new(program);
    bwrap.args(&arguments.list).arg(BINARY);
    let inner = inner(confinement, &plan, |path| plan.outside(path), Way::Made)?;
    again(&mut bwrap, &inner, command)?;
    Ok(bwrap)
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
            let (name, outside) = (path.as_os_str(), plan.outside(path).as_os_str());
            match change {
                Change::Show(Access::Write) => self.add([OsStr::new("--bind"), outside, name]),
                Change::Show(Access::Read) => self.add([OsStr::new("--ro-bind"), outside, name]),
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
}
