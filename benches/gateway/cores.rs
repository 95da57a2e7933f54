//! Who runs where. Clients and servers that share a core measure how the system shares it out: which of them is woken
//! where changes a round trip more than anything that a server does.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The first core is the client's.
pub(crate) fn of_client<T>(work: impl FnOnce() -> T) -> T {
    on(|place| place == 0, work)
}

/// The others are the server's. What is started there stays there.
pub(crate) fn of_servers<T>(work: impl FnOnce() -> T) -> T {
    on(|place| place > 0, work)
}

/// The cores of the servers.
pub(crate) fn servers() -> Vec<usize> {
    let cores = usable();
    if cores.len() > 1 { cores[1..].to_vec() } else { cores }
}

/// This thread runs on that core from now on.
pub(crate) fn only(core: usize) {
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).unwrap();
}

/// Runs it on some of the cores that this thread may use; on any, if those would be none.
fn on<T>(wanted: impl Fn(usize) -> bool, work: impl FnOnce() -> T) -> T {
    let all = sched_getaffinity(None).unwrap();
    let cores = usable();
    let mut some = CpuSet::new();
    cores
        .iter()
        .enumerate()
        .filter(|(place, _)| wanted(*place))
        .for_each(|(_, core)| some.set(*core));
    if cores.len() > 1 {
        sched_setaffinity(None, &some).unwrap();
    }
    let result = work();
    sched_setaffinity(None, &all).unwrap();
    result
}

fn usable() -> Vec<usize> {
    let all = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect()
}
