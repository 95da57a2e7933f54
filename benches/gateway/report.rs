//! The table: what was measured, against what, what it should be, and whether it is.

use serde_json::{Value, json};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Report {
    head: Value,
    rows: Vec<Value>,
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) gateway: f64,
    /// Who does the same, and what it takes there.
    pub(crate) against: Option<(&'static str, f64)>,
    /// What the targets are about: the ratio, or the gateway's own figure.
    pub(crate) result: Of,
    pub(crate) targets: Vec<Target>,
    /// Sizes, counts and rates, and what a "per second" counts.
    pub(crate) how: String,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    Ratio(f64),
    Figure,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    fn is_reached(self, result: f64) -> bool {
        match self {
            Self::AtMost(most) => result <= most,
            Self::AtLeast(least) => result >= least,
        }
    }

    fn shown(self, unit: &str) -> String {
        match self {
            Self::AtMost(most) => format!("<= {most}{unit}"),
            Self::AtLeast(least) => format!(">= {least}{unit}"),
        }
    }
}

impl Row {
    fn result(&self) -> f64 {
        match self.result {
            Of::Ratio(ratio) => ratio,
            Of::Figure => self.gateway,
        }
    }

    fn targets_shown(&self) -> String {
        let unit = match self.result {
            Of::Ratio(_) => "x".to_owned(),
            Of::Figure => format!(" {}", self.unit),
        };
        let targets: Vec<_> = self.targets.iter().map(|target| target.shown(&unit)).collect();
        if targets.is_empty() { "-".to_owned() } else { targets.join(", ") }
    }

    fn reached_shown(&self) -> String {
        let answer = |target: &Target| if target.is_reached(self.result()) { "yes" } else { "no" };
        let answers: Vec<_> = self.targets.iter().map(answer).collect();
        if answers.is_empty() { "-".to_owned() } else { answers.join(", ") }
    }

    fn json(&self) -> Value {
        let target = |target: &Target| {
            let (bound, value) = match target {
                Target::AtMost(most) => ("at_most", most),
                Target::AtLeast(least) => ("at_least", least),
            };
            json!({ bound: value, "reached": target.is_reached(self.result()) })
        };
        json!({
            "what": self.what,
            "unit": self.unit,
            "gateway": self.gateway,
            "against": self.against.map(|(name, value)| json!({ "name": name, "value": value })),
            "ratio": match self.result { Of::Ratio(ratio) => Some(ratio), Of::Figure => None },
            "targets": self.targets.iter().map(target).collect::<Vec<_>>(),
            "how": self.how,
        })
    }
}

impl Report {
    pub(crate) fn new(head: Value) -> Self {
        println!(
            "{:<44} {:>14} {:>22} {:>8}  {:<18} reached",
            "what", "gateway", "against", "ratio", "target"
        );
        Self { head, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: &Row) {
        let figure = |value: f64| format!("{} {}", short(value), row.unit);
        let against =
            row.against.map_or("-".to_owned(), |(name, value)| format!("{name} {}", figure(value)));
        let ratio = match row.result {
            Of::Ratio(ratio) => format!("{ratio:.2}x"),
            Of::Figure => "-".to_owned(),
        };
        println!(
            "{:<44} {:>14} {:>22} {:>8}  {:<18} {}",
            row.what,
            figure(row.gateway),
            against,
            ratio,
            row.targets_shown(),
            row.reached_shown()
        );
        println!("    {}", row.how);
        self.rows.push(row.json());
    }

    /// Says that something could not be measured, instead of leaving it out.
    pub(crate) fn skip(&mut self, what: &str, reason: &str) {
        println!("{what:<44} not measured: {reason}");
        self.rows.push(json!({ "what": what, "not_measured": reason }));
    }

    pub(crate) fn write(mut self, path: &Path) {
        self.head["rows"] = Value::Array(self.rows);
        let text = serde_json::to_string_pretty(&self.head).unwrap();
        std::fs::write(path, text + "\n").unwrap();
        println!("written to {}", path.display());
    }
}

/// Three digits are more than such a machine can promise.
fn short(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

pub(crate) fn quantile(values: impl IntoIterator<Item = f64>, part: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Of the figures that are printed beside it, so that who divides them finds the same. Each is the middle of what the
/// rounds found, so that a busy neighbour spoils a round and not the result.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    median(ours.iter().copied()) / median(theirs.iter().copied())
}
