//! The HTTP and WebSocket edge: one router behind our own accept loop, and an orderly shutdown.

mod accept;
mod admission;
mod agents;
mod aicore;
mod analyst;
mod api;
mod assets;
mod attached;
mod backups;
mod body;
mod caller;
mod connection;
pub mod control;
mod cookie;
mod core_api;
mod core_ui;
mod cors;
mod door;
mod event_stream;
mod guard;
mod health;
mod language;
mod metrics;
mod page;
mod refusals;
mod sessions;
mod smol;
mod socket;
mod sockets;
mod stall;
pub mod tls;
mod transport;
mod upgrade;

pub use cookie::Cookie;
pub use sockets::Sockets;

use crate::auth::Auth;
use crate::config::Config;
use crate::message::SystemNotice;
use crate::metrics::Metrics;
use crate::session::{Registry, StartError, StoreError};
use crate::task::Tasks;
use accept::Acceptor;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Router, middleware};
use futures_util::future::join_all;
use guard::Guard;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tls::{Tls, TlsError};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often expired logins are ended; a login may outlive its expiry by this long.
const TIDY_LOGINS: Duration = Duration::from_secs(5);
/// How long the shutdown waits for agent processes that are being killed. Usually they are gone in two seconds and the
/// gateway ends at once; a busy machine may need longer.
const AGENTS_TIMEOUT: Duration = Duration::from_secs(60);

/// What request handlers share; cheap to clone.
#[derive(Debug, Clone)]
pub struct AppState {
    pub config: Arc<Config>,
    pub registry: Arc<Registry>,
    pub metrics: Metrics,
    pub sockets: Arc<Sockets>,
    /// Conversations of the agent UI that pages have just left.
    pub(in crate::server) smol: Arc<smol::Recent>,
    pub auth: Arc<Auth>,
    pub cookie: Cookie,
    /// Cancelled when the shutdown begins: the gateway is no longer ready.
    pub stop: CancellationToken,
    /// Cancelled a moment later, when every session has the shutdown notice: sockets close now.
    pub sockets_stop: CancellationToken,
    /// Set once the database is found damaged; it never recovers.
    pub damage: watch::Receiver<Option<String>>,
}

/// Why the gateway could not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the listening socket is unusable: {0}")]
    Listener(#[from] io::Error),
    #[error("cannot listen on {address} for the agent UI: {reason}")]
    Besides { address: SocketAddr, reason: io::Error },
    #[error("cannot use the logins in {}: {reason}", data.display())]
    Login { data: PathBuf, reason: String },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot use the data in {}: {reason}; move it away or choose another --data", data.display())]
    Registry { data: PathBuf, reason: String },
    #[error("cannot start: {0}")]
    Damaged(String),
}

impl RunError {
    fn of(err: StartError, data: &Path) -> Self {
        match err {
            // The message already says what to do.
            StartError::Store(damaged @ StoreError::Damaged { .. }) => {
                Self::Damaged(damaged.to_string())
            }
            other @ (StartError::Store(_) | StartError::Files(_) | StartError::Rules(_)) => {
                Self::Registry { data: data.to_owned(), reason: other.to_string() }
            }
        }
    }
}

/// Serves until `stop` is cancelled, and returns at most `limits.shutdown` later. If agents have to be killed, it waits
/// for them too, at most [`AGENTS_TIMEOUT`]. Calls `ready` once nothing in the startup can fail any more.
pub async fn run(
    listener: TcpListener,
    config: Arc<Config>,
    stop: CancellationToken,
    ready: impl FnOnce(&Auth, &Config),
) -> Result<(), RunError> {
    let address = listener.local_addr()?;
    let port = address.port();
    // Agents must not reach these ports, so they have to be known even if the system chose them.
    let mut config = Config::clone(&config);
    config.listen = address;
    let besides = match config.smol.listen {
        Some(wanted) => Some(listen_besides(wanted).await?),
        None => None,
    };
    config.smol.listen = besides.as_ref().map(TcpListener::local_addr).transpose()?;
    let config = Arc::new(config);
    let tls = config.tls.as_ref().map(Tls::load).transpose()?;
    let (metrics, tasks) = (Metrics::new(), Tasks::default());
    let registry = Registry::start(&config, &metrics, tasks.clone())
        .map_err(|err| RunError::of(err, &config.data))?;
    let sockets_stop = CancellationToken::new();
    // Connections may stay until the gateway stops or the database is damaged.
    let grants_stop = sockets_stop.child_token();
    let auth = Auth::open(&config, registry.store(), &grants_stop)
        .await
        .map_err(|err| RunError::Login { data: config.data.clone(), reason: err.to_string() })?;
    let damage = registry.store().watch_damage();
    let state = AppState {
        config,
        registry,
        metrics,
        sockets: Arc::default(),
        smol: Arc::default(),
        auth,
        cookie: Cookie::new(port),
        stop,
        sockets_stop,
        damage,
    };
    control::start(&state, tasks.clone());
    tasks.spawn("logins", tidy_logins(state.clone()));
    tasks.spawn("damage", close_when_damaged(state.clone(), grants_stop));
    ready(&state.auth, &state.config);
    let main = router(&state, page::routes(), Guard::new(port, &state.config, &state.metrics));
    let mut accepting = vec![(Acceptor::new(main, &state, tls.clone(), tasks.clone()), listener)];
    if let (Some(listener), Some(address)) = (besides, state.config.smol.listen) {
        let mut config = Config::clone(&state.config);
        config.listen = address;
        let guard = Guard::new(address.port(), &config, &state.metrics);
        let router = router(&state, smol::root_routes(), guard);
        accepting.push((Acceptor::new(router, &state, tls, tasks.clone()), listener));
    }
    let (acceptors, listeners): (Vec<_>, Vec<_>) = accepting.into_iter().unzip();
    let running = acceptors.iter().zip(listeners);
    join_all(running.map(|(acceptor, listener)| acceptor.run(listener))).await;
    finish(&state, &acceptors, &tasks).await;
    Ok(())
}

