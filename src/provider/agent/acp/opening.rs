//! From a command to a conversation: the process, the handshake, a session, and the mode in which it asks.

use super::option::{Choices, Switch};
use super::peer::{Peer, Said};
use super::wire::{Incoming, RpcError};
use super::{Agent, Halt, Happening};
use crate::provider::agent::{AgentInput, AgentOutput, AgentState, BuiltIn, installed};
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, ClientCapabilities, Implementation, InitializeRequest,
    InitializeResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOptionValue,
    SessionConfigValueId, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Agents in JavaScript take a quarter of a minute on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(120);
/// So much of what it says on stderr while it starts is shown.
const SHOWN_COMPLAINTS: usize = 16 * 1024;

#[derive(Debug)]
enum CallError {
    Refused(RpcError),
    Halt(Halt),
}

impl From<Halt> for CallError {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// A start under way.
#[derive(Debug)]
struct Start {
    limit: Instant,
    /// How much may still be shown.
    complaints: usize,
}

impl Agent {
    /// Leaves either a session that takes prompts, or no process.
    pub(super) async fn open(&mut self) -> Result<(), Halt> {
        self.tell_state(AgentState::Starting);
        self.peer = Some(match self.inside.clone() {
            Some(agent) => self.invite(&agent).await,
            None => self.start_program()?,
        });
        if let Some(notice) = self.place.notice.clone() {
            self.tell(AgentOutput::Line(notice));
        }
        let start = Start { limit: Instant::now() + START_LIMIT, complaints: SHOWN_COMPLAINTS };
        let opened = self.introduce(start).await;
        if opened.is_err() {
            self.bury().await?;
        }
        opened
    }

    fn start_program(&self) -> Result<Peer, Halt> {
        let row = &self.program.row;
        if installed(row).is_none() {
            let command = row.command.first().map_or("", String::as_str);
            let reason = format!("{}: `{command}` is not installed. {}", row.label, row.install);
            return Err(Halt::Failed(reason.trim_end().to_owned()));
        }
        Peer::start(&self.program, &self.place)
            .map_err(|err| Halt::Failed(format!("{} cannot be started: {err}", row.label)))
    }

    /// Our own agent says by its file whether there is a conversation to go on with.
    async fn invite(&mut self, agent: &Arc<BuiltIn>) -> Peer {
        self.session = agent.remembered().await;
        Peer::start_inside(agent, &self.place)
    }

    async fn introduce(&mut self, mut start: Start) -> Result<(), Halt> {
        let own = Implementation::new("kakehashi", env!("CARGO_PKG_VERSION"))
            .title("Kakehashi".to_owned());
        // Files and terminals stay off: agents work on the disk, where a box and backups can see it.
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new())
            .client_info(own);
        let about: InitializeResponse = match self.call("initialize", &hello, &mut start).await {
            Ok(about) => about,
            Err(err) => return Err(self.refused("initialize", err, &[])),
        };
        if about.protocol_version != ProtocolVersion::V1 {
            let label = &self.program.row.label;
            let version = about.protocol_version;
            return Err(Halt::Failed(format!(
                "{label} speaks version {version} of the protocol, and we speak 1"
            )));
        }
        self.takes = about.agent_capabilities.prompt_capabilities.clone();
        let choices = match self.session(&about.agent_capabilities, &mut start).await {
            Ok(choices) => choices,
            Err(err) => return Err(self.refused("session/new", err, &about.auth_methods)),
        };
        self.choose_mode(&choices, &mut start).await?;
        self.choose_model(&choices, &mut start).await
    }

