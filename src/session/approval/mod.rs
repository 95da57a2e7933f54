//! Approvals: the rules judge each tool call of an agent, and the user is asked where the rules say so. Each question
//! is answered once and written to the audit log. Breakers that stop failing or endless runs are here, too.

pub(super) mod breakers;
pub(super) mod calls;
pub(super) mod gate;
pub(super) mod judging;
