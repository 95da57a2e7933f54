//! Runs: one piece of work at a time on each channel, a bounded queue behind it, and the agent or model that does it.
//! Knows neither how a tool call is approved nor where an agent works.

pub(super) mod activity;
pub(super) mod answer;
pub(super) mod conversations;
pub(super) mod current;
pub(super) mod lane;
pub(super) mod lanes;
pub(super) mod meter;
pub(super) mod progress;
pub(super) mod rest;
pub(super) mod restart;
pub(super) mod spent;
pub(super) mod warm;
pub(super) mod work;
