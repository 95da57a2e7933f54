//! The agent UI: its page or a foreign one in its place, what pages load from the gateway, and the socket.

mod drawing;
mod files;
mod filling;
mod recent;
mod socket;

pub(super) use recent::Recent;

use super::AppState;
use super::body::Parameters;
use super::caller::Visitor;
use super::page::Entrance;
use super::transport::Transport;
use axum::Router;
use axum::extract::{Extension, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get};

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/smol", get(|| async { Redirect::permanent("/smol/") }))
        .route("/smol/", get(page))
        .route("/smol/{*path}", get(files::of_page))
        .merge(shared_routes())
}

/// The root of the second address: the page, which is back there after the login.
pub(super) fn root_routes() -> Router<AppState> {
    Router::new().route("/", get(root))
}

/// What pages find at the root of the gateway.
fn shared_routes() -> Router<AppState> {
    Router::new()
        .route("/static/{*path}", get(files::of_page))
        .route("/backend/data/{name}", get(files::data))
        .route("/backend/bitmaps/{name}", get(files::bitmap))
        .route("/ws", any(socket::upgrade))
}

async fn root(
    State(state): State<AppState>,
    Visitor(visitor): Visitor,
    Extension(transport): Extension<Transport>,
    Parameters(entrance): Parameters<Entrance>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    // No page gets to see the token: a foreign one would have it.
    if let Some(token) = entrance.token {
        return super::page::enter(&state, visitor.is_ok(), &token, &transport).await;
    }
    match visitor {
        Ok(_) => files::index(&state, &headers).await,
        Err(_) => {
            let query = query.map_or_else(String::new, |query| format!("?{query}"));
            Redirect::to(&format!("/login{query}")).into_response()
        }
    }
}

async fn page(
    State(state): State<AppState>,
    Visitor(visitor): Visitor,
    Extension(transport): Extension<Transport>,
    Parameters(entrance): Parameters<Entrance>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    // No page gets to see the token: a foreign one would have it.
    if let Some(token) = entrance.token {
        return super::page::enter(&state, visitor.is_ok(), &token, &transport).await;
    }
    match visitor {
        Ok(_) => files::index(&state, &headers).await,
        // The query is kept through the login.
        Err(_) => {
            let query = query.map_or_else(String::new, |query| format!("&{query}"));
            Redirect::to(&format!("/login?next=smol{query}")).into_response()
        }
    }
}
