//! What the operator decided: built-in defaults, then the file, then flags and `KAKEHASHI_` variables, checked
//! once at the start. Nothing else reads the environment.

mod agent;
mod analyst;
mod chat;
mod check;
mod choice;
mod confine;
mod custom;
mod exposure;
mod found;
mod live;
mod origin;
mod project;
mod raw;
mod settings;
mod smol;
mod tls;
mod user;
mod vendor;
mod voice;
mod webhook;

pub use agent::known_agents;
pub use analyst::AnalystRules;
pub use check::CheckCommand;
pub use choice::{BUILT_IN_NAME, SCRIPTED_NAME, chat_model, check_setting, live_models};
pub use confine::{BoxRules, NoBox, at_home, home};
pub use custom::CustomTool;
pub use exposure::{Exposed, Exposure, reachable};
pub use found::FoundChat;
pub use origin::{may_be_host, may_be_origin};
pub use raw::{Listen, Models};
pub use smol::SmolRules;
pub use tls::TlsFiles;
pub use user::{User, check_name};
pub use vendor::{CHAT_EXAMPLE, LIVE_EXAMPLE, key_variables};

use crate::locale::Locale;
use crate::message::{AUTO, OfferedModel, SessionSettings, SettingProblem, SetupHint};
use crate::provider::row::{AgentRow, ChatModel, LiveModel, TurnRules, Webhook};
use agent::Agent;
use directories::ProjectDirs;
use exposure::Proxy;
use origin::{Host, Origin};
use project::ProjectName;
use raw::{RawConfig, RawFiles, RawLimits, RawLogin, Within};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use vendor::Offer;

const DAY_SECONDS: u32 = 86_400;
/// A group may read it: some operators want that.
const FOR_OTHERS: u32 = 0o026;

/// Checked settings; every field can be relied upon.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    /// Absolute, and a directory when the gateway started.
    pub project: PathBuf,
    /// Absolute.
    pub data: PathBuf,
    pub language: Locale,
    pub models: Models,
    /// Names differ. Those of `offered` are behind those of the file.
    pub chat: Vec<ChatModel>,
    /// Others that are on this machine now; who is configured goes before them, and they go before who is offered.
    pub found: Arc<FoundChat>,
    /// Names differ. In the order in which they stand in for each other.
    pub live: Vec<LiveModel>,
    /// Which of both are there only because their key is in the environment.
    pub offered: Vec<OfferedModel>,
    /// How people and live models take turns.
    pub turn_rules: Arc<TurnRules>,
    /// Who answers in the chat is not chosen but the first that there is.
    auto_chat: bool,
    /// The same for who speaks.
    auto_live: bool,
    /// What `OLLAMA_HOST` says, for looking there.
    pub ollama_host: Option<String>,
    /// Sessions that nobody has used for so long are deleted.
    pub retention: Option<Duration>,
    /// How long decisions about agents' calls are kept; `None`: for ever.
    pub audit_age: Option<Duration>,
    /// What agents may do; `None`: the rules that come with the gateway.
    pub policy: Option<PathBuf>,
    /// In lower case.
    pub allowed_origins: Vec<String>,
    /// In lower case, `name` or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Names differ. Empty: only the local user, by the token.
    pub users: Vec<User>,
    /// Who is called when something waits for approval.
    pub webhook: Option<Webhook>,
    pub login: LoginRules,
    /// How comparisons of agents' work find out whether it holds.
    pub check: Option<CheckCommand>,
    /// Whether agents are started before anybody asks them something.
    pub agents_early: bool,
    /// Names differ. Besides these there is always the scripted one.
    pub agents: Vec<AgentRow>,
    pub box_rules: BoxRules,
    pub analyst: AnalystRules,
    pub smol: SmolRules,
    /// Further tools of the agent UI's agent; the first of a name counts.
    pub custom_tools: Vec<CustomTool>,
    /// Our own binary, which supervises agents.
    pub supervisor: PathBuf,
    /// Name and absolute path; each a directory when the gateway started.
    pub projects: Vec<(String, PathBuf)>,
    /// Where all this was read; `None`: nowhere.
    pub file: Option<PathBuf>,
    /// Whom we believe who the client is and how it came; see [`Exposure`].
    pub trusted_proxies: Vec<IpAddr>,
    pub tls: Option<TlsFiles>,
    pub limits: Limits,
    pub files: FileRules,
    /// The settings that a new session starts with.
    pub settings: Arc<SessionSettings>,
}

/// Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    pub handshake: Duration,
    pub header: Duration,
    pub audio_frame: usize,
    pub input_frame: usize,
    pub other_frame: usize,
    pub image_pixels: u64,
    pub sockets_per_channel: usize,
    pub sockets_per_principal: usize,
    pub sockets: usize,
    pub connections: usize,
    pub connections_per_address: usize,
    pub queue_per_channel: usize,
    pub unload: Duration,
    /// Sessions without sockets and work that stay in memory, by number and by bytes.
    pub idle_sessions: usize,
    pub idle_bytes: usize,
    /// How long an agent without work is kept.
    pub agent_idle: Duration,
    pub write: Duration,
    pub ping: Duration,
    pub request: Duration,
    /// How long the user may take to answer a question about a tool call.
    pub confirm: Duration,
    /// Longest time of a command of the chat or the live model.
    pub command: Duration,
    /// Of one user's chats and day; 0 means any number.
    pub chat_tokens: u64,
    pub shutdown: Duration,
}

/// What a login is worth, and how often it may fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoginRules {
    pub lifetime: Duration,
    pub attempts: u32,
}

/// How much is kept of what users and agents leave behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileRules {
    pub backup_keep: usize,
    pub backup_age: Duration,
    /// In bytes, for each user.
    pub temp_quota: u64,
    pub temp_age: Duration,
    /// In bytes.
    pub content: u64,
}

/// What the command line and the environment say; it goes before the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Must exist; `None` means the platform's file, if there is one.
    pub config: Option<PathBuf>,
    pub listen: Option<String>,
    pub project: Option<PathBuf>,
    pub data: Option<PathBuf>,
    pub models: Option<String>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
}

