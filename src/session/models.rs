//! Which providers a session talks to, by its settings, and which ones it could choose.

use super::chat::turn;
use super::language::Language;
use super::{Env, Registry};
use crate::assistant::{Asking, Coder, Said, Texts};
use crate::config::{self, Models};
use crate::locale::Locale;
use crate::message::{
    AgentSlot, ModelOffer, Offered, Principal, SessionId, SettingValue, Settings,
};
use crate::process::{self, Launcher};
use crate::provider::agent::{AgentConfig, Inside, Program};
use crate::provider::chat::ChatConfig;
use crate::provider::live::{self, LiveConfig, Remote};
use crate::provider::row::{AgentRow, LiveModel};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Providers that existing frontends ask for by name; an entry without models is one that cannot be chosen.
const CHAT: [&str; 3] = ["gemini", "freeai", "openrt"];
const LIVE: [&str; 3] = ["gemini_live", "freeai_live", "openai_live"];
const CODE: [&str; 5] = ["claude_sdk", "claude_cli", "copilot_cli", "gemini_cli", "codex_cli"];

impl Registry {
    /// Looks for new models on this machine. Waits only briefly; the last result is good enough.
    pub async fn refresh_offer(&self) {
        self.env.config.found.refresh().await;
    }

    /// What a session may choose from.
    pub fn offer(&self) -> ModelOffer {
        let config = &self.env.config;
        let own = config.project.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let others = config.projects.iter();
        let others = others.map(|(name, path)| (path.display().to_string(), name.clone()));
        let agents = match config.models {
            Models::Auto => {
                let own = offered(config::BUILT_IN_NAME, &[("auto", "Built-in agent")]);
                std::iter::once(own).chain(config.agents.iter().map(offered_agent)).collect()
            }
            Models::Scripted => Vec::new(),
        };
        let rows = |names: &[&str]| {
            let empty = names.iter().map(|name| offered(name, &[]));
            empty.chain([offered("scripted", &[("auto", "Scripted")])]).collect::<Vec<_>>()
        };
        let mut chat = rows(&CHAT);
        for model in config.chat_rows() {
            put(&mut chat, offered(&model.name, &[(&model.model, &model.label)]));
        }
        let (mut live, mut voices) = (rows(&LIVE), rows(&LIVE));
        let speaking = match config.models {
            Models::Auto => config.live.as_slice(),
            Models::Scripted => &[],
        };
        for model in speaking {
            put(&mut live, offered(&model.name, &[(&model.model, &model.label)]));
            put(&mut voices, offered_voices(model));
        }
        ModelOffer {
            chat,
            live,
            voices,
            code: rows(&CODE).into_iter().chain(agents).collect(),
            projects: std::iter::once((String::new(), own)).chain(others).collect(),
        }
    }
}

/// Replaces the row of the same name, if there is one.
fn put(rows: &mut Vec<Offered>, row: Offered) {
    match rows.iter_mut().find(|known| known.name == row.name) {
        Some(known) => *known = row,
        None => rows.push(row),
    }
}

/// The configured voice comes first.
fn offered_voices(model: &LiveModel) -> Offered {
    let own = model.voice.as_deref();
    let others = live::voices(model.kind).iter().copied().filter(|voice| Some(*voice) != own);
    let all: Vec<_> = own.into_iter().chain(others).map(|voice| (voice, voice)).collect();
    offered(&model.name, &all)
}

fn offered(name: &str, models: &[(&str, &str)]) -> Offered {
    let models = models.iter().map(|(id, label)| ((*id).to_owned(), (*label).to_owned()));
    Offered { name: name.to_owned(), models: models.collect() }
}

fn offered_agent(row: &AgentRow) -> Offered {
    let own = [("auto", row.label.as_str())];
    let others = row.models.iter().map(|model| (model.as_str(), model.as_str()));
    offered(&row.name, &own.into_iter().chain(others).collect::<Vec<_>>())
}

#[derive(Debug, Clone)]
pub(super) struct Providers {
    pub(super) chat: ChatConfig,
    pub(super) live: LiveConfig,
}

impl Providers {
    pub(super) fn of(env: &Env, settings: &Settings) -> Self {
        Self { chat: chat(env, settings), live: live(env, settings) }
    }
}

