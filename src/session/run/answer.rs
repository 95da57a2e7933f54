//! Output of a run: its events, and its answer, which is sent in parts while it grows and stored when it is complete.

use super::Runs;
use super::lanes::LaneId;
use super::progress;
use super::progress::Rest;
use crate::message::{AnswerNote, Channel, Event};
use crate::session::journal::{Effect, Step};
use crate::session::shared::Shared;
use crate::session::sockets::audience::Piece;

/// In bytes. Longer answers are stored in several parts.
const LONGEST_ANSWER: usize = 1024 * 1024;

impl Runs {
    pub(in crate::session) fn tell_line(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane_id: LaneId,
        line: String,
    ) {
        self.tell(shared, step, lane_id, Event::RunLine(line));
    }

    /// What belongs to a run is told while there is one.
    pub(in crate::session) fn tell(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane_id: LaneId,
        event: Event,
    ) {
        if self.lanes[lane_id].current.is_some() {
            // What was said before it is seen before it.
            self.pass_on(step, lane_id, Rest::Kept);
            let channel = self.lanes[lane_id].channel;
            shared.append(step, channel, event);
        }
    }

    /// The agent goes on to something else: what it thought is told, whole line or not.
    pub(super) fn end_thought(&mut self, shared: &mut Shared, step: &mut Step, lane_id: LaneId) {
        let thought =
            self.lanes[lane_id].current.as_mut().map(|run| std::mem::take(&mut run.thought));
        if let Some(rest) = thought.filter(|rest| !rest.is_empty()) {
            self.tell_line(shared, step, lane_id, rest);
        }
    }

    /// The agent thinks on: complete lines are told.
    pub(super) fn lengthen_thought(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane_id: LaneId,
        text: &str,
    ) {
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        current.thought.push_str(text);
        for line in progress::whole_lines(&mut current.thought) {
            self.tell_line(shared, step, lane_id, line);
        }
    }

    /// The answer grows, and whoever looks sees it grow.
    pub(super) fn lengthen_answer(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane_id: LaneId,
        text: &str,
    ) {
        self.take_answer(shared, step, lane_id, text);
        if let Some(current) = &mut self.lanes[lane_id].current {
            current.fresh.push_str(text);
        }
    }

    /// Shows what there is of the answer besides what was shown already.
    pub(in crate::session) fn pass_on(&mut self, step: &mut Step, lane_id: LaneId, rest: Rest) {
        let channel = self.lanes[lane_id].channel;
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        let (run, text) = (current.run.id, std::mem::take(&mut current.fresh));
        let lines = match channel {
            Channel::Agent(_) => progress::told_lines(&mut current.line, &text, rest),
            Channel::Chat | Channel::Audio | Channel::Input | Channel::File => String::new(),
        };
        if !text.is_empty() || !lines.is_empty() {
            step.effects.push(Effect::Pass(Piece { channel, run, text, lines }));
        }
    }

    /// An answer without end is told in parts, so that neither memory nor a packet grows without limit. A part is told
    /// only when more follows: the last one is told at the end, and says that the answer is complete.
    pub(super) fn take_answer(
        &mut self,
        shared: &mut Shared,
        step: &mut Step,
        lane_id: LaneId,
        text: &str,
    ) {
        let channel = self.lanes[lane_id].channel;
        let Some(current) = &mut self.lanes[lane_id].current else { return };
        let is_too_long = current.answer.len() + text.len() > LONGEST_ANSWER;
        if is_too_long && !current.answer.is_empty() && !text.is_empty() {
            let (text, run) = (std::mem::take(&mut current.answer), Some(current.run.id));
            self.pass_on(step, lane_id, Rest::Kept);
            shared.append(step, channel, Event::Text { text, run, note: AnswerNote::default() });
        }
        if let Some(current) = &mut self.lanes[lane_id].current {
            current.answer.push_str(text);
        }
    }
}
