//! Wishes that came before the vendor was ready: it must not be sent anything but the setup.

use crate::provider::live::remote::protocol::Wish;
use std::collections::VecDeque;

/// Three seconds at 16 kHz. Full: the oldest sound is forgotten.
const MOST_SOUND: usize = 96_000;
/// Others. Full: the new one is refused.
const MOST_WISHES: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Waiting {
    wishes: VecDeque<Wish>,
    sound: usize,
}

impl Waiting {
    /// False if there is no room for it.
    pub(super) fn keep(&mut self, wish: Wish) -> bool {
        match &wish {
            Wish::Hear(pcm) => {
                self.sound += pcm.len();
                self.wishes.push_back(wish);
                while self.sound > MOST_SOUND && self.forget_sound() {}
                true
            }
            // Nobody speaks yet who could be silenced, and nothing was heard.
            Wish::Cancel | Wish::Heard { .. } | Wish::Reply | Wish::Insist | Wish::HearNothing => {
                true
            }
            Wish::SpeechBegins
            | Wish::SpeechEnds
            | Wish::Read(_)
            | Wish::Report(_)
            | Wish::See(_)
            | Wish::ToolResult { .. } => {
                let others = self.wishes.iter().filter(|kept| !matches!(kept, Wish::Hear(_)));
                let room = others.count() < MOST_WISHES;
                if room {
                    self.wishes.push_back(wish);
                }
                room
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Wish> {
        let wish = self.wishes.pop_front()?;
        if let Wish::Hear(pcm) = &wish {
            self.sound -= pcm.len();
        }
        Some(wish)
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.wishes.len()
    }

    fn forget_sound(&mut self) -> bool {
        let oldest = self.wishes.iter().position(|kept| matches!(kept, Wish::Hear(_)));
        if let Some(Wish::Hear(pcm)) = oldest.and_then(|at| self.wishes.remove(at)) {
            self.sound -= pcm.len();
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn old_sound_is_forgotten_but_no_word() {
        let mut waiting = Waiting::default();
        assert!(waiting.keep(Wish::Read("first".to_owned())));
        for value in 0..200 {
            assert!(waiting.keep(Wish::Hear(Bytes::from(vec![value; 1000]))));
        }
        assert!(matches!(waiting.next(), Some(Wish::Read(text)) if text == "first"));
        let sound: Vec<_> = std::iter::from_fn(|| waiting.next()).collect();
        assert_eq!(sound.len(), 96);
        assert!(matches!(&sound[0], Wish::Hear(pcm) if pcm[0] == 104));
        assert_eq!(waiting.sound, 0);
    }

    #[test]
    fn too_many_words_are_refused_and_what_is_pointless_is_not_kept() {
        let mut waiting = Waiting::default();
        for _ in 0..MOST_WISHES {
            assert!(waiting.keep(Wish::Read("x".to_owned())));
        }
        assert!(!waiting.keep(Wish::Report("y".to_owned())));
        for wish in [Wish::Cancel, Wish::Reply, Wish::HearNothing] {
            assert!(waiting.keep(wish));
        }
        assert_eq!(std::iter::from_fn(|| waiting.next()).count(), MOST_WISHES);
    }
}
