//! The way into a session, shared by every dialect and transport: login, limits, session, view, attached reader. A
//! dialect only reads its hello and writes its refusal.

use super::AppState;
use super::attached::Terms;
use super::connection::PeerActivity;
use super::sockets::{LimitReached, SocketPlace};
use crate::auth::Grant;
use crate::locale::Locale;
use crate::message::{Features, Greeting, OutsideId, Principal, SentSessionId, View};
use crate::session::{
    Attach, AttachError, Cursor, Devices, History, OpenError, OutsideError, Reader, Role,
    SessionHandle,
};
use axum::http::StatusCode;
use tokio::time::timeout;
use tracing::error;

/// A session may be unloaded just as a socket arrives; the next try loads it again.
const ATTACH_TRIES: usize = 3;

/// What a client asks for when it connects.
#[derive(Debug, Clone)]
pub(super) struct Hello {
    /// A secret in the hello takes precedence over the one in the request.
    pub(super) token: Option<String>,
    pub(super) session: WantedSession,
    pub(super) view: View,
    pub(super) role: Role,
    pub(super) devices: Devices,
    pub(super) cursor: Option<Cursor>,
    pub(super) history: History,
    pub(super) features: Features,
    pub(super) language: Option<Locale>,
    /// Longest frame that the client may send, in bytes.
    pub(super) frame_limit: usize,
}

/// The session that a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WantedSession {
    New,
    /// By its id.
    ById {
        id: SentSessionId,
        if_unknown: IfUnknown,
    },
    /// By an outside id; the session is created if the id leads to none.
    Outside(OutsideId),
}

/// What happens when a client names a session that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfUnknown {
    /// A page keeps its session id in its address, and continues when the gateway has deleted the session.
    Create,
    Refuse,
}

/// A client that was let in.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) session: SessionHandle,
    pub(super) greeting: Greeting,
    pub(super) reader: Reader,
    pub(super) terms: Terms,
    /// Dropping it frees the socket's place within the limits.
    pub(super) place: SocketPlace,
}

/// Why a client was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// No secret, or one that is unknown, expired or revoked.
    Unauthorized,
    TooManySockets {
        scope: &'static str,
        limit: usize,
    },
    /// Not a valid id, or another user's session; the client is not told which.
    Session,
    /// The user has too many sessions with outside ids.
    TooManyIds {
        limit: usize,
    },
    /// Storage does not answer.
    Stalled {
        reason: String,
    },
    Damaged,
    Stopping,
    Internal,
}

impl Refused {
    /// For programs.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::TooManySockets { .. } => "too_many_sockets",
            Self::Session => "session_refused",
            Self::TooManyIds { .. } => "too_many_keys",
            Self::Stalled { .. } => "store_stalled",
            Self::Damaged => "storage_damaged",
            Self::Stopping => "stopping",
            Self::Internal => "internal",
        }
    }

    /// WebSocket close code: 3000 to 3499 ask the client to retry, 3500 to 3999 tell it not to repeat the same attempt.
    pub(super) fn close_code(&self) -> u16 {
        match self {
            Self::Unauthorized => 3506,
            Self::TooManySockets { .. } => 3005,
            Self::Session | Self::TooManyIds { .. } => 3504,
            Self::Stalled { .. } => 3006,
            Self::Damaged => 3507,
            Self::Stopping => 3001,
            Self::Internal => 1011,
        }
    }

    /// HTTP status.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Session => StatusCode::NOT_FOUND,
            Self::TooManyIds { .. } => StatusCode::CONFLICT,
            Self::TooManySockets { .. } | Self::Stalled { .. } | Self::Damaged | Self::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// For people.
    pub(super) fn say(&self, locale: Locale) -> String {
        let say = |values: &[(&str, &str)]| locale.say("error", self.code(), values);
        match self {
            Self::TooManySockets { scope, limit } => {
                let scope = locale.say("scope", scope, &[]);
                say(&[("scope", &scope), ("limit", &limit.to_string())])
            }
            Self::TooManyIds { limit } => {
                locale.say("api", self.code(), &[("limit", &limit.to_string())])
            }
            Self::Stalled { reason } => say(&[("reason", &locale.word(reason))]),
            Self::Unauthorized
            | Self::Session
            | Self::Damaged
            | Self::Stopping
            | Self::Internal => say(&[]),
        }
    }
}

