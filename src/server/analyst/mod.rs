//! The data analyst: its page, uploads of tables, the socket, and downloads of what was made.

mod files;
mod socket;
mod upload;

use super::AppState;
use super::assets;
use super::caller::Visitor;
use super::door::{self, IfUnknown, Refused, WantedSession};
use crate::dialect::analyst::{self, FrameSeq};
use crate::message::{
    AssistantName, Channel, Command, Features, Inbound, SentSessionId, SettingChange, View,
};
use crate::session::{Cursor, Devices, Role};
use axum::Router;
use axum::extract::RawQuery;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get, post};

pub(super) use upload::UPLOAD_PATH;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/analyst", get(page))
        .route("/analyst/ws", any(socket::upgrade))
        .route(UPLOAD_PATH, post(upload::take))
        .route("/analyst/report/{session}", get(files::report))
        .route("/analyst/files/{session}/{name}", get(files::file))
}

async fn page(
    Visitor(visitor): Visitor,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    match visitor {
        Ok(_) => assets::answer("analyst.html", &headers),
        // The query is kept through the login, so that the same session opens afterwards.
        Err(_) => {
            let query = query.map_or_else(String::new, |query| format!("&{query}"));
            Redirect::to(&format!("/login?next=analyst{query}")).into_response()
        }
    }
}

/// The session that an address names; a new one if it names none.
fn wanted(session: Option<&str>) -> Result<WantedSession, Refused> {
    match session.filter(|id| !id.is_empty()) {
        None => Ok(WantedSession::New),
        Some(id) => {
            let id = SentSessionId::parse(id).ok_or(Refused::Session)?;
            Ok(WantedSession::ById { id, if_unknown: IfUnknown::Refuse })
        }
    }
}

/// What a client of the analyst sees: the chat of a session.
fn hello(
    state: &AppState,
    session: WantedSession,
    role: Role,
    after: Option<FrameSeq>,
    history: Option<usize>,
) -> door::Hello {
    door::Hello {
        token: None,
        session,
        view: View::One(Channel::Chat),
        role,
        devices: Devices::None,
        cursor: after.map(|seq| Cursor {
            epoch: None,
            at: seq.position(),
            again: FrameSeq::READ_AGAIN,
        }),
        history: history.into(),
        features: Features { stream: true, confirm: true, agents: true, playback: false },
        language: None,
        frame_limit: state.config.limits.input_frame,
    }
}

/// The analyst answers in the chat of a session that is used through this interface.
fn choose_analyst() -> Inbound {
    let assistant = AssistantName::new(AssistantName::ANALYST);
    let command = Command::ChangeSettings(vec![SettingChange::ChatAssistant(assistant)]);
    Inbound { request: None, command }
}

fn refuse(status: StatusCode, code: &str, text: &str) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, analyst::refusal(code, text).to_string()).into_response()
}

fn refuse_entry(refused: &Refused) -> Response {
    let text = refused.say(super::language::of_request());
    refuse(refused.status(), refused.code(), &text)
}
