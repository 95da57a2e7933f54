//! The command `kakehashi`: arguments, logging and signals around [`server::run`]. Whatever keeps it from
//! starting is one line on stderr and exit code 2.

use anyhow::{Context, Result};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use kakehashi::auth::{self, Auth};
use kakehashi::command::audit::{self, AuditCommand};
use kakehashi::command::backup::{self, BackupCommand};
use kakehashi::command::python::{self, PythonCommand};
use kakehashi::command::talk::{self, TalkCommand};
use kakehashi::command::user::{self, UserCommand};
use kakehashi::command::{self, SessionCommand};
use kakehashi::config::{self, Config, FoundChat, Models, Overrides};
use kakehashi::data_dir::{self, DataDir};
use kakehashi::doctor::{self, Screen};
use kakehashi::locale::Locale;
use kakehashi::process::{self, ProgramStdin};
use kakehashi::provider::chat::{self, Candidates};
use kakehashi::provider::row::ChatModel;
use kakehashi::server::{self, control};
use kakehashi::task;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::ffi::OsString;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// How often models of this machine are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(45);
/// Nobody waits long for a gateway to start.
const FIRST_LOOK: Duration = Duration::from_millis(300);
/// An Ollama that loads a model is slow, and nobody waits for this one.
const LATER_LOOK: Duration = Duration::from_secs(3);

const EXAMPLES: &str = "\
Examples:
  kakehashi                             serve the current directory on http://127.0.0.1:8091/
  kakehashi serve --project ~/app       let agents work on ~/app
  kakehashi --listen 127.0.0.1:0        take any free port and print it
  kakehashi say \"Restart in 5 minutes\"  tell every session of the running gateway
  kakehashi talk                        speak with it (./scripts/talk builds it with sound devices)
  kakehashi backup list                 show the states that the project can be brought back to
  kakehashi user add ann                let ann log in, instead of the local token
  kakehashi audit                       show what agents were allowed to do
  kakehashi session list                show whose sessions there are
  kakehashi doctor                      find out what is missing, with the same flags as serve

Logs go to stderr: KAKEHASHI_LOG=debug shows more, KAKEHASHI_LOG=warn less.
Every setting with its default and a comment is in config/kakehashi.toml.";

