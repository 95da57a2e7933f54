//! The page of numbers and their labels, in the order in which they are shown.

use super::{CHANNELS, TURN_PARTS};
use crate::message::Channel;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Registers one number after the other.
pub(super) struct Page(pub(super) Registry);

impl Page {
    pub(super) fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.0.register(name, help, gauge.clone());
        gauge
    }

    pub(super) fn counter(&mut self, name: &str, help: &str) -> Counter {
        let counter = Counter::default();
        self.0.register(name, help, counter.clone());
        counter
    }

    pub(super) fn family<L: Label>(&mut self, name: &str, help: &str) -> Family<L, Counter> {
        let family = Family::default();
        self.0.register(name, help, family.clone());
        family
    }

    pub(super) fn counters<L: Label, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [L; N],
    ) -> [Counter; N] {
        let family = self.family(name, help);
        labels.map(|label| family.get_or_create_owned(&label))
    }

    pub(super) fn sockets(&mut self) -> [Gauge; Channel::COUNT] {
        let family = Family::<ChannelLabel, Gauge>::default();
        self.0.register("sockets", "Attached WebSockets", family.clone());
        CHANNELS.map(|channel| family.get_or_create_owned(&ChannelLabel { channel }))
    }

    pub(super) fn turn(&mut self) -> [Histogram; 5] {
        // From 1 ms, a packet inside the gateway, to 16 s, where people hang up.
        let family = Family::<PartLabel, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.001, 2.0, 15))
        });
        let help = "Time between the parts of a spoken exchange";
        self.0.register_with_unit("voice_turn", help, Unit::Seconds, family.clone());
        TURN_PARTS.map(|part| family.get_or_create_owned(&PartLabel { part }))
    }

    pub(super) fn commit(&mut self) -> Histogram {
        // From 0.1 ms, a batch on a fast disk, to 3.3 s, where clients notice.
        let histogram = Histogram::new(exponential_buckets(0.0001, 2.0, 16));
        self.0.register_with_unit(
            "commit",
            "Time to write one batch",
            Unit::Seconds,
            histogram.clone(),
        );
        histogram
    }
}

pub(super) trait Label:
    EncodeLabelSet + Clone + Eq + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static
{
}

impl Label for CodeLabel {}
impl Label for ReasonLabel {}
impl Label for ConditionLabel {}
impl Label for OutcomeLabel {}
impl Label for DirectionLabel {}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CodeLabel {
    pub(super) code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReasonLabel {
    pub(super) reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ConditionLabel {
    pub(super) condition: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OutcomeLabel {
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PartLabel {
    pub(super) part: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DirectionLabel {
    pub(super) direction: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ChannelLabel {
    pub(super) channel: &'static str,
}
