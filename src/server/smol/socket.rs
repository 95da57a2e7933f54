//! The WebSocket of the agent UI: `WS /ws`.

use super::super::AppState;
use super::super::attached::Attached;
use super::super::body::{BadRequest, Parameters};
use super::super::caller::Visitor;
use super::super::connection::PeerActivity;
use super::super::door::{self, Entered, Hello, IfUnknown, Refused, WantedSession};
use super::super::language;
use super::super::socket::{self, WebSocketTransport};
use super::super::upgrade::Upgrade;
use super::filling::{Filling, Pictures};
use crate::auth::Grant;
use crate::dialect::Dialect;
use crate::dialect::smol::{self, SmolDialect};
use crate::locale::Locale;
use crate::message::{
    AssistantName, Channel, Command, Features, Inbound, Position, SentSessionId, Seq, SessionId,
    SettingChange, View,
};
use crate::session::{Cursor, Devices, Role};
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{Extension, State};
use axum::response::Response;
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::debug;

/// With this word a page asks for a new conversation.
const NEW: &str = "new";
/// Events that are read again for a page that comes back in the middle of a turn: what the turn has done so far.
const READ_AGAIN: u64 = 1_000;

#[derive(Debug, Default, Deserialize)]
pub(super) struct SocketQuery {
    conversation: Option<String>,
}

/// The conversation that a socket is for.
enum Wanted {
    New,
    Named(SentSessionId),
    /// The one that the same page has just left, after this event.
    Left(SessionId, Seq),
}

pub(super) async fn upgrade(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    query: Result<Parameters<SocketQuery>, BadRequest>,
    Upgrade(upgrade): Upgrade,
) -> Response {
    let locale = language::of_request();
    let query = query.map_or_else(|_| None, |Parameters(query)| Some(query));
    let limits = state.config.limits;
    if visitor.is_err() {
        activity.limit_bytes(limits.other_frame * 2);
    }
    let client = Client { state, visitor: visitor.ok(), locale };
    socket::accept(upgrade, limits.input_frame)
        .on_upgrade(move |socket| client.serve(socket, query, activity))
}

struct Client {
    state: AppState,
    visitor: Option<Grant>,
    locale: Locale,
}

impl Client {
    async fn serve(self, socket: WebSocket, query: Option<SocketQuery>, activity: PeerActivity) {
        let entered = match query.ok_or(Refused::Session).and_then(|query| self.wanted(&query)) {
            Ok((wanted, keeps_its_own)) => {
                let entered = self.enter(&wanted, activity).await;
                entered.map(|entered| (entered, wanted, keeps_its_own))
            }
            Err(refused) => Err(refused),
        };
        match entered {
            Ok((entered, wanted, keeps_its_own)) => {
                self.run(socket, entered, &wanted, keeps_its_own).await;
            }
            Err(refused) => self.reject(socket, &refused).await,
        }
    }

    /// The conversation, and whether the page keeps it in mind itself.
    fn wanted(&self, query: &SocketQuery) -> Result<(Wanted, bool), Refused> {
        match query.conversation.as_deref() {
            Some(NEW) => Ok((Wanted::New, true)),
            Some(id) => {
                let id = SentSessionId::parse(id).ok_or(Refused::Session)?;
                Ok((Wanted::Named(id), true))
            }
            None => {
                let principal = self.visitor.as_ref().map(|grant| &grant.principal);
                let left = principal.and_then(|principal| self.state.smol.take(principal));
                Ok((left.map_or(Wanted::New, |left| Wanted::Left(left.session, left.told)), false))
            }
        }
    }

    async fn enter(&self, wanted: &Wanted, activity: PeerActivity) -> Result<Entered, Refused> {
        let hello = self.hello(wanted);
        let entered =
            door::enter(&self.state, self.visitor.clone(), &hello, activity.clone()).await;
        let entered = match (entered, wanted) {
            // The conversation was deleted meanwhile.
            (Err(Refused::Session), Wanted::Left(..)) => {
                let hello = self.hello(&Wanted::New);
                door::enter(&self.state, self.visitor.clone(), &hello, activity).await?
            }
            (entered, Wanted::New | Wanted::Named(_) | Wanted::Left(..)) => entered?,
        };
        let connection = entered.terms.connection;
        let chosen = entered.session.submit(connection, choose_mapper()).await;
        chosen.map(|()| entered).map_err(|_| Refused::Stopping)
    }

    /// What a client of the agent UI sees: the chat of a session.
    fn hello(&self, wanted: &Wanted) -> Hello {
        let by_id = |id| WantedSession::ById { id, if_unknown: IfUnknown::Refuse };
        let (session, cursor) = match wanted {
            Wanted::New => (WantedSession::New, None),
            Wanted::Named(id) => (by_id(id.clone()), None),
            Wanted::Left(id, told) => {
                let cursor = Cursor { epoch: None, at: Position(told.0), again: READ_AGAIN };
                (by_id(SentSessionId::Ours(id.clone())), Some(cursor))
            }
        };
        Hello {
            token: None,
            session,
            view: View::One(Channel::Chat),
            role: Role::Participant,
            devices: Devices::None,
            cursor,
            history: None.into(),
            features: Features { stream: false, confirm: true, agents: true, playback: false },
            language: None,
            frame_limit: self.state.config.limits.input_frame,
        }
    }

    async fn run(self, socket: WebSocket, entered: Entered, wanted: &Wanted, keeps_its_own: bool) {
        let Entered { session, greeting, reader, terms, place } = entered;
        let after = match wanted {
            Wanted::Left(_, told) if greeting.resumed => *told,
            Wanted::Left(..) | Wanted::New | Wanted::Named(_) => Seq(0),
        };
        let counted = self.state.metrics.view_opened();
        terms.activity.lift_limit();
        let (id, principal, locale) = (session.id().clone(), place.principal.clone(), self.locale);
        let resumed = !matches!(wanted, Wanted::New);
        let dialect = Arc::new(SmolDialect { session: id.clone(), locale, resumed, after });
        let encoder = dialect.encoder();
        let told = Arc::new(AtomicU64::new(after.0));
        let transport = Filling {
            transport: WebSocketTransport::new(socket),
            pictures: Pictures {
                registry: Arc::clone(&self.state.registry),
                principal: principal.clone(),
                session: id.clone(),
                locale,
            },
            told: Arc::clone(&told),
        };
        let client = Attached { transport, dialect, encoder, session, greeting, reader, terms };
        let end = Box::pin(client.run()).await;
        if !keeps_its_own {
            self.state.smol.note(&principal, id, Seq(told.load(Ordering::Relaxed)));
        }
        drop((place, counted));
        debug!(%end, "socket closed");
    }

    async fn reject(&self, mut socket: WebSocket, refused: &Refused) {
        let (code, text) = (refused.close_code(), refused.say(self.locale));
        self.state.metrics.frame_refused(refused.code());
        let error = smol::refusal(&text).to_string();
        if socket.send(Message::text(error)).await.is_ok() {
            let reason =
                if code == 3001 { socket::retry_hint() } else { refused.code().to_owned() };
            socket::close(&mut socket, code, &reason).await;
        }
    }
}

/// The mapper answers in the chat of a session that is used through this interface.
fn choose_mapper() -> Inbound {
    let assistant = AssistantName::new(AssistantName::MAPPER);
    let command = Command::ChangeSettings(vec![SettingChange::ChatAssistant(assistant)]);
    Inbound { request: None, command }
}
