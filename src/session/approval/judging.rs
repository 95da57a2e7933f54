//! How a tool call of a lane's worker gets its verdict. The rules need some milliseconds for a long call, so long calls are
//! judged on a blocking thread while the session goes on.

use super::Approvals;
use super::gate::{AnswerTo, Asked, Judgement, Question, audit, call, shown};
use crate::message::{AgentSlot, Confirmed, DecidedBy, RunId};
use crate::policy::{Call, Decision as Judged, Level, Scope, Seal, Verdict};
use crate::provider::agent::{Ask, AskId, Decision, FileDiff};
use crate::session::job::JobDone;
use crate::session::journal::{Effect, Step};
use crate::session::run::Runs;
use crate::session::run::lanes::LaneId;
use crate::session::shared::Shared;
use similar::TextDiff;
use std::path::Path;
use std::time::Duration;
use tokio::task::spawn_blocking;

/// Calls up to this size are judged at once. In bytes of title, input and diffs.
const SHORT: usize = 8 * 1024;
/// Longest diff in a question, in bytes.
const LONGEST_DIFF: usize = 64 * 1024;
/// Timeout for one file's diff; after that the diff gets coarser.
const DIFF_TIME: Duration = Duration::from_millis(20);

/// A call with its verdict.
#[derive(Debug)]
pub(in crate::session) struct Case {
    lane: LaneId,
    run: RunId,
    asked: Asked,
    call: Call,
    diff: Option<String>,
    verdict: Verdict,
}

impl Case {
    /// The answer if the rules panic over a call: refused.
    fn broken(lane: LaneId, run: RunId, ask: &Ask) -> Self {
        let (tool, english) = (ask.tool.title.clone(), ask.tool.english.clone());
        let (id, (name, kind, input, unseen, paths)) = (ask.tool.id.clone(), Default::default());
        let reason = "the gate cannot judge this".to_owned();
        let verdict = Verdict { decision: Judged::Deny, level: Level::Critical, reason };
        let call = Call { id, tool, english, name, kind, input, unseen, paths };
        let asked = Asked { id: ask.id, tool: ask.tool.id.clone(), seal: Seal::of(&call) };
        Self { lane, run, asked, call, diff: None, verdict }
    }
}

impl Approvals {
    /// The worker asks whether it may make a call, and waits for the answer.
    pub(in crate::session) fn on_ask(
        &mut self,
        shared: &mut Shared,
        runs: &mut Runs,
        step: &mut Step,
        lane: LaneId,
        ask: Ask,
    ) {
        // What was on its way when the run was stopped is not asked any more.
        let Some(run) = runs.unstopped(lane) else { return cancelled(step, lane, ask.id) };
        if let LaneId::Agent(slot) = lane {
            self.recall(slot, runs);
        }
        let directory = runs.directory(lane).unwrap_or(shared.env.files.project()).to_owned();
        let uploads = shared.env.files.uploads(&shared.principal);
        let (rules, remembered) = self.judging_rules(lane.caller());
        let is_short = size(&ask) <= SHORT;
        let broken = Case::broken(lane, run, &ask);
        let judge = move || {
            let call = call(&ask.tool);
            // The agent may read the user's uploads, and change nothing there.
            let scope = Scope::new(&directory, &[uploads]);
            let verdict = rules.judge(&call, &scope, &remembered);
            let is_asked = verdict.decision == Judged::Ask;
            let diff = if is_asked { diff(&ask.tool.diffs, &directory) } else { None };
            let asked = Asked { id: ask.id, tool: ask.tool.id, seal: Seal::of(&call) };
            Case { lane, run, asked, call, diff, verdict }
        };
        if is_short {
            self.decide(shared, runs, step, judge());
        } else {
            shared.jobs.spawn(async move {
                JobDone::Judged(Box::new(spawn_blocking(judge).await.unwrap_or(broken)))
            });
        }
    }

