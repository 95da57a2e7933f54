//! Backups of the project over HTTP: list them, and bring the project or one file of it back. A restore does not
//! wait for agents: what is there is backed up first, and whoever wants a quiet project stops them before.

use super::AppState;
use super::caller::Caller;
use crate::session::{Backup, FileError, Moment, Restored};
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::info;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/backups", get(list))
        .route("/api/backups/{day}/{time}/restore", post(restore))
}

#[derive(Debug, Serialize)]
struct Row {
    day: String,
    time: String,
    kind: &'static str,
    files: usize,
}

impl From<Backup> for Row {
    fn from(backup: Backup) -> Self {
        let (kind, files) = (backup.kind(), backup.files);
        Self { day: backup.moment.day(), time: backup.moment.time(), kind, files }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    /// `null` is everything. It has to be said, so that a forgotten key does not bring everything back.
    #[serde(deserialize_with = "Option::deserialize")]
    path: Option<String>,
}

async fn list(State(state): State<AppState>, Caller(_): Caller) -> Response {
    let rows: Vec<Row> = state.registry.backups().await.into_iter().map(Row::from).collect();
    ([(CACHE_CONTROL, "no-store")], Json(json!({"backups": rows}))).into_response()
}

async fn restore(
    State(state): State<AppState>,
    Caller(principal): Caller,
    place: Result<Path<(String, String)>, PathRejection>,
    order: Result<Json<Order>, JsonRejection>,
) -> Result<Response, Refused> {
    let Path((day, time)) = place.map_err(|_| FileError::NotInBackup)?;
    let moment = Moment::parse(&day, &time).ok_or(FileError::NotInBackup)?;
    let Json(Order { path }) = order.map_err(Refused::Request)?;
    let everything = path.is_none();
    let Restored { written, removed } = state.registry.restore_backup(moment, path).await?;
    let user = principal.as_str();
    info!(user, %moment, everything, written = written.len(), removed = removed.len(), "restored");
    Ok(Json(json!({"written": written, "removed": removed})).into_response())
}

/// Told as `{"error": ..., "code": ...}`.
#[derive(Debug)]
enum Refused {
    Request(JsonRejection),
    Files(FileError),
}

impl From<FileError> for Refused {
    fn from(err: FileError) -> Self {
        Self::Files(err)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code, error) = match self {
            Self::Request(why) => (why.status(), "bad_request", why.body_text()),
            Self::Files(why) => {
                let (status, code) = answer(&why);
                (status, code, why.to_string())
            }
        };
        (status, Json(json!({"error": error, "code": code}))).into_response()
    }
}

fn answer(why: &FileError) -> (StatusCode, &'static str) {
    match why {
        FileError::NotInBackup => (StatusCode::NOT_FOUND, "not_in_backup"),
        FileError::DiskFull => (StatusCode::INSUFFICIENT_STORAGE, "disk_full"),
        FileError::NoPermission => (StatusCode::INTERNAL_SERVER_ERROR, "no_permission"),
        FileError::ProjectMissing => (StatusCode::INTERNAL_SERVER_ERROR, "project_missing"),
        FileError::Storage { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "storage_failed"),
        FileError::TooManySameName | FileError::NotAnImage | FileError::Internal => {
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
    }
}
