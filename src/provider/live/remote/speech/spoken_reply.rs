//! One reply as it is spoken: its words, where in its sound they came, and which of them somebody has heard.
//! Vendors do not say where a word is in the sound, so the smallest of several estimates is used.

use crate::message::Generation;
use crate::provider::live::SPEAKER_RATE;
use std::collections::VecDeque;

/// Samples of an hour. Speeds are [`weight`]s an hour: rounded to whole ones a second, they would cost a long reply words.
const HOUR: u64 = 3_600 * SPEAKER_RATE as u64;
/// Assumed speed of an unknown voice: four kana a second, or eight letters. It is an upper bound for replies that are not
/// complete, because their text may be ahead of their sound by any length.
const SLOWEST: u64 = 40 * 3_600;
/// How many replies are remembered to know a voice's speed, and how many are needed before it may count as faster.
const KNOWN: usize = 5;
const ENOUGH: usize = 3;
/// Replies with fewer samples say too little about the speed.
const SHORTEST: u64 = 2 * SPEAKER_RATE as u64;

/// The slowest speed of one voice, measured by its replies so far.
#[derive(Debug, Default)]
pub(in crate::provider::live::remote) struct SpeechRate {
    /// Speeds of the last complete replies.
    known: VecDeque<u64>,
}

impl SpeechRate {
    pub(in crate::provider::live::remote) fn learn(&mut self, reply: &SpokenReply, made: u64) {
        let all: u64 = reply.pieces.iter().map(Piece::weight).sum();
        if reply.state != State::Complete || made < SHORTEST || all == 0 {
            return;
        }
        if self.known.len() >= KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(share(all, HOUR, made));
    }

    /// The slowest of them minus an eighth, because the speed changes within a reply.
    fn slowest(&self) -> u64 {
        let known = self.known.iter().min().map_or(SLOWEST, |slowest| slowest * 7 / 8);
        if self.known.len() < ENOUGH { known.min(SLOWEST) } else { known }
    }
}

#[derive(Debug)]
pub(in crate::provider::live::remote) struct SpokenReply {
    /// The vendor's id of the reply.
    pub(in crate::provider::live::remote) name: String,
    pub(in crate::provider::live::remote) generation: Generation,
    pub(in crate::provider::live::remote) state: State,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider::live::remote) enum State {
    /// The vendor is still sending it.
    Growing,
    Complete,
    /// The vendor has broken it off.
    Broken,
}

#[derive(Debug)]
struct Piece {
    text: String,
    /// Samples of sound that there were when the text came.
    made: u64,
}

impl SpokenReply {
    pub(in crate::provider::live::remote) fn new(name: String, generation: Generation) -> Self {
        Self { name, generation, state: State::Growing, pieces: Vec::new() }
    }

    pub(in crate::provider::live::remote) fn say(&mut self, text: String, made: u64) {
        self.pieces.push(Piece { text, made });
    }

    /// The words that were certainly within the first `played` of `made` samples.
    pub(in crate::provider::live::remote) fn heard(
        &self,
        played: u64,
        made: u64,
        rate: &SpeechRate,
    ) -> String {
        let whole: String = self.pieces.iter().map(|piece| piece.text.as_str()).collect();
        if played == 0 {
            return String::new();
        }
        let all: u64 = whole.chars().map(weight).sum();
        let most = match self.state {
            State::Complete if played >= made => return whole.trim().to_owned(),
            State::Complete => share(all, played, made),
            State::Growing | State::Broken => share(rate.slowest(), played, HOUR),
        };
        cut(&whole, most.min(self.anchored(played)))
    }

    /// Estimate by when the pieces of text came: text that came with a stretch of sound is spread over that stretch.
    fn anchored(&self, played: u64) -> u64 {
        let mut start = 0;
        let mut sum = 0;
        for piece in &self.pieces {
            let own = piece.weight();
            sum += if played >= piece.made {
                own
            } else {
                share(own, played.saturating_sub(start), piece.made - start)
            };
            start = piece.made;
        }
        sum
    }
}

impl Piece {
    fn weight(&self) -> u64 {
        self.text.chars().map(weight).sum()
    }
}

fn share(all: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(all) * u128::from(part) / u128::from(whole.max(1))).unwrap_or(all)
}

/// How long a character takes to say, a kana being ten.
fn weight(c: char) -> u64 {
    match c {
        '0'..='9' => 15,
        _ if c.is_ascii_alphabetic() => 5,
        _ if !c.is_alphanumeric() => 0,
        // Han and Hangul.
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7a3}' => 20,
        _ => 10,
    }
}

/// The beginning of a text that takes no longer than this to say, without half a word at its end.
fn cut(text: &str, most: u64) -> String {
    let mut said = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        said += weight(c);
        if said > most {
            break;
        }
        end = at + c.len_utf8();
    }
    let (kept, rest) = text.split_at(end);
    let inside = rest.starts_with(is_letter) && kept.ends_with(is_letter);
    let kept = if inside { kept.trim_end_matches(is_letter) } else { kept };
    let spoken = kept.chars().any(|c| weight(c) > 0);
    if spoken { kept.trim().to_owned() } else { String::new() }
}

