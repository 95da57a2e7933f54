//! What the system allows: watches, open files, and the length of a socket's path.

use super::Finding;
use crate::server::control;
use rustix::process::{Resource, getrlimit};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Other programs of the same user, such as editors, take their share.
const SPARE_WATCHES: u64 = 4096;
const INOTIFY: &str = "/proc/sys/fs/inotify";
/// Linux keeps 108 bytes for it, one of them for the end.
const LONGEST_SOCKET_PATH: usize = 107;

/// One watch is needed for each directory of the project.
pub(super) fn watches(directories: usize) -> Finding {
    let read = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("{INOTIFY}/{name}")).ok()?.trim().parse().ok()
    };
    judge_watches(read("max_user_watches"), read("max_user_instances"), directories)
}

fn judge_watches(most: Option<u64>, instances: Option<u64>, directories: usize) -> Finding {
    const CHECK: &str = "watches";
    let (Some(most), Some(instances)) = (most, instances) else {
        return Finding::warn(
            CHECK,
            format!("{INOTIFY} cannot be read"),
            "check that /proc is there; only Linux is tested",
        );
    };
    let wanted = u64::try_from(directories).unwrap_or(u64::MAX).saturating_add(SPARE_WATCHES);
    let found = format!(
        "{most} for this user, {instances} instances; the project has {directories} directories"
    );
    if most < wanted {
        let advice =
            format!("run `sudo sysctl fs.inotify.max_user_watches={}`", wanted.next_power_of_two());
        return Finding::warn(CHECK, found, advice);
    }
    if instances < 16 {
        return Finding::warn(CHECK, found, "run `sudo sysctl fs.inotify.max_user_instances=128`");
    }
    Finding::ok(CHECK, found)
}

/// The gateway raises its soft limit by itself.
pub(super) fn open_files(connections: usize) -> Finding {
    judge_files(getrlimit(Resource::Nofile).maximum, connections)
}

fn judge_files(most: Option<u64>, connections: usize) -> Finding {
    const CHECK: &str = "open files";
    let Some(most) = most else {
        return Finding::ok(CHECK, "as many as you like");
    };
    let found = format!("at most {most}; limits.connections is {connections}");
    if most < u64::try_from(connections).unwrap_or(u64::MAX) {
        return Finding::warn(
            CHECK,
            found,
            "raise `ulimit -Hn`, or lower limits.connections to what is needed",
        );
    }
    Finding::ok(CHECK, found)
}

pub(super) fn control_path(data: &Path) -> Finding {
    const CHECK: &str = "control";
    let path = control::path(data);
    let length = path.as_os_str().as_bytes().len();
    let found = format!("the path of control.sock has {length} of {LONGEST_SOCKET_PATH} bytes");
    if length > LONGEST_SOCKET_PATH {
        return Finding::warn(
            CHECK,
            found,
            "`kakehashi say` will not work; choose a shorter --data",
        );
    }
    Finding::ok(CHECK, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn too_few_watches_come_with_the_command_for_more() {
        let found = judge_watches(Some(8192), Some(128), 100_000);
        assert_eq!(found.verdict, Verdict::Warn);
        let advice = found.advice.unwrap();
        assert_eq!(advice, "run `sudo sysctl fs.inotify.max_user_watches=131072`");
        assert_eq!(judge_watches(Some(65536), Some(128), 100).verdict, Verdict::Ok);
        assert_eq!(judge_watches(Some(65536), Some(8), 100).verdict, Verdict::Warn);
        assert_eq!(judge_watches(None, Some(128), 0).verdict, Verdict::Warn);
    }

    #[test]
    fn fewer_files_than_connections_are_told() {
        assert_eq!(judge_files(Some(1024), 20_500).verdict, Verdict::Warn);
        assert_eq!(judge_files(Some(1_048_576), 20_500).verdict, Verdict::Ok);
        assert_eq!(judge_files(None, 20_500).verdict, Verdict::Ok);
    }

    #[test]
    fn a_path_at_the_limit_can_be_bound() {
        let dir = tempfile::tempdir().unwrap();
        let room = LONGEST_SOCKET_PATH - dir.path().as_os_str().len() - "/control.sock".len() - 1;
        for (length, verdict) in [(room, Verdict::Ok), (room + 1, Verdict::Warn)] {
            let data = dir.path().join("d".repeat(length));
            std::fs::create_dir(&data).unwrap();
            assert_eq!(control_path(&data).verdict, verdict);
            let bound = std::os::unix::net::UnixListener::bind(control::path(&data));
            assert_eq!(bound.is_ok(), verdict == Verdict::Ok);
        }
    }
}
