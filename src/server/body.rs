//! Bodies of requests are read as a whole before anybody looks at them: short, and within a time.

use super::AppState;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONNECTION;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

/// Files come over the WebSocket.
pub(super) const LIMIT: usize = 64 * 1024;

/// Middleware behind the guard. A client that does not send what it announced would hold its connection for ever.
pub(super) async fn collect(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    match timeout(state.config.limits.header, to_bytes(body, LIMIT)).await {
        Ok(Ok(bytes)) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Ok(Err(_)) => refuse(StatusCode::PAYLOAD_TOO_LARGE, "The body is longer than 64 KiB.\n"),
        Err(_) => refuse(StatusCode::REQUEST_TIMEOUT, "The body did not come in time.\n"),
    }
}

fn refuse(status: StatusCode, text: &'static str) -> Response {
    // What is left of the body would be taken for the next request.
    (status, [(CONNECTION, "close")], text).into_response()
}
