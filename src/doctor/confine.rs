//! Whether agents can be boxed here.

use super::Finding;
use crate::config::Config;
use crate::sandbox;

const CHECK: &str = "box";
const ADVICE: &str = "use Linux 6.12 or later with Landlock (`cat /sys/kernel/security/lsm` names it) and user namespaces \
    (`sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0`, whichever there is); \
    containers need a seccomp profile that lets them unshare and mount";

pub(super) fn finding(config: &Config) -> Finding {
    if !config.box_rules.enabled {
        let found = "agents are not boxed, because [box] enabled = false";
        return judged(config, found.to_owned(), "set [box] enabled = true");
    }
    match sandbox::probe(&config.supervisor) {
        Ok(()) => Finding::ok(
            CHECK,
            "agents work in a box: namespaces, Landlock and a filter of system calls",
        ),
        Err(why) => judged(config, format!("agents cannot be boxed: {why}"), ADVICE),
    }
}

/// With several users the gateway would not start like this.
fn judged(config: &Config, found: String, advice: &str) -> Finding {
    if config.needs_box() {
        Finding::fail(CHECK, found, advice)
    } else {
        Finding::warn(CHECK, found, advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::doctor::Verdict;

    #[test]
    fn no_box_is_a_failure_for_several_users() {
        let mut config = Config::for_test("/", "/");
        assert_eq!(finding(&config).verdict, Verdict::Warn);
        let user = |name: &str| config::User { name: name.to_owned(), password: String::new() };
        config.users = vec![user("ann"), user("ben")];
        assert_eq!(finding(&config).verdict, Verdict::Fail);
    }
}
