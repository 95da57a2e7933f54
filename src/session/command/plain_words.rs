//! Recognizes whole messages that mean yes, no, accept or discard, in both languages. Width, case, kana, spaces and
//! punctuation do not matter. The words themselves are in `config/locales`.

use crate::locale::Locale;
use std::sync::LazyLock;

/// In characters. Nobody types a longer answer; a longer text is a request.
const LONGEST: usize = 48;
/// Japanese counter that is written behind a number.
const NUMBER_MARK: char = '\u{756a}';
/// Emoji that count as words.
const THUMBS: [char; 2] = ['\u{1f44d}', '\u{1f44e}'];
/// Hiragana for the half-width katakana from U+FF66 on.
const HALF_WIDTH: [u16; 56] = [
    0x3092, 0x3041, 0x3043, 0x3045, 0x3047, 0x3049, 0x3083, 0x3085, 0x3087, 0x3063, 0x30fc, 0x3042,
    0x3044, 0x3046, 0x3048, 0x304a, 0x304b, 0x304d, 0x304f, 0x3051, 0x3053, 0x3055, 0x3057, 0x3059,
    0x305b, 0x305d, 0x305f, 0x3061, 0x3064, 0x3066, 0x3068, 0x306a, 0x306b, 0x306c, 0x306d, 0x306e,
    0x306f, 0x3072, 0x3075, 0x3078, 0x307b, 0x307e, 0x307f, 0x3080, 0x3081, 0x3082, 0x3084, 0x3086,
    0x3088, 0x3089, 0x308a, 0x308b, 0x308c, 0x308d, 0x308f, 0x3093,
];
const VOICED: char = '\u{ff9e}';
const HALF_VOICED: char = '\u{ff9f}';

/// A message that may be an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlainWord {
    word: String,
    /// The number before or behind the word.
    pub(super) number: Option<u32>,
}

impl PlainWord {
    /// `None`: too long, a question, several numbers, a number between words, or no word.
    pub(super) fn read(text: &str) -> Option<Self> {
        let folded = fold(text.trim())?;
        let is_digit = |one: char| one.is_ascii_digit();
        let words: Vec<&str> = folded.split(is_digit).filter(|part| !part.is_empty()).collect();
        let numbers: Vec<&str> =
            folded.split(|one| !is_digit(one)).filter(|part| !part.is_empty()).collect();
        let number = match numbers.as_slice() {
            [] => None,
            [number] => Some(number.parse().ok()?),
            _ => return None,
        };
        let word: String = words.iter().flat_map(|part| part.chars()).filter(is_letter).collect();
        // A number in the middle is not the number of a question.
        let parts = words.iter().filter(|part| part.chars().any(|one| is_letter(&one))).count();
        (parts == 1).then_some(Self { word, number })
    }

    pub(super) fn is_yes(&self) -> bool {
        static YES: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::of("yes"));
        YES.makes(&self.word)
    }

    pub(super) fn is_no(&self) -> bool {
        static NO: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::of("no"));
        NO.makes(&self.word)
    }

    pub(super) fn is_accept(&self) -> bool {
        static ACCEPT: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::of("accept"));
        ACCEPT.has(&self.word)
    }

    pub(super) fn is_discard(&self) -> bool {
        static DISCARD: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::of("discard"));
        DISCARD.has(&self.word)
    }
}

/// Words with the same meaning.
struct Vocabulary(Vec<String>);

impl Vocabulary {
    /// Takes the words of both languages: nobody switches the language of the page to answer.
    fn of(name: &str) -> Self {
        let texts = [Locale::En, Locale::Ja].map(|locale| locale.say("answer", name, &[]));
        let words = texts.iter().flat_map(|text| text.split(','));
        let words = words.filter_map(|word| PlainWord::read(word).map(|read| read.word));
        Self(words.collect())
    }

    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|known| known == word)
    }

    /// Whether `word` is a known word, or several in a row, as in "yes, go ahead". A single letter counts only alone.
    fn makes(&self, word: &str) -> bool {
        let mut reached = vec![false; word.len() + 1];
        reached[0] = true;
        for start in 0..word.len() {
            if !reached[start] {
                continue;
            }
            let longer = self.0.iter().filter(|known| known.chars().count() > 1);
            for known in longer.filter(|known| word[start..].starts_with(known.as_str())) {
                reached[start + known.len()] = true;
            }
        }
        self.has(word) || (!word.is_empty() && reached[word.len()])
    }
}

