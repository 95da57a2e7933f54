//! HTTP to the servers of models: one pool of connections, time limits, and no redirects, because a redirect would
//! carry the key and the conversation to a host that nobody configured.

use super::error::ChatError;
use super::failure::{Again, Failure};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::http::uri::Scheme;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{self, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring;
use tracing::warn;

const CONNECT: Duration = Duration::from_secs(10);
/// An unused connection is closed before its server does it, which would cost a request.
const UNUSED: Duration = Duration::from_secs(50);

type Http<C> = legacy::Client<C, Full<Bytes>>;

/// Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    pools: Arc<Pools>,
}

#[derive(Debug)]
struct Pools {
    plain: Http<HttpConnector>,
    /// `None`: the system has no certificates.
    encrypted: Option<Http<HttpsConnector<HttpConnector>>>,
}

impl Client {
    /// Reads the system's certificates. Without any, only servers without TLS can be asked.
    pub fn new() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let plain = pool().build(tcp.clone());
        tcp.enforce_http(false);
        let certified =
            HttpsConnectorBuilder::new().with_provider_and_native_roots(ring::default_provider());
        let encrypted = match certified {
            Ok(builder) => {
                Some(pool().build(builder.https_only().enable_http1().wrap_connector(tcp)))
            }
            Err(err) => {
                warn!(%err, "the system has no certificates, so no model can be asked over https");
                None
            }
        };
        Self { pools: Arc::new(Pools { plain, encrypted }) }
    }

    /// The answer's head, at the latest after `patience`.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<Response<Incoming>, Failure> {
        let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let response = if request.uri().scheme() == Some(&Scheme::HTTPS) {
            let Some(encrypted) = &self.pools.encrypted else {
                let reason = "the system has no certificates, install ca-certificates".to_owned();
                return Err(ChatError::Network { reason }.into());
            };
            encrypted.request(request)
        } else {
            self.pools.plain.request(request)
        };
        match timeout(patience, response).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(err)) => {
                let again = if err.is_connect() { Again::Soon } else { Again::Never };
                let reason = format!("{host}: {}", innermost(&err));
                Err(Failure { error: ChatError::Network { reason }, again })
            }
            Err(_) => Err(ChatError::Timeout { waited: patience }.into()),
        }
    }
}

impl Client {
    /// The status of an answer that nobody reads, or why there is none.
    pub(in crate::provider) async fn status_of(
        &self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<u16, String> {
        match self.send(request, patience).await {
            Ok(response) => Ok(response.status().as_u16()),
            Err(Failure { error: ChatError::Network { reason }, .. }) => Err(reason),
            Err(Failure { error: ChatError::Timeout { .. }, .. }) => {
                Err("its server said nothing in time".to_owned())
            }
            Err(failure) => Err(failure.error.to_string()),
        }
    }
}

fn pool() -> legacy::Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_timer(TokioTimer::new()).pool_idle_timeout(UNUSED);
    builder
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

/// The next piece of an answer, at the latest after `patience`; `None` at its end.
pub(super) async fn next_piece(
    body: &mut Incoming,
    patience: Duration,
) -> Result<Option<Bytes>, ChatError> {
    loop {
        match timeout(patience, body.frame()).await {
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => return Ok(Some(data)),
                Err(_trailers) => continue,
            },
            Ok(Some(Err(err))) => {
                let reason = format!("the answer was cut off, {}", innermost(&err));
                return Err(ChatError::Network { reason });
            }
            Ok(None) => return Ok(None),
            Err(_) => return Err(ChatError::Timeout { waited: patience }),
        }
    }
}

/// All of an answer, up to `limit` bytes.
pub(super) async fn whole(
    body: &mut Incoming,
    limit: usize,
    patience: Duration,
) -> Result<Bytes, ChatError> {
    let mut bytes = BytesMut::new();
    while let Some(piece) = next_piece(body, patience).await? {
        if bytes.len() + piece.len() > limit {
            let reason = format!("an answer of more than {limit} bytes");
            return Err(ChatError::Malformed { reason });
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

/// Errors of the client wrap what happened; only the last one says it.
fn innermost(err: &dyn Error) -> String {
    let mut err = err;
    while let Some(source) = err.source() {
        err = source;
    }
    err.to_string()
}
