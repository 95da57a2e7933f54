//! Agents' results over HTTP: compare them, show a diff, list backups, and accept, discard or restore. These are the
//! operations that sockets have, for clients without a socket.

use super::AppState;
use super::body::{BadRequest, Object, Parameters};
use super::caller::Caller;
use super::language;
use crate::message::{
    AgentSet, AgentSlot, BackupNote, BackupReason, Branch, CheckWish, Choice, Chosen,
    ChosenOutcome, ComparisonRow, Cost, FileChange, Overlap, Problem, RestorePoint, RunId,
    SessionId, WorkVersion,
};
use crate::session::{ChoiceError, OpenError, SessionHandle};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{error, info};

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/sessions/{id}/agents/compare", get(compare))
        .route("/api/sessions/{id}/agents/backups", get(backups))
        .route("/api/sessions/{id}/agents/{agent}/diff", get(diff))
        .route("/api/sessions/{id}/agents/{agent}/accept", post(accept))
        .route("/api/sessions/{id}/agents/{agent}/discard", post(discard))
        .route("/api/sessions/{id}/agents/{agent}/restore", post(restore))
}

#[derive(Debug, Deserialize)]
struct Compare {
    /// Comma-separated slots such as `1,2,4`; all agents if absent.
    agents: Option<String>,
    check: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Diff {
    path: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Backups {
    /// Only backups that can be restored on this agent's channel; all backups if absent.
    agent: Option<String>,
}

type Id = Result<Path<String>, PathRejection>;
type AgentPath = Result<Path<(String, String)>, PathRejection>;

async fn compare(
    State(state): State<AppState>,
    Caller(principal): Caller,
    id: Id,
    Parameters(query): Parameters<Compare>,
) -> Result<Response, Refused> {
    let agents = match query.agents.as_deref() {
        Some(names) => names.split(',').map(slot).collect::<Option<AgentSet>>(),
        None => Some(AgentSet::ALL),
    };
    let agents = agents.ok_or(Refused::UnknownAgent)?;
    let check = if query.check == Some(false) { CheckWish::Skip } else { CheckWish::Run };
    let Ok(Path(id)) = id else { return Err(Refused::UnknownSession) };
    let session = open(&state, &principal, &id).await?;
    let rows = session.compare(agents, check).await?;
    let rows: Vec<Value> = rows.iter().map(row).collect();
    Ok(not_cached(&json!({"agents": rows})))
}

async fn diff(
    State(state): State<AppState>,
    Caller(principal): Caller,
    place: AgentPath,
    Parameters(Diff { path }): Parameters<Diff>,
) -> Result<Response, Refused> {
    let (session, agent) = find(&state, &principal, place).await?;
    let note = session.diff(agent, path).await?;
    let files: Vec<Value> = note.files.iter().map(file).collect();
    let (text, truncated) = (&note.text, note.truncated);
    Ok(not_cached(&json!({
        "path": note.path, "files": files, "diff": text, "truncated": truncated,
        "version": note.version.as_str(),
    })))
}

async fn accept(
    State(state): State<AppState>,
    Caller(principal): Caller,
    place: AgentPath,
    body: Object,
) -> Result<Response, Refused> {
    let (branch, message, version) = body.take(&["branch", "message", "version"], |fields| {
        let (branch, message) = (fields.optional_text("branch")?, fields.optional_text("message")?);
        Ok((branch, message, fields.optional_text("version")?))
    })?;
    let branch = branch.map(|name| Branch { name, message });
    let version = version.map(WorkVersion::new);
    choose(&state, &principal, place, Choice::Accept { branch, version }).await
}

async fn discard(
    State(state): State<AppState>,
    Caller(principal): Caller,
    place: AgentPath,
) -> Result<Response, Refused> {
    choose(&state, &principal, place, Choice::Discard).await
}

async fn restore(
    State(state): State<AppState>,
    Caller(principal): Caller,
    place: AgentPath,
    body: Object,
) -> Result<Response, Refused> {
    // `null` means every file. The key is required, so that forgetting it does not restore everything.
    let (run, backup, path) = body.take(&["run", "backup", "path"], |fields| {
        let (run, backup) = (fields.optional_number("run")?, fields.optional_text("backup")?);
        Ok((run, backup, fields.nullable_text("path")?))
    })?;
    let point = match (run, backup) {
        (Some(run), None) => RestorePoint::Before(RunId(run)),
        (None, Some(name)) => RestorePoint::Named(name),
        (Some(_), Some(_)) | (None, None) => return Err(Refused::NoPoint),
    };
    choose(&state, &principal, place, Choice::Restore { point, path }).await
}

async fn backups(
    State(state): State<AppState>,
    Caller(principal): Caller,
    id: Id,
    Parameters(Backups { agent }): Parameters<Backups>,
) -> Result<Response, Refused> {
    let agent = match agent.as_deref() {
        Some(text) => Some(slot(text).ok_or(Refused::UnknownAgent)?),
        None => None,
    };
    let Ok(Path(id)) = id else { return Err(Refused::UnknownSession) };
    let session = open(&state, &principal, &id).await?;
    let list = session.backups(agent).await?;
    let rows: Vec<Value> = list.backups.iter().map(backup).collect();
    Ok(not_cached(&json!({"backups": rows})))
}

fn backup(note: &BackupNote) -> Value {
    json!({
        "name": note.name, "before": note.reason.map(BackupReason::name),
        "run": note.reason.and_then(BackupReason::run).map(|run| run.0), "made": note.made,
        "agent": note.agent.map(AgentSlot::number),
    })
}

async fn choose(
    state: &AppState,
    principal: &crate::message::Principal,
    place: AgentPath,
    choice: Choice,
) -> Result<Response, Refused> {
    let (session, agent) = find(state, principal, place).await?;
    let kind = choice.kind().name();
    let chosen = session.choose(agent, choice).await?;
    info!(user = principal.as_str(), session = %session.id(), agent = agent.number(), kind, "chosen");
    Ok(outcome_response(chosen))
}

fn outcome_response(chosen: Chosen) -> Response {
    match chosen.outcome {
        ChosenOutcome::Done { files, branch, backup, left_out } => {
            let body = json!({
                "files": files, "branch": branch, "backup": backup, "left_out": left_out,
            });
            Json(body).into_response()
        }
        ChosenOutcome::Conflicts(conflicts) => {
            let conflicts = conflicts.iter();
            let rows: Value =
                conflicts.map(|one| json!({"path": one.path, "kind": one.kind})).collect();
            let error = "nothing was changed: these files conflict with the project";
            let error = language::of_request().word(error);
            let body = json!({"error": error, "code": "conflict", "conflicts": rows});
            (StatusCode::CONFLICT, Json(body)).into_response()
        }
        ChosenOutcome::Failed { reason } => {
            let error = language::of_request().word(&reason);
            (StatusCode::CONFLICT, Json(json!({"error": error, "code": "no_choice"})))
                .into_response()
        }
    }
}

fn row(row: &ComparisonRow) -> Value {
    let check = row.check.as_ref();
    json!({
        "agent": row.agent.number(), "name": row.name, "place": row.place.name(),
        "run": row.run.map(|run| run.0), "outcome": row.outcome.map(|outcome| outcome.name()),
        "files": row.files, "added": row.added, "removed": row.removed, "seconds": row.seconds,
        "tokens": row.usage.as_ref().map(|usage| usage.used),
        "cost": row.usage.as_ref().and_then(|usage| usage.cost.as_ref()).map(cost),
        "check": check.map(|check| json!({"code": check.code, "output": check.output})),
        "overlaps": row.overlaps.iter().map(overlap).collect::<Value>(), "left_out": row.left_out,
        "problem": row.problem, "version": row.version.as_ref().map(WorkVersion::as_str),
    })
}

fn cost(cost: &Cost) -> Value {
    json!({"amount": cost.amount, "currency": cost.currency})
}

fn overlap(overlap: &Overlap) -> Value {
    let agents: Vec<u8> = overlap.agents.iter().map(AgentSlot::number).collect();
    json!({"path": overlap.path, "agents": agents})
}

fn file(file: &FileChange) -> Value {
    json!({
        "path": file.path, "old_path": file.old_path, "status": file.status.name(),
        "added": file.added, "removed": file.removed,
    })
}

async fn find(
    state: &AppState,
    principal: &crate::message::Principal,
    place: AgentPath,
) -> Result<(SessionHandle, AgentSlot), Refused> {
    let Ok(Path((id, agent))) = place else { return Err(Refused::UnknownSession) };
    let agent = slot(&agent).ok_or(Refused::UnknownAgent)?;
    Ok((open(state, principal, &id).await?, agent))
}

/// Opens a session only if it exists: a question about a session must not create it.
async fn open(
    state: &AppState,
    principal: &crate::message::Principal,
    id: &str,
) -> Result<SessionHandle, Refused> {
    let id = SessionId::parse(id).ok_or(Refused::UnknownSession)?;
    let found = state.registry.reopen(principal, &id).await?;
    found.ok_or(Refused::UnknownSession)
}

fn slot(text: &str) -> Option<AgentSlot> {
    text.trim().parse().ok().and_then(AgentSlot::new)
}

fn not_cached(body: &Value) -> Response {
    ([(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// Sent as `{"error": ..., "code": ...}`.
#[derive(Debug)]
enum Refused {
    Request(BadRequest),
    /// The body names neither a run nor a backup, or names both.
    NoPoint,
    UnknownSession,
    UnknownAgent,
    Choice(ChoiceError),
    Open(OpenError),
}

impl From<BadRequest> for Refused {
    fn from(why: BadRequest) -> Self {
        Self::Request(why)
    }
}

impl From<ChoiceError> for Refused {
    fn from(err: ChoiceError) -> Self {
        Self::Choice(err)
    }
}

impl From<OpenError> for Refused {
    fn from(err: OpenError) -> Self {
        Self::Open(err)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code, error) = match self {
            Self::Request(why) => return why.into_response(),
            Self::NoPoint => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "bad_request",
                "give either `run` or `backup`".to_owned(),
            ),
            Self::UnknownSession | Self::Open(OpenError::Refused) => {
                (StatusCode::NOT_FOUND, "unknown_session", "there is no such session".to_owned())
            }
            Self::UnknownAgent => {
                (StatusCode::NOT_FOUND, "unknown_agent", "agents are 1, 2, 3 and 4".to_owned())
            }
            Self::Choice(ChoiceError::Refused(problem)) => {
                (StatusCode::CONFLICT, Problem::code(&problem), problem.to_string())
            }
            Self::Choice(ChoiceError::Closed(why)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "stopping", why.to_string())
            }
            Self::Open(OpenError::Stopping) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "stopping",
                "the gateway is stopping; try again later".to_owned(),
            ),
            Self::Open(err @ (OpenError::Store(_) | OpenError::NoRandomness)) => {
                error!(%err, "a session cannot be opened");
                let text =
                    "the gateway failed; try again, and tell the operator if it happens again";
                (StatusCode::INTERNAL_SERVER_ERROR, "internal", text.to_owned())
            }
        };
        let error = language::of_request().word(&error);
        (status, Json(json!({"error": error, "code": code}))).into_response()
    }
}