async fn listen_besides(address: SocketAddr) -> Result<TcpListener, RunError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|reason| RunError::Besides { address, reason })
}

/// `root`: what browsers find first.
fn router(state: &AppState, root: Router<AppState>, guard: Guard) -> Router {
    let guard = Arc::new(guard);
    Router::new()
        .route("/live", get(health::live))
        .route("/ready", get(health::ready))
        .route("/metrics", get(metrics::page))
        .merge(root)
        .merge(page::entrance())
        .merge(assets::routes())
        .merge(aicore::routes())
        .merge(api::routes())
        .merge(core_ui::routes())
        .merge(core_api::routes())
        .merge(agents::routes())
        .merge(analyst::routes())
        .merge(backups::routes())
        .merge(sessions::routes())
        .merge(smol::routes())
        .fallback(async || (StatusCode::NOT_FOUND, language::plain("nothing_here")))
        .with_state(state.clone())
        .layer(DefaultBodyLimit::max(body::LIMIT))
        .layer(middleware::from_fn_with_state(state.clone(), stall::refuse_when_stalled))
        .layer(middleware::from_fn_with_state(state.clone(), body::collect))
        .layer(middleware::from_fn_with_state(state.clone(), cors::allow_listed_origins))
        .layer(middleware::from_fn_with_state(guard, guard::check))
        .layer(middleware::from_fn_with_state(state.clone(), language::choose))
        .layer(middleware::from_fn_with_state(state.clone(), transport::identify))
        .layer(middleware::map_response(assets::harden))
}

/// Ends expired logins and closes their sockets.
async fn tidy_logins(state: AppState) {
    let mut ticks = interval(TIDY_LOGINS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while state.stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(err) = state.auth.tidy().await {
            warn!(%err, "expired logins are still stored; the next round tries again");
        }
    }
}

/// Closes all connections on damage, so that clients do not keep reconnecting to a database that cannot be read.
async fn close_when_damaged(state: AppState, grants_stop: CancellationToken) {
    let mut damage = state.damage.clone();
    let damaged = async { damage.wait_for(Option::is_some).await.is_ok() };
    if state.stop.run_until_cancelled(damaged).await == Some(true) {
        grants_stop.cancel();
    }
}

/// Shutdown order: tell every session, close the sockets, then let the sessions store what is left.
async fn finish(state: &AppState, acceptors: &[Acceptor], tasks: &Tasks) {
    let limit = state.config.limits.shutdown;
    let end = Instant::now() + limit;
    let sessions = state.registry.broadcast(&SystemNotice::ShuttingDown);
    info!(sessions, "stopping");
    state.sockets_stop.cancel();
    // Half of the time is kept for the store, even if clients do not disconnect.
    let drained = join_all(acceptors.iter().map(Acceptor::drained));
    if timeout_at(end - limit / 2, drained).await.is_err() {
        warn!("some connections did not end in time and are cut");
    }
    acceptors.iter().for_each(Acceptor::cut);
    if timeout_at(end, state.registry.shutdown()).await.is_err() {
        warn!("sessions did not end in time");
    } else if timeout_at(end, tasks.finish()).await.is_err() {
        warn!("some tasks did not end in time");
    }
    if timeout(AGENTS_TIMEOUT, state.registry.agents_gone()).await.is_err() {
        let limit = AGENTS_TIMEOUT.as_secs();
        warn!(limit, "processes of agents are still there; their supervisors go on ending them");
    }
}
