//! Who can reach the gateway, and whether it is ready for them.

use super::Finding;
use crate::config::{Config, Exposed};

pub(super) const CHECK: &str = "exposure";

pub(super) fn finding(config: &Config) -> Finding {
    let reached = reached(config);
    let pages = match config.allowed_origins.as_slice() {
        [] => "pages of other origins are refused; the log names each with the line for allowed_origins"
            .to_owned(),
        listed => format!("of other pages those of {}", listed.join(", ")),
    };
    Finding { found: format!("{}; {pages}", reached.found), ..reached }
}

fn reached(config: &Config) -> Finding {
    let listen = config.listen;
    let proxies: Vec<_> = config.trusted_proxies.iter().map(ToString::to_string).collect();
    let others = !listen.ip().to_canonical().is_loopback();
    let who = match (others, proxies.as_slice()) {
        (false, []) => return Finding::ok(CHECK, "only this machine can reach the gateway"),
        (false, proxies) => format!("others reach the gateway through {}", proxies.join(", ")),
        (true, _) => format!("others can reach the gateway at {listen}"),
    };
    if config.allowed_hosts.is_empty() {
        return Finding::warn(
            CHECK,
            format!("{who}, but it answers to the name localhost only"),
            "add the name under which they reach it to allowed_hosts",
        );
    }
    Finding::ok(CHECK, format!("{who}, as {}", config.allowed_hosts.join(", ")))
}

/// The gateway would not start like this.
pub(super) fn refused(why: Exposed) -> Finding {
    let advice = match why {
        Exposed::NoUsers(_) => "configure users, or listen on 127.0.0.1",
        Exposed::NotPrivate(_) => {
            "give --tls-cert and --tls-key or a trusted_proxy, or listen on 127.0.0.1"
        }
    };
    Finding::fail(CHECK, why.to_string(), advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn who_reaches_it_and_under_which_name_is_told() {
        let mut config = Config::for_test("/", "/");
        assert_eq!(finding(&config).verdict, Verdict::Ok);
        config.trusted_proxies = vec!["10.0.0.1".parse().unwrap()];
        let found = finding(&config);
        assert_eq!(found.verdict, Verdict::Warn);
        assert!(found.found.contains("through 10.0.0.1"), "{found:?}");
        config.listen = "0.0.0.0:1".parse().unwrap();
        config.allowed_hosts = vec!["desk.example".to_owned()];
        let found = finding(&config);
        assert_eq!(found.verdict, Verdict::Ok);
        assert!(found.found.contains("at 0.0.0.0:1, as desk.example; "), "{found:?}");
        assert!(found.found.contains("the line for allowed_origins"), "{found:?}");
        config.allowed_origins = vec!["http://localhost:8090".to_owned()];
        let found = finding(&config).found;
        assert!(found.ends_with("of other pages those of http://localhost:8090"), "{found}");
    }
}
