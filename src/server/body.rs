//! Request bodies are read whole before any handler runs, with a size limit and a deadline. Bodies of our own API are
//! JSON objects; errors in them are explained to the user.

use super::AppState;
use super::{analyst, caller, core_ui, language};
use crate::dialect::{BodyError, Fields};
use crate::locale::Locale;
use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::convert::Infallible;
use tokio::time::timeout;

/// Bodies are small; files are uploaded over the WebSocket.
pub(super) const LIMIT: usize = 64 * 1024;

/// Middleware behind the guard. The deadline is for clients that announce a body and never send it.
pub(super) async fn collect(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    // Tables are written to the disk as they arrive.
    if request.uri().path() == analyst::UPLOAD_PATH {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let limit = limit(&state, &parts);
    match timeout(state.config.limits.header, to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Ok(Err(_)) => refuse(StatusCode::PAYLOAD_TOO_LARGE, "body_too_long"),
        Err(_) => refuse(StatusCode::REQUEST_TIMEOUT, "body_too_late"),
    }
}

/// Only users may send long bodies, and only where these may hold pictures.
fn limit(state: &AppState, parts: &Parts) -> usize {
    let is_command = parts.uri.path() == core_ui::COMMANDS_PATH;
    if is_command && caller::identify(&parts.headers, state).is_ok() {
        state.config.limits.input_frame
    } else {
        LIMIT
    }
}

/// A request's body as a JSON object. The content type must be JSON: browsers let a page of another site send other
/// types without a CORS preflight.
#[derive(Debug)]
pub(super) struct Object {
    locale: Locale,
    read: Result<Fields, BadRequest>,
}

impl FromRequest<AppState> for Object {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Infallible> {
        let locale = language::of_request();
        let announced = is_json(request.headers());
        let bytes = Bytes::from_request(request, state).await.unwrap_or_default();
        let read = match announced {
            true => Fields::read(&bytes).map_err(|error| BadRequest::of(locale, &error)),
            false => Err(BadRequest {
                status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
                text: locale.say("body", "not_announced", &[]),
            }),
        };
        Ok(Self { locale, read })
    }
}

impl Object {
    /// Reads the object with `take` and refuses it if it has keys other than `known`.
    pub(super) fn take<T>(
        self,
        known: &[&str],
        take: impl FnOnce(&mut Fields) -> Result<T, BodyError>,
    ) -> Result<T, BadRequest> {
        let mut fields = self.read?;
        let taken = take(&mut fields).and_then(|taken| fields.nothing_else(known).map(|()| taken));
        taken.map_err(|error| BadRequest::of(self.locale, &error))
    }
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Query parameters; ones that cannot be read are answered with `bad_request`.
#[derive(Debug)]
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Parameters<T> {
    type Rejection = BadRequest;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, BadRequest> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(BadRequest {
                status: StatusCode::BAD_REQUEST,
                text: language::of_request().say("body", "bad_query", &[]),
            }),
        }
    }
}

/// The client's mistake, sent as `{"error": ..., "code": "bad_request"}`.
#[derive(Debug)]
pub(super) struct BadRequest {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl BadRequest {
    fn of(locale: Locale, error: &BodyError) -> Self {
        let status = match error.is_json() {
            true => StatusCode::UNPROCESSABLE_ENTITY,
            false => StatusCode::BAD_REQUEST,
        };
        Self { status, text: error.say(locale) }
    }
}

impl IntoResponse for BadRequest {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.text, "code": "bad_request"}))).into_response()
    }
}

fn refuse(status: StatusCode, name: &str) -> Response {
    // The rest of the body is unread and would be parsed as the next request.
    (status, [(CONNECTION, "close")], language::plain(name)).into_response()
}
