//! Clients of the session API: a WebSocket that begins with a hello, or server-sent events over HTTP.

use super::AppState;
use super::attached::Attached;
use super::body::{BadRequest, Parameters};
use super::caller::Visitor;
use super::connection::PeerActivity;
use super::door::{self, Entered, IfUnknown, WantedSession};
use super::event_stream::EventStream;
use super::language;
use super::socket::{self, First, WebSocketTransport};
use super::upgrade::Upgrade;
use crate::auth::Grant;
use crate::dialect::api::{self, ApiDialect, ApiError, Hello, RequestedSession};
use crate::dialect::{Dialect, FrameError};
use crate::locale::Locale;
use crate::message::{Epoch, Features, Position, SentSessionId, View};
use crate::session::{Cursor, Devices, Role};
use axum::Router;
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde::Deserialize;
use std::sync::Arc;
use tracing::debug;

/// Sent by a browser's `EventSource` when it reconnects: the order of the last event it received.
const LAST_EVENT_ID: &str = "last-event-id";

/// Seconds after which a client may retry if the gateway is full, stalled or stopping.
const RETRY_AFTER: &str = "5";

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/ws", any(upgrade)).route("/api/events", get(events))
}

async fn upgrade(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    Upgrade(upgrade): Upgrade,
) -> Response {
    let limits = state.config.limits;
    if visitor.is_err() {
        activity.limit_bytes(limits.other_frame * 2);
    }
    socket::accept(upgrade, limits.input_frame)
        .on_upgrade(move |socket| serve(state, visitor.ok(), socket, activity))
}

async fn serve(
    state: AppState,
    visitor: Option<Grant>,
    mut socket: WebSocket,
    activity: PeerActivity,
) {
    let hello = match first_hello(&state, &mut socket).await {
        Ok(Some(hello)) => hello,
        Ok(None) => return,
        Err((error, text)) => return reject(&state, socket, 3502, error, &text).await,
    };
    let locale = hello.language.unwrap_or(state.config.language);
    let entered = door::enter(&state, visitor, &door_hello(&state, &hello), activity).await;
    let Entered { session, greeting, reader, terms, place } = match entered {
        Ok(entered) => entered,
        Err(refused) => {
            let (code, text) = (refused.code(), refused.say(locale));
            return reject(&state, socket, refused.close_code(), code, &text).await;
        }
    };
    let counted = state.metrics.view_opened();
    terms.activity.lift_limit();
    let dialect = Arc::new(ApiDialect::new(session.id().clone(), locale, hello.rate));
    let encoder = dialect.encoder();
    let transport = WebSocketTransport::new(socket);
    let client = Attached { transport, dialect, encoder, session, greeting, reader, terms };
    let end = Box::pin(client.run()).await;
    drop((place, counted));
    debug!(%end, "socket closed");
}

/// `None`: the client left before its hello, or the gateway is stopping. An error is a code and a text.
async fn first_hello(
    state: &AppState,
    socket: &mut WebSocket,
) -> Result<Option<Hello>, (&'static str, String)> {
    let locale = state.config.language;
    let error = match socket::first_frame(state, socket).await {
        First::Text(text) => match api::read_hello(&text) {
            Ok(hello) => return Ok(Some(hello)),
            Err(error) => error,
        },
        First::Gone => return Ok(None),
        First::Silent(waited) => {
            let seconds = waited.as_secs().to_string();
            return Err(("no_hello", locale.say("api", "silent", &[("seconds", &seconds)])));
        }
        First::Binary => ApiError::NoHello,
        First::TooLarge { size, limit } => ApiError::too_large(size, limit),
        First::Broken => ApiError::unreadable(),
    };
    Err((error.code(), error.say(locale)))
}

async fn reject(
    state: &AppState,
    mut socket: WebSocket,
    close_code: u16,
    code: &'static str,
    text: &str,
) {
    state.metrics.frame_refused(code);
    if socket.send(Message::text(api::refusal(code, text))).await.is_ok() {
        let reason = if close_code == 3001 { socket::retry_hint() } else { code.to_owned() };
        socket::close(&mut socket, close_code, &reason).await;
    }
}

/// Translates a hello for the door.
fn door_hello(state: &AppState, hello: &Hello) -> door::Hello {
    door::Hello {
        token: hello.token.clone(),
        session: match &hello.session {
            RequestedSession::New => WantedSession::New,
            RequestedSession::Id(id) => {
                WantedSession::ById { id: id.clone(), if_unknown: IfUnknown::Refuse }
            }
            RequestedSession::Key(id) => WantedSession::Outside(id.clone()),
        },
        view: View::All,
        role: if hello.read_only { Role::Viewer } else { Role::Participant },
        devices: if hello.rate.is_some() { Devices::Wanted } else { Devices::None },
        cursor: hello.after.map(|order| Cursor {
            epoch: hello.epoch,
            at: Position(order.0),
            again: 0,
        }),
        history: hello.history.into(),
        features: hello.features,
        language: hello.language,
        frame_limit: state.config.limits.input_frame,
    }
}

/// Query parameters of `/api/events`.
#[derive(Debug, Deserialize)]
struct EventsQuery {
    session: Option<String>,
    after: Option<u64>,
    history: Option<usize>,
}

/// Streams all channels of a session as server-sent events; each event carries one frame of the WebSocket format.
async fn events(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    headers: HeaderMap,
    query: Result<Parameters<EventsQuery>, BadRequest>,
) -> Response {
    let locale = language::of_request();
    let query = match query {
        Ok(Parameters(query)) => query,
        Err(bad) => return refusal(bad.status, "bad_field", &bad.text),
    };
    let Some(session) = query.session.as_deref().and_then(SentSessionId::parse) else {
        let text = locale.say("api", "no_session", &[]);
        return refusal(StatusCode::BAD_REQUEST, "bad_field", &text);
    };
    let last = headers.get(LAST_EVENT_ID).and_then(|id| read_id(id.to_str().ok()?));
    let after = query.after.map(|order| Cursor { epoch: None, at: Position(order), again: 0 });
    let hello = door::Hello {
        token: None,
        session: WantedSession::ById { id: session, if_unknown: IfUnknown::Refuse },
        view: View::All,
        role: Role::Viewer,
        devices: Devices::None,
        cursor: last.or(after),
        history: query.history.into(),
        features: Features { stream: true, confirm: true, agents: true, playback: false },
        language: None,
        frame_limit: 0,
    };
    match door::enter(&state, visitor.ok(), &hello, activity).await {
        Ok(entered) => stream_of(&state, entered, locale),
        Err(refused) => refusal(refused.status(), refused.code(), &refused.say(locale)),
    }
}

/// Reads an event id as the event stream writes it: the epoch, and the order within it.
fn read_id(id: &str) -> Option<Cursor> {
    let (epoch, order) = id.split_once('-')?;
    let epoch = Some(Epoch(u64::from_str_radix(epoch, 16).ok()?));
    Some(Cursor { epoch, at: Position(order.parse().ok()?), again: 0 })
}

fn refusal(status: StatusCode, code: &str, text: &str) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status, headers, api::refusal(code, text)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
    }
    response
}

fn stream_of(state: &AppState, entered: Entered, locale: Locale) -> Response {
    let Entered { session, greeting, reader, terms, place } = entered;
    let counted = state.metrics.view_opened();
    let dialect = Arc::new(ApiDialect::new(session.id().clone(), locale, None));
    let encoder = dialect.encoder();
    let (transport, events) = EventStream::new();
    let client = Attached { transport, dialect, encoder, session, greeting, reader, terms };
    events.answer(client, (place, counted))
}
