//! Health checks: `/live` says that the process answers, `/ready` whether it should be sent work.

use super::AppState;
use axum::extract::State;
use axum::http::StatusCode;

pub(super) async fn live() -> &'static str {
    "live\n"
}

pub(super) async fn ready(State(state): State<AppState>) -> (StatusCode, String) {
    judge(state.stop.is_cancelled(), state.registry.store_health())
}

fn judge(stopping: bool, store: Result<(), String>) -> (StatusCode, String) {
    let refuse = |reason: &str| (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n"));
    match store {
        _ if stopping => refuse("shutting down"),
        Err(reason) => refuse(&reason),
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_stops_or_cannot_store_is_not_ready() {
        assert_eq!(judge(false, Ok(())).0, StatusCode::OK);
        let stopping = (StatusCode::SERVICE_UNAVAILABLE, "not ready: shutting down\n".to_owned());
        assert_eq!(judge(true, Ok(())), stopping);
        let full = (StatusCode::SERVICE_UNAVAILABLE, "not ready: disk full\n".to_owned());
        assert_eq!(judge(false, Err("disk full".to_owned())), full);
    }
}
