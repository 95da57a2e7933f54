//! The way to a gateway: TCP, TLS if its address says so, and the upgrade to a WebSocket.

use super::address::Address;
use hyper_rustls::ConfigBuilderExt;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::{WebSocketStream, client_async};
use tungstenite::Error;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::header::{AUTHORIZATION, HeaderValue};

/// A connection, whatever it is made of.
pub(super) type Socket = WebSocketStream<Box<dyn Wire>>;

pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// Connects with the secret in a header, where no log shows it.
pub(super) async fn dial(address: &Address, token: Option<&str>) -> Result<Socket, Error> {
    let mut request = address.url().into_client_request()?;
    if let Some(token) = token {
        let mut secret: HeaderValue = format!("Bearer {token}").parse().map_err(|_| {
            io::Error::new(ErrorKind::InvalidInput, "the token has characters that no token has")
        })?;
        secret.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, secret);
    }
    let tcp = TcpStream::connect((address.host(), address.port())).await?;
    // Every packet is wanted now.
    tcp.set_nodelay(true)?;
    let wire: Box<dyn Wire> = match address.is_encrypted() {
        true => Box::new(encrypted(address.host(), tcp).await?),
        false => Box::new(tcp),
    };
    Ok(client_async(request, wire).await?.0)
}

/// Trusts whom the system trusts; `SSL_CERT_FILE` names others.
async fn encrypted(host: &str, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_native_roots()?
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await
}
