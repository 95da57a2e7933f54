//! Server-sent events of the core/UI interface: `GET /core-ui/events`. A browser resumes by itself, with
//! `Last-Event-ID`.

use super::super::AppState;
use super::super::attached::Attached;
use super::super::body::{BadRequest, Parameters};
use super::super::caller::Visitor;
use super::super::connection::PeerActivity;
use super::super::door::{self, Entered};
use super::super::event_stream::EventStream;
use super::super::language;
use super::{AddressQuery, address, refuse_entry};
use crate::dialect::Dialect;
use crate::dialect::core_ui::FrameSeq;
use crate::session::Role;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use std::sync::Arc;

const LAST_EVENT_ID: &str = "last-event-id";

pub(super) async fn stream(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    headers: HeaderMap,
    query: Result<Parameters<AddressQuery>, BadRequest>,
) -> Response {
    let locale = language::of_request();
    let mut address = match address(query, locale) {
        Ok(address) => address,
        Err(refused) => return refused,
    };
    let last = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()?.parse().ok());
    address.after = last.map(FrameSeq).or(address.after);
    let hello = address.hello(&state, Role::Viewer, None);
    let entered = match door::enter(&state, visitor.ok(), &hello, activity).await {
        Ok(entered) => entered,
        Err(refused) => return refuse_entry(&refused, locale),
    };
    let Entered { session, greeting, reader, terms, place } = entered;
    let counted = state.metrics.view_opened();
    let dialect = Arc::new(address.dialect(session.id(), locale));
    let encoder = dialect.encoder();
    let (transport, events) = EventStream::new();
    let client = Attached { transport, dialect, encoder, session, greeting, reader, terms };
    events.answer(client, (place, counted))
}
