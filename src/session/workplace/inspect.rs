//! Looks at the work of agents, and what is done with it, off the session's own time.

use super::agent_home::{Quarters, Tenant};
use super::restore;
use super::site::{Site, SiteError, SiteWish, named};
use crate::message::{
    Branch, Check, Choice, ChosenOutcome, ComparisonRow, Conflict, DiffNote, FileChange, PlaceKind,
};
use crate::provider::agent::Checker;
use crate::session::run::spent::Spent;
use crate::workplace::{Accepted, Changes, GitError, Scratch, Target, Worktree};
use futures_util::future::join_all;
use tokio::task::spawn_blocking;

/// What is known of an agent before anybody looks at its files.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) wish: SiteWish,
    /// If it works in the project: figures of its last run, because nobody can tell older ones from the project.
    pub(super) row: ComparisonRow,
    /// If it has a place of its own: what has been spent on the files there.
    pub(super) own: Spent,
}

/// Each agent's files as they are now, and what the check command says to them.
pub(super) async fn compare(
    known: Vec<Known>,
    check: Option<(Checker, Quarters)>,
) -> Vec<ComparisonRow> {
    let rows = known.into_iter().map(|known| measured(known, check.clone()));
    join_all(rows).await
}

async fn measured(
    Known { wish, row, own }: Known,
    check: Option<(Checker, Quarters)>,
) -> ComparisonRow {
    let (turn, looking) = (wish.turn().await, wish.clone());
    let looked = turn.blocking(move || {
        let worktree = looking.worktree()?;
        let result = worktree.result()?;
        let changes = worktree.repository().changes(&worktree.base()?.1, &result.tree)?;
        Ok::<_, SiteError>((worktree, changes, named(result.left_out)))
    });
    let looked = looked.await;
    drop(turn);
    let (worktree, changes, left_out) = match looked {
        Ok(Ok(found)) => found,
        Ok(Err(SiteError::IsShared | SiteError::NoWork)) => return row,
        Ok(Err(err)) => return ComparisonRow { problem: Some(err.to_string()), ..row },
        Err(_) => return ComparisonRow { problem: Some(FAILED.to_owned()), ..row },
    };
    // An agent at work changes what would be checked.
    let at_work = row.run.is_some() && row.outcome.is_none();
    let check = match check.filter(|_| !at_work) {
        Some((checker, quarters)) => Some(checked(&wish, worktree, &checker, &quarters).await),
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
        ..row
    }
}

pub(super) fn lines(files: &[FileChange], count: fn(&FileChange) -> Option<u32>) -> u64 {
    files.iter().filter_map(count).map(u64::from).sum()
}

/// In a copy: what the check leaves behind is no work of the agent, and an agent that begins meanwhile does not disturb.
async fn checked(
    wish: &SiteWish,
    worktree: Worktree,
    checker: &Checker,
    quarters: &Quarters,
) -> Check {
    let tenant = Tenant::Check(worktree.slot());
    let scratch = match blocking(wish.clone(), move |_| Ok(worktree.scratch()?)).await {
        Ok(scratch) => Leaving(Some(scratch)),
        Err(err) => {
            return Check { code: None, output: format!("there is no copy to check: {err}") };
        }
    };
    let Some(copy) = scratch.0.as_ref().map(|scratch| scratch.worktree().clone()) else {
        return Check { code: None, output: FAILED.to_owned() };
    };
    let place = quarters.place(&Site::Worktree(copy), Some(&checker.program.row), tenant);
    let check = checker.run(&place).await;
    scratch.leave().await;
    check
}

/// Removes it off the runtime's threads, also when nobody waits for the check any more.
struct Leaving(Option<Scratch>);

impl Leaving {
    async fn leave(mut self) {
        let scratch = self.0.take();
        // Only a panic could keep it from its end, and then the next copy takes its place.
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
pub(super) async fn diff(wish: SiteWish, path: Option<String>) -> Result<DiffNote, String> {
    blocking(wish, move |wish| {
        let worktree = wish.worktree()?;
        let (_, base) = worktree.base()?;
        let result = worktree.result()?;
        let repository = worktree.repository();
        let changes = repository.changes(&base, &result.tree)?;
        let diff = repository.diff(&base, &result.tree, path.as_deref())?;
        Ok(DiffNote {
            agent: wish.slot(),
            path,
            files: changes.files.into(),
            text: diff.text,
            truncated: diff.truncated,
        })
    })
    .await
}

/// The same with less text, cut at the end of a line.
pub(super) fn shortened(diff: DiffNote, most: usize) -> DiffNote {
    if diff.text.len() <= most {
        return diff;
    }
    let end = diff.text.as_bytes()[..most].iter().rposition(|byte| *byte == b'\n');
    let text = diff.text[..end.map_or(0, |end| end + 1)].to_owned();
    DiffNote { text, truncated: true, ..diff }
}

/// What was done, and where.
#[derive(Debug)]
pub(in crate::session) struct Carried {
    pub(super) outcome: ChosenOutcome,
    pub(super) touched: PlaceKind,
}

/// Whether agents work in the project, besides the one that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectUse {
    Quiet,
    Busy,
}

pub(super) async fn choose(
    wish: SiteWish,
    choice: Choice,
    others: ProjectUse,
) -> Result<Carried, String> {
    blocking(wish, move |wish| match choice {
        Choice::Accept(branch) => accept(&wish.worktree()?, branch).or_else(tried),
        Choice::Discard => discard(&wish.worktree()?).or_else(tried),
        Choice::Restore { point, path } => {
            restore::restore(wish, &point, path.as_deref(), others).or_else(tried)
        }
    })
    .await
}

/// What was tried and did not work is told to everybody on the channel; what was not possible, to who asked.
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

fn accept(worktree: &Worktree, branch: Option<Branch>) -> Result<Carried, SiteError> {
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
    Ok(match worktree.accept(&into)? {
        Accepted::Project { changes, backup, left_out } => {
            done(PlaceKind::Shared, paths(changes), Some(backup.name)).without(left_out)
        }
        // Nothing is overwritten by a new branch.
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
    /// What was done does not hold these.
    fn without(mut self, paths: Vec<String>) -> Self {
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

/// Work on an agent's place, when it is the session's turn.
pub(super) async fn blocking<T: Send + 'static>(
    wish: SiteWish,
    work: impl FnOnce(&SiteWish) -> Result<T, SiteError> + Send + 'static,
) -> Result<T, String> {
    let turn = wish.turn().await;
    match turn.blocking(move || work(&wish)).await {
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
        };
        assert_eq!(shortened(diff("one\ntwo\n"), 20), diff("one\ntwo\n"));
        let short = shortened(diff("one\ntwo\nthree\n"), 10);
        assert_eq!((short.text.as_str(), short.truncated), ("one\ntwo\n", true));
    }
}
