//! Long polling: `GET /core-ui/poll` answers with the frames after `after`, or waits for the next one. Nothing is kept
//! between two polls: the frames are read from the stored events.

use super::super::AppState;
use super::super::body::{BadRequest, Parameters};
use super::super::caller::Visitor;
use super::super::connection::PeerActivity;
use super::super::door::{self, Entered};
use super::super::language;
use super::{AddressQuery, address, refuse_entry};
use crate::dialect::{Dialect, Encoder, Frame};
use crate::session::{ReaderEnd, Role, Step};
use axum::extract::{Extension, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a poll waits for a frame.
const PATIENCE: Duration = Duration::from_secs(30);
/// Frames of one answer; the next poll gets the others.
const MOST_FRAMES: usize = 500;
/// Bytes of one answer, as far as one more event allows.
const MOST_BYTES: usize = 4 * 1024 * 1024;

pub(super) async fn answer(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    query: Result<Parameters<AddressQuery>, BadRequest>,
) -> Response {
    let locale = language::of_request();
    let address = match address(query, locale) {
        Ok(address) => address,
        Err(refused) => return refused,
    };
    let hello = address.hello(&state, Role::Viewer, None);
    let mut entered = match door::enter(&state, visitor.ok(), &hello, activity).await {
        Ok(entered) => entered,
        Err(refused) => return refuse_entry(&refused, locale),
    };
    let dialect = address.dialect(entered.session.id(), locale);
    let mut encoder = dialect.encoder();
    let mut frames = Vec::new();
    if address.cursor().is_none() {
        encoder.greet(&entered.greeting, &mut frames);
    }
    gather(&mut entered, &mut encoder, &mut frames).await;
    let texts: Vec<_> = frames.iter().filter_map(Frame::text).collect();
    let body = format!("{{\"frames\":[{}]}}", texts.join(","));
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}

/// Collects frames until there are some and no more are ready, or until the time is up.
async fn gather<E: Encoder>(entered: &mut Entered, encoder: &mut E, frames: &mut Vec<Frame>) {
    let Entered { reader, terms, .. } = entered;
    let end = Instant::now() + PATIENCE;
    let mut is_caught_up = false;
    loop {
        let size: usize = frames.iter().map(Frame::size).sum();
        if frames.len() >= MOST_FRAMES || size >= MOST_BYTES {
            return;
        }
        let step: Result<Step, ReaderEnd> = match reader.ready() {
            Some(step) => Ok(step),
            None if is_caught_up && !frames.is_empty() => return,
            None => tokio::select! {
                step = timeout_at(end, reader.next()) => match step {
                    Ok(step) => step,
                    Err(_) => return,
                },
                () = terms.over.cancelled() => return,
            },
        };
        match step {
            Ok(Step::Deliver(delivery)) => encoder.encode(&delivery, frames),
            Ok(Step::CaughtUp) => is_caught_up = true,
            Err(_) => return,
        }
    }
}
