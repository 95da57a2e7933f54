//! The history of a loaded conversation. An agent repeats it before it answers `session/load`, as the protocol says, or
//! after that, as Gemini CLI does. Nothing of it belongs to a prompt: old words are no answer, and old calls are not
//! judged again.

use super::peer::Said;
use super::wire::Incoming;
use super::{Agent, Halt, Happening};
use crate::provider::agent::AgentInput;
use agent_client_protocol_schema::v1::{ContentBlock, SessionUpdate};
use std::time::Duration;
use tokio::time::Instant;

/// So long nothing of the history comes when it is over.
const QUIET: Duration = Duration::from_millis(400);
/// A history that takes longer is cut off by the next prompt.
const LONGEST: Duration = Duration::from_secs(20);

/// Whether the agent may still repeat what was said before.
#[derive(Debug, Default)]
pub(super) enum Replay {
    #[default]
    None,
    /// This process has loaded a conversation, and nothing was asked in it yet.
    Possible,
    /// It repeats something within a prompt, and did so last at this moment.
    Heard(Instant),
}

impl Replay {
    /// Whether this belongs to the history. Agents repeat it from a user's words on, and do not stop on the way; what an
    /// agent repeats of the prompt itself is no history.
    pub(super) fn has(&mut self, update: &SessionUpdate, prompt: &str) -> bool {
        let now = Instant::now();
        match self {
            Self::None => return false,
            Self::Possible if !is_old_words(update, prompt) => return false,
            Self::Heard(last) if now - *last >= QUIET => {
                *self = Self::None;
                return false;
            }
            Self::Possible | Self::Heard(_) => (),
        }
        *self = Self::Heard(now);
        !matches!(
            update,
            SessionUpdate::CurrentModeUpdate(_) | SessionUpdate::ConfigOptionUpdate(_)
        )
    }
}

fn is_old_words(update: &SessionUpdate, prompt: &str) -> bool {
    let SessionUpdate::UserMessageChunk(chunk) = update else { return false };
    let ContentBlock::Text(text) = &chunk.content else { return false };
    let (text, prompt) = (text.text.trim(), prompt.trim());
    !prompt.contains(text) && !text.contains(prompt)
}

impl Agent {
    /// Waits until a history that comes after the answer is over.
    pub(super) async fn hear_history(&mut self) -> Result<(), Halt> {
        self.replay = Replay::Possible;
        let limit = Instant::now() + LONGEST;
        let mut quiet_at = Instant::now() + QUIET;
        loop {
            match self.next(Some(quiet_at.min(limit))).await {
                Happening::Said(Said::Message(message @ Incoming::Update(_))) => {
                    quiet_at = Instant::now() + QUIET;
                    self.on_other(message);
                }
                Happening::Said(Said::Message(message)) => self.on_other(message),
                Happening::Late => return Ok(()),
                Happening::Said(Said::Ended(why)) => return Err(self.lost(&why).await),
                Happening::Input(AgentInput::Prompt(prompt)) => self.take_early(prompt),
                Happening::Input(AgentInput::Cancel | AgentInput::CancelNow) => {
                    self.bury().await?;
                    return Err(Halt::Cancelled);
                }
                Happening::Said(Said::Complaint(_))
                | Happening::Input(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                Happening::LinkDropped => return Err(Halt::LinkDropped),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol_schema::v1::ContentChunk;

    fn user(text: &str) -> SessionUpdate {
        SessionUpdate::UserMessageChunk(ContentChunk::new(ContentBlock::from(text)))
    }

    fn agent(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(text)))
    }

    #[tokio::test(start_paused = true)]
    async fn what_follows_old_words_is_history_until_it_is_quiet() {
        let mut replay = Replay::Possible;
        assert!(replay.has(&user("an old question"), "a new one"));
        for _ in 0..3 {
            tokio::time::advance(QUIET / 2).await;
            assert!(replay.has(&agent("an old answer"), "a new one"));
        }
        tokio::time::advance(QUIET).await;
        assert!(!replay.has(&agent("a new answer"), "a new one"));
        assert!(!replay.has(&user("an old question"), "a new one"), "it is over");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_and_an_echo_of_the_prompt_are_no_history() {
        let mut replay = Replay::Possible;
        for echo in ["a new one", "a new", "a new one\n[at noon]"] {
            assert!(!replay.has(&user(echo), "a new one"), "{echo}");
        }
        assert!(!replay.has(&agent("a new answer"), "a new one"));
        assert!(!Replay::None.has(&user("an old question"), "a new one"));
    }
}