/// Of a script that has words with spaces between them.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !('\u{2e80}'..='\u{faff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = SPEAKER_RATE as u64;

    fn spoken(state: State, pieces: &[(&str, u64)]) -> SpokenReply {
        let mut spoken = SpokenReply::new("r".to_owned(), Generation(1));
        for (text, made) in pieces {
            spoken.say((*text).to_owned(), *made);
        }
        spoken.state = state;
        spoken
    }

    #[test]
    fn all_of_it_was_heard_at_its_end_and_nothing_before_it_began() {
        let whole = spoken(State::Complete, &[("one two ", 0), ("three four", 0)]);
        assert_eq!(
            whole.heard(4 * SECOND, 4 * SECOND, &SpeechRate::default()),
            "one two three four"
        );
        assert_eq!(whole.heard(0, 4 * SECOND, &SpeechRate::default()), "");
    }

    #[test]
    fn words_that_came_ahead_of_their_sound_are_spread_over_it() {
        let whole = spoken(State::Complete, &[("one two three four", 0)]);
        assert_eq!(whole.heard(2 * SECOND, 4 * SECOND, &SpeechRate::default()), "one two");
        assert_eq!(whole.heard(SECOND / 4, 4 * SECOND, &SpeechRate::default()), "");
    }

    #[test]
    fn words_that_came_with_their_sound_are_where_they_came() {
        let pieces = [("slow", 4 * SECOND), (" then many more words", 5 * SECOND)];
        let whole = spoken(State::Complete, &pieces);
        assert_eq!(whole.heard(3 * SECOND, 5 * SECOND, &SpeechRate::default()), "");
        assert_eq!(whole.heard(4 * SECOND, 5 * SECOND, &SpeechRate::default()), "slow");
    }

    #[test]
    fn of_a_reply_that_is_not_complete_no_more_is_told_than_a_slow_voice_says() {
        let burst = spoken(State::Growing, &[("one two three four five six", 0)]);
        assert_eq!(burst.heard(SECOND, 2 * SECOND, &SpeechRate::default()), "one two");
        let broken = spoken(State::Broken, &[("one two three four five six", 0)]);
        assert_eq!(broken.heard(SECOND, SECOND, &SpeechRate::default()), "one two");
    }

    #[test]
    fn scripts_without_spaces_are_cut_between_characters() {
        // "watashi wa genki desu." in kanji and kana: 20 + 10 + 40 + 20.
        let text = "\u{79c1}\u{306f}\u{5143}\u{6c17}\u{3067}\u{3059}\u{3002}";
        let whole = spoken(State::Complete, &[(text, 0)]);
        assert_eq!(
            whole.heard(5 * SECOND, 9 * SECOND, &SpeechRate::default()),
            "\u{79c1}\u{306f}\u{5143}"
        );
        assert_eq!(whole.heard(9 * SECOND, 9 * SECOND, &SpeechRate::default()), text);
    }

    #[test]
    fn a_mark_alone_is_not_a_word() {
        let whole = spoken(State::Complete, &[("\u{300c}hello\u{300d}", 0)]);
        assert_eq!(whole.heard(SECOND / 2, SECOND, &SpeechRate::default()), "");
    }

    #[test]
    fn a_voice_that_is_known_is_told_further_but_never_further_than_it_speaks() {
        let mut rate = SpeechRate::default();
        let text = "abcde ".repeat(20);
        let story = spoken(State::Broken, &[(&text, 0)]);
        let heard =
            |rate: &SpeechRate| story.heard(5 * SECOND, 5 * SECOND, rate).matches('a').count();
        assert_eq!(heard(&rate), 8);
        // A hundred letters in six seconds and a little.
        for (number, words) in [(1, 8), (2, 8), (3, 14)] {
            rate.learn(&spoken(State::Complete, &[(&text, 0)]), 6 * SECOND + number * 1_000);
            assert_eq!(heard(&rate), words, "{number}");
        }
        // One that says less about the voice, and one that says much.
        rate.learn(&spoken(State::Broken, &[("a", 0)]), 9 * SECOND);
        rate.learn(&spoken(State::Complete, &[("a", 0)]), SECOND);
        assert_eq!(heard(&rate), 14);
        rate.learn(&spoken(State::Complete, &[(&text, 0)]), 20 * SECOND);
        assert_eq!(heard(&rate), 4, "it is slow now and then");
    }

    #[test]
    fn rounding_a_speed_costs_no_words() {
        let mut rate = SpeechRate::default();
        // 42.9 weights a second, 37.5 without an eighth: 97 letters in thirteen seconds. By 42 and 36 it would be 93.
        rate.learn(&spoken(State::Complete, &[("abcde abcde abcde abcde", 0)]), 56_000);
        let story = spoken(State::Broken, &[(&"abcde ".repeat(20), 0)]);
        assert_eq!(story.heard(13 * SECOND, 13 * SECOND, &rate).matches('e').count(), 19);
    }
}
