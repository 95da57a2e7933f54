//! How a request came here, and from whom.

use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use std::net::{IpAddr, SocketAddr};

/// In the extensions of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transport {
    /// The client's way to us, or to our proxy, is encrypted: cookies can be `Secure`.
    pub(super) secure: bool,
    /// The client itself, also behind a proxy.
    pub(super) peer: IpAddr,
}

/// Middleware before everything that wants to know.
pub(super) async fn identify(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(Transport { secure: false, peer: peer.ip() });
    next.run(request).await
}
