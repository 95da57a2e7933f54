//! Breakers of agent runs. Each tool call counts once, however often the agent reports it. A run above a limit is
//! stopped, and its end names the limit.

use super::Approvals;
use super::calls::Calls;
use super::gate::{self, audit};
use crate::locale::Locale;
use crate::message::{Confirmed, DecidedBy, Event, RunId};
use crate::policy::{Breaker, Call, Tripped};
use crate::provider::agent::{Tool, ToolStatus};
use crate::session::journal::Step;
use crate::session::run::Runs;
use crate::session::run::activity;
use crate::session::run::current::Ending;
use crate::session::run::lanes::LaneId;
use crate::session::shared::Shared;

/// Tool calls and limits of one caller's current run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// `None` while nothing runs, or while the run is being stopped.
    breaker: Option<Breaker>,
    pub(super) calls: Calls,
    tripped: Option<Tripped>,
}

impl Watch {
    fn count(&mut self, tool: &Tool, call: &Call) -> Result<(), Tripped> {
        let (is_new, just_over) = (!self.calls.knows(tool), self.calls.is_just_over(tool));
        // An agent that goes on after the stop must not fill the memory with new calls.
        if self.breaker.is_some() || !is_new {
            self.calls.note(tool);
        }
        let Some(breaker) = &mut self.breaker else { return Ok(()) };
        if is_new {
            breaker.called()?;
        }
        match tool.status {
            ToolStatus::Completed if just_over => breaker.succeeded(),
            ToolStatus::Failed if just_over => {
                breaker.failed(&format!("{}\0{}", call.tool, call.input))?;
            }
            ToolStatus::Started | ToolStatus::Completed | ToolStatus::Failed => {}
        }
        Ok(())
    }

    /// The run has to be stopped; when it has ended it says why.
    fn trip(&mut self, tripped: Tripped) -> bool {
        self.breaker = None;
        self.tripped = Some(tripped);
        true
    }
}

impl Approvals {
    /// Each run starts with fresh counters.
    pub(in crate::session) fn reset_breaker(&mut self, lane: LaneId) {
        let breaker = Some(Breaker::new(self.limits()));
        *self.watch(lane.caller()) = Watch { breaker, ..Watch::default() };
    }

    /// Whether this call of the lane's worker counts as not approved.
    pub(in crate::session) fn is_ungated(&mut self, lane: LaneId, tool: &Tool) -> bool {
        self.watch(lane.caller()).calls.ungated(tool).is_some()
    }

    /// Counts a tool call that the agent reports. Calls without an approval are written to the audit log when they end.
    /// True: the run is above a limit and has to be stopped.
    pub(in crate::session) fn on_tool(
        &mut self,
        shared: &mut Shared,
        runs: &mut Runs,
        step: &mut Step,
        lane: LaneId,
        tool: &Tool,
    ) -> bool {
        let Some(run) = runs.current(lane) else { return false };
        if self.watch(lane.caller()).calls.is_just_over(tool) {
            runs.note_call_ended(lane);
            self.audit_ungated(shared, runs, step, lane, run, tool);
        }
        let watch = self.watch(lane.caller());
        let counted = watch.count(tool, &gate::call(tool));
        counted.is_err_and(|tripped| watch.trip(tripped))
    }

    /// Writes a call without approval to the audit log. If the agent ignored a question or its answer, the user is
    /// told, too.
    fn audit_ungated(
        &mut self,
        shared: &mut Shared,
        runs: &mut Runs,
        step: &mut Step,
        lane: LaneId,
        run: RunId,
        tool: &Tool,
    ) {
        let caller = lane.caller();
        let Some(ungated) = self.watch(caller).calls.ungated(tool) else { return };
        let (confirmed, by) = (Confirmed::Approved, DecidedBy::Nobody);
        let call = gate::call(tool);
        audit(shared, step, caller, run, &call, None, confirmed, by, ungated.reason());
        if let Some(alarm) = ungated.alarm() {
            let locale = shared.env.language.get();
            let reason = locale.say("ungated", alarm, &[]);
            let values = [("tool", gate::title(tool)), ("reason", &reason)];
            runs.tell_line(shared, step, lane, locale.say("tool_line", "alarm", &values));
        }
    }

    /// A run is over: calls of which its agent has not told the end have none.
    pub(in crate::session) fn close_tools(
        &mut self,
        shared: &mut Shared,
        runs: &mut Runs,
        step: &mut Step,
        lane: LaneId,
    ) {
        let Some(run) = runs.current(lane) else { return };
        for mut tool in self.watch(lane.caller()).calls.unfinished() {
            tool.status = ToolStatus::Failed;
            let calls = &mut self.watch(lane.caller()).calls;
            let why = if calls.is_declined(&tool) { "declined" } else { "unfinished" };
            calls.abandon(&tool);
            let ungated = calls.ungated(&tool).is_some();
            tool.error = Some(shared.env.language.get().say("ungated", why, &[]));
            let note = activity::note(shared, &tool, ungated);
            runs.tell(shared, step, lane, Event::Tool(note));
            self.audit_ungated(shared, runs, step, lane, run, &tool);
        }
    }

    /// Tokens that the run has used. True: it is above the limit and has to be stopped.
    pub(in crate::session) fn on_tokens(&mut self, lane: LaneId, tokens: u64) -> bool {
        let watch = self.watch(lane.caller());
        let used = watch.breaker.as_ref().map(|breaker| breaker.used(tokens));
        used.is_some_and(|used| used.is_err_and(|tripped| watch.trip(tripped)))
    }

    /// Nobody has cancelled a run that a breaker has stopped: it has failed, and the user decides whether to go on.
    pub(in crate::session) fn why_ended(
        &mut self,
        shared: &Shared,
        lane: LaneId,
        ending: Ending,
    ) -> Ending {
        match self.watch(lane.caller()).tripped {
            Some(tripped) => Ending::Failed(reason(shared.env.language.get(), tripped)),
            None => ending,
        }
    }
}

fn reason(locale: Locale, tripped: Tripped) -> String {
    let (name, limit) = match tripped {
        Tripped::Steps(steps) => ("steps", steps.to_string()),
        Tripped::Tokens(tokens) => ("tokens", tokens.to_string()),
        Tripped::Repeats(times) => ("repeats", times.to_string()),
        Tripped::Failures(failures) => ("failures", failures.to_string()),
    };
    let what = locale.say("breaker", name, &[("limit", &limit)]);
    locale.say("breaker", "stopped", &[("what", &what)])
}
