//! Approvals: each tool call of an agent is judged by the rules, asked of the user where they say so, answered once
//! and written to the audit log. Limits on failing or endless runs are here, too.

pub(super) mod breakers;
pub(super) mod calls;
pub(super) mod gate;
pub(super) mod judging;
