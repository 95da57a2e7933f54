//! The HTTP API beside the socket: its paths, and the format of requests and answers. Answers are envelopes of
//! `status`, `message`, `data` and `error`, except for invalid requests.

use super::settings::{self, KeyProblem};
use super::value;
use super::wire::{self, key, path};
use crate::dialect::{BodyError, Fields};
use crate::locale::Locale;
use crate::message::{
    AgentSlot, Channel, ModelOffer, Principal, SentSessionId, SessionId, SessionSettings, Setting,
    SettingChange, SettingProblem,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Prefix of file names in an agent's copy, followed by the agent's number.
const COPY_PREFIX: &str = "agent-";
/// All users have the same role here.
const ROLE: &str = "1";

/// What can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Login,
    Who,
    Logout,
    Start,
    Models,
    Settings,
    Sessions,
    Content,
    State,
}

impl Endpoint {
    pub const ALL: [Self; 9] = [
        Self::Login,
        Self::Who,
        Self::Logout,
        Self::Start,
        Self::Models,
        Self::Settings,
        Self::Sessions,
        Self::Content,
        Self::State,
    ];

    /// `path` is the decoded part after `/core/`.
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.path() == path)
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::Login => path::LOGIN,
            Self::Who => path::WHO,
            Self::Logout => path::LOGOUT,
            Self::Start => path::START,
            Self::Models => path::MODELS,
            Self::Settings => path::SETTINGS,
            Self::Sessions => path::SESSIONS,
            Self::Content => path::CONTENT,
            Self::State => path::STATE,
        }
    }

    pub fn method(self) -> &'static str {
        if self == Self::State { "GET" } else { "POST" }
    }
}

/// An HTTP answer; the body is always JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    fn ok(message: String, data: impl Serialize) -> Self {
        let body = json!({"status": "OK", "message": message, "data": data, "error": null});
        Self { status: 200, body: body.to_string() }
    }

    /// Existing clients check `status` in the envelope, not the HTTP status.
    fn refused(status: u16, code: &str, message: String) -> Self {
        let error = json!({"code": code, "message": message});
        let body = json!({"status": "NG", "message": message, "data": null, "error": error});
        Self { status, body: body.to_string() }
    }

    /// The request itself is invalid; names the field and the mistake.
    fn invalid(locale: Locale, error: &BodyError) -> Self {
        let place: Vec<_> = std::iter::once("body").chain(error.field()).collect();
        let row = json!({"type": "value_error", "loc": place, "msg": error.say(locale)});
        Self { status: 422, body: json!({"detail": [row]}).to_string() }
    }
}

/// The answer to a request with a foreign Host or Origin. Some clients show `detail`, others `message`.
pub fn foreign_request(code: &str, message: String) -> Answer {
    let error = json!({"code": code, "message": message});
    let body = json!({
        "status": "NG", "message": message, "data": null, "error": error, "detail": message,
    });
    Answer { status: 403, body: body.to_string() }
}

/// Credentials of a login request.
#[derive(Debug)]
pub struct Login {
    pub name: String,
    pub password: String,
}

pub fn read_login(locale: Locale, body: &[u8]) -> Result<Login, Answer> {
    read(locale, body, |fields| {
        let name = fields.text(key::USER)?;
        Ok(Login { name, password: fields.text(key::PASSWORD)? })
    })
}

/// The session of the request; `None`: a new session, or no particular one.
pub fn read_session(locale: Locale, body: &[u8]) -> Result<Option<SentSessionId>, Answer> {
    if body.is_empty() {
        return Ok(None);
    }
    session(locale, read(locale, body, |fields| fields.optional_text(key::SESSION))?)
}

/// Settings to change.
#[derive(Debug)]
pub struct SettingsRequest {
    pub session: Option<SentSessionId>,
    /// How many keys the request names.
    pub count: usize,
    pub changes: Vec<SettingChange>,
    /// Keys that are unknown or whose value is refused.
    pub problems: Vec<(String, KeyProblem)>,
    pub restart: Restart,
}

/// Existing clients ask for a restart with every change of settings. A restart over HTTP is always refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    Asked,
    NotAsked,
}

