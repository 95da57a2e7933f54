//! `/metrics` for a collector: open on this machine, with the operator's token elsewhere. The counters themselves are
//! in [`crate::metrics`].

use super::AppState;
use super::caller::bearer;
use super::language;
use super::transport::Transport;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn page(
    State(state): State<AppState>,
    Extension(transport): Extension<Transport>,
    headers: HeaderMap,
) -> Response {
    // The request is from a proxy that did not name its client, so a loopback address proves nothing.
    let client_unknown = state.config.trusted_proxies.contains(&transport.peer);
    let operator = bearer(&headers).is_some_and(|secret| state.auth.is_operator(secret));
    if !operator && (client_unknown || !transport.peer.is_loopback()) {
        let text = language::plain("metrics_need_a_token");
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], text).into_response();
    }
    ([(CONTENT_TYPE, OPEN_METRICS)], state.metrics.text()).into_response()
}
