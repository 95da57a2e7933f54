//! What a workplace means to an agent's process: its directory, its agent home and the sandbox around it. The sandbox
//! shows nothing of the gateway's own.

use super::site::{SharedProject, Site};
use crate::config::{self, Config};
use crate::message::{AgentSlot, Principal, SessionId};
use crate::process::{self, AgentHome, Place};
use crate::provider::agent::{self, Checker, Program};
use crate::provider::row::{AgentKind, AgentRow, CommandFormat};
use crate::sandbox::{self, Confinement, Means, Network, StandIn};
use crate::session::Env;
use crate::session::shared::Shared;
use crate::store;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Agent home of the scripted agent, which every session has.
const SCRIPTED: &str = "scripted";
/// Linked from the gateway's home directory into every agent home, so that commits have an author.
const ALWAYS_LINKED: &str = "~/.gitconfig";

/// Shown when [`crate::workplace::Nested`] was cut short.
const NOT_ALL_PROTECTED: &str = "the project holds more directories or repositories than the gateway looks at, so this \
                                 agent can change hooks and settings of some repositories within it";

/// Temporary files of agents: below the data directory, for each session and each [`PlaceUser`] in it.
pub(in crate::session) const TEMP: &str = "agent-temp";

/// Makes an agent's [`Place`] from its [`Site`].
#[derive(Debug, Clone)]
pub(in crate::session) struct AgentPlaces {
    env: Env,
    principal: Principal,
    session: SessionId,
}

/// Who runs at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum PlaceUser {
    Agent(AgentSlot),
    /// The chat and the live model.
    Chat,
    /// The operator's check command on this agent's work. Checks of several agents run at the same time.
    Check(AgentSlot),
}

/// The place for commands of the chat and of the live model: the project itself, boxed like an agent, without network.
/// Blocking.
pub(in crate::session) fn chat_place(
    env: &Env,
    principal: &Principal,
    session: &SessionId,
) -> Place {
    let site = Site::project(env);
    let (env, principal, session) = (env.clone(), principal.clone(), session.clone());
    AgentPlaces { env, principal, session }.place(&site, None, PlaceUser::Chat)
}

impl PlaceUser {
    fn room(self) -> String {
        match self {
            Self::Agent(slot) => slot.number().to_string(),
            Self::Chat => "chat".to_owned(),
            Self::Check(slot) => ["check", &slot.number().to_string()].join("-"),
        }
    }
}

/// Why agents run without a sandbox; `None` if they have one. Blocking.
pub(in crate::session) fn no_box(config: &Config) -> Option<Arc<str>> {
    if !config.box_rules.enabled {
        return Some("[box] enabled = false".into());
    }
    sandbox::probe(&config.supervisor, config.box_rules.way).err().map(Into::into)
}

/// Paths that no agent sees, whoever it works for.
pub(in crate::session) fn hidden(config: &Config) -> Arc<[PathBuf]> {
    let mut hidden = sandbox::secrets_of_others(config::home().as_deref());
    hidden.extend(config.box_rules.hidden.iter().chain([&config.data]).cloned());
    hidden.extend(config::settings_directory());
    hidden.into()
}

impl AgentPlaces {
    pub(in crate::session) fn of(shared: &Shared) -> Self {
        let (env, principal) = (shared.env.clone(), shared.principal.clone());
        Self { env, principal, session: shared.id.clone() }
    }

    /// The place for the agent of this row. The scripted agent has no row.
    pub(in crate::session) fn place(
        &self,
        site: &Site,
        row: Option<&AgentRow>,
        user: PlaceUser,
    ) -> Place {
        let home = self.home(row, user);
        let notice = self.env.no_box.as_ref().map(|why| {
            format!(
                "this agent is not boxed and can read and change whatever the gateway can: {why}"
            )
        });
        let config = &self.env.config;
        // The sandbox was probed at the start; the result is the same now.
        let means = match self.env.no_box {
            None => sandbox::probe(&config.supervisor, config.box_rules.way).ok(),
            Some(_) => None,
        };
        let confinement =
            means.map(|means| Arc::new(self.confinement(site, row, &home, means.clone())));
        let notice = notice.or_else(|| is_cut(site).then(|| NOT_ALL_PROTECTED.to_owned()));
        let directory = site.directory(&self.env.files);
        Place { directory, home: Some(home), confinement, notice }
    }

