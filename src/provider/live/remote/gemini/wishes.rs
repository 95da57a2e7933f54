//! What is sent for each wish, once the vendor is ready.

use super::calls::Answer;
use super::wire::{Empty, Input};
use super::{Activity, Gemini, frame};
use crate::provider::live::remote::protocol::{Deed, Wish};
use bytes::Bytes;
use tokio::time::Instant;

/// For a vendor that was told everything and says nothing.
pub(super) const NUDGE: &str = "(Please answer what was said last.)";
pub(super) const REPORT: &str =
    "(This is news, not said by the user. Tell the user in your own words.) ";

impl Gemini {
    pub(super) fn grant(&mut self, wish: Wish, deeds: &mut Vec<Deed>) {
        match wish {
            Wish::Hear(pcm) => self.hear(&pcm, deeds),
            Wish::HearNothing => self.hear_nothing(deeds),
            Wish::SpeechBegins => self.speech_begins(deeds),
            Wish::SpeechEnds => self.speech_ends(deeds),
            Wish::Read(text) => self.read(&text, deeds),
            Wish::Report(text) => self.read(&format!("{REPORT}{text}"), deeds),
            Wish::See(jpeg) => {
                if !self.pictures.add(jpeg) {
                    deeds.push(Deed::Remark("too many pictures at once, one is lost".to_owned()));
                }
                self.show_due(deeds);
            }
            Wish::Cancel => self.cancel(deeds),
            Wish::ToolResult { id, outcome } => self.tool_result(&id, &outcome, deeds),
            Wish::Reply => self.reply(deeds),
            Wish::Insist => self.insist(deeds),
            // It reckons by itself: its sound is played as it comes.
            Wish::Heard { .. } => (),
        }
    }

    fn hear(&mut self, pcm: &Bytes, deeds: &mut Vec<Deed>) {
        // Outside of a turn it would not listen.
        if !self.turns_are_ours() || self.activity == Activity::Speech {
            self.microphone.hear(pcm);
        }
        while let Some(packet) = self.microphone.packet() {
            self.fed = true;
            deeds.push(frame::sound(&packet));
        }
    }

    fn hear_rest(&mut self, deeds: &mut Vec<Deed>) {
        while let Some(packet) = self.microphone.rest() {
            self.fed = true;
            deeds.push(frame::sound(&packet));
        }
    }

    fn hear_nothing(&mut self, deeds: &mut Vec<Deed>) {
        if self.turns_are_ours() {
            return;
        }
        self.hear_rest(deeds);
        if self.microphone.close() {
            self.dialogue.fall_silent();
            deeds.push(frame::input(Input::AudioStreamEnd(true)));
        }
    }

    fn speech_begins(&mut self, deeds: &mut Vec<Deed>) {
        if !self.turns_are_ours() || self.activity == Activity::Speech {
            return;
        }
        self.dialogue.listen(deeds);
        if self.activity == Activity::Silence {
            deeds.push(frame::input(Input::ActivityStart(Empty {})));
        }
        self.activity = Activity::Speech;
    }

    /// By a key also where the vendor finds the end: it is told that there will be no more.
    fn speech_ends(&mut self, deeds: &mut Vec<Deed>) {
        if !self.turns_are_ours() {
            self.show_all(deeds);
            self.hear_nothing(deeds);
        } else if self.activity == Activity::Speech {
            self.hear_rest(deeds);
            self.show_all(deeds);
            self.end_activity(deeds);
            self.dialogue.ask();
        }
    }

    fn end_activity(&mut self, deeds: &mut Vec<Deed>) {
        self.activity = Activity::Silence;
        self.microphone.close();
        deeds.push(frame::input(Input::ActivityEnd(Empty {})));
    }

    /// Not as content: that would interrupt the model, and some close on it after their first turn.
    fn read(&mut self, text: &str, deeds: &mut Vec<Deed>) {
        self.dialogue.ask();
        self.fed = true;
        self.show_all(deeds);
        deeds.push(frame::input(Input::Text(text)));
        self.stop_pretending(deeds);
    }

    /// It replies to what it gets by itself; but not to a past that it was only told, and not when it has gone mute.
    fn reply(&mut self, deeds: &mut Vec<Deed>) {
        if !std::mem::take(&mut self.fed) {
            self.insist(deeds);
        }
    }

    /// An open microphone feeds it all the time, but silence is nothing to answer.
    fn insist(&mut self, deeds: &mut Vec<Deed>) {
        if self.activity != Activity::Speech {
            self.read(NUDGE, deeds);
        }
        self.fed = false;
    }

    /// It would wait for the end of a speech that nobody gives.
    fn stop_pretending(&mut self, deeds: &mut Vec<Deed>) {
        if self.activity == Activity::Pretended {
            self.end_activity(deeds);
            // It may take even that for something to answer.
            self.dialogue.fall_silent();
        }
    }

    /// It is silent when the user speaks, and only then. Where it decides that by itself, it talks to nobody.
    fn cancel(&mut self, deeds: &mut Vec<Deed>) {
        let pending = self.dialogue.hush(deeds);
        if pending && self.turns_are_ours() && self.activity == Activity::Silence {
            self.activity = Activity::Pretended;
            deeds.push(frame::input(Input::ActivityStart(Empty {})));
        }
    }

    fn tool_result(&mut self, id: &str, outcome: &Result<String, String>, deeds: &mut Vec<Deed>) {
        match self.calls.answered(id, outcome, self.family.works_aside()) {
            Answer::Frame(frame) => {
                self.dialogue.ask();
                self.fed = true;
                deeds.push(Deed::Send(frame));
                self.stop_pretending(deeds);
            }
            Answer::Words(text) => self.read(&format!("{REPORT}{text}"), deeds),
            Answer::Unwanted => {
                deeds.push(Deed::Remark("the result of a cancelled tool is not told".to_owned()));
            }
        }
    }

    pub(super) fn show_due(&mut self, deeds: &mut Vec<Deed>) {
        let due = self.pictures.due(Instant::now());
        deeds.extend(due.map(|jpeg| frame::picture(&jpeg)));
    }

    /// What is said now is about them.
    fn show_all(&mut self, deeds: &mut Vec<Deed>) {
        while let Some(jpeg) = self.pictures.next(Instant::now()) {
            deeds.push(frame::picture(&jpeg));
        }
    }
}
