//! Clients of the core/UI interface: a WebSocket, server-sent events, long polling, and commands over HTTP. All of them
//! name their session in the address, and none has a hello.

mod commands;
mod events;
mod guide;
mod poll;
mod ws;

use super::AppState;
use super::body::{BadRequest, Parameters};
use super::door::{self, IfUnknown, Refused, WantedSession};
use crate::dialect::core_ui::{self, Additions, CoreUiDialect, FrameSeq};
use crate::locale::Locale;
use crate::message::{AgentSlot, Channel, Features, SentSessionId, SessionId, View};
use crate::session::{Cursor, Devices, Role};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use serde::Deserialize;

pub(super) use commands::{answered, fresh_id};
pub(super) use ws::{SOCKET_PATH, wants_agent_events};

/// Where commands are sent over HTTP. Pictures make them larger than other bodies.
pub(super) const COMMANDS_PATH: &str = "/core-ui/commands";
/// Seconds after which a client that found no place may try again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

pub(super) fn routes() -> Router<AppState> {
    // `body::collect` has limited the body already.
    let commands = post(commands::take).layer(DefaultBodyLimit::disable());
    Router::new()
        .route(SOCKET_PATH, any(ws::upgrade))
        .route("/core-ui/events", get(events::stream))
        .route("/core-ui/poll", get(poll::answer))
        .route(COMMANDS_PATH, commands)
}

/// Query parameters, the same for every transport.
#[derive(Debug, Clone, Default, Deserialize)]
struct AddressQuery {
    /// One's own session; without it a new one is made.
    session: Option<String>,
    /// The last frame that the client has.
    after: Option<u64>,
    /// How many of the newest events are replayed, if `after` is not given.
    history: Option<usize>,
    /// The number of a code agent; without it the client talks to the chat.
    agent: Option<String>,
    features: Option<String>,
    /// The page of the second form sends its secret in the address.
    token: Option<String>,
}

/// What a client asks for, checked.
#[derive(Debug, Clone)]
struct Address {
    session: WantedSession,
    lane: Channel,
    additions: Additions,
    after: Option<FrameSeq>,
    history: Option<usize>,
}

/// Why an address cannot be used: the code and the text for people.
type BadAddress = (&'static str, String);

impl AddressQuery {
    fn read(&self, locale: Locale) -> Result<Address, BadAddress> {
        let wrong = |field: &str, expected: &str| {
            let values = [("field", field), ("expected", &locale.word(expected))];
            ("bad_field", locale.say("api", "bad_field", &values))
        };
        let session = match self.session.as_deref().filter(|id| !id.is_empty()) {
            None => WantedSession::New,
            Some(id) => {
                let refused = || ("session_refused", Refused::Session.say(locale));
                let id = SentSessionId::parse(id).ok_or_else(refused)?;
                WantedSession::ById { id, if_unknown: IfUnknown::Refuse }
            }
        };
        let lane = match self.agent.as_deref() {
            None | Some("") => Channel::Chat,
            Some(number) => {
                let slot = number.parse().ok().and_then(AgentSlot::new);
                slot.map(Channel::Agent).ok_or_else(|| wrong("agent", "1 to 4"))?
            }
        };
        let features = self.features.as_deref().unwrap_or_default();
        let known = "deltas, states, inputs, tools, notices, work or all, with commas between them";
        let additions = Additions::parse(features).map_err(|_| wrong("features", known))?;
        let after = self.after.map(FrameSeq);
        Ok(Address { session, lane, additions, after, history: self.history })
    }
}

impl Address {
    /// The last frame that the client has. A new session has sent none, so the number is one of another session: an
    /// `EventSource` whose address names no session resumes with it.
    fn cursor(&self) -> Option<FrameSeq> {
        self.after.filter(|_| self.session != WantedSession::New)
    }

    fn hello(&self, state: &AppState, role: Role, token: Option<String>) -> door::Hello {
        door::Hello {
            token,
            session: self.session.clone(),
            view: View::One(self.lane),
            role,
            devices: Devices::None,
            cursor: self.cursor().map(|seq| Cursor {
                epoch: None,
                at: seq.position(),
                again: FrameSeq::READ_AGAIN,
            }),
            history: self.history.into(),
            features: Features { stream: true, confirm: true, agents: true, playback: false },
            language: None,
            frame_limit: state.config.limits.input_frame,
        }
    }

    fn dialect(&self, session: &SessionId, locale: Locale) -> CoreUiDialect {
        CoreUiDialect {
            session: session.clone(),
            locale,
            lane: self.lane,
            additions: self.additions,
            after: self.cursor().unwrap_or_default(),
        }
    }
}

/// The address of a request over HTTP, or the answer that refuses it.
#[expect(clippy::result_large_err, reason = "an answer, once for each request")]
fn address(
    query: Result<Parameters<AddressQuery>, BadRequest>,
    locale: Locale,
) -> Result<Address, Response> {
    let query = match query {
        Ok(Parameters(query)) => query,
        Err(bad) => return Err(refuse(bad.status, "bad_field", &bad.text)),
    };
    query.read(locale).map_err(|(code, text)| {
        let status = match code {
            "session_refused" => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        };
        refuse(status, code, &text)
    })
}

fn refuse_entry(refused: &Refused, locale: Locale) -> Response {
    refuse(refused.status(), refused.code(), &refused.say(locale))
}

fn refuse(status: StatusCode, code: &str, text: &str) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status, headers, core_ui::refusal(code, text).to_string()).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
    }
    response
}
