//! Limits on WebSockets and event streams, in total and per user.

use crate::message::{ConnectionId, Principal};
use dashmap::DashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

#[derive(Debug, Default)]
pub struct Sockets {
    open: AtomicUsize,
    by_principal: DashMap<Principal, usize>,
    last_id: AtomicU64,
}

/// One socket that counts towards the limits, until this is dropped.
#[derive(Debug)]
pub(super) struct SocketPlace {
    sockets: Arc<Sockets>,
    pub(super) principal: Principal,
    pub(super) connection: ConnectionId,
}

/// Which limit is reached.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LimitReached {
    Server,
    Principal,
}

impl Sockets {
    pub(super) fn enter(
        self: &Arc<Self>,
        principal: &Principal,
        limit: usize,
        limit_per_principal: usize,
    ) -> Result<SocketPlace, LimitReached> {
        if self.open.fetch_add(1, Relaxed) >= limit {
            self.open.fetch_sub(1, Relaxed);
            return Err(LimitReached::Server);
        }
        let mut count = self.by_principal.entry(principal.clone()).or_default();
        if *count >= limit_per_principal {
            self.open.fetch_sub(1, Relaxed);
            return Err(LimitReached::Principal);
        }
        *count += 1;
        let connection = ConnectionId(self.last_id.fetch_add(1, Relaxed));
        Ok(SocketPlace { sockets: Arc::clone(self), principal: principal.clone(), connection })
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        self.sockets.open.fetch_sub(1, Relaxed);
        if let Some(mut count) = self.sockets.by_principal.get_mut(&self.principal) {
            *count -= 1;
        }
        self.sockets.by_principal.remove_if(&self.principal, |_, count| *count == 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_limited_in_total_and_per_user_and_count_until_they_are_dropped() {
        let sockets = Arc::new(Sockets::default());
        let (one, two) = (Principal::new("one"), Principal::new("two"));
        let first = sockets.enter(&one, 3, 2).unwrap();
        let _second = sockets.enter(&one, 3, 2).unwrap();
        assert_eq!(sockets.enter(&one, 3, 2).unwrap_err(), LimitReached::Principal);
        let _third = sockets.enter(&two, 3, 2).unwrap();
        assert_eq!(sockets.enter(&two, 3, 2).unwrap_err(), LimitReached::Server);
        drop(first);
        assert!(sockets.enter(&one, 3, 2).is_ok());
    }
}
