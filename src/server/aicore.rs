//! The door of the packet dialect: upgrade, first packet, session, and then the common socket loop.

use super::AppState;
use super::caller::Visitor;
use super::connection::Heard;
use super::language;
use super::socket::{self, Connection, End, Terms};
use super::sockets::{Crowded, SocketPlace};
use crate::auth::Grant;
use crate::dialect::DecodeError;
use crate::dialect::aicore::{self, AicoreDialect, Connect, Rejection};
use crate::locale::Locale;
use crate::message::{Channel, Features, Greeting, Principal};
use crate::metrics::Held;
use crate::session::{Attach, AttachError, OpenError, Reader, Role, SessionHandle};
use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use std::pin::Pin;
use std::sync::Arc;
use tokio::time::timeout;
use tracing::{debug, error};

/// Small on purpose: the default of 128 KiB per socket is most of what an idle connection costs.
const READ_BUFFER: usize = 8 * 1024;
/// Frames are collected up to here before they go to the network.
const WRITE_BUFFER: usize = 16 * 1024;
/// A session may be unloaded in the very moment a socket arrives; a new one is ready at the next try.
const ATTACH_TRIES: usize = 3;

pub(super) fn routes() -> Router<AppState> {
    // The last part is Japanese and arrives percent-encoded in whatever way the client likes; the extractor decodes it.
    Router::new().route("/core/ws/{name}", any(upgrade))
}

/// The socket is told only after the upgrade what it is for, so the transport takes the longest of all limits.
async fn upgrade(
    State(state): State<AppState>,
    Path(name): Path<String>,
    Extension(heard): Extension<Heard>,
    Visitor(visitor): Visitor,
    upgrade: WebSocketUpgrade,
) -> Response {
    if aicore::SOCKET_PATH.strip_prefix("/core/ws/") != Some(&name) {
        return (StatusCode::NOT_FOUND, language::plain("nothing_here")).into_response();
    }
    let limits = state.config.limits;
    if visitor.is_err() {
        heard.restrict(limits.other_frame * 2);
    }
    let longest = limits.input_frame.max(limits.audio_frame).max(limits.other_frame);
    upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_write_buffer_size(socket::LONGEST_WRITE)
        .max_message_size(longest)
        .max_frame_size(longest)
        .on_upgrade(move |socket| serve(state, visitor.ok(), socket, heard))
}

/// Meeting takes more room than talking and is soon over, so both are in memory only while they last.
fn serve(
    state: AppState,
    visitor: Option<Grant>,
    socket: WebSocket,
    heard: Heard,
) -> impl Future<Output = ()> + Send {
    let meeting = Box::pin(meet(state, visitor, socket, heard));
    async move {
        let Some(Talk { talking, place, counted }) = meeting.await else { return };
        let end = talking.await;
        drop((place, counted));
        debug!(%end, "socket closed");
    }
}

/// A socket that has its place, until it is closed.
struct Talk {
    talking: Pin<Box<dyn Future<Output = End> + Send>>,
    place: SocketPlace,
    counted: Held,
}

/// `None`: it was not let in, or did not want to.
async fn meet(
    state: AppState,
    visitor: Option<Grant>,
    mut socket: WebSocket,
    heard: Heard,
) -> Option<Talk> {
    let accepted = match first_packet(&state, &mut socket).await {
        Ok(Some(connect)) => {
            let locale = connect.locale.unwrap_or(state.config.language);
            accept(&state, visitor, &connect, locale, heard)
                .await
                .map_err(|rejection| (rejection, locale))
        }
        Ok(None) => return None,
        Err(rejection) => Err((rejection, state.config.language)),
    };
    let accepted = match accepted {
        Ok(accepted) => accepted,
        Err((rejection, locale)) => {
            reject(&state, socket, &rejection, locale).await;
            return None;
        }
    };
    let counted = state.metrics.socket_opened(accepted.greeting.channel);
    let Accepted { session, greeting, reader, terms, locale, features, place } = accepted;
    terms.heard.set_free();
    let dialect = AicoreDialect::new(session.id().clone(), greeting.channel, locale);
    let dialect = Arc::new(dialect.with(features));
    let connection = Connection { socket, dialect, session, greeting, reader, terms };
    Some(Talk { talking: Box::pin(connection.run()), place, counted })
}

async fn reject(state: &AppState, mut socket: WebSocket, rejection: &Rejection, locale: Locale) {
    state.metrics.frame_refused(rejection.code());
    if socket.send(Message::text(rejection.frame(locale))).await.is_ok() {
        let reason = if *rejection == Rejection::Stopping {
            socket::retry_hint()
        } else {
            rejection.code().to_owned()
        };
        socket::close(&mut socket, rejection.close_code(), &reason).await;
    }
}

