//! The way to a vendor's server: opening a WebSocket, keeping it alive, closing it, and remembering which models are
//! out of service. It passes frames through unread: what they mean, when to connect again and who is talking are for
//! the rooms above.

pub(super) mod availability;
pub(super) mod dial;
pub(super) mod socket;
