//! One turn with a chat model: what was said before, the answer, and what it cost.

pub(super) mod analyst;
pub(super) mod computing;
mod cost;
pub(super) mod made;
pub(super) mod past;
pub(super) mod slash;
pub(super) mod turn;
