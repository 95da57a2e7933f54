//! Sockets of the AIcore dialect: upgrade, first packet, the door, and then the common socket loop.

use super::AppState;
use super::attached::{Attached, End};
use super::caller::Visitor;
use super::connection::PeerActivity;
use super::door::{self, Entered, Hello, IfUnknown, Refused, WantedSession};
use super::language;
use super::socket::{self, First, WebSocketTransport};
use super::sockets::SocketPlace;
use super::upgrade::Upgrade;
use crate::auth::Grant;
use crate::dialect::aicore::{self, AicoreDialect, Connect, DecodeError, Rejection};
use crate::dialect::{Dialect, FrameError};
use crate::locale::Locale;
use crate::message::{Channel, Epoch, Greeting, Position, Seq, View};
use crate::metrics::Held;
use crate::session::{Cursor, Devices, Role};
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use std::pin::Pin;
use std::sync::Arc;
use tracing::debug;

pub(super) fn routes() -> Router<AppState> {
    // The last segment is Japanese, and clients percent-encode it in different ways; the extractor decodes it.
    Router::new().route("/core/ws/{name}", any(upgrade))
}

/// The first packet names the channel, so at the upgrade the frame limit is the largest of all channels.
async fn upgrade(
    State(state): State<AppState>,
    name: Result<Path<String>, PathRejection>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    Upgrade(upgrade): Upgrade,
) -> Response {
    let name = name.map_or_else(|_| String::new(), |Path(name)| name);
    if aicore::SOCKET_PATH.strip_prefix("/core/ws/") != Some(&name) {
        return (StatusCode::NOT_FOUND, language::plain("nothing_here")).into_response();
    }
    let limits = state.config.limits;
    if visitor.is_err() {
        activity.limit_bytes(limits.other_frame * 2);
    }
    let longest = limits.input_frame.max(limits.audio_frame).max(limits.other_frame);
    socket::accept(upgrade, longest)
        .on_upgrade(move |socket| serve(state, visitor.ok(), socket, activity))
}

/// The future of the handshake is large and short-lived. It is boxed apart from the socket loop, so that its memory is
/// freed when the handshake ends.
fn serve(
    state: AppState,
    visitor: Option<Grant>,
    socket: WebSocket,
    activity: PeerActivity,
) -> impl Future<Output = ()> + Send {
    let handshake = Box::pin(handshake(state, visitor, socket, activity));
    async move {
        let Some(AttachedSocket { running, place, counted }) = handshake.await else { return };
        let end = running.await;
        drop((place, counted));
        debug!(%end, "socket closed");
    }
}

/// An attached socket, with its loop still to be run.
struct AttachedSocket {
    running: Pin<Box<dyn Future<Output = End> + Send>>,
    place: SocketPlace,
    counted: Held,
}

/// `None`: the socket was refused, or the client left.
async fn handshake(
    state: AppState,
    visitor: Option<Grant>,
    mut socket: WebSocket,
    activity: PeerActivity,
) -> Option<AttachedSocket> {
    let (connect, locale) = match first_packet(&state, &mut socket).await {
        Ok(Some(connect)) => {
            let locale = connect.locale.unwrap_or(state.config.language);
            (connect, locale)
        }
        Ok(None) => return None,
        Err(rejection) => {
            reject(&state, socket, &rejection, state.config.language).await;
            return None;
        }
    };
    let entered = door::enter(&state, visitor, &hello(&state, &connect), activity).await;
    let Entered { session, mut greeting, reader, terms, place } = match entered {
        Ok(entered) => entered,
        Err(refused) => {
            reject(&state, socket, &rejection(refused), locale).await;
            return None;
        }
    };
    complete_greeting(&state, connect.channel, &mut greeting).await;
    let counted = state.metrics.socket_opened(connect.channel);
    terms.activity.lift_limit();
    let dialect = AicoreDialect::new(session.id().clone(), connect.channel, locale);
    let dialect = Arc::new(dialect.with_features(connect.features));
    let encoder = dialect.encoder();
    let transport = WebSocketTransport::new(socket);
    let client = Attached { transport, dialect, encoder, session, greeting, reader, terms };
    Some(AttachedSocket { running: Box::pin(client.run()), place, counted })
}

/// Adds what the welcome texts of the input and the chat channel need.
async fn complete_greeting(state: &AppState, channel: Channel, greeting: &mut Greeting) {
    match channel {
        _ if greeting.resumed => {}
        Channel::Input => greeting.overview = state.registry.overview().await,
        Channel::Chat => greeting.setup = Some(state.config.setup_hint()),
        Channel::Audio | Channel::File | Channel::Agent(_) => {}
    }
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

/// `None`: the client left before its first packet, or the gateway is stopping.
async fn first_packet(
    state: &AppState,
    socket: &mut WebSocket,
) -> Result<Option<Connect>, Rejection> {
    match socket::first_frame(state, socket).await {
        First::Text(text) => aicore::read_connect(&text).map(Some),
        First::Gone => Ok(None),
        First::Silent(waited) => Err(Rejection::Silent { seconds: waited.as_secs() }),
        First::Binary => Err(DecodeError::Binary.into()),
        First::TooLarge { size, limit } => Err(DecodeError::TooLarge { size, limit }.into()),
        First::Broken => Err(DecodeError::unreadable().into()),
    }
}

/// Translates a connect packet for the door.
fn hello(state: &AppState, connect: &Connect) -> Hello {
    let limits = &state.config.limits;
    let (frame_limit, devices) = match connect.channel {
        Channel::Audio => (limits.audio_frame, Devices::Wanted),
        Channel::Input => (limits.input_frame, Devices::None),
        Channel::File | Channel::Chat | Channel::Agent(_) => (limits.other_frame, Devices::None),
    };
    let cursor =
        |(epoch, seq): (Epoch, Seq)| Cursor { epoch: Some(epoch), at: Position(seq.0), again: 0 };
    Hello {
        token: connect.token.clone(),
        session: connect.session.clone().map_or(WantedSession::New, |id| WantedSession::ById {
            id,
            if_unknown: IfUnknown::Create,
        }),
        view: View::One(connect.channel),
        role: if connect.read_only { Role::Viewer } else { Role::Participant },
        devices,
        cursor: connect.cursor.map(cursor),
        history: connect.history.into(),
        features: connect.features,
        language: connect.locale,
        frame_limit,
    }
}

fn rejection(refused: Refused) -> Rejection {
    match refused {
        Refused::Unauthorized => Rejection::Unauthorized,
        Refused::TooManySockets { scope, limit } => Rejection::TooManySockets { scope, limit },
        // This dialect has no outside ids, so it never has too many of them.
        Refused::Session | Refused::TooManyIds { .. } => Rejection::SessionRefused,
        Refused::Stalled { reason } => Rejection::Stalled { reason },
        Refused::Damaged => Rejection::Damaged,
        Refused::Stopping => Rejection::Stopping,
        Refused::Internal => Rejection::Internal,
    }
}
