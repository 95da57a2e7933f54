//! Whether certificate and key can be used, and for how long.

use super::{Finding, certificate};
use crate::config::TlsFiles;
use crate::server::tls::Tls;
use jiff::{SignedDuration, Timestamp};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const CHECK: &str = "tls";
/// Time enough to get a new one.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

pub(super) fn finding(files: Option<&TlsFiles>) -> Finding {
    let Some(files) = files else {
        return Finding::ok(CHECK, "none; the gateway speaks http");
    };
    match Tls::load(files) {
        Ok(_) if is_open(&files.key) => {
            let key = files.key.display();
            let found = format!("every user of this machine can read the key {key}");
            Finding::warn(CHECK, found, format!("run `chmod o-r {key}`"))
        }
        Ok(tls) => judge(files, certificate::end(tls.certificate()), Timestamp::now()),
        Err(err) => Finding::fail(
            CHECK,
            err.to_string(),
            "correct --tls-cert and --tls-key, or leave both out to speak http",
        ),
    }
}

fn is_open(key: &Path) -> bool {
    key.metadata().is_ok_and(|about| about.permissions().mode() & 0o004 != 0)
}

fn judge(files: &TlsFiles, end: Option<Timestamp>, now: Timestamp) -> Finding {
    let cert = files.cert.display();
    let Some(end) = end else {
        return Finding::ok(CHECK, format!("{cert} and its key belong together"));
    };
    let day = end.strftime("%Y-%m-%d");
    let renew = "get a new certificate and start the gateway again";
    if end <= now {
        return Finding::fail(CHECK, format!("{cert} was good until {day}"), renew);
    }
    if end.duration_since(now) < SOON {
        return Finding::warn(CHECK, format!("{cert} is good until {day} only"), renew);
    }
    Finding::ok(CHECK, format!("{cert} and its key belong together; good until {day}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_certificate_that_ends_is_told_in_time() {
        let files = TlsFiles { cert: "a.pem".into(), key: "b.pem".into() };
        let now: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        for (end, verdict) in [
            ("2026-02-28T23:59:59Z", Verdict::Fail),
            ("2026-03-14T00:00:00Z", Verdict::Warn),
            ("2026-03-16T00:00:00Z", Verdict::Ok),
        ] {
            let found = judge(&files, Some(end.parse().unwrap()), now);
            assert_eq!(found.verdict, verdict, "{found:?}");
            assert!(found.found.contains(&end[..10]), "{found:?}");
        }
        assert_eq!(judge(&files, None, now).verdict, Verdict::Ok);
    }

    #[test]
    fn files_that_cannot_be_used_are_a_failure() {
        let files = TlsFiles { cert: "/no/such.pem".into(), key: "/no/such.pem".into() };
        let found = finding(Some(&files));
        assert_eq!(found.verdict, Verdict::Fail);
        assert!(found.found.starts_with("cannot read /no/such.pem: "), "{found:?}");
        assert_eq!(finding(None).verdict, Verdict::Ok);
    }
}