    fn home(&self, row: Option<&AgentRow>, user: PlaceUser) -> AgentHome {
        let name = row.map_or(SCRIPTED, |row| &row.name);
        let shared = row.into_iter().flat_map(|row| &row.writable).map(String::as_str);
        let links = shared.chain([ALWAYS_LINKED]).filter_map(|text| {
            Some((PathBuf::from(text.strip_prefix("~/")?), config::at_home(text)?))
        });
        let directory = self.env.files.agent_home(&self.principal, name);
        let temp = temp(&self.env.config.data, &self.session).join(user.room());
        AgentHome { directory, temp, links: links.collect() }
    }

    fn confinement(
        &self,
        site: &Site,
        row: Option<&AgentRow>,
        home: &AgentHome,
        means: Means,
    ) -> Confinement {
        let config = &self.env.config;
        let directory = site.directory(&self.env.files);
        let mut writable = vec![directory.clone(), home.home(), home.temp.clone()];
        let shared = row.into_iter().flat_map(|row| &row.writable);
        writable.extend(shared.filter_map(|text| config::at_home(text)));
        let protected = match site {
            Site::Worktree(worktree) => {
                // The agent's directory may be below the top of the worktree. Nothing of the user's is writable here,
                // so nothing has to be protected.
                writable.push(worktree.top().to_owned());
                Vec::new()
            }
            // Hooks, settings and links to other git directories: whoever uses git next follows them, outside of the
            // sandbox.
            Site::Shared(SharedProject { nested, .. }) => {
                let own = directory.join(".git");
                // A directory that is a mount itself cannot be renamed, so nothing else can take the place of a
                // repository.
                writable.extend(nested.entries.iter().flat_map(|git| between(git, &directory)));
                nested.entries.iter().cloned().chain([own]).collect()
            }
        };
        let mut seen = vec![self.env.files.made_uploads(&self.principal)];
        let mut stand_ins = Vec::new();
        if let Site::Worktree(worktree) = site {
            // The worktree's repository borrows objects from these directories.
            seen.extend(worktree.borrowed_objects());
            // Whoever uses git in the worktree outside of the sandbox must not get the agent's settings.
            let (directory, place) = worktree.git_stand_in();
            stand_ins.push(StandIn { directory, place });
        }
        let own = ["token", store::FILE, "control.sock"].map(|name| config.data.join(name));
        let network = match row {
            Some(row) if row.network => Network::Open,
            Some(_) | None => Network::None,
        };
        Confinement {
            launcher: config.supervisor.clone(),
            writable,
            readable: named(row).chain(seen).collect(),
            protected,
            stand_ins,
            hidden: Arc::clone(&self.env.hidden),
            secrets: config.private_files().into_iter().chain(own).collect(),
            network,
            means,
            limits: config.box_rules.limits,
            closed_ports: [Some(config.listen), config.smol.listen]
                .into_iter()
                .flatten()
                .map(|address| address.port())
                .collect(),
            closed: None,
        }
    }
}

/// Directory of the temporary files of a session's agents.
pub(in crate::session) fn temp(data: &Path, session: &SessionId) -> PathBuf {
    data.join(TEMP).join(session.as_str())
}

/// The directories above a repository's `.git`, up to the project but without it.
fn between<'a>(git: &'a Path, project: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let parents = git.ancestors().skip(1).take_while(move |parent| *parent != project);
    parents.map(Path::to_owned)
}

fn is_cut(site: &Site) -> bool {
    match site {
        Site::Worktree(_) => false,
        Site::Shared(shared) => shared.nested.cut,
    }
}

/// Paths in the row's command, which must be visible in the sandbox wherever they are.
fn named(row: Option<&AgentRow>) -> impl Iterator<Item = PathBuf> {
    let program = row.and_then(agent::installed).and_then(|path| path.canonicalize().ok());
    let program = program.and_then(|path| path.parent().map(Path::to_owned));
    let arguments = row.into_iter().flat_map(|row| row.command.iter().skip(1));
    let arguments: Vec<_> =
        arguments.map(PathBuf::from).filter(|path| path.is_absolute()).collect();
    program.into_iter().chain(arguments)
}

/// The operator's check command, if there is one.
pub(super) fn checker(config: &Config) -> Option<Checker> {
    let check = config.check.as_ref()?;
    let row = AgentRow {
        command: check.command.clone(),
        env: check.env.clone(),
        network: check.network,
        ..AgentRow::new("check", AgentKind::Command(CommandFormat::Text))
    };
    let (supervisor, owner) = (config.supervisor.clone(), process::owner(&config.data));
    let program = Program { row, supervisor, owner, model: None, resume: None };
    Some(Checker { program: Arc::new(program), limit: check.limit })
}
