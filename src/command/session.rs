//! `kakehashi session`: the operator lists, exports and deletes sessions, whoever they belong to.

use super::holder::Holder;
use super::output::Output;
use crate::data_dir::DataDirError;
use crate::files::Belongings;
use crate::locale::Locale;
use crate::message::SessionId;
use crate::server::control::{self, ControlError};
use crate::session::{Archive, forget_agents};
use crate::store::{self, ReadOnlyStore, Scope, SessionSummary, Store, StoreError};
use crate::task::start_small_runtime;
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::json;
use std::io::{self, BufWriter, IsTerminal, Write, stderr, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Show every session, the last used first.
    List {
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Write a session as a tar archive: session.json, events.jsonl, and the user's files that are mentioned in it.
    Export {
        /// The session, as `kakehashi session list` shows it.
        id: String,
        /// Where to write; `-` is standard output. A file that exists is never overwritten. [default: ID.tar]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Delete a session with its history and its files. A session that is in use is ended first. There is no way back.
    Delete {
        /// The session, as `kakehashi session list` shows it.
        id: String,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum SessionCommandError {
    #[error("there is no session {0}; `kakehashi session list` shows those of this data directory")]
    Unknown(String),
    #[error("{} exists and is not overwritten; choose another --output", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {reason}", path.display())]
    Output { path: PathBuf, reason: io::Error },
    #[error("an archive is nothing for a terminal; add --output FILE or send it into a pipe")]
    Terminal,
    #[error("nobody can be asked without a terminal; add --yes to delete the session")]
    NoTerminal,
    #[error("nothing was deleted")]
    Declined,
    #[error(
        "the gateway is running but cannot be reached through control.sock; try again, or stop it and delete then"
    )]
    Unreachable,
    #[error("interrupted; nothing was written")]
    Interrupted,
    #[error(transparent)]
    Data(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Carries a command out on the sessions of this data directory.
pub fn run(
    command: SessionCommand,
    data: &Path,
    locale: Locale,
) -> Result<(), SessionCommandError> {
    match command {
        SessionCommand::List { json } => list(data, json, locale),
        SessionCommand::Export { id, output } => export(data, &id, output),
        SessionCommand::Delete { id, yes } => delete(data, &id, yes, locale),
    }
}

fn list(data: &Path, json: bool, locale: Locale) -> Result<(), SessionCommandError> {
    let sessions = sessions(data, &Holder::of(data)?)?;
    let mut out = BufWriter::new(stdout().lock());
    if json {
        let rows: Vec<_> = sessions.iter().map(row).collect();
        writeln!(out, "{:#}", json!({"sessions": rows}))?;
    } else if sessions.is_empty() {
        let none = format!("no sessions in {}", data.display());
        writeln!(out, "{}", locale.word(&none))?;
    } else {
        let longest = sessions.iter().map(|session| session.id.as_str().len()).max().unwrap_or(0);
        let head = |name, width| padded(&locale.say("session_list", name, &[]), width);
        let (id, used) = (head("session", longest), head("used", 20));
        let (events, doing, user) = (head("events", 8), head("work", 8), head("user", 0));
        writeln!(out, "{id}  {used}  {events}  {doing}  {user}")?;
        for session in &sessions {
            let (id, used) = (session.id.as_str(), shown(session.used));
            let events = session.events;
            let doing = padded(&locale.say("session_list", work(session), &[]), 8);
            // A user's name comes from outside and may hold anything.
            let user = session.principal.as_str().escape_debug();
            writeln!(out, "{id:longest$}  {used:20}  {events:<8}  {doing}  {user}")?;
        }
    }
    out.flush()?;
    Ok(())
}

fn row(session: &SessionSummary) -> serde_json::Value {
    json!({
        "id": session.id.as_str(),
        "principal": session.principal.as_str(),
        "created": shown(session.created),
        "used": shown(session.used),
        "events": session.events,
        "running": session.running,
        "waiting": session.waiting,
    })
}

/// Japanese letters are twice as wide as others.
fn padded(text: &str, width: usize) -> String {
    let wide = text.chars().filter(|letter| !letter.is_ascii()).count();
    format!("{text:0$}", width.saturating_sub(wide))
}

fn work(session: &SessionSummary) -> &'static str {
    match (session.running, session.waiting) {
        (0, 0) => "none",
        (0, _) => "waiting",
        (_, _) => "running",
    }
}

fn export(data: &Path, id: &str, output: Option<PathBuf>) -> Result<(), SessionCommandError> {
    let known = parse(id)?;
    let path = output.unwrap_or_else(|| format!("{known}.tar").into());
    if path.as_os_str() == "-" {
        if stdout().is_terminal() {
            return Err(SessionCommandError::Terminal);
        }
        return Ok(archive(data, &known)?.write(BufWriter::new(stdout().lock()))?);
    }
    let mistake = |reason: io::Error| {
        if reason.kind() == io::ErrorKind::AlreadyExists {
            SessionCommandError::Exists(path.clone())
        } else {
            SessionCommandError::Output { path: path.clone(), reason }
        }
    };
    let archive = archive(data, &known)?;
    let (output, file) = Output::create(&path).map_err(mistake)?;
    write_unless_interrupted(archive, file, &mistake)?;
    output.keep().map_err(mistake)
}

/// The half-written file is removed by its owner here, so a signal has to come back to us.
fn write_unless_interrupted(
    archive: Archive,
    file: std::fs::File,
    mistake: &impl Fn(io::Error) -> SessionCommandError,
) -> Result<(), SessionCommandError> {
    let runtime = start_small_runtime()?;
    let written = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let writing = tokio::task::spawn_blocking(move || {
            archive.write(BufWriter::new(&file))?;
            file.sync_all()
        });
        tokio::select! {
            written = writing => written.map_err(io::Error::from).flatten().map_err(mistake),
            _ = interrupt.recv() => Err(SessionCommandError::Interrupted),
            _ = terminate.recv() => Err(SessionCommandError::Interrupted),
        }
    });
    runtime.shutdown_background();
    written
}

/// The data directory is held only until the archive is taken, however long it takes to write it.
fn archive(data: &Path, id: &SessionId) -> Result<Archive, SessionCommandError> {
    let taken = match Holder::of(data)? {
        Holder::Gateway | Holder::Us(_) => {
            Archive::take_read_only(&ReadOnlyStore::open(&data.join(store::FILE))?, data, id)?
        }
        Holder::Nobody => None,
    };
    taken.ok_or_else(|| SessionCommandError::Unknown(id.to_string()))
}

fn delete(data: &Path, id: &str, yes: bool, locale: Locale) -> Result<(), SessionCommandError> {
    let known = parse(id)?;
    let unknown = || SessionCommandError::Unknown(known.to_string());
    let found = sessions(data, &Holder::of(data)?)?;
    let session = found.iter().find(|session| session.id == known).ok_or_else(unknown)?;
    if !yes {
        confirm(session, locale)?;
    }
    // Looked at again: a gateway may have started or ended while somebody thought about it.
    match Holder::of(data)? {
        Holder::Gateway => {
            match start_small_runtime()?.block_on(control::delete_session(data, &known)) {
                Err(ControlError::NotRunning(_)) => return Err(SessionCommandError::Unreachable),
                done => done?,
            }
        }
        Holder::Us(_held) => start_small_runtime()?.block_on(delete_here(data, &known, locale))?,
        Holder::Nobody => return Err(unknown()),
    }
    writeln!(stdout(), "{}", locale.word(&format!("deleted {known}")))?;
    Ok(())
}

fn confirm(session: &SessionSummary, locale: Locale) -> Result<(), SessionCommandError> {
    if !stdin().is_terminal() {
        return Err(SessionCommandError::NoTerminal);
    }
    let (user, events) = (session.principal.as_str().escape_debug(), session.events);
    let id = &session.id;
    let question = match work(session) {
        "none" => format!("Delete {id} of {user} with {events} events and its files? [y/N] "),
        _ => format!(
            "Delete {id} of {user} with {events} events and its files? It has work, which will be ended. [y/N] "
        ),
    };
    write!(stderr(), "{}", locale.word(&question))?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(SessionCommandError::Declined),
    }
}

