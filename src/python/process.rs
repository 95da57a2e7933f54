//! The running parent in its closed view, and everything below it.

use super::boxed::{self, BoxMeans, Limits, Workspace};
use super::environment::Environment;
use super::error::PythonError;
use super::frame::{self, Hello, Told};
use crate::process::{self, Pipes, Place, ProgramStdin, Stderr, Supervised};
use crate::sandbox;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A machine may be busy, and its disk cold.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long the last words of one that is gone may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Dropping it closes its pipes, and so ends it; [`Running::end`] also waits for that.
#[derive(Debug)]
pub(super) struct Running {
    process: Supervised,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: Stderr,
}

impl Running {
    pub(super) async fn start(
        environment: &Environment,
        boxes: &BoxMeans,
        workspace: &Workspace,
        limits: &Limits,
        stop: &CancellationToken,
    ) -> Result<Self, PythonError> {
        let job = {
            let (environment, boxes) = (environment.clone(), boxes.clone());
            let (workspace, limits) = (workspace.clone(), limits.clone());
            move || boxed::confinement(&environment, &boxes, &workspace, &limits)
        };
        let joined = tokio::task::spawn_blocking(job).await;
        // A failed join means that the runtime is ending.
        let confinement = joined.map_err(|_| PythonError::Cancelled)??;
        let filter = sandbox::filter_for_children()
            .map_err(|err| PythonError::NoBox { reason: err.to_string(), advice: "" })?;
        let filter = filter.iter().map(|byte| format!("{byte:02x}")).collect();
        let readable = boxed::readable(&confinement);
        let hello = Hello {
            filter,
            landlock: boxes.means.landlock,
            readable: &readable,
            files: workspace.files.iter().map(|one| one.name.as_str()).collect(),
            chosen: workspace.chosen.as_deref(),
            seconds: limits.time.as_secs() + 10,
            output: limits.output,
            outputs: limits.outputs,
            output_size: limits.output_size,
            output_total: limits.output_total,
        };
        let program = environment.layout.executable.to_string_lossy().into_owned();
        let arguments = ["-I", "-S", "-B", "-X", "utf8", "/python/program/kakehashi_parent.py"];
        let command: Vec<_> = [program].into_iter().chain(arguments.map(str::to_owned)).collect();
        let place = Place { confinement: Some(Arc::new(confinement)), ..Place::open("/") };
        let started = process::spawn(&boxes.launcher, &command, &place, ProgramStdin::Passed);
        let (process, Pipes { stdin, stdout, stderr }) = started.map_err(PythonError::Asked)?;
        let mut running = Self { process, stdin, stdout, stderr };
        let ready = async {
            running.ask(&hello).await?;
            running.told().await
        };
        let ready = timeout(START_LIMIT, stop.run_until_cancelled(ready)).await;
        match ready {
            Ok(Some(Ok((Told::Ready, _)))) => Ok(running),
            Ok(None) => {
                running.end().await;
                Err(PythonError::Cancelled)
            }
            Ok(Some(Ok(_) | Err(_))) => Err(PythonError::Start(running.end().await)),
            Err(_) => {
                running.end().await;
                Err(PythonError::Start("it was not ready in time".to_owned()))
            }
        }
    }

    pub(super) async fn ask(&mut self, request: &impl Serialize) -> io::Result<()> {
        frame::write(&mut self.stdin, request).await
    }

    /// The next frame. A dropped future may have lost a part of one.
    pub(super) async fn told(&mut self) -> io::Result<(Told, Vec<u8>)> {
        let mut reading = std::pin::pin!(frame::read(&mut self.stdout));
        loop {
            tokio::select! {
                read = &mut reading => return read,
                // Remembered there.
                _ = self.stderr.next() => (),
            }
        }
    }

    /// Returns when nothing of it is left, with what it said last.
    pub(super) async fn end(self) -> String {
        let Self { mut process, stdin, stdout, mut stderr } = self;
        process.kill();
        // A supervisor that hears no signal yet sees that nobody writes any more.
        drop((stdin, stdout));
        let status = process.gone().await;
        stderr.drain(LAST_WORDS).await;
        let words = stderr.last_words();
        let last = words.lines().last().unwrap_or_default();
        let last = last.trim_start_matches("there is no box: ");
        if last.is_empty() { process::described(status) } else { last.to_owned() }
    }
}
