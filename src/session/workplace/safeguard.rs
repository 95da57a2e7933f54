//! File backups of the project around a run. An agent in the shared project starts when the backup is complete, because
//! it may overwrite the only version of a file. An agent in its own copy does not wait for it. The end of a run does
//! not wait for the backup after the run; only the list of changed files does.

use super::place_work::Turn;
use super::site::{Before, Changed, Site, WorkplaceRequest, is_picture};
use crate::files::{FileError, Files, Snapshot};
use crate::message::{Channel, FileChange, FileNote, PlaceKind, Principal, RunId, SessionId};
use crate::session::Env;
use crate::session::job::JobDone;
use crate::workplace::SetAside;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

/// How long to wait silently for a backup. After that a run in the shared project tells the user that it still waits,
/// and a run in its own copy goes on without.
const COPY_PATIENCE: Duration = Duration::from_secs(1);
/// Most pictures of one run that are shown.
const MOST_PICTURES: usize = 8;

/// State of a file backup.
#[derive(Debug)]
pub(in crate::session) enum Copies {
    /// Complete, or nobody waits for it.
    Made,
    /// The reason, for the user. The log has it already.
    Failed(String),
    Making(Copying),
}

/// A backup being made. It goes on by itself if this is dropped.
pub(super) type Copying = oneshot::Receiver<Result<(), FileError>>;

/// What was found after a run.
#[derive(Debug, Default)]
pub(in crate::session) struct Conclusion {
    /// All changed paths: those found on disk, and those that only the agent reported.
    pub(super) paths: Vec<String>,
    pub(super) changed: Changed,
    /// Where the run worked.
    pub(super) place: Option<PlaceKind>,
    pub(super) pictures: Vec<FileNote>,
    /// Repositories that were moved out of the project.
    pub(super) set_aside: Vec<SetAside>,
    /// The changed paths are told when this backup is complete.
    pub(super) copying: Option<Copying>,
}

/// Backs up the project before a run, and prepares the agent's workplace meanwhile. Dropping this before the session's
/// turn costs nothing. Later the step under way is finished, and no other step begins.
pub(super) async fn prepare(
    env: Env,
    channel: Channel,
    run: RunId,
    request: WorkplaceRequest,
) -> JobDone {
    let turn = request.turn().await;
    let (survey, copies) = survey(&env, &turn).await;
    let before = turn.blocking(move || request.prepare(run, survey)).await;
    drop(turn);
    let before = match before {
        Ok(Ok(before)) => Ok(Box::new(before)),
        Ok(Err(err)) => Err(err.to_string()),
        Err(_) => Err(FileError::Internal.to_string()),
    };
    let is_shared = before.as_ref().is_ok_and(|before| !before.site.is_own());
    let copies = copies.settled(is_shared).await;
    JobDone::Guarded {
        channel,
        run,
        copies,
        then: Box::new(JobDone::Prepared { channel, run, before }),
    }
}

/// Backs up the project after a run, and finds out meanwhile what the run has changed.
pub(super) async fn conclude(
    env: Env,
    principal: Principal,
    channel: Channel,
    run: RunId,
    request: WorkplaceRequest,
    before: Box<Before>,
    told: Vec<String>,
) -> JobDone {
    let turn = request.turn().await;
    // New repositories are moved away before anybody is told that there are changes to look at.
    let swept =
        turn.blocking(move || (request.set_repositories_aside(&before), request, before)).await;
    let Ok((set_aside, request, before)) = swept else {
        let conclusion = Conclusion { paths: told, ..Conclusion::default() };
        return JobDone::Concluded { channel, run, conclusion };
    };
    let (after, copies) = survey(&env, &turn).await;
    let is_shared = !before.site.is_own();
    let concluded = turn.blocking(move || {
        let changed = before.changed(after.as_ref());
        let pictures = pictures(&env.files, &principal, &before.site, &changed);
        match &before.site {
            Site::Worktree(worktree) => request.forget_old_backups(worktree.repository()),
            Site::Shared(shared) => {
                if let Some(repository) = &shared.repository {
                    request.forget_old_backups(repository);
                }
            }
        }
        let paths: BTreeSet<_> = changed.files.iter().map(|file| file.path.clone()).collect();
        let paths = paths.into_iter().chain(told).collect::<BTreeSet<_>>().into_iter().collect();
        let place = Some(before.site.kind());
        Conclusion { paths, changed, place, pictures, ..Conclusion::default() }
    });
    let mut conclusion = concluded.await.unwrap_or_default();
    conclusion.set_aside = set_aside;
    drop(turn);
    let copies = match copies.settled(is_shared).await {
        Copies::Making(copying) => {
            conclusion.copying = Some(copying);
            Copies::Made
        }
        settled @ (Copies::Made | Copies::Failed(_)) => settled,
    };
    let then = Box::new(JobDone::Concluded { channel, run, conclusion });
    JobDone::Guarded { channel, run, copies, then }
}

