//! Both sides of a conversation as text, in the order in which it was spoken. Who spoke first is told first, although
//! what the user said may be known only after the answer.

use crate::message::{Generation, Interruption, Speaker};
use crate::provider::live::LiveOutput;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// So long an answer that is over waits for the text of what it answers.
const PATIENCE: Duration = Duration::from_secs(5);
/// Texts that came too late to be waited for, by name. More are forgotten.
const MOST_LATE: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Captions {
    entries: VecDeque<Entry>,
    late: VecDeque<String>,
}

#[derive(Debug)]
enum Entry {
    User {
        name: Option<String>,
        pieces: String,
        text: Option<Decided>,
    },
    Reply {
        generation: Generation,
        text: Option<Decided>,
    },
    /// Somebody wants to know when everything before it is told.
    Place(u64),
}

/// Empty: there is nothing to tell.
#[derive(Debug)]
struct Decided {
    text: String,
    interrupted: Option<Interruption>,
    typed: bool,
    when: Instant,
}

/// What is due now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Said(Caption),
    Place(u64),
}

/// What is to be told now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Caption {
    pub(super) speaker: Speaker,
    pub(super) text: String,
    pub(super) interrupted: Option<Interruption>,
    /// The session knows it already.
    pub(super) typed: bool,
}

impl From<Caption> for LiveOutput {
    fn from(caption: Caption) -> Self {
        let Caption { speaker, text, interrupted, typed: _ } = caption;
        Self::Transcript { speaker, text, interrupted }
    }
}

impl Captions {
    /// The user begins to speak; the vendor's name for it may come later.
    pub(super) fn user_began(&mut self, name: Option<&str>) {
        if let Some(name) = name
            && let Some(known) = self.unnamed()
        {
            *known = Some(name.to_owned());
            return;
        }
        let name = name.map(str::to_owned);
        self.entries.push_back(Entry::User { name, pieces: String::new(), text: None });
    }

    /// The same with a vendor that makes one text of all that it answers at once, whatever pauses there were.
    pub(super) fn user_goes_on(&mut self) {
        if !matches!(self.entries.back(), Some(Entry::User { text: None, .. })) {
            self.user_began(None);
        }
    }

    /// Such a vendor answers by now: of what has no name since the reply before there will be one text.
    pub(super) fn forget_surplus(&mut self) {
        let reply = |entry: &Entry| matches!(entry, Entry::Reply { .. });
        let since = self.entries.iter().rposition(reply).map_or(0, |at| at + 1);
        let mut newer = self.entries.split_off(since);
        let mut expected = false;
        newer.retain(|entry| {
            let unnamed = matches!(entry, Entry::User { name: None, text: None, .. });
            !(unnamed && std::mem::replace(&mut expected, true))
        });
        self.entries.append(&mut newer);
    }

    /// What the user wrote is part of the conversation too.
    pub(super) fn user_wrote(&mut self, text: &str, now: Instant) {
        let text =
            Some(Decided { text: text.to_owned(), interrupted: None, typed: true, when: now });
        self.entries.push_back(Entry::User { name: None, pieces: String::new(), text });
    }

    /// Told as soon as everything that was said so far is.
    pub(super) fn place_here(&mut self, place: u64) {
        self.entries.push_back(Entry::Place(place));
    }

    pub(super) fn user_said(&mut self, utterance: &str, said: &str, last: bool, now: Instant) {
        if !self.knows(utterance) {
            self.place(utterance);
        }
        for entry in &mut self.entries {
            if let Entry::User { name: Some(name), pieces, text: text @ None } = entry
                && name == utterance
            {
                if last {
                    let said = said.trim().to_owned();
                    *text =
                        Some(Decided { text: said, interrupted: None, typed: false, when: now });
                } else {
                    pieces.push_str(said);
                }
                return;
            }
        }
    }

    pub(super) fn reply_began(&mut self, generation: Generation) {
        self.entries.push_back(Entry::Reply { generation, text: None });
    }

    /// It was heard to its end, or cut.
    pub(super) fn reply_ended(
        &mut self,
        wanted: Generation,
        heard: String,
        interrupted: Option<Interruption>,
        now: Instant,
    ) {
        for entry in &mut self.entries {
            if let Entry::Reply { generation, text } = entry
                && *generation == wanted
            {
                *text = Some(Decided { text: heard, interrupted, typed: false, when: now });
                return;
            }
        }
    }

