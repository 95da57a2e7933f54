//! A new root for a closed view. What is not put into it does not exist for anybody inside, by whatever path.

use super::closed::{ClosedView, Scratch};
use super::error::BoxError;
use super::library::{self, Link};
use super::view::{attach, clone, close, failed, make_mount_point};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::process::pivot_root;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Every system has it, and what was there is not needed any more when it is covered.
const BASE: &str = "/dev";
const PROC: &str = "/proc";
/// None of them leads to a disk, a terminal or the kernel.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];
/// Of the new root itself, which holds mount points and links only.
const OF_ROOT: &std::ffi::CStr = c"mode=0755,size=1m,nr_inodes=16k";

/// Only within namespaces of our own.
pub(super) fn arrange(view: &ClosedView) -> Result<(), BoxError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|err| failed(Path::new("/"), err.into()))?;
    // Before anything is covered. The first process of the process namespace mounts its own /proc over this one: the
    // kernel gives a new /proc only to those who see a whole one.
    let proc = clone(Path::new(PROC))?;
    let devices = DEVICES.iter().map(|path| Ok((PathBuf::from(path), clone(Path::new(path))?)));
    let shown = view.shown.iter().map(|one| Ok((one.inside.clone(), clone(&one.outside)?)));
    let trees = devices.chain(shown).collect::<Result<Vec<_>, BoxError>>()?;
    let links = library::links(view);
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", BASE, "tmpfs", flags, OF_ROOT)
        .map_err(|err| failed(Path::new(BASE), err.into()))?;
    fill(&view.scratch, proc, trees, links)?;
    leave_old_root().map_err(|reason| failed(Path::new("/"), reason))?;
    close(Path::new("/")).map_err(|reason| failed(Path::new("/"), reason))
}

fn fill(
    scratch: &Scratch,
    proc: OwnedFd,
    trees: Vec<(PathBuf, OwnedFd)>,
    links: Vec<Link>,
) -> Result<(), BoxError> {
    let proc_place = below_base(Path::new(PROC));
    fs::create_dir(&proc_place).map_err(|reason| failed(&proc_place, reason))?;
    attach(&proc, &proc_place)?;
    make_scratch(scratch)?;
    for (inside, tree) in trees {
        let place = below_base(&inside);
        make_mount_point(&place, &tree).map_err(|reason| failed(&place, reason))?;
        attach(&tree, &place)?;
        close(&place).map_err(|reason| failed(&place, reason))?;
    }
    for link in links {
        let place = below_base(&link.place);
        // What is shown there already is what the link would lead to.
        if place.symlink_metadata().is_ok() {
            continue;
        }
        let parent = place.parent().unwrap_or(Path::new(BASE));
        let made = fs::create_dir_all(parent).and_then(|()| symlink(&link.target, &place));
        made.map_err(|reason| failed(&place, reason))?;
    }
    Ok(())
}

fn make_scratch(scratch: &Scratch) -> Result<(), BoxError> {
    let place = below_base(&scratch.place);
    fs::create_dir_all(&place).map_err(|reason| failed(&place, reason))?;
    let options = format!("mode=0700,size={},nr_inodes={}", scratch.bytes, scratch.files);
    let options = std::ffi::CString::new(options).unwrap_or_default();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", &place, "tmpfs", flags, options.as_c_str())
        .map_err(|err| failed(&place, err.into()))
}

/// The old root is put on top of the new one, and taken away from there.
fn leave_old_root() -> io::Result<()> {
    std::env::set_current_dir(BASE)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")
}

fn below_base(path: &Path) -> PathBuf {
    Path::new(BASE).join(path.strip_prefix("/").unwrap_or(path))
}
