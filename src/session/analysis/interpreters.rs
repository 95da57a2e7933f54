//! The interpreters of all sessions that compute: one for each session, started with its first use and ended when it was
//! not used for a while. The packages are made with the first use of all.

use crate::files::Workspaces;
use crate::message::{Principal, SessionId};
use crate::process::{self, Launcher};
use crate::python::{
    Action, ActionResult, BoxMeans, DataFile, DataFrameInfo, Environment, Interpreter, Limits,
    PythonError, Step, Workspace,
};
use crate::session::Env;
use crate::task;
use dashmap::DashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Interpreters at the same time. With one more, the one that was used least recently ends.
const MOST: usize = 4;
/// An interpreter that was not used for so long ends; the next use starts a new one.
const IDLE: Duration = Duration::from_secs(600);

/// A cheap handle to all of them.
#[derive(Debug, Clone)]
pub(crate) struct Interpreters {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    data: PathBuf,
    launcher: Launcher,
    limits: Limits,
    /// Whoever comes while the packages are made waits for them.
    environment: OnceCell<(Environment, BoxMeans)>,
    open: Mutex<Vec<Open>>,
    /// The tables of sessions that have computed since the start, oldest first.
    tables: DashMap<SessionId, Vec<TablePlace>>,
    stop: CancellationToken,
}

#[derive(Debug)]
struct Open {
    session: SessionId,
    used: Instant,
    place: Arc<Place>,
}

/// The interpreter of one session. Whoever uses it takes it out, and has the only turn meanwhile.
#[derive(Debug)]
struct Place {
    turn: Semaphore,
    /// `None`: it is being used, or was not used yet.
    started: Mutex<Option<Started>>,
}

#[derive(Debug)]
struct Started {
    workspace: Workspace,
    interpreter: Interpreter,
}

impl Interpreters {
    pub(in crate::session) fn new(
        data: PathBuf,
        supervisor: PathBuf,
        limits: Limits,
        stop: CancellationToken,
    ) -> Self {
        let owner = process::owner(&data);
        let launcher = Launcher { supervisor, owner, variables: Vec::new() };
        let (environment, open) = (OnceCell::new(), Mutex::default());
        let tables = DashMap::new();
        Self { inner: Arc::new(Inner { data, launcher, limits, environment, open, tables, stop }) }
    }

    /// Makes the packages if they are not there yet, which takes minutes.
    pub(in crate::session) async fn prepare(
        &self,
        stop: &CancellationToken,
        progress: impl FnMut(Step) + Send,
    ) -> Result<(), PythonError> {
        self.environment(stop, progress).await.map(drop)
    }

    async fn environment(
        &self,
        stop: &CancellationToken,
        progress: impl FnMut(Step) + Send,
    ) -> Result<(Environment, BoxMeans), PythonError> {
        let make = async || {
            let Inner { data, launcher, .. } = &*self.inner;
            let own = launcher.clone();
            // Without a sandbox nothing runs, so nothing has to be downloaded.
            let boxes = spawn_blocking(move || BoxMeans::find(&own)).await;
            let boxes = boxes.map_err(|_| PythonError::Cancelled)??;
            Ok((Environment::make(data, None, launcher, stop, progress).await?, boxes))
        };
        self.inner.environment.get_or_try_init(make).await.cloned()
    }

    /// The next code of the session finds these tables; the last one is `df`.
    pub(in crate::session) fn set_tables(&self, session: &SessionId, tables: Vec<TablePlace>) {
        self.inner.tables.insert(session.clone(), tables);
    }

    pub(in crate::session) fn tables(&self, session: &SessionId) -> Vec<TablePlace> {
        self.inner.tables.get(session).map(|tables| tables.clone()).unwrap_or_default()
    }

    pub(in crate::session) async fn run(
        &self,
        session: &SessionId,
        workspace: Workspace,
        action: &Action,
        stop: &CancellationToken,
    ) -> Result<ActionResult, PythonError> {
        let place = self.place(session);
        let _turn = turn(&place, stop).await?;
        let mut started = self.started(&place, workspace, stop).await?;
        let done = started.interpreter.run(action, stop, |_| ()).await;
        self.put_back(session, &place, started);
        done
    }

