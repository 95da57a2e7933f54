//! Checks Host and Origin before any route sees the request. Refuses pages of other sites, and DNS rebinding: foreign
//! names that point at this machine.

use super::core_api::respond;
use super::refusals::Refusals;
use super::transport::Transport;
use super::{core_ui, language};
use crate::config::{self, Config};
use crate::dialect::aicore::http;
use crate::locale::Locale;
use crate::metrics::{Metrics, RequestRefused};
use axum::extract::{Extension, Request, State};
use axum::http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// The ports that a browser leaves out of Host and Origin.
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

#[derive(Debug)]
pub(super) struct Guard {
    port: u16,
    /// The address we listen on. It is safe as a Host, because DNS cannot rebind an IP address.
    own: Option<IpAddr>,
    hosts: Vec<String>,
    origins: Vec<String>,
    refused_hosts: Refusals,
    refused_origins: Refusals,
    locale: Locale,
    metrics: Metrics,
}

impl Guard {
    pub(super) fn new(port: u16, config: &Config, metrics: &Metrics) -> Self {
        let listen = config.listen.ip().to_canonical();
        let file = config.setup_hint().file;
        Self {
            port,
            own: Some(listen).filter(|listen| !listen.is_unspecified()),
            hosts: config.allowed_hosts.clone(),
            origins: config.allowed_origins.clone(),
            refused_hosts: Refusals::new("allowed_hosts", &config.allowed_hosts, &file),
            refused_origins: Refusals::new("allowed_origins", &config.allowed_origins, &file),
            locale: config.language,
            metrics: metrics.clone(),
        }
    }

    /// Counts the refusal, and logs it if it is new.
    fn note(&self, refusal: &Refusal) {
        self.metrics.request_refused(refusal.reason());
        match refusal {
            Refusal::Host(name) => self.refused_hosts.note(name, config::may_be_host(name)),
            Refusal::Origin(name) => self.refused_origins.note(name, config::may_be_origin(name)),
            Refusal::NoHost | Refusal::Origins => {}
        }
    }

    /// Counts and logs the refusal, and answers the client.
    fn refuse(&self, refusal: &Refusal, uri: &Uri) -> Response {
        self.note(refusal);
        let text = refusal.text(language::preferred_or(self.locale));
        // Existing clients show the text of an AIcore envelope. Behind a development server the request is same-origin
        // for the browser, so the client can read it.
        if uri.path().starts_with("/core/") {
            return respond(http::foreign_request(refusal.code(), text));
        }
        (StatusCode::FORBIDDEN, format!("{text}\n")).into_response()
    }
}

/// Marks the request of a page of another site. Only the WebSocket of `agent_event` clients gets such requests; it
/// closes them with a code of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForeignOrigin;

/// Middleware before every route.
pub(super) async fn check(
    State(guard): State<Arc<Guard>>,
    Extension(transport): Extension<Transport>,
    mut request: Request,
    next: Next,
) -> Response {
    let judged = guard.judge(request.headers(), request.uri(), &transport);
    let is_page = request.uri().path() == core_ui::SOCKET_PATH
        && core_ui::wants_agent_events(request.uri(), request.headers());
    match judged {
        Ok(()) => next.run(request).await,
        // Its pages expect to be let in and closed.
        Err(refusal @ (Refusal::Origin(_) | Refusal::Origins)) if is_page => {
            guard.note(&refusal);
            request.extensions_mut().insert(ForeignOrigin);
            next.run(request).await
        }
        Err(refusal) => guard.refuse(&refusal, request.uri()),
    }
}

/// The client is told the reason, so that its owner knows which setting to change.
#[derive(Debug, PartialEq)]
enum Refusal {
    NoHost,
    Host(String),
    Origin(String),
    /// More than one Origin, or one that is not text.
    Origins,
}

impl Refusal {
    fn reason(&self) -> RequestRefused {
        match self {
            Self::NoHost | Self::Host(_) => RequestRefused::Host,
            Self::Origin(_) | Self::Origins => RequestRefused::Origin,
        }
    }

    /// For programs.
    fn code(&self) -> &'static str {
        match self {
            Self::NoHost | Self::Host(_) => "HOST_REFUSED",
            Self::Origin(_) | Self::Origins => "ORIGIN_REFUSED",
        }
    }

    fn text(&self, locale: Locale) -> String {
        let say = |name, value: &str| locale.say("foreign", name, &[("value", value)]);
        match self {
            Self::NoHost => say("no_host", ""),
            Self::Host(name) => say("host", name),
            Self::Origin(name) => say("origin", name),
            Self::Origins => say("origins", ""),
        }
    }
}

