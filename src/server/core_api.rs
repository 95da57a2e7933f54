//! HTTP API for frontends of the AIcore dialect: login, sessions, model settings, file contents. The dialect owns the
//! format of requests and answers; this file decides who may do what.

use super::AppState;
use super::caller::Visitor;
use super::language;
use super::transport::Transport;
use crate::auth::{Grant, LoginError};
use crate::dialect::aicore::http::{self, Answer, Endpoint, OwnSession, Restart};
use crate::locale::Locale;
use crate::message::{AgentSet, Principal, SentSessionId};
use crate::session::{
    ContentError, Handout, HandoutError, OpenError, Scope, SessionHandle, SettingsError,
};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER, SET_COOKIE,
};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::stream::unfold;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::convert::Infallible;
use std::time::SystemTime;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::error;

/// A file is passed to the connection in chunks of this size.
const CHUNK_BYTES: usize = 64 * 1024;
/// Longest list of sessions.
const MOST_SESSIONS: usize = 1000;

pub(super) fn routes() -> Router<AppState> {
    // The paths are Japanese, and clients percent-encode them in different ways; the extractor decodes them.
    Router::new().route("/core/{*path}", any(dispatch))
}

async fn dispatch(
    State(state): State<AppState>,
    Path(path): Path<String>,
    method: Method,
    Visitor(visitor): Visitor,
    Extension(transport): Extension<Transport>,
    body: Bytes,
) -> Response {
    let Some(endpoint) = Endpoint::at(&path) else {
        return (StatusCode::NOT_FOUND, language::plain("nothing_here")).into_response();
    };
    if method != endpoint.method() {
        let allowed = HeaderValue::from_static(endpoint.method());
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, allowed)]).into_response();
    }
    let request = CoreRequest { locale: language::of_request(), state, transport, body };
    match (endpoint, visitor) {
        (Endpoint::Login, _) => request.login().await,
        (Endpoint::State, _) => respond(request.state()),
        (_, Err(refusal)) => refusal.into_response(),
        (Endpoint::Logout, Ok(grant)) => request.logout(&grant).await,
        (Endpoint::Content, Ok(Grant { principal, .. })) => {
            let limit = request.state.config.limits.handshake;
            let found = timeout(limit, request.content(&principal)).await;
            match found.unwrap_or_else(|_| Err(request.stalled())) {
                Ok((answer, permit)) => respond_in_chunks(answer, permit),
                Err(refused) => respond(refused),
            }
        }
        (endpoint, Ok(Grant { principal, .. })) => {
            let limit = request.state.config.limits.handshake;
            // A store that does not answer must not leave the client waiting.
            let answered = timeout(limit, request.answer(endpoint, &principal)).await;
            respond(
                answered
                    .unwrap_or_else(|_| Err(request.stalled()))
                    .unwrap_or_else(|refused| refused),
            )
        }
    }
}

/// One request to this API.
struct CoreRequest {
    state: AppState,
    locale: Locale,
    transport: Transport,
    body: Bytes,
}

impl CoreRequest {
    async fn login(&self) -> Response {
        let login = match http::read_login(self.locale, &self.body) {
            Ok(login) => login,
            Err(invalid) => return respond(invalid),
        };
        match self.state.auth.login(self.transport.peer, &login.name, &login.password).await {
            Ok(issued) => {
                let mut response = respond(http::logged_in(self.locale, &issued.secret));
                let cookie = self.state.cookie.set(&issued, &self.transport);
                response.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
                response
            }
            Err(LoginError::Wrong) => respond(http::login_wrong(self.locale)),
            Err(LoginError::TooMany { wait }) => {
                let seconds = wait.as_secs().max(1);
                let mut response = respond(http::login_too_often(self.locale, seconds));
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
                response
            }
            Err(err @ (LoginError::Busy | LoginError::Store(_))) => respond(self.trouble(&err)),
        }
    }

