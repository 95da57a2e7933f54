//! Compares, shows, accepts and discards the work of agents, on blocking threads outside of the session's actor.

use super::agent_home::{AgentPlaces, PlaceUser};
use super::restore;
use super::site::{Site, SiteError, WorkplaceRequest, named};
use crate::message::{
    Branch, Check, Choice, ChosenOutcome, ComparisonRow, Conflict, DiffNote, FileChange, PlaceKind,
    WorkVersion,
};
use crate::provider::agent::Checker;
use crate::session::run::spent::Spent;
use crate::workplace::{Accepted, Changes, GitError, Scratch, Target, Worktree};
use futures_util::future::join_all;
use tokio::task::spawn_blocking;

/// What the session knows of an agent before its files are looked at.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) request: WorkplaceRequest,
    /// The row if the agent works in the shared project. It has figures of the last run only, because work of earlier
    /// runs cannot be told apart from the project.
    pub(super) row: ComparisonRow,
    /// Cost of the work in the agent's own workplace, if it has one.
    pub(super) own: Spent,
}

/// Compares the agents' files as they are now, with the result of the check command.
pub(super) async fn compare(
    known: Vec<Known>,
    check: Option<(Checker, AgentPlaces)>,
) -> Vec<ComparisonRow> {
    let rows = known.into_iter().map(|known| measured(known, check.clone()));
    join_all(rows).await
}

async fn measured(
    Known { request, row, own }: Known,
    check: Option<(Checker, AgentPlaces)>,
) -> ComparisonRow {
    let (turn, looking) = (request.turn().await, request.clone());
    let looked = turn.blocking(move || {
        let worktree = looking.worktree()?;
        let result = worktree.result()?;
        let changes = worktree.repository().changes(&worktree.base()?.1, &result.tree)?;
        let version = worktree.version(&result)?;
        Ok::<_, SiteError>((worktree, changes, version, named(result.left_out)))
    });
    let looked = looked.await;
    drop(turn);
    let (worktree, changes, version, left_out) = match looked {
        Ok(Ok(found)) => found,
        Ok(Err(SiteError::IsShared | SiteError::NoWork)) => return row,
        Ok(Err(err)) => return ComparisonRow { problem: Some(err.to_string()), ..row },
        Err(_) => return ComparisonRow { problem: Some(FAILED.to_owned()), ..row },
    };
    // The work of a running agent is not checked, because it changes meanwhile.
    let at_work = row.run.is_some() && row.outcome.is_none();
    let check = match check.filter(|_| !at_work) {
        Some((checker, places)) => Some(checked(&request, worktree, &checker, &places).await),
        None => None,
    };
    ComparisonRow {
        place: PlaceKind::Worktree,
        seconds: own.seconds,
        usage: own.usage,
        files: changes.total,
        added: lines(&changes.files, |file| file.added),
        removed: lines(&changes.files, |file| file.removed),
        check,
        left_out,
        version: Some(version),
        ..row
    }
}

pub(super) fn lines(files: &[FileChange], count: fn(&FileChange) -> Option<u32>) -> u64 {
    files.iter().filter_map(count).map(u64::from).sum()
}

/// Runs the check in a scratch copy: what it leaves behind is not the agent's work, and an agent that starts meanwhile
/// does not disturb it.
async fn checked(
    request: &WorkplaceRequest,
    worktree: Worktree,
    checker: &Checker,
    places: &AgentPlaces,
) -> Check {
    let user = PlaceUser::Check(worktree.slot());
    let scratch = match blocking(request.clone(), move |_| Ok(worktree.scratch()?)).await {
        Ok(scratch) => Leaving(Some(scratch)),
        Err(err) => {
            return Check { code: None, output: format!("there is no copy to check: {err}") };
        }
    };
    let Some(copy) = scratch.0.as_ref().map(|scratch| scratch.worktree().clone()) else {
        return Check { code: None, output: FAILED.to_owned() };
    };
    let place = places.place(&Site::Worktree(copy), Some(&checker.program.row), user);
    let check = checker.run(&place).await;
    scratch.leave().await;
    check
}