/// Why the gateway does not start with these settings: always one line.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {reason}", path.display())]
    Read { path: PathBuf, reason: std::io::Error },
    #[error("{}:{line}: {reason}", path.display())]
    File { path: PathBuf, line: usize, reason: String },
    #[error("--{flag} or KAKEHASHI_{}: {reason}", flag.to_ascii_uppercase())]
    Flag { flag: &'static str, reason: String },
    #[error("project {} is not a directory; choose one with --project", .0.display())]
    Project(PathBuf),
    #[error("[settings] {name}: {problem}")]
    Setting { name: &'static str, problem: SettingProblem },
    #[error("user `{0}` is there twice")]
    UserTwice(String),
    #[error("chat model `{0}` is there twice")]
    ChatTwice(String),
    #[error("live model `{0}` is there twice")]
    LiveTwice(String),
    #[error("tool `{0}` is there twice")]
    ToolTwice(String),
    #[error("agent `{0}` is there twice")]
    AgentTwice(String),
    #[error("project `{name}` is {}, which is not a directory", path.display())]
    OtherProject { name: String, path: PathBuf },
    #[error("there is a TLS {has} but no {lacks}: --tls-{lacks}, KAKEHASHI_TLS_{} or [tls] {lacks}", lacks.to_ascii_uppercase())]
    HalfTls { has: &'static str, lacks: &'static str },
    #[error(transparent)]
    Exposed(#[from] Exposed),
    #[error("this user has no home directory; say with --data where to keep data")]
    NoHome,
    #[error("data {} cannot be resolved: {reason}", path.display())]
    Data { path: PathBuf, reason: std::io::Error },
}

impl Config {
    /// Reads the file and the keys that it names, and checks everything.
    pub fn load(overrides: Overrides) -> Result<Self, ConfigError> {
        Self::load_from(overrides, |name| std::env::var(name).ok())
    }

    fn load_from(
        overrides: Overrides,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let file = file(&overrides);
        let raw = merged(overrides)?;
        check_names(&raw)?;
        let agents: Vec<AgentRow> = raw.agents.iter().map(|Agent(row)| row.clone()).collect();
        let (retention, audit_age) = (age(raw.retention_days), age(raw.audit_days));
        let tls = raw.tls.files()?;
        let exposure = Exposure {
            listen: raw.listen.0,
            has_users: !raw.users.is_empty(),
            has_tls: tls.is_some(),
            has_proxy: !raw.trusted_proxy.is_empty(),
        };
        exposure.check()?;
        if let Some(listen) = raw.smol.rules().listen {
            Exposure { listen, ..exposure }.check()?;
        }
        let mut config = Self {
            listen: raw.listen.0,
            project: directory(&raw.project)?,
            data: data_directory(&raw.data)?,
            language: raw.language,
            models: raw.models,
            auto_chat: raw.settings.0.chat == AUTO,
            auto_live: raw.settings.0.live == AUTO,
            found: Arc::default(),
            chat: raw.chat.into_iter().map(|row| row.model(&variable)).collect(),
            live: raw.live.into_iter().map(|row| row.model(&variable)).collect(),
            offered: Vec::new(),
            turn_rules: Arc::new(raw.voice.rules()),
            ollama_host: variable("OLLAMA_HOST").filter(|text| !text.trim().is_empty()),
            retention,
            audit_age,
            policy: Some(raw.policy).filter(|path| !path.as_os_str().is_empty()),
            allowed_origins: raw.allowed_origins.into_iter().map(|Origin(text)| text).collect(),
            allowed_hosts: raw.allowed_hosts.into_iter().map(|Host(text)| text).collect(),
            users: raw.users,
            webhook: raw.webhook.webhook(&variable),
            login: login_rules(&raw.login),
            check: raw.check.checked(),
            agents_early: raw.agents_early,
            agents,
            box_rules: raw.confine.rules(),
            analyst: raw.analyst.rules(),
            smol: raw.smol.rules(),
            custom_tools: raw.tool.into_iter().map(CustomTool::from).collect(),
            supervisor: own_binary(),
            projects: projects(raw.projects)?,
            file,
            trusted_proxies: raw.trusted_proxy.into_iter().map(|Proxy(address)| address).collect(),
            tls,
            limits: limits(&raw.limits),
            files: file_rules(&raw.files),
            settings: Arc::new(raw.settings.0),
        };
        if raw.models_from_environment && config.models == Models::Auto {
            config.offer(&variable);
        }
        config.settle()?;
        Ok(config)
    }

    /// Puts models that a key in the environment offers behind those of the file.
    fn offer(&mut self, variable: impl Fn(&str) -> Option<String>) {
        let Offer { chat, live, told } = vendor::offer(&self.chat, &self.live, variable);
        self.chat.extend(chat);
        self.live.extend(live);
        self.offered = told;
    }

    /// Adds chat models behind those that there are.
    pub fn add_chat(&mut self, rows: Vec<ChatModel>) -> Result<(), ConfigError> {
        let is_new = |model: &ChatModel| self.chat.iter().all(|known| known.name != model.name);
        let fresh: Vec<_> = rows.into_iter().filter(is_new).collect();
        self.chat.extend(fresh);
        self.settle()
    }

    /// Takes in the models that are on this machine when the gateway starts.
    pub fn add_found(&mut self, found: Vec<ChatModel>) -> Result<(), ConfigError> {
        self.found.tell(found);
        self.settle()
    }

    /// The chat models that can be chosen now: who is configured, who is found on this machine, which costs nothing and
    /// tells nobody anything, and who is offered because of a key.
    pub fn chat_rows(&self) -> Vec<ChatModel> {
        let there = match self.models {
            Models::Auto => self.found.there(),
            Models::Scripted => return Vec::new(),
        };
        let is_new = |model: &&ChatModel| self.chat.iter().all(|known| known.name != model.name);
        let (offered, own): (Vec<_>, Vec<_>) =
            self.chat.iter().partition(|model| self.offers(&model.name));
        own.into_iter().chain(there.iter().filter(is_new)).chain(offered).cloned().collect()
    }

    fn offers(&self, name: &str) -> bool {
        self.offered.iter().any(|model| model.name == name)
    }

    /// Where people change what models there are, and how.
    pub fn setup_hint(&self) -> SetupHint {
        let file =
            self.file.clone().or_else(platform_path).unwrap_or_else(|| "kakehashi.toml".into());
        SetupHint {
            file: file.display().to_string(),
            chat_row: CHAT_EXAMPLE.join("\n"),
            live_row: LIVE_EXAMPLE.join("\n"),
            variables: key_variables().join(", "),
            offered: self.offered.clone(),
        }
    }

    /// Adds live models behind those that there are.
    pub fn add_live(&mut self, rows: Vec<LiveModel>) -> Result<(), ConfigError> {
        self.live.extend(rows);
        self.settle()
    }

    /// Checks the settings that sessions start with, once it is known which models exist. `auto` is resolved again
    /// whenever there is more to choose from.
    fn settle(&mut self) -> Result<(), ConfigError> {
        let mut asked = SessionSettings::clone(&self.settings);
        if self.auto_chat {
            AUTO.clone_into(&mut asked.chat);
        }
        if self.auto_live {
            AUTO.clone_into(&mut asked.live);
        }
        let mut settled = asked.clone();
        for setting in asked.names() {
            let name = settings::key(&setting).unwrap_or_default();
            let refused = |problem| ConfigError::Setting { name, problem };
            settled.apply(check_setting(self, asked.get(&setting)).map_err(refused)?);
        }
        self.settings = Arc::new(settled);
        Ok(())
    }

    /// What nobody but the operator may read: these settings, the rules, and what TLS needs. Absolute.
    pub fn private_files(&self) -> Vec<PathBuf> {
        let settings = self.file.clone().or_else(platform_path);
        let tls = self.tls.iter().flat_map(|tls| [&tls.cert, &tls.key]).cloned();
        let all = settings.into_iter().chain(tls).chain(self.policy.clone());
        all.filter_map(|path| std::path::absolute(path).ok()).collect()
    }

    /// Agents of several users must not get at each other's things. Everybody has one that runs commands.
    pub fn needs_box(&self) -> bool {
        self.users.len() > 1
    }

    /// The rights of the file, if it says who may log in and others could read or change that.
    pub fn open_to_others(&self) -> Option<(&Path, u32)> {
        let file = self.file.as_deref().filter(|_| !self.users.is_empty())?;
        let mode = file.metadata().ok()?.permissions().mode() & 0o777;
        (mode & FOR_OTHERS != 0).then_some((file, mode))
    }

    /// Agents that do what a test says.
    fn script_agents(&mut self) {
        let agents = &mut Arc::make_mut(&mut self.settings).agents;
        agents.iter_mut().for_each(|agent| SCRIPTED_NAME.clone_into(&mut agent.name));
    }

    /// The defaults on a free port and with scripted agents, for tests.
    pub fn for_test(project: impl Into<PathBuf>, data: impl Into<PathBuf>) -> Self {
        let raw = RawConfig::default();
        let mut config = Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            project: project.into(),
            data: data.into(),
            language: raw.language,
            models: raw.models,
            auto_chat: true,
            auto_live: true,
            chat: Vec::new(),
            found: Arc::default(),
            live: Vec::new(),
            offered: Vec::new(),
            turn_rules: Arc::new(raw.voice.rules()),
            ollama_host: None,
            retention: age(raw.retention_days),
            audit_age: age(raw.audit_days),
            policy: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            users: Vec::new(),
            webhook: None,
            login: login_rules(&raw.login),
            check: raw.check.checked(),
            agents_early: raw.agents_early,
            agents: Vec::new(),
            // Tests within this crate have no binary that could enter a box.
            box_rules: BoxRules { enabled: false, ..raw.confine.rules() },
            analyst: raw.analyst.rules(),
            smol: raw.smol.rules(),
            custom_tools: Vec::new(),
            supervisor: own_binary(),
            projects: Vec::new(),
            file: None,
            trusted_proxies: Vec::new(),
            tls: None,
            limits: limits(&raw.limits),
            files: file_rules(&raw.files),
            settings: Arc::new(raw.settings.0),
        };
        // The defaults can be had with any models.
        let _ = config.settle();
        config.script_agents();
        config
    }
}

/// The file that is read, if there is one.
pub fn file(overrides: &Overrides) -> Option<PathBuf> {
    let named = overrides.config.as_ref().map(std::path::absolute).and_then(Result::ok);
    named.or_else(platform_file)
}

/// What the file says, even if the rest of it is wrong: mistakes in it are told in that language.
pub fn written_language(overrides: &Overrides) -> Option<Locale> {
    let table: toml::Table = std::fs::read_to_string(file(overrides)?).ok()?.parse().ok()?;
    Locale::parse(table.get("language")?.as_str()?)
}

/// The data directory alone, for commands that only talk to a running gateway.
pub fn data(overrides: Overrides) -> Result<PathBuf, ConfigError> {
    data_directory(&merged(overrides)?.data)
}

fn merged(overrides: Overrides) -> Result<RawConfig, ConfigError> {
    let mut raw = match file(&overrides) {
        Some(path) => read(&path)?,
        None => RawConfig::default(),
    };
    if let Some(text) = overrides.listen {
        raw.listen = flag("listen", &text)?;
    }
    if let Some(text) = overrides.models {
        raw.models = flag("models", &text)?;
    }
    raw.project = overrides.project.unwrap_or(raw.project);
    raw.data = overrides.data.unwrap_or(raw.data);
    raw.tls.cert = overrides.tls_cert.unwrap_or(raw.tls.cert);
    raw.tls.key = overrides.tls_key.unwrap_or(raw.tls.key);
    Ok(raw)
}

/// Names of rows differ.
fn check_names(raw: &RawConfig) -> Result<(), ConfigError> {
    if let Some(name) = user::repeated(&raw.users) {
        return Err(ConfigError::UserTwice(name.to_owned()));
    }
    if let Some(name) = chat::repeated(&raw.chat) {
        return Err(ConfigError::ChatTwice(name.to_owned()));
    }
    if let Some(name) = custom::repeated(&raw.tool) {
        return Err(ConfigError::ToolTwice(name.to_owned()));
    }
    if let Some(name) = live::repeated(&raw.live) {
        return Err(ConfigError::LiveTwice(name.to_owned()));
    }
    match agent::repeated(&raw.agents) {
        Some(name) => Err(ConfigError::AgentTwice(name.to_owned())),
        None => Ok(()),
    }
}

/// The file that is read if none is named; `None` if it does not exist.
pub fn platform_file() -> Option<PathBuf> {
    platform_path().filter(|path| path.exists())
}

/// The file that changes belong in; it need not exist yet.
pub fn file_to_edit(overrides: &Overrides) -> Result<PathBuf, ConfigError> {
    let named = overrides.config.as_ref().map(std::path::absolute).and_then(Result::ok);
    named.or_else(platform_path).ok_or(ConfigError::NoHome)
}

/// The users in this file; none, if it does not exist.
pub fn users(path: &Path) -> Result<Vec<User>, ConfigError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let users = read(path)?.users;
    match user::repeated(&users) {
        Some(name) => Err(ConfigError::UserTwice(name.to_owned())),
        None => Ok(users),
    }
}

