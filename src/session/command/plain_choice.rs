//! Accepting or discarding an agent's work by a word, for frontends without buttons for it. The word must be the whole
//! message, and the agent must have work in its own copy; anything else is an ordinary text. Only what a user typed
//! ([`Typed`]) is read.

use super::plain_words::PlainWord;
use crate::message::{AgentSlot, Channel, Choice, Command, Route, Typed};
use crate::session::workplace::Workplaces;

/// What a user wants to be done with an agent's work.
#[derive(Debug)]
pub(super) struct PlainChoice {
    pub(super) agent: AgentSlot,
    pub(super) choice: Choice,
    /// Where it was typed.
    pub(super) pane: Channel,
}

impl PlainChoice {
    /// `None`: an ordinary text.
    pub(super) fn read(route: Route, text: &Typed, workplaces: &Workplaces) -> Option<Self> {
        let word = PlainWord::read(text.as_str())?;
        let choice = match (word.is_accept(), word.is_discard()) {
            (true, false) => Choice::Accept { branch: None, version: None },
            (false, true) => Choice::Discard,
            (true, true) | (false, false) => return None,
        };
        let named = match word.number {
            Some(number) => Some(AgentSlot::new(u8::try_from(number).ok()?)?),
            None => None,
        };
        let (agent, pane) = meant(route, named)?;
        workplaces.has_open_work(agent).then_some(Self { agent, choice, pane })
    }

    /// Whether a command is a choice in plain words.
    pub(super) fn is_in(command: &Command, workplaces: &Workplaces) -> bool {
        matches!(command, Command::SendText { route, text } if Self::read(*route, text, workplaces).is_some())
    }
}

/// In the chat, the agent is named by its number or by the destination that is selected there.
fn meant(route: Route, named: Option<AgentSlot>) -> Option<(AgentSlot, Channel)> {
    match route {
        Route::Agent(own) => {
            let is_own = named.is_none_or(|named| named == own);
            is_own.then_some((own, Channel::Agent(own)))
        }
        Route::AgentsFromChat(agents) => {
            let mut meant = agents.iter().filter(|slot| named.is_none_or(|named| named == *slot));
            match (meant.next(), meant.next()) {
                (Some(only), None) => Some((only, Channel::Chat)),
                (Some(_) | None, _) => None,
            }
        }
        Route::Chat | Route::Live { echo: Some(Channel::Chat) } => {
            named.map(|named| (named, Channel::Chat))
        }
        Route::Live { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AgentSet;

    #[test]
    fn the_agent_is_that_of_the_pane_or_the_one_that_is_named() {
        let [one, two, ..] = AgentSlot::ALL;
        let chat = |agent| Some((agent, Channel::Chat));
        assert_eq!(meant(Route::Agent(one), None), Some((one, Channel::Agent(one))));
        assert_eq!(meant(Route::Agent(one), Some(one)), Some((one, Channel::Agent(one))));
        assert_eq!(meant(Route::Agent(one), Some(two)), None);
        assert_eq!(meant(Route::Chat, None), None);
        assert_eq!(meant(Route::Chat, Some(two)), chat(two));
        assert_eq!(meant(Route::Live { echo: Some(Channel::Chat) }, Some(two)), chat(two));
        assert_eq!(meant(Route::Live { echo: None }, Some(two)), None);
        assert_eq!(meant(Route::Live { echo: Some(Channel::Agent(two)) }, Some(two)), None);
        assert_eq!(meant(Route::AgentsFromChat(two.into()), None), chat(two));
        assert_eq!(meant(Route::AgentsFromChat(two.into()), Some(one)), None);
        assert_eq!(meant(Route::AgentsFromChat(AgentSet::ALL), None), None);
        assert_eq!(meant(Route::AgentsFromChat(AgentSet::ALL), Some(one)), chat(one));
    }
}