impl Guard {
    fn judge(&self, headers: &HeaderMap, uri: &Uri, transport: &Transport) -> Result<(), Refusal> {
        let (Value::One(sent), Some(host)) = (value(headers, HOST), &transport.host) else {
            return Err(Refusal::NoHost);
        };
        // An absolute URI in the request line takes precedence over Host, so the two must agree.
        let same =
            uri.authority().is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(&sent));
        let asked = Asked { host, transport };
        if !same || !self.is_host(&asked) {
            return Err(Refusal::Host(host.clone()));
        }
        match value(headers, ORIGIN) {
            // Only browsers send an Origin, and they always do where it matters.
            Value::Missing => Ok(()),
            Value::One(origin) if self.is_origin(&origin, &asked) => Ok(()),
            Value::One(origin) => Err(Refusal::Origin(origin)),
            Value::Unclear => Err(Refusal::Origins),
        }
    }

    fn is_host(&self, asked: &Asked<'_>) -> bool {
        let Some((name, port)) = asked.split(asked.host) else {
            return false;
        };
        let ours = matches!(name, "localhost" | "127.0.0.1" | "[::1]")
            || (self.own.is_some() && self.own == literal(name));
        let own = ours && port == self.port;
        // A development server forwards requests with its own Host.
        let by_origin = self.origins.iter().filter_map(|origin| Some(origin.split_once("://")?.1));
        own || self.hosts.iter().any(|allowed| allowed == asked.host || allowed == name)
            || by_origin.into_iter().any(|host| host == asked.host)
    }

    fn is_origin(&self, origin: &str, asked: &Asked<'_>) -> bool {
        let own = origin.split_once("://").is_some_and(|(scheme, rest)| {
            let place = asked.split(rest);
            scheme == asked.transport.scheme()
                && place.is_some()
                && place == asked.split(asked.host)
        });
        own || (origin != "null" && self.origins.iter().any(|allowed| allowed == origin))
    }
}

/// The IP address in a host name; IPv6 stands in brackets.
fn literal(name: &str) -> Option<IpAddr> {
    let address = match name.strip_prefix('[') {
        Some(rest) => IpAddr::V6(rest.strip_suffix(']')?.parse().ok()?),
        None => IpAddr::V4(name.parse().ok()?),
    };
    Some(address.to_canonical())
}

/// The address that the client used to reach us.
struct Asked<'a> {
    host: &'a str,
    transport: &'a Transport,
}

impl Asked<'_> {
    /// Splits a Host value into name and port.
    fn split<'a>(&self, host: &'a str) -> Option<(&'a str, u16)> {
        // The colons inside [::1] are not the one before a port.
        let colon = host.rfind(':').filter(|colon| !host[*colon..].contains(']'));
        let Some(colon) = colon else {
            return Some((host, if self.transport.secure { HTTPS_PORT } else { HTTP_PORT }));
        };
        let port = &host[colon + 1..];
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        Some((&host[..colon], port.parse().ok().filter(|_| digits)?))
    }
}

/// The value of one header, in lower case.
pub(super) enum Value {
    Missing,
    One(String),
    /// Repeated, or not text.
    Unclear,
}

