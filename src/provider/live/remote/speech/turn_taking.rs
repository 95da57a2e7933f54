//! Turn taking by our own voice detection: whether the user begins, ends, interrupts, or only says "mm-hm". Pure: it is
//! told what is heard and whether the model speaks, and says what to do. While the model speaks, a sound first pauses
//! the model; only a user who goes on speaking interrupts it.

use crate::audio::voice::Voice;
use crate::provider::row::TurnRules;
use std::time::Duration;

/// A sound that is followed by this much silence was not speech.
const SHORT_PAUSE: Duration = Duration::from_millis(250);
/// The talk key is often released before the last word is over: this much voice after it still belongs to the turn.
const LAST_SYLLABLE: Duration = Duration::from_millis(300);
/// In bytes; longer texts are never backchannels.
const LONGEST_BACKCHANNEL: usize = 60;

#[derive(Debug, Default)]
pub(in crate::provider::live::remote) struct TurnTaking {
    state: State,
    /// Voice that does not count: a reply had just begun, or the voice belonged to an earlier turn.
    ignored: Duration,
    heard: Duration,
    /// The talk key was released, and its last word may still go on.
    trails: bool,
    /// Length of the last speech or sound, kept after its end.
    spoken: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Silent,
    /// A sound while the model speaks; perhaps an interruption.
    Suspected,
    /// The sound was too short to interrupt; the model has resumed.
    Murmured,
    Speaking,
}

/// What the model does at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider::live::remote) enum ModelState {
    Silent,
    Speaks,
    /// It has only just begun.
    Begins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider::live::remote) enum TurnAction {
    /// Pause the model's sound.
    Pause,
    /// Resume the model's sound.
    Resume,
    /// The user interrupts the model.
    Interrupt,
    /// The user begins to speak into silence.
    Begin,
    /// The user has finished.
    End,
}

impl TurnTaking {
    pub(in crate::provider::live::remote) fn hear(
        &mut self,
        voice: Option<Voice>,
        model: ModelState,
        rules: &TurnRules,
    ) -> Option<TurnAction> {
        let Some(voice) = voice else { return self.quiet() };
        self.heard = voice.voiced;
        if model == ModelState::Begins && self.state == State::Silent {
            self.ignored = self.ignored.max(voice.voiced);
            return None;
        }
        let voiced = voice.voiced.saturating_sub(self.ignored);
        self.trails &= voiced.is_zero();
        self.spoken = voiced;
        let (state, told) = match (self.state, model) {
            (State::Silent, _) if voiced.is_zero() => return None,
            (State::Silent, ModelState::Silent) => (State::Speaking, TurnAction::Begin),
            (State::Silent, ModelState::Speaks | ModelState::Begins) => {
                (State::Suspected, TurnAction::Pause)
            }
            // The reply ended before it was clear whether the user interrupts.
            (State::Suspected | State::Murmured, ModelState::Silent) if voice.quiet.is_zero() => {
                (State::Speaking, TurnAction::Begin)
            }
            (State::Suspected, ModelState::Silent) => (State::Murmured, TurnAction::Resume),
            (State::Suspected | State::Murmured, _) if voiced >= rules.min_speech => {
                (State::Speaking, TurnAction::Interrupt)
            }
            (State::Suspected, _) if voice.quiet >= SHORT_PAUSE => {
                (State::Murmured, TurnAction::Resume)
            }
            (State::Suspected | State::Murmured | State::Speaking, _) => return None,
        };
        self.state = state;
        Some(told)
    }

    /// Voice heard so far was a whole turn; what follows belongs to the next.
    pub(in crate::provider::live::remote) fn end_turn(&mut self) {
        self.state = State::Silent;
        self.ignored = self.heard;
    }

    /// The user holds the talk key, so voice is counted but not judged.
    pub(in crate::provider::live::remote) fn hear_by_key(&mut self, voice: Option<Voice>) {
        self.heard = voice.map_or(Duration::ZERO, |voice| voice.voiced);
    }

    /// The talk key is released, which ends the turn although the end of its last word may still come.
    pub(in crate::provider::live::remote) fn release(&mut self) {
        self.end_turn();
        self.trails = !self.heard.is_zero();
        if self.trails {
            self.ignored += LAST_SYLLABLE;
        }
    }

    /// Only the end of the last word has been heard since the talk key was released.
    pub(in crate::provider::live::remote) fn is_trailing(&self) -> bool {
        self.trails
    }

    pub(in crate::provider::live::remote) fn is_user_speaking(&self) -> bool {
        self.state == State::Speaking
    }

    /// Length of the current speech or sound, or of the last one.
    pub(in crate::provider::live::remote) fn spoken(&self) -> Duration {
        self.spoken
    }

    /// No sound is going on.
    pub(in crate::provider::live::remote) fn is_silent(&self) -> bool {
        self.state == State::Silent
    }

    /// Nobody speaks, and no sound is waiting to be judged.
    pub(in crate::provider::live::remote) fn is_undisturbed(&self) -> bool {
        matches!(self.state, State::Silent | State::Murmured)
    }

