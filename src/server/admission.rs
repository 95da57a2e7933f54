//! Limits on open connections, in total and per address. Each connection holds its permit until it is closed, so a
//! WebSocket counts for its whole life.

use crate::config::Limits;
use crate::metrics::{ConnectionRefused, Held, Metrics};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

#[derive(Debug)]
pub(super) struct Admission {
    limit: usize,
    limit_per_address: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    tracker: TaskTracker,
    metrics: Metrics,
}

impl Admission {
    pub(super) fn new(limits: &Limits, metrics: &Metrics) -> Self {
        Self {
            limit: limits.connections,
            limit_per_address: limits.connections_per_address,
            open: Arc::default(),
            tracker: TaskTracker::new(),
            metrics: metrics.clone(),
        }
    }

    pub(super) fn admit(&self, address: IpAddr) -> Result<Permit, ConnectionRefused> {
        if self.tracker.len() >= self.limit {
            return Err(ConnectionRefused::TooMany);
        }
        let mut open = locked(&self.open);
        let count = open.entry(address).or_default();
        if *count >= self.limit_per_address {
            return Err(ConnectionRefused::TooManyFromAddress);
        }
        *count += 1;
        drop(open);
        Ok(Permit {
            address,
            open: Arc::clone(&self.open),
            _tracked: self.tracker.token(),
            _counted: self.metrics.connection_opened(),
        })
    }

    /// Waits until every permit is dropped.
    pub(super) async fn drained(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Held by one open connection; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Permit {
    address: IpAddr,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _tracked: TaskTrackerToken,
    _counted: Held,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = locked(&self.open);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// Nothing panics while the lock is held, so the counts are right even if the mutex is poisoned.
fn locked(open: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use std::net::Ipv4Addr;

    fn admission(limit: usize, limit_per_address: usize) -> Admission {
        let mut limits = Config::for_test("/", "/").limits;
        (limits.connections, limits.connections_per_address) = (limit, limit_per_address);
        Admission::new(&limits, &Metrics::new())
    }

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(127, 0, 0, last).into()
    }

    #[test]
    fn one_address_cannot_take_everything() {
        let admission = admission(10, 2);
        let first = admission.admit(address(1)).unwrap();
        let _second = admission.admit(address(1)).unwrap();
        assert_eq!(admission.admit(address(1)).unwrap_err(), ConnectionRefused::TooManyFromAddress);
        let _other = admission.admit(address(2)).unwrap();
        drop(first);
        let _again = admission.admit(address(1)).unwrap();
    }

    #[test]
    fn all_addresses_together_are_limited() {
        let admission = admission(1, 2);
        let first = admission.admit(address(1)).unwrap();
        assert_eq!(admission.admit(address(2)).unwrap_err(), ConnectionRefused::TooMany);
        drop(first);
        assert_eq!(locked(&admission.open).len(), 0);
    }
}
