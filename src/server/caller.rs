//! Who asks: every request for somebody's own things names its principal through this. A secret comes as bearer
//! header or as cookie; browsers open WebSockets without headers of their own, so they need the latter.

use super::{AppState, language};
use crate::auth::Grant;
use crate::message::Principal;
use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::convert::Infallible;

/// The person behind a request; requests of nobody are answered by 401.
#[derive(Debug)]
pub(super) struct Caller(pub(super) Principal);

/// The same for requests that nobody may make, too.
#[derive(Debug)]
pub(super) struct Visitor(pub(super) Result<Grant, Unauthorized>);

/// Why a request is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unauthorized {
    NoSecret,
    /// It never was good, has expired, or was taken back.
    BadSecret,
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Unauthorized;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Unauthorized> {
        identify(&parts.headers, state).map(|grant| Self(grant.principal))
    }
}

impl FromRequestParts<AppState> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        Ok(Self(identify(&parts.headers, state)))
    }
}

impl IntoResponse for Unauthorized {
    /// Existing clients log their user out when they see this.
    fn into_response(self) -> Response {
        let detail = match self {
            Self::NoSecret => "Not authenticated",
            Self::BadSecret => "Could not validate credentials",
        };
        // Existing clients know `detail` by its words; the other one is for people.
        let error = language::spoken().word(detail);
        let body = json!({"detail": detail, "error": error, "code": "unauthorized"});
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        ];
        (StatusCode::UNAUTHORIZED, headers, body.to_string()).into_response()
    }
}

/// The secret in the bearer header, if there is one.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// A bearer header goes before the cookie: who sends one means it.
fn identify(headers: &HeaderMap, state: &AppState) -> Result<Grant, Unauthorized> {
    let secret = match bearer(headers) {
        Some(secret) => secret,
        None => state.cookie.read(headers).ok_or(Unauthorized::NoSecret)?,
    };
    state.auth.recognise(secret).ok_or(Unauthorized::BadSecret)
}
