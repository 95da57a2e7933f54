//! Finds the processes that came out of an agent, through `/proc`: by group, by parent, by the inherited mark.
//! Where there is no `/proc`, it finds nothing and the group has to do.

use rustix::process::Pid;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// A process whose new parent is gone again, too, is looked at so often.
const LOOKS_AT_ORPHANS: usize = 3;

/// A number alone may be given to another process later; with its start it is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) struct Process {
    pub(in super::super) pid: Pid,
    pub(crate) group: Pid,
    started: u64,
}

impl Process {
    /// Whether it is the same one, in whatever group by now.
    pub(in super::super) fn is(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

#[derive(Debug, Clone)]
pub(in super::super) struct Search {
    /// How `NAME=VALUE` begins in the environment of everything that was started.
    pub(in super::super) variable: String,
    /// The group of the running command.
    pub(in super::super) group: Option<Pid>,
    /// Found earlier; they and their children count even if everything else about them changed.
    pub(in super::super) known: Vec<Process>,
}

/// Everything that is alive now; processes that only wait to be reaped are not. Reads many files.
pub(in super::super) fn living(search: &Search) -> Vec<Process> {
    let entries = entries();
    let roots = entries.iter().filter(|entry| entry.is_root(search));
    let roots = roots.map(|entry| entry.process.pid).collect();
    family(&entries, roots)
}

/// Whether a process that is searched for is alive.
pub(in super::super) fn any_root(search: &Search) -> bool {
    entries().iter().any(|entry| entry.is_alive && entry.is_root(search))
}

/// The same for everything that came out of this process, without itself.
pub(in super::super) fn below(root: Pid) -> Vec<Process> {
    let mut found = family(&entries(), HashSet::from([root]));
    found.retain(|process| process.pid != root);
    found
}

fn family(entries: &[Entry], mut found: HashSet<Pid>) -> Vec<Process> {
    // Parents need not come before their children in the list, so repeat until nothing is added.
    let mut before = usize::MAX;
    while before != found.len() {
        before = found.len();
        for entry in entries {
            if entry.parent.is_some_and(|parent| found.contains(&parent)) {
                found.insert(entry.process.pid);
            }
        }
    }
    let alive = entries.iter().filter(|entry| entry.is_alive && found.contains(&entry.process.pid));
    alive.map(|entry| entry.process).collect()
}

#[derive(Debug)]
struct Entry {
    process: Process,
    parent: Option<Pid>,
    is_alive: bool,
}

impl Entry {
    fn is_root(&self, search: &Search) -> bool {
        search.known.iter().any(|known| known.is(&self.process))
            || Some(self.process.group) == search.group
            || has_variable(self.process.pid, &search.variable)
    }
}

fn entries() -> Vec<Entry> {
    let Ok(directory) = fs::read_dir("/proc") else { return Vec::new() };
    let paths = directory.filter_map(|entry| Some(entry.ok()?.path()));
    let mut entries: Vec<Entry> = paths.filter_map(|path| read_entry(&path)).collect();
    for _ in 0..LOOKS_AT_ORPHANS {
        if !adopt_orphans(&mut entries) {
            break;
        }
    }
    entries
}

/// Reads a process again whose parent ended while the others were read: it has another parent by now, which says whose
/// it is. Without this a chain of forks would be in nobody's family. False: there was none.
fn adopt_orphans(entries: &mut Vec<Entry>) -> bool {
    let known: HashSet<Pid> = entries.iter().map(|entry| entry.process.pid).collect();
    let mut orphans = false;
    entries.retain_mut(|entry| {
        if entry.parent.is_none_or(|parent| known.contains(&parent)) {
            return true;
        }
        orphans = true;
        let path = format!("/proc/{}", entry.process.pid.as_raw_nonzero());
        read_entry(Path::new(&path)).map(|again| *entry = again).is_some()
    });
    orphans
}

fn read_entry(path: &Path) -> Option<Entry> {
    let pid = path.file_name()?.to_str()?.parse().ok()?;
    // A program's name may hold any byte.
    let stat = fs::read(path.join("stat")).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(&stat))
}

/// See proc_pid_stat(5). The name in parentheses may itself contain spaces and parentheses.
fn parse_stat(pid: i32, stat: &str) -> Option<Entry> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    let started = fields.get(19)?.parse().ok()?;
    // Kernel threads are in group 0 and not ours; a process that is just being taken apart is in group -1.
    let known = |raw: i32| Pid::from_raw(raw.max(0));
    let process = Process { pid: known(pid)?, group: known(number(2)?)?, started };
    let is_alive = !matches!(*fields.first()?, "Z" | "X" | "x");
    Some(Entry { process, parent: known(number(1)?), is_alive })
}

/// Processes of other users cannot be read and are not ours.
fn has_variable(pid: Pid, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    environment.is_ok_and(|all| {
        all.split(|&byte| byte == 0).any(|one| one.starts_with(variable.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_whatever_the_name() {
        let stat = "7 (a) b (c)) S 3 5 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 999 1\n";
        let entry = parse_stat(7, stat).unwrap();
        assert_eq!(entry.parent, Pid::from_raw(3));
        assert_eq!(Some(entry.process.group), Pid::from_raw(5));
        assert_eq!((entry.process.started, entry.is_alive), (12_345, true));
    }

    #[test]
    fn zombie_is_not_alive() {
        let stat = "7 (a) Z 3 5 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 999 1\n";
        assert!(!parse_stat(7, stat).unwrap().is_alive);
    }

    #[test]
    fn a_process_that_is_being_taken_apart_is_none() {
        let stat = "7 (a) X 0 -1 -1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 999 1\n";
        assert!(parse_stat(7, stat).is_none());
    }

    #[test]
    fn nonsense_is_no_process() {
        for stat in ["", "7 (a", "7 (a) S", "7 (a) S x y z"] {
            assert!(parse_stat(7, stat).is_none());
        }
    }
}
