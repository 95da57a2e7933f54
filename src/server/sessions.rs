//! A user's own sessions over HTTP: list, export, delete. Another user's session is answered like an unknown one.

use super::AppState;
use super::caller::Caller;
use super::language;
use crate::message::SessionId;
use crate::session::{Archive, KeepingError, Scope, SessionSummary};
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{Json, Router};
use futures_util::stream;
use jiff::Timestamp;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::{debug, error};

/// A list that is cut off here has `more` set.
const MOST_LISTED: usize = 1000;
/// Pieces of an archive on their way to the client. Full: the exporting thread waits.
const PIECES: usize = 4;
const PIECE_BYTES: usize = 64 * 1024;
/// Timeout of a deletion. Agents get some seconds to end; a disk that does not answer must not make the client wait
/// forever.
const DELETE_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/sessions", get(list))
        .route("/api/sessions/{id}", delete(remove))
        .route("/api/sessions/{id}/export", get(export))
}

#[derive(Debug, Serialize)]
struct List {
    sessions: Vec<Row>,
    /// Older sessions were left out.
    more: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    id: String,
    created: String,
    used: String,
    events: u64,
    running: u64,
    waiting: u64,
}

impl From<SessionSummary> for Row {
    fn from(session: SessionSummary) -> Self {
        Self {
            id: session.id.to_string(),
            created: shown(session.created),
            used: shown(session.used),
            events: session.events,
            running: session.running,
            waiting: session.waiting,
        }
    }
}

async fn list(
    State(state): State<AppState>,
    Caller(principal): Caller,
) -> Result<Response, Refused> {
    let mut found = state.registry.list(Scope::Own(&principal), MOST_LISTED + 1).await?;
    let more = found.len() > MOST_LISTED;
    found.truncate(MOST_LISTED);
    let sessions = found.into_iter().map(Row::from).collect();
    Ok(([(CACHE_CONTROL, "no-store")], Json(List { sessions, more })).into_response())
}

/// A path that is not UTF-8 names no session.
fn named(id: Result<Path<String>, PathRejection>) -> Result<SessionId, KeepingError> {
    let id = id.ok().and_then(|Path(id)| SessionId::parse(&id));
    id.ok_or(KeepingError::Unknown)
}

async fn remove(
    State(state): State<AppState>,
    Caller(principal): Caller,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, Refused> {
    let id = named(id)?;
    let removed = timeout(DELETE_TIMEOUT, state.registry.delete(Scope::Own(&principal), &id));
    let stalled =
        |_| KeepingError::Stalled { reason: "the deletion is not finished yet".to_owned() };
    removed.await.map_err(stalled)??;
    Ok(StatusCode::NO_CONTENT)
}

async fn export(
    State(state): State<AppState>,
    Caller(principal): Caller,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Refused> {
    let id = named(id)?;
    let archive = state.registry.export(Scope::Own(&principal), &id).await?;
    let headers = [
        (CONTENT_TYPE, "application/x-tar".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{id}.tar\"")),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, stream_of(archive)).into_response())
}

/// Exports on a blocking thread, no faster than the client reads, and stops when the client leaves.
fn stream_of(archive: Archive) -> Body {
    let (pieces, mut made) = mpsc::channel(PIECES);
    tokio::task::spawn_blocking(move || {
        let out = BufWriter::with_capacity(PIECE_BYTES, Pieces(pieces.clone()));
        if let Err(err) = archive.write(out) {
            debug!(%err, "an export ended early");
            // Cuts the connection, so that the client does not take half an archive for a whole one.
            let _ = pieces.blocking_send(Err(err));
        }
    });
    Body::from_stream(stream::poll_fn(move |context| made.poll_recv(context)))
}

#[derive(Debug)]
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A request that was understood but not carried out.
#[derive(Debug)]
struct Refused(KeepingError);

impl From<KeepingError> for Refused {
    fn from(error: KeepingError) -> Self {
        Self(error)
    }
}

#[derive(Debug, Serialize)]
struct Problem {
    error: String,
    code: &'static str,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code) = match &self.0 {
            KeepingError::Unknown => (StatusCode::NOT_FOUND, "unknown_session"),
            KeepingError::TooManyExports => (StatusCode::SERVICE_UNAVAILABLE, "too_many_exports"),
            KeepingError::Stalled { .. } => (StatusCode::SERVICE_UNAVAILABLE, "store_stalled"),
            KeepingError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
            KeepingError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let error = match &self.0 {
            KeepingError::Store(err) => {
                error!(%err, "a session cannot be kept or deleted");
                "the gateway failed; try again, and tell the operator if it happens again"
                    .to_owned()
            }
            known @ (KeepingError::Unknown
            | KeepingError::TooManyExports
            | KeepingError::Stalled { .. }
            | KeepingError::Stopping) => known.to_string(),
        };
        let error = language::of_request().word(&error);
        let mut response = (status, Json(Problem { error, code })).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, axum::http::HeaderValue::from_static("5"));
        }
        response
    }
}

/// RFC 3339 in UTC.
fn shown(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