    /// Whoever said something that is not known yet says it again on another connection. True if there was any.
    pub(super) fn forget_unknown(&mut self) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| !matches!(entry, Entry::User { text: None, .. }));
        self.late.clear();
        self.entries.len() < before
    }

    /// The user has finished, and the vendor will tell no more of it: what is known of each utterance is all of it.
    /// Unless nothing is known of one, because then their sound is heard again. Returns what is known by this.
    pub(super) fn settle_for_pieces(&mut self, now: Instant) -> Option<String> {
        let mut known = Vec::new();
        for entry in &self.entries {
            if let Entry::User { pieces, text: None, .. } = entry {
                known.push(Some(pieces.trim().to_owned()).filter(|pieces| !pieces.is_empty())?);
            }
        }
        for entry in &mut self.entries {
            if let Entry::User { pieces, text: text @ None, .. } = entry {
                let said = pieces.trim().to_owned();
                *text = Some(Decided { text: said, interrupted: None, typed: false, when: now });
            }
        }
        Some(known.join(" ")).filter(|known| !known.is_empty())
    }

    /// Nothing was said after all, the last time that the user seemed to begin.
    pub(super) fn forget_unnamed(&mut self) {
        let nothing = |entry: &Entry| matches!(entry, Entry::User { name: None, text: None, .. });
        if let Some(at) = self.entries.iter().rposition(nothing) {
            self.entries.remove(at);
        }
    }

    /// Everything that was said is known.
    pub(super) fn are_complete(&self) -> bool {
        !self.entries.iter().any(|entry| matches!(entry, Entry::User { text: None, .. }))
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.entries.len() + self.late.len()
    }

    /// What can be told by now, in order.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Due> {
        self.take(now, false)
    }

    /// What is known at the end, in order: nothing more will be.
    pub(super) fn rest(&mut self, now: Instant) -> Vec<Due> {
        self.take(now, true)
    }

    fn take(&mut self, now: Instant, end: bool) -> Vec<Due> {
        let mut due = Vec::new();
        loop {
            let overdue = end || self.deadline().is_some_and(|deadline| deadline <= now);
            match self.entries.front() {
                Some(front) if front.is_decided() || overdue => (),
                Some(_) | None => return due,
            }
            let caption = match self.entries.pop_front() {
                Some(Entry::Reply { text, .. }) => (Speaker::Model, text),
                Some(Entry::User { name, pieces, text: None }) => {
                    let text = self.give_up(name, pieces, now);
                    (Speaker::User, text)
                }
                Some(Entry::User { text, .. }) => (Speaker::User, text),
                Some(Entry::Place(place)) => {
                    due.push(Due::Place(place));
                    continue;
                }
                None => return due,
            };
            if let (speaker, Some(Decided { text, interrupted, typed, .. })) = caption
                && !text.is_empty()
            {
                due.push(Due::Said(Caption { speaker, text, interrupted, typed }));
            }
        }
    }

    /// When something is told although what came before it is not known.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if !matches!(self.entries.front(), Some(Entry::User { text: None, .. })) {
            return None;
        }
        let decided = self.entries.iter().filter_map(Entry::decided);
        decided.map(|decided| decided.when + PATIENCE).min()
    }

    /// What is known of it is told; if that is nothing, the whole is told whenever it comes.
    fn give_up(&mut self, name: Option<String>, pieces: String, now: Instant) -> Option<Decided> {
        if !pieces.trim().is_empty() {
            let text = pieces.trim().to_owned();
            return Some(Decided { text, interrupted: None, typed: false, when: now });
        }
        if let Some(name) = name {
            self.late.push_back(name);
            if self.late.len() > MOST_LATE {
                self.late.pop_front();
            }
        }
        None
    }

    pub(super) fn knows(&self, utterance: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry, Entry::User { name: Some(name), .. } if name == utterance))
    }

    /// Text of something that nobody has announced: the oldest that is still without a name, what came too late, or
    /// what the newest reply answers.
    fn place(&mut self, utterance: &str) {
        if let Some(known) = self.unnamed() {
            *known = Some(utterance.to_owned());
            return;
        }
        let name = Some(utterance.to_owned());
        let entry = Entry::User { name, pieces: String::new(), text: None };
        let was_late = self.late.iter().position(|late| late == utterance);
        if let Some(at) = was_late {
            self.late.remove(at);
            self.entries.push_front(entry);
        } else if matches!(self.entries.back(), Some(Entry::Reply { text: None, .. })) {
            self.entries.insert(self.entries.len() - 1, entry);
        } else {
            self.entries.push_back(entry);
        }
    }

    fn unnamed(&mut self) -> Option<&mut Option<String>> {
        self.entries.iter_mut().find_map(|entry| match entry {
            Entry::User { name: name @ None, text: None, .. } => Some(name),
            Entry::User { .. } | Entry::Reply { .. } | Entry::Place(_) => None,
        })
    }
}

