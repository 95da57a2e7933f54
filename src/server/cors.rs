//! CORS: pages of `allowed_origins` may read our answers. The guard has already refused all other origins.

use super::AppState;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap,
    HeaderValue, ORIGIN, VARY,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The answer to a preflight; browsers cache it for ten minutes.
const PREFLIGHT: [(axum::http::HeaderName, &str); 3] = [
    (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
    (ACCESS_CONTROL_ALLOW_HEADERS, "content-type, authorization, last-event-id"),
    (ACCESS_CONTROL_MAX_AGE, "600"),
];

/// Middleware behind the guard. A preflight carries no login, so it is answered before the login is checked.
pub(super) async fn allow_listed_origins(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let listed = &state.config.allowed_origins;
    let origin = listed_origin(listed, request.headers());
    let is_preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if origin.is_some() && is_preflight {
        (StatusCode::NO_CONTENT, PREFLIGHT).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    if !listed.is_empty() {
        // Also without an allowed origin: a cache must not serve that answer to a page whose origin is allowed.
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    response
}

/// Spelled exactly as the browser sent it, because the browser compares it byte by byte.
fn listed_origin(listed: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let text = origin.to_str().ok()?.to_ascii_lowercase();
    (text != "null" && listed.contains(&text)).then(|| origin.clone())
}
