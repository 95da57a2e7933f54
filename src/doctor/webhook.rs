//! Whom the gateway calls when something waits for approval, and whether the call can be trusted.

use super::Finding;
use crate::provider::row::Webhook;

const CHECK: &str = "webhook";

/// `None`: nobody wants to be called. The address itself was checked with the settings.
pub(super) fn finding(webhook: Option<&Webhook>) -> Option<Finding> {
    let Webhook { url, key } = webhook?;
    let place = place(url);
    let secret = key.as_ref().map(|key| (&key.variable, key.secret.is_some()));
    Some(match secret {
        Some((variable, false)) => Finding::fail(
            CHECK,
            format!("{place} is not called, because {variable} holds no secret to sign with"),
            format!("set {variable} before you start the gateway, or remove `secret` of [webhook]"),
        ),
        None => Finding::warn(
            CHECK,
            format!("{place} is called without a signature, so anybody could call it"),
            "name a variable with a secret as `secret` of [webhook]",
        ),
        Some((_, true)) if !is_private(url) => Finding::warn(
            CHECK,
            format!("{place} is called, signed, but everybody on the way can read it"),
            "use https",
        ),
        Some((_, true)) => Finding::ok(CHECK, format!("{place} is called, signed")),
    })
}

/// Without what is behind the host: services put their token there.
fn place(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    format!("{scheme}://{host}")
}

fn is_private(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return true };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "localhost" || name == "[::1]" || name.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use crate::provider::row::{ChatKey, Secret};

    #[track_caller]
    fn check(url: &str, secret: Option<Option<&str>>, verdict: Verdict, part: &str) {
        let key = secret
            .map(|value| ChatKey { variable: "HOOK".to_owned(), secret: value.map(Secret::new) });
        let finding = finding(Some(&Webhook { url: url.to_owned(), key })).unwrap();
        assert_eq!(finding.verdict, verdict, "{finding:?}");
        assert!(finding.found.contains(part) && !finding.found.contains("t0ken"), "{finding:?}");
    }

    #[test]
    fn a_webhook_is_told_with_what_is_wrong_with_it_and_without_its_token() {
        assert!(finding(None).is_none());
        let signed = Some(Some("s"));
        check(
            "https://a.example/t0ken?x=t0ken",
            signed,
            Verdict::Ok,
            "https://a.example is called",
        );
        check("http://127.0.0.1:8/t0ken", signed, Verdict::Ok, "http://127.0.0.1:8 is called");
        check("http://[::1]:8/t0ken", signed, Verdict::Ok, "[::1]:8 is called");
        check("http://a.example?t0ken", signed, Verdict::Warn, "on the way");
        check("https://a.example/t0ken", None, Verdict::Warn, "without a signature");
        check("https://a.example/t0ken", Some(None), Verdict::Fail, "HOOK holds no secret");
    }
}
