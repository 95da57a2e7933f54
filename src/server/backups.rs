//! File backups of a project over HTTP: list them, and restore the project or one file. A restore does not wait for
//! running agents. It backs up the current files first. A user who wants no changes meanwhile stops the agents before.

use super::AppState;
use super::body::{BadRequest, Object, Parameters};
use super::caller::Caller;
use super::language;
use crate::session::{Backup, FileError, LibraryError, Moment, Restored};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;
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

/// The project to use; the gateway's own if absent.
#[derive(Debug, Deserialize)]
struct ProjectQuery {
    project: Option<PathBuf>,
}

async fn list(
    State(state): State<AppState>,
    Caller(_): Caller,
    Parameters(ProjectQuery { project }): Parameters<ProjectQuery>,
) -> Result<Response, Refused> {
    let backups = state.registry.backups(project.as_deref()).await?;
    let rows: Vec<Row> = backups.into_iter().map(Row::from).collect();
    Ok(([(CACHE_CONTROL, "no-store")], Json(json!({"backups": rows}))).into_response())
}

async fn restore(
    State(state): State<AppState>,
    Caller(principal): Caller,
    place: Result<Path<(String, String)>, PathRejection>,
    body: Object,
) -> Result<Response, Refused> {
    let unknown = LibraryError::Files(FileError::NotInBackup);
    let Ok(Path((day, time))) = place else { return Err(unknown.into()) };
    let moment = Moment::parse(&day, &time).ok_or(unknown)?;
    // A path of `null` means every file. The key is required, so that forgetting it does not restore everything.
    // Without `project` the gateway's own project is restored.
    let (path, project) = body.take(&["path", "project"], |fields| {
        Ok((fields.nullable_text("path")?, fields.optional_text("project")?.map(PathBuf::from)))
    })?;
    let everything = path.is_none();
    let restored = state.registry.restore_backup(project.as_deref(), moment, path).await;
    let Restored { written, removed } = restored?;
    let user = principal.as_str();
    info!(user, %moment, ?project, everything, written = written.len(), removed = removed.len(), "restored");
    Ok(Json(json!({"written": written, "removed": removed})).into_response())
}

/// Sent as `{"error": ..., "code": ...}`.
#[derive(Debug)]
enum Refused {
    Request(BadRequest),
    Library(LibraryError),
}

impl From<BadRequest> for Refused {
    fn from(why: BadRequest) -> Self {
        Self::Request(why)
    }
}

impl From<LibraryError> for Refused {
    fn from(err: LibraryError) -> Self {
        Self::Library(err)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code, error) = match self {
            Self::Request(why) => return why.into_response(),
            Self::Library(why) => {
                let (status, code) = answer(&why);
                (status, code, why.to_string())
            }
        };
        let error = language::of_request().word(&error);
        (status, Json(json!({"error": error, "code": code}))).into_response()
    }
}

fn answer(why: &LibraryError) -> (StatusCode, &'static str) {
    let why = match why {
        LibraryError::UnknownProject => return (StatusCode::NOT_FOUND, "unknown_project"),
        LibraryError::Files(why) => why,
    };
    match why {
        FileError::NotInBackup => (StatusCode::NOT_FOUND, "not_in_backup"),
        FileError::InTheWay { .. } => (StatusCode::CONFLICT, "in_the_way"),
        FileError::Ambiguous { .. } => (StatusCode::CONFLICT, "ambiguous"),
        FileError::DiskFull => (StatusCode::INSUFFICIENT_STORAGE, "disk_full"),
        FileError::NoPermission => (StatusCode::INTERNAL_SERVER_ERROR, "no_permission"),
        FileError::ProjectMissing => (StatusCode::INTERNAL_SERVER_ERROR, "project_missing"),
        FileError::Storage { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "storage_failed"),
        FileError::TooManySameName | FileError::NotAnImage | FileError::Internal => {
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
    }
}
