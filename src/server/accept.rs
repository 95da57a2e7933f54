//! The accept loop. It applies the connection limits before anything is read, gives headers a deadline, and survives
//! every accept error.

use super::AppState;
use super::admission::Admission;
use super::connection::{Connection, PeerActivity};
use super::tls::Tls;
use crate::task::Tasks;
use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::Service;
use tracing::{debug, warn};

/// Longest request line with headers; hyper answers longer ones with 431.
const HEADER_LIMIT: usize = 16 * 1024;
/// Shortest wait after a failed accept. Without free file descriptors every accept fails at once; waiting lets other
/// connections end.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Accept errors are logged at most this often.
const LOG_PAUSE: Duration = Duration::from_secs(1);
/// Small enough for the empty send buffer of a new connection, so one `try_write` sends all of it.
const OVERLOADED: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain\r\nRetry-After: 5\r\nContent-Length: 34\r\n\r\nToo many connections, come later.\n";

#[derive(Debug)]
pub(super) struct Acceptor {
    http: Http,
    state: AppState,
    admission: Admission,
    tls: Option<Tls>,
    tasks: Tasks,
}

impl Acceptor {
    pub(super) fn new(router: Router, state: &AppState, tls: Option<Tls>, tasks: Tasks) -> Self {
        let admission = Admission::new(&state.config.limits, &state.metrics);
        let http = Http {
            router,
            header: state.config.limits.header,
            stop: state.sockets_stop.clone(),
            cut: CancellationToken::new(),
        };
        Self { http, state: state.clone(), admission, tls, tasks }
    }

    /// Accepts until the gateway is told to stop.
    pub(super) async fn run(&self, listener: TcpListener) {
        let mut backoff = AcceptBackoff::default();
        while let Some(accepted) = self.state.stop.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, peer)) => {
                    backoff = AcceptBackoff { logged: backoff.logged, ..AcceptBackoff::default() };
                    self.take(stream, peer);
                }
                Err(err) if concerns_one_connection(&err) => {
                    debug!(%err, "a connection was gone before it was accepted")
                }
                Err(err) => {
                    let pause = backoff.pause(&err);
                    self.state.stop.run_until_cancelled(sleep(pause)).await;
                }
            }
        }
    }

    /// Waits until every connection is closed, WebSockets included.
    pub(super) async fn drained(&self) {
        self.admission.drained().await;
    }

    /// Cuts the HTTP connections that are still open.
    pub(super) fn cut(&self) {
        self.http.cut.cancel();
    }

    fn take(&self, stream: TcpStream, peer: SocketAddr) {
        let permit = match self.admission.admit(peer.ip()) {
            Ok(permit) => permit,
            Err(reason) => {
                self.state.metrics.connection_refused(reason);
                // Best effort: the connection is dropped either way. Under TLS the client is still waiting for a
                // handshake and could not read a plain response.
                if self.tls.is_none() {
                    let _ = stream.try_write(OVERLOADED);
                }
                return;
            }
        };
        // Packets are small and latency matters, so they are not held back to be merged.
        if let Err(err) = stream.set_nodelay(true) {
            debug!(%err, "a connection was gone before it was served");
            return;
        }
        // At least the write timeout: a peer that only reads slowly acknowledges nothing either.
        let limits = &self.state.config.limits;
        set_vanished_peer_timeout(&stream, limits.write.max(limits.ping * 2));
        let connection = Connection::new(stream, permit, self.state.config.limits.write);
        let (http, activity) = (self.http.clone(), connection.activity());
        // Two kinds of tasks, so that the task of a plain connection does not reserve memory for TLS.
        match self.tls.clone() {
            None => self.tasks.spawn("connection", http.serve(connection, activity, peer)),
            Some(tls) => {
                self.tasks.spawn("connection", http.serve_tls(tls, connection, activity, peer))
            }
        };
    }
}

/// What every connection task needs to serve HTTP.
#[derive(Debug, Clone)]
struct Http {
    router: Router,
    /// Deadline for the headers, and for the TLS handshake before them.
    header: Duration,
    stop: CancellationToken,
    cut: CancellationToken,
}

impl Http {
    async fn serve_tls(
        self,
        tls: Tls,
        connection: Connection,
        activity: PeerActivity,
        peer: SocketAddr,
    ) {
        let handshake = timeout(self.header, tls.accept(connection));
        match self.stop.run_until_cancelled(handshake).await {
            Some(Ok(Ok(Some(stream)))) => self.serve(stream, activity, peer).await,
            Some(Ok(Ok(None))) => debug!("a client spoke plain HTTP and was told to use https"),
            Some(Ok(Err(err))) => debug!(%err, "a TLS handshake failed"),
            Some(Err(_)) => debug!("a TLS handshake took too long"),
            // The gateway is stopping.
            None => (),
        }
    }

    fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        self,
        stream: S,
        activity: PeerActivity,
        peer: SocketAddr,
    ) -> impl Future<Output = ()> + Send {
        let Self { router, header, stop, cut } = self;
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(activity.clone());
            router.clone().call(request)
        });
        async move {
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(header)
                .max_buf_size(HEADER_LIMIT)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            let mut served = pin!(served);
            let ended = tokio::select! {
                ended = &mut served => ended,
                () = stop.cancelled() => {
                    served.as_mut().graceful_shutdown();
                    let Some(ended) = cut.run_until_cancelled(served).await else { return };
                    ended
                }
            };
            if let Err(err) = ended {
                debug!(%err, "a connection ended early");
            }
        }
    }
}

/// Whether the error is about one connection, and the listener itself is fine.
fn concerns_one_connection(err: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(err.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Counts consecutive accept errors, for the backoff and for rate-limiting the log.
#[derive(Debug, Default)]
struct AcceptBackoff {
    times: u32,
    logged: Option<Instant>,
}

impl AcceptBackoff {
    fn pause(&mut self, err: &io::Error) -> Duration {
        if self.logged.is_none_or(|last| last.elapsed() >= LOG_PAUSE) {
            warn!(%err, "cannot accept connections, trying again");
            self.logged = Some(Instant::now());
        }
        let pause = SHORTEST_PAUSE * 2_u32.pow(self.times.min(4));
        self.times = self.times.saturating_add(1);
        pause.min(LONGEST_PAUSE)
    }
}

/// Closes the connection when the peer has acknowledged nothing for this long, because it vanished. The kernel alone
/// would retry for a quarter of an hour. An event stream, on which a client never sends, would count as open all that
/// time.
#[cfg(target_os = "linux")]
fn set_vanished_peer_timeout(stream: &TcpStream, timeout: Duration) {
    let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    if let Err(err) = rustix::net::sockopt::set_tcp_user_timeout(stream, millis) {
        debug!(%err, "a vanished peer will be noticed late");
    }
}

#[cfg(not(target_os = "linux"))]
fn set_vanished_peer_timeout(_stream: &TcpStream, _timeout: Duration) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let mut backoff = AcceptBackoff::default();
        let err = io::Error::other("no descriptors");
        let pauses: Vec<_> = (0..6).map(|_| backoff.pause(&err).as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 500, 500]);
    }

    #[test]
    fn the_refusal_is_a_whole_response() {
        let text = str::from_utf8(OVERLOADED).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{text}");
    }
}
