//! `/metrics` for a collector on this machine. The numbers themselves are in [`crate::metrics`].

use super::AppState;
use super::transport::Transport;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn page(
    State(state): State<AppState>,
    Extension(transport): Extension<Transport>,
) -> Response {
    if !transport.peer.is_loopback() {
        return (StatusCode::FORBIDDEN, "Metrics are for this machine only.\n").into_response();
    }
    ([(CONTENT_TYPE, OPEN_METRICS)], state.metrics.text()).into_response()
}
