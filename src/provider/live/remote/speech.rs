//! One reply as it is spoken: its words, where in its sound they came, and which of them somebody has heard.
//! Vendors do not say where a word is in the sound, so of several guesses the smallest holds.

use crate::message::Generation;
use crate::provider::live::SPEAKER_RATE;
use std::collections::VecDeque;

/// How slow a voice is at most that nobody knows yet, in [`weight`]s a second: four kana, or eight letters. What is said
/// of a reply that is not complete is taken to be no more than that, because its text may be ahead of its sound by any
/// length.
const SLOWEST: u64 = 40;
/// Replies by which a voice is known, and how many it takes until it is taken to be faster.
const KNOWN: usize = 5;
const ENOUGH: usize = 3;
/// Shorter ones, in samples, say little about it.
const SHORTEST: u64 = 2 * SPEAKER_RATE as u64;

/// How slow one voice is at most, by what it has said so far.
#[derive(Debug, Default)]
pub(super) struct Tempo {
    /// Of the last complete replies.
    known: VecDeque<u64>,
}

impl Tempo {
    pub(super) fn learn(&mut self, reply: &Speech, made: u64) {
        let all: u64 = reply.pieces.iter().map(Piece::weight).sum();
        if reply.state != State::Complete || made < SHORTEST || all == 0 {
            return;
        }
        if self.known.len() >= KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(share(all, u64::from(SPEAKER_RATE), made));
    }

    /// As slow as it ever was, and an eighth slower, because not all of a reply is said at the same speed.
    fn slowest(&self) -> u64 {
        let known = self.known.iter().min().map_or(SLOWEST, |slowest| slowest * 7 / 8);
        if self.known.len() < ENOUGH { known.min(SLOWEST) } else { known }
    }
}

#[derive(Debug)]
pub(super) struct Speech {
    /// The vendor's name for it.
    pub(super) name: String,
    pub(super) generation: Generation,
    pub(super) state: State,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The vendor goes on with it.
    Growing,
    Complete,
    /// The vendor has broken it off.
    Broken,
}

#[derive(Debug)]
struct Piece {
    text: String,
    /// How much of the sound there was when it came.
    made: u64,
}

impl Speech {
    pub(super) fn new(name: String, generation: Generation) -> Self {
        Self { name, generation, state: State::Growing, pieces: Vec::new() }
    }

    pub(super) fn say(&mut self, text: String, made: u64) {
        self.pieces.push(Piece { text, made });
    }

    /// The words within the first `played` of `made` samples, at least.
    pub(super) fn heard(&self, played: u64, made: u64, tempo: &Tempo) -> String {
        let whole: String = self.pieces.iter().map(|piece| piece.text.as_str()).collect();
        if played == 0 {
            return String::new();
        }
        let all: u64 = whole.chars().map(weight).sum();
        let most = match self.state {
            State::Complete if played >= made => return whole.trim().to_owned(),
            State::Complete => share(all, played, made),
            State::Growing | State::Broken => tempo.slowest() * played / u64::from(SPEAKER_RATE),
        };
        cut(&whole, most.min(self.anchored(played)))
    }

    /// By where the pieces came: what came with a stretch of sound is spread over that stretch.
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

    fn speech(state: State, pieces: &[(&str, u64)]) -> Speech {
        let mut speech = Speech::new("r".to_owned(), Generation(1));
        for (text, made) in pieces {
            speech.say((*text).to_owned(), *made);
        }
        speech.state = state;
        speech
    }

    #[test]
    fn all_of_it_was_heard_at_its_end_and_nothing_before_it_began() {
        let whole = speech(State::Complete, &[("one two ", 0), ("three four", 0)]);
        assert_eq!(whole.heard(4 * SECOND, 4 * SECOND, &Tempo::default()), "one two three four");
        assert_eq!(whole.heard(0, 4 * SECOND, &Tempo::default()), "");
    }

    #[test]
    fn words_that_came_ahead_of_their_sound_are_spread_over_it() {
        let whole = speech(State::Complete, &[("one two three four", 0)]);
        assert_eq!(whole.heard(2 * SECOND, 4 * SECOND, &Tempo::default()), "one two");
        assert_eq!(whole.heard(SECOND / 4, 4 * SECOND, &Tempo::default()), "");
    }

    #[test]
    fn words_that_came_with_their_sound_are_where_they_came() {
        let pieces = [("slow", 4 * SECOND), (" then many more words", 5 * SECOND)];
        let whole = speech(State::Complete, &pieces);
        assert_eq!(whole.heard(3 * SECOND, 5 * SECOND, &Tempo::default()), "");
        assert_eq!(whole.heard(4 * SECOND, 5 * SECOND, &Tempo::default()), "slow");
    }

    #[test]
    fn of_a_reply_that_is_not_complete_no_more_is_told_than_a_slow_voice_says() {
        let burst = speech(State::Growing, &[("one two three four five six", 0)]);
        assert_eq!(burst.heard(SECOND, 2 * SECOND, &Tempo::default()), "one two");
        let broken = speech(State::Broken, &[("one two three four five six", 0)]);
        assert_eq!(broken.heard(SECOND, SECOND, &Tempo::default()), "one two");
    }

    #[test]
    fn scripts_without_spaces_are_cut_between_characters() {
        // "watashi wa genki desu." in kanji and kana: 20 + 10 + 40 + 20.
        let text = "\u{79c1}\u{306f}\u{5143}\u{6c17}\u{3067}\u{3059}\u{3002}";
        let whole = speech(State::Complete, &[(text, 0)]);
        assert_eq!(
            whole.heard(5 * SECOND, 9 * SECOND, &Tempo::default()),
            "\u{79c1}\u{306f}\u{5143}"
        );
        assert_eq!(whole.heard(9 * SECOND, 9 * SECOND, &Tempo::default()), text);
    }

    #[test]
    fn a_mark_alone_is_not_a_word() {
        let whole = speech(State::Complete, &[("\u{300c}hello\u{300d}", 0)]);
        assert_eq!(whole.heard(SECOND / 2, SECOND, &Tempo::default()), "");
    }

    #[test]
    fn a_voice_that_is_known_is_told_further_but_never_further_than_it_speaks() {
        let mut tempo = Tempo::default();
        let text = "abcde ".repeat(20);
        let story = speech(State::Broken, &[(&text, 0)]);
        let heard = |tempo: &Tempo| story.heard(5 * SECOND, 5 * SECOND, tempo).matches('a').count();
        assert_eq!(heard(&tempo), 8);
        // A hundred letters in six seconds and a little.
        for (number, words) in [(1, 8), (2, 8), (3, 14)] {
            tempo.learn(&speech(State::Complete, &[(&text, 0)]), 6 * SECOND + number * 1_000);
            assert_eq!(heard(&tempo), words, "{number}");
        }
        // One that says less about the voice, and one that says much.
        tempo.learn(&speech(State::Broken, &[("a", 0)]), 9 * SECOND);
        tempo.learn(&speech(State::Complete, &[("a", 0)]), SECOND);
        assert_eq!(heard(&tempo), 14);
        tempo.learn(&speech(State::Complete, &[(&text, 0)]), 20 * SECOND);
        assert_eq!(heard(&tempo), 4, "it is slow now and then");
    }
}
