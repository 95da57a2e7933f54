//! Breakers of agent runs. Each tool call counts once, however often the agent reports it. A run above a limit is
//! stopped, and its end names the limit.

use super::calls::Calls;
use super::gate;
use crate::locale::Locale;
use crate::message::{Confirmed, DecidedBy, Event, RunId};
use crate::policy::{Breaker, Call, Tripped};
use crate::provider::agent::{Tool, ToolStatus};
use crate::session::actor::Session;
use crate::session::journal::Step;
use crate::session::run::activity;
use crate::session::run::current::Ending;
use crate::session::run::lanes::LaneId;

/// Tool calls and limits of one caller's current run.
#[derive(Debug, Default)]
pub(in crate::session) struct Watch {
    /// `None` while nothing runs, or while the run is being stopped.
    breaker: Option<Breaker>,
    pub(in crate::session) calls: Calls,
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
}

impl Session {
    /// Each run starts with fresh counters.
    pub(in crate::session) fn reset_breaker(&mut self, lane: LaneId) {
        let breaker = Some(Breaker::new(self.gate.limits()));
        *self.gate.watch(lane.caller()) = Watch { breaker, ..Watch::default() };
    }

    /// Counts a tool call that the agent reports, and stops the run if that is above a limit. Calls without an approval
    /// are written to the audit log when they end.
    pub(in crate::session) fn on_tool(&mut self, step: &mut Step, lane_id: LaneId, tool: &Tool) {
        let run = self.lanes[lane_id].current.as_ref().map(|current| current.run.id);
        let Some(run) = run else { return };
        let call = gate::call(tool);
        let caller = lane_id.caller();
        if self.gate.watch(caller).calls.is_just_over(tool) {
            self.lanes[lane_id].meter.called();
            self.audit_ungated(step, lane_id, run, tool);
        }
        if let Err(tripped) = self.gate.watch(caller).count(tool, &call) {
            self.trip(step, lane_id, tripped);
        }
    }

    /// Writes a call without approval to the audit log. If the agent ignored a question or its answer, the user is
    /// told, too.
    fn audit_ungated(&mut self, step: &mut Step, lane_id: LaneId, run: RunId, tool: &Tool) {
        let caller = lane_id.caller();
        let Some(ungated) = self.gate.watch(caller).calls.ungated(tool) else { return };
        let (confirmed, by) = (Confirmed::Approved, DecidedBy::Nobody);
        self.audit(step, caller, run, &gate::call(tool), confirmed, by, ungated.reason());
        if let Some(alarm) = ungated.alarm() {
            let locale = self.shared.env.language.get();
            let reason = locale.say("ungated", alarm, &[]);
            let values = [("tool", gate::title(tool)), ("reason", &reason)];
            self.tell_line(step, lane_id, locale.say("tool_line", "alarm", &values));
        }
    }

    /// A run is over: calls of which its agent has not told the end have none.
    pub(in crate::session) fn close_tools(&mut self, step: &mut Step, lane_id: LaneId) {
        let Some(current) = &self.lanes[lane_id].current else { return };
        let (run, caller) = (current.run.id, lane_id.caller());
        for mut tool in self.gate.watch(caller).calls.unfinished() {
            tool.status = ToolStatus::Failed;
            let calls = &mut self.gate.watch(caller).calls;
            let why = if calls.is_declined(&tool) { "declined" } else { "unfinished" };
            calls.abandon(&tool);
            let ungated = calls.ungated(&tool).is_some();
            tool.error = Some(self.shared.env.language.get().say("ungated", why, &[]));
            self.tell(step, lane_id, Event::Tool(activity::note(&tool, ungated)));
            self.audit_ungated(step, lane_id, run, &tool);
        }
    }

    pub(in crate::session) fn on_tokens(&mut self, step: &mut Step, lane_id: LaneId, tokens: u64) {
        let watch = self.gate.watch(lane_id.caller());
        let used = watch.breaker.as_ref().map(|breaker| breaker.used(tokens));
        if let Some(Err(tripped)) = used {
            self.trip(step, lane_id, tripped);
        }
    }

    /// The run is stopped; when it has ended it says why.
    fn trip(&mut self, step: &mut Step, lane_id: LaneId, tripped: Tripped) {
        let watch = self.gate.watch(lane_id.caller());
        watch.breaker = None;
        watch.tripped = Some(tripped);
        self.stop_lane(step, lane_id);
    }

    /// Nobody has cancelled a run that a breaker has stopped: it has failed, and the user decides whether to go on.
    pub(in crate::session) fn why_ended(&mut self, lane_id: LaneId, ending: Ending) -> Ending {
        match self.gate.watch(lane_id.caller()).tripped {
            Some(tripped) => Ending::Failed(reason(self.shared.env.language.get(), tripped)),
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
