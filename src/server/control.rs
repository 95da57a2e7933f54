//! `control.sock` in the data directory: how `kakehashi say` reaches the running gateway. One JSON line in,
//! one out; whoever may open the file is the operator.

use super::AppState;
use crate::message::SystemNotice;
use crate::session::Registry;
use crate::task::Tasks;
use serde::{Deserialize, Serialize};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::time::timeout;
use tracing::{debug, warn};

/// Longest line either side reads.
const LINE_LIMIT: u64 = 64 * 1024;
/// Fits into a line even when every byte needs six for its escape.
const TEXT_LIMIT: usize = 10 * 1024;
/// Callers are served one after the other, so none may take long.
const PATIENCE: Duration = Duration::from_secs(2);
const BACKLOG: u32 = 16;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    say: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Answer {
    Done { ok: bool, sessions: usize },
    Refused { error: String },
}

/// Why a text did not reach the gateway.
#[derive(Debug, thiserror::Error)]
pub enum SayError {
    #[error("no gateway is running with data directory {}", .0.display())]
    NotRunning(PathBuf),
    #[error("the text is too long, at most {TEXT_LIMIT} bytes")]
    TooLong,
    #[error("the gateway refused: {0}")]
    Refused(String),
    #[error("the gateway did not answer: {0}")]
    Broken(#[from] io::Error),
}

/// Tells every session of the gateway that uses `data`; returns how many there were.
pub async fn say(data: &Path, text: &str) -> Result<usize, SayError> {
    if text.len() > TEXT_LIMIT {
        return Err(SayError::TooLong);
    }
    let mut stream = match UnixStream::connect(path(data)).await {
        Ok(stream) => stream,
        Err(err)
            if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
        {
            return Err(SayError::NotRunning(data.to_owned()));
        }
        Err(err) => return Err(err.into()),
    };
    let asked = timeout(PATIENCE * 2, ask(&mut stream, text)).await.map_err(io::Error::from)?;
    match asked? {
        Answer::Done { sessions, .. } => Ok(sessions),
        Answer::Refused { error } => Err(SayError::Refused(error)),
    }
}

/// Listens until the gateway stops. A gateway that cannot be spoken to this way still serves.
pub(super) fn start(state: &AppState, tasks: &Tasks) {
    let path = path(&state.config.data);
    match listen(&path) {
        Ok(listener) => {
            tasks.spawn("control", serve(listener, path, state.clone()));
        }
        Err(err) => {
            warn!(%err, path = %path.display(), "no control socket, `kakehashi say` will not work")
        }
    }
}

/// Where the socket of the gateway with this data directory is.
pub fn path(data: &Path) -> PathBuf {
    data.join("control.sock")
}

/// Whatever has the name is left over: the lock on the data directory is ours.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
        Ok(()) | Err(_) => (),
    }
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    // Nobody can connect before `listen`, so there is no moment with wider rights.
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    socket.listen(BACKLOG)
}

async fn serve(listener: UnixListener, path: PathBuf, state: AppState) {
    while let Some(accepted) = state.stop.run_until_cancelled(listener.accept()).await {
        let served = match accepted {
            Ok((stream, _)) => timeout(PATIENCE, obey(stream, &state.registry))
                .await
                .unwrap_or_else(|err| Err(err.into())),
            Err(err) => {
                // Most likely out of descriptors; the accept loop reports that.
                state.stop.run_until_cancelled(tokio::time::sleep(PATIENCE)).await;
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

async fn obey(mut stream: UnixStream, registry: &Registry) -> io::Result<()> {
    let line = read_line(&mut stream).await?;
    let answer = match serde_json::from_str::<Order>(&line) {
        Ok(Order { say }) if say.trim().is_empty() => {
            Answer::Refused { error: "there is nothing to say".to_owned() }
        }
        Ok(Order { say }) => {
            Answer::Done { ok: true, sessions: registry.broadcast(&SystemNotice::Say(say.into())) }
        }
        Err(err) => Answer::Refused { error: err.to_string() },
    };
    write_line(&mut stream, &answer).await
}

async fn ask(stream: &mut UnixStream, text: &str) -> io::Result<Answer> {
    write_line(stream, &Order { say: text.to_owned() }).await?;
    Ok(serde_json::from_str(&read_line(stream).await?)?)
}

async fn write_line(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

/// A line that is cut off at the limit is no JSON any more and is refused as such.
async fn read_line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_LIMIT)).read_line(&mut line).await?;
    Ok(line)
}
