//! Work that leaves the actor: looking up a request number, storing a file, making a list or a thumbnail.
//! Everything here may take as long as the disk does; the actor goes on meanwhile.

use super::approval::judging::Case;
use super::chat::analyst;
use super::keeping::projects::Projects;
use super::models;
use super::tools::CallId;
use super::tools::job::Judged as JudgedCall;
use super::workplace::choice::Inquirer;
use super::workplace::inspect::Carried;
use super::workplace::planted::RepositoryWatch;
use super::workplace::safeguard::{Conclusion, Copies};
use super::workplace::site::{Before, Site};
use super::{Env, Submitted};
use crate::files::{FileError, Files, Listed, SavedFile};
use crate::message::{
    AgentSlot, BackupList, Channel, ChoiceKind, Chosen, ComparisonRow, ConnectionId, Dataset,
    DiffNote, FileList, FileNote, ListKind, ListScope, ModelOffer, Principal, RequestNo, RunId,
    Seq, SettingChange,
};
use crate::store::{SessionKey, Store, StoreError};
use crate::tool::Outcome;
use crate::workplace::SetAside;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep, timeout};
use tracing::warn;

/// How often a watched list is checked when no change is reported.
const FOLLOW_LOOK: Duration = Duration::from_secs(2);
/// Pause after a change, because changes seldom come alone.
const FOLLOW_SETTLE: Duration = Duration::from_millis(100);

/// The socket that waits for the outcome of a command.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) connection: ConnectionId,
    pub(super) request: Option<RequestNo>,
    pub(super) order: u64,
    /// The command's share of the session's memory budget, given back when it is settled.
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

/// How a command goes on after its request number was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The commands behind it wait.
    InOrder,
    /// It has overtaken other commands.
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
    /// A tool call was checked and judged by the rules, or its arguments are wrong.
    CallJudged {
        id: CallId,
        judged: Result<Box<JudgedCall>, String>,
    },
    /// A tool call was carried out.
    CallDone {
        id: CallId,
        outcome: Outcome,
    },
    /// Repositories that an agent made in the shared project were looked for, and moved out of it.
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
        /// The picture to show to the live model, if the file is one for it.
        picture: Option<Bytes>,
        saved: Result<SavedFile, FileError>,
    },
    /// The newest table of this name in the session.
    DatasetFound {
        asker: Asker,
        found: Result<Option<Dataset>, StoreError>,
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
    /// A watched list has changed.
    Followed {
        kind: ListKind,
        before: Option<Arc<FileList>>,
        list: Arc<FileList>,
    },
    /// The workplace of an agent that nobody has asked yet.
    Placed {
        slot: AgentSlot,
        project: PathBuf,
        site: Option<Site>,
    },
    /// The project is backed up as far as possible, and the agent has its workplace: the run may begin. Or the reason
    /// why there is no workplace.
    Prepared {
        channel: Channel,
        run: RunId,
        before: Result<Box<Before>, String>,
    },
    /// How far the file backup around a run is, and the `Prepared` or `Concluded` that follows it.
    Guarded {
        channel: Channel,
        run: RunId,
        copies: Copies,
        then: Box<JobDone>,
    },
    /// A run is over, and the file backup of what it changed is made or has failed.
    Copied {
        channel: Channel,
        copies: Copies,
        paths: Vec<String>,
    },
    /// What a run has changed: found on disk, and reported by its agent.
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
    /// The gate's verdict on a call that took long to judge.
    Judged(Box<Case>),
    /// What a session can choose from.
    Offered {
        asker: Asker,
        offer: ModelOffer,
    },
    /// Files of a project that the session moves to, with all changes that were asked for.
    ProjectOpened {
        asker: Asker,
        changes: Vec<SettingChange>,
        files: Result<Files, String>,
    },
    /// How many changed files are left in the own copy of an agent that works in the shared project now.
    Kept {
        agent: AgentSlot,
        files: usize,
    },
}

pub(super) async fn offer(env: Env, asker: Asker) -> JobDone {
    env.config.found.refresh().await;
    JobDone::Offered { asker, offer: models::offer(&env.config) }
}

pub(super) async fn open_project(
    projects: Projects,
    path: Option<String>,
    asker: Asker,
    changes: Vec<SettingChange>,
) -> JobDone {
    let opened = tokio::task::spawn_blocking(move || projects.open(path.as_deref())).await;
    let files = opened.unwrap_or_else(|_| Err(FileError::Internal.to_string()));
    JobDone::ProjectOpened { asker, changes, files }
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

pub(super) async fn find_dataset(
    store: Store,
    key: SessionKey,
    upto: Seq,
    asker: Asker,
    name: String,
) -> JobDone {
    let tables = analyst::tables(&store, key, upto).await;
    let found = tables.map(|tables| tables.into_iter().rev().find(|table| table.name == name));
    JobDone::DatasetFound { asker, found }
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

/// Waits until a list is no longer `before`. It never ends otherwise; the caller aborts it.
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
        // A list that cannot be made now is tried again.
        let made = make_list(&env.files, kind, ListScope::Usual, &principal).await;
        let other =
            |list: &Arc<FileList>| before.as_ref().is_none_or(|before| !Arc::ptr_eq(before, list));
        if let Some(list) = made.ok().map(|listed| listed.list).filter(other) {
            return JobDone::Followed { kind, before, list };
        }
        match &mut news {
            // Lists also change with time alone, and not every file system reports every change.
            Some(news) => drop(timeout(FOLLOW_LOOK, news.changed()).await),
            None => sleep(FOLLOW_LOOK).await,
        }
        sleep(FOLLOW_SETTLE).await;
    }
}

/// Uses a blocking thread only if the disk has to be read.
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

/// Stores a picture that a model made or an agent showed. If that fails, the picture is announced without a path, so
/// that the user knows that there was one.
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

/// Describes a file that a run made, with a thumbnail of a picture.
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
