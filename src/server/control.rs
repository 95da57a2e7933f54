//! `control.sock` in the data directory: how other `kakehashi` commands reach the running gateway. One JSON line in,
//! one out. Its mode is 0600, so everybody who can open it counts as the operator.

use super::AppState;
use crate::config::{self, User};
use crate::message::{Principal, SessionId, SystemNotice};
use crate::session::{KeepingError, LibraryError, Moment, Scope};
use crate::task::Tasks;
use serde::{Deserialize, Serialize};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, info, warn};

/// Longest line either side reads.
const LINE_LIMIT: u64 = 64 * 1024;
/// Longest text of `say`. It fits into a line even when every byte needs six for its escape.
const TEXT_LIMIT: usize = 10 * 1024;
/// Timeout of one request. Requests are handled one after the other, so none may take long.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout while the disk refuses writes; less than [`REQUEST_TIMEOUT`].
const STALL_TIMEOUT: Duration = Duration::from_secs(1);
/// A restore may have to copy a whole project.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// A deletion stops agents and waits for the disk.
const DELETE_TIMEOUT: Duration = Duration::from_secs(60);
const BACKLOG: u32 = 16;

/// `{"say": "..."}`, `{"restore": {...}}`, `{"delete_session": "ws-..."}`, `{"reload_users": "FILE"}`
/// or `{"logout": "NAME"}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ControlRequest {
    Say(String),
    Restore { project: PathBuf, moment: String, path: Option<String> },
    DeleteSession(String),
    ReloadUsers(PathBuf),
    Logout(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Answer {
    Done { ok: bool, sessions: usize },
    Restored { ok: bool, written: usize, removed: usize },
    Refused { error: String },
}

/// Why a request to the gateway failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("no gateway is running with data directory {}", .0.display())]
    NotRunning(PathBuf),
    #[error("the text is too long, at most {TEXT_LIMIT} bytes")]
    TooLong,
    #[error("the gateway refused: {0}")]
    Refused(String),
    #[error("the gateway did not answer: {0}")]
    Broken(#[from] io::Error),
}

/// Shows a text in every session of the gateway that uses `data`; returns how many sessions there were.
pub async fn say(data: &Path, text: &str) -> Result<usize, ControlError> {
    if text.len() > TEXT_LIMIT {
        return Err(ControlError::TooLong);
    }
    done(send(data, &ControlRequest::Say(text.to_owned()), REQUEST_TIMEOUT * 2).await?)
}

/// Restores files from a backup; returns how many were written and removed. The project must be one of the gateway that
/// uses `data`.
pub async fn restore(
    data: &Path,
    project: &Path,
    moment: Moment,
    path: Option<String>,
) -> Result<(usize, usize), ControlError> {
    let request =
        ControlRequest::Restore { project: project.to_owned(), moment: moment.name(), path };
    let answer = send(data, &request, RESTORE_TIMEOUT).await?;
    if let Answer::Restored { written, removed, .. } = answer {
        Ok((written, removed))
    } else {
        Err(answer.into())
    }
}

/// Deletes a session of the gateway that uses `data`, whoever owns it.
pub async fn delete_session(data: &Path, id: &SessionId) -> Result<(), ControlError> {
    let request = ControlRequest::DeleteSession(id.to_string());
    done(send(data, &request, DELETE_TIMEOUT + REQUEST_TIMEOUT).await?).map(|_| ())
}

/// Makes the gateway that uses `data` reload its users from this file.
pub async fn reload_users(data: &Path, file: &Path) -> Result<(), ControlError> {
    done(send(data, &ControlRequest::ReloadUsers(file.to_owned()), REQUEST_TIMEOUT * 2).await?)
        .map(|_| ())
}

/// Ends all logins of one user; returns how many there were.
pub async fn logout(data: &Path, name: &str) -> Result<usize, ControlError> {
    done(send(data, &ControlRequest::Logout(name.to_owned()), REQUEST_TIMEOUT * 2).await?)
}

fn done(answer: Answer) -> Result<usize, ControlError> {
    if let Answer::Done { sessions, .. } = answer { Ok(sessions) } else { Err(answer.into()) }
}

async fn send(
    data: &Path,
    request: &ControlRequest,
    limit: Duration,
) -> Result<Answer, ControlError> {
    let mut stream = match UnixStream::connect(path(data)).await {
        Ok(stream) => stream,
        Err(err)
            if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
        {
            return Err(ControlError::NotRunning(data.to_owned()));
        }
        Err(err) => return Err(err.into()),
    };
    Ok(timeout(limit, ask(&mut stream, request)).await.map_err(io::Error::from)??)
}

/// Any answer other than the expected one is an error.
impl From<Answer> for ControlError {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Refused { error } => Self::Refused(error),
            Answer::Done { .. } | Answer::Restored { .. } => {
                Self::Broken(io::ErrorKind::InvalidData.into())
            }
        }
    }
}