    pub(in crate::session) async fn describe(
        &self,
        session: &SessionId,
        workspace: Workspace,
        name: &str,
    ) -> Result<DataFrameInfo, PythonError> {
        let place = self.place(session);
        let stop = self.inner.stop.clone();
        let _turn = turn(&place, &stop).await?;
        let mut started = self.started(&place, workspace, &stop).await?;
        let described = started.interpreter.describe(name, &stop).await;
        self.put_back(session, &place, started);
        described
    }

    /// Other files need another interpreter, because what it sees does not change.
    async fn started(
        &self,
        place: &Place,
        workspace: Workspace,
        stop: &CancellationToken,
    ) -> Result<Started, PythonError> {
        match place.take() {
            Some(started) if started.workspace == workspace => return Ok(started),
            Some(other) => other.interpreter.end().await,
            None => {}
        }
        let made = stop.run_until_cancelled(self.environment(stop, |_| ())).await;
        let (environment, boxes) = made.ok_or(PythonError::Cancelled)??;
        let limits = self.inner.limits.clone();
        let interpreter =
            Interpreter::start(&environment, &boxes, workspace.clone(), limits, stop).await?;
        Ok(Started { workspace, interpreter })
    }

    /// The session's place; the one that was used least recently makes room for it.
    fn place(&self, session: &SessionId) -> Arc<Place> {
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.iter_mut().find(|one| one.session == *session) {
            known.used = Instant::now();
            return Arc::clone(&known.place);
        }
        if open.len() >= MOST {
            let oldest = (0..open.len()).min_by_key(|at| open[*at].used);
            // One that works goes on to its end, and ends then.
            oldest.into_iter().for_each(|at| drop(open.remove(at)));
        }
        let place = Arc::new(Place { turn: Semaphore::new(1), started: Mutex::default() });
        let (session, used) = (session.clone(), Instant::now());
        open.push(Open { session, used, place: Arc::clone(&place) });
        place
    }

    /// The interpreter ends later, unless it is used again.
    fn put_back(&self, session: &SessionId, place: &Place, started: Started) {
        *place.started.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(used) = open.iter_mut().find(|one| one.session == *session) else { return };
        used.used = Instant::now();
        drop(open);
        let (all, stop) = (self.clone(), self.inner.stop.clone());
        task::spawn("python-idle", async move {
            if stop.run_until_cancelled(sleep(IDLE)).await.is_some() {
                all.end_idle();
            }
        });
    }

    fn end_idle(&self) {
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| one.used.elapsed() < IDLE);
    }

    /// Ends all of them, because the gateway stops.
    pub(in crate::session) fn end_all(&self) {
        self.inner.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Ends the interpreter of a session that is deleted.
    pub(in crate::session) fn forget(&self, session: &SessionId) {
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| one.session != *session);
        self.inner.tables.remove(session);
    }
}

impl Place {
    fn take(&self) -> Option<Started> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Waits until nobody else uses the interpreter.
async fn turn<'a>(
    place: &'a Place,
    stop: &CancellationToken,
) -> Result<SemaphorePermit<'a>, PythonError> {
    let turn = stop.run_until_cancelled(place.turn.acquire()).await;
    turn.and_then(Result::ok).ok_or(PythonError::Cancelled)
}

/// Where a table is: the name of its workspace, and its own.
pub(in crate::session) type TablePlace = (String, String);

/// The tables of a session as the code finds them; the last one is `df`.
pub(in crate::session) fn workspace(workspaces: &Workspaces, tables: &[TablePlace]) -> Workspace {
    let file = |(workspace, name): &TablePlace| {
        let path = workspaces.directory(workspace)?.join(name);
        path.is_file().then(|| DataFile { name: name.clone(), path })
    };
    let files: Vec<_> = tables.iter().filter_map(file).collect();
    let chosen = files.last().map(|file| file.name.clone());
    Workspace { files, chosen }
}

/// What is in a file that was received.
pub(super) async fn describe(
    env: &Env,
    principal: &Principal,
    session: &SessionId,
    directory: &str,
    name: &str,
) -> Result<DataFrameInfo, PythonError> {
    let table = (directory.to_owned(), name.to_owned());
    let workspaces = env.files.workspaces(principal);
    let made = spawn_blocking(move || workspace(&workspaces, &[table])).await;
    let made = made.map_err(|_| PythonError::Cancelled)?;
    env.python.describe(session, made, name).await
}
