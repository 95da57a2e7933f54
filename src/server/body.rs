//! Bodies of requests are read as a whole before anybody looks at them: short, and within a time. Those of our own API
//! are JSON objects, and what is wrong with one is told to people.

use super::AppState;
use super::language;
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
        Ok(Err(_)) => refuse(StatusCode::PAYLOAD_TOO_LARGE, "body_too_long"),
        Err(_) => refuse(StatusCode::REQUEST_TIMEOUT, "body_too_late"),
    }
}

/// A request's body as an object. It has to be announced as JSON: a page of another site can send what is not without
/// being asked.
#[derive(Debug)]
pub(super) struct Object {
    locale: Locale,
    read: Result<Fields, BadRequest>,
}

impl FromRequest<AppState> for Object {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Infallible> {
        let locale = language::spoken();
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
    /// What `take` reads of it, and nothing else than `known` is in it.
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

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Parameters in the address.
#[derive(Debug)]
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Parameters<T> {
    type Rejection = BadRequest;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, BadRequest> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(_) => Err(BadRequest {
                status: StatusCode::BAD_REQUEST,
                text: language::spoken().say("body", "bad_query", &[]),
            }),
        }
    }
}

/// The client's mistake, told as `{"error": ..., "code": "bad_request"}`.
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
    // What is left of the body would be taken for the next request.
    (status, [(CONNECTION, "close")], language::plain(name)).into_response()
}
