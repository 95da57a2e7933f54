//! `kakehashi audit`: what agents wanted to do, and who allowed or refused it. Only reads, with or without a gateway.

use super::holder::Holder;
use crate::config::{self, ConfigError, Overrides};
use crate::data_dir::DataDirError;
use crate::locale::Locale;
use crate::store::{self, ReadOnlyStore, StoreError};
use jiff::Timestamp;
use serde_json::json;
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
        let at = Timestamp::from_millisecond(row.at).unwrap_or(Timestamp::UNIX_EPOCH);
        let decision = if row.approved { "allowed" } else { "refused" };
        if command.json {
            let line = json!({
                "at": at.to_string(), "session": row.session, "user": row.principal,
                "agent": row.agent, "run": row.run, "tool": row.tool, "input": row.input,
                "decision": decision, "by": row.by, "reason": row.reason,
            });
            writeln!(out, "{line}")?;
        } else {
            let (user, tool, agent) = (row.principal, row.tool, row.agent.to_string());
            let by = locale.say("decided_by", &row.by, &[]);
            let decided = locale.say("audit", decision, &[("agent", &agent), ("by", &by)]);
            let reason = locale.word(&row.reason);
            writeln!(out, "{at}  {user}  {decided}  {tool}  {reason}")?;
        }
    }
    out.flush()?;
    Ok(())
}
