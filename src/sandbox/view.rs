//! What the disk looks like from within: everything read-only, hidden things empty, and in between what may be
//! changed. Nothing of this can be undone from inside, and nobody outside sees it.

use super::error::BoxError;
use super::namespace::Pids;
use super::plan::{Access, Change, Plan, open_real};
use rustix::fs::{CWD, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    mount_remount, move_mount, open_tree,
};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const PROC: &str = "/proc";
/// Of the real ones; none of them leads to a disk, a terminal or the kernel.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// What a new `/proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processes {
    /// And what the kernel says about itself and the machine.
    AndKernel,
    Only,
}

/// Only within namespaces of our own.
pub(super) fn arrange(plan: &Plan, pids: Pids) -> Result<(), BoxError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|err| failed(Path::new("/"), err.into()))?;
    let devices = DEVICES.map(|name| Path::new("/dev").join(name));
    let devices = devices.iter().filter(|path| path.exists());
    let devices: Vec<_> = devices.map(|path| Ok((path, clone(path)?))).collect::<Result<_, _>>()?;
    // Before anything is closed, so that they stay as they are.
    let shown = plan.changes.iter().map(|(path, change)| match change {
        Change::Show(_) => clone(plan.outside(path)).map(Some),
        Change::Hide | Change::Fresh => Ok(None),
    });
    let shown = shown.collect::<Result<Vec<_>, _>>()?;
    close_everything()?;
    match pids {
        Pids::Own => hide_other_proc()?,
        Pids::Shared => (),
    }
    for ((path, change), tree) in plan.changes.iter().zip(shown) {
        match (change, tree) {
            (Change::Show(access), Some(tree)) => show(path, &tree, *access)?,
            (Change::Fresh, _) => refresh(path)?,
            (Change::Hide | Change::Show(_), _) => hide(path)?,
        }
    }
    make_devices(devices)
}

/// The `/proc` of this process's own namespace, and nobody else's. Read-only, as systems demand whose own one is.
pub(super) fn renew_proc(shows: Processes) -> Result<(), BoxError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    let options = match shows {
        Processes::AndKernel => None,
        Processes::Only => Some(c"subset=pid"),
    };
    mount("proc", PROC, "proc", flags, options).map_err(|err| failed(Path::new(PROC), err.into()))
}

/// Elsewhere there may be further ones, which show all processes of the machine.
fn hide_other_proc() -> Result<(), BoxError> {
    for line in mounts()?.split(|&byte| byte == b'\n') {
        let Some(path) = mount_point(line).filter(|path| !path.starts_with(PROC)) else { continue };
        if file_system(line) == Some(b"proc") {
            hide(&path)?;
        }
    }
    Ok(())
}

/// A copy of what is mounted there, which stays as it is now.
pub(super) fn clone(path: &Path) -> Result<OwnedFd, BoxError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let opened = open_real(path)?;
    open_tree(opened, "", flags).map_err(|err| failed(path, err.into()))
}

/// Landlock refuses to write, but knows nothing of owners, rights and times of files.
fn close_everything() -> Result<(), BoxError> {
    for line in mounts()?.split(|&byte| byte == b'\n') {
        let Some(path) = mount_point(line) else { continue };
        let is_special = [PROC, "/dev"].iter().any(|special| path.starts_with(special));
        let closed = if is_special { Ok(()) } else { close(&path) };
        // What cannot be looked at cannot be changed either.
        if let Err(err) = closed
            && path == Path::new("/")
        {
            return Err(failed(&path, err));
        }
    }
    Ok(())
}

fn mounts() -> Result<Vec<u8>, BoxError> {
    let file = "/proc/self/mountinfo";
    fs::read(file).map_err(|reason| BoxError::Path { path: file.into(), reason })
}

/// See proc_pid_mountinfo(5): the first field after a lone hyphen.
fn file_system(line: &[u8]) -> Option<&[u8]> {
    line.split(|&byte| byte == b' ').skip_while(|field| *field != b"-").nth(1)
}

/// See proc_pid_mountinfo(5): the fifth field, with spaces and the like as octal numbers.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let field = line.split(|&byte| byte == b' ').nth(4)?;
    let mut path = Vec::new();
    let mut rest = field.iter();
    while let Some(&byte) = rest.next() {
        if byte == b'\\' {
            let digits = rest.by_ref().take(3).map(|digit| u32::from(digit & 7));
            let code = digits.fold(0, |code, digit| code * 8 + digit);
            path.push(u8::try_from(code).ok()?);
        } else {
            path.push(byte);
        }
    }
    Some(OsString::from_vec(path).into())
}

