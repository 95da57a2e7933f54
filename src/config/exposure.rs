//! Who can reach the gateway: an address that others can reach needs users, and a way to it that nobody can read.

use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};

/// What decides whether the gateway may be reached by others.
#[derive(Debug, Clone, Copy)]
pub struct Exposure {
    pub listen: SocketAddr,
    pub has_users: bool,
    pub has_tls: bool,
    pub has_proxy: bool,
}

/// Why it may not, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exposed {
    #[error(
        "{0} can be reached by others, and there are no users who could log in; \
         configure users, or listen on 127.0.0.1 or [::1]"
    )]
    NoUsers(SocketAddr),
    #[error(
        "{0} can be reached by others, who could read every password on its way; give --tls-cert and --tls-key, \
         name your proxy in trusted_proxy, or listen on 127.0.0.1 or [::1]"
    )]
    NotPrivate(SocketAddr),
}

impl Exposure {
    pub fn check(self) -> Result<(), Exposed> {
        if self.listen.ip().to_canonical().is_loopback() {
            Ok(())
        } else if !self.has_users {
            Err(Exposed::NoUsers(self.listen))
        } else if !self.has_tls && !self.has_proxy {
            Err(Exposed::NotPrivate(self.listen))
        } else {
            Ok(())
        }
    }
}

/// Name and port under which a browser finds the gateway. Nobody can go to an address that stands for all of them.
pub fn reachable(address: SocketAddr, allowed_hosts: &[String]) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let name = allowed_hosts.first().map_or("localhost", String::as_str);
    // The colons inside [fd00::1] are not the one before a port.
    let has_port = name.rfind(':').is_some_and(|colon| !name[colon..].contains(']'));
    if has_port { name.to_owned() } else { format!("{name}:{}", address.port()) }
}

/// A proxy's address, without a port and without a network: what is believed should be readable in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Proxy(pub(super) IpAddr);

impl TryFrom<String> for Proxy {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let address = text.parse::<IpAddr>();
        let address =
            address.map_err(|_| format!("`{text}` is not an address like 10.0.0.1 or fd00::1"))?;
        if address.is_unspecified() {
            return Err(format!("`{text}` is nobody's address; name each proxy"));
        }
        Ok(Self(address.to_canonical()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listen: &str, given: [bool; 3], expected: Option<fn(SocketAddr) -> Exposed>) {
        let listen = listen.parse().unwrap();
        let [has_users, has_tls, has_proxy] = given;
        let checked = Exposure { listen, has_users, has_tls, has_proxy }.check();
        assert_eq!(checked.err(), expected.map(|why| why(listen)), "{listen} {given:?}");
    }

    #[test]
    fn loopback_needs_nothing() {
        for listen in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            check(listen, [false; 3], None);
        }
    }

    #[test]
    fn an_address_of_all_is_told_by_a_name_that_is_let_in() {
        for (listen, allowed, expected) in [
            ("127.8.8.8:1", &["desk"][..], "127.8.8.8:1"),
            ("192.168.1.5:1", &[], "192.168.1.5:1"),
            ("0.0.0.0:1", &[], "localhost:1"),
            ("[::]:1", &["desk", "lab"], "desk:1"),
            ("0.0.0.0:1", &["lab:9000"], "lab:9000"),
            ("0.0.0.0:1", &["[fd00::1]"], "[fd00::1]:1"),
        ] {
            let allowed: Vec<_> = allowed.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(reachable(listen.parse().unwrap(), &allowed), expected, "{listen}");
        }
    }

    #[test]
    fn other_addresses_need_users_and_a_private_way() {
        for listen in ["0.0.0.0:1", "[::]:1", "192.168.1.5:1", "[::ffff:10.0.0.1]:1"] {
            check(listen, [false, true, true], Some(Exposed::NoUsers));
            check(listen, [true, false, false], Some(Exposed::NotPrivate));
            check(listen, [true, true, false], None);
            check(listen, [true, false, true], None);
        }
    }
}
