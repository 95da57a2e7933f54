//! HTTP and WebSocket edge: one router behind our own accept loop, and an orderly end.

mod accept;
mod admission;
mod aicore;
mod assets;
mod caller;
mod connection;
pub mod control;
mod guard;
mod health;
mod metrics;
mod socket;
mod sockets;

pub use sockets::Sockets;

use crate::config::Config;
use crate::message::SystemNotice;
use crate::metrics::Metrics;
use crate::session::Registry;
use crate::task::Tasks;
use accept::Acceptor;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Router, middleware};
use guard::Guard;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Bodies of plain requests; files come over the WebSocket.
const BODY_LIMIT: usize = 64 * 1024;

/// What every request may need; cheap to clone.
#[derive(Debug, Clone)]
pub struct AppState {
    pub config: Arc<Config>,
    pub registry: Arc<Registry>,
    pub metrics: Metrics,
    pub sockets: Arc<Sockets>,
    /// Cancelled when the gateway was told to end: it is not ready any more.
    pub stop: CancellationToken,
    /// Cancelled a moment later, when every session has been told: sockets close now.
    pub sockets_stop: CancellationToken,
}

/// Why the gateway could not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the listening socket is unusable: {0}")]
    Listener(#[from] io::Error),
    #[error("cannot use the data in {}: {reason}; move it away or choose another --data", data.display())]
    Registry { data: PathBuf, reason: String },
}

/// Serves until `stop` is cancelled, and returns at most `limits.shutdown` later. Calls `ready` once everything that
/// can go wrong at the start has gone right.
pub async fn run(
    listener: TcpListener,
    config: Arc<Config>,
    stop: CancellationToken,
    ready: impl FnOnce(),
) -> Result<(), RunError> {
    let port = listener.local_addr()?.port();
    let (metrics, tasks) = (Metrics::new(), Tasks::default());
    let registry = Registry::start(&config, &metrics, tasks.clone())
        .map_err(|err| RunError::Registry { data: config.data.clone(), reason: err.to_string() })?;
    let state = AppState {
        config,
        registry,
        metrics,
        sockets: Arc::default(),
        stop,
        sockets_stop: CancellationToken::new(),
    };
    control::start(&state, &tasks);
    ready();
    let acceptor = Acceptor::new(router(&state, port), &state, tasks.clone());
    acceptor.run(listener).await;
    finish(&state, &acceptor, &tasks).await;
    Ok(())
}

fn router(state: &AppState, port: u16) -> Router {
    let guard = Arc::new(Guard::new(port, &state.config, &state.metrics));
    Router::new()
        .route("/live", get(health::live))
        .route("/ready", get(health::ready))
        .route("/metrics", get(metrics::page))
        .merge(assets::routes())
        .merge(aicore::routes())
        .fallback(async || (StatusCode::NOT_FOUND, "There is nothing at this address.\n"))
        .with_state(state.clone())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn_with_state(guard, guard::check))
        .layer(middleware::map_response(assets::harden))
}

/// Everybody is told first, then sockets close, then what they left behind is written down.
async fn finish(state: &AppState, acceptor: &Acceptor, tasks: &Tasks) {
    let limit = state.config.limits.shutdown;
    let end = Instant::now() + limit;
    let sessions = state.registry.broadcast(&SystemNotice::ShuttingDown);
    info!(sessions, "stopping");
    state.sockets_stop.cancel();
    // The store needs its share of the time even when clients do not let go.
    if timeout_at(end - limit / 2, acceptor.drained()).await.is_err() {
        warn!("some connections did not end in time and are cut");
    }
    acceptor.cut();
    if timeout_at(end, state.registry.shutdown()).await.is_err() {
        warn!("sessions did not end in time");
    } else if timeout_at(end, tasks.finish()).await.is_err() {
        warn!("some tasks did not end in time");
    }
}
