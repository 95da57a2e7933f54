//! `POST /analyst/upload`: a table as the body of the request, written to the disk as it arrives.

use super::super::AppState;
use super::super::body::{BadRequest, Parameters};
use super::super::caller::Visitor;
use super::super::connection::PeerActivity;
use super::super::core_ui::{answered, fresh_id};
use super::super::door::{self, Entered};
use super::super::language;
use super::{choose_analyst, hello, refuse, refuse_entry, wanted};
use crate::dialect::analyst;
use crate::dialect::core_ui::explain;
use crate::locale::Locale;
use crate::message::{Command, Inbound};
use crate::session::{IncomingTable, Role, Table, TableError};
use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::timeout;

pub(in crate::server) const UPLOAD_PATH: &str = "/analyst/upload";

/// A client that sends nothing for so long has left.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a client waits until the session has taken its table.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Deserialize)]
pub(super) struct UploadQuery {
    name: Option<String>,
    session: Option<String>,
}

pub(super) async fn take(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    query: Result<Parameters<UploadQuery>, BadRequest>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let locale = language::of_request();
    let Ok(Parameters(UploadQuery { name: Some(name), session })) = query else {
        return refuse(StatusCode::BAD_REQUEST, "bad_field", &say(locale, "name_missing", &[]));
    };
    if name.trim().is_empty() || name.contains(['/', '\\', '\0']) {
        return refuse(StatusCode::BAD_REQUEST, "bad_field", &say(locale, "name_missing", &[]));
    }
    let limit = state.config.analyst.largest_file;
    if announced(&headers).is_some_and(|size| size > limit) {
        return too_large(locale, limit);
    }
    let principal = match &visitor {
        Ok(grant) => grant.principal.clone(),
        Err(_) => return refuse_entry(&door::Refused::Unauthorized),
    };
    let entered = match wanted(session.as_deref()) {
        Ok(session) => {
            let hello = hello(&state, session, Role::Participant, None, Some(0));
            door::enter(&state, visitor.ok(), &hello, activity).await
        }
        Err(refused) => Err(refused),
    };
    let entered = match entered {
        Ok(entered) => entered,
        Err(refused) => return refuse_entry(&refused),
    };
    let received = state.registry.receive_table(&principal, &entered.session, &name).await;
    let received = match received {
        Ok(mut table) => match receive(&mut table, body, limit, locale).await {
            Ok(()) => table.finish(locale).await,
            Err(refused) => return refused,
        },
        Err(err) => Err(err),
    };
    match received {
        Ok(table) => add(entered, table, locale).await,
        Err(err) => refuse_table(locale, &err),
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn receive(
    table: &mut IncomingTable,
    body: Body,
    limit: u64,
    locale: Locale,
) -> Result<(), Response> {
    let mut pieces = body.into_data_stream();
    let mut size = 0_u64;
    loop {
        match timeout(SILENCE, pieces.next()).await {
            Ok(Some(Ok(piece))) => {
                size += piece.len() as u64;
                if size > limit {
                    return Err(too_large(locale, limit));
                }
                table.write(&piece).await.map_err(|err| refuse_table(locale, &err))?;
            }
            Ok(None) => return Ok(()),
            // The client has left; nobody reads the answer.
            Ok(Some(Err(_))) | Err(_) => {
                let text = say(locale, "not_received", &[]);
                return Err(closing(refuse(StatusCode::REQUEST_TIMEOUT, "not_received", &text)));
            }
        }
    }
}

/// The table becomes part of the session.
async fn add(mut entered: Entered, table: Table, locale: Locale) -> Response {
    let Table(dataset) = table;
    let id = fresh_id();
    let command = Command::AddDataset(Box::new(dataset.clone()));
    let (session, connection) = (&entered.session, entered.terms.connection);
    for inbound in [choose_analyst(), Inbound { request: Some(id.clone()), command }] {
        if session.submit(connection, inbound).await.is_err() {
            let text = locale.say("error", "stopping", &[]);
            return refuse(StatusCode::SERVICE_UNAVAILABLE, "stopping", &text);
        }
    }
    match timeout(PATIENCE, answered(&mut entered.reader, &id)).await {
        Ok(Some(problem)) => {
            let text = explain(&problem, locale);
            refuse(StatusCode::CONFLICT, problem.code(), &text)
        }
        // Without an answer in time, the command waits in the session's queue.
        Ok(None) | Err(_) => {
            let told = analyst::uploaded(entered.session.id(), &dataset);
            (StatusCode::CREATED, Json(told)).into_response()
        }
    }
}

fn refuse_table(locale: Locale, err: &TableError) -> Response {
    let text = locale.word(&err.to_string());
    let (status, code) = match err {
        TableError::Files(_) => (StatusCode::INSUFFICIENT_STORAGE, "not_stored"),
        TableError::Empty => (StatusCode::UNPROCESSABLE_ENTITY, "not_a_table"),
        TableError::Python(err) if err.is_about_the_table() => {
            (StatusCode::UNPROCESSABLE_ENTITY, "not_a_table")
        }
        TableError::Python(_) => (StatusCode::SERVICE_UNAVAILABLE, "no_python"),
        TableError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
    };
    refuse(status, code, &text)
}

fn too_large(locale: Locale, limit: u64) -> Response {
    let megabytes = (limit / 1_000_000).to_string();
    let text = say(locale, "too_large", &[("limit", &megabytes)]);
    closing(refuse(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &text))
}

/// The rest of the body is unread and would be taken for the next request.
fn closing(mut response: Response) -> Response {
    let close = header::HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

fn say(locale: Locale, name: &str, values: &[(&str, &str)]) -> String {
    locale.say("analysis", name, values)
}