    /// Returns the agent that waits for the user now. It reported so before the question was open; that report was
    /// ignored, so it has to be repeated.
    pub(in crate::session) fn on_judged(
        &mut self,
        shared: &mut Shared,
        runs: &mut Runs,
        case: Case,
    ) -> Option<AgentSlot> {
        let mut step = Step::default();
        let (lane, ask) = (case.lane, case.asked.id);
        if runs.unstopped(lane) == Some(case.run) {
            self.decide(shared, runs, &mut step, case);
        } else {
            cancelled(&mut step, lane, ask);
        }
        shared.journal.record(step);
        match lane {
            LaneId::Agent(slot) if self.is_asked(lane, ask) => Some(slot),
            LaneId::Agent(_) | LaneId::Chat => None,
        }
    }

    fn decide(&mut self, shared: &mut Shared, runs: &mut Runs, step: &mut Step, case: Case) {
        let Case { lane, run, asked, call, diff, verdict } = case;
        let caller = lane.caller();
        let Judgement { confirmed, level, reason } = self.judged(verdict);
        let Some(confirmed) = confirmed else {
            let diff = diff.map(|text| shown(shared, &text, LONGEST_DIFF, 0));
            let answer_to = AnswerTo::Worker(asked);
            let question = Question { caller, lane, answer_to, call, diff, level, reason };
            return self.ask_user(shared, runs, step, question);
        };
        self.answer_worker(step, lane, asked, confirmed, DecidedBy::Rule);
        let by = DecidedBy::Rule;
        audit(shared, step, caller, run, &call, Some(level), confirmed, by, &reason);
        if confirmed == Confirmed::Refused {
            let locale = shared.env.language.get();
            let values = [("tool", call.tool.as_str()), ("reason", &locale.word(&reason))];
            runs.tell_line(shared, step, lane, locale.say("tool_line", "denied", &values));
        }
    }
}

fn cancelled(step: &mut Step, lane: LaneId, ask: AskId) {
    step.effects.push(Effect::Decide { lane, ask, decision: Decision::Cancelled });
}

fn size(ask: &Ask) -> usize {
    let input = ask.tool.input.as_deref().map_or(0, str::len);
    let old = |diff: &FileDiff| diff.old.as_deref().map_or(0, str::len);
    let diffs = ask.tool.diffs.iter().map(|diff| old(diff) + diff.new.len());
    ask.tool.title.len() + input + diffs.sum::<usize>()
}

/// The change as a unified diff. Paths below the agent's workplace are shown relative to it.
pub(in crate::session) fn diff(diffs: &[FileDiff], place: &Path) -> Option<String> {
    let mut text = String::new();
    for FileDiff { path, old, new, too_large } in diffs {
        let path = Path::new(path).strip_prefix(place).ok().and_then(Path::to_str).unwrap_or(path);
        // Comparing huge texts takes long, and only the beginning of a diff is shown anyway.
        if let Some((before, after)) = too_large {
            text += &format!("--- {path}\n+++ {path}\n({before} -> {after} bytes)\n");
            continue;
        }
        let old = old.as_deref().unwrap_or_default();
        let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, new.as_ref());
        text += &diff.unified_diff().header(path, path).to_string();
    }
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_the_workplace_are_relative_and_others_absolute() {
        let change = |path: &str, too_large| FileDiff {
            path: path.into(),
            old: None,
            new: "a\n".into(),
            too_large,
        };
        let diffs = [
            change("/place/src/a.rs", None),
            change("/place/b", Some((1, 2))),
            change("/etc/c", None),
            change("d", None),
        ];
        let told = diff(&diffs, Path::new("/place")).unwrap();
        let heads: Vec<_> = told.lines().filter(|line| line.starts_with("+++")).collect();
        assert_eq!(heads, ["+++ src/a.rs", "+++ b", "+++ /etc/c", "+++ d"]);
    }
}
