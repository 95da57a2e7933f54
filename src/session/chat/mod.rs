//! One turn with a chat model: what was said before, the answer, and what it cost.

pub(super) mod analyst;
mod cost;
pub(super) mod past;
pub(super) mod slash;
pub(super) mod turn;
