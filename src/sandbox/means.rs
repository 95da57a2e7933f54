//! What a box is made of on this system, and what such a box lacks.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The first version of Landlock that closes ports.
pub(super) const CLOSES_PORTS: u8 = 4;
/// The first that keeps signals and abstract sockets within the box; later ones have nothing that we need.
pub(super) const KEEPS_SIGNALS: u8 = 6;

/// How a box is made, in the words of the settings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wish {
    /// By ourselves if that makes a whole box, else by bubblewrap if that helps.
    #[default]
    Auto,
    Own,
    Bwrap,
}

/// How the disk gets to look as it does from within.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// By namespaces and mounts of our own, one of them of processes.
    Own,
    /// By our own without one of processes, where the system does not give us that or its own `/proc`.
    SharedPids,
    /// By this program, which may have rights that we do not have.
    Bwrap(PathBuf),
    /// For the first process of a new process namespace: only `/proc` is left to do; this is what has to be there.
    First(Vec<Seen>),
    /// It looks like that already; this is what has to be there.
    Made(Vec<Seen>),
}

/// What is at a path, whatever else is called the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub(super) path: PathBuf,
    pub(super) device: u64,
    pub(super) inode: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Means {
    pub way: Way,
    /// The version of Landlock that is used, 1 to 6. A kernel with less does not make this box.
    pub landlock: u8,
}

impl Means {
    /// What a kernel since Linux 6.12 has.
    pub fn whole() -> Self {
        Self { way: Way::Own, landlock: KEEPS_SIGNALS }
    }

    /// Whether the box has a process namespace: its agents can name no process outside, and all of them end with the
    /// namespace's first process.
    pub fn has_own_pids(&self) -> bool {
        match self.way {
            Way::Own | Way::Bwrap(_) | Way::First(_) | Way::Made(_) => true,
            Way::SharedPids => false,
        }
    }

    /// Whether agents can signal only what is in the box with them.
    pub fn keeps_signals(&self) -> bool {
        self.has_own_pids() || self.landlock >= KEEPS_SIGNALS
    }

    /// What this box does not stop, for people.
    pub fn lacks(&self) -> Vec<&'static str> {
        let mut lacks = Vec::new();
        if !self.has_own_pids() {
            lacks.push(
                "there is no process namespace, so programs that fork fast enough outlive a stop, and agents see which processes run here",
            );
        }
        if !self.keeps_signals() {
            lacks.push("agents can end other processes of this user");
        }
        if self.landlock < KEEPS_SIGNALS {
            lacks.push("agents with the network reach abstract sockets of other programs");
        }
        if self.landlock < CLOSES_PORTS {
            lacks.push(
                "agents with the network reach the gateway's port, although not with its token",
            );
        }
        lacks
    }
}

impl fmt::Display for Means {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match &self.way {
            Way::Own | Way::First(_) | Way::Made(_) => "namespaces of our own".to_owned(),
            Way::SharedPids => "namespaces of our own, but none of processes".to_owned(),
            Way::Bwrap(program) => format!("bubblewrap ({})", program.display()),
        };
        write!(out, "{way}, Landlock {} and a filter of system calls", self.landlock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_kernels_lack_is_told() {
        let own = |landlock| Means { way: Way::Own, landlock }.lacks();
        let shared = |landlock| Means { way: Way::SharedPids, landlock }.lacks();
        let bwrap = |landlock| Means { way: Way::Bwrap("/bwrap".into()), landlock }.lacks();
        let words = |lacks: Vec<&'static str>| {
            let has = |word: &str| lacks.iter().any(|one| one.contains(word));
            (has("other processes"), has("abstract sockets"), has("port"), has("outlive a stop"))
        };
        for landlock in [1, 2] {
            assert_eq!(words(shared(landlock)), (true, true, true, true));
            assert_eq!(words(own(landlock)), (false, true, true, false));
            assert_eq!(words(bwrap(landlock)), (false, true, true, false));
        }
        assert_eq!(words(shared(4)), (true, true, false, true));
        assert_eq!(words(own(4)), (false, true, false, false));
        assert_eq!(words(shared(6)), (false, false, false, true));
        assert!(own(6).is_empty() && bwrap(6).is_empty());
    }
}
