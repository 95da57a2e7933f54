//! The interpreter of one workspace. It does one thing at a time; what must not go on is killed with everything below
//! it, and the next action starts a new one.

use super::answer::{ActionResult, Failure, Skipped};
use super::boxed::{BoxMeans, Limits, Workspace};
use super::environment::Environment;
use super::error::PythonError;
use super::frame::{Request, Status, Told};
use super::output::Gathered;
use super::process::Running;
use super::table::DataFrameInfo;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub struct Interpreter {
    environment: Environment,
    boxes: BoxMeans,
    workspace: Workspace,
    limits: Limits,
    /// `None`: it has ended, or is just being used.
    running: Option<Running>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub code: String,
    pub variables: Variables,
    /// `None`: as long as the limits say.
    pub time: Option<Duration>,
}

/// Which variables an action finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variables {
    /// Those that everybody finds.
    Fresh,
    /// And those of the earlier actions that kept theirs, as long as their interpreter lives.
    Kept,
}

impl Interpreter {
    pub async fn start(
        environment: &Environment,
        boxes: &BoxMeans,
        workspace: Workspace,
        limits: Limits,
        stop: &CancellationToken,
    ) -> Result<Self, PythonError> {
        let running = Running::start(environment, boxes, &workspace, &limits, stop).await?;
        Ok(Self {
            environment: environment.clone(),
            boxes: boxes.clone(),
            workspace,
            limits,
            running: Some(running),
        })
    }

    /// What is in a file of the workspace.
    pub async fn describe(
        &mut self,
        name: &str,
        stop: &CancellationToken,
    ) -> Result<DataFrameInfo, PythonError> {
        if !self.workspace.files.iter().any(|one| one.name == name) {
            return Err(PythonError::Name(name.to_owned()));
        }
        let deadline = Instant::now() + self.limits.time;
        let mut running = self.take(stop).await?;
        let asked = async {
            running.ask(&Request::Describe { name }).await?;
            running.told().await
        };
        match timeout_at(deadline, stop.run_until_cancelled(asked)).await {
            Ok(Some(Ok((Told::Described { status }, bytes)))) => {
                self.running = Some(running);
                self.described(status, &bytes)
            }
            Ok(Some(Ok(_) | Err(_))) => Err(PythonError::Table(running.end().await)),
            Ok(None) => {
                running.end().await;
                Err(PythonError::Cancelled)
            }
            Err(_) => {
                running.end().await;
                Err(PythonError::Table(Failure::Time(self.limits.time).to_string()))
            }
        }
    }

    fn described(&self, status: Status, bytes: &[u8]) -> Result<DataFrameInfo, PythonError> {
        let text = String::from_utf8_lossy(bytes);
        match Failure::new(status, &text, &self.limits) {
            Some(failure) => Err(PythonError::Table(failure.to_string())),
            None => serde_json::from_str(&text).map_err(|err| PythonError::Table(err.to_string())),
        }
    }

    /// Runs the code; what it says is told as it says it. A dropped future ends the interpreter.
    pub async fn run(
        &mut self,
        action: &Action,
        stop: &CancellationToken,
        mut on_output: impl FnMut(&str),
    ) -> Result<ActionResult, PythonError> {
        let mut running = self.take(stop).await?;
        let started = Instant::now();
        let longest = action.time.unwrap_or(self.limits.time);
        let mut gathered = Gathered::new(&self.limits);
        let going = carry_out(&mut running, action, &mut gathered, &mut on_output);
        let failure = match timeout_at(started + longest, stop.run_until_cancelled(going)).await {
            Ok(Some(Ok((status, text)))) => {
                self.running = Some(running);
                Failure::new(status, &text, &self.limits)
            }
            Ok(Some(Err(_))) => Some(Failure::Ended(running.end().await)),
            Ok(None) => {
                running.end().await;
                return Err(PythonError::Cancelled);
            }
            Err(_) => {
                running.end().await;
                Some(Failure::Time(longest))
            }
        };
        Ok(ActionResult {
            failure,
            stdout: gathered.said(),
            cut: gathered.cut,
            outputs: gathered.outputs,
            skipped: gathered.skipped,
            elapsed: started.elapsed(),
        })
    }

    /// Returns when nothing of it is left. Dropping it ends it, too.
    pub async fn end(mut self) {
        if let Some(running) = self.running.take() {
            running.end().await;
        }
    }

    async fn take(&mut self, stop: &CancellationToken) -> Result<Running, PythonError> {
        match self.running.take() {
            Some(running) => Ok(running),
            None => {
                let Self { environment, boxes, workspace, limits, .. } = self;
                Running::start(environment, boxes, workspace, limits, stop).await
            }
        }
    }
}

async fn carry_out(
    running: &mut Running,
    action: &Action,
    gathered: &mut Gathered,
    on_output: &mut impl FnMut(&str),
) -> std::io::Result<(Status, String)> {
    let keep = action.variables == Variables::Kept;
    running.ask(&Request::Run { code: &action.code, keep }).await?;
    loop {
        let (told, bytes) = running.told().await?;
        match told {
            Told::Output => on_output(gathered.say(&bytes)),
            Told::Tail { cut } => gathered.end(cut, &bytes),
            Told::File { name } => gathered.file(name, bytes),
            Told::Done { status, skipped } => {
                for (name, why) in skipped {
                    gathered.skip(Skipped { name, why });
                }
                return Ok((status, String::from_utf8_lossy(&bytes).into_owned()));
            }
            Told::Ready | Told::Described { .. } => {
                return Err(std::io::Error::other("an answer that was not asked for"));
            }
        }
    }
}