pub fn read_settings(locale: Locale, body: &[u8]) -> Result<SettingsRequest, Answer> {
    let (id, settings, restart) = read(locale, body, |fields| {
        let id = fields.optional_text(key::SESSION)?;
        let settings = fields.optional_object(key::SETTINGS)?;
        Ok((id, settings, fields.optional_object(key::RESTART)?))
    })?;
    let count = settings.len();
    let (mut changes, mut problems) = (Vec::new(), Vec::new());
    for (name, value) in settings {
        match settings::read(&name, &value) {
            Ok(change) => changes.extend(change),
            Err(problem) => problems.push((name, problem)),
        }
    }
    let wanted = restart.values().any(|wanted| *wanted != Value::Bool(false));
    Ok(SettingsRequest {
        session: session(locale, id)?,
        count,
        changes,
        problems,
        restart: if wanted { Restart::Asked } else { Restart::NotAsked },
    })
}

/// The requested file, by its name in the lists, and the session of those lists.
#[derive(Debug)]
pub struct ContentRequest {
    pub name: String,
    pub session: Option<SentSessionId>,
    /// The agent in whose workplace the file is; `None`: in the session's project.
    pub agent: Option<AgentSlot>,
    /// The agent and path, if the name was made by [`copy_path`].
    pub in_copy: Option<(AgentSlot, String)>,
}

/// The name of a file in an agent's own copy of the project, for clients that do not know about copies. It names the
/// agent's version of the file, even if the project has a file of this name.
pub fn copy_path(agent: AgentSlot, path: &str) -> String {
    format!("{COPY_PREFIX}{}:{path}", agent.number())
}

fn read_copy_path(name: &str) -> Option<(AgentSlot, String)> {
    let (agent, path) = name.strip_prefix(COPY_PREFIX)?.split_once(':')?;
    Some((AgentSlot::new(agent.parse().ok()?)?, path.to_owned()))
}

pub fn read_content(locale: Locale, body: &[u8]) -> Result<ContentRequest, Answer> {
    let (name, channel, id) = read(locale, body, |fields| {
        let name = fields.text(key::FILE_NAME)?;
        let channel = fields.optional_text(key::CHANNEL)?;
        Ok((name, channel, fields.optional_text(key::SESSION)?))
    })?;
    let agent = match channel.as_deref().and_then(value::channel) {
        Some(Channel::Agent(slot)) => Some(slot),
        Some(Channel::Audio | Channel::Input | Channel::File | Channel::Chat) | None => None,
    };
    let in_copy = agent.map_or_else(|| read_copy_path(&name), |_| None);
    Ok(ContentRequest { name, session: session(locale, id)?, agent, in_copy })
}

pub fn logged_in(locale: Locale, secret: &str) -> Answer {
    let data = wire::LoginData {
        access_token: secret,
        token_type: "bearer",
        first_page: wire::FIRST_PAGE,
    };
    Answer::ok(locale.say("http", "logged_in", &[]), data)
}

pub fn login_wrong(locale: Locale) -> Answer {
    Answer::refused(200, "LOGIN_FAILED", locale.say("http", "login_wrong", &[]))
}

pub fn login_too_often(locale: Locale, seconds: u64) -> Answer {
    let text = locale.say("http", "login_too_often", &[("seconds", &seconds.to_string())]);
    Answer::refused(429, "TOO_MANY_LOGINS", text)
}

pub fn unavailable(locale: Locale, reason: &str) -> Answer {
    let text = locale.say("http", "unavailable", &[("reason", reason)]);
    Answer::refused(503, "UNAVAILABLE", text)
}

pub fn user(locale: Locale, principal: &Principal) -> Answer {
    let name = principal.as_str();
    let data = wire::UserData { id: name, name, role: ROLE, remark: "" };
    Answer::ok(locale.say("http", "user", &[]), data)
}

pub fn logged_out(locale: Locale) -> Answer {
    Answer::ok(locale.say("http", "logged_out", &[]), Value::Null)
}

/// The caller used the gateway's own token, which cannot be logged out; only its file can end it.
pub fn not_a_login(locale: Locale) -> Answer {
    Answer::refused(200, "NOT_A_LOGIN", locale.say("http", "not_a_login", &[]))
}

pub fn started(locale: Locale, session: &SessionId) -> Answer {
    let data = wire::SessionData { session: session.as_str() };
    Answer::ok(locale.say("http", "started", &[]), data)
}

pub fn session_refused(locale: Locale) -> Answer {
    Answer::refused(200, "SESSION_REFUSED", locale.say("error", "session_refused", &[]))
}