/// Without a gateway there is nobody to end and nobody who could write.
async fn delete_here(
    data: &Path,
    id: &SessionId,
    locale: Locale,
) -> Result<(), SessionCommandError> {
    let store = Store::open(&data.join(store::FILE), |_, _| ())?;
    let found = store.find(Scope::Everybody, id).await?;
    let found = found.ok_or_else(|| SessionCommandError::Unknown(id.to_string()))?;
    let belongings = Belongings::of(data, &found.principal);
    let there = belongings.clone();
    for path in store.mentioned_only_in(found.key, move |path| there.holds(path)).await? {
        if let Err(err) = belongings.remove(&path) {
            let left = format!("{path} is left until it is too old: {err}");
            writeln!(stderr(), "{}", locale.word(&left))?;
        }
    }
    if let Err(err) = forget_agents(data, id) {
        let left = format!("files of its agents are left until a gateway starts: {err}");
        writeln!(stderr(), "{}", locale.word(&left))?;
    }
    store.remove(found.key).await?;
    store.purge().await?;
    store.close().await;
    Ok(())
}

fn sessions(data: &Path, holder: &Holder) -> Result<Vec<SessionSummary>, SessionCommandError> {
    match holder {
        Holder::Gateway | Holder::Us(_) => {
            Ok(ReadOnlyStore::open(&data.join(store::FILE))?.list()?)
        }
        Holder::Nobody => Ok(Vec::new()),
    }
}

fn parse(id: &str) -> Result<SessionId, SessionCommandError> {
    SessionId::parse(id).ok_or_else(|| SessionCommandError::Unknown(id.to_owned()))
}

fn shown(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
