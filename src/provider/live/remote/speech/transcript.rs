//! The transcript: both sides of a conversation as text, in the order in which they spoke. The text of the user may come
//! after the text of the answer, so a line waits until everything before it is known.

use crate::message::{Generation, Interruption, Speaker};
use crate::provider::live::LiveOutput;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// How long a finished answer waits for the text of the question.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many utterances are remembered whose text did not come in time.
const MOST_LATE: usize = 16;

#[derive(Debug, Default)]
pub(in crate::provider::live::remote) struct Transcript {
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
    /// A mark of the session, reported when everything before it is.
    Place(u64),
}

/// A known text. If it is empty, there is nothing to report.
#[derive(Debug)]
struct Decided {
    text: String,
    interrupted: Option<Interruption>,
    typed: bool,
    when: Instant,
}

/// What can be reported now.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider::live::remote) enum Due {
    Said(TranscriptLine),
    Place(u64),
}

/// One line of the transcript.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::provider::live::remote) struct TranscriptLine {
    pub(in crate::provider::live::remote) speaker: Speaker,
    pub(in crate::provider::live::remote) text: String,
    pub(in crate::provider::live::remote) interrupted: Option<Interruption>,
    /// The user typed it, so the session knows it already.
    pub(in crate::provider::live::remote) typed: bool,
}

impl From<TranscriptLine> for LiveOutput {
    fn from(line: TranscriptLine) -> Self {
        let TranscriptLine { speaker, text, interrupted, typed: _ } = line;
        Self::Transcript { speaker, text, interrupted }
    }
}

impl Transcript {
    /// The user begins to speak; the vendor's name for it may come later.
    pub(in crate::provider::live::remote) fn user_began(&mut self, name: Option<&str>) {
        if let Some(name) = name
            && let Some(known) = self.unnamed()
        {
            *known = Some(name.to_owned());
            return;
        }
        let name = name.map(str::to_owned);
        self.entries.push_back(Entry::User { name, pieces: String::new(), text: None });
    }

    /// Like [`Self::user_began`], for a vendor that makes one text of everything that it answers at once.
    pub(in crate::provider::live::remote) fn user_goes_on(&mut self) {
        if !matches!(self.entries.back(), Some(Entry::User { text: None, .. })) {
            self.user_began(None);
        }
    }

    /// Such a vendor answers now: all unnamed utterances since the last reply will get one text.
    pub(in crate::provider::live::remote) fn forget_surplus(&mut self) {
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

    /// The user typed this.
    pub(in crate::provider::live::remote) fn user_wrote(&mut self, text: &str, now: Instant) {
        let text =
            Some(Decided { text: text.to_owned(), interrupted: None, typed: true, when: now });
        self.entries.push_back(Entry::User { name: None, pieces: String::new(), text });
    }

    /// Adds a mark that is reported as soon as everything before it is.
    pub(in crate::provider::live::remote) fn place_here(&mut self, place: u64) {
        self.entries.push_back(Entry::Place(place));
    }

    pub(in crate::provider::live::remote) fn user_said(
        &mut self,
        utterance: &str,
        said: &str,
        last: bool,
        now: Instant,
    ) {
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

    pub(in crate::provider::live::remote) fn reply_began(&mut self, generation: Generation) {
        self.entries.push_back(Entry::Reply { generation, text: None });
    }

    /// The reply was played to its end, or interrupted.
    pub(in crate::provider::live::remote) fn reply_ended(
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

    /// The connection is lost. Utterances without a text are dropped, because their sound is replayed on the next
    /// connection. True if there were any.
    pub(in crate::provider::live::remote) fn forget_unknown(&mut self) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| !matches!(entry, Entry::User { text: None, .. }));
        self.late.clear();
        self.entries.len() < before
    }

    /// The connection is lost after the user has finished: partial texts become final. If an utterance has no text at all,
    /// nothing changes, because the sound is replayed then. Returns the texts that became final.
    pub(in crate::provider::live::remote) fn settle_for_pieces(
        &mut self,
        now: Instant,
    ) -> Option<String> {
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

    /// The last beginning was a mistake: nothing was said.
    pub(in crate::provider::live::remote) fn forget_unnamed(&mut self) {
        let nothing = |entry: &Entry| matches!(entry, Entry::User { name: None, text: None, .. });
        if let Some(at) = self.entries.iter().rposition(nothing) {
            self.entries.remove(at);
        }
    }

    /// The text of every utterance is known.
    pub(in crate::provider::live::remote) fn are_complete(&self) -> bool {
        !self.entries.iter().any(|entry| matches!(entry, Entry::User { text: None, .. }))
    }

    #[cfg(test)]
    pub(in crate::provider::live::remote) fn size(&self) -> usize {
        self.entries.len() + self.late.len()
    }

    /// Lines and marks that can be reported now, in order.
    pub(in crate::provider::live::remote) fn due(&mut self, now: Instant) -> Vec<Due> {
        self.take(now, false)
    }

    /// Everything that is known at the end of the conversation, in order.
    pub(in crate::provider::live::remote) fn rest(&mut self, now: Instant) -> Vec<Due> {
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
            let line = match self.entries.pop_front() {
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
            if let (speaker, Some(Decided { text, interrupted, typed, .. })) = line
                && !text.is_empty()
            {
                due.push(Due::Said(TranscriptLine { speaker, text, interrupted, typed }));
            }
        }
    }

    /// When a line is reported although the text before it is missing.
    pub(in crate::provider::live::remote) fn deadline(&self) -> Option<Instant> {
        if !matches!(self.entries.front(), Some(Entry::User { text: None, .. })) {
            return None;
        }
        let decided = self.entries.iter().filter_map(Entry::decided);
        decided.map(|decided| decided.when + PATIENCE).min()
    }

    /// Stops waiting for a text. The partial text is used; if there is none, the text is reported whenever it comes.
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

    pub(in crate::provider::live::remote) fn knows(&self, utterance: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry, Entry::User { name: Some(name), .. } if name == utterance))
    }

