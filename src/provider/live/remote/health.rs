//! Live models that do not work at the moment, so that no conversation waits for them again. Only what concerns a model as
//! a whole is held against it: what one conversation leads to is that conversation's own affair. A model that has rested
//! is tried by one conversation; the others follow when that one has found it to work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// So long the others wait for what one conversation finds out; then another may try as well.
const PROBE: Duration = Duration::from_secs(30);

/// Shared by all conversations.
#[derive(Debug, Clone, Default)]
pub(super) struct Health(Arc<Mutex<HashMap<String, Rest>>>);

#[derive(Debug)]
struct Rest {
    until: Instant,
    over: Proof,
    /// Until then somebody finds out whether it works again.
    probed: Option<Instant>,
}

/// What shows that a model works again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// A new connection is ready.
    Ready,
    /// It has answered.
    Answer,
}

/// One conversation's leave to use a model.
#[derive(Debug)]
pub(super) struct Leave {
    health: Health,
    model: String,
    probing: bool,
}

impl Health {
    /// `None`: it rests, or somebody else finds out whether it still has to.
    pub(super) fn enter(&self, model: &str) -> Option<Leave> {
        let (mut resting, now) = (self.lock(), Instant::now());
        let probing = match resting.get_mut(model) {
            None => false,
            Some(rest) if rest.until > now || rest.probed.is_some_and(|until| until > now) => {
                return None;
            }
            Some(rest) => {
                rest.probed = Some(now + PROBE);
                true
            }
        };
        Some(Leave { health: self.clone(), model: model.to_owned(), probing })
    }

    /// For how long it still rests, if it does.
    pub(super) fn rest_left(&self, model: &str) -> Option<Duration> {
        let left = self.lock().get(model)?.until.saturating_duration_since(Instant::now());
        Some(left).filter(|left| !left.is_zero())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Rest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leave {
    /// Everybody waits for what this conversation finds out.
    pub(super) fn is_probe(&self) -> bool {
        self.probing
    }

    /// It does not work, for anybody.
    pub(super) fn rest(&mut self, time: Duration, over: Proof) {
        self.probing = false;
        let rest = Rest { until: Instant::now() + time, over, probed: None };
        self.health.lock().insert(self.model.clone(), rest);
    }

    pub(super) fn works(&mut self, proof: Proof) {
        let mut resting = self.health.lock();
        if resting.get(&self.model).is_some_and(|rest| rest.over == proof) {
            resting.remove(&self.model);
            self.probing = false;
        }
    }
}

/// Whoever leaves before it is known lets somebody else find out.
impl Drop for Leave {
    fn drop(&mut self) {
        if self.probing
            && let Some(rest) = self.health.lock().get_mut(&self.model)
        {
            rest.probed = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_model_that_has_rested_is_tried_by_one_until_it_works() {
        let health = Health::default();
        let mut first = health.enter("a").unwrap();
        let mut second = health.enter("a").unwrap();
        assert!(!first.is_probe());
        first.rest(MINUTE, Proof::Ready);
        assert!(health.enter("a").is_none() && health.enter("b").is_some());
        assert_eq!(health.rest_left("a"), Some(MINUTE));
        second.works(Proof::Answer);
        assert!(health.enter("a").is_none(), "on a connection that was there before");
        advance(MINUTE).await;
        let mut probe = health.enter("a").unwrap();
        assert!(probe.is_probe() && health.enter("a").is_none());
        probe.rest(MINUTE, Proof::Answer);
        drop(probe);
        assert!(health.enter("a").is_none());
        advance(MINUTE).await;
        drop(health.enter("a").unwrap());
        let mut probe = health.enter("a").expect("nobody has found out yet");
        probe.works(Proof::Ready);
        assert!(probe.is_probe(), "that was never in doubt");
        probe.works(Proof::Answer);
        assert!(!probe.is_probe());
        assert!(health.enter("a").is_some_and(|leave| !leave.is_probe()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_finds_out_nothing_does_not_keep_the_others_out_for_ever() {
        let health = Health::default();
        health.enter("a").unwrap().rest(MINUTE, Proof::Answer);
        advance(MINUTE).await;
        let slow = health.enter("a").unwrap();
        assert!(health.enter("a").is_none());
        advance(PROBE).await;
        assert!(health.enter("a").is_some_and(|leave| leave.is_probe()));
        drop(slow);
    }
}
