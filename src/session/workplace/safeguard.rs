//! The project is backed up around a run of an agent. Who works in the project itself begins when all copies are made:
//! what it overwrites would be nowhere else. Who works in a copy of its own need not wait. A run that is done does not
//! wait for the copies after it, only the news of what it has changed does.

use super::place_work::Turn;
use super::site::{Before, Changed, Site, SiteWish, is_picture};
use crate::files::{FileError, Files, Snapshot};
use crate::message::{Channel, FileChange, FileNote, PlaceKind, Principal, RunId};
use crate::session::Env;
use crate::session::job::JobDone;
use crate::workplace::SetAside;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

/// After this long it is told that copies are still being made; who does not need them waits no longer.
const COPY_PATIENCE: Duration = Duration::from_secs(1);
/// So many pictures of one run are shown.
const MOST_PICTURES: usize = 8;

/// How far a backup is.
#[derive(Debug)]
pub(in crate::session) enum Copies {
    /// Or nobody waits for them.
    Made,
    /// In words for the user; the log has them already.
    Failed(String),
    Making(Copying),
}

/// Goes on by itself if nobody waits for it any more.
pub(super) type Copying = oneshot::Receiver<Result<(), FileError>>;

/// What a run has left.
#[derive(Debug, Default)]
pub(in crate::session) struct Conclusion {
    /// Whatever changed, also what only the agent knows of.
    pub(super) paths: Vec<String>,
    pub(super) changed: Changed,
    /// Where.
    pub(super) place: Option<PlaceKind>,
    pub(super) pictures: Vec<FileNote>,
    /// Repositories that were moved out of the project.
    pub(super) set_aside: Vec<SetAside>,
    /// What has changed is told when these are made.
    pub(super) copying: Option<Copying>,
}

/// Backs the project up before a run, and gives the agent its place meanwhile. Whoever drops this before it is the
/// session's turn has cost nothing; later, what has begun is done, and nothing more is begun.
pub(super) async fn prepare(env: Env, channel: Channel, run: RunId, wish: SiteWish) -> JobDone {
    let turn = wish.turn().await;
    let (survey, copies) = survey(&env, &turn).await;
    let before = turn.blocking(move || wish.prepare(run, survey)).await;
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

/// Backs the project up after a run, and finds out meanwhile what the agent has changed.
pub(super) async fn conclude(
    env: Env,
    principal: Principal,
    channel: Channel,
    run: RunId,
    wish: SiteWish,
    before: Box<Before>,
    told: Vec<String>,
) -> JobDone {
    let turn = wish.turn().await;
    // Before anybody is told that there is something to look at.
    let swept = turn.blocking(move || (wish.set_repositories_aside(&before), wish, before)).await;
    let Ok((set_aside, wish, before)) = swept else {
        let conclusion = Conclusion { paths: told, ..Conclusion::default() };
        return JobDone::Concluded { channel, run, conclusion };
    };
    let (after, copies) = survey(&env, &turn).await;
    let is_shared = !before.site.is_own();
    let concluded = turn.blocking(move || {
        let changed = before.changed(after.as_ref());
        let pictures = pictures(&env.files, &principal, &before.site, &changed);
        match &before.site {
            Site::Worktree(worktree) => wish.forget_old_backups(worktree.repository()),
            Site::Shared(shared) => {
                if let Some(repository) = &shared.repository {
                    wish.forget_old_backups(repository);
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

/// Waits for the copies after a run, which is over by then.
pub(super) async fn copied(channel: Channel, copying: Copying, paths: Vec<String>) -> JobDone {
    JobDone::Copied { channel, copies: Copies::after(copying.await), paths }
}

/// Waits for copies, however long they take.
pub(super) async fn wait(
    channel: Channel,
    run: RunId,
    copying: Copying,
    then: Box<JobDone>,
) -> JobDone {
    let copies = Copies::after(copying.await);
    JobDone::Guarded { channel, run, copies, then }
}

/// The project as it is, and its backup on the way.
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
    /// Those that are not needed may go on alone.
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

/// What an agent drew in its own place is copied, because that place does not last; what is in the project is shown
/// where it is.
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
