//! Approvals: the rules judge each tool call of an agent, and the user is asked where the rules say so. Owns the open
//! questions, what the user always allows, and the breakers that stop failing or endless runs. Each question is
//! answered once and written to the audit log. Knows what a run may do, but not how it is done.

pub(super) mod breakers;
mod calls;
pub(super) mod gate;
mod handlers;
pub(super) mod judging;
pub(super) mod left;

use self::breakers::Watch;
use self::gate::{Memory, Open};
use super::run::lanes::{LaneId, PerLane};
use crate::message::{Callers, Channel};
use crate::policy::Rules;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Approvals {
    rules: Arc<Rules>,
    open: Vec<Open>,
    /// Of the last question on each lane.
    last_number: PerLane<u32>,
    /// What the user does not want to be asked about again.
    remembered: Callers<Memory>,
    breakers: Callers<Watch>,
}

impl Approvals {
    /// Question numbers go on after the `last` ones before a restart, so that a late answer cannot meet a new question.
    pub(super) fn new(rules: Arc<Rules>, last: &[(Channel, u32)]) -> Self {
        let mut last_number = PerLane::default();
        for (channel, number) in last {
            if let Some(lane) = LaneId::of(*channel) {
                last_number[lane] = *number;
            }
        }
        Self {
            rules,
            open: Vec::new(),
            last_number,
            remembered: Default::default(),
            breakers: Default::default(),
        }
    }
}