    /// Finds the place of a text whose utterance was not announced: the oldest utterance without a name, one that was
    /// given up, or the question before the newest reply.
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

    fn told(transcript: &mut Transcript, now: Instant) -> Vec<String> {
        let text = |due| match due {
            Due::Said(line) => line.text,
            Due::Place(place) => place.to_string(),
        };
        transcript.due(now).into_iter().map(text).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_comes_before_its_answer_however_late_it_is_known() {
        let (mut transcript, now) = (Transcript::default(), Instant::now());
        transcript.user_began(Some("u"));
        transcript.reply_began(Generation(1));
        transcript.reply_ended(Generation(1), "answer".to_owned(), None, now);
        transcript.user_said("u", "ques", false, now);
        assert_eq!(told(&mut transcript, now), [""; 0]);
        transcript.user_said("u", "question", true, now);
        assert_eq!(told(&mut transcript, now), ["question", "answer"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_does_not_wait_for_ever() {
        let (mut transcript, now) = (Transcript::default(), Instant::now());
        transcript.user_began(Some("u"));
        transcript.reply_began(Generation(1));
        transcript.reply_ended(Generation(1), "answer".to_owned(), None, now);
        let deadline = transcript.deadline().unwrap();
        assert_eq!(deadline, now + PATIENCE);
        assert_eq!(told(&mut transcript, deadline), ["answer"]);
        transcript.user_said("u", "question", true, deadline);
        assert_eq!(told(&mut transcript, deadline), ["question"]);
        assert_eq!(transcript.late.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_into_a_reply_comes_after_it() {
        let (mut transcript, now) = (Transcript::default(), Instant::now());
        transcript.reply_began(Generation(1));
        transcript.user_began(Some("u"));
        transcript.user_said("u", "stop", true, now);
        assert_eq!(told(&mut transcript, now), [""; 0]);
        transcript.reply_ended(Generation(1), "the beg".to_owned(), None, now);
        assert_eq!(told(&mut transcript, now), ["the beg", "stop"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_written_into_a_reply_has_its_place_behind_what_was_heard_of_it() {
        let (mut transcript, now) = (Transcript::default(), Instant::now());
        transcript.place_here(1);
        assert_eq!(told(&mut transcript, now), ["1"]);
        transcript.user_began(Some("u"));
        transcript.reply_began(Generation(1));
        transcript.place_here(2);
        transcript.user_wrote("typed", now);
        transcript.reply_ended(Generation(1), "the beg".to_owned(), None, now);
        assert_eq!(told(&mut transcript, now), [""; 0]);
        transcript.user_said("u", "spoken", true, now);
        assert_eq!(told(&mut transcript, now), ["spoken", "the beg", "2", "typed"]);
    }

    #[tokio::test(start_paused = true)]
    async fn texts_without_an_announcement_find_their_place() {
        let (mut transcript, now) = (Transcript::default(), Instant::now());
        transcript.user_began(None);
        transcript.reply_began(Generation(1));
        transcript.user_said("a", "first", true, now);
        transcript.reply_ended(Generation(1), "one".to_owned(), None, now);
        transcript.reply_began(Generation(2));
        transcript.user_said("b", "second", true, now);
        transcript.reply_ended(Generation(2), "two".to_owned(), None, now);
        assert_eq!(told(&mut transcript, now), ["first", "one", "second", "two"]);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_told_of_noise_and_of_replies_that_nobody_heard() {
        let (mut transcript, now) = (Transcript::default(), Instant::now());
        transcript.user_began(Some("u"));
        transcript.reply_began(Generation(1));
        transcript.user_said("u", " ", true, now);
        transcript.reply_ended(Generation(1), String::new(), None, now);
        transcript.user_wrote("typed", now);
        assert_eq!(told(&mut transcript, now), ["typed"]);
        assert!(transcript.entries.is_empty());
    }
}
