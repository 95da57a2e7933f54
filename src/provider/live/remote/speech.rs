//! One reply as it is spoken: its words, where in its sound they came, and which of them somebody has heard.
//! Vendors do not say where a word is in the sound, so of several guesses the smallest holds.

use crate::message::Generation;
use crate::provider::live::SPEAKER_RATE;

/// How slow a voice is at most, in [`weight`]s a second: four kana, or eight letters. What is said of a reply that is
/// not complete is taken to be no more than that, because its text may be ahead of its sound by any length.
const SLOWEST: u64 = 40;

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

    /// The words within the first `played` of `made` samples.
    pub(super) fn heard(&self, played: u64, made: u64) -> String {
        let whole: String = self.pieces.iter().map(|piece| piece.text.as_str()).collect();
        if played == 0 {
            return String::new();
        }
        let all: u64 = whole.chars().map(weight).sum();
        let most = match self.state {
            State::Complete if played >= made => return whole.trim().to_owned(),
            State::Complete => share(all, played, made),
            State::Growing | State::Broken => SLOWEST * played / u64::from(SPEAKER_RATE),
        };
        cut(&whole, most.min(self.anchored(played)))
    }

    /// By where the pieces came: what came with a stretch of sound is spread over that stretch.
    fn anchored(&self, played: u64) -> u64 {
        let mut start = 0;
        let mut sum = 0;
        for piece in &self.pieces {
            let own: u64 = piece.text.chars().map(weight).sum();
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
        assert_eq!(whole.heard(4 * SECOND, 4 * SECOND), "one two three four");
        assert_eq!(whole.heard(0, 4 * SECOND), "");
    }

    #[test]
    fn words_that_came_ahead_of_their_sound_are_spread_over_it() {
        let whole = speech(State::Complete, &[("one two three four", 0)]);
        assert_eq!(whole.heard(2 * SECOND, 4 * SECOND), "one two");
        assert_eq!(whole.heard(SECOND / 4, 4 * SECOND), "");
    }

    #[test]
    fn words_that_came_with_their_sound_are_where_they_came() {
        let pieces = [("slow", 4 * SECOND), (" then many more words", 5 * SECOND)];
        let whole = speech(State::Complete, &pieces);
        assert_eq!(whole.heard(3 * SECOND, 5 * SECOND), "");
        assert_eq!(whole.heard(4 * SECOND, 5 * SECOND), "slow");
    }

    #[test]
    fn of_a_reply_that_is_not_complete_no_more_is_told_than_a_slow_voice_says() {
        let burst = speech(State::Growing, &[("one two three four five six", 0)]);
        assert_eq!(burst.heard(SECOND, 2 * SECOND), "one two");
        let broken = speech(State::Broken, &[("one two three four five six", 0)]);
        assert_eq!(broken.heard(SECOND, SECOND), "one two");
    }

    #[test]
    fn scripts_without_spaces_are_cut_between_characters() {
        // "watashi wa genki desu." in kanji and kana: 20 + 10 + 40 + 20.
        let text = "\u{79c1}\u{306f}\u{5143}\u{6c17}\u{3067}\u{3059}\u{3002}";
        let whole = speech(State::Complete, &[(text, 0)]);
        assert_eq!(whole.heard(5 * SECOND, 9 * SECOND), "\u{79c1}\u{306f}\u{5143}");
        assert_eq!(whole.heard(9 * SECOND, 9 * SECOND), text);
    }

    #[test]
    fn a_mark_alone_is_not_a_word() {
        let whole = speech(State::Complete, &[("\u{300c}hello\u{300d}", 0)]);
        assert_eq!(whole.heard(SECOND / 2, SECOND), "");
    }
}
