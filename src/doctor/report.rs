//! What was found, for people line by line and for programs as JSON.

use crate::locale::Locale;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// How bad it is; only a failure keeps the gateway from working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    Warn,
    Fail,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: Cow<'static, str>,
    pub verdict: Verdict,
    pub found: String,
    /// What to do; `None` where nothing needs to be done.
    pub advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: impl Into<Cow<'static, str>>, found: impl Into<String>) -> Self {
        Self { check: check.into(), verdict: Verdict::Ok, found: found.into(), advice: None }
    }

    pub(super) fn warn(
        check: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { verdict: Verdict::Warn, ..Self::ok(check, found) }.with(advice)
    }

    pub(super) fn fail(
        check: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { verdict: Verdict::Fail, ..Self::ok(check, found) }.with(advice)
    }

    pub(super) fn with(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// Everything that was found, in the order in which it was looked at.
#[derive(Debug, Serialize)]
pub struct Report {
    version: &'static str,
    healthy: bool,
    pub findings: Vec<Finding>,
    #[serde(skip)]
    locale: Locale,
}

impl Report {
    pub(super) fn new(findings: Vec<Finding>) -> Self {
        let healthy = findings.iter().all(|finding| finding.verdict != Verdict::Fail);
        Self { version: env!("CARGO_PKG_VERSION"), healthy, findings, locale: Locale::En }
    }

    /// Translates `found` and `advice`. Names of checks and verdicts stay English, because programs read them.
    pub fn told_in(self, locale: Locale) -> Self {
        let told = |finding: Finding| Finding {
            found: locale.word(&finding.found),
            advice: finding.advice.map(|advice| locale.word(&advice)),
            ..finding
        };
        Self { findings: self.findings.into_iter().map(told).collect(), locale, ..self }
    }

    /// Nothing keeps the gateway from working.
    pub fn healthy(&self) -> bool {
        self.healthy
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }
}

/// One line each, and one that sums them up.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            let (verdict, check) = (finding.verdict.name(), &finding.check);
            write!(f, "{verdict:<4}  {check:<10}  {}", plain(&finding.found))?;
            match &finding.advice {
                Some(advice) => writeln!(f, " -> {}", plain(advice))?,
                None => writeln!(f)?,
            }
        }
        let [ok, warn, fail] = [Verdict::Ok, Verdict::Warn, Verdict::Fail].map(|v| self.count(v));
        writeln!(f, "{}", self.locale.word(&format!("{ok} ok, {warn} warn, {fail} fail")))
    }
}

/// Names of files may hold anything, also line ends and commands for the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_with_what_to_do() {
        let findings = vec![
            Finding::ok("models", "scripted"),
            Finding::warn("git", "no repository at /a\nb", "run `git init`"),
        ];
        let report = Report::new(findings);
        assert_eq!(
            report.to_string(),
            "ok    models      scripted\nwarn  git         no repository at /a?b -> run `git init`\n\
             1 ok, 1 warn, 0 fail\n"
        );
        assert!(report.healthy());
    }

    #[test]
    fn one_failure_is_enough() {
        let failed = Finding::fail("port", "taken", "choose another");
        let report = Report::new(vec![Finding::ok("models", "scripted"), failed]);
        assert!(!report.healthy());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["healthy"], false);
        assert_eq!(json["findings"][1]["verdict"], "fail");
        assert_eq!(json["findings"][1]["advice"], "choose another");
        assert_eq!(json["findings"][0]["advice"], serde_json::Value::Null);
    }
}