    async fn logout(&self, grant: &Grant) -> Response {
        if grant.is_permanent() {
            return respond(http::not_a_login(self.locale));
        }
        if let Err(err) = self.state.auth.revoke(grant).await {
            return respond(self.trouble(&err));
        }
        let mut response = respond(http::logged_out(self.locale));
        let cookie = self.state.cookie.clear(&self.transport);
        response.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
        response
    }

    fn state(&self) -> Answer {
        let ready = !self.state.stop.is_cancelled() && self.state.registry.store_health().is_ok();
        http::state(self.locale, ready, self.state.metrics.busy_runs())
    }

    /// Endpoints that need a login.
    async fn answer(&self, endpoint: Endpoint, principal: &Principal) -> Result<Answer, Answer> {
        match endpoint {
            Endpoint::Who => Ok(http::user(self.locale, principal)),
            Endpoint::Start => self.start(principal).await,
            Endpoint::Models => self.models(principal).await,
            Endpoint::Settings => self.settings(principal).await,
            Endpoint::Sessions => self.sessions(principal).await,
            // `dispatch` answers these itself.
            Endpoint::Content | Endpoint::Login | Endpoint::Logout | Endpoint::State => {
                Ok(self.state())
            }
        }
    }

    async fn start(&self, principal: &Principal) -> Result<Answer, Answer> {
        let id = http::read_session(self.locale, &self.body)?;
        let session = self.open(principal, id).await?;
        Ok(http::started(self.locale, session.id()))
    }

    async fn models(&self, principal: &Principal) -> Result<Answer, Answer> {
        let id = http::read_session(self.locale, &self.body)?;
        let registry = &self.state.registry;
        registry.refresh_offer().await;
        let settings = match id {
            None => registry.default_settings(),
            Some(id) => {
                let session = self.open(principal, Some(id)).await?;
                session.settings().await.map_err(|err| self.trouble(&err))?
            }
        };
        Ok(http::models(self.locale, &registry.offer(), &settings))
    }

    async fn settings(&self, principal: &Principal) -> Result<Answer, Answer> {
        let request = http::read_settings(self.locale, &self.body)?;
        let restart = request.restart;
        if request.count == 0 {
            return Err(match restart {
                Restart::Asked => http::restart_refused(self.locale),
                Restart::NotAsked => http::no_settings(self.locale),
            });
        }
        let id = request.session.ok_or_else(|| http::session_refused(self.locale))?;
        let session = self.open(principal, Some(id)).await?;
        let (registry, count, problems) = (&self.state.registry, request.count, request.problems);
        let changed = if problems.is_empty() {
            registry.change_settings(&session, request.changes).await.map(drop)
        } else {
            // The answer names everything that is wrong at once.
            let others = registry.refusals(&session, request.changes).await;
            others.and_then(|others| Err(SettingsError::Refused(others)))
        };
        match changed {
            Ok(()) => Ok(http::settings_changed(self.locale, count, restart)),
            Err(SettingsError::Refused(others)) => {
                Err(http::settings_refused(self.locale, &problems, others))
            }
            Err(err @ SettingsError::Closed(_)) => Err(self.trouble(&err)),
        }
    }

    async fn sessions(&self, principal: &Principal) -> Result<Answer, Answer> {
        let listed = self.state.registry.list(Scope::Own(principal), MOST_SESSIONS).await;
        let own = listed.map_err(|err| self.trouble(&err))?.into_iter().map(|found| OwnSession {
            id: found.id,
            created: shown(found.created),
            used: shown(found.used),
            events: found.events,
            busy: found.running > 0,
        });
        Ok(http::sessions(self.locale, own.collect()))
    }

