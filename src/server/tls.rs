//! TLS below HTTP: loading certificate and key, the handshake, and an answer for clients that speak plain HTTP.

use super::connection::Connection;
use crate::config::TlsFiles;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, InconsistentKeys, ServerConfig};
use tokio_rustls::server::TlsStream;

/// The answer to plain HTTP. `kakehashi doctor` recognises the port by it.
pub const PLAIN_REFUSED: &str = "this port speaks https, begin the address with https://\n";
/// First byte of every TLS handshake; no plain HTTP request begins with it.
const HANDSHAKE_BYTE: u8 = 22;
/// Bytes read from a refused request, so that the close does not become a reset which discards the answer.
const PLAIN_READ: u64 = 64 * 1024;

/// A certificate and its key.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    certificate: CertificateDer<'static>,
}

/// Why certificate and key cannot be used; the text is one line and names the file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {reason}", path.display())]
    Read { path: PathBuf, reason: io::Error },
    #[error("{} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", .0.display())]
    NoCertificate(PathBuf),
    #[error("{} holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)", .0.display())]
    NoKey(PathBuf),
    #[error("the key in {} does not belong to the certificate in {}", key.display(), cert.display())]
    Mismatch { cert: PathBuf, key: PathBuf },
    #[error("{} with the key in {} cannot be used: {reason}", cert.display(), key.display())]
    Unusable { cert: PathBuf, key: PathBuf, reason: rustls::Error },
}

impl Tls {
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_slice_iter(&read(&files.cert)?)
            .collect::<Result<Vec<_>, pem::Error>>()
            .unwrap_or_default();
        let certificate =
            chain.first().cloned().ok_or_else(|| TlsError::NoCertificate(files.cert.clone()))?;
        let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?)
            .map_err(|_| TlsError::NoKey(files.key.clone()))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(chain, key))
            .map_err(|reason| unusable(files, reason))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), certificate })
    }

    /// Our own certificate in DER form.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// `None`: the client spoke plain HTTP and was told to use https. Has no timeout of its own.
    pub(super) async fn accept(
        &self,
        mut connection: Connection,
    ) -> io::Result<Option<TlsStream<Connection>>> {
        if connection.first_byte().await? != Some(HANDSHAKE_BYTE) {
            refuse(&mut connection).await?;
            return Ok(None);
        }
        TlsAcceptor::from(Arc::clone(&self.config)).accept(connection).await.map(Some)
    }
}

async fn refuse(connection: &mut Connection) -> io::Result<()> {
    let length = PLAIN_REFUSED.len();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n\
         Content-Length: {length}\r\n\r\n{PLAIN_REFUSED}"
    );
    connection.write_all(answer.as_bytes()).await?;
    connection.shutdown().await?;
    copy(&mut connection.take(PLAIN_READ), &mut sink()).await?;
    Ok(())
}

fn unusable(files: &TlsFiles, reason: rustls::Error) -> TlsError {
    let (cert, key) = (files.cert.clone(), files.key.clone());
    if reason == rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) {
        return TlsError::Mismatch { cert, key };
    }
    TlsError::Unusable { cert, key, reason }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|reason| TlsError::Read { path: path.to_owned(), reason })
}