    /// Goes on with the conversation of an earlier process if there is one and the agent can.
    async fn session(
        &mut self,
        can: &AgentCapabilities,
        start: &mut Start,
    ) -> Result<Choices, CallError> {
        if let Some(earlier) = self.session.clone() {
            if let Some(choices) = self.go_on(&earlier, can, start).await? {
                self.tell(AgentOutput::Opened { session: earlier, resumed: true });
                return Ok(choices);
            }
            let label = &self.program.row.label;
            let line = format!("{label} does not remember what was said before");
            self.tell(AgentOutput::Line(line));
            self.session = None;
        }
        let fresh = NewSessionRequest::new(&self.place.directory);
        let session: NewSessionResponse = self.call("session/new", &fresh, start).await?;
        let id = session.session_id.to_string();
        self.tell(AgentOutput::Opened { session: id.clone(), resumed: false });
        self.session = Some(id);
        Ok(Choices { modes: session.modes, options: session.config_options.unwrap_or_default() })
    }

    /// `None`: it cannot. To resume is better than to load, which tells everything once more.
    async fn go_on(
        &mut self,
        earlier: &str,
        can: &AgentCapabilities,
        start: &mut Start,
    ) -> Result<Option<Choices>, CallError> {
        if can.session_capabilities.resume.is_some() {
            let request = ResumeSessionRequest::new(earlier.to_owned(), &self.place.directory);
            let resumed = self.call("session/resume", &request, start).await;
            if let Some(session) = unless_refused::<ResumeSessionResponse>(resumed)? {
                let options = session.config_options.unwrap_or_default();
                return Ok(Some(Choices { modes: session.modes, options }));
            }
        }
        if can.load_session {
            let request = LoadSessionRequest::new(earlier.to_owned(), &self.place.directory);
            let loaded = self.call("session/load", &request, start).await;
            if let Some(session) = unless_refused::<LoadSessionResponse>(loaded)? {
                let options = session.config_options.unwrap_or_default();
                return Ok(Some(Choices { modes: session.modes, options }));
            }
        }
        Ok(None)
    }

    /// An agent that cannot be brought to ask must not work.
    async fn choose_mode(&mut self, choices: &Choices, start: &mut Start) -> Result<(), Halt> {
        let row = &self.program.row;
        let Some(wanted) = row.mode.clone() else { return Ok(()) };
        let switch = choices.mode(&wanted, row.mode_option.as_deref());
        if let Switch::Missing { offered } = &switch {
            let offered = offered.join(", ");
            return Err(Halt::Failed(format!(
                "{} has no mode `{wanted}`, in which it asks before it acts; it has: {offered}",
                row.label
            )));
        }
        match self.switch(switch, &wanted, start).await {
            Ok(()) => {
                self.tell(AgentOutput::Mode(wanted));
                Ok(())
            }
            Err(err) => Err(self.refused("the mode in which it asks", err, &[])),
        }
    }

    /// Another model is no reason not to work, but it is told.
    async fn choose_model(&mut self, choices: &Choices, start: &mut Start) -> Result<(), Halt> {
        let Some(wanted) = self.program.model.clone() else { return Ok(()) };
        let switch = choices.model(&wanted, self.program.row.model_option.as_deref());
        let reason = match switch {
            Switch::Missing { offered } => format!("it has: {}", offered.join(", ")),
            switch @ (Switch::Already | Switch::Mode | Switch::Option { .. }) => {
                match self.switch(switch, &wanted, start).await {
                    Ok(()) => return Ok(()),
                    Err(CallError::Refused(error)) => error.text(),
                    Err(CallError::Halt(halt)) => return Err(halt),
                }
            }
        };
        let label = &self.program.row.label;
        self.tell(AgentOutput::Line(format!(
            "{label} keeps its model instead of `{wanted}`; {reason}"
        )));
        Ok(())
    }

    async fn switch(
        &mut self,
        switch: Switch,
        wanted: &str,
        start: &mut Start,
    ) -> Result<(), CallError> {
        let session = self.session.clone().unwrap_or_default();
        match switch {
            Switch::Already | Switch::Missing { .. } => Ok(()),
            Switch::Mode => {
                let request = SetSessionModeRequest::new(session, wanted.to_owned());
                self.call::<Value>("session/set_mode", &request, start).await.map(drop)
            }
            Switch::Option { id } => {
                let value = SessionConfigValueId::new(wanted.to_owned());
                let value = SessionConfigOptionValue::ValueId { value };
                let request = SetSessionConfigOptionRequest::new(session, id, value);
                self.call::<Value>("session/set_config_option", &request, start).await.map(drop)
            }
        }
    }

