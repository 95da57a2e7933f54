//! What is sent for each request, once the vendor is ready.

use super::tool_calls::Answer;
use super::wire::{Empty, Input};
use super::{Activity, Gemini, frame};
use crate::provider::live::remote::protocol::{Effect, Request};
use bytes::Bytes;
use tokio::time::Instant;

/// Asks for an answer that does not come by itself.
pub(super) const NUDGE: &str = "(Please answer what was said last.)";
pub(super) const REPORT: &str =
    "(This is news, not said by the user. Tell the user in your own words.) ";

impl Gemini {
    pub(super) fn carry_out(&mut self, request: Request, effects: &mut Vec<Effect>) {
        match request {
            Request::Hear(pcm) => self.hear(&pcm, effects),
            Request::HearNothing => self.hear_nothing(effects),
            Request::SpeechBegins => self.speech_begins(effects),
            Request::SpeechEnds => self.speech_ends(effects),
            Request::Read(text) => self.read(&text, effects),
            Request::Report(text) => self.read(&format!("{REPORT}{text}"), effects),
            Request::See(jpeg) => {
                if !self.pictures.add(jpeg) {
                    effects
                        .push(Effect::Remark("too many pictures at once, one is lost".to_owned()));
                }
                self.show_due(effects);
            }
            Request::Cancel => self.cancel(effects),
            Request::ToolResult { id, outcome } => self.tool_result(&id, &outcome, effects),
            Request::Reply => self.reply(effects),
            Request::Insist => self.insist(effects),
            // The vendor estimates by itself how much was played.
            Request::Heard { .. } => (),
        }
    }

    fn hear(&mut self, pcm: &Bytes, effects: &mut Vec<Effect>) {
        // Outside of a turn the vendor ignores sound.
        if !self.turns_are_ours() || self.activity == Activity::Speech {
            self.packets.hear(pcm);
        }
        while let Some(packet) = self.packets.packet() {
            self.fed = true;
            effects.push(frame::sound(&packet));
        }
    }

    fn hear_rest(&mut self, effects: &mut Vec<Effect>) {
        while let Some(packet) = self.packets.rest() {
            self.fed = true;
            effects.push(frame::sound(&packet));
        }
    }

    fn hear_nothing(&mut self, effects: &mut Vec<Effect>) {
        if self.turns_are_ours() {
            return;
        }
        self.hear_rest(effects);
        if self.packets.close() {
            self.dialogue.fall_silent();
            effects.push(frame::input(Input::AudioStreamEnd(true)));
        }
    }

    fn speech_begins(&mut self, effects: &mut Vec<Effect>) {
        if !self.turns_are_ours() || self.activity == Activity::Speech {
            return;
        }
        self.dialogue.listen(effects);
        if self.activity == Activity::Silence {
            effects.push(frame::input(Input::ActivityStart(Empty {})));
        }
        self.activity = Activity::Speech;
    }

    /// Also where the vendor takes the turns: after the talk key is released, the vendor is told that no more sound comes.
    fn speech_ends(&mut self, effects: &mut Vec<Effect>) {
        if !self.turns_are_ours() {
            self.show_all(effects);
            self.hear_nothing(effects);
        } else if self.activity == Activity::Speech {
            self.hear_rest(effects);
            self.show_all(effects);
            self.end_activity(effects);
            self.dialogue.ask();
        }
    }

    fn end_activity(&mut self, effects: &mut Vec<Effect>) {
        self.activity = Activity::Silence;
        self.packets.close();
        effects.push(frame::input(Input::ActivityEnd(Empty {})));
    }

    /// Sent as input and not as content: content interrupts the model, and some models close on it after the first turn.
    fn read(&mut self, text: &str, effects: &mut Vec<Effect>) {
        self.dialogue.ask();
        self.fed = true;
        self.show_all(effects);
        effects.push(frame::input(Input::Text(text)));
        self.stop_pretending(effects);
    }

    /// The vendor replies to input by itself, but not to a replayed history: then it is asked.
    fn reply(&mut self, effects: &mut Vec<Effect>) {
        if !std::mem::take(&mut self.fed) {
            self.insist(effects);
        }
    }

    /// Asks for an answer even if sound was sent since: that may have been silence.
    fn insist(&mut self, effects: &mut Vec<Effect>) {
        if self.activity != Activity::Speech {
            self.read(NUDGE, effects);
        }
        self.fed = false;
    }

    /// Ends a pretended speech; the vendor would wait for its end.
    fn stop_pretending(&mut self, effects: &mut Vec<Effect>) {
        if self.activity == Activity::Pretended {
            self.end_activity(effects);
            // The vendor may answer even that.
            self.dialogue.fall_silent();
        }
    }

    /// The vendor stops a reply only when the user speaks, so speech is pretended. Where the vendor detects speech itself,
    /// its reply cannot be stopped and is suppressed.
    fn cancel(&mut self, effects: &mut Vec<Effect>) {
        let pending = self.dialogue.hush(effects);
        if pending && self.turns_are_ours() && self.activity == Activity::Silence {
            self.activity = Activity::Pretended;
            effects.push(frame::input(Input::ActivityStart(Empty {})));
        }
    }

    fn tool_result(
        &mut self,
        id: &str,
        outcome: &Result<String, String>,
        effects: &mut Vec<Effect>,
    ) {
        match self.calls.answered(id, outcome, self.family.works_aside()) {
            Answer::Frame(frame) => {
                self.dialogue.ask();
                self.fed = true;
                effects.push(Effect::Send(frame));
                self.stop_pretending(effects);
            }
            Answer::Words(text) => self.read(&format!("{REPORT}{text}"), effects),
            Answer::Unwanted => {
                effects
                    .push(Effect::Remark("the result of a cancelled tool is not told".to_owned()));
            }
        }
    }

    pub(super) fn show_due(&mut self, effects: &mut Vec<Effect>) {
        let due = self.pictures.due(Instant::now());
        effects.extend(due.map(|jpeg| frame::picture(&jpeg)));
    }

    /// Sends all waiting pictures, because the next words may be about them.
    fn show_all(&mut self, effects: &mut Vec<Effect>) {
        while let Some(jpeg) = self.pictures.next(Instant::now()) {
            effects.push(frame::picture(&jpeg));
        }
    }
}