/// Listens until the gateway stops. Without a control socket the gateway still serves; it only logs a warning.
pub(super) fn start(state: &AppState, tasks: Tasks) {
    let path = path(&state.config.data);
    match listen(&path) {
        Ok(listener) => {
            let serving = serve(listener, path, state.clone(), tasks.clone());
            tasks.spawn("control", serving);
        }
        Err(err) => {
            warn!(%err, path = %path.display(), "no control socket, other commands cannot reach this gateway")
        }
    }
}

pub fn path(data: &Path) -> PathBuf {
    data.join("control.sock")
}

/// A socket file that exists already is stale: we hold the lock on the data directory.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
        Ok(()) | Err(_) => (),
    }
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    // Before `listen` no connection is possible, so the socket is never reachable with wider permissions.
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    socket.listen(BACKLOG)
}

async fn serve(listener: UnixListener, path: PathBuf, state: AppState, tasks: Tasks) {
    while let Some(accepted) = state.stop.run_until_cancelled(listener.accept()).await {
        let served = match accepted {
            Ok((stream, _)) => timeout(REQUEST_TIMEOUT, handle(stream, &state, &tasks))
                .await
                .unwrap_or_else(|err| Err(err.into())),
            Err(err) => {
                // Most likely out of file descriptors; the accept loop reports that.
                state.stop.run_until_cancelled(tokio::time::sleep(REQUEST_TIMEOUT)).await;
                Err(err)
            }
        };
        if let Err(err) = served {
            debug!(%err, "a control connection failed");
        }
    }
    if let Err(err) = std::fs::remove_file(&path) {
        debug!(%err, "the control socket was gone already");
    }
}

async fn handle(mut stream: UnixStream, state: &AppState, tasks: &Tasks) -> io::Result<()> {
    let line = read_line(&mut stream).await?;
    let answer = match serde_json::from_str::<ControlRequest>(&line) {
        Ok(ControlRequest::Say(text)) if text.trim().is_empty() => {
            refused("there is nothing to say")
        }
        Ok(ControlRequest::Say(text)) => {
            let sessions = state.registry.broadcast(&SystemNotice::Say(text.into()));
            Answer::Done { ok: true, sessions }
        }
        Ok(ControlRequest::ReloadUsers(file)) => unless_stalled(state, reload(state, &file)).await,
        Ok(ControlRequest::Logout(name)) => unless_stalled(state, logout_all(state, &name)).await,
        Ok(ControlRequest::DeleteSession(id)) => {
            // Stopping the agents takes time, and the next control command must not wait for that.
            let state = state.clone();
            tasks.spawn("control-delete", async move {
                let answer = unless_stalled(&state, delete(&state, &id)).await;
                if let Err(err) = write_line(&mut stream, &answer).await {
                    debug!(%err, "the caller did not wait for the end of the deletion");
                }
            });
            return Ok(());
        }
        Ok(ControlRequest::Restore { project, moment, path }) => {
            // The next control command must not wait for the restore.
            let state = state.clone();
            tasks.spawn("control-restore", async move {
                let work = restore_files(&state, &project, &moment, path);
                let answer = unless_stalled(&state, work).await;
                if let Err(err) = write_line(&mut stream, &answer).await {
                    debug!(%err, "a control connection failed");
                }
            });
            return Ok(());
        }
        Err(err) => refused(err),
    };
    write_line(&mut stream, &answer).await
}

