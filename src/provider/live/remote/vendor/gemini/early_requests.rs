//! Requests that came before the vendor was ready: until then only the setup may be sent.

use crate::provider::live::remote::protocol::Request;
use std::collections::VecDeque;

/// Three seconds at 16 kHz. Full: the oldest sound is forgotten.
const MOST_SOUND: usize = 96_000;
/// Requests other than sound. Full: the new one is refused.
const MOST_REQUESTS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct EarlyRequests {
    requests: VecDeque<Request>,
    sound: usize,
}

impl EarlyRequests {
    /// False if there is no room for it.
    pub(super) fn keep(&mut self, request: Request) -> bool {
        match &request {
            Request::Hear(pcm) => {
                self.sound += pcm.len();
                self.requests.push_back(request);
                while self.sound > MOST_SOUND && self.forget_sound() {}
                true
            }
            // Without a reply or sound so far, these have no effect.
            Request::Cancel
            | Request::Heard { .. }
            | Request::Reply
            | Request::Insist
            | Request::HearNothing => true,
            Request::SpeechBegins
            | Request::SpeechEnds
            | Request::Read(_)
            | Request::Report(_)
            | Request::See(_)
            | Request::ToolResult { .. } => {
                let others = self.requests.iter().filter(|kept| !matches!(kept, Request::Hear(_)));
                let room = others.count() < MOST_REQUESTS;
                if room {
                    self.requests.push_back(request);
                }
                room
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Request> {
        let request = self.requests.pop_front()?;
        if let Request::Hear(pcm) = &request {
            self.sound -= pcm.len();
        }
        Some(request)
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.requests.len()
    }

    fn forget_sound(&mut self) -> bool {
        let oldest = self.requests.iter().position(|kept| matches!(kept, Request::Hear(_)));
        if let Some(Request::Hear(pcm)) = oldest.and_then(|at| self.requests.remove(at)) {
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
        let mut early = EarlyRequests::default();
        assert!(early.keep(Request::Read("first".to_owned())));
        for value in 0..200 {
            assert!(early.keep(Request::Hear(Bytes::from(vec![value; 1000]))));
        }
        assert!(matches!(early.next(), Some(Request::Read(text)) if text == "first"));
        let sound: Vec<_> = std::iter::from_fn(|| early.next()).collect();
        assert_eq!(sound.len(), 96);
        assert!(matches!(&sound[0], Request::Hear(pcm) if pcm[0] == 104));
        assert_eq!(early.sound, 0);
    }

    #[test]
    fn too_many_words_are_refused_and_what_is_pointless_is_not_kept() {
        let mut early = EarlyRequests::default();
        for _ in 0..MOST_REQUESTS {
            assert!(early.keep(Request::Read("x".to_owned())));
        }
        assert!(!early.keep(Request::Report("y".to_owned())));
        for request in [Request::Cancel, Request::Reply, Request::HearNothing] {
            assert!(early.keep(request));
        }
        assert_eq!(std::iter::from_fn(|| early.next()).count(), MOST_REQUESTS);
    }
}