pub(super) async fn enter(
    state: &AppState,
    visitor: Option<Grant>,
    hello: &Hello,
    activity: PeerActivity,
) -> Result<Entered, Refused> {
    damaged(state).map_or(Ok(()), Err)?;
    let visitor = match &hello.token {
        Some(token) => state.auth.recognise(token),
        None => visitor,
    };
    // The login may have ended since the request arrived.
    let visitor = visitor.filter(|grant| !grant.over.is_cancelled());
    let Grant { principal, over, .. } = visitor.ok_or(Refused::Unauthorized)?;
    let limits = &state.config.limits;
    let place = state
        .sockets
        .enter(&principal, limits.sockets, limits.sockets_per_principal)
        .map_err(|reached| match reached {
            LimitReached::Server => {
                Refused::TooManySockets { scope: "server", limit: limits.sockets }
            }
            LimitReached::Principal => {
                Refused::TooManySockets { scope: "user", limit: limits.sockets_per_principal }
            }
        })?;
    let (session, greeting, reader) = attach(state, &place, hello, &activity).await?;
    let terms = Terms {
        connection: place.connection,
        role: hello.role,
        frame_limit: hello.frame_limit,
        sound_limit: limits.audio_frame,
        ping: limits.ping,
        activity,
        over,
        stop: state.sockets_stop.clone(),
        damage: state.damage.clone(),
        metrics: state.metrics.clone(),
    };
    Ok(Entered { session, greeting, reader, terms, place })
}

/// Attaches a client that was let in to the session that it wants, at first or later.
pub(super) async fn attach(
    state: &AppState,
    place: &SocketPlace,
    hello: &Hello,
    activity: &PeerActivity,
) -> Result<(SessionHandle, Greeting, Reader), Refused> {
    let attach = Attach {
        view: hello.view,
        connection: place.connection,
        address: activity.client(),
        role: hello.role,
        devices: hello.devices,
        cursor: hello.cursor,
        history: hello.history,
        features: hello.features,
        language: hello.language,
    };
    // A store that does not answer must not leave the client waiting.
    let opening = open(state, &place.principal, hello, &attach);
    let opened = timeout(state.config.limits.handshake, opening).await;
    let stalled =
        || Refused::Stalled { reason: state.registry.store_health().err().unwrap_or_default() };
    let opened = opened.unwrap_or_else(|_| Err(stalled()));
    // Opening the session may itself have found the damage.
    opened.map_err(|refused| damaged(state).unwrap_or(refused))
}

/// Every client is refused while the database is damaged.
fn damaged(state: &AppState) -> Option<Refused> {
    state.damage.borrow().is_some().then_some(Refused::Damaged)
}

async fn open(
    state: &AppState,
    principal: &Principal,
    hello: &Hello,
    attach: &Attach,
) -> Result<(SessionHandle, Greeting, Reader), Refused> {
    for _ in 0..ATTACH_TRIES {
        let session = find(state, principal, &hello.session).await?.ok_or(Refused::Session)?;
        match session.attach(attach.clone()).await {
            Ok((greeting, reader)) => return Ok((session, greeting, reader)),
            Err(AttachError::TooMany { limit }) => {
                return Err(Refused::TooManySockets { scope: "channel", limit });
            }
            Err(AttachError::Closed(_)) => {}
        }
    }
    Err(Refused::Internal)
}

/// `None`: there is no such session.
async fn find(
    state: &AppState,
    principal: &Principal,
    wanted: &WantedSession,
) -> Result<Option<SessionHandle>, Refused> {
    let registry = &state.registry;
    let opened = match wanted {
        WantedSession::New => registry.open(principal, None).await.map(Some),
        WantedSession::ById { id, if_unknown } => {
            let id = state.auth.session(principal, id.clone());
            match if_unknown {
                IfUnknown::Refuse => registry.reopen(principal, &id).await,
                IfUnknown::Create => registry.open(principal, Some(id)).await.map(Some),
            }
        }
        WantedSession::Outside(id) => match registry.open_outside(principal, id).await {
            Ok(session) => Ok(Some(session)),
            Err(OutsideError::Open(err)) => Err(err),
            Err(OutsideError::TooMany { limit }) => return Err(Refused::TooManyIds { limit }),
        },
    };
    opened.map_err(refused_open)
}

fn refused_open(err: OpenError) -> Refused {
    match err {
        OpenError::Refused => Refused::Session,
        OpenError::Stopping => Refused::Stopping,
        OpenError::Store(_) | OpenError::NoRandomness => {
            error!(%err, "a session cannot be opened");
            Refused::Internal
        }
    }
}