pub(super) fn value(headers: &HeaderMap, name: HeaderName) -> Value {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(HeaderValue::to_str), values.next()) {
        (None, _) => Value::Missing,
        (Some(Ok(text)), None) => Value::One(text.to_ascii_lowercase()),
        (Some(Ok(_) | Err(_)), _) => Value::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn guard() -> Guard {
        let mut config = Config::for_test("/", "/");
        config.allowed_hosts = vec!["desk.example".to_owned(), "lab.example:9000".to_owned()];
        config.allowed_origins = vec!["http://localhost:8090".to_owned(), "null".to_owned()];
        Guard::new(8091, &config, &Metrics::new())
    }

    fn judge(headers: &[(HeaderName, &str)]) -> Result<(), Refusal> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        let mut map = HeaderMap::new();
        headers.for_each(|(name, value)| {
            map.append(name, value);
        });
        judge_at(&map, "/live", false)
    }

    fn judge_at(map: &HeaderMap, uri: &'static str, secure: bool) -> Result<(), Refusal> {
        let host = match value(map, HOST) {
            Value::One(host) => Some(host),
            Value::Missing | Value::Unclear => None,
        };
        let transport = Transport { secure, peer: Ipv4Addr::LOCALHOST.into(), host };
        guard().judge(map, &Uri::from_static(uri), &transport)
    }

    #[track_caller]
    fn check_host(host: &str, allowed: bool) {
        assert_eq!(judge(&[(HOST, host)]).is_ok(), allowed, "{host}");
    }

    #[track_caller]
    fn check_origin(host: &str, origin: &str, allowed: bool) {
        assert_eq!(judge(&[(HOST, host), (ORIGIN, origin)]).is_ok(), allowed, "{host} {origin}");
    }

    #[test]
    fn loopback_names_with_our_port_are_ours() {
        for host in ["localhost:8091", "127.0.0.1:8091", "[::1]:8091", "LocalHost:8091"] {
            check_host(host, true);
        }
    }

    #[test]
    fn the_address_that_we_listen_on_is_ours() {
        for (listen, host, allowed) in [
            ("127.8.8.8:8091", "127.8.8.8:8091", true),
            ("127.8.8.8:8091", "127.8.8.9:8091", false),
            ("127.8.8.8:8091", "127.8.8.8:8092", false),
            ("[::ffff:127.0.0.1]:8091", "[::ffff:7f00:1]:8091", true),
            ("[::1]:8091", "[0:0:0:0:0:0:0:1]:8091", true),
            ("192.168.1.5:8091", "192.168.1.5:8091", true),
            ("192.168.1.5:8091", "192.168.1.6:8091", false),
            ("0.0.0.0:8091", "0.0.0.0:8091", false),
        ] {
            let mut config = Config::for_test("/", "/");
            config.listen = listen.parse().unwrap();
            let guard = Guard::new(8091, &config, &Metrics::new());
            let map = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            let (secure, host) = (false, Some(host.to_owned()));
            let transport = Transport { secure, peer: Ipv4Addr::LOCALHOST.into(), host };
            let judged = guard.judge(&map, &Uri::from_static("/live"), &transport);
            assert_eq!(judged.is_ok(), allowed, "{listen} {map:?}");
        }
    }

    #[test]
    fn a_rebound_name_is_refused() {
        for host in [
            "evil.example:8091",
            "evil.example",
            "localhost.evil.example:8091",
            "127.0.0.1.evil.example:8091",
        ] {
            check_host(host, false);
        }
    }

    #[test]
    fn another_port_or_none_is_refused() {
        for host in [
            "localhost",
            "localhost:80910",
            "127.0.0.1:809",
            "localhost:",
            "localhost:+8091",
            "::1",
            "[::1]",
            "localhost:8091:8091",
            "user@localhost:8091",
            "",
        ] {
            check_host(host, false);
        }
    }

    #[test]
    fn listed_hosts_are_allowed() {
        check_host("desk.example", true);
        check_host("DESK.example:1234", true);
        check_host("lab.example:9000", true);
        check_host("lab.example:9001", false);
        check_host("notdesk.example", false);
    }

    #[test]
    fn our_own_origin_is_allowed() {
        check_origin("localhost:8091", "http://localhost:8091", true);
        check_origin("[::1]:8091", "http://[::1]:8091", true);
        check_origin("LOCALHOST:8091", "HTTP://localhost:8091", true);
    }

    #[test]
    fn foreign_origins_are_refused() {
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "http://localhost.evil.example:8091",
            "http://127.0.0.1:80910",
            "http://127.0.0.1:8091.evil.example",
            "http://127.0.0.1:8091/",
            "https://127.0.0.1:8091",
            "http://127.0.0.1",
            "127.0.0.1:8091",
            "http://evil.example http://127.0.0.1:8091",
        ] {
            check_origin("127.0.0.1:8091", origin, false);
        }
    }

    #[test]
    fn an_origin_with_another_name_of_ours_is_refused() {
        check_origin("127.0.0.1:8091", "http://localhost:8091", false);
    }

    #[test]
    fn under_tls_our_own_origin_is_https() {
        for (host, origin, allowed) in [
            ("localhost:8091", "https://localhost:8091", true),
            ("localhost:8091", "http://localhost:8091", false),
            ("desk.example", "https://desk.example", true),
            ("desk.example:443", "https://desk.example", true),
            ("desk.example", "https://desk.example:80", false),
            ("desk.example", "http://desk.example", false),
        ] {
            let lines = [(HOST, host.parse().unwrap()), (ORIGIN, origin.parse().unwrap())];
            let judged = judge_at(&HeaderMap::from_iter(lines), "/live", true);
            assert_eq!(judged.is_ok(), allowed, "{host} {origin}");
        }
    }

    #[test]
    fn a_listed_origin_is_allowed() {
        check_origin("127.0.0.1:8091", "http://localhost:8090", true);
        check_origin("127.0.0.1:8091", "http://LOCALHOST:8090", true);
    }

    #[test]
    fn missing_and_repeated_headers_are_refused() {
        assert_eq!(judge(&[]), Err(Refusal::NoHost));
        assert_eq!(
            judge(&[(HOST, "localhost:8091"), (HOST, "evil.example")]),
            Err(Refusal::NoHost)
        );
        let origins = [
            (HOST, "localhost:8091"),
            (ORIGIN, "http://localhost:8091"),
            (ORIGIN, "http://evil.example"),
        ];
        assert_eq!(judge(&origins), Err(Refusal::Origins));
    }

    #[test]
    fn a_full_address_must_agree_with_the_host() {
        let headers = HeaderMap::from_iter([(HOST, "localhost:8091".parse().unwrap())]);
        assert!(judge_at(&headers, "http://evil.example/live", false).is_err());
        assert_eq!(judge_at(&headers, "http://LOCALHOST:8091/live", false), Ok(()));
    }

    #[test]
    fn the_refusal_names_the_setting() {
        for locale in [Locale::En, Locale::Ja] {
            let text = judge(&[(HOST, "evil.example")]).unwrap_err().text(locale);
            assert!(text.contains("evil.example") && text.contains("allowed_hosts"), "{text}");
        }
    }
}