/// Makes one mount read-only. What else it was, it has to stay.
pub(super) fn close(path: &Path) -> io::Result<()> {
    const RELATIVE_TIMES: u64 = 4096;
    let was = statvfs(path)?.f_flag.bits();
    let mut flags = MountFlags::from_bits_retain(u32::try_from(was & 0xc0e).unwrap_or(0));
    if was & RELATIVE_TIMES != 0 {
        flags |= MountFlags::RELATIME;
    }
    Ok(mount_remount(path, flags | MountFlags::BIND | MountFlags::RDONLY, "")?)
}

/// It may be in something that is empty by now.
fn hide(path: &Path) -> Result<(), BoxError> {
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => put_tmpfs(path, c"mode=0755,size=1m"),
        Ok(_) => hide_file(path),
        Err(_) => Ok(()),
    }
}

fn refresh(path: &Path) -> Result<(), BoxError> {
    match path.symlink_metadata() {
        Ok(_) => put_tmpfs(path, c"mode=1777"),
        Err(_) => Ok(()),
    }
}

fn show(path: &Path, tree: &OwnedFd, access: Access) -> Result<(), BoxError> {
    make_mount_point(path, tree)
        .map_err(|reason| BoxError::Path { path: path.to_owned(), reason })?;
    attach(tree, path)?;
    match access {
        Access::Read => close(path).map_err(|reason| failed(path, reason)),
        Access::Write => Ok(()),
    }
}

fn put_tmpfs(path: &Path, options: &std::ffi::CStr) -> Result<(), BoxError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", path, "tmpfs", flags, options).map_err(|err| failed(path, err.into()))
}

/// Read-only, because the rights of the file are those of everybody's /dev/null.
fn hide_file(path: &Path) -> Result<(), BoxError> {
    attach(&clone(Path::new("/dev/null"))?, path)?;
    close(path).map_err(|reason| failed(path, reason))
}

pub(super) fn attach(tree: &OwnedFd, path: &Path) -> Result<(), BoxError> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(tree, "", CWD, path, flags).map_err(|err| failed(path, err.into()))
}

/// Only in something that was emptied is there nothing yet.
pub(super) fn make_mount_point(path: &Path, tree: &OwnedFd) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let is_dir = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(tree)?.st_mode).is_dir();
    if is_dir {
        return fs::create_dir_all(path);
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    File::create(path).map(drop)
}

/// The few devices that programs need, terminals and shared memory of its own.
fn make_devices(devices: Vec<(&PathBuf, OwnedFd)>) -> Result<(), BoxError> {
    let dev = Path::new("/dev");
    put_tmpfs(dev, c"mode=0755")?;
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |reason| BoxError::Path { path, reason }
    };
    for (path, tree) in devices {
        File::create(path).map_err(unusable(path))?;
        attach(&tree, path)?;
        close(path).map_err(|reason| failed(path, reason))?;
    }
    for (name, target) in DEVICE_LINKS {
        symlink(target, dev.join(name)).map_err(unusable(dev))?;
    }
    let (pts, shm) = (dev.join("pts"), dev.join("shm"));
    fs::create_dir(&pts).map_err(unusable(&pts))?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", &pts, "devpts", flags, c"newinstance,ptmxmode=0666,mode=620")
        .map_err(|err| failed(&pts, err.into()))?;
    fs::create_dir(&shm).map_err(unusable(&shm))?;
    fs::set_permissions(&shm, fs::Permissions::from_mode(0o1777)).map_err(unusable(&shm))
}

pub(super) fn failed(path: &Path, reason: io::Error) -> BoxError {
    BoxError::Mount { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_whatever_their_name() {
        let line = b"36 35 98:0 / /a\\040b\\134c rw,noatime - ext3 /dev/root rw";
        assert_eq!(mount_point(line).unwrap(), Path::new("/a b\\c"));
        assert_eq!(file_system(line), Some(b"ext3".as_slice()));
        let shared = b"22 27 0:21 / /proc rw shared:5 master:1 - proc proc rw";
        assert_eq!(file_system(shared), Some(b"proc".as_slice()));
        assert_eq!(file_system(b""), None);
        assert_eq!(mount_point(b""), None);
    }
}