/// Answers with an error if the disk refuses writes for too long. The work is then dropped, as if the caller had
/// disconnected.
async fn unless_stalled(state: &AppState, work: impl Future<Output = Answer>) -> Answer {
    tokio::select! {
        biased;
        answer = work => answer,
        reason = state.registry.stalled(STALL_TIMEOUT) => {
            refused(state.config.language.say("http", "unavailable", &[("reason", &reason)]))
        }
    }
}

async fn logout_all(state: &AppState, name: &str) -> Answer {
    match state.auth.revoke_all(&Principal::new(name)).await {
        Ok(sessions) => Answer::Done { ok: true, sessions },
        Err(err) => refused(err),
    }
}

async fn restore_files(
    state: &AppState,
    project: &Path,
    moment: &str,
    path: Option<String>,
) -> Answer {
    let moment = match moment.parse() {
        Ok(moment) => moment,
        Err(err) => return refused(err),
    };
    match state.registry.restore_backup(Some(project), moment, path).await {
        Ok(done) => {
            let (written, removed) = (done.written.len(), done.removed.len());
            info!(%moment, project = %project.display(), written, removed, "restored for the operator");
            Answer::Restored { ok: true, written, removed }
        }
        // The operator most likely ran the command in the directory of another project.
        Err(LibraryError::UnknownProject) => {
            let others = state.config.projects.iter().map(|(_, path)| path);
            let all = std::iter::once(&state.config.project).chain(others);
            let all: Vec<_> = all.map(|path| path.display().to_string()).collect();
            refused(format!(
                "the gateway's projects are {}; choose one with --project",
                all.join(", ")
            ))
        }
        Err(LibraryError::Files(err)) => refused(err),
    }
}

async fn reload(state: &AppState, file: &Path) -> Answer {
    let own = state.config.file.clone().or_else(config::platform_file);
    // Resolves links, so that a link and its target count as the same file.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if own.as_deref().map(real) != Some(real(file)) {
        let own = own.map_or_else(|| "no file".to_owned(), |own| own.display().to_string());
        return refused(format!(
            "the gateway reads its settings from {own}; use this file with --config"
        ));
    }
    let users = match config::users(file) {
        Ok(users) => users,
        Err(err) => return refused(err),
    };
    if users.is_empty() && !state.config.listen.ip().is_loopback() {
        return refused("other machines can reach the gateway, so it needs users");
    }
    // More users may need a sandbox. Removing users and changing passwords must work without one.
    if users.len() > state.auth.user_count()
        && let Err(why) = can_serve(state, users.clone()).await
    {
        return refused(why);
    }
    let count = users.len();
    if let Err(err) = state.auth.replace_users(users).await {
        warn!(%err, "ended logins could not be deleted; the next start deletes them");
    }
    info!(users = count, "users changed by the operator");
    Answer::Done { ok: true, sessions: 0 }
}

async fn can_serve(state: &AppState, users: Vec<User>) -> Result<(), String> {
    let config = Arc::clone(&state.config);
    match spawn_blocking(move || config.can_serve(&users)).await {
        Ok(answer) => answer.map_err(|no_box| no_box.to_string()),
        Err(_) => Err("the gateway cannot find out whether agents can be boxed".to_owned()),
    }
}

async fn delete(state: &AppState, id: &str) -> Answer {
    let Some(id) = SessionId::parse(id) else { return refused(KeepingError::Unknown) };
    match timeout(DELETE_TIMEOUT, state.registry.delete(Scope::Everybody, &id)).await {
        Ok(Ok(())) => Answer::Done { ok: true, sessions: 1 },
        Ok(Err(err)) => refused(err),
        Err(_) => {
            refused("the deletion is not finished yet; check later with `kakehashi session list`")
        }
    }
}

fn refused(error: impl ToString) -> Answer {
    Answer::Refused { error: error.to_string() }
}

async fn ask(stream: &mut UnixStream, request: &ControlRequest) -> io::Result<Answer> {
    write_line(stream, request).await?;
    Ok(serde_json::from_str(&read_line(stream).await?)?)
}

async fn write_line(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// A line above the limit is cut off and then refused, because it is no longer valid JSON.
async fn read_line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_LIMIT)).read_line(&mut line).await?;
    Ok(line)
}