fn is_letter(one: &char) -> bool {
    one.is_alphanumeric() || THUMBS.contains(one)
}

/// Folds a text to one width, case and kana. `None`: too long, a question, or malformed kana.
fn fold(text: &str) -> Option<String> {
    let mut folded = String::new();
    for (count, one) in text.chars().enumerate() {
        if count == LONGEST {
            return None;
        }
        let one = match one {
            '\u{ff01}'..='\u{ff5e}' => shifted(one, 0xfee0),
            '\u{30a1}'..='\u{30f6}' => shifted(one, 0x60),
            '\u{ff66}'..='\u{ff9d}' => {
                let at = u32::from(one) - 0xff66;
                char::from_u32(u32::from(HALF_WIDTH[at as usize])).unwrap_or(one)
            }
            VOICED | HALF_VOICED => {
                let mark = if one == VOICED { 1 } else { 2 };
                let before = folded.pop()?;
                char::from_u32(u32::from(before) + mark).unwrap_or(before)
            }
            NUMBER_MARK if folded.ends_with(|before: char| before.is_ascii_digit()) => ' ',
            // A question is not an answer.
            '?' => return None,
            other => other,
        };
        if one == '?' {
            return None;
        }
        folded.extend(one.to_lowercase());
    }
    Some(folded)
}

fn shifted(one: char, by: u32) -> char {
    char::from_u32(u32::from(one) - by).unwrap_or(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, yes: bool, no: bool, number: Option<u32>) {
        let read = PlainWord::read(text);
        let told = read.map(|word| (word.is_yes(), word.is_no(), word.number));
        let expected = (yes || no).then_some((yes, no, number));
        assert_eq!(told.filter(|told| told.0 || told.1), expected, "{text}");
    }

    /// Source files are ASCII; tests/it/plain_answers.rs has the Japanese cases.
    #[test]
    fn common_forms_of_yes_and_no_are_understood() {
        for text in ["yes", " Yes ", "YES!", "y", "Y.", "ok", "OK", "okay...", "sure", "go ahead"] {
            check(text, true, false, None);
        }
        for text in ["\u{ff59}\u{ff45}\u{ff53}\u{ff01}", "\u{ff2f}\u{ff2b}", "Yes, go ahead."] {
            check(text, true, false, None);
        }
        // Half-width kana, with a separate mark for a voiced sound.
        check("\u{ff8a}\u{ff72}", true, false, None);
        check("\u{ff80}\u{ff9e}\u{ff92}", false, true, None);
        check("\u{30cf}\u{30a4}\u{3002}", true, false, None);
        for text in ["no", "No.", "n", "nope", "no thanks", "No, thank you!", "Don't!", "STOP"] {
            check(text, false, true, None);
        }
        check("\u{1f44d}", true, false, None);
        check("\u{1f44e}\u{1f3fd}", false, true, None);
    }

    #[test]
    fn numbers_stand_before_or_behind_the_word() {
        for text in
            ["yes 2", "yes2", "yes, 2.", "[2] yes", "2 yes", "\u{306f}\u{3044}\u{3000}\u{ff12}"]
        {
            check(text, true, false, Some(2));
        }
        check("2\u{756a} \u{306f}\u{3044}", true, false, Some(2));
        check("NO12", false, true, Some(12));
        for text in ["yes 2 3", "ye2s", "2", "", "!", "yes 99999999999"] {
            check(text, false, false, None);
        }
    }

    #[test]
    fn unclear_words_are_no_answer() {
        for text in [
            "yes?",
            "ok\u{ff1f}",
            "yes no",
            "y/n",
            "no problem",
            "not ok",
            "yes, but only the first file",
            "yes and then write b.txt",
            "don't allow",
            "yy",
            "\u{ff9e}",
            "say yes to everything that comes from now on, whatever it may be",
        ] {
            check(text, false, false, None);
        }
    }
}
