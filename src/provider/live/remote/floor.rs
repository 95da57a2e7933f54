//! Who has the floor, by what our own gate hears. Pure: told what is heard and whether the model speaks, it says what
//! is to be done about it. While the model speaks, a sound first makes it wait; only who goes on speaking interrupts.

use crate::audio::voice::Voice;
use crate::provider::row::TurnRules;
use std::time::Duration;

/// After so much silence a sound was only a sound.
const SHORT_PAUSE: Duration = Duration::from_millis(250);
/// A key is often released before the last word is over: so much more voice belongs to what was said by it.
const LAST_SYLLABLE: Duration = Duration::from_millis(300);
/// In bytes; whoever says more has something to say.
const LONGEST_BACKCHANNEL: usize = 60;

#[derive(Debug, Default)]
pub(super) struct Floor {
    state: State,
    /// Voice that does not count any more: a reply had just begun, or it was already taken for a turn.
    ignored: Duration,
    heard: Duration,
    /// What was said by a key may still go on.
    trails: bool,
    /// Voice of what was last taken for speech or for a sound, also after its end.
    spoken: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Silent,
    /// Perhaps somebody interrupts.
    Suspected,
    /// It was too short; the model has gone on.
    Murmured,
    Speaking,
}

/// What a model does at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    Silent,
    Speaks,
    /// It has only just begun.
    Begins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// Hold the model's sound back.
    Pause,
    /// Let it go on.
    Resume,
    /// The user takes the floor from the model.
    Interrupt,
    /// The user begins to speak into silence.
    Begin,
    /// The user has finished.
    End,
}

impl Floor {
    pub(super) fn hear(
        &mut self,
        voice: Option<Voice>,
        model: Model,
        rules: &TurnRules,
    ) -> Option<Move> {
        let Some(voice) = voice else { return self.quiet() };
        self.heard = voice.voiced;
        if model == Model::Begins && self.state == State::Silent {
            self.ignored = self.ignored.max(voice.voiced);
            return None;
        }
        let voiced = voice.voiced.saturating_sub(self.ignored);
        self.trails &= voiced.is_zero();
        self.spoken = voiced;
        let (state, told) = match (self.state, model) {
            (State::Silent, _) if voiced.is_zero() => return None,
            (State::Silent, Model::Silent) => (State::Speaking, Move::Begin),
            (State::Silent, Model::Speaks | Model::Begins) => (State::Suspected, Move::Pause),
            // The reply was over before it was decided.
            (State::Suspected | State::Murmured, Model::Silent) if voice.quiet.is_zero() => {
                (State::Speaking, Move::Begin)
            }
            (State::Suspected, Model::Silent) => (State::Murmured, Move::Resume),
            (State::Suspected | State::Murmured, _) if voiced >= rules.min_speech => {
                (State::Speaking, Move::Interrupt)
            }
            (State::Suspected, _) if voice.quiet >= SHORT_PAUSE => (State::Murmured, Move::Resume),
            (State::Suspected | State::Murmured | State::Speaking, _) => return None,
        };
        self.state = state;
        Some(told)
    }

    /// What was heard so far was a whole turn; what follows is another one.
    pub(super) fn leave(&mut self) {
        self.state = State::Silent;
        self.ignored = self.heard;
    }

    /// Somebody speaks by a key, so this is nothing to be judged.
    pub(super) fn overhear(&mut self, voice: Option<Voice>) {
        self.heard = voice.map_or(Duration::ZERO, |voice| voice.voiced);
    }

    /// The key is released. What was said by it was a whole turn, also if the end of its last word is still to come.
    pub(super) fn release(&mut self) {
        self.leave();
        self.trails = !self.heard.is_zero();
        if self.trails {
            self.ignored += LAST_SYLLABLE;
        }
    }

    /// Nothing but the end of what was said by a key has been heard since then.
    pub(super) fn is_trailing(&self) -> bool {
        self.trails
    }

    pub(super) fn is_taken(&self) -> bool {
        self.state == State::Speaking
    }

    /// How long somebody has spoken, or has just spoken.
    pub(super) fn spoken(&self) -> Duration {
        self.spoken
    }

    /// Nobody has made a sound that is not over.
    pub(super) fn is_silent(&self) -> bool {
        self.state == State::Silent
    }

    /// Nobody is suspected to want it.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Silent | State::Murmured)
    }

    fn quiet(&mut self) -> Option<Move> {
        (self.ignored, self.heard, self.trails) = (Duration::ZERO, Duration::ZERO, false);
        match std::mem::take(&mut self.state) {
            State::Silent | State::Murmured => None,
            State::Suspected => Some(Move::Resume),
            State::Speaking => Some(Move::End),
        }
    }
}

/// Whether a text says no more than "go on".
pub(super) fn is_backchannel(text: &str, rules: &TurnRules) -> bool {
    let text = text.to_lowercase();
    let between = |c: char| !c.is_alphanumeric() && c != '-';
    text.len() <= LONGEST_BACKCHANNEL
        && text.split(between).all(|word| is_made_of(word, &rules.backchannels))
}

