//! One integration binary; one module per boundary.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should panic"
)]
#![expect(clippy::non_ascii_literal, reason = "frames of the packet dialect")]

mod edge;
mod golden;
mod handshake;
mod support;
mod tidy;
