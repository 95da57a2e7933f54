//! Work that leaves the actor: looking up a request number, storing a file, making a list or a thumbnail.
//! Everything here may take as long as the disk does; the actor goes on meanwhile.

use super::approval::judging::Case;
use super::workplace::choice::Inquirer;
use super::workplace::inspect::Carried;
use super::workplace::planted::RepositoryWatch;
use super::workplace::safeguard::{Conclusion, Copies};
use super::workplace::site::{Before, Site};
use super::{Env, Submitted};
use crate::files::{FileError, Files, Listed, SavedFile};
use crate::message::{
    AgentSlot, BackupList, Channel, ChoiceKind, Chosen, ComparisonRow, ConnectionId, DiffNote,
    FileList, FileNote, ListKind, ListScope, Principal, RequestNo, RunId,
};
use crate::store::{SessionKey, StoreError};
use crate::workplace::SetAside;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep, timeout};
use tracing::warn;

/// How often a followed list is looked at when nothing is heard of it.
const FOLLOW_LOOK: Duration = Duration::from_secs(2);
/// Changes seldom come alone.
const FOLLOW_SETTLE: Duration = Duration::from_millis(100);

/// Who is waiting for an outcome.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) connection: ConnectionId,
    pub(super) request: Option<RequestNo>,
    pub(super) order: u64,
    /// The command's share of the session's memory, given back when it is settled.
    pub(super) _held: Option<OwnedSemaphorePermit>,
}

impl Asker {
    pub(super) fn new(connection: ConnectionId) -> Self {
        Self { connection, request: None, order: 0, _held: None }
    }

    pub(super) fn of(submitted: Submitted) -> Self {
        let Submitted { connection, inbound, order, held } = submitted;
        Self { connection, request: inbound.request, order, _held: held }
    }
}

/// How a command goes on after it was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The commands behind it wait for it.
    InOrder,
    /// It has overtaken the others.
    Overtaking,
}

/// Which list, and where it is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    pub(super) kind: ListKind,
    pub(super) scope: ListScope,
    pub(super) answer_on: Channel,
}

#[derive(Debug)]
pub(super) enum JobDone {
    /// Whether an agent in the project has made a repository there.
    LookedForRepositories {
        watch: RepositoryWatch,
        moved: Vec<SetAside>,
    },
    /// Whether this command was carried out before.
    LookedUp {
        submitted: Submitted,
        known: Result<bool, StoreError>,
        way: Way,
    },
    Stored {
        asker: Asker,
        channel: Channel,
        /// What the live model is to see of it.
        picture: Option<Bytes>,
        saved: Result<SavedFile, FileError>,
    },
    ImageStored {
        asker: Asker,
        image: Bytes,
        saved: Result<SavedFile, FileError>,
    },
    Listed {
        wanted: Wanted,
        list: Result<Listed, FileError>,
    },
    /// A list that somebody follows is not what it was.
    Followed {
        kind: ListKind,
        before: Option<Arc<FileList>>,
        list: Arc<FileList>,
    },
    /// Where an agent would work that nobody has asked yet.
    Placed {
        slot: AgentSlot,
        project: PathBuf,
        site: Option<Site>,
    },
    /// The project is safe, as far as it can be made safe, and the agent has its place: the run may begin. Or why
    /// there is no place for it.
    Prepared {
        channel: Channel,
        run: RunId,
        before: Result<Box<Before>, String>,
    },
    /// One of these two, and how far the backup is that belongs to it.
    Guarded {
        channel: Channel,
        run: RunId,
        copies: Copies,
        then: Box<JobDone>,
    },
    /// What a run has changed, whatever its agent says.
    /// A run is over, and what it has changed is backed up.
    Copied {
        channel: Channel,
        copies: Copies,
        paths: Vec<String>,
    },
    Concluded {
        channel: Channel,
        run: RunId,
        conclusion: Conclusion,
    },
    Described {
        channel: Channel,
        run: RunId,
        note: FileNote,
    },
    Compared {
        inquirer: Inquirer<Arc<[ComparisonRow]>>,
        rows: Arc<[ComparisonRow]>,
    },
    Diffed {
        inquirer: Inquirer<Arc<DiffNote>>,
        diff: Result<DiffNote, String>,
    },
    BackupsListed {
        inquirer: Inquirer<Arc<BackupList>>,
        list: Result<BackupList, String>,
    },
    Chosen {
        inquirer: Inquirer<Chosen>,
        agent: AgentSlot,
        kind: ChoiceKind,
        carried: Result<Carried, String>,
    },
    /// What the rules say about a call that took them long.
    Judged(Box<Case>),
    /// So many changed files are in the place of an agent that works in the project now.
    Kept {
        agent: AgentSlot,
        files: usize,
    },
}

