//! From a command to a conversation: the process, the handshake, a session, and the mode in which it asks.

use super::option::{Choices, Switch};
use super::peer::{Peer, Said};
use super::wire::{Incoming, RpcError};
use super::{Agent, Halt, Happening};
use crate::provider::agent::{AgentInput, AgentOutput, AgentPrompt, AgentState, installed};
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, ClientCapabilities, Implementation, InitializeRequest,
    InitializeResponse, LoadSessionRequest, LoadSessionResponse, NewSessionRequest,
    NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOptionValue,
    SessionConfigValueId, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Agents in JavaScript take a quarter of a minute on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(120);
/// One that runs already answers soon.
const MODE_LIMIT: Duration = Duration::from_secs(30);
const ASKING_MODE: &str = "the mode in which it asks";
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

/// Why a start has failed.
#[derive(Debug)]
enum Trouble {
    Halt(Halt),
    /// It died or stayed silent over a conversation that it was to go on with, or does not go back to asking in it.
    Conversation(String),
}

impl From<Halt> for Trouble {
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
        if let Some(agent) = &self.inside {
            // Our own agent says by its file whether there is a conversation to go on with.
            self.session = agent.remembered().await;
        }
        let earlier = self.session.clone();
        let opened = self.start_or_begin_anew().await;
        if opened.is_err() {
            // Nothing was said in another one, and that it does not start at all is not the conversation's fault.
            self.session = earlier;
        }
        opened
    }

    /// A conversation over which an agent dies would be its death every time: then it begins a new one.
    async fn start_or_begin_anew(&mut self) -> Result<(), Halt> {
        let reason = match self.start().await {
            Ok(()) => return Ok(()),
            Err(Trouble::Halt(halt)) => return Err(halt),
            Err(Trouble::Conversation(reason)) => reason,
        };
        let label = &self.program.row.label;
        self.note(format!(
            "{label} cannot go on with what was said before, and begins anew: {reason}"
        ));
        self.session = None;
        self.start().await.map_err(|trouble| match trouble {
            Trouble::Halt(halt) => halt,
            Trouble::Conversation(reason) => Halt::Failed(reason),
        })
    }

    async fn start(&mut self) -> Result<(), Trouble> {
        self.tell_state(AgentState::Starting);
        self.peer = Some(match &self.inside {
            Some(agent) => Peer::start_inside(agent, &self.place),
            None => self.start_program()?,
        });
        if let Some(notice) = self.place.notice.clone() {
            self.tell(AgentOutput::Note(notice));
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

    async fn introduce(&mut self, mut start: Start) -> Result<(), Trouble> {
        let own = Implementation::new("kakehashi", env!("CARGO_PKG_VERSION"))
            .title("Kakehashi".to_owned());
        // Files and terminals stay off: agents work on the disk, where a box and backups can see it.
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new())
            .client_info(own);
        let about: InitializeResponse = match self.call("initialize", &hello, &mut start).await {
            Ok(about) => about,
            Err(err) => return Err(self.refused("initialize", err, &[]).into()),
        };
        if about.protocol_version != ProtocolVersion::V1 {
            let label = &self.program.row.label;
            let version = about.protocol_version;
            let reason =
                format!("{label} speaks version {version} of the protocol, and we speak 1");
            return Err(Halt::Failed(reason).into());
        }
        self.takes = about.agent_capabilities.prompt_capabilities.clone();
        let resumed = self.resume(&about, &mut start).await?;
        let is_resumed = resumed.is_some();
        self.choices = match resumed {
            Some(choices) => choices,
            None => match self.begin(&mut start).await {
                Ok(choices) => choices,
                Err(err) => {
                    return Err(self.refused("session/new", err, &about.auth_methods).into());
                }
            },
        };
        if let Err(err) = self.settle_in(&mut start).await {
            let ways = &about.auth_methods;
            return Err(if is_resumed {
                self.unsettled(err, ways)
            } else {
                self.refused(ASKING_MODE, err, ways).into()
            });
        }
        // Told only now: a conversation in which it cannot work must not take the place of one that is remembered.
        let session = self.session.clone().unwrap_or_default();
        self.tell(AgentOutput::Opened { session, resumed: is_resumed });
        Ok(())
    }

    async fn settle_in(&mut self, start: &mut Start) -> Result<(), CallError> {
        self.choose_mode(start).await?;
        self.choose_model(start).await?;
        // Another model may have brought another mode with it.
        self.leave_other_mode(start).await
    }

    /// In a conversation that goes on. Some do not repeat what they can be set to, and refuse a mode that others take:
    /// that would be so every time.
    fn unsettled(&self, err: CallError, ways: &[AuthMethod]) -> Trouble {
        let wants_login =
            matches!(&err, CallError::Refused(error) if error.code == RpcError::AUTH_REQUIRED);
        match self.refused(ASKING_MODE, err, ways) {
            Halt::Failed(reason) if !wants_login => Trouble::Conversation(reason),
            halt @ (Halt::Failed(_) | Halt::Cancelled | Halt::LinkDropped) => Trouble::Halt(halt),
        }
    }

    /// Goes on with the conversation of an earlier process if there is one and the agent can.
    async fn resume(
        &mut self,
        about: &InitializeResponse,
        start: &mut Start,
    ) -> Result<Option<Choices>, Trouble> {
        let Some(earlier) = self.session.clone() else { return Ok(None) };
        match self.go_on(&earlier, &about.agent_capabilities, start).await {
            Ok(Some(choices)) => return Ok(Some(choices)),
            Ok(None) => {}
            Err(CallError::Halt(Halt::Failed(reason))) => {
                return Err(Trouble::Conversation(reason));
            }
            Err(err) => return Err(self.refused("session/load", err, &about.auth_methods).into()),
        }
        let label = &self.program.row.label;
        self.note(format!("{label} does not remember what was said before"));
        self.session = None;
        Ok(None)
    }

    async fn begin(&mut self, start: &mut Start) -> Result<Choices, CallError> {
        let fresh = NewSessionRequest::new(self.place.cwd());
        let session: NewSessionResponse = self.call("session/new", &fresh, start).await?;
        self.session = Some(session.session_id.to_string());
        Ok(Choices::offered(session.modes, session.config_options))
    }

    /// `None`: it cannot. To resume is better than to load, which tells everything once more.
    async fn go_on(
        &mut self,
        earlier: &str,
        can: &AgentCapabilities,
        start: &mut Start,
    ) -> Result<Option<Choices>, CallError> {
        if can.session_capabilities.resume.is_some() {
            let request = ResumeSessionRequest::new(earlier.to_owned(), self.place.cwd());
            let resumed = self.call("session/resume", &request, start).await;
            if let Some(session) = unless_refused::<ResumeSessionResponse>(resumed)? {
                return Ok(Some(Choices::repeated(session.modes, session.config_options)));
            }
        }
        if can.load_session {
            let request = LoadSessionRequest::new(earlier.to_owned(), self.place.cwd());
            let loaded = self.call("session/load", &request, start).await;
            if let Some(session) = unless_refused::<LoadSessionResponse>(loaded)? {
                self.hear_history().await?;
                return Ok(Some(Choices::repeated(session.modes, session.config_options)));
            }
        }
        Ok(None)
    }

    /// An agent that cannot be brought to ask must not work.
    async fn choose_mode(&mut self, start: &mut Start) -> Result<(), CallError> {
        let row = &self.program.row;
        let Some(wanted) = row.mode.clone() else { return Ok(()) };
        let switch = self.choices.mode(&wanted, row.mode_option.as_deref());
        if let Switch::Missing { offered } = &switch {
            let offered = offered.join(", ");
            let reason = format!(
                "{} has no mode `{wanted}`, in which it asks before it acts; it has: {offered}",
                row.label
            );
            return Err(Halt::Failed(reason).into());
        }
        self.switch(switch, &wanted, start).await?;
        self.choices.set_mode(&wanted, self.program.row.mode_option.as_deref());
        self.tell(AgentOutput::Mode(wanted));
        Ok(())
    }

    /// Between two prompts an agent may have left the mode in which it asks. It goes back there or does not work.
    pub(super) async fn return_to_mode(&mut self) -> Result<(), Halt> {
        let mut start = Start { limit: Instant::now() + MODE_LIMIT, complaints: 0 };
        let returned = self.leave_other_mode(&mut start).await;
        returned.map_err(|err| self.refused(ASKING_MODE, err, &[]))
    }

    async fn leave_other_mode(&mut self, start: &mut Start) -> Result<(), CallError> {
        let row = &self.program.row;
        let (Some(left), Some(wanted)) = (self.left_mode(), &row.mode) else { return Ok(()) };
        let label = &row.label;
        self.note(format!("{label} is brought back from the mode `{left}` to `{wanted}`"));
        self.choose_mode(start).await
    }

    /// The mode in which it works now, if the row wants another.
    pub(super) fn left_mode(&self) -> Option<&str> {
        let row = &self.program.row;
        self.choices.left(row.mode.as_deref()?, row.mode_option.as_deref())
    }

    /// Another model is no reason not to work, but it is told.
    async fn choose_model(&mut self, start: &mut Start) -> Result<(), Halt> {
        let Some(wanted) = self.program.model.clone() else { return Ok(()) };
        let switch = self.choices.model(&wanted, self.program.row.model_option.as_deref());
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
        self.note(format!("{label} keeps its model instead of `{wanted}`; {reason}"));
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
                let answer =
                    self.call::<Value>("session/set_config_option", &request, start).await?;
                self.on_options(answer);
                Ok(())
            }
        }
    }

    /// One option may change another. Who does not say what they are now has changed none.
    fn on_options(&mut self, answer: Value) {
        let answer = serde_json::from_value::<SetSessionConfigOptionResponse>(answer);
        if let Ok(answer) = answer
            && !answer.config_options.is_empty()
        {
            self.choices.change_options(answer.config_options);
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
                Happening::Said(Said::Ended(why)) => {
                    let lost = self.lost(&why).await;
                    return Err(self.with_hint(lost).into());
                }
                Happening::Input(AgentInput::Prompt(prompt)) => self.take_early(prompt),
                Happening::Input(AgentInput::Cancel | AgentInput::CancelNow) => {
                    self.bury().await?;
                    return Err(Halt::Cancelled.into());
                }
                Happening::Input(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                Happening::Late => {
                    let label = &self.program.row.label;
                    let reason = format!("{label} did not answer {method} in time");
                    return Err(Halt::Failed(reason).into());
                }
                Happening::LinkDropped => return Err(Halt::LinkDropped.into()),
            }
        }
    }

    /// Its own start is under way, whoever it was for.
    pub(super) fn take_early(&mut self, prompt: AgentPrompt) {
        self.hold(prompt);
        let _ = self.speak_up();
        self.tell_state(AgentState::Starting);
    }

    /// An agent that does not even start may lack what is not in its box.
    fn with_hint(&self, halt: Halt) -> Halt {
        match (halt, self.program.box_hint(&self.place)) {
            (Halt::Failed(reason), Some(hint)) => Halt::Failed(format!("{reason}; {hint}")),
            (halt, _) => halt,
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
