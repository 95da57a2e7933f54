//! Whether agents can be boxed here.

use super::Finding;
use crate::config::Config;
use crate::sandbox::{self, Means};

const CHECK: &str = "box";
const ADVICE: &str = "use Linux with Landlock (`cat /sys/kernel/security/lsm` names it) and user namespaces \
    (`sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0`, whichever there is), \
    or install bubblewrap where it may do what we may not; \
    containers need a seccomp profile that lets them unshare and mount";
const NEWER: &str = "use Linux 6.12 or later, or at least install bubblewrap";
const OWN_PIDS: &str = "let the gateway mount a /proc of its own (containers hide parts of theirs; in Docker \
    `--security-opt systempaths=unconfined` shows them), or install bubblewrap where it may do that";

pub(super) fn finding(config: &Config) -> Finding {
    if !config.box_rules.enabled {
        let found = "agents are not boxed, because [box] enabled = false";
        return judged(config, found.to_owned(), "set [box] enabled = true");
    }
    match sandbox::probe(&config.supervisor, config.box_rules.way) {
        Ok(means) => told(means),
        Err(why) => judged(config, format!("agents cannot be boxed: {why}"), ADVICE),
    }
}

/// The box that there is, and what an older kernel cannot add to it.
fn told(means: &Means) -> Finding {
    let lacks = means.lacks();
    if lacks.is_empty() {
        return Finding::ok(CHECK, format!("agents work in a box: {means}"));
    }
    let found = format!("agents work in a box ({means}) that is not whole: {}", lacks.join("; "));
    Finding::warn(CHECK, found, if means.has_own_pids() { NEWER } else { OWN_PIDS })
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
    use crate::sandbox::Way;

    #[test]
    fn an_older_kernel_is_told_with_what_it_lacks() {
        for (landlock, verdict) in
            [(1, Verdict::Warn), (2, Verdict::Warn), (4, Verdict::Warn), (6, Verdict::Ok)]
        {
            for way in [Way::Own, Way::Bwrap("/usr/bin/bwrap".into())] {
                let finding = told(&Means { way, landlock });
                assert_eq!(finding.verdict, verdict, "{finding:?}");
                assert!(finding.found.contains(&format!("Landlock {landlock}")), "{finding:?}");
                assert_eq!(finding.found.contains("port"), landlock < 4, "{finding:?}");
            }
        }
    }

    #[test]
    fn a_box_without_a_process_namespace_is_told() {
        let finding = told(&Means { way: Way::SharedPids, landlock: 6 });
        assert_eq!(finding.verdict, Verdict::Warn, "{finding:?}");
        assert!(finding.found.contains("outlive a stop"), "{finding:?}");
        assert!(finding.advice.as_deref().unwrap_or_default().contains("/proc"), "{finding:?}");
    }

    #[test]
    fn no_box_is_a_failure_for_several_users() {
        let mut config = Config::for_test("/", "/");
        assert_eq!(finding(&config).verdict, Verdict::Warn);
        let user = |name: &str| config::User { name: name.to_owned(), password: String::new() };
        config.users = vec![user("ann"), user("ben")];
        assert_eq!(finding(&config).verdict, Verdict::Fail);
    }
}
