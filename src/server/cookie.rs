//! The login cookie. Scripts cannot read it, and browsers do not send it for pages of other sites.

use super::transport::Transport;
use crate::auth::Issued;
use axum::http::HeaderValue;
use axum::http::header::{COOKIE, HeaderMap};
use std::sync::Arc;

/// The name contains the port: cookies ignore ports, and one machine may run two gateways.
#[derive(Debug, Clone)]
pub struct Cookie {
    name: Arc<str>,
}

impl Cookie {
    pub(super) fn new(port: u16) -> Self {
        Self { name: format!("kakehashi-{port}").into() }
    }

    pub(super) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs =
            lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| name.trim() == &*self.name).map(|(_, value)| value.trim())
    }

    pub(super) fn set(&self, issued: &Issued, transport: &Transport) -> Option<HeaderValue> {
        self.write(&issued.secret, issued.lifetime.as_secs(), transport)
    }

    pub(super) fn clear(&self, transport: &Transport) -> Option<HeaderValue> {
        self.write("", 0, transport)
    }

    /// Never `None` in practice: secrets are letters and digits.
    fn write(&self, secret: &str, seconds: u64, transport: &Transport) -> Option<HeaderValue> {
        let secure = if transport.secure { "; Secure" } else { "" };
        let name = &self.name;
        let line = format!(
            "{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}"
        );
        line.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, line.parse().unwrap());
        }
        assert_eq!(Cookie::new(8091).read(&headers), expected, "{lines:?}");
    }

    #[test]
    fn our_cookie_is_found_among_others() {
        check(&[], None);
        check(&["kakehashi-8091=abc"], Some("abc"));
        check(&["a=b; kakehashi-8091=abc ; c=d"], Some("abc"));
        check(&["a=b", "kakehashi-8091=abc"], Some("abc"));
        check(&["kakehashi-8092=abc; xkakehashi-8091=no"], None);
    }

    #[test]
    fn the_cookie_is_kept_from_scripts_and_other_sites() {
        let mut transport = Transport { secure: false, peer: [127, 0, 0, 1].into(), host: None };
        let line = Cookie::new(1).write("s", 60, &transport).unwrap();
        assert_eq!(line, "kakehashi-1=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=60");
        transport.secure = true;
        let line = Cookie::new(1).clear(&transport).unwrap();
        assert_eq!(line, "kakehashi-1=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0; Secure");
    }
}
