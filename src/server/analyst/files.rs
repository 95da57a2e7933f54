//! Downloads: the files of a session's workspace, and its newest report. A file never runs in the page: what a browser
//! would not show as a picture is always a download.

use super::super::AppState;
use super::super::body::{BadRequest, Parameters};
use super::super::caller::Visitor;
use super::super::door::Refused;
use super::super::language;
use super::{refuse, refuse_entry};
use crate::dialect::analyst::escaped;
use crate::message::{Principal, SentSessionId};
use crate::session::WorkspaceFile;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct ReportQuery {
    format: Option<String>,
}

/// How a report is handed out.
enum Form {
    /// By the ending of its name.
    File(&'static str),
    /// With its figures.
    Archive,
}

pub(super) async fn file(
    State(state): State<AppState>,
    Visitor(visitor): Visitor,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    let Ok(grant) = visitor else { return refuse_entry(&Refused::Unauthorized) };
    let Ok(Path((session, name))) = path else { return missing() };
    match find(&state, &grant.principal, session).await {
        Some(id) => match state.registry.workspace_file(&grant.principal, &id, &name).await {
            Some(found) => answer(found),
            None => missing(),
        },
        None => refuse_entry(&Refused::Session),
    }
}

pub(super) async fn report(
    State(state): State<AppState>,
    Visitor(visitor): Visitor,
    path: Result<Path<String>, PathRejection>,
    query: Result<Parameters<ReportQuery>, BadRequest>,
) -> Response {
    let Ok(grant) = visitor else { return refuse_entry(&Refused::Unauthorized) };
    let Ok(Path(session)) = path else { return missing() };
    let form = match query.ok().and_then(|Parameters(query)| query.format).as_deref() {
        None | Some("md" | "markdown") => Form::File("md"),
        Some("html") => Form::File("html"),
        Some("tar") => Form::Archive,
        Some(_) => {
            let locale = language::of_request();
            let values = [("field", "format"), ("expected", &locale.word("md, html or tar"))];
            let text = locale.say("api", "bad_field", &values);
            return refuse(StatusCode::BAD_REQUEST, "bad_field", &text);
        }
    };
    match find(&state, &grant.principal, session).await {
        Some(id) => {
            let (registry, principal) = (&state.registry, &grant.principal);
            let found = match form {
                Form::File(ending) => registry.newest_report(principal, &id, ending).await,
                Form::Archive => registry.newest_report_archive(principal, &id).await,
            };
            found.map_or_else(missing, answer)
        }
        None => refuse_entry(&Refused::Session),
    }
}

/// The id of one of the user's own sessions.
async fn find(
    state: &AppState,
    principal: &Principal,
    session: String,
) -> Option<crate::message::SessionId> {
    let id = state.auth.session(principal, SentSessionId::parse(&session)?);
    let opened = state.registry.reopen(principal, &id).await.ok()??;
    Some(opened.id().clone())
}

fn answer(found: WorkspaceFile) -> Response {
    let WorkspaceFile { name, media_type, bytes } = found;
    let how = if media_type.starts_with("image/") { "inline" } else { "attachment" };
    let disposition = format!("{how}; filename*=UTF-8''{}", escaped(&name));
    let kind = match media_type {
        text if text.starts_with("text/") => format!("{text}; charset=utf-8"),
        other => other.to_owned(),
    };
    let mut headers = HeaderMap::new();
    for (key, value) in [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, disposition)] {
        headers.extend(HeaderValue::from_str(&value).map(|value| (key, value)));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    (headers, bytes).into_response()
}

fn missing() -> Response {
    let text = language::of_request().say("analysis", "no_such_file", &[]);
    refuse(StatusCode::NOT_FOUND, "not_found", &text)
}
