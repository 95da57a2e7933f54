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
    /// By namespaces and mounts of our own.
    Own,
    /// By this program, which may have rights that we do not have.
    Bwrap(PathBuf),
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

    /// Whether agents can signal only what is in the box with them. Bubblewrap gives them process numbers of their own.
    pub fn keeps_signals(&self) -> bool {
        match self.way {
            Way::Own => self.landlock >= KEEPS_SIGNALS,
            Way::Bwrap(_) | Way::Made(_) => true,
        }
    }

    /// What this box does not stop, for people.
    pub fn lacks(&self) -> Vec<&'static str> {
        let mut lacks = Vec::new();
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
        match &self.way {
            Way::Own | Way::Made(_) => out.write_str("namespaces of our own")?,
            Way::Bwrap(program) => write!(out, "bubblewrap ({})", program.display())?,
        }
        write!(out, ", Landlock {} and a filter of system calls", self.landlock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_kernels_lack_is_told() {
        let own = |landlock| Means { way: Way::Own, landlock }.lacks();
        let bwrap = |landlock| Means { way: Way::Bwrap("/bwrap".into()), landlock }.lacks();
        let words = |lacks: Vec<&'static str>| {
            let has = |word: &str| lacks.iter().any(|one| one.contains(word));
            (has("other processes"), has("abstract sockets"), has("port"))
        };
        for landlock in [1, 2] {
            assert_eq!(words(own(landlock)), (true, true, true));
            assert_eq!(words(bwrap(landlock)), (false, true, true));
        }
        assert_eq!(words(own(4)), (true, true, false));
        assert_eq!(words(bwrap(4)), (false, true, false));
        assert!(own(6).is_empty() && bwrap(6).is_empty());
    }
}
