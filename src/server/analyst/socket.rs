//! The WebSocket of the analyst: `WS /analyst/ws`.

use super::super::AppState;
use super::super::attached::Attached;
use super::super::body::{BadRequest, Parameters};
use super::super::caller::Visitor;
use super::super::connection::PeerActivity;
use super::super::door::{self, Refused};
use super::super::language;
use super::super::socket::{self, WebSocketTransport};
use super::super::upgrade::Upgrade;
use super::{choose_analyst, hello, wanted};
use crate::auth::Grant;
use crate::dialect::Dialect;
use crate::dialect::analyst::{self, AnalystDialect, FrameSeq};
use crate::locale::Locale;
use crate::session::Role;
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{Extension, State};
use axum::response::Response;
use serde::Deserialize;
use std::sync::Arc;
use tracing::debug;

#[derive(Debug, Default, Deserialize)]
pub(super) struct SocketQuery {
    session: Option<String>,
    /// The last frame that the client has.
    after: Option<u64>,
}

pub(super) async fn upgrade(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    query: Result<Parameters<SocketQuery>, BadRequest>,
    Upgrade(upgrade): Upgrade,
) -> Response {
    let locale = language::of_request();
    let query = query.map(|Parameters(query)| query).map_err(|bad| bad.text);
    let limits = state.config.limits;
    if visitor.is_err() {
        activity.limit_bytes(limits.other_frame * 2);
    }
    socket::accept(upgrade, limits.input_frame)
        .on_upgrade(move |socket| serve(state, visitor.ok(), socket, query, activity, locale))
}

async fn serve(
    state: AppState,
    visitor: Option<Grant>,
    socket: WebSocket,
    query: Result<SocketQuery, String>,
    activity: PeerActivity,
    locale: Locale,
) {
    let query = match query {
        Ok(query) => query,
        Err(text) => return reject(&state, socket, 3502, "bad_field", &text).await,
    };
    // A new session has sent no frame, so the number would be one of another session.
    let after = query.after.filter(|_| query.session.is_some()).map(FrameSeq);
    let entered = match wanted(query.session.as_deref()) {
        Ok(session) => {
            let hello = hello(&state, session, Role::Participant, after, None);
            door::enter(&state, visitor, &hello, activity).await
        }
        Err(refused) => Err(refused),
    };
    let entered = match entered {
        Ok(entered) => entered,
        Err(refused) => {
            let text = refused.say(locale);
            return reject(&state, socket, refused.close_code(), refused.code(), &text).await;
        }
    };
    let door::Entered { session, greeting, reader, terms, place } = entered;
    if session.submit(terms.connection, choose_analyst()).await.is_err() {
        let refused = Refused::Stopping;
        let text = refused.say(locale);
        return reject(&state, socket, refused.close_code(), refused.code(), &text).await;
    }
    let counted = state.metrics.view_opened();
    terms.activity.lift_limit();
    let after = after.unwrap_or_default();
    let dialect = Arc::new(AnalystDialect { session: session.id().clone(), locale, after });
    let encoder = dialect.encoder();
    let transport = WebSocketTransport::new(socket);
    let client = Attached { transport, dialect, encoder, session, greeting, reader, terms };
    let end = Box::pin(client.run()).await;
    drop((place, counted));
    debug!(%end, "socket closed");
}

async fn reject(
    state: &AppState,
    mut socket: WebSocket,
    close_code: u16,
    code: &'static str,
    text: &str,
) {
    state.metrics.frame_refused(code);
    let error = analyst::refusal(code, text).to_string();
    if socket.send(Message::text(error)).await.is_ok() {
        let reason = if close_code == 3001 { socket::retry_hint() } else { code.to_owned() };
        socket::close(&mut socket, close_code, &reason).await;
    }
}
