//! How much of the machine an agent and each process of it may take.

use super::closed::ClosedView;
use super::error::BoxError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// `None` leaves a limit as the gateway has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads of one box; where it has no users of its own, those of the gateway's user. The kernel
    /// does not count root's.
    pub processes: Option<u64>,
    /// Of one process.
    pub open_files: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: Some(4096), open_files: Some(65_536) }
    }
}

/// Memory that is written to disk when something fails would hold keys.
pub(super) fn apply(limits: Limits) -> Result<(), BoxError> {
    let all = [
        (Resource::Core, Some(0)),
        (Resource::Nproc, limits.processes),
        (Resource::Nofile, limits.open_files),
    ];
    for (resource, most) in all {
        let Some(most) = most else { continue };
        let lowered = lowered(getrlimit(resource), most);
        setrlimit(resource, lowered).map_err(|err| BoxError::Limits(err.into()))?;
    }
    Ok(())
}

/// What a process in a closed view may take besides: address space, and one file can fill its place and no more.
pub(super) fn apply_closed(view: &ClosedView) -> Result<(), BoxError> {
    for (resource, most) in [(Resource::As, view.memory), (Resource::Fsize, view.scratch.bytes)] {
        let lowered = lowered(getrlimit(resource), most);
        setrlimit(resource, lowered).map_err(|err| BoxError::Limits(err.into()))?;
    }
    Ok(())
}

/// Nothing becomes more than it was.
fn lowered(was: Rlimit, most: u64) -> Rlimit {
    let least = |was: Option<u64>| Some(was.map_or(most, |was| was.min(most)));
    Rlimit { current: least(was.current), maximum: least(was.maximum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_only_takes_away() {
        let was = |current, maximum| Rlimit { current, maximum };
        for (before, after) in [
            (was(Some(1024), Some(5000)), (Some(100), Some(100))),
            (was(Some(50), Some(5000)), (Some(50), Some(100))),
            (was(Some(50), Some(60)), (Some(50), Some(60))),
            (was(None, None), (Some(100), Some(100))),
        ] {
            let lowered = lowered(before, 100);
            assert_eq!((lowered.current, lowered.maximum), after);
        }
    }
}