    /// Returns the answer with its permit, which limits how many file contents are in memory at once.
    async fn content(
        &self,
        principal: &Principal,
    ) -> Result<(Answer, OwnedSemaphorePermit), Answer> {
        let request = http::read_content(self.locale, &self.body)?;
        let session = match request.session {
            Some(id) => Some(self.open(principal, Some(id)).await?),
            None => None,
        };
        let registry = &self.state.registry;
        let (session, agent) = (session.as_ref(), request.agent);
        let in_copy = request.in_copy.as_ref();
        let read = match in_copy.map(|(slot, path)| ((*slot).into(), path)) {
            Some((agents, path)) => {
                registry.content_in_copies(principal, session, agents, path).await
            }
            None => registry.content(principal, session, agent, &request.name).await,
        };
        // The name may really begin like a path in a copy, or the file may exist only in an agent's copy.
        let read = match (read, in_copy) {
            (Err(HandoutError::Content(ContentError::NotFound)), Some(_)) => {
                registry.content(principal, session, None, &request.name).await
            }
            (Err(HandoutError::Content(ContentError::NotFound)), None) if agent.is_none() => {
                let (agents, name) = (AgentSet::ALL, &request.name);
                registry.content_in_copies(principal, session, agents, name).await
            }
            (read, _) => read,
        };
        let Handout { content, turn, place } = read.map_err(|err| self.no_content(&err))?;
        let (locale, name) = (self.locale, request.name);
        let made = spawn_blocking(move || {
            let answer = http::content(locale, &name, &content.bytes);
            drop((content, turn));
            answer
        });
        Ok((made.await.map_err(|err| self.trouble(&err))?, place))
    }

    fn no_content(&self, err: &HandoutError) -> Answer {
        let (code, limit) = match *err {
            HandoutError::Busy => {
                return http::unavailable(self.locale, &self.locale.word(&err.to_string()));
            }
            HandoutError::Content(ContentError::Invalid) => ("INVALID_FILE_NAME", 0),
            HandoutError::Content(ContentError::NotFound) => ("FILE_NOT_FOUND", 0),
            HandoutError::Content(ContentError::TooLarge { limit }) => ("FILE_TOO_LARGE", limit),
            HandoutError::Content(ContentError::Ambiguous) => ("FILE_NAME_AMBIGUOUS", 0),
            HandoutError::Content(ContentError::Unreadable) => ("FILE_READ_ERROR", 0),
        };
        http::content_refused(self.locale, code, limit)
    }

    async fn open(
        &self,
        principal: &Principal,
        name: Option<SentSessionId>,
    ) -> Result<SessionHandle, Answer> {
        let id = name.map(|name| self.state.auth.session(principal, name));
        let opened = self.state.registry.open(principal, id).await;
        opened.map_err(|err| match err {
            OpenError::Refused => http::session_refused(self.locale),
            OpenError::Store(_) | OpenError::NoRandomness | OpenError::Stopping => {
                self.trouble(&err)
            }
        })
    }

    fn trouble(&self, err: &dyn std::error::Error) -> Answer {
        error!(%err, "a request cannot be answered");
        http::unavailable(self.locale, &self.locale.word(&err.to_string()))
    }

    fn stalled(&self) -> Answer {
        let reason = self.state.registry.store_health().err().unwrap_or_default();
        http::unavailable(self.locale, &self.locale.word(&reason))
    }
}

/// Local time, in the format of the file lists.
fn shown(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(TimeZone::system()).strftime("%Y/%m/%d %H:%M:%S").to_string()
}

pub(super) fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        // Tokens and conversations must not be cached.
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, answer.body).into_response()
}

/// The permit is released when the client has received nearly everything, or has left.
fn respond_in_chunks(answer: Answer, permit: OwnedSemaphorePermit) -> Response {
    let Answer { status, body } = answer;
    let length = body.len();
    let mut response = respond(Answer { status, body: String::new() });
    // hyper drops a body once it has buffered all of it, written or not, so it gets one small chunk at a time.
    let chunks = unfold((Bytes::from(body), permit), |(mut rest, permit)| async move {
        let chunk = rest.split_to(rest.len().min(CHUNK_BYTES));
        (!chunk.is_empty()).then(|| (Ok::<_, Infallible>(chunk), (rest, permit)))
    });
    *response.body_mut() = Body::from_stream(chunks);
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}
