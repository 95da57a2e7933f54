//! Which providers a session talks to, by its settings, and which ones it could choose.

use super::chat::turn;
use super::language::Language;
use super::run::lane::Chosen;
use super::tools;
use super::{Env, Registry};
use crate::assistant::{self, Asking, Coder, Said, Texts};
use crate::config::{self, Config, Models};
use crate::locale::Locale;
use crate::message::{AUTO, AgentSlot, ModelOffer, Offered, Principal, SessionId, SessionSettings};
use crate::process::{self, Launcher};
use crate::provider::agent::{AgentConfig, Inside, Program};
use crate::provider::chat::{ChatConfig, ToolSpec};
use crate::provider::live::{self, LiveConfig, Remote};
use crate::provider::row::{AgentRow, LiveModel};
use crate::tool;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Registry {
    /// Looks for new models on this machine. Waits only briefly; the last result is good enough.
    pub async fn refresh_offer(&self) {
        self.env.config.found.refresh().await;
    }

    /// What a session may choose from.
    pub fn offer(&self) -> ModelOffer {
        offer(&self.env.config)
    }
}

pub(super) fn offer(config: &Config) -> ModelOffer {
    let own = config.project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let others = config.projects.iter();
    let others = others.map(|(name, path)| (path.display().to_string(), name.clone()));
    let scripted = || offered(config::SCRIPTED_NAME, &[(AUTO, "Scripted")]);
    let chat = config.chat_rows();
    let chat = chat.iter().map(|row| offered(&row.name, &[(&row.model, &row.label)]));
    let (live, agents) = match config.models {
        Models::Auto => (config.live.as_slice(), config.agents.as_slice()),
        Models::Scripted => (&[][..], &[][..]),
    };
    let built_in = (config.models == Models::Auto)
        .then(|| offered(config::BUILT_IN_NAME, &[(AUTO, "Built-in agent")]));
    let models = live.iter().map(|row| offered(&row.name, &[(&row.model, &row.label)]));
    let assistants = assistant::for_slots().map(|(name, label)| offered(name, &[(AUTO, label)]));
    ModelOffer {
        chat: chat.chain([scripted()]).collect(),
        live: models.chain([scripted()]).collect(),
        voices: live.iter().map(offered_voices).chain([scripted()]).collect(),
        code: built_in
            .into_iter()
            .chain(agents.iter().map(offered_agent))
            .chain(assistants)
            .chain([scripted()])
            .collect(),
        projects: std::iter::once((String::new(), own)).chain(others).collect(),
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
    let own = [(AUTO, row.label.as_str())];
    let others = row.models.iter().map(|model| (model.as_str(), model.as_str()));
    offered(&row.name, &own.into_iter().chain(others).collect::<Vec<_>>())
}

#[derive(Debug, Clone)]
pub(super) struct Providers {
    pub(super) chat: ChatConfig,
    pub(super) live: LiveConfig,
}

impl Providers {
    pub(super) fn of(env: &Env, settings: &SessionSettings) -> Self {
        Self { chat: chat(env, settings), live: live(env, settings) }
    }
}

pub(super) fn chat(env: &Env, settings: &SessionSettings) -> ChatConfig {
    match config::chat_model(&env.config, settings) {
        Some(model) => ChatConfig::Remote { model: Arc::new(model), client: env.chat.clone() },
        None => ChatConfig::Scripted,
    }
}

pub(super) fn live(env: &Env, settings: &SessionSettings) -> LiveConfig {
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
        tools: live_tools(settings),
        client: env.live.clone(),
    })
}

/// Live models give work to agents in a way of their own: they are told of the end later, and talk meanwhile.
fn live_tools(settings: &SessionSettings) -> Vec<ToolSpec> {
    let mut names = tools::names(&settings.tools);
    names.retain(|name| *name != tool::REQUEST_NAME);
    assistant::tools(&names)
}

/// Who works in a slot, as the settings choose it: an assistant, or an agent. The built-in agent if the chosen one does
/// not exist any more.
pub(super) fn worker(
    env: &Env,
    settings: &SessionSettings,
    session: &SessionId,
    principal: &Principal,
    slot: AgentSlot,
) -> Chosen {
    match assistant::for_slot(&settings.agents[slot].name) {
        Some(assistant) => Chosen::Assistant(assistant, chat(env, settings)),
        None => Chosen::Agent(agent(env, settings, session, principal, slot)),
    }
}

fn agent(
    env: &Env,
    settings: &SessionSettings,
    session: &SessionId,
    principal: &Principal,
    slot: AgentSlot,
) -> AgentConfig {
    let config = &env.config;
    let owner = process::owner(&config.data);
    let chosen = &settings.agents[slot];
    if chosen.name == config::SCRIPTED_NAME {
        let supervisor = config.supervisor.clone();
        return AgentConfig::Scripted(Launcher { supervisor, owner, variables: Vec::new() });
    }
    match config.agents.iter().find(|row| row.name == chosen.name).cloned() {
        Some(row) => AgentConfig::Program(Arc::new(Program {
            row,
            supervisor: config.supervisor.clone(),
            owner,
            model: chosen.model.clone(),
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

/// Tokens that agents use on a chat model count like those of the chat.
fn asking(env: &Env, principal: &Principal) -> Asking {
    let (env, principal) = (env.clone(), principal.clone());
    Asking::new(move |config, request| turn::ask_once(&env, &principal, config, request))
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
