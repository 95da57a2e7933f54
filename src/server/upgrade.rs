//! Extracts a WebSocket upgrade. A request without one is refused in the client's language, not in the library's text.

use super::{AppState, language};
use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::StatusCode;
use axum::http::request::Parts;

pub(super) struct Upgrade(pub(super) WebSocketUpgrade);

impl FromRequestParts<AppState> for Upgrade {
    type Rejection = (StatusCode, String);

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Self, Self::Rejection> {
        let upgrade = WebSocketUpgrade::from_request_parts(parts, state).await;
        upgrade.map(Self).map_err(|why| (why.status(), language::plain("websocket_only")))
    }
}
