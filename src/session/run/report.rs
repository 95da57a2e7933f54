//! Reports about requests to agents: for the input channel, and for the live model.

use crate::message::{AgentReport, AgentSlot, Channel, Event, ReportStage, Run};
use crate::provider::live::LiveInput;
use crate::session::journal::{Effect, Step};
use crate::session::run::current::{Ending, TOO_MANY_FAILURES};
use crate::session::shared::Shared;
use crate::session::voice::Voice;

/// Tells the input channel, and the live model if it is open.
pub(super) fn report(
    shared: &mut Shared,
    voice: &Voice,
    step: &mut Step,
    agent: AgentSlot,
    stage: ReportStage,
) {
    let report = AgentReport { agent, stage };
    // A live model without room misses the remark; the report itself is stored.
    if voice.is_open() && voice.has_room() {
        let told = shared.env.language.get().report_to_model(&report);
        step.effects.push(Effect::Show(LiveInput::Report(told)));
    }
    shared.append(step, Channel::Input, Event::AgentReport(report));
}

/// Tells the chat and the input channel how a request ended; of a cancelled one only the input channel.
pub(super) fn answer_request(
    shared: &mut Shared,
    voice: &Voice,
    step: &mut Step,
    run: &Run,
    answer: String,
    ending: Ending,
) {
    let Channel::Agent(agent) = run.channel else { return };
    let answer = match ending {
        Ending::Finished => answer,
        Ending::Failed(reason) => format!("! {reason}"),
        Ending::Locked { .. } => format!("! {TOO_MANY_FAILURES}"),
        Ending::Cancelled => return report(shared, voice, step, agent, ReportStage::Stopped),
    };
    let answered = Event::RequestAnswered { text: answer.clone(), by: Some(agent) };
    shared.append(step, Channel::Chat, answered);
    let stage = ReportStage::Finished { request: run.text.clone(), answer };
    report(shared, voice, step, agent, stage);
}