/// `None`: the peer left before it said anything, or the gateway is stopping.
async fn first_packet(
    state: &AppState,
    socket: &mut WebSocket,
) -> Result<Option<Connect>, Rejection> {
    let patience = state.config.limits.handshake;
    let first =
        state.sockets_stop.run_until_cancelled(timeout(patience, first_text(state, socket))).await;
    match first {
        None => {
            socket::close(socket, 3001, &socket::retry_hint()).await;
            Ok(None)
        }
        Some(Err(_)) => Err(Rejection::Silent { seconds: patience.as_secs() }),
        Some(Ok(read)) => read,
    }
}

async fn first_text(
    state: &AppState,
    socket: &mut WebSocket,
) -> Result<Option<Connect>, Rejection> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Text(text))) => {
                let (size, limit) = (text.len(), state.config.limits.other_frame);
                if size > limit {
                    return Err(DecodeError::TooLarge { size, limit }.into());
                }
                return aicore::read_connect(&text).map(Some);
            }
            Some(Ok(Message::Binary(_))) => return Err(DecodeError::Binary.into()),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Err(err)) => return Err(DecodeError::Malformed(err.to_string()).into()),
            Some(Ok(Message::Close(_))) | None => return Ok(None),
        }
    }
}

impl AppState {
    /// Nobody comes in while the database is damaged.
    fn damaged(&self) -> Option<Rejection> {
        self.damage.borrow().is_some().then_some(Rejection::Damaged)
    }
}

struct Accepted {
    session: SessionHandle,
    greeting: Greeting,
    reader: Reader,
    terms: Terms,
    locale: Locale,
    features: Features,
    place: SocketPlace,
}

async fn accept(
    state: &AppState,
    visitor: Option<Grant>,
    connect: &Connect,
    locale: Locale,
    heard: Heard,
) -> Result<Accepted, Rejection> {
    state.damaged().map_or(Ok(()), Err)?;
    let visitor = match &connect.token {
        Some(token) => state.auth.recognise(token),
        None => visitor,
    };
    // It may have ended since the upgrade.
    let visitor = visitor.filter(|grant| !grant.over.is_cancelled());
    let Grant { principal, over, .. } = visitor.ok_or(Rejection::Unauthorized)?;
    let limits = &state.config.limits;
    let place = state
        .sockets
        .enter(&principal, limits.sockets, limits.sockets_per_principal)
        .map_err(|crowded| match crowded {
            Crowded::Server => Rejection::TooManySockets { scope: "server", limit: limits.sockets },
            Crowded::Principal => {
                Rejection::TooManySockets { scope: "user", limit: limits.sockets_per_principal }
            }
        })?;
    let role = if connect.read_only { Role::Viewer } else { Role::Participant };
    let attach = Attach {
        channel: connect.channel,
        connection: place.connection,
        role,
        cursor: connect.cursor,
        history: connect.history,
        features: connect.features,
        language: connect.locale,
    };
    // A store that does not answer must not leave a client without a word.
    let opened = timeout(limits.handshake, open(state, &principal, connect, &attach)).await;
    let stalled =
        || Rejection::Stalled { reason: state.registry.store_health().err().unwrap_or_default() };
    let opened = opened.unwrap_or_else(|_| Err(stalled()));
    // Opening may be what has found the damage.
    let opened = opened.map_err(|rejection| state.damaged().unwrap_or(rejection));
    let (session, mut greeting, reader) = opened?;
    if connect.channel == Channel::Input && !greeting.resumed {
        greeting.overview = state.registry.overview().await;
    }
    let frame_limit = match connect.channel {
        Channel::Audio => limits.audio_frame,
        Channel::Input => limits.input_frame,
        Channel::File | Channel::Chat | Channel::Agent(_) => limits.other_frame,
    };
    let metrics = state.metrics.clone();
    let terms = Terms {
        connection: place.connection,
        role,
        frame_limit,
        ping: limits.ping,
        heard,
        over,
        stop: state.sockets_stop.clone(),
        damage: state.damage.clone(),
        metrics,
    };
    let features = connect.features;
    Ok(Accepted { session, greeting, reader, terms, locale, features, place })
}

async fn open(
    state: &AppState,
    principal: &Principal,
    connect: &Connect,
    attach: &Attach,
) -> Result<(SessionHandle, Greeting, Reader), Rejection> {
    let name = connect.session.clone();
    let id = name.map(|name| state.auth.session(principal, name));
    for _ in 0..ATTACH_TRIES {
        let session =
            state.registry.open(principal, id.clone()).await.map_err(|err| match err {
                OpenError::Refused => Rejection::SessionRefused,
                OpenError::Stopping => Rejection::Stopping,
                OpenError::Store(_) | OpenError::NoRandomness => {
                    error!(%err, "a session cannot be opened");
                    Rejection::Internal
                }
            })?;
        match session.attach(attach.clone()).await {
            Ok((greeting, reader)) => return Ok((session, greeting, reader)),
            Err(AttachError::TooMany { limit }) => {
                return Err(Rejection::TooManySockets { scope: "channel", limit });
            }
            Err(AttachError::Closed(_)) => {}
        }
    }
    Err(Rejection::Internal)
}
