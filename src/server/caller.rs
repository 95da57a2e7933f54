//! Authenticates requests. The secret comes as a bearer header or as a cookie; browsers cannot set headers on a
//! WebSocket, so they need the cookie.

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

/// The authenticated user of a request; requests without a valid login are answered with 401.
#[derive(Debug)]
pub(super) struct Caller(pub(super) Principal);

/// For routes that are also open without a login: the login, or why there is none.
#[derive(Debug)]
pub(super) struct Visitor(pub(super) Result<Grant, Unauthorized>);

/// Why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unauthorized {
    NoSecret,
    /// The secret is unknown, expired or revoked.
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
    /// Existing clients log their user out when they see a 401.
    fn into_response(self) -> Response {
        let detail = match self {
            Self::NoSecret => "Not authenticated",
            Self::BadSecret => "Could not validate credentials",
        };
        // Existing clients compare the text of `detail`, so it is not translated; `error` is for people.
        let error = language::of_request().word(detail);
        let body = json!({"detail": detail, "error": error, "code": "unauthorized"});
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        ];
        (StatusCode::UNAUTHORIZED, headers, body.to_string()).into_response()
    }
}

pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// A bearer header takes precedence over the cookie, because it was set on purpose.
pub(super) fn identify(headers: &HeaderMap, state: &AppState) -> Result<Grant, Unauthorized> {
    let secret = match bearer(headers) {
        Some(secret) => secret,
        None => state.cookie.read(headers).ok_or(Unauthorized::NoSecret)?,
    };
    state.auth.recognise(secret).ok_or(Unauthorized::BadSecret)
}