impl Entry {
    fn decided(&self) -> Option<&Decided> {
        match self {
            Self::User { text, .. } | Self::Reply { text, .. } => text.as_ref(),
            Self::Place(_) => None,
        }
    }

    fn is_decided(&self) -> bool {
        matches!(self, Self::Place(_)) || self.decided().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(captions: &mut Captions, now: Instant) -> Vec<String> {
        let text = |due| match due {
            Due::Said(caption) => caption.text,
            Due::Place(place) => place.to_string(),
        };
        captions.due(now).into_iter().map(text).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_comes_before_its_answer_however_late_it_is_known() {
        let (mut captions, now) = (Captions::default(), Instant::now());
        captions.user_began(Some("u"));
        captions.reply_began(Generation(1));
        captions.reply_ended(Generation(1), "answer".to_owned(), None, now);
        captions.user_said("u", "ques", false, now);
        assert_eq!(told(&mut captions, now), [""; 0]);
        captions.user_said("u", "question", true, now);
        assert_eq!(told(&mut captions, now), ["question", "answer"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_does_not_wait_for_ever() {
        let (mut captions, now) = (Captions::default(), Instant::now());
        captions.user_began(Some("u"));
        captions.reply_began(Generation(1));
        captions.reply_ended(Generation(1), "answer".to_owned(), None, now);
        let deadline = captions.deadline().unwrap();
        assert_eq!(deadline, now + PATIENCE);
        assert_eq!(told(&mut captions, deadline), ["answer"]);
        captions.user_said("u", "question", true, deadline);
        assert_eq!(told(&mut captions, deadline), ["question"]);
        assert_eq!(captions.late.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_into_a_reply_comes_after_it() {
        let (mut captions, now) = (Captions::default(), Instant::now());
        captions.reply_began(Generation(1));
        captions.user_began(Some("u"));
        captions.user_said("u", "stop", true, now);
        assert_eq!(told(&mut captions, now), [""; 0]);
        captions.reply_ended(Generation(1), "the beg".to_owned(), None, now);
        assert_eq!(told(&mut captions, now), ["the beg", "stop"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_written_into_a_reply_has_its_place_behind_what_was_heard_of_it() {
        let (mut captions, now) = (Captions::default(), Instant::now());
        captions.place_here(1);
        assert_eq!(told(&mut captions, now), ["1"]);
        captions.user_began(Some("u"));
        captions.reply_began(Generation(1));
        captions.place_here(2);
        captions.user_wrote("typed", now);
        captions.reply_ended(Generation(1), "the beg".to_owned(), None, now);
        assert_eq!(told(&mut captions, now), [""; 0]);
        captions.user_said("u", "spoken", true, now);
        assert_eq!(told(&mut captions, now), ["spoken", "the beg", "2", "typed"]);
    }

    #[tokio::test(start_paused = true)]
    async fn texts_without_an_announcement_find_their_place() {
        let (mut captions, now) = (Captions::default(), Instant::now());
        captions.user_began(None);
        captions.reply_began(Generation(1));
        captions.user_said("a", "first", true, now);
        captions.reply_ended(Generation(1), "one".to_owned(), None, now);
        captions.reply_began(Generation(2));
        captions.user_said("b", "second", true, now);
        captions.reply_ended(Generation(2), "two".to_owned(), None, now);
        assert_eq!(told(&mut captions, now), ["first", "one", "second", "two"]);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_told_of_noise_and_of_replies_that_nobody_heard() {
        let (mut captions, now) = (Captions::default(), Instant::now());
        captions.user_began(Some("u"));
        captions.reply_began(Generation(1));
        captions.user_said("u", " ", true, now);
        captions.reply_ended(Generation(1), String::new(), None, now);
        captions.user_wrote("typed", now);
        assert_eq!(told(&mut captions, now), ["typed"]);
        assert!(captions.entries.is_empty());
    }
}