fn platform_path() -> Option<PathBuf> {
    platform().map(|dirs| dirs.config_dir().join("kakehashi.toml"))
}

/// Where the settings are, unless they are elsewhere.
pub fn settings_directory() -> Option<PathBuf> {
    platform().map(|dirs| dirs.config_dir().to_owned())
}

fn platform() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "kakehashi")
}

fn read(path: &Path) -> Result<RawConfig, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|reason| ConfigError::Read { path: path.to_owned(), reason })?;
    raw::parse(&text).map_err(|mistake| ConfigError::File {
        path: path.to_owned(),
        line: mistake.line,
        reason: mistake.reason,
    })
}

/// A flag's text is read by the same rules as the file's.
fn flag<'de, T: Deserialize<'de>>(flag: &'static str, text: &'de str) -> Result<T, ConfigError> {
    let text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> =
        text.into_deserializer();
    T::deserialize(text).map_err(|err| ConfigError::Flag { flag, reason: err.to_string() })
}

fn directory(path: &Path) -> Result<PathBuf, ConfigError> {
    match path.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(_) | Err(_) => Err(ConfigError::Project(path.to_owned())),
    }
}

/// Each project is known by its real path, whatever the file calls it.
fn projects(rows: BTreeMap<ProjectName, PathBuf>) -> Result<Vec<(String, PathBuf)>, ConfigError> {
    let check = |(ProjectName(name), path): (ProjectName, PathBuf)| match directory(&path) {
        Ok(found) => Ok((name, found)),
        Err(_) => Err(ConfigError::OtherProject { name, path }),
    };
    rows.into_iter().map(check).collect()
}

