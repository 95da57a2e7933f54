//! Conversations whose socket has just closed. A page that keeps nothing itself reconnects without saying which
//! conversation it shows; it goes on with the one that it left, if that is clear.

use crate::message::{Principal, Seq, SessionId};
use dashmap::DashMap;
use std::time::Duration;
use tokio::time::Instant;

/// A page that comes back later begins anew.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Sockets that are remembered for one user; the oldest one makes room.
const MOST: usize = 16;

#[derive(Debug, Default)]
pub(in crate::server) struct Recent {
    left: DashMap<Principal, Vec<Left>>,
}

/// A conversation, and the last event that its page was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) session: SessionId,
    pub(super) told: Seq,
    at: Instant,
}

impl Recent {
    pub(super) fn note(&self, principal: &Principal, session: SessionId, told: Seq) {
        let mut left = self.left.entry(principal.clone()).or_default();
        left.retain(|one| one.session != session && one.at.elapsed() < REMEMBERED);
        if left.len() >= MOST {
            left.remove(0);
        }
        left.push(Left { session, told, at: Instant::now() });
    }

    /// The conversation that the page left; `None` if none or several could be meant.
    pub(super) fn take(&self, principal: &Principal) -> Option<Left> {
        let (_, mut left) = self.left.remove(principal)?;
        left.retain(|one| one.at.elapsed() < REMEMBERED);
        if left.len() == 1 {
            return left.pop();
        }
        if !left.is_empty() {
            self.left.insert(principal.clone(), left);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn only_a_clear_conversation_is_taken_over_and_only_once() {
        let (recent, user, other) = (Recent::default(), Principal::new("a"), Principal::new("b"));
        let session = SessionId::from_random;
        recent.note(&user, session(1), Seq(7));
        assert_eq!(recent.take(&other), None);
        let left = recent.take(&user).unwrap();
        assert_eq!((left.session, left.told), (session(1), Seq(7)));
        assert_eq!(recent.take(&user), None);
        recent.note(&user, session(1), Seq(1));
        recent.note(&user, session(2), Seq(1));
        assert_eq!(recent.take(&user), None);
        advance(REMEMBERED).await;
        assert_eq!(recent.take(&user), None);
        recent.note(&user, session(3), Seq(1));
        assert_eq!(recent.take(&user).unwrap().session, session(3));
    }
}