    fn quiet(&mut self) -> Option<TurnAction> {
        (self.ignored, self.heard, self.trails) = (Duration::ZERO, Duration::ZERO, false);
        match std::mem::take(&mut self.state) {
            State::Silent | State::Murmured => None,
            State::Suspected => Some(TurnAction::Resume),
            State::Speaking => Some(TurnAction::End),
        }
    }
}

/// Whether a text is a backchannel: it says no more than "go on".
pub(in crate::provider::live::remote) fn is_backchannel(text: &str, rules: &TurnRules) -> bool {
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
pub(in crate::provider::live::remote) mod tests {
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
    fn check(steps: &[(Option<Voice>, ModelState, Option<TurnAction>)]) {
        let (mut turns, rules) = (TurnTaking::default(), rules());
        for (number, (voice, model, expected)) in steps.iter().enumerate() {
            assert_eq!(turns.hear(*voice, *model, &rules), *expected, "step {number}");
        }
    }

    #[test]
    fn speaking_into_silence_begins_and_ends_a_turn() {
        check(&[
            (None, ModelState::Silent, None),
            (voice(48, 0), ModelState::Silent, Some(TurnAction::Begin)),
            (voice(2_000, 500), ModelState::Silent, None),
            (None, ModelState::Silent, Some(TurnAction::End)),
            (None, ModelState::Silent, None),
        ]);
    }

    #[test]
    fn who_goes_on_speaking_interrupts_the_model() {
        check(&[
            (voice(48, 0), ModelState::Speaks, Some(TurnAction::Pause)),
            (voice(480, 0), ModelState::Speaks, None),
            (voice(500, 0), ModelState::Speaks, Some(TurnAction::Interrupt)),
            (voice(900, 300), ModelState::Silent, None),
            (None, ModelState::Silent, Some(TurnAction::End)),
        ]);
    }

    #[test]
    fn a_short_sound_lets_the_model_go_on() {
        check(&[
            (voice(48, 0), ModelState::Speaks, Some(TurnAction::Pause)),
            (voice(300, 249), ModelState::Speaks, None),
            (voice(300, 250), ModelState::Speaks, Some(TurnAction::Resume)),
            (voice(300, 400), ModelState::Speaks, None),
            (None, ModelState::Speaks, None),
            (voice(48, 0), ModelState::Speaks, Some(TurnAction::Pause)),
            (None, ModelState::Speaks, Some(TurnAction::Resume)),
        ]);
    }

    #[test]
    fn several_sounds_in_a_row_are_speech() {
        check(&[
            (voice(48, 0), ModelState::Speaks, Some(TurnAction::Pause)),
            (voice(300, 250), ModelState::Speaks, Some(TurnAction::Resume)),
            (voice(500, 0), ModelState::Speaks, Some(TurnAction::Interrupt)),
        ]);
    }

    #[test]
    fn a_reply_that_has_just_begun_is_not_interrupted() {
        check(&[
            (voice(48, 0), ModelState::Begins, None),
            (voice(400, 0), ModelState::Begins, None),
            (voice(416, 0), ModelState::Speaks, Some(TurnAction::Pause)),
            (voice(899, 0), ModelState::Speaks, None),
            (voice(900, 0), ModelState::Speaks, Some(TurnAction::Interrupt)),
        ]);
    }

    #[test]
    fn a_reply_that_ends_meanwhile_leaves_the_turn_to_the_user() {
        check(&[
            (voice(48, 0), ModelState::Speaks, Some(TurnAction::Pause)),
            (voice(200, 0), ModelState::Silent, Some(TurnAction::Begin)),
            (None, ModelState::Silent, Some(TurnAction::End)),
        ]);
    }

    #[test]
    fn whoever_goes_on_after_a_turn_begins_another() {
        let (mut turns, rules) = (TurnTaking::default(), rules());
        assert_eq!(turns.hear(voice(48, 0), ModelState::Silent, &rules), Some(TurnAction::Begin));
        assert_eq!(turns.hear(voice(900, 500), ModelState::Silent, &rules), None);
        turns.end_turn();
        assert_eq!(turns.hear(voice(900, 590), ModelState::Speaks, &rules), None);
        assert_eq!(turns.hear(voice(948, 0), ModelState::Speaks, &rules), Some(TurnAction::Pause));
        assert_eq!(
            turns.hear(voice(1_400, 0), ModelState::Speaks, &rules),
            Some(TurnAction::Interrupt)
        );
    }

    #[test]
    fn what_was_said_by_a_key_interrupts_nobody_and_what_follows_it_does() {
        let (mut turns, rules) = (TurnTaking::default(), rules());
        turns.hear_by_key(voice(2_000, 0));
        turns.release();
        for (voiced, quiet) in [(2_000, 16), (2_290, 0), (2_300, 590)] {
            assert_eq!(turns.hear(voice(voiced, quiet), ModelState::Speaks, &rules), None);
            assert!(turns.is_trailing());
        }
        assert_eq!(
            turns.hear(voice(2_316, 0), ModelState::Speaks, &rules),
            Some(TurnAction::Pause)
        );
        assert!(!turns.is_trailing());
        assert_eq!(
            turns.hear(voice(2_800, 0), ModelState::Speaks, &rules),
            Some(TurnAction::Interrupt)
        );
        turns.hear_by_key(None);
        turns.release();
        assert!(!turns.is_trailing(), "nothing was said");
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