pub fn models(locale: Locale, offer: &ModelOffer, settings: &SessionSettings) -> Answer {
    let data = wire::ModelsData {
        available_models: wire::OfferData {
            chat_models: settings::offer(&wire::CHAT_NAMES, &offer.chat),
            live_models: settings::offer(&wire::LIVE_NAMES, &offer.live),
            live_voices: settings::offer(&wire::LIVE_NAMES, &offer.voices),
            code_models: settings::offer(&wire::AGENT_NAMES, &offer.code),
        },
        settings: settings::write(settings),
        external_root_dic: wire::OrderedMap(
            offer.projects.iter().map(|(path, name)| (path.as_str(), json!(name))).collect(),
        ),
    };
    Answer::ok(locale.say("http", "models", &[]), data)
}

/// If a restart was requested too, the text says that there is none. The status is still `OK`, because existing clients
/// treat anything else as "not saved".
pub fn settings_changed(locale: Locale, count: usize, restart: Restart) -> Answer {
    let text = locale.say("http", "settings_changed", &[("count", &count.to_string())]);
    match restart {
        Restart::NotAsked => Answer::ok(text, Value::Null),
        Restart::Asked => {
            let refused = locale.say("http", "restart_refused", &[]);
            Answer::ok(format!("{text}\n{refused}"), wire::RestartData { restart: false })
        }
    }
}

pub fn no_settings(locale: Locale) -> Answer {
    Answer::refused(200, "NO_SETTINGS", locale.say("http", "no_settings", &[]))
}

/// Nothing was changed; one line for each refused setting, in the order of their keys.
pub fn settings_refused(
    locale: Locale,
    request: &[(String, KeyProblem)],
    session: Vec<(Setting, SettingProblem)>,
) -> Answer {
    let line = |name: &str, problem: &KeyProblem| format!("{name}: {}", problem.say(locale));
    let mut lines: Vec<_> = request.iter().map(|(name, problem)| line(name, problem)).collect();
    lines.extend(
        session
            .into_iter()
            .map(|(setting, problem)| line(settings::key(&setting), &KeyProblem::Refused(problem))),
    );
    lines.sort();
    let text = locale.say("http", "settings_refused", &[("reasons", &lines.join("\n"))]);
    Answer::refused(200, "SETTINGS_REFUSED", text)
}

pub fn restart_refused(locale: Locale) -> Answer {
    Answer::refused(200, "RESTART_REFUSED", locale.say("http", "restart_refused", &[]))
}

/// One of the caller's sessions.
#[derive(Debug)]
pub struct OwnSession {
    pub id: SessionId,
    /// Formatted for people.
    pub created: String,
    pub used: String,
    pub events: u64,
    pub busy: bool,
}

pub fn sessions(locale: Locale, own: Vec<OwnSession>) -> Answer {
    let row = |session: &OwnSession| wire::SessionRow {
        session: session.id.to_string(),
        created: session.created.clone(),
        used: session.used.clone(),
        events: session.events,
        busy: session.busy,
    };
    let data = wire::SessionsData { count: own.len(), sessions: own.iter().map(row).collect() };
    Answer::ok(locale.say("http", "sessions", &[]), data)
}

/// Sent as base64, so that no browser runs it.
pub fn content(locale: Locale, name: &str, bytes: &[u8]) -> Answer {
    let base64_data = base64_simd::STANDARD.encode_to_string(bytes);
    let data = wire::ContentData { name, path: name, base64_data };
    Answer::ok(locale.say("http", "content", &[]), data)
}

/// `code` is in capitals; the text for people has the same name in lower case.
pub fn content_refused(locale: Locale, code: &str, limit: u64) -> Answer {
    let text = locale.say("content", &code.to_ascii_lowercase(), &[("limit", &limit.to_string())]);
    Answer::refused(200, code, text)
}

/// Existing clients read the numbers outside of the envelope, so they appear in both places.
pub fn state(locale: Locale, ready: bool, busy: usize) -> Answer {
    let counts = wire::ServerState { ready_count: u8::from(ready), busy_count: busy };
    let message = locale.say("http", "state", &[]);
    let body = wire::ServerStateBody { status: "OK", message, data: counts, error: None, counts };
    Answer { status: 200, body: json!(body).to_string() }
}

fn session(locale: Locale, text: Option<String>) -> Result<Option<SentSessionId>, Answer> {
    match text.as_deref() {
        None | Some("") => Ok(None),
        Some(text) => SentSessionId::parse(text).map(Some).ok_or_else(|| session_refused(locale)),
    }
}

/// Other keys are ignored, because existing clients send some.
fn read<T>(
    locale: Locale,
    body: &[u8],
    take: impl FnOnce(&mut Fields) -> Result<T, BodyError>,
) -> Result<T, Answer> {
    let taken = Fields::read(body).and_then(|mut fields| take(&mut fields));
    taken.map_err(|error| Answer::invalid(locale, &error))
}
