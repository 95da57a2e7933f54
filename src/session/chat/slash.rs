//! Commands that a user types in the chat. They are carried out at once, without a model.

use crate::locale::Locale;
use crate::message::{Channel, SessionSettings};
use crate::session::tools;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Slash {
    Help,
    /// Unlocks the chat; the model is not told what was said before.
    Reset,
    /// Ends the current answer.
    Cancel,
    /// Names the tools that the model may call.
    Tools,
    /// Says what answers, and what it is doing.
    Status,
}

impl Slash {
    /// Only a text that is nothing but one of these commands; everything else is for the model.
    pub(in crate::session) fn parse(channel: Channel, text: &str) -> Option<Self> {
        if channel != Channel::Chat {
            return None;
        }
        Some(match text.trim() {
            "/help" => Self::Help,
            "/reset" => Self::Reset,
            "/cancel" => Self::Cancel,
            "/tools" => Self::Tools,
            "/status" => Self::Status,
            _ => return None,
        })
    }
}

pub(in crate::session) fn help(locale: Locale) -> String {
    locale.say("slash", "help", &[])
}

pub(in crate::session) fn tools(locale: Locale, settings: &SessionSettings) -> String {
    let names = tools::names(&settings.tools);
    if names.is_empty() {
        return locale.say("slash", "no_tools", &[]);
    }
    locale.say("slash", "tools", &[("tools", &names.join(", "))])
}

pub(in crate::session) fn status(
    locale: Locale,
    settings: &SessionSettings,
    waiting: usize,
    state: &str,
) -> String {
    let values = [
        ("model", settings.chat.as_str()),
        ("state", &locale.say("slash", state, &[])),
        ("waiting", &waiting.to_string()),
    ];
    locale.say("slash", "status", &values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AgentSlot;

    #[test]
    fn only_whole_texts_in_the_chat_are_commands() {
        assert_eq!(Slash::parse(Channel::Chat, " /reset\n"), Some(Slash::Reset));
        assert_eq!(Slash::parse(Channel::Chat, "/help"), Some(Slash::Help));
        for text in ["/reset now", "reset", "/Reset", "/", "/usr/bin", "please /help"] {
            assert_eq!(Slash::parse(Channel::Chat, text), None, "{text}");
        }
        // The built-in agent has commands of its own.
        assert_eq!(Slash::parse(Channel::Agent(AgentSlot::ALL[0]), "/help"), None);
    }
}