pub(super) async fn look_up(
    env: Env,
    key: SessionKey,
    request: RequestNo,
    submitted: Submitted,
    way: Way,
) -> JobDone {
    let known = env.store.knows_request(key, request).await;
    JobDone::LookedUp { submitted, known, way }
}

pub(super) async fn store_file(
    env: Env,
    principal: Principal,
    asker: Asker,
    channel: Channel,
    name: String,
    bytes: Bytes,
) -> JobDone {
    let content = bytes.clone();
    let saved = blocking(move || env.files.save_upload(&principal, &name, &content)).await;
    let is_image = saved.as_ref().is_ok_and(|saved| saved.is_image);
    let picture = (is_image && channel == Channel::Chat).then_some(bytes);
    JobDone::Stored { asker, channel, picture, saved }
}

pub(super) async fn store_image(
    env: Env,
    principal: Principal,
    asker: Asker,
    image: Bytes,
) -> JobDone {
    let bytes = image.clone();
    let saved = blocking(move || env.files.save_image(&principal, &bytes)).await;
    JobDone::ImageStored { asker, image, saved }
}

pub(super) async fn list(env: Env, principal: Principal, wanted: Wanted) -> JobDone {
    let list = make_list(&env.files, wanted.kind, wanted.scope, &principal).await;
    JobDone::Listed { wanted, list }
}

/// Waits until a list is another than `before`. Ends only then; who no longer cares aborts it.
pub(super) async fn follow(
    env: Env,
    principal: Principal,
    kind: ListKind,
    before: Option<Arc<FileList>>,
    pause: Duration,
) -> JobDone {
    sleep(pause).await;
    let (files, user) = (env.files.clone(), principal.clone());
    let mut news = blocking(move || Ok(files.watch(kind, &user))).await.ok();
    loop {
        if let Some(news) = &mut news {
            news.mark_unchanged();
        }
        // A list that cannot be made now is told when it can be.
        let made = make_list(&env.files, kind, ListScope::Usual, &principal).await;
        let other =
            |list: &Arc<FileList>| before.as_ref().is_none_or(|before| !Arc::ptr_eq(before, list));
        if let Some(list) = made.ok().map(|listed| listed.list).filter(other) {
            return JobDone::Followed { kind, before, list };
        }
        match &mut news {
            // Time alone changes lists too, and not every change is noticed everywhere.
            Some(news) => drop(timeout(FOLLOW_LOOK, news.changed()).await),
            None => sleep(FOLLOW_LOOK).await,
        }
        sleep(FOLLOW_SETTLE).await;
    }
}

/// Leaves the runtime only if the disk has to be asked.
pub(super) async fn make_list(
    files: &Files,
    kind: ListKind,
    scope: ListScope,
    principal: &Principal,
) -> Result<Listed, FileError> {
    if let Some(listed) = files.ready(kind, scope, principal) {
        return Ok(listed);
    }
    let (files, principal) = (files.clone(), principal.clone());
    blocking(move || files.list(kind, scope, &principal)).await
}

/// A file that a run made, with a picture small enough to show.
/// A picture that cannot be stored is told without a path: the user should know that there was one.
pub(super) async fn keep_picture(
    env: Env,
    principal: Principal,
    channel: Channel,
    run: RunId,
    bytes: Bytes,
) -> JobDone {
    let saved = blocking(move || env.files.save_made(&principal, &bytes)).await;
    let note = match saved {
        Ok(saved) => saved.note,
        Err(err) => {
            warn!(%err, "a picture that a model made is lost");
            FileNote { name: "image".to_owned(), path: None, thumbnail: None }
        }
    };
    JobDone::Described { channel, run, note }
}

pub(super) async fn describe(env: Env, channel: Channel, run: RunId, path: String) -> JobDone {
    let (files, shown) = (env.files, path.clone());
    let described = blocking(move || Ok(files.describe(&shown))).await;
    let note =
        described.unwrap_or(FileNote { name: path.clone(), path: Some(path), thumbnail: None });
    JobDone::Described { channel, run, note }
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(FileError::Internal))
}
