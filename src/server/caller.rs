//! Who asks: every request for somebody's own things names its principal through this.

use super::AppState;
use crate::message::Principal;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::convert::Infallible;

/// The person behind a request. Until there is a login, everybody who reaches this port is the local user.
#[derive(Debug)]
pub(super) struct Caller(pub(super) Principal);

impl FromRequestParts<AppState> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &AppState) -> Result<Self, Infallible> {
        Ok(Self(Principal::local()))
    }
}
