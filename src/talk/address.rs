//! Where the gateway is.

use super::TalkError;
use crate::dialect::aicore::client;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tungstenite::http::Uri;

/// The address of a gateway's WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    url: String,
    host: String,
    port: u16,
    local: bool,
    encrypted: bool,
}

impl Address {
    /// The gateway that listens there, on this machine.
    pub fn listening(on: SocketAddr, tls: bool) -> Self {
        // Everywhere is no place to connect to.
        let ip = match on.ip() {
            ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            ip => ip,
        };
        let (scheme, host) = (if tls { "wss" } else { "ws" }, SocketAddr::new(ip, on.port()));
        let url = format!("{scheme}://{host}{}", client::socket_path());
        Self { url, host: ip.to_string(), port: on.port(), local: true, encrypted: tls }
    }

    /// `ws://` or `wss://`, or the address of the page; the path may be left out.
    pub fn parse(text: &str) -> Result<Self, TalkError> {
        let wrong =
            |reason: &str| TalkError::Address { text: text.to_owned(), reason: reason.to_owned() };
        let uri: Uri = text.parse().map_err(|_| wrong("it cannot be read"))?;
        let encrypted = match uri.scheme_str() {
            Some("ws" | "http") => false,
            Some("wss" | "https") => true,
            Some(_) | None => return Err(wrong("it has to begin with ws:// or wss://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("secrets do not belong into an address; use --token-file"));
        }
        let path = match uri.path() {
            "/" | "" => client::socket_path(),
            path => path.to_owned(),
        };
        let scheme = if encrypted { "wss" } else { "ws" };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let (url, local) = (format!("{scheme}://{authority}{path}"), is_local(&host));
        Ok(Self { url, host, port, local, encrypted })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// Whether it is this machine, whose own token may be sent there.
    pub fn is_local(&self) -> bool {
        self.local
    }

    /// Whether others on the way could read the secret and the conversation.
    pub fn is_open_to_others(&self) -> bool {
        !self.local && !self.encrypted
    }
}

fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_sockets_name_the_same_gateway() {
        let path = client::socket_path();
        for text in ["ws://127.0.0.1:8091", "http://127.0.0.1:8091/"] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.url(), format!("ws://127.0.0.1:8091{path}"));
            assert!(address.is_local());
        }
        let far = Address::parse("https://example.org/gate").unwrap();
        assert_eq!(far.url(), "wss://example.org/gate");
        assert!(!far.is_local() && !far.is_open_to_others());
        assert_eq!((far.host(), far.port()), ("example.org", 443));
        assert!(Address::parse("ws://192.0.2.7:8091").unwrap().is_open_to_others());
        let six = Address::parse("ws://[::1]:8091").unwrap();
        assert!(six.is_local());
        assert_eq!((six.host(), six.port()), ("::1", 8_091));
        let anywhere = Address::listening("0.0.0.0:80".parse().unwrap(), false);
        assert_eq!(anywhere.url(), format!("ws://127.0.0.1:80{path}"));
    }

    #[test]
    fn what_is_no_address_is_told_with_an_example() {
        for text in ["127.0.0.1:8091", "ftp://x", "/path", "", "ws://user:secret@host/"] {
            let told = Address::parse(text).unwrap_err().to_string();
            assert!(told.ends_with("ws://127.0.0.1:8091"), "{told}");
        }
    }
}
