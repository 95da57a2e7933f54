//! Commands over HTTP: `POST /core-ui/commands` takes one frame and answers when the session has taken it.

use super::super::AppState;
use super::super::body::{BadRequest, Parameters, is_json};
use super::super::caller::Visitor;
use super::super::connection::PeerActivity;
use super::super::door::{self, Entered};
use super::super::language;
use super::{AddressQuery, address, refuse, refuse_entry};
use crate::dialect::core_ui::{self, CoreUiDialect};
use crate::dialect::{Decoded, Dialect, FrameError, Received};
use crate::locale::Locale;
use crate::message::{Delivery, Inbound, Problem, RequestNo, Signal};
use crate::session::{Reader, Role, Step};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// How long a client waits until the session has taken its command. A stored command is not lost afterwards, either.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn take(
    State(state): State<AppState>,
    Extension(activity): Extension<PeerActivity>,
    Visitor(visitor): Visitor,
    headers: HeaderMap,
    query: Result<Parameters<AddressQuery>, BadRequest>,
    body: Bytes,
) -> Response {
    let locale = language::of_request();
    // A page of another site can send other types without asking the browser's permission.
    if !is_json(&headers) {
        let text = locale.say("body", "not_announced", &[]);
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad_field", &text);
    }
    let mut address = match address(query, locale) {
        Ok(address) => address,
        Err(refused) => return refused,
    };
    // Only the answer to this command is of interest.
    (address.after, address.history) = (None, Some(0));
    let hello = address.hello(&state, Role::Participant, None);
    let entered = match door::enter(&state, visitor.ok(), &hello, activity).await {
        Ok(entered) => entered,
        Err(refused) => return refuse_entry(&refused, locale),
    };
    let dialect = address.dialect(entered.session.id(), locale);
    let commands = match read(&dialect, body).await {
        Ok(commands) => commands,
        Err(refused) => return refused,
    };
    submit(entered, commands, locale).await
}

/// Pictures make a frame long, so it is read on a blocking thread.
async fn read(dialect: &CoreUiDialect, body: Bytes) -> Result<Vec<Inbound>, Response> {
    let own = dialect.clone();
    let decode = move || {
        let text = std::str::from_utf8(&body).unwrap_or_default();
        own.decode(Received::Text(text))
    };
    let Ok(decoded) = tokio::task::spawn_blocking(decode).await else {
        return Err(StatusCode::SERVICE_UNAVAILABLE.into_response());
    };
    decoded.map(Decoded::into_commands).map_err(|refusal| {
        let (code, text) = (refusal.error.code(), refusal.error.say(dialect.locale));
        refuse(StatusCode::BAD_REQUEST, code, &text)
    })
}

async fn submit(mut entered: Entered, mut commands: Vec<Inbound>, locale: Locale) -> Response {
    let Some(last) = commands.last_mut() else {
        return StatusCode::ACCEPTED.into_response();
    };
    let id = last.request.get_or_insert_with(fresh_id).clone();
    for inbound in commands {
        if entered.session.submit(entered.terms.connection, inbound).await.is_err() {
            let text = locale.say("error", "stopping", &[]);
            return refuse(StatusCode::SERVICE_UNAVAILABLE, "stopping", &text);
        }
    }
    match timeout(PATIENCE, answered(&mut entered.reader, &id)).await {
        Ok(Some(problem)) => {
            refuse(status(&problem), problem.code(), &core_ui::explain(&problem, locale))
        }
        // Without an answer in time, the command waits in the session's queue.
        Ok(None) | Err(_) => {
            let session = entered.session.id().as_str();
            let body = json!({"id": id.to_string(), "sessionId": session});
            (StatusCode::ACCEPTED, Json(body)).into_response()
        }
    }
}

/// `None`: the command was taken.
pub(in crate::server) async fn answered(reader: &mut Reader, id: &RequestNo) -> Option<Problem> {
    while let Ok(step) = reader.next().await {
        let Step::Deliver(Delivery::Passing(signal)) = step else { continue };
        if let Signal::Ack { request, .. } = &signal
            && request == id
        {
            return None;
        }
        if let Signal::Failed { problem, request } = signal {
            // A picture has no id of its own.
            let is_picture = matches!(problem, Problem::FileRefused { .. });
            if is_picture || request.as_ref() == Some(id) {
                return Some(problem);
            }
        }
    }
    None
}

pub(in crate::server) fn fresh_id() -> RequestNo {
    let (high, low) = (getrandom::u64().unwrap_or(0), getrandom::u64().unwrap_or(0));
    RequestNo::Text(format!("{high:016x}{low:016x}").into())
}

fn status(problem: &Problem) -> StatusCode {
    match problem {
        Problem::NothingToConfirm => StatusCode::NOT_FOUND,
        Problem::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
        Problem::Locked => StatusCode::LOCKED,
        Problem::ReadOnly => StatusCode::FORBIDDEN,
        Problem::FileRefused { .. } | Problem::TooManyControls { .. } => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        Problem::SessionDeleted => StatusCode::GONE,
        Problem::StoreStalled { .. } | Problem::StorageDamaged => StatusCode::SERVICE_UNAVAILABLE,
        Problem::NotHolder
        | Problem::ListFailed { .. }
        | Problem::ConfirmTwice
        | Problem::NoChoice { .. }
        | Problem::NotCarriedOut { .. } => StatusCode::CONFLICT,
    }
}
