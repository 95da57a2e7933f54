//! Clients of the session API: a WebSocket that begins with a hello, or server-sent events over HTTP.

use super::AppState;
use super::body::Parameters;
use super::caller::Visitor;
use super::connection::Heard;
use super::door::{self, Entered, Unknown};
use super::language;
use super::socket::{self, Connection, End, First, Terms};
use super::sockets::SocketPlace;
use super::upgrade::Upgrade;
use crate::auth::Grant;
use crate::dialect::api::{self, ApiDialect, ApiEncoder, ApiError, Hello};
use crate::dialect::{Dialect, Encoder, Frame, FrameError};
use crate::locale::Locale;
use crate::message::{Delivery, Epoch, Features, Greeting, Order, Position, SessionName, View};
use crate::metrics::Held;
use crate::session::{Cursor, Devices, Reader, Role, Step};
use axum::Router;
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use futures_util::stream;
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use tracing::debug;

/// Sent by a browser's `EventSource` when it reconnects: the order of the last event it received.
const LAST_EVENT_ID: &str = "last-event-id";

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/ws", any(upgrade)).route("/api/events", get(events))
}

async fn upgrade(
    State(state): State<AppState>,
    Extension(heard): Extension<Heard>,
    Visitor(visitor): Visitor,
    Upgrade(upgrade): Upgrade,
) -> Response {
    let limits = state.config.limits;
    if visitor.is_err() {
        heard.restrict(limits.other_frame * 2);
    }
    socket::accept(upgrade, limits.input_frame)
        .on_upgrade(move |socket| serve(state, visitor.ok(), socket, heard))
}

async fn serve(state: AppState, visitor: Option<Grant>, mut socket: WebSocket, heard: Heard) {
    let hello = match first_hello(&state, &mut socket).await {
        Ok(Some(hello)) => hello,
        Ok(None) => return,
        Err((error, text)) => return reject(&state, socket, 3502, error, &text).await,
    };
    let locale = hello.language.unwrap_or(state.config.language);
    let entered = door::enter(&state, visitor, &wanted(&state, &hello), heard).await;
    let Entered { session, greeting, reader, terms, place } = match entered {
        Ok(entered) => entered,
        Err(refused) => {
            let (code, text) = (refused.code(), refused.say(locale));
            return reject(&state, socket, refused.close_code(), code, &text).await;
        }
    };
    let counted = state.metrics.view_opened();
    terms.heard.set_free();
    let dialect = Arc::new(ApiDialect::new(session.id().clone(), locale, hello.rate));
    let encoder = dialect.encoder();
    let connection = Connection { socket, dialect, encoder, session, greeting, reader, terms };
    let end = Box::pin(connection.run()).await;
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
        First::Silent(patience) => {
            let seconds = patience.as_secs().to_string();
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
fn wanted(state: &AppState, hello: &Hello) -> door::Hello {
    door::Hello {
        token: hello.token.clone(),
        session: hello.session.clone(),
        unknown: Unknown::Refuse,
        view: View::All,
        role: if hello.read_only { Role::Viewer } else { Role::Participant },
        devices: if hello.rate.is_some() { Devices::Wanted } else { Devices::None },
        cursor: hello.after.map(|order| Cursor { epoch: hello.epoch, at: Position(order.0) }),
        history: hello.history,
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
    Extension(heard): Extension<Heard>,
    Visitor(visitor): Visitor,
    headers: HeaderMap,
    Parameters(query): Parameters<EventsQuery>,
) -> Response {
    let locale = language::spoken();
    let Some(session) = query.session.as_deref().and_then(SessionName::parse) else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "bad_field",
            &locale.say("api", "no_session", &[]),
        );
    };
    let last = headers.get(LAST_EVENT_ID).and_then(|id| read_id(id.to_str().ok()?));
    let after = query.after.map(|order| Cursor { epoch: None, at: Position(order) });
    let hello = door::Hello {
        token: None,
        session: Some(session),
        unknown: Unknown::Refuse,
        view: View::All,
        role: Role::Viewer,
        devices: Devices::None,
        cursor: last.or(after),
        history: query.history,
        features: Features { stream: true, confirm: true, agents: true, playback: false },
        language: None,
        frame_limit: 0,
    };
    match door::enter(&state, visitor.ok(), &hello, heard).await {
        Ok(entered) => stream_of(&state, entered, locale),
        Err(refused) => refusal(refused.status(), refused.code(), &refused.say(locale)),
    }
}

/// As [`Outgoing::next`] writes it: the epoch, and the order within it.
fn read_id(id: &str) -> Option<Cursor> {
    let (epoch, order) = id.split_once('-')?;
    let epoch = Some(Epoch(u64::from_str_radix(epoch, 16).ok()?));
    Some(Cursor { epoch, at: Position(order.parse().ok()?) })
}

fn refusal(status: StatusCode, code: &str, text: &str) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, api::refusal(code, text)).into_response()
}

fn stream_of(state: &AppState, entered: Entered, locale: Locale) -> Response {
    let Entered { session, greeting, reader, terms, place } = entered;
    let mut encoder = ApiDialect::new(session.id().clone(), locale, None).encoder();
    let mut frames = Vec::new();
    encoder.greet(&greeting, &mut frames);
    let ready = frames.into_iter().map(|frame| (None, frame)).collect();
    let counted = state.metrics.view_opened();
    let outgoing =
        Outgoing { reader, encoder, greeting, terms, ready, _place: place, _counted: counted };
    let events = stream::unfold(outgoing, |mut outgoing| async {
        let event = outgoing.next().await?;
        Some((Ok::<_, Infallible>(event), outgoing))
    });
    // Tells a proxy not to buffer, so that each event arrives at once.
    let headers = [("x-accel-buffering", "no")];
    (headers, Sse::new(events).keep_alive(KeepAlive::default())).into_response()
}

/// One stream of server-sent events. Dropped when its client leaves.
struct Outgoing {
    reader: Reader,
    encoder: ApiEncoder,
    greeting: Greeting,
    terms: Terms,
    /// Frames still to be sent, each with the order of its event.
    ready: VecDeque<(Option<Order>, Frame)>,
    _place: SocketPlace,
    _counted: Held,
}

impl Outgoing {
    /// `None` ends the stream; the client reconnects with the last order it has seen.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((order, frame)) = self.ready.pop_front() {
                if let Frame::Text(text) = frame {
                    self.terms.metrics.frame_out(text.len());
                    let event = match order {
                        Some(order) => Event::default()
                            .id(format!("{:016x}-{}", self.greeting.epoch.0, order.0)),
                        None => Event::default(),
                    };
                    return Some(event.data(text));
                }
                continue;
            }
            let step = self.terms.over.run_until_cancelled(self.reader.next()).await?;
            match step {
                Ok(step) => self.take(step),
                Err(end) => {
                    debug!(end = %End::from(end), "stream of events closed");
                    return None;
                }
            }
        }
    }

    fn take(&mut self, step: Step) {
        let mut frames = Vec::new();
        let mut order = None;
        match step {
            Step::Deliver(delivery) => {
                if let Delivery::Logged(entry) = &delivery {
                    order = Some(entry.order);
                }
                self.encoder.encode(&delivery, &mut frames);
            }
            Step::CaughtUp => self.encoder.settle(&self.greeting, &mut frames),
        }
        self.ready.extend(frames.into_iter().map(|frame| (order, frame)));
    }
}
