//! Names of channels, receivers and lists in the session API.

use crate::message::{AgentSlot, Channel, ListKind, Setting};

pub(super) fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Audio => "audio",
        Channel::Input => "input",
        Channel::File => "files",
        Channel::Chat => "chat",
        Channel::Agent(slot) => agent(slot),
    }
}

pub(super) fn agent(slot: AgentSlot) -> &'static str {
    ["agent1", "agent2", "agent3", "agent4"][usize::from(slot.number()) - 1]
}

/// `None`: not an agent's channel.
pub(super) fn agent_of(channel: Channel) -> Option<&'static str> {
    match channel {
        Channel::Agent(slot) => Some(agent(slot)),
        Channel::Audio | Channel::Input | Channel::File | Channel::Chat => None,
    }
}

pub(super) fn read_agent(name: &str) -> Option<AgentSlot> {
    AgentSlot::ALL.into_iter().find(|slot| agent(*slot) == name)
}

pub(super) fn list(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Backup => "project",
        ListKind::Temp => "recent",
    }
}

pub(super) fn read_list(name: &str) -> Option<ListKind> {
    [ListKind::Backup, ListKind::Temp].into_iter().find(|kind| list(*kind) == name)
}

/// The path of a setting in a `settings` or `set` frame.
pub(super) fn setting(setting: &Setting) -> String {
    match setting {
        Setting::Chat => "chat".to_owned(),
        Setting::ChatModel(row) => format!("chat_models.{row}"),
        Setting::ChatAssistant => "assistant".to_owned(),
        Setting::Tools => "tools".to_owned(),
        Setting::Live => "live".to_owned(),
        Setting::LiveModel(row) => format!("live_models.{row}"),
        Setting::LiveVoice(row) => format!("voices.{row}"),
        Setting::Agent(slot) => format!("agents.{}.name", agent(*slot)),
        Setting::AgentModel(slot) => format!("agents.{}.model", agent(*slot)),
        Setting::Workplace(slot) => format!("agents.{}.workplace", agent(*slot)),
        Setting::Project => "project".to_owned(),
    }
}
