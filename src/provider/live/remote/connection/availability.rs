//! Circuit breaker for live models: a model that fails for everybody is out of service for a while, so that not every
//! conversation waits for it. Failures that one conversation may have caused itself are not reported here. After the
//! outage one conversation probes the model; the others use it again when the probe has succeeded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Timeout of a probe; after it another conversation may probe as well.
const PROBE: Duration = Duration::from_secs(30);

/// Shared by all conversations.
#[derive(Debug, Clone, Default)]
pub(in crate::provider::live::remote) struct Availability(Arc<Mutex<HashMap<String, Outage>>>);

#[derive(Debug)]
struct Outage {
    until: Instant,
    over: Proof,
    /// A conversation probes the model until then.
    probed: Option<Instant>,
}

/// What proves that a model works again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider::live::remote) enum Proof {
    /// A new connection is ready.
    Ready,
    /// The model has answered.
    Answer,
}

/// One conversation's permission to use a model.
#[derive(Debug)]
pub(in crate::provider::live::remote) struct Permit {
    availability: Availability,
    model: String,
    probing: bool,
}

impl Availability {
    /// `None`: the model is out of service, or another conversation is probing it.
    pub(in crate::provider::live::remote) fn permit(&self, model: &str) -> Option<Permit> {
        let (mut outages, now) = (self.lock(), Instant::now());
        let probing = match outages.get_mut(model) {
            None => false,
            Some(outage)
                if outage.until > now || outage.probed.is_some_and(|until| until > now) =>
            {
                return None;
            }
            Some(outage) => {
                outage.probed = Some(now + PROBE);
                true
            }
        };
        Some(Permit { availability: self.clone(), model: model.to_owned(), probing })
    }

    /// How much longer the model is out of service.
    pub(in crate::provider::live::remote) fn outage_left(&self, model: &str) -> Option<Duration> {
        let left = self.lock().get(model)?.until.saturating_duration_since(Instant::now());
        Some(left).filter(|left| !left.is_zero())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Outage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// The other conversations wait for what this one finds out.
    pub(in crate::provider::live::remote) fn is_probe(&self) -> bool {
        self.probing
    }

    /// The model does not work for anybody. `over` is what will prove the opposite.
    pub(in crate::provider::live::remote) fn report_outage(&mut self, time: Duration, over: Proof) {
        self.probing = false;
        let outage = Outage { until: Instant::now() + time, over, probed: None };
        self.availability.lock().insert(self.model.clone(), outage);
    }

    pub(in crate::provider::live::remote) fn works(&mut self, proof: Proof) {
        let mut outages = self.availability.lock();
        if outages.get(&self.model).is_some_and(|outage| outage.over == proof) {
            outages.remove(&self.model);
            self.probing = false;
        }
    }
}

/// A probe that ends without a result lets another conversation probe.
impl Drop for Permit {
    fn drop(&mut self) {
        if self.probing
            && let Some(outage) = self.availability.lock().get_mut(&self.model)
        {
            outage.probed = None;
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
        let availability = Availability::default();
        let mut first = availability.permit("a").unwrap();
        let mut second = availability.permit("a").unwrap();
        assert!(!first.is_probe());
        first.report_outage(MINUTE, Proof::Ready);
        assert!(availability.permit("a").is_none() && availability.permit("b").is_some());
        assert_eq!(availability.outage_left("a"), Some(MINUTE));
        second.works(Proof::Answer);
        assert!(availability.permit("a").is_none(), "on a connection that was there before");
        advance(MINUTE).await;
        let mut probe = availability.permit("a").unwrap();
        assert!(probe.is_probe() && availability.permit("a").is_none());
        probe.report_outage(MINUTE, Proof::Answer);
        drop(probe);
        assert!(availability.permit("a").is_none());
        advance(MINUTE).await;
        drop(availability.permit("a").unwrap());
        let mut probe = availability.permit("a").expect("nobody has found out yet");
        probe.works(Proof::Ready);
        assert!(probe.is_probe(), "that was never in doubt");
        probe.works(Proof::Answer);
        assert!(!probe.is_probe());
        assert!(availability.permit("a").is_some_and(|permit| !permit.is_probe()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_finds_out_nothing_does_not_keep_the_others_out_for_ever() {
        let availability = Availability::default();
        availability.permit("a").unwrap().report_outage(MINUTE, Proof::Answer);
        advance(MINUTE).await;
        let slow = availability.permit("a").unwrap();
        assert!(availability.permit("a").is_none());
        advance(PROBE).await;
        assert!(availability.permit("a").is_some_and(|permit| permit.is_probe()));
        drop(slow);
    }
}