/// Removes a scratch copy on a blocking thread, also when the check is cancelled.
struct Leaving(Option<Scratch>);

impl Leaving {
    async fn leave(mut self) {
        let scratch = self.0.take();
        // Only a panic could fail here, and then the next scratch copy replaces this one.
        let _ = spawn_blocking(move || drop(scratch)).await;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(scratch) = self.0.take() {
            drop(spawn_blocking(move || drop(scratch)));
        }
    }
}

/// What an agent has changed since its work began.
pub(super) async fn diff(
    request: WorkplaceRequest,
    path: Option<String>,
) -> Result<DiffNote, String> {
    blocking(request, move |request| {
        let worktree = request.worktree()?;
        let (_, base) = worktree.base()?;
        let result = worktree.result()?;
        let repository = worktree.repository();
        let changes = repository.changes(&base, &result.tree)?;
        let diff = repository.diff(&base, &result.tree, path.as_deref())?;
        Ok(DiffNote {
            agent: request.slot(),
            path,
            files: changes.files.into(),
            text: diff.text,
            truncated: diff.truncated,
            version: worktree.version(&result)?,
        })
    })
    .await
}

/// Cuts the diff's text to whole lines, at most `most` bytes.
pub(super) fn shortened(diff: DiffNote, most: usize) -> DiffNote {
    if diff.text.len() <= most {
        return diff;
    }
    let end = diff.text.as_bytes()[..most].iter().rposition(|byte| *byte == b'\n');
    let text = diff.text[..end.map_or(0, |end| end + 1)].to_owned();
    DiffNote { text, truncated: true, ..diff }
}

/// The outcome of a choice, and where it changed files.
#[derive(Debug)]
pub(in crate::session) struct Carried {
    pub(super) outcome: ChosenOutcome,
    pub(super) touched: PlaceKind,
}

/// Whether agents work in the shared project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectUse {
    Quiet,
    Busy,
}

pub(super) async fn choose(
    request: WorkplaceRequest,
    choice: Choice,
    others: ProjectUse,
) -> Result<Carried, String> {
    blocking(request, move |request| match choice {
        Choice::Accept { branch, version } => {
            accept(&request.worktree()?, branch, version.as_ref()).or_else(tried)
        }
        Choice::Discard => discard(&request.worktree()?).or_else(tried),
        Choice::Restore { point, path } => {
            restore::restore(request, &point, path.as_deref(), others).or_else(tried)
        }
    })
    .await
}

/// Turns a failed attempt into an outcome that everybody on the channel sees. Any other error goes only to the
/// requester.
fn tried(err: SiteError) -> Result<Carried, SiteError> {
    let failed = |reason| {
        let outcome = ChosenOutcome::Failed { reason };
        Ok(Carried { outcome, touched: PlaceKind::Worktree })
    };
    match err {
        SiteError::Git(
            why @ (GitError::Locked { .. }
            | GitError::DiskFull
            | GitError::NoProcess
            | GitError::NoPermission { .. }
            | GitError::TimedOut { .. }
            | GitError::TooMuch { .. }
            | GitError::PlaceChanged { .. }
            | GitError::Unkept { .. }
            | GitError::Storage { .. }
            | GitError::Failed { .. }),
        ) => failed(why.to_string()),
        other @ (SiteError::NoCopy
        | SiteError::IsShared
        | SiteError::NoWork
        | SiteError::NoBackup(_)
        | SiteError::NoRunBackups
        | SiteError::OtherAgents(_)
        | SiteError::ProjectBusy
        | SiteError::Git(_)
        | SiteError::Files(_)) => Err(other),
    }
}