pub(super) fn chat(env: &Env, settings: &Settings) -> ChatConfig {
    match config::chat_model(&env.config, settings) {
        Some(model) => ChatConfig::Remote { model: Arc::new(model), client: env.chat.clone() },
        None => ChatConfig::Scripted,
    }
}

pub(super) fn live(env: &Env, settings: &Settings) -> LiveConfig {
    let models = config::live_models(&env.config, settings);
    if models.is_empty() {
        return LiveConfig::Scripted;
    }
    let instructions = match env.language.get() {
        Locale::Ja => include_str!("../../config/prompts/live.ja.txt"),
        Locale::En => include_str!("../../config/prompts/live.en.txt"),
    };
    LiveConfig::Remote(Remote {
        models: models.into_iter().map(Arc::new).collect(),
        rules: Arc::clone(&env.config.turn_rules),
        instructions: instructions.into(),
        client: env.live.clone(),
    })
}

/// The agent that the settings choose for a slot; the built-in agent if that one does not exist any more.
pub(super) fn agent(
    env: &Env,
    settings: &Settings,
    session: &SessionId,
    principal: &Principal,
    slot: AgentSlot,
) -> AgentConfig {
    let config = &env.config;
    let owner = process::owner(&config.data);
    let chosen = agent_name(settings, slot);
    if chosen == Some(config::SCRIPTED_NAME) {
        let supervisor = config.supervisor.clone();
        return AgentConfig::Scripted(Launcher { supervisor, owner, variables: Vec::new() });
    }
    let row = chosen.and_then(|name| config.agents.iter().find(|row| row.name == *name));
    match row.cloned() {
        Some(row) => AgentConfig::Program(Arc::new(Program {
            row,
            supervisor: config.supervisor.clone(),
            owner,
            model: config::agent_model_of(settings, slot).map(str::to_owned),
            resume: None,
        })),
        None => {
            let memory =
                conversations(&config.data, session).join(format!("{}.jsonl", slot.number()));
            let hidden = env.hidden.iter().cloned();
            let private = hidden.chain([config.data.clone()]).chain(config.private_files());
            let agent = Coder::new(config.supervisor.clone(), owner, memory, texts(&env.language))
                .with_chat(chat(env, settings))
                .with_asking(asking(env, principal))
                .with_private(private.collect())
                .with_network(config.box_rules.builtin_network);
            AgentConfig::Inside(Inside(Arc::new(agent)))
        }
    }
}

/// Name of the agent that the settings choose for a slot.
pub(super) fn agent_name(settings: &Settings, slot: AgentSlot) -> Option<&str> {
    let setting = format!("CODE_AI{}_NAME", slot.number());
    settings.iter().find_map(|(name, value)| match value {
        SettingValue::Text(text) if **name == *setting => Some(text.as_str()),
        SettingValue::Text(_) | SettingValue::Number(_) => None,
    })
}

/// Tokens that agents use on a chat model count like those of the chat.
fn asking(env: &Env, principal: &Principal) -> Asking {
    let (env, principal) = (env.clone(), principal.clone());
    Asking::new(move |config, request| turn::ask_for_agent(&env, &principal, config, request))
}

/// Below the data directory; it has a directory for each session.
pub(super) const CONVERSATIONS: &str = "conversations";

/// Where the built-in agents of a session store their conversations.
pub(super) fn conversations(data: &Path, session: &SessionId) -> PathBuf {
    data.join(CONVERSATIONS).join(session.as_str())
}

/// Texts of the built-in agent, in the language that the session has when they are said.
fn texts(language: &Language) -> Texts {
    let language = language.clone();
    Texts::new(move |said| match (said, language.get()) {
        (Said::Help, Locale::Ja) => {
            include_str!("../../config/prompts/agent_help.ja.txt").to_owned()
        }
        (Said::Help, Locale::En) => {
            include_str!("../../config/prompts/agent_help.en.txt").to_owned()
        }
        (Said::NoModel, locale) => locale.say("agent", "no_model", &[]),
        (Said::Phrase(english), locale) => locale.word(english),
        (Said::Title { tool, values }, locale) => locale.say("title", tool, values),
        (Said::EnglishTitle { tool, values }, _) => Locale::En.say("title", tool, values),
    })
}
