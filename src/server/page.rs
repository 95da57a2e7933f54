//! The entrance for browsers: the page after login, the login form before, and the printed address with a token.

use super::AppState;
use super::assets;
use super::body::Parameters;
use super::caller::Visitor;
use super::language;
use super::transport::Transport;
use axum::extract::{Extension, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, HeaderMap, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use tracing::error;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/", get(page))
}

/// The way to the login, on every address.
pub(super) fn entrance() -> Router<AppState> {
    Router::new()
        .route("/login", get(async |headers: HeaderMap| assets::answer("login.html", &headers)))
        .route("/api/me", get(me))
}

#[derive(Debug, Deserialize)]
pub(super) struct Entrance {
    pub(super) token: Option<String>,
}

async fn page(
    State(state): State<AppState>,
    Visitor(visitor): Visitor,
    Extension(transport): Extension<Transport>,
    Parameters(entrance): Parameters<Entrance>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    match entrance.token {
        Some(token) => enter(&state, visitor.is_ok(), &token, &transport).await,
        None if visitor.is_ok() => assets::answer("index.html", &headers),
        None => Redirect::to(&login_path(query.as_deref())).into_response(),
    }
}

/// The token that an address brings along.
pub(super) async fn enter(
    state: &AppState,
    is_in: bool,
    token: &str,
    transport: &Transport,
) -> Response {
    if is_in {
        return assets::answer("enter.html", &HeaderMap::new());
    }
    log_in(state, token, transport).await
}

/// Turns the token in the address into a login. Answers with a page instead of a redirect: browsers withhold a strict
/// cookie on a redirect that began in another program or on another site.
async fn log_in(state: &AppState, token: &str, transport: &Transport) -> Response {
    let issued = match state.auth.admit_local(token).await {
        Ok(Some(issued)) => issued,
        Ok(None) => return Redirect::to("/login?wrong").into_response(),
        Err(err) => {
            error!(%err, "a login cannot be stored");
            let text = language::plain("login_not_stored");
            return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        }
    };
    let mut response = assets::answer("enter.html", &HeaderMap::new());
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.extend(state.cookie.set(&issued, transport).map(|cookie| (SET_COOKIE, cookie)));
    response
}

/// Keeps the query, so that the browser gets the page it asked for after the login.
fn login_path(query: Option<&str>) -> String {
    match query {
        Some(query) if !query.is_empty() => format!("/login?{query}"),
        Some(_) | None => "/login".to_owned(),
    }
}

/// For the login form: the current user, or whether it should ask for a user name.
async fn me(State(state): State<AppState>, Visitor(visitor): Visitor) -> Response {
    let users = state.auth.has_users();
    match visitor {
        Ok(grant) => {
            Json(json!({"name": grant.principal.as_str(), "users": users})).into_response()
        }
        Err(refusal) => {
            let mut response = refusal.into_response();
            let error = language::of_request().word("not logged in");
            let body = json!({"error": error, "code": "unauthorized", "users": users});
            *response.body_mut() = body.to_string().into();
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_kept_through_the_login() {
        assert_eq!(login_path(None), "/login");
        assert_eq!(login_path(Some("")), "/login");
        assert_eq!(login_path(Some("lang=en&view=1")), "/login?lang=en&view=1");
    }
}