fn discard(worktree: &Worktree) -> Result<Carried, SiteError> {
    let thrown = worktree.changes()?;
    let discarded = worktree.discard()?;
    let carried = done(PlaceKind::Worktree, paths(thrown), Some(discarded.backup.name));
    Ok(carried.without(discarded.left_out))
}

fn accept(
    worktree: &Worktree,
    branch: Option<Branch>,
    version: Option<&WorkVersion>,
) -> Result<Carried, SiteError> {
    let name = branch.as_ref().map(|branch| branch.name.clone());
    let into = match branch {
        None => Target::Project,
        Some(Branch { name, message }) => {
            let message =
                message.unwrap_or_else(|| format!("Work of agent {}", worktree.slot().number()));
            Target::Branch { name, message }
        }
    };
    let untouched = |outcome| Carried { outcome, touched: PlaceKind::Worktree };
    Ok(match worktree.accept_version(&into, version)? {
        Accepted::Project { changes, backup, left_out } => {
            done(PlaceKind::Shared, paths(changes), Some(backup.name)).without(left_out)
        }
        // A new branch overwrites nothing, so there is no backup.
        Accepted::Branch { changes, left_out, .. } => {
            let (files, left_out) = (paths(changes), named(left_out));
            untouched(ChosenOutcome::Done { files, branch: name, backup: None, left_out })
        }
        Accepted::Nothing { left_out } => {
            done(PlaceKind::Worktree, Vec::new(), None).without(left_out)
        }
        Accepted::Conflicts(conflicts) => {
            let conflict = |one: crate::workplace::Conflict| Conflict {
                kind: one.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "),
                path: one.path,
            };
            untouched(ChosenOutcome::Conflicts(conflicts.into_iter().map(conflict).collect()))
        }
    })
}

pub(super) fn done(touched: PlaceKind, files: Vec<String>, backup: Option<String>) -> Carried {
    let outcome = ChosenOutcome::Done { files, branch: None, backup, left_out: Vec::new() };
    Carried { outcome, touched }
}

impl Carried {
    /// Adds the paths that are not part of it.
    pub(super) fn without(mut self, paths: Vec<String>) -> Self {
        if let ChosenOutcome::Done { left_out, .. } = &mut self.outcome {
            *left_out = named(paths);
        }
        self
    }
}

pub(super) fn paths(changes: Changes) -> Vec<String> {
    changes.files.into_iter().map(|file| file.path).collect()
}

const FAILED: &str =
    "the gateway made a mistake; try again, and tell the operator if it happens again";

/// Runs work on an agent's workplace when it is the session's turn.
pub(super) async fn blocking<T: Send + 'static>(
    request: WorkplaceRequest,
    work: impl FnOnce(&WorkplaceRequest) -> Result<T, SiteError> + Send + 'static,
) -> Result<T, String> {
    let turn = request.turn().await;
    match turn.blocking(move || work(&request)).await {
        Ok(done) => done.map_err(|err| err.to_string()),
        Err(_) => Err(FAILED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_told_apart_from_what_was_not_possible() {
        let told = tried(SiteError::Git(GitError::DiskFull)).unwrap().outcome;
        assert!(
            matches!(told, ChosenOutcome::Failed { reason } if reason.contains("disk is full"))
        );
        let name = "x".to_owned();
        assert!(tried(SiteError::Git(GitError::BranchExists { name })).is_err());
        assert!(tried(SiteError::NoWork).is_err());
    }

    #[test]
    fn a_shown_diff_ends_with_a_line() {
        let diff = |text: &str| DiffNote {
            agent: crate::message::AgentSlot::ALL[0],
            path: None,
            files: Vec::new().into(),
            text: text.to_owned(),
            truncated: false,
            version: WorkVersion::new("v"),
        };
        assert_eq!(shortened(diff("one\ntwo\n"), 20), diff("one\ntwo\n"));
        let short = shortened(diff("one\ntwo\nthree\n"), 10);
        assert_eq!((short.text.as_str(), short.truncated), ("one\ntwo\n", true));
    }
}
