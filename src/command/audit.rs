//! `kakehashi audit`: what agents wanted to do, and who allowed or refused it. Only reads, with or without a gateway.

use super::holder::Holder;
use crate::config::{self, ConfigError, Overrides};
use crate::data_dir::DataDirError;
use crate::locale::Locale;
use crate::message::{AgentSlot, Caller};
use crate::store::{self, AuditRow, ReadOnlyStore, StoreError};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write, stdout};

#[derive(Debug, clap::Args)]
pub struct AuditCommand {
    /// How many decisions, the newest first.
    #[arg(long, default_value_t = 50, value_name = "N")]
    last: usize,
    /// One JSON object per line, with the tools' inputs, for programs.
    #[arg(long)]
    json: bool,
}

/// Why nothing can be shown.
#[derive(Debug, thiserror::Error)]
pub enum AuditCommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Data(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub fn run(
    command: &AuditCommand,
    overrides: Overrides,
    locale: Locale,
) -> Result<(), AuditCommandError> {
    let data = config::data(overrides)?;
    let _held = Holder::of(&data)?;
    let rows = ReadOnlyStore::open(&data.join(store::FILE))?.audit(command.last)?;
    let mut out = BufWriter::new(stdout());
    for row in rows {
        let agent = Caller::parse(&row.caller).and_then(Caller::agent).map(AgentSlot::number);
        let at = Timestamp::from_millisecond(row.at).unwrap_or(Timestamp::UNIX_EPOCH);
        let decision = if row.approved { "allowed" } else { "refused" };
        if command.json {
            let line = json!({
                "at": at.to_string(), "session": row.session, "user": row.principal,
                "caller": row.caller, "agent": agent, "run": row.run, "tool": row.tool, "input": row.input,
                "decision": decision, "by": row.by, "reason": row.reason, "policy": policy(&row),
            });
            writeln!(out, "{line}")?;
        } else {
            let (user, tool) = (row.principal, row.tool);
            let by = locale.say("decided_by", &row.by, &[]);
            let caller = caller(locale, &row.caller);
            let decided = locale.say("audit", decision, &[("caller", &caller), ("by", &by)]);
            let reason = locale.word(&row.reason);
            writeln!(out, "{at}  {user}  {decided}  {tool}  {reason}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// What the gate was asked and what it answered, in the words of access control.
fn policy(row: &AuditRow) -> Value {
    let decision = match (row.by.as_str(), row.approved) {
        ("rule", true) => "ALLOW",
        ("rule", false) => "DENY",
        // It was never asked.
        ("nobody", _) => return Value::Null,
        _ => "REQUIRE_USER_CONFIRMATION",
    };
    let name = if row.name.is_empty() { &row.tool } else { &row.name };
    let args: Value =
        serde_json::from_str(&row.input).unwrap_or_else(|_| json!({ "input": row.input }));
    let address = Some(&row.address).filter(|address| !address.is_empty());
    let is_asked = decision == "REQUIRE_USER_CONFIRMATION";
    let twice = (is_asked && row.level == "CRITICAL").then_some("confirm_twice");
    let in_box = (row.approved && row.name == "shell:execute").then_some("sandbox");
    let obligations: Vec<_> = ["audit"].into_iter().chain(twice).chain(in_box).collect();
    json!({
        "request": {
            "principal": {"id": row.principal, "groups": [row.caller]},
            "action": "tool:execute",
            "resource": {"type": "tool", "name": name, "attributes": {"args": args}},
            "context": {"ip_address": address, "session_id": row.session},
        },
        "response": {"decision": decision, "reason": row.reason, "obligations": obligations},
    })
}

/// For people. A name of a later version is shown as it is.
fn caller(locale: Locale, name: &str) -> String {
    match Caller::parse(name) {
        Some(Caller::Agent(slot)) => {
            locale.say("caller", "agent", &[("agent", &slot.number().to_string())])
        }
        Some(caller @ (Caller::Chat | Caller::Live | Caller::Client)) => {
            locale.say("caller", caller.name(), &[])
        }
        None => name.to_owned(),
    }
}
