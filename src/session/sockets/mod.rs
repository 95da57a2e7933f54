//! The sockets of a session: which are attached to which channel, and what each still has to be sent.
//! Knows events and signals, but neither runs nor agents.

pub(super) mod audience;
pub(super) mod file_watch;
pub(super) mod presence;
pub(super) mod reader;
