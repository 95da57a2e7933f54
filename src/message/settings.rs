//! Settings of one session, typed: which models answer and speak, who works in which slot, and on which project. Their
//! names on the wire and in files belong to the dialects, `config` and `store`.

use super::setting::AUTO;
use super::{AgentSlot, Setting, SettingChange, Slots};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The settings of a session, complete and checked. Only while the configuration is read can they be unchecked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSettings {
    /// Name of the chat model that answers.
    pub chat: String,
    /// The vendor's model to use instead of the row's own, by the name of the chat row.
    pub chat_models: BTreeMap<String, String>,
    /// The assistant that answers in the chat.
    pub chat_assistant: AssistantName,
    /// Tools that the chat and the live model may call.
    pub tools: ToolChoice,
    /// Name of the live model that speaks.
    pub live: String,
    /// The vendor's model to use instead of the row's own, by the name of the live row.
    pub live_models: BTreeMap<String, String>,
    /// The voice to use instead of the row's own, by the name of the live row.
    pub live_voices: BTreeMap<String, String>,
    pub agents: Slots<AgentSettings>,
    /// The directory that agents work on; `None`: the gateway's own project.
    pub project: Option<String>,
}

/// What is chosen for one agent slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    pub name: String,
    /// The agent's own name for the model; `None`: the agent's default.
    pub model: Option<String>,
    pub workplace: WorkplaceChoice,
}

/// Where an agent is to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkplaceChoice {
    /// Nothing was chosen; the agent gets its own copy of the project.
    #[default]
    Auto,
    /// Its own copy of the project.
    Worktree,
    /// The shared project.
    Shared,
}

impl WorkplaceChoice {
    pub const ALL: [Self; 3] = [Self::Auto, Self::Worktree, Self::Shared];

    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => AUTO,
            Self::Worktree => "worktree",
            Self::Shared => "shared",
        }
    }
}

/// Tools that a session offers to its models: all, none, or some by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolChoice(String);

impl ToolChoice {
    /// Offers no tool.
    pub const NONE: &str = "none";

    /// [`AUTO`], [`ToolChoice::NONE`], or names with commas between them.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names that are listed; `None`: all tools.
    pub fn listed(&self) -> Option<Vec<&str>> {
        match self.0.trim() {
            AUTO => None,
            Self::NONE | "" => Some(Vec::new()),
            list => Some(list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()),
        }
    }

    pub fn offers(&self, name: &str) -> bool {
        self.listed().is_none_or(|names| names.contains(&name))
    }
}

impl Default for ToolChoice {
    fn default() -> Self {
        Self::new(AUTO)
    }
}

/// Names an assistant that can answer on a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssistantName(String);

impl AssistantName {
    /// The default assistant.
    pub const GENERAL: &str = "general";
    /// Answers questions about tables.
    pub const ANALYST: &str = "analyst";
    /// Computes, draws figures and shows places on the floor plan.
    pub const MAPPER: &str = "mapper";

    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for AssistantName {
    fn default() -> Self {
        Self::new(Self::GENERAL)
    }
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            chat: AUTO.to_owned(),
            chat_models: BTreeMap::new(),
            chat_assistant: AssistantName::default(),
            tools: ToolChoice::default(),
            live: AUTO.to_owned(),
            live_models: BTreeMap::new(),
            live_voices: BTreeMap::new(),
            agents: Slots::new(|_| AgentSettings {
                name: AUTO.to_owned(),
                model: None,
                workplace: WorkplaceChoice::Auto,
            }),
            project: None,
        }
    }
}

impl SessionSettings {
    pub fn apply(&mut self, change: SettingChange) {
        match change {
            SettingChange::Chat(name) => self.chat = name,
            SettingChange::ChatModel { row, model } => put(&mut self.chat_models, row, model),
            SettingChange::ChatAssistant(name) => self.chat_assistant = name,
            SettingChange::Tools(choice) => self.tools = choice,
            SettingChange::Live(name) => self.live = name,
            SettingChange::LiveModel { row, model } => put(&mut self.live_models, row, model),
            SettingChange::LiveVoice { row, voice } => put(&mut self.live_voices, row, voice),
            SettingChange::Agent { slot, name } => self.agents[slot].name = name,
            SettingChange::AgentModel { slot, model } => self.agents[slot].model = model,
            SettingChange::Workplace { slot, choice } => self.agents[slot].workplace = choice,
            SettingChange::Project(project) => self.project = project,
        }
    }

    /// Whether the setting already has this value.
    pub fn already_has(&self, change: &SettingChange) -> bool {
        let mut changed = self.clone();
        changed.apply(change.clone());
        changed == *self
    }

    /// The setting with its value.
    pub fn get(&self, setting: &Setting) -> SettingChange {
        match setting {
            Setting::Chat => SettingChange::Chat(self.chat.clone()),
            Setting::ChatModel(row) => {
                let model = self.chat_models.get(&**row).cloned();
                SettingChange::ChatModel { row: row.to_string(), model }
            }
            Setting::ChatAssistant => SettingChange::ChatAssistant(self.chat_assistant.clone()),
            Setting::Tools => SettingChange::Tools(self.tools.clone()),
            Setting::Live => SettingChange::Live(self.live.clone()),
            Setting::LiveModel(row) => {
                let model = self.live_models.get(&**row).cloned();
                SettingChange::LiveModel { row: row.to_string(), model }
            }
            Setting::LiveVoice(row) => {
                let voice = self.live_voices.get(&**row).cloned();
                SettingChange::LiveVoice { row: row.to_string(), voice }
            }
            Setting::Agent(slot) => {
                SettingChange::Agent { slot: *slot, name: self.agents[*slot].name.clone() }
            }
            Setting::AgentModel(slot) => {
                SettingChange::AgentModel { slot: *slot, model: self.agents[*slot].model.clone() }
            }
            Setting::Workplace(slot) => {
                SettingChange::Workplace { slot: *slot, choice: self.agents[*slot].workplace }
            }
            Setting::Project => SettingChange::Project(self.project.clone()),
        }
    }

    /// The settings that differ from `base`, with their values in `self`.
    pub fn differences(&self, base: &Self) -> Vec<SettingChange> {
        let names = self.names().into_iter().chain(base.names());
        let mut found: Vec<SettingChange> = Vec::new();
        for name in names {
            let here = self.get(&name);
            if here != base.get(&name) && !found.contains(&here) {
                found.push(here);
            }
        }
        found
    }

    /// The names of all settings. A setting of a model row is included only if it has a value.
    pub fn names(&self) -> Vec<Setting> {
        let rows = |map: &BTreeMap<String, String>, name: fn(Cow<'static, str>) -> Setting| {
            map.keys().map(|row| name(row.clone().into())).collect::<Vec<_>>()
        };
        let mut names = vec![Setting::Chat, Setting::ChatAssistant, Setting::Tools];
        names.extend(rows(&self.chat_models, Setting::ChatModel));
        names.push(Setting::Live);
        names.extend(rows(&self.live_models, Setting::LiveModel));
        names.extend(rows(&self.live_voices, Setting::LiveVoice));
        for slot in AgentSlot::ALL {
            names.extend([
                Setting::Agent(slot),
                Setting::AgentModel(slot),
                Setting::Workplace(slot),
            ]);
        }
        names.push(Setting::Project);
        names
    }
}

fn put(map: &mut BTreeMap<String, String>, row: String, chosen: Option<String>) {
    match chosen {
        Some(chosen) => drop(map.insert(row, chosen)),
        None => drop(map.remove(&row)),
    }
}