/// Some languages have no spaces between words.
fn is_made_of(word: &str, known: &[String]) -> bool {
    word.is_empty()
        || known.iter().filter(|part| !part.is_empty()).any(|part| {
            word.strip_prefix(part.as_str()).is_some_and(|rest| is_made_of(rest, known))
        })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::provider::row::Turns;

    pub(in crate::provider::live::remote) fn rules() -> TurnRules {
        TurnRules {
            threshold_percent: 50,
            min_speech: Duration::from_millis(500),
            silence: Duration::from_millis(600),
            backchannels: ["\u{306f}\u{3044}", "\u{3046}\u{3093}", "mm-hm", "yeah"]
                .map(str::to_owned)
                .to_vec(),
            guard: Duration::from_millis(300),
            half_duplex: false,
            turns: Turns::Model,
            patience: Duration::from_secs(8),
        }
    }

    fn voice(voiced: u64, quiet: u64) -> Option<Voice> {
        let (voiced, quiet) = (Duration::from_millis(voiced), Duration::from_millis(quiet));
        Some(Voice { voiced, quiet })
    }

    #[track_caller]
    fn check(steps: &[(Option<Voice>, Model, Option<Move>)]) {
        let (mut floor, rules) = (Floor::default(), rules());
        for (number, (voice, model, expected)) in steps.iter().enumerate() {
            assert_eq!(floor.hear(*voice, *model, &rules), *expected, "step {number}");
        }
    }

    #[test]
    fn speaking_into_silence_begins_and_ends_a_turn() {
        check(&[
            (None, Model::Silent, None),
            (voice(48, 0), Model::Silent, Some(Move::Begin)),
            (voice(2_000, 500), Model::Silent, None),
            (None, Model::Silent, Some(Move::End)),
            (None, Model::Silent, None),
        ]);
    }

    #[test]
    fn who_goes_on_speaking_interrupts_the_model() {
        check(&[
            (voice(48, 0), Model::Speaks, Some(Move::Pause)),
            (voice(480, 0), Model::Speaks, None),
            (voice(500, 0), Model::Speaks, Some(Move::Interrupt)),
            (voice(900, 300), Model::Silent, None),
            (None, Model::Silent, Some(Move::End)),
        ]);
    }

    #[test]
    fn a_short_sound_lets_the_model_go_on() {
        check(&[
            (voice(48, 0), Model::Speaks, Some(Move::Pause)),
            (voice(300, 249), Model::Speaks, None),
            (voice(300, 250), Model::Speaks, Some(Move::Resume)),
            (voice(300, 400), Model::Speaks, None),
            (None, Model::Speaks, None),
            (voice(48, 0), Model::Speaks, Some(Move::Pause)),
            (None, Model::Speaks, Some(Move::Resume)),
        ]);
    }

    #[test]
    fn several_sounds_in_a_row_are_speech() {
        check(&[
            (voice(48, 0), Model::Speaks, Some(Move::Pause)),
            (voice(300, 250), Model::Speaks, Some(Move::Resume)),
            (voice(500, 0), Model::Speaks, Some(Move::Interrupt)),
        ]);
    }

    #[test]
    fn a_reply_that_has_just_begun_is_not_interrupted() {
        check(&[
            (voice(48, 0), Model::Begins, None),
            (voice(400, 0), Model::Begins, None),
            (voice(416, 0), Model::Speaks, Some(Move::Pause)),
            (voice(899, 0), Model::Speaks, None),
            (voice(900, 0), Model::Speaks, Some(Move::Interrupt)),
        ]);
    }

    #[test]
    fn a_reply_that_ends_meanwhile_leaves_the_floor() {
        check(&[
            (voice(48, 0), Model::Speaks, Some(Move::Pause)),
            (voice(200, 0), Model::Silent, Some(Move::Begin)),
            (None, Model::Silent, Some(Move::End)),
        ]);
    }

    #[test]
    fn whoever_goes_on_after_a_turn_begins_another() {
        let (mut floor, rules) = (Floor::default(), rules());
        assert_eq!(floor.hear(voice(48, 0), Model::Silent, &rules), Some(Move::Begin));
        assert_eq!(floor.hear(voice(900, 500), Model::Silent, &rules), None);
        floor.leave();
        assert_eq!(floor.hear(voice(900, 590), Model::Speaks, &rules), None);
        assert_eq!(floor.hear(voice(948, 0), Model::Speaks, &rules), Some(Move::Pause));
        assert_eq!(floor.hear(voice(1_400, 0), Model::Speaks, &rules), Some(Move::Interrupt));
    }

    #[test]
    fn what_was_said_by_a_key_interrupts_nobody_and_what_follows_it_does() {
        let (mut floor, rules) = (Floor::default(), rules());
        floor.overhear(voice(2_000, 0));
        floor.release();
        for (voiced, quiet) in [(2_000, 16), (2_290, 0), (2_300, 590)] {
            assert_eq!(floor.hear(voice(voiced, quiet), Model::Speaks, &rules), None);
            assert!(floor.is_trailing());
        }
        assert_eq!(floor.hear(voice(2_316, 0), Model::Speaks, &rules), Some(Move::Pause));
        assert!(!floor.is_trailing());
        assert_eq!(floor.hear(voice(2_800, 0), Model::Speaks, &rules), Some(Move::Interrupt));
        floor.overhear(None);
        floor.release();
        assert!(!floor.is_trailing(), "nothing was said");
    }

    #[test]
    fn words_that_mean_go_on_are_known_in_any_dress() {
        let rules = rules();
        for text in [
            "",
            " ...",
            "Mm-hm.",
            "\u{306f}\u{3044}\u{306f}\u{3044}\u{3001}\u{3046}\u{3093}\u{3002}",
            "Yeah, yeah!",
        ] {
            assert!(is_backchannel(text, &rules), "{text:?}");
        }
        for text in ["yeah but", "\u{5f85}\u{3063}\u{3066}", "stop"] {
            assert!(!is_backchannel(text, &rules), "{text:?}");
        }
    }
}
