//! How a request reached us, and from which client. Forwarding headers are trusted only from a configured proxy.

use super::AppState;
use super::connection::PeerActivity;
use super::guard::{Value, value};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{HOST, HeaderMap, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY};
use axum::middleware::Next;
use axum::response::Response;
use std::net::{IpAddr, SocketAddr};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
/// For half a year, in seconds.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=15552000");

/// Added to the extensions of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transport {
    /// The client's connection to us, or to our proxy, is encrypted: cookies can be `Secure`.
    pub(super) secure: bool,
    /// The client's own address, also behind a proxy.
    pub(super) peer: IpAddr,
    /// The host name in the client's request, in lower case; `None` if it is missing or ambiguous.
    pub(super) host: Option<String>,
}

/// Middleware that runs before everything that needs a [`Transport`].
pub(super) async fn identify(
    State(state): State<AppState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let own_tls = state.config.tls.is_some();
    let transport =
        Transport::of(request.headers(), peer.ip(), own_tls, &state.config.trusted_proxies);
    let strict = own_tls && transport.host.as_deref().is_some_and(|host| !is_local(host));
    if let Some(activity) = request.extensions().get::<PeerActivity>() {
        activity.set_client(transport.peer);
    }
    request.extensions_mut().insert(transport);
    let mut response = next.run(request).await;
    if strict {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

impl Transport {
    fn of(headers: &HeaderMap, peer: IpAddr, own_tls: bool, proxies: &[IpAddr]) -> Self {
        let peer = peer.to_canonical();
        let host = one(headers, HOST);
        if !proxies.contains(&peer) {
            return Self { secure: own_tls, peer, host };
        }
        let secure = match one(headers, FORWARDED_PROTO).as_deref() {
            Some("https") => true,
            Some("http") => false,
            Some(_) | None => own_tls,
        };
        let host = match value(headers, FORWARDED_HOST) {
            Value::Missing => host,
            Value::One(forwarded) => Some(forwarded),
            Value::Unclear => None,
        };
        Self { secure, peer: client(headers, peer, proxies), host }
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }
}

/// Each proxy appends the address of its peer, so the last address that is not one of our proxies is the client. The
/// entries before it could be forged by the client.
fn client(headers: &HeaderMap, peer: IpAddr, proxies: &[IpAddr]) -> IpAddr {
    let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok());
    let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
    let mut known = peer;
    for hop in hops.into_iter().rev() {
        // Unreadable entry: the proxy that wrote it is the last address we know.
        let Some(address) = address(hop.trim()) else { break };
        known = address;
        if !proxies.contains(&known) {
            break;
        }
    }
    known
}

/// An address; some proxies append the port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    bare.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

fn one(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    match value(headers, name) {
        Value::One(text) => Some(text),
        Value::Missing | Value::Unclear => None,
    }
}

/// Local names get no HSTS: browsers apply it to every port of a name, and a developer's localhost has many.
fn is_local(host: &str) -> bool {
    ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXIES: [&str; 2] = ["10.0.0.1", "10.0.0.2"];

    fn transport(peer: &str, own_tls: bool, lines: &[(&str, &str)]) -> Transport {
        let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("inner:8091"))]);
        for (name, line) in lines {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, line.parse().unwrap());
        }
        let proxies = PROXIES.map(|proxy| proxy.parse().unwrap());
        Transport::of(&headers, peer.parse().unwrap(), own_tls, &proxies)
    }

    #[track_caller]
    fn check_client(lines: &[&str], expected: &str) {
        let lines: Vec<_> = lines.iter().map(|line| ("x-forwarded-for", *line)).collect();
        let found = transport("10.0.0.1", false, &lines).peer;
        assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{lines:?}");
    }

    #[test]
    fn forwarding_headers_of_other_peers_are_ignored() {
        let lines = [
            ("x-forwarded-for", "127.0.0.1"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "desk.example"),
        ];
        for peer in ["10.0.0.3", "127.0.0.1", "::1"] {
            let peer_address = peer.parse().unwrap();
            let host = Some("inner:8091".to_owned());
            let expected = Transport { secure: false, peer: peer_address, host };
            assert_eq!(transport(peer, false, &lines), expected);
        }
    }

    #[test]
    fn forwarding_headers_of_a_trusted_proxy_are_used() {
        let lines = [
            ("x-forwarded-for", "203.0.113.9"),
            ("x-forwarded-proto", "HTTPS"),
            ("x-forwarded-host", "Desk.example"),
        ];
        for proxy in ["10.0.0.1", "::ffff:10.0.0.2"] {
            let found = transport(proxy, false, &lines);
            assert_eq!((found.secure, found.scheme()), (true, "https"));
            assert_eq!(found.peer, "203.0.113.9".parse::<IpAddr>().unwrap());
            assert_eq!(found.host.as_deref(), Some("desk.example"));
        }
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_a_proxy() {
        check_client(&["203.0.113.9"], "203.0.113.9");
        check_client(&["127.0.0.1, 203.0.113.9, 10.0.0.2"], "203.0.113.9");
        check_client(&["127.0.0.1", "203.0.113.9", "10.0.0.2"], "203.0.113.9");
        check_client(&["127.0.0.1, nonsense"], "10.0.0.1");
        check_client(&["127.0.0.1, nonsense, 10.0.0.2"], "10.0.0.2");
        check_client(&[""], "10.0.0.1");
        check_client(&[], "10.0.0.1");
        check_client(&["203.0.113.9:4711"], "203.0.113.9");
        check_client(&["[2001:db8::1]:4711"], "2001:db8::1");
        check_client(&["[2001:db8::1]"], "2001:db8::1");
        check_client(&["::ffff:203.0.113.9"], "203.0.113.9");
    }

    #[test]
    fn ambiguous_forwarding_headers_are_ignored() {
        let twice = [("x-forwarded-proto", "http"), ("x-forwarded-proto", "https")];
        assert!(!transport("10.0.0.1", false, &twice).secure);
        assert!(transport("10.0.0.1", true, &twice).secure);
        assert!(!transport("10.0.0.1", false, &[("x-forwarded-proto", "wss")]).secure);
        assert!(!transport("10.0.0.1", true, &[("x-forwarded-proto", "http")]).secure);
        let hosts = [("x-forwarded-host", "a.example"), ("x-forwarded-host", "b.example")];
        assert_eq!(transport("10.0.0.1", false, &hosts).host, None);
    }

    #[test]
    fn local_names_get_no_hsts() {
        for host in ["localhost", "localhost:8091", "127.0.0.1:8091", "[::1]:8091"] {
            assert!(is_local(host), "{host}");
        }
        assert!(!is_local("desk.example"));
    }
}