/// Realtime gateway between people's screens and microphones and their models and agents.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the gateway; this is also what happens without a command.
    Serve,
    /// Tell every session of the running gateway something.
    Say {
        /// What to tell.
        text: String,
    },
    /// Speak with the gateway: microphone and speaker, or two WAV files. Exit code 3: there is no sound device.
    Talk(TalkCommand),
    /// List the backups of the project and bring them back, with or without a running gateway.
    Backup {
        #[command(subcommand)]
        command: BackupCommand,
    },
    /// Show what agents wanted to do, and who allowed or refused it.
    Audit(AuditCommand),
    /// Say who may log in.
    User {
        #[command(subcommand)]
        command: UserCommand,
    },
    /// List, export and delete sessions, with or without a running gateway.
    Session {
        #[command(subcommand)]
        command: SessionCommand,
    },
    /// Install what analyses with Python use, or say whether they can run.
    Python {
        #[command(subcommand)]
        command: PythonCommand,
    },
    /// Look at everything the gateway needs and say what to do; changes nothing. Exit code 1: something fails.
    Doctor {
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Run an agent and end everything that came out of it; the gateway starts this itself.
    #[command(hide = true)]
    Supervise {
        /// The agent reads nothing.
        #[arg(long)]
        no_input: bool,
        /// The process of the supervisor, whose end is the agent's too.
        #[arg(long, value_name = "PID")]
        child_of: Option<u32>,
        /// What the agent is confined to, as JSON.
        #[arg(long, value_name = "JSON")]
        confinement: Option<String>,
        /// The agent and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Become a command within a box; the gateway starts this itself.
    #[command(hide = true)]
    Boxed {
        /// What the command is confined to, as JSON.
        #[arg(value_name = "JSON")]
        confinement: String,
        /// The command and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// Paths are taken as they are: an empty one means that it was not given.
#[derive(Debug, Args)]
struct Flags {
    /// Address to listen on [default: 127.0.0.1:8091]
    #[arg(long, global = true, env = "KAKEHASHI_LISTEN", value_name = "ADDRESS")]
    listen: Option<String>,
    /// Directory that agents work on [default: the current one]
    #[arg(long, global = true, env = "KAKEHASHI_PROJECT", value_name = "DIR", value_parser = any_path())]
    project: Option<PathBuf>,
    /// Directory for database, uploads and backups [default: the platform's data directory]
    #[arg(long, global = true, env = "KAKEHASHI_DATA", value_name = "DIR", value_parser = any_path())]
    data: Option<PathBuf>,
    /// Settings [default: kakehashi.toml in the platform's configuration directory, if it exists]
    #[arg(long, global = true, env = "KAKEHASHI_CONFIG", value_name = "FILE", value_parser = any_path())]
    config: Option<PathBuf>,
    /// Which models answer: auto or scripted [default: auto]
    #[arg(long, global = true, env = "KAKEHASHI_MODELS", value_name = "NAME")]
    models: Option<String>,
    /// Do not open a browser when started on a terminal
    #[arg(long, global = true)]
    no_open: bool,
    /// Certificate in PEM form; together with its key the gateway speaks https
    #[arg(long, global = true, env = "KAKEHASHI_TLS_CERT", value_name = "FILE", value_parser = any_path())]
    tls_cert: Option<PathBuf>,
    /// The certificate's key in PEM form
    #[arg(long, global = true, env = "KAKEHASHI_TLS_KEY", value_name = "FILE", value_parser = any_path())]
    tls_key: Option<PathBuf>,
}

/// Whether a browser is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Browser {
    Open,
    Closed,
}

fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

impl From<Flags> for Overrides {
    fn from(flags: Flags) -> Self {
        let text = |text: &String| !text.is_empty();
        let path = |path: &PathBuf| !path.as_os_str().is_empty();
        Self {
            config: flags.config.filter(path),
            listen: flags.listen.filter(text),
            project: flags.project.filter(path),
            data: flags.data.filter(path),
            models: flags.models.filter(text),
            tls_cert: flags.tls_cert.filter(path),
            tls_key: flags.tls_key.filter(path),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let browser = if cli.flags.no_open { Browser::Closed } else { Browser::Open };
    let overrides = Overrides::from(cli.flags);
    let locale = match &cli.command {
        // These talk to the gateway, and may not be able to read its settings.
        Some(Command::Supervise { .. } | Command::Boxed { .. }) => Locale::En,
        _ => command::language(&overrides),
    };
    let done = match cli.command {
        None | Some(Command::Serve) => {
            serve(overrides, browser, locale).map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Say { text }) => say(overrides, &text, locale).map(|()| ExitCode::SUCCESS),
        Some(Command::Talk(command)) => talk(command, overrides, locale),
        Some(Command::Backup { command }) => {
            backup::run(command, overrides, locale).map(|()| ExitCode::SUCCESS).map_err(Into::into)
        }
        Some(Command::Audit(command)) => {
            audit::run(&command, overrides, locale).map(|()| ExitCode::SUCCESS).map_err(Into::into)
        }
        Some(Command::User { command }) => {
            user::run(command, overrides, locale).map(|()| ExitCode::SUCCESS).map_err(Into::into)
        }
        Some(Command::Session { command }) => {
            session(overrides, command, locale).map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Python { command }) => python::run(command, overrides, locale)
            .map(|can_run| ExitCode::from(u8::from(!can_run)))
            .map_err(Into::into),
        Some(Command::Doctor { json }) => doctor(overrides, json, locale),
        Some(Command::Supervise { child_of: Some(supervisor), command, confinement, .. }) => {
            Ok(process::become_agent(supervisor, &command, confinement.as_deref()))
        }
        Some(Command::Supervise { no_input, child_of: None, command, confinement }) => {
            let stdin = if no_input { ProgramStdin::Empty } else { ProgramStdin::Passed };
            Ok(process::supervise(&command, stdin, confinement.as_deref()))
        }
        Some(Command::Boxed { confinement, command }) => {
            Ok(process::become_command(&command, Some(&confinement)))
        }
    };
    match done {
        Ok(code) => code,
        Err(err) => {
            complain(&err, locale);
            ExitCode::from(2)
        }
    }
}

fn say(overrides: Overrides, text: &str, locale: Locale) -> Result<()> {
    let data = config::data(overrides)?;
    let sessions = task::start_small_runtime()?.block_on(control::say(&data, text))?;
    let told = match sessions {
        1 => "told 1 session".to_owned(),
        sessions => format!("told {sessions} sessions"),
    };
    writeln!(stdout(), "{}", locale.word(&told))?;
    Ok(())
}

/// Scripts tell by the code whether there is no sound, and people by the sentence.
fn talk(command: TalkCommand, overrides: Overrides, locale: Locale) -> Result<ExitCode> {
    // `--lang` also applies to the error message.
    let locale = command.language().unwrap_or(locale);
    let Err(err) = talk::run(command, overrides) else { return Ok(ExitCode::SUCCESS) };
    let code = ExitCode::from(err.exit_code());
    complain(&err.into(), locale);
    Ok(code)
}

/// One line. Without a stderr there is nobody to tell; the exit code is all that is left.
fn complain(err: &anyhow::Error, locale: Locale) {
    let _ = writeln!(stderr(), "kakehashi: {}", locale.chain(err.chain()));
}

fn session(overrides: Overrides, command: SessionCommand, locale: Locale) -> Result<()> {
    Ok(command::run(command, &config::data(overrides)?, locale)?)
}

/// Everything it finds is its answer; only an answer that cannot be given is an error.
fn doctor(overrides: Overrides, json: bool, locale: Locale) -> Result<ExitCode> {
    let report = doctor::examine(overrides, &screen()).told_in(locale);
    if json {
        writeln!(stdout(), "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        write!(stdout(), "{report}")?;
    }
    Ok(ExitCode::from(u8::from(!report.healthy())))
}

fn screen() -> Screen {
    let value = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let is_set = |name| value(name).is_some();
    // The first of the three that is set counts.
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(value).unwrap_or_default();
    let language = language.to_ascii_lowercase();
    Screen {
        terminal: stdout().is_terminal(),
        utf8: language.contains("utf-8") || language.contains("utf8"),
        display: is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"),
        remote: is_set("SSH_CONNECTION"),
    }
}

fn serve(overrides: Overrides, browser: Browser, locale: Locale) -> Result<()> {
    let mut config = Config::load(overrides)?;
    config.can_serve(&config.users)?;
    let filter = log_filter()?;
    let _owned = DataDir::open(&config.data)?;
    let runtime = task::start_runtime()?;
    let served = runtime.block_on(async {
        let search = Search::new(&config);
        if let Some(search) = &search {
            config.found.search(search.candidates.families());
            config.add_found(search.look(FIRST_LOOK).await)?;
        }
        let config = Arc::new(config);
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.listen))?;
        let stop = CancellationToken::new();
        stop_on_signals(&stop, &config)?;
        task::spawn("spare-threads", task::keep_spare_threads(stop.clone()));
        if let Some(search) = search {
            task::spawn("model-search", search.go_on(Arc::clone(&config.found), stop.clone()));
        }
        start_logging(filter);
        let ready = move |auth: &Auth, config: &Config| announce(config, auth, browser, locale);
        anyhow::Ok(server::run(listener, config, stop, ready).await?)
    });
    // Everything that matters has been waited for; what still blocks a thread must not keep the process.
    runtime.shutdown_background();
    served
}

/// Looks for models of this machine that nobody configured.
#[derive(Debug)]
struct Search {
    client: chat::Client,
    candidates: Candidates,
}

impl Search {
    fn new(config: &Config) -> Option<Self> {
        let candidates = Candidates::new(config.ollama_host.as_deref());
        (config.models == Models::Auto).then(|| Self { client: chat::Client::new(), candidates })
    }

    async fn look(&self, patience: Duration) -> Vec<ChatModel> {
        chat::discover(&self.client, &self.candidates, patience).await
    }

    /// An Ollama that is started later is found too.
    async fn go_on(self, found: Arc<FoundChat>, stop: CancellationToken) {
        while stop.run_until_cancelled(found.wanted(LOOK_EVERY)).await.is_some() {
            found.tell(self.look(LATER_LOOK).await);
        }
    }
}

fn log_filter() -> Result<EnvFilter> {
    let directives = std::env::var("KAKEHASHI_LOG").unwrap_or_default();
    let builder = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into());
    let filter = builder
        .parse(directives)
        .context("KAKEHASHI_LOG is not a filter like info or kakehashi=debug")?;
    if filter.max_level_hint() != Some(LevelFilter::TRACE) {
        return Ok(filter);
    }
    // These would write whole frames and headers, tokens included.
    let quiet = ["tungstenite=debug", "tokio_tungstenite=debug", "hyper=debug", "rustls=debug"];
    Ok(quiet.into_iter().filter_map(|cap| cap.parse().ok()).fold(filter, EnvFilter::add_directive))
}

/// For people on a terminal, for programs otherwise.
fn start_logging(filter: EnvFilter) {
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    if stderr().is_terminal() {
        builder.compact().init();
    } else {
        builder.json().flatten_event(true).init();
    }
    std::panic::set_hook(Box::new(|panic| {
        kakehashi::metrics::panicked();
        let place = panic.location().map(ToString::to_string);
        error!(place, "a bug ended a task");
        // The message of a panic may quote what somebody wrote.
        debug!(%panic, "what it said");
    }));
}

/// Scripts and tests read the first line of stdout to learn the port.
fn announce(config: &Config, auth: &Auth, browser: Browser, locale: Locale) {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let page_at =
        |address| format!("{scheme}://{}/", config::reachable(address, &config.allowed_hosts));
    let page = page_at(config.listen);
    // A closed stdout is no reason not to serve.
    let _ = writeln!(stdout(), "listening on {page}");
    match auth::local_token(&config.data) {
        Ok(token) if !auth.has_users() => {
            let _ = writeln!(stdout(), "open {page}?token={token}");
            open_browser(&page, auth, browser);
        }
        Ok(_) | Err(_) => {
            let line = format!("open {page} and log in");
            let _ = writeln!(stdout(), "{}", locale.word(&line));
        }
    }
    if let Some(besides) = config.smol.listen {
        let _ = writeln!(stdout(), "agent UI on {}", page_at(besides));
    }
    let (address, version) = (config.listen, env!("CARGO_PKG_VERSION"));
    info!(%address, version, project = %config.project.display(), data = %config.data.display(), "started");
    for model in &config.offered {
        let (name, model, variable) = (&model.name, &model.model, &model.variable);
        info!(name, model, variable, "a key in the environment offers this model");
    }
    if let Some(mode) = data_dir::open_to_others(&config.data) {
        let (data, mode) = (config.data.display(), format!("{mode:03o}"));
        warn!(%data, mode, "others on this machine can get into the data directory; run `chmod 700` on it");
    }
    if let Some((file, mode)) = config.open_to_others() {
        let (file, mode) = (file.display(), format!("{mode:03o}"));
        warn!(%file, mode, "others can read or change the settings with the users in it; run `chmod 600` on it");
    }
    let (files, wanted) = (raise_file_limit(), config.limits.connections);
    if files.is_some_and(|files| files < wanted) {
        warn!(
            files,
            wanted, "fewer open files are allowed than limits.connections; see `ulimit -Hn`"
        );
    }
}

/// Only for a person who sits in front of it. Other users of this machine can see what a program is started with, so the
/// browser gets a ticket that is good for one login instead of the token.
fn open_browser(page: &str, auth: &Auth, browser: Browser) {
    let screen = screen();
    if browser == Browser::Closed || !screen.terminal || !screen.display || screen.remote {
        return;
    }
    let opened =
        auth.ticket().and_then(|ticket| open::that_detached(format!("{page}?token={ticket}")));
    if let Err(err) = opened {
        debug!(%err, "no browser could be opened");
    }
}

/// One connection is one open file, and the usual soft limit of 1024 is meant for programs that use `select`.
fn raise_file_limit() -> Option<usize> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(err) = setrlimit(Resource::Nofile, limit) {
        debug!(%err, "the limit of open files stays as it is");
    }
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok())
}

fn stop_on_signals(stop: &CancellationToken, config: &Config) -> Result<()> {
    let owner = process::owner(&config.data);
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        task::spawn("signals", obey(signal(kind)?, kind, stop.clone(), Arc::clone(&owner)));
    }
    Ok(())
}

/// The first signal asks, the second does not wait for an answer.
async fn obey(mut signals: Signal, kind: SignalKind, stop: CancellationToken, owner: Arc<str>) {
    while signals.recv().await.is_some() {
        if stop.is_cancelled() {
            // Nobody is left to end them politely.
            process::end_all(&owner);
            std::process::exit(128 + kind.as_raw_value());
        }
        stop.cancel();
    }
}
