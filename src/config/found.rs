//! Chat models of this machine that nobody configured. They come and go while the gateway runs, so unlike everything
//! else of the configuration they are looked for again and again.

use crate::provider::row::ChatModel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// What was seen so recently need not be looked for again.
const FRESH: Duration = Duration::from_secs(2);
/// Whoever asks for models does not wait longer for a new look.
const PATIENCE: Duration = Duration::from_millis(500);
/// How many are remembered that are not there any more.
const MOST_REMEMBERED: usize = 256;

#[derive(Debug, Default)]
pub struct FoundChat {
    seen: watch::Sender<Seen>,
    wanted: Notify,
    /// A model of each server that is looked at, without a name of its own.
    families: OnceLock<Vec<ChatModel>>,
}

#[derive(Debug, Default)]
struct Seen {
    there: Arc<[ChatModel]>,
    /// Who is not there any more keeps its address: a session that has chosen it says that it does not answer.
    gone: Vec<ChatModel>,
    /// `None`: nobody looks.
    at: Option<Instant>,
}

impl FoundChat {
    /// Those that answered when they were last looked for.
    pub fn there(&self) -> Arc<[ChatModel]> {
        Arc::clone(&self.seen.borrow().there)
    }

    /// Also one that does not answer any more.
    pub(super) fn known(&self, name: &str) -> Option<ChatModel> {
        let seen = self.seen.borrow();
        seen.there.iter().chain(&seen.gone).find(|model| model.name == name).cloned()
    }

    /// Where models may be found, each by a nameless one.
    pub fn search(&self, families: Vec<ChatModel>) {
        // They are the same as long as the gateway runs.
        let _ = self.families.set(families);
    }

    /// A session has chosen this one when it was there. Perhaps it comes back; until then it does not answer, and
    /// nobody else does in its place.
    pub fn expect(&self, name: &str) {
        let families = self.families.get().map_or(&[][..], Vec::as_slice);
        let own =
            families.iter().find_map(|family| Some((family, name.strip_prefix(&*family.name)?)));
        let Some((family, model)) = own.filter(|(_, model)| !model.is_empty()) else { return };
        let (name, label, model) = (name.to_owned(), model.to_owned(), model.to_owned());
        self.seen.send_if_modified(|seen| {
            let mut known = seen.there.iter().chain(&seen.gone);
            if seen.gone.len() < MOST_REMEMBERED && !known.any(|known| known.name == name) {
                seen.gone.push(ChatModel { name, label, model, ..family.clone() });
            }
            // No look has found anything new.
            false
        });
    }

    /// What a look has found.
    pub fn tell(&self, found: Vec<ChatModel>) {
        self.seen.send_modify(|seen| {
            let before = std::mem::replace(&mut seen.there, found.into());
            let there = Arc::clone(&seen.there);
            let is_there = |model: &ChatModel| there.iter().any(|other| other.name == model.name);
            seen.gone.retain(|model| !is_there(model));
            seen.gone.extend(before.iter().filter(|model| !is_there(model)).cloned());
            let surplus = seen.gone.len().saturating_sub(MOST_REMEMBERED);
            seen.gone.drain(..surplus);
            seen.at = Some(Instant::now());
        });
    }

    /// Returns when it is time for another look: somebody wants to know, or `period` is over.
    pub async fn wanted(&self, period: Duration) {
        // Both are a reason.
        let _ = timeout(period, self.wanted.notified()).await;
    }

    /// Has somebody look again, unless that was just done or nobody looks.
    pub async fn refresh(&self) {
        let mut seen = self.seen.subscribe();
        let is_old = seen.borrow_and_update().at.is_some_and(|at| at.elapsed() > FRESH);
        if is_old {
            self.wanted.notify_one();
            // What was known before is good enough for who cannot wait.
            let _ = timeout(PATIENCE, seen.changed()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::row::ChatKind;

    fn model(name: &str) -> ChatModel {
        ChatModel {
            name: name.to_owned(),
            label: name.to_owned(),
            kind: ChatKind::OpenAi,
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            model: name.to_owned(),
            key: None,
            context_tokens: None,
            max_output_tokens: None,
            images: false,
            image_output: false,
            tools: false,
            patience: None,
        }
    }

    #[test]
    fn who_is_gone_is_known_and_not_there() {
        let found = FoundChat::default();
        found.tell(vec![model("a"), model("b")]);
        found.tell(vec![model("b")]);
        assert_eq!(found.there()[..], [model("b")]);
        assert_eq!(found.known("a"), Some(model("a")));
        found.tell(vec![ChatModel { tools: true, ..model("a") }]);
        assert!(found.known("a").unwrap().tools, "as it is now");
        assert_eq!(found.known("c"), None);
        for number in 0..1_000 {
            found.tell(vec![model(&number.to_string())]);
        }
        assert!(found.seen.borrow().gone.len() <= MOST_REMEMBERED);
    }

    #[test]
    fn what_a_session_has_chosen_is_known_before_it_is_found() {
        let found = FoundChat::default();
        found.expect("ollama:a");
        assert_eq!(found.known("ollama:a"), None, "nobody looks there");
        found.search(vec![model("ollama:")]);
        for name in ["ollama:a", "ollama:", "other:a"] {
            found.expect(name);
        }
        let known = found.known("ollama:a").unwrap();
        assert_eq!((&*known.model, &*known.base_url), ("a", "http://127.0.0.1:1/v1"));
        assert!(found.known("ollama:").is_none() && found.known("other:a").is_none());
        assert!(found.there().is_empty());
        found.tell(vec![ChatModel { tools: true, ..model("ollama:a") }]);
        found.expect("ollama:a");
        assert!(found.known("ollama:a").unwrap().tools, "it is there");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_where_nobody_looks() {
        let began = tokio::time::Instant::now();
        FoundChat::default().refresh().await;
        let found = FoundChat::default();
        found.tell(Vec::new());
        found.refresh().await;
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
