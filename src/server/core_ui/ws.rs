//! The WebSocket of the core/UI interface, in both forms.

use super::super::AppState;
use super::super::attached::Attached;
use super::super::body::{BadRequest, Parameters};
use super::super::caller::Visitor;
use super::super::connection::PeerActivity;
use super::super::door::{self, Entered, Refused};
use super::super::guard::ForeignOrigin;
use super::super::language;
use super::super::socket::{self, WebSocketTransport};
use super::super::sockets::SocketPlace;
use super::super::upgrade::Upgrade;
use super::guide::Guide;
use super::{Address, AddressQuery, BadAddress};
use crate::auth::Grant;
use crate::dialect::Dialect;
use crate::dialect::core_ui::{self, AgentEventDialect, FORM_NAME};
use crate::locale::Locale;
use crate::session::Role;
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Uri, header};
use axum::response::Response;
use std::sync::Arc;
use tracing::debug;

pub(in crate::server) const SOCKET_PATH: &str = "/core-ui/ws";

/// Close codes that pages of the second form know.
const UNAUTHORIZED: u16 = 4401;
const FOREIGN_ORIGIN: u16 = 4403;

/// Which frames are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Document,
    AgentEvent,
}

/// Whether the request is for the second form. Its pages learn by a close code, and not by an HTTP status, that they
/// are not let in.
pub(in crate::server) fn wants_agent_events(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut pairs = uri.query().unwrap_or_default().split('&');
    let by_query = pairs.any(|pair| pair.split_once('=') == Some(("form", FORM_NAME)));
    let protocols = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let mut protocols = protocols.filter_map(|value| value.to_str().ok());
    by_query || protocols.any(|list| list.split(',').any(|name| name.trim() == FORM_NAME))
}

#[expect(clippy::too_many_arguments, reason = "one for each part of the request")]
pub(super) async fn upgrade(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    query: Result<Parameters<AddressQuery>, BadRequest>,
    foreign: Option<Extension<ForeignOrigin>>,
    uri: Uri,
    headers: HeaderMap,
    Upgrade(upgrade): Upgrade,
) -> Response {
    let locale = language::of_request();
    let form = match wants_agent_events(&uri, &headers) {
        true => Form::AgentEvent,
        false => Form::Document,
    };
    let query = match query {
        Ok(Parameters(query)) => Ok(query),
        Err(bad) => Err(("bad_field", bad.text)),
    };
    let limits = state.config.limits;
    if visitor.is_err() {
        activity.limit_bytes(limits.other_frame * 2);
    }
    let client = Client { state, visitor: visitor.ok(), locale, form, activity };
    let foreign = foreign.is_some();
    socket::accept(upgrade, limits.input_frame)
        .protocols([FORM_NAME])
        .on_upgrade(move |socket| client.serve(socket, query, foreign))
}

/// A client whose request for a WebSocket was accepted.
struct Client {
    state: AppState,
    visitor: Option<Grant>,
    locale: Locale,
    form: Form,
    activity: PeerActivity,
}

impl Client {
    async fn serve(
        self,
        mut socket: WebSocket,
        query: Result<AddressQuery, BadAddress>,
        foreign: bool,
    ) {
        if foreign {
            return socket::close(&mut socket, FOREIGN_ORIGIN, "Forbidden origin").await;
        }
        let token = query.as_ref().ok().and_then(|query| query.token.clone());
        let address = query.and_then(|query| query.read(self.locale));
        match (self.form, address) {
            (_, Err((code, text))) => {
                let close = Refused::Session.close_code();
                self.reject(socket, close, code, &text).await;
            }
            // A secret in an address is easily seen by others, so only the form that needs it takes one.
            (Form::Document, Ok(address)) => self.document(socket, &address).await,
            (Form::AgentEvent, Ok(address)) => self.agent_events(socket, &address, token).await,
        }
    }

    async fn document(self, socket: WebSocket, address: &Address) {
        let Some((socket, entered)) = self.enter(socket, address, None).await else { return };
        let dialect = address.dialect(entered.session.id(), self.locale);
        run(&self.state, socket, dialect, entered).await;
    }

    async fn agent_events(self, socket: WebSocket, address: &Address, token: Option<String>) {
        let Some((socket, entered)) = self.enter(socket, address, token).await else { return };
        let dialect = AgentEventDialect {
            session: entered.session.id().clone(),
            former: None,
            locale: self.locale,
            lane: address.lane,
            client: client_id(),
        };
        let counted = self.state.metrics.view_opened();
        let (client, place) = attached(socket, dialect, entered);
        let guide = Guide::new(&self.state, address, &client, &place, self.locale);
        let end = Box::pin(guide.run(client)).await;
        drop((place, counted));
        debug!(%end, "socket closed");
    }

    async fn enter(
        &self,
        mut socket: WebSocket,
        address: &Address,
        token: Option<String>,
    ) -> Option<(WebSocket, Entered)> {
        let hello = address.hello(&self.state, Role::Participant, token);
        let visitor = self.visitor.clone();
        match door::enter(&self.state, visitor, &hello, self.activity.clone()).await {
            Ok(entered) => Some((socket, entered)),
            Err(Refused::Unauthorized) if self.form == Form::AgentEvent => {
                self.state.metrics.frame_refused(Refused::Unauthorized.code());
                socket::close(&mut socket, UNAUTHORIZED, "Unauthorized").await;
                None
            }
            Err(refused) => {
                let (code, text) = (refused.code(), refused.say(self.locale));
                self.reject(socket, refused.close_code(), code, &text).await;
                None
            }
        }
    }

    async fn reject(&self, mut socket: WebSocket, close: u16, code: &'static str, text: &str) {
        self.state.metrics.frame_refused(code);
        let error = core_ui::refusal(code, text).to_string();
        if socket.send(Message::text(error)).await.is_ok() {
            let reason = if close == 3001 { socket::retry_hint() } else { code.to_owned() };
            socket::close(&mut socket, close, &reason).await;
        }
    }
}

async fn run<D: Dialect>(state: &AppState, socket: WebSocket, dialect: D, entered: Entered) {
    let counted = state.metrics.view_opened();
    let (client, place) = attached(socket, dialect, entered);
    let end = Box::pin(client.run()).await;
    drop((place, counted));
    debug!(%end, "socket closed");
}

fn attached<D: Dialect>(
    socket: WebSocket,
    dialect: D,
    entered: Entered,
) -> (Attached<D, WebSocketTransport>, SocketPlace) {
    let Entered { session, greeting, reader, terms, place } = entered;
    terms.activity.lift_limit();
    let (dialect, transport) = (Arc::new(dialect), WebSocketTransport::new(socket));
    let encoder = dialect.encoder();
    let client = Attached { transport, dialect, encoder, session, greeting, reader, terms };
    (client, place)
}

/// A name for this connection; it opens nothing.
fn client_id() -> String {
    let (high, low) = (getrandom::u64().unwrap_or(0), getrandom::u64().unwrap_or(0));
    format!("ws-{high:016x}{low:016x}")
}