/// Waits for the backup after a run that has ended.
pub(super) async fn copied(channel: Channel, copying: Copying, paths: Vec<String>) -> JobDone {
    JobDone::Copied { channel, copies: Copies::after(copying.await), paths }
}

/// Waits for a backup, however long it takes.
pub(super) async fn wait(
    channel: Channel,
    run: RunId,
    copying: Copying,
    then: Box<JobDone>,
) -> JobDone {
    let copies = Copies::after(copying.await);
    JobDone::Guarded { channel, run, copies, then }
}

/// Backs up the project before a tool call of the chat or the live model changes it, and waits for that. Returns why
/// there is no backup.
pub(in crate::session) async fn before_call(env: &Env, session: &SessionId) -> Option<String> {
    let turn = env.place_work.turn(session, env.files.project()).await;
    let (_, copies) = survey(env, &turn).await;
    drop(turn);
    let settled = match copies {
        Copies::Making(copying) => Copies::after(copying.await),
        settled @ (Copies::Made | Copies::Failed(_)) => settled,
    };
    match settled {
        Copies::Failed(reason) => Some(reason),
        Copies::Made | Copies::Making(_) => None,
    }
}

/// Lists the project's files as they are, and starts their backup.
async fn survey(env: &Env, turn: &Turn) -> (Option<Snapshot>, Copies) {
    let files = env.files.clone();
    let survey = turn.blocking(move || files.survey()).await.unwrap_or(Err(FileError::Internal));
    let survey = match survey {
        Ok(survey) => survey,
        Err(err) => {
            warn!(%err, "no backup around a run");
            return (None, Copies::Failed(err.to_string()));
        }
    };
    let copying = env.files.back_up_soon(survey.clone());
    (Some(survey), Copies::Making(copying))
}

impl Copies {
    /// Waits for the backup until the timeout. After that, one that is not `needed` goes on alone.
    async fn settled(self, needed: bool) -> Self {
        let Self::Making(mut copying) = self else { return self };
        match timeout(COPY_PATIENCE, &mut copying).await {
            Ok(done) => Self::after(done),
            Err(_) if needed => Self::Making(copying),
            Err(_) => Self::Made,
        }
    }

    fn after(done: Result<Result<(), FileError>, oneshot::error::RecvError>) -> Self {
        match done.unwrap_or(Err(FileError::Internal)) {
            Ok(()) => Self::Made,
            Err(err) => Self::Failed(err.to_string()),
        }
    }
}

/// Pictures to show. Those in the agent's own workplace are copied, because it does not last; those in the project are
/// shown from there.
fn pictures(files: &Files, principal: &Principal, site: &Site, changed: &Changed) -> Vec<FileNote> {
    let drawn = changed.files.iter().filter(|file| is_picture(file)).take(MOST_PICTURES);
    let note = |file: &FileChange| match site {
        Site::Shared(_) => Some(files.describe(&file.path)),
        Site::Worktree(worktree) => {
            let content = files.read_in(&worktree.place(), &file.path).ok()?;
            let saved = files.save_made(principal, &content.bytes);
            let saved = saved.inspect_err(|err| warn!(%err, "a picture of an agent is not kept"));
            Some(FileNote { name: content.name, ..saved.ok()?.note })
        }
    };
    drawn.filter_map(note).collect()
}
