//! The data directory: rights, owner, space, and the database in it.

use super::Finding;
use crate::data_dir;
use crate::store;
use rustix::fs::{Access, access, statvfs};
use std::io;
use std::path::Path;

/// A database that cannot grow stops the gateway's work.
const TOO_LITTLE: u64 = 64 << 20;
/// Uploads and backups need room.
const LITTLE: u64 = 1 << 30;

/// Also tells whether a gateway is running with this directory.
pub(super) fn look(data: &Path) -> (Vec<Finding>, bool) {
    let taken = data_dir::is_taken(data);
    let running = matches!(taken, Ok(true));
    let mut findings = vec![directory(data)];
    if data.is_dir() {
        findings.push(owner(taken));
    }
    findings.push(space(existing(data)));
    findings.push(database(&data.join(store::FILE)));
    (findings, running)
}

fn directory(data: &Path) -> Finding {
    const CHECK: &str = "data";
    let shown = data.display();
    let beginning = existing(data);
    if !beginning.is_dir() {
        let found = format!("{} is not a directory", beginning.display());
        return Finding::fail(CHECK, found, "choose another with --data");
    }
    if let Err(err) = access(beginning, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        let found = format!("{} cannot be written: {err}", beginning.display());
        return Finding::fail(CHECK, found, "change its rights, or choose another with --data");
    }
    if beginning != data {
        return Finding::ok(CHECK, format!("{shown} does not exist yet and will be made"));
    }
    if let Some(mode) = data_dir::open_to_others(data) {
        let found = format!("{shown} is writable, and open to others (mode {mode:03o})");
        return Finding::warn(CHECK, found, "run `chmod 700` on it");
    }
    Finding::ok(CHECK, format!("{shown} is writable, and for its owner only"))
}

fn owner(taken: io::Result<bool>) -> Finding {
    const CHECK: &str = "gateway";
    match taken {
        Ok(false) => Finding::ok(CHECK, "none is running with this data directory"),
        Ok(true) => Finding::ok(CHECK, "one is running with this data directory")
            .with("stop it before you start another, or use another --data"),
        Err(err) => Finding::fail(
            CHECK,
            format!("the lock file cannot be opened: {err}"),
            "let its owner start the gateway, or use another --data",
        ),
    }
}

fn space(place: &Path) -> Finding {
    const CHECK: &str = "space";
    match statvfs(place) {
        Ok(disk) => judge_space(disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(err) => Finding::warn(
            CHECK,
            format!("free space is not known: {err}"),
            "look for yourself with `df`",
        ),
    }
}

fn judge_space(free: u64) -> Finding {
    const CHECK: &str = "space";
    let found = format!("{} MiB free for the data directory", free >> 20);
    if free < TOO_LITTLE {
        Finding::fail(CHECK, found, "make room, or choose another disk with --data")
    } else if free < LITTLE {
        Finding::warn(CHECK, found, "make room; uploads and history only grow")
    } else {
        Finding::ok(CHECK, found)
    }
}

fn database(path: &Path) -> Finding {
    const CHECK: &str = "database";
    if !path.exists() {
        return Finding::ok(CHECK, "there is none yet; the gateway makes it at its first start");
    }
    let file = path.display();
    match store::inspect(path) {
        Ok(store::Inspection { damage: Some(damage), .. }) => Finding::fail(
            CHECK,
            format!("{file} is damaged: {damage}"),
            store::repair_instructions(path),
        ),
        Ok(found) if found.schema > found.known => Finding::fail(
            CHECK,
            format!("schema {} is newer than this version's {}", found.schema, found.known),
            "use the newer version, or another --data",
        ),
        Ok(found) if found.schema < found.known => Finding::ok(
            CHECK,
            format!("schema {}; the next start brings it to {}", found.schema, found.known),
        ),
        Ok(found) => Finding::ok(
            CHECK,
            format!("schema {}, {} sessions, {} KiB", found.schema, found.sessions, found.kib),
        ),
        Err(err) => Finding::fail(
            CHECK,
            format!("{file} cannot be opened: {err}"),
            "check its rights, or put a backup in its place",
        ),
    }
}

/// The path itself, or the nearest directory above it that exists.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|place| place.symlink_metadata().is_ok()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_that_will_be_made_is_fine() {
        let dir = tempfile::tempdir().unwrap();
        let (findings, running) = look(&dir.path().join("a/b"));
        assert!(!running);
        assert!(findings.iter().all(|finding| finding.verdict != Verdict::Fail), "{findings:?}");
        assert!(findings[0].found.ends_with("a/b does not exist yet and will be made"));
        assert!(!dir.path().join("a").exists());
    }

    #[test]
    fn a_file_in_the_way_is_a_failure() {
        let found = directory(Path::new("/dev/null/data"));
        assert_eq!(found.verdict, Verdict::Fail);
        assert_eq!(found.found, "/dev/null is not a directory");
    }

    #[test]
    fn others_may_not_look() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
        assert_eq!(directory(dir.path()).verdict, Verdict::Ok);
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let found = directory(dir.path());
        assert_eq!(found.verdict, Verdict::Warn);
        assert!(found.found.ends_with("(mode 755)"), "{found:?}");
    }

    #[test]
    fn space_is_judged_by_what_is_free() {
        assert_eq!(judge_space(0).verdict, Verdict::Fail);
        assert_eq!(judge_space(TOO_LITTLE).verdict, Verdict::Warn);
        assert_eq!(judge_space(LITTLE).verdict, Verdict::Ok);
    }

    #[test]
    fn what_is_no_database_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kakehashi.db");
        std::fs::write(&path, "surely not").unwrap();
        assert_eq!(database(&path).verdict, Verdict::Fail);
    }
}
