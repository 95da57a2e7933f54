//! The parts of a tool call that may take long: checking and judging it, and carrying it out.

use super::CallId;
use crate::files::{FileError, Files};
use crate::locale::Locale;
use crate::message::{Caller, Principal, SessionId};
use crate::policy::{self, Remembered, Rules, Scope, Verdict};
use crate::process::{self, Launcher, Place};
use crate::provider::agent::{FileDiff, Location, Tool as ShownTool, ToolKind, ToolStatus};
use crate::python::{Action, OutputFile, PythonError, Variables};
use crate::session::Env;
use crate::session::analysis;
use crate::session::approval::{gate, judging};
use crate::session::job::JobDone;
use crate::session::workplace::{agent_home, safeguard};
use crate::tool::{
    Call, Computed, ComputedFile, Context, Interrupted, Outcome, Output, OutputClosed, Risk, Tool,
    Workplace,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// Limit for each process of a command of the chat or the live model; agents have limits of their own.
const MOST_MEMORY: u64 = 512 * 1024 * 1024;

/// The session and the user that a call is for.
#[derive(Debug, Clone)]
pub(in crate::session) struct CallOwner {
    pub(in crate::session) env: Env,
    pub(in crate::session) principal: Principal,
    pub(in crate::session) session: SessionId,
    /// Which variables its Python finds.
    pub(in crate::session) variables: Variables,
}

impl CallOwner {
    fn files(&self) -> &Files {
        &self.env.files
    }

    /// What models see of the project.
    fn workplace(&self) -> Workplace {
        let config = &self.env.config;
        let hidden = self.env.hidden.iter().cloned();
        let private: Vec<_> =
            hidden.chain([config.data.clone()]).chain(config.private_files()).collect();
        Workplace::new(self.files().project(), &private)
    }

    /// Blocks.
    fn context(&self, workplace: Workplace, risk: Risk, stop: CancellationToken) -> Context {
        let config = &self.env.config;
        let place = match risk {
            Risk::Execute => agent_home::chat_place(&self.env, &self.principal, &self.session),
            Risk::Read | Risk::Search | Risk::Edit | Risk::Request | Risk::Compute => {
                Place::open(self.files().project())
            }
        };
        Context {
            workplace,
            launcher: Launcher {
                supervisor: config.supervisor.clone(),
                owner: process::owner(&config.data),
                variables: Vec::new(),
            },
            place,
            longest: Some(config.limits.command),
            memory: Some(MOST_MEMORY),
            stop,
            kill_now: CancellationToken::new(),
        }
    }
}

/// A call that was checked and judged by the rules.
#[derive(Debug)]
pub(in crate::session) struct Judged {
    pub(super) prepared: Prepared,
    pub(super) shown: ShownTool,
    /// As the rules see it.
    pub(super) policy: policy::Call,
    pub(super) verdict: Verdict,
    /// What it would change in a file.
    pub(super) diff: Option<String>,
}

/// What a call does once it is allowed, and where.
#[derive(Debug)]
pub(super) struct Prepared {
    /// What the model sees of the project.
    pub(super) place: Workplace,
    pub(super) call: Call,
    /// Where the call's path led when it was judged.
    leads_to: Option<PathBuf>,
}

/// What a call is judged by.
#[derive(Debug)]
pub(super) struct JudgingRules {
    pub(super) rules: Arc<Rules>,
    pub(super) remembered: Remembered,
    pub(super) locale: Locale,
}

/// Checks the arguments and applies the rules.
pub(super) async fn judge(
    owner: CallOwner,
    id: CallId,
    name: String,
    caller: Caller,
    tool: &'static Tool,
    arguments: String,
    rules: JudgingRules,
) -> JobDone {
    let judged = judged_aside(move || {
        let place = owner.workplace();
        let call = tool.prepare(&place, &arguments)?;
        let shown = shown(&name, &call, &place, rules.locale);
        let policy = as_judged(caller, &call, &shown);
        let uploads = owner.files().uploads(&owner.principal);
        let scope = Scope::new(owner.files().project(), &[uploads]);
        let verdict = rules.rules.judge(&policy, &scope, &rules.remembered);
        let diff = judging::diff(&shown.diffs, place.root());
        let leads_to = leads_to(&place, &call);
        let prepared = Prepared { place, call, leads_to };
        Ok(Box::new(Judged { prepared, shown, policy, verdict, diff }))
    });
    JobDone::CallJudged { id, judged: judged.await }
}

/// Judges on a blocking thread. A gate that fails refuses the call.
async fn judged_aside(
    judge: impl FnOnce() -> Result<Box<Judged>, String> + Send + 'static,
) -> Result<Box<Judged>, String> {
    spawn_blocking(judge).await.unwrap_or_else(|_| Err("the call cannot be judged".to_owned()))
}

fn leads_to(place: &Workplace, call: &Call) -> Option<PathBuf> {
    call.path.as_deref().and_then(|path| place.without_links(path))
}

/// The call as people and rules are shown it.
fn shown(id: &str, call: &Call, place: &Workplace, locale: Locale) -> ShownTool {
    let path = |path: &String| path_below(place.root(), path);
    let diff = call.change().map(|change| FileDiff {
        path: change.file(place).display().to_string(),
        old: change.before.as_deref().map(Into::into),
        new: change.after.as_str().into(),
        too_large: None,
    });
    ShownTool {
        english: Some(call.title(|tool, values| Locale::En.say("title", tool, values))),
        name: Some(call.tool.name.to_owned()),
        kind: kind(call.tool.risk),
        input: Some(call.input.to_string().into()),
        locations: call
            .path
            .iter()
            .map(|own| Location { path: path(own), line: call.lines.map(|(first, _)| first) })
            .collect(),
        diffs: diff.into_iter().collect(),
        asked: true,
        ..ShownTool::new(
            id.to_owned(),
            call.title(|tool, values| locale.say("title", tool, values)),
            ToolStatus::Started,
        )
    }
}

fn path_below(root: &Path, path: &str) -> String {
    root.join(path).display().to_string()
}

/// A command of the chat or the live model that only looks is judged like reading a file.
fn as_judged(caller: Caller, call: &Call, shown: &ShownTool) -> policy::Call {
    let policy = gate::call(shown);
    let is_look = matches!(caller, Caller::Chat | Caller::Live)
        && call.command().is_some_and(policy::is_plain_look);
    if is_look {
        return policy::Call { kind: gate::kind(ToolKind::Read).to_owned(), ..policy };
    }
    match call.tool.risk {
        Risk::Request => policy::Call { kind: REQUEST.to_owned(), ..policy },
        Risk::Compute => policy::Call { kind: COMPUTE.to_owned(), ..policy },
        Risk::Read | Risk::Search | Risk::Edit | Risk::Execute => policy,
    }
}

/// The kind by which rules know that work is given to an agent.
const REQUEST: &str = "request";
/// The kind by which rules know what runs in the sandbox for Python.
const COMPUTE: &str = "compute";

pub(super) fn kind(risk: Risk) -> ToolKind {
    match risk {
        Risk::Read => ToolKind::Read,
        Risk::Search => ToolKind::Search,
        Risk::Edit => ToolKind::Edit,
        Risk::Execute => ToolKind::Execute,
        Risk::Request | Risk::Compute => ToolKind::Other,
    }
}

/// Carries an approved call out. The arguments are checked once more: what they name may have changed since.
pub(super) async fn carry_out(
    owner: CallOwner,
    id: CallId,
    prepared: Prepared,
    arguments: String,
    stop: CancellationToken,
) -> JobDone {
    let Prepared { place, call, leads_to: judged_path } = prepared;
    if let Some(code) = call.code() {
        let outcome = compute(&owner, code, &stop).await;
        return JobDone::CallDone { id, outcome };
    }
    let tool = call.tool;
    let ended = stop.clone();
    let unguarded = match changes_files(&call) {
        true => safeguard::before_call(&owner.env, &owner.session).await,
        false => None,
    };
    let work = move || {
        let context = owner.context(place, tool.risk, stop);
        let again = tool.prepare(&context.workplace, &arguments)?;
        match again.impossible() {
            Some(reason) => Err(reason.to_owned()),
            // The user was asked about another file.
            None if leads_to(&context.workplace, &again) != judged_path => {
                Err("the path leads to another file than before".to_owned())
            }
            // Most calls end here: the change to another thread costs more than they do.
            None => Ok(call.run_blocking(&context).map_err(|program| (program, context))),
        }
    };
    let outcome: Outcome = match spawn_blocking(work).await {
        Ok(Ok(Ok(outcome))) => outcome,
        Ok(Ok(Err((program, context)))) => match program.run(&context, &NoOutput).await {
            Ok(outcome) => outcome,
            Err(Interrupted::Cancelled | Interrupted::OutputClosed) => Err(STOPPED.to_owned()),
            Err(Interrupted::Shutdown) => Err(SHUTDOWN.to_owned()),
        },
        Ok(Err(reason)) => Err(reason),
        Err(_) => Err(SHUTDOWN.to_owned()),
    };
    let outcome = match unguarded {
        Some(reason) => {
            with_note(outcome, &format!("the project could not be backed up: {reason}"))
        }
        None => outcome,
    };
    let outcome = if ended.is_cancelled() { Err(STOPPED.to_owned()) } else { outcome };
    JobDone::CallDone { id, outcome }
}

/// Runs code in the session's interpreter, and keeps the files that it saved.
async fn compute(owner: &CallOwner, code: &str, stop: &CancellationToken) -> Outcome {
    let CallOwner { env, principal, session, variables } = owner;
    let workspaces = env.files.workspaces(principal);
    let tables = env.python.tables(session);
    let prepared = {
        let workspaces = workspaces.clone();
        spawn_blocking(move || analysis::workspace(&workspaces, &tables)).await
    };
    let Ok(workspace) = prepared else { return Err(SHUTDOWN.to_owned()) };
    let action = Action { code: code.to_owned(), variables: *variables, time: None };
    let done = match env.python.run(session, workspace, &action, stop).await {
        Ok(done) => done,
        Err(PythonError::Cancelled) => return Err(STOPPED.to_owned()),
        Err(err) => return Err(err.to_string()),
    };
    let (success, error, stdout) = (done.success(), done.error(), done.stdout);
    let not_kept = done.skipped.into_iter().map(|one| (one.name, one.why)).collect();
    let (id, outputs) = (session.clone(), done.outputs);
    let kept = spawn_blocking(move || {
        let workspace = workspaces.of(&id)?;
        let keep = |file: OutputFile| {
            let saved = workspaces.save(&workspace, &file.name, &file.bytes)?;
            Ok(ComputedFile { saved_as: file.name, file_name: saved.name })
        };
        outputs.into_iter().map(keep).collect::<Result<Vec<_>, FileError>>()
    });
    let files = match kept.await {
        Ok(Ok(files)) => files,
        Ok(Err(err)) => return Err(err.to_string()),
        Err(_) => return Err(SHUTDOWN.to_owned()),
    };
    Computed { success, stdout, error, files, not_kept }.to_text()
}

/// Whether the project is backed up first.
fn changes_files(call: &Call) -> bool {
    match call.tool.risk {
        Risk::Edit => true,
        Risk::Execute => !call.command().is_some_and(policy::is_plain_look),
        Risk::Read | Risk::Search | Risk::Request | Risk::Compute => false,
    }
}

fn with_note(outcome: Outcome, note: &str) -> Outcome {
    let noted = |text: String| format!("{text}\n[{note}]");
    outcome.map(noted).map_err(noted)
}

const STOPPED: &str = "the call was stopped";
const SHUTDOWN: &str = "the gateway is shutting down";

/// Commands of the chat are short, so what they print is told at their end.
struct NoOutput;

impl Output for NoOutput {
    async fn print(&self, _: &str) -> Result<(), OutputClosed> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_that_fails_refuses() {
        let judged = judged_aside(|| panic!("a rule that fails")).await;
        assert_eq!(judged.unwrap_err(), "the call cannot be judged");
    }
}
