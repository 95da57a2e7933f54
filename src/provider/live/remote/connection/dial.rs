//! Opens WebSockets to the servers of live models: plain or with TLS, with a timeout, without following redirects.

use crate::provider::live::remote::protocol::Address;
use hyper::Uri;
use hyper_rustls::ConfigBuilderExt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, error::ProtocolError};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tracing::warn;

const CONNECT: Duration = Duration::from_secs(10);
/// The largest messages of vendors are a second or two of sound.
const LARGEST_MESSAGE: usize = 16 * 1024 * 1024;

pub(super) type Socket = WebSocketStream<Box<dyn Stream>>;

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Opens connections. Clones share the certificates that were read from the system.
#[derive(Debug, Clone)]
pub(in crate::provider::live::remote) struct Dialer(Way);

#[derive(Debug, Clone)]
enum Way {
    /// `None`: the system has no certificates.
    Network(Option<Arc<ClientConfig>>),
    #[cfg(test)]
    Memory(tokio::sync::mpsc::Sender<tokio::io::DuplexStream>),
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::provider::live::remote) struct Refusal {
    /// HTTP status of the server's answer, if it answered.
    pub(in crate::provider::live::remote) status: Option<u16>,
    pub(in crate::provider::live::remote) reason: String,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self { status: None, reason }
    }
}

impl Default for Dialer {
    /// Reads the system's certificates. Without any, only servers without TLS can be reached.
    fn default() -> Self {
        let config = certified();
        if let Err(err) = &config {
            warn!(%err, "the system has no certificates, so no live model can be reached by wss");
        }
        Self(Way::Network(config.ok().map(Arc::new)))
    }
}

fn certified() -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(io::Error::other)?.with_native_roots()?;
    Ok(builder.with_no_client_auth())
}

impl Dialer {
    /// Connections lead to the test that made this.
    #[cfg(test)]
    pub(in crate::provider::live::remote) fn to(
        test: tokio::sync::mpsc::Sender<tokio::io::DuplexStream>,
    ) -> Self {
        Self(Way::Memory(test))
    }

    pub(super) async fn dial(&self, address: &Address) -> Result<Socket, Refusal> {
        match timeout(CONNECT, self.open(address)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no connection within {} s", CONNECT.as_secs()).into()),
        }
    }

    async fn open(&self, address: &Address) -> Result<Socket, Refusal> {
        let request = request(address)?;
        let stream = self.stream(request.uri()).await?;
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(LARGEST_MESSAGE);
        config.max_frame_size = Some(LARGEST_MESSAGE);
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((socket, _)) => Ok(socket),
            Err(err) => Err(refusal(err)),
        }
    }

    async fn stream(&self, uri: &Uri) -> Result<Box<dyn Stream>, Refusal> {
        let host = uri.host().unwrap_or_default();
        let encrypted = uri.scheme_str() == Some("wss");
        match &self.0 {
            Way::Network(config) => {
                let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                let tcp = TcpStream::connect((bare, port)).await;
                let tcp = tcp.map_err(|err| format!("{host}: {err}"))?;
                // Speech is many small packets; none may wait for the next.
                let _ = tcp.set_nodelay(true);
                if !encrypted {
                    return Ok(Box::new(tcp));
                }
                let reason = "the system has no certificates, install ca-certificates";
                let config = config.clone().ok_or_else(|| reason.to_owned())?;
                secured(config, bare, tcp).await
            }
            #[cfg(test)]
            Way::Memory(test) => {
                let (ours, theirs) = tokio::io::duplex(64 * 1024);
                test.send(theirs).await.map_err(|_| "nobody listens".to_owned())?;
                Ok(Box::new(ours))
            }
        }
    }
}

async fn secured(
    config: Arc<ClientConfig>,
    host: &str,
    tcp: TcpStream,
) -> Result<Box<dyn Stream>, Refusal> {
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| format!("`{host}` is no name of a server"))?;
    let stream = TlsConnector::from(config).connect(name, tcp).await;
    Ok(Box::new(stream.map_err(|err| format!("{host}: {err}"))?))
}

fn request(address: &Address) -> Result<Request, Refusal> {
    let request = address.url.as_str().into_client_request();
    let mut request = request.map_err(|_| "its address is not one".to_owned())?;
    for (name, value) in &address.headers {
        let value = HeaderValue::from_str(value);
        let mut value = value.map_err(|_| Refusal {
            // The status with which a server would refuse the key.
            status: Some(401),
            reason: "its key cannot be a key, it has characters that no header may have".to_owned(),
        })?;
        value.set_sensitive(true);
        request.headers_mut().insert(HeaderName::from_static(name), value);
    }
    Ok(request)
}

fn refusal(err: Error) -> Refusal {
    if let Error::Http(response) = err {
        let body = response.body().as_deref().unwrap_or_default();
        let status = response.status().as_u16();
        let said = String::from_utf8_lossy(body);
        return Refusal { status: Some(status), reason: format!("HTTP {status}: {said}") };
    }
    if let Error::Protocol(ProtocolError::HandshakeIncomplete) = err {
        return "its server hung up during the handshake".to_owned().into();
    }
    err.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::SinkExt;
    use futures_util::StreamExt;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;
    use tokio_rustls::rustls::{RootCertStore, ServerConfig};
    use tokio_tungstenite::tungstenite::Message;

    #[tokio::test]
    async fn a_server_is_reached_by_tls_and_only_if_somebody_vouches_for_it() {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        crate::task::spawn("server", async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let Ok(tls) = acceptor.accept(tcp).await else { continue };
                let mut socket = tokio_tungstenite::accept_async(tls).await.unwrap();
                socket.send(Message::text("hello")).await.unwrap();
            }
        });
        let mut trusted = RootCertStore::empty();
        trusted.add(certified.cert.der().clone()).unwrap();
        let client = |roots: RootCertStore| {
            let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
            let builder = builder.with_safe_default_protocol_versions().unwrap();
            let config = builder.with_root_certificates(roots).with_no_client_auth();
            Dialer(Way::Network(Some(Arc::new(config))))
        };
        let address = Address { url: format!("wss://localhost:{port}/v1"), headers: Vec::new() };
        let mut socket = client(trusted).dial(&address).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
        let refused = client(RootCertStore::empty()).dial(&address).await;
        let Err(refusal) = refused else { panic!("a stranger was believed") };
        assert!(refusal.status.is_none() && refusal.reason.contains("localhost"), "{refusal:?}");
    }
}