    /// Asks and waits. What the agent tells meanwhile is of no prompt: a loaded session repeats its history.
    async fn call<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
        start: &mut Start,
    ) -> Result<T, CallError> {
        let wanted = self.request(method, params)?;
        loop {
            match self.next(Some(start.limit)).await {
                Happening::Said(Said::Message(Incoming::Response { id, result }))
                    if id == wanted =>
                {
                    let value = result.map_err(CallError::Refused)?;
                    return serde_json::from_value(value).map_err(|err| {
                        let reason = format!("the answer to {method} cannot be read: {err}");
                        CallError::Halt(Halt::Failed(reason))
                    });
                }
                Happening::Said(Said::Message(Incoming::Noise(line)) | Said::Complaint(line)) => {
                    self.show(line, start);
                }
                Happening::Said(Said::Message(message)) => self.on_other(message),
                Happening::Said(Said::Ended(why)) => return Err(self.lost(&why).await.into()),
                Happening::Input(AgentInput::Prompt(prompt)) => {
                    self.hold(prompt);
                    // Its own start is under way, whoever it was for.
                    let _ = self.speak_up();
                    self.tell_state(AgentState::Starting);
                }
                Happening::Input(AgentInput::Cancel | AgentInput::CancelNow) => {
                    self.bury().await?;
                    return Err(Halt::Cancelled.into());
                }
                Happening::Input(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                Happening::Late => {
                    let (label, limit) = (&self.program.row.label, START_LIMIT.as_secs());
                    let reason = format!(
                        "{label} did not answer {method} within {limit} seconds of its start"
                    );
                    return Err(Halt::Failed(reason).into());
                }
                Happening::LinkDropped => return Err(Halt::LinkDropped.into()),
            }
        }
    }

    fn show(&mut self, line: String, start: &mut Start) {
        let size = line.len() + 1;
        if size <= start.complaints {
            start.complaints -= size;
            self.tell(AgentOutput::Line(line));
        } else if start.complaints > 0 {
            start.complaints = 0;
            self.tell(AgentOutput::Line("...".to_owned()));
        }
    }

    /// What to say about a request that the agent refused while it started.
    fn refused(&self, what: &str, err: CallError, ways: &[AuthMethod]) -> Halt {
        let error = match err {
            CallError::Halt(halt) => return halt,
            CallError::Refused(error) => error,
        };
        if error.code == RpcError::AUTH_REQUIRED {
            return Halt::Failed(self.login_needed(&error, ways));
        }
        let label = &self.program.row.label;
        Halt::Failed(format!("{label} refused {what}: {}", error.text()))
    }

    pub(super) fn login_needed(&self, error: &RpcError, ways: &[AuthMethod]) -> String {
        let label = &self.program.row.label;
        let ways = ways.iter().map(|way| match way.description() {
            Some(description) => format!("{} ({description})", way.name()),
            None => way.name().to_owned(),
        });
        let ways: Vec<String> = ways.collect();
        let known = if ways.is_empty() {
            String::new()
        } else {
            format!(" It knows: {}.", ways.join("; "))
        };
        format!(
            "{label} needs a login: {}.{known} Log in with its own command as the user who runs the gateway, or \
             list the variable of its key in `env` of its row",
            error.text()
        )
    }
}

/// A refusal is `None`: there is another way. Who only wants a login still remembers, and is asked again after it.
fn unless_refused<T>(answer: Result<T, CallError>) -> Result<Option<T>, CallError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(CallError::Refused(error)) if error.code != RpcError::AUTH_REQUIRED => Ok(None),
        Err(err) => Err(err),
    }
}