fn data_directory(path: &Path) -> Result<PathBuf, ConfigError> {
    if path.as_os_str().is_empty() {
        return platform().map(|dirs| dirs.data_dir().to_owned()).ok_or(ConfigError::NoHome);
    }
    std::path::absolute(path).map_err(|reason| ConfigError::Data { path: path.to_owned(), reason })
}

/// 0 is for ever.
fn age(days: Within<0, 36_500>) -> Option<Duration> {
    let age = days.seconds() * DAY_SECONDS;
    (!age.is_zero()).then_some(age)
}

fn limits(raw: &RawLimits) -> Limits {
    Limits {
        handshake: raw.handshake_seconds.seconds(),
        header: raw.header_seconds.seconds(),
        audio_frame: raw.audio_frame_kib.kib(),
        input_frame: raw.input_frame_kib.kib(),
        other_frame: raw.other_frame_kib.kib(),
        image_pixels: u64::from(raw.image_megapixels.0) * 1_000_000,
        sockets_per_channel: raw.sockets_per_channel.count(),
        sockets_per_principal: raw.sockets_per_principal.count(),
        sockets: raw.sockets.count(),
        connections: raw.connections.count(),
        connections_per_address: raw.connections_per_address.count(),
        queue_per_channel: raw.queue_per_channel.count(),
        unload: raw.unload_minutes.seconds() * 60,
        idle_sessions: raw.idle_sessions.count(),
        idle_bytes: raw.idle_sessions_mib.kib() * 1024,
        agent_idle: raw.agent_idle_minutes.seconds() * 60,
        write: raw.write_seconds.seconds(),
        ping: raw.ping_seconds.seconds(),
        request: raw.request_hours.seconds() * 3600,
        confirm: raw.confirm_seconds.seconds(),
        command: raw.command_seconds.seconds(),
        chat_tokens: u64::from(raw.chat_kilotokens_per_day.0) * 1000,
        shutdown: raw.shutdown_seconds.seconds(),
    }
}

fn login_rules(raw: &RawLogin) -> LoginRules {
    LoginRules { lifetime: raw.token_hours.seconds() * 3600, attempts: raw.attempts.0 }
}

/// By this name the system finds it also when it was replaced meanwhile.
fn own_binary() -> PathBuf {
    if cfg!(target_os = "linux") {
        return "/proc/self/exe".into();
    }
    std::env::current_exe().unwrap_or_else(|_| "kakehashi".into())
}

fn file_rules(raw: &RawFiles) -> FileRules {
    FileRules {
        backup_keep: raw.backup_keep.count(),
        backup_age: raw.backup_days.seconds() * DAY_SECONDS,
        temp_quota: u64::from(raw.temp_quota_mib.0) * 1024 * 1024,
        temp_age: raw.temp_days.seconds() * DAY_SECONDS,
        content: u64::from(raw.content_mib.0) * 1024 * 1024,
    }
}

#[cfg(test)]
mod tests;
