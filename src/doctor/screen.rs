//! Where the person sits: what a terminal shows, and how a browser gets to the page.

use super::Finding;
use std::net::SocketAddr;

/// What the command line knows about its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Logs are readable there, JSON elsewhere.
    pub terminal: bool,
    /// The terminal can show Japanese.
    pub utf8: bool,
    /// A browser can open a window.
    pub display: bool,
    /// The person sits at another machine.
    pub remote: bool,
}

impl Screen {
    pub(super) fn findings(&self, address: SocketAddr, scheme: &str) -> [Finding; 2] {
        [self.letters(), self.browser(address, scheme)]
    }

    fn letters(&self) -> Finding {
        const CHECK: &str = "terminal";
        if !self.terminal {
            return Finding::ok(CHECK, "there is none; logs are JSON then");
        }
        if !self.utf8 {
            return Finding::warn(
                CHECK,
                "its language is not UTF-8, so Japanese names look broken",
                "run `export LANG=C.UTF-8`",
            );
        }
        Finding::ok(CHECK, "it shows UTF-8; logs are for people")
    }

    /// Browsers give the microphone only to pages of localhost, or with TLS.
    fn browser(&self, address: SocketAddr, scheme: &str) -> Finding {
        const CHECK: &str = "browser";
        let port = address.port();
        if port == 0 {
            return Finding::ok(CHECK, "open the address that the gateway prints");
        }
        if self.remote || !self.display {
            return Finding::ok(CHECK, "there is no screen at this machine").with(format!(
                "run `ssh -L {port}:{address} HOST` where you sit and open {scheme}://localhost:{port}/ there"
            ));
        }
        Finding::ok(CHECK, format!("open {scheme}://{address}/; the microphone works there"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    const DESK: Screen = Screen { terminal: true, utf8: true, display: true, remote: false };

    #[test]
    fn a_person_at_another_machine_is_told_the_way() {
        let address = "127.0.0.1:8091".parse().unwrap();
        let [_, browser] = Screen { remote: true, ..DESK }.findings(address, "http");
        let advice = browser.advice.unwrap();
        assert!(advice.starts_with("run `ssh -L 8091:127.0.0.1:8091 HOST`"), "{advice}");
        let [_, browser] = DESK.findings(address, "http");
        assert_eq!(browser.advice, None);
    }

    #[test]
    fn a_terminal_without_utf_8_is_told() {
        let address = "127.0.0.1:0".parse().unwrap();
        let [terminal, _] = Screen { utf8: false, ..DESK }.findings(address, "http");
        assert_eq!(terminal.verdict, Verdict::Warn);
        let [terminal, _] =
            Screen { terminal: false, utf8: false, ..DESK }.findings(address, "http");
        assert_eq!(terminal.verdict, Verdict::Ok);
    }
}
