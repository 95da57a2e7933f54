//! Answers requests with an error while the disk refuses writes, instead of letting them wait.

use super::AppState;
use super::core_api::respond;
use super::language;
use crate::dialect::aicore::http;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::time::Duration;

/// Timeout of a request while the disk refuses writes. Requests that write nothing are done by then.
const STALL_TIMEOUT: Duration = Duration::from_secs(2);

/// Middleware around all routes. Dropping a request here has the same effect as its client disconnecting.
pub(super) async fn refuse_when_stalled(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let kind = if path.starts_with("/core/") {
        Kind::Envelope
    } else if path.starts_with("/api/") {
        Kind::Problem
    } else {
        Kind::Text
    };
    // Sockets and event streams get their error from the door, in their own format.
    let has_door = path.starts_with("/core/ws/") || matches!(path, "/api/ws" | "/api/events");
    if state.damage.borrow().is_some() && kind != Kind::Text && !has_door {
        return kind.refuse(&state.registry.store_health().err().unwrap_or_default());
    }
    tokio::select! {
        biased;
        response = next.run(request) => response,
        reason = state.registry.stalled(STALL_TIMEOUT) => kind.refuse(&reason),
    }
}

/// The error format, which depends on the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Envelope,
    Problem,
    Text,
}

impl Kind {
    fn refuse(self, reason: &str) -> Response {
        let locale = language::of_request();
        let reason = &locale.word(reason);
        let text = locale.say("http", "unavailable", &[("reason", reason)]);
        let mut response = match self {
            Self::Envelope => respond(http::unavailable(locale, reason)),
            Self::Problem => {
                let body = json!({"error": text, "code": "store_stalled"});
                (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
            }
            Self::Text => (StatusCode::SERVICE_UNAVAILABLE, text + "\n").into_response(),
        };
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
        response
    }
}
