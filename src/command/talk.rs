//! `kakehashi talk`: speaks with a gateway through microphone and speaker, or through two files.

use crate::auth::{self, TokenError};
use crate::config::{self, Config, ConfigError, Overrides};
use crate::locale::Locale;
use crate::talk::{self, Address, Card, Files, Plan, Sound, TalkError};
use clap::Args;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub struct TalkCommand {
    /// The gateway, like ws://127.0.0.1:8091 or https://example.org [default: the one of this machine's settings]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the token or the login of another gateway [default: the token in the data directory, for this machine]
    #[arg(long, env = "KAKEHASHI_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Language of what is shown, ja or en [default: that of LC_ALL, LC_MESSAGES or LANG, else en]
    #[arg(long, value_name = "LANG", value_parser = spoken)]
    lang: Option<Locale>,
    /// Go on with this session instead of a new one
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The microphone, by its name or a part of it [default: the system's]
    #[arg(long, value_name = "DEVICE", conflicts_with = "wav")]
    input: Option<String>,
    /// The speaker, by its name or a part of it [default: the system's]
    #[arg(long, value_name = "DEVICE", conflicts_with = "wav")]
    output: Option<String>,
    /// Show the microphones and speakers there are
    #[arg(long)]
    list_devices: bool,
    /// Be heard only while the space key is held; where the terminal cannot tell, it switches
    #[arg(long)]
    push_to_talk: bool,
    /// Do not take the speaker's sound out of the microphone's; instead be silent while something plays
    #[arg(long)]
    no_aec: bool,
    /// Speak what is in this file instead of using a microphone
    #[arg(long, value_name = "FILE", requires = "out")]
    wav: Option<PathBuf>,
    /// Write what was played to this file instead of using a speaker, silence included
    #[arg(long, value_name = "FILE", requires = "wav")]
    out: Option<PathBuf>,
    /// With --wav: end after so many seconds of silence
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, requires = "wav")]
    tail: f64,
}

/// Why nobody talked.
#[derive(Debug, thiserror::Error)]
pub enum TalkCommandError {
    #[error("cannot read the token in {}: {reason}", path.display())]
    TokenFile { path: PathBuf, reason: io::Error },
    #[error(
        "there is no token in {}: start the gateway first, or say with --data, --url and --token-file where another is",
        .0.display()
    )]
    NoToken(PathBuf),
    #[error(
        "the token of this machine is not sent to another one; write the login of that gateway into a file and name it \
         with --token-file"
    )]
    ForeignGateway,
    #[error("--tail has to be a number of seconds from 0.1 to 600")]
    Tail,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Talk(#[from] TalkError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl TalkCommandError {
    /// 3: there is no sound device. 2: something else is missing.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Talk(err) => err.exit_code(),
            Self::TokenFile { .. }
            | Self::NoToken(_)
            | Self::ForeignGateway
            | Self::Tail
            | Self::Config(_)
            | Self::Token(_)
            | Self::Io(_) => 2,
        }
    }
}

impl TalkCommand {
    /// What --lang says.
    pub fn language(&self) -> Option<Locale> {
        self.lang
    }
}

fn spoken(text: &str) -> Result<Locale, String> {
    Locale::parse(text).ok_or_else(|| "ja or en".to_owned())
}

fn language(wanted: Option<Locale>) -> Locale {
    let of_environment = || Locale::of_environment(|name| std::env::var(name).ok());
    wanted.or_else(of_environment).unwrap_or(Locale::En)
}

/// Talks until somebody ends it.
pub fn run(command: TalkCommand, overrides: Overrides) -> Result<(), TalkCommandError> {
    if command.list_devices {
        let mut out = stdout().lock();
        for device in talk::devices()? {
            writeln!(out, "{device}")?;
        }
        return Ok(());
    }
    let sound = sound(&command)?;
    let address = match &command.url {
        Some(url) => Address::parse(url)?,
        None => {
            let config = Config::load(overrides.clone())?;
            Address::listening(config.listen, config.tls.is_some())
        }
    };
    let token = token(command.token_file.as_deref(), &address, overrides)?;
    let plan = Plan {
        address,
        token: Some(token),
        session: command.session,
        language: language(command.lang),
        push_to_talk: command.push_to_talk,
        half_duplex: command.no_aec,
    };
    let runtime = crate::task::start_runtime().map_err(std::io::Error::other)?;
    let talked = runtime.block_on(async {
        let stop = CancellationToken::new();
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let talking = talk::run(plan, sound, stop.clone());
        tokio::pin!(talking);
        tokio::select! {
            talked = &mut talking => return Ok(talked?),
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
        stop.cancel();
        Ok(talking.await?)
    });
    // The keyboard's thread waits for a key that may never come.
    runtime.shutdown_background();
    talked
}

fn sound(command: &TalkCommand) -> Result<Sound, TalkCommandError> {
    let (Some(input), Some(output)) = (command.wav.clone(), command.out.clone()) else {
        if !talk::HAS_CARDS {
            return Err(TalkError::Unbuilt.into());
        }
        return Ok(Sound::Card(Card {
            input: command.input.clone(),
            output: command.output.clone(),
            cancel_echo: !command.no_aec,
        }));
    };
    if !(0.1..=600.0).contains(&command.tail) {
        return Err(TalkCommandError::Tail);
    }
    Ok(Sound::Files(Files { input, output, tail: Duration::from_secs_f64(command.tail) }))
}

fn token(
    file: Option<&Path>,
    address: &Address,
    overrides: Overrides,
) -> Result<String, TalkCommandError> {
    if let Some(path) = file {
        let unreadable = |reason| TalkCommandError::TokenFile { path: path.to_owned(), reason };
        return Ok(std::fs::read_to_string(path).map_err(unreadable)?.trim().to_owned());
    }
    if !address.is_local() {
        return Err(TalkCommandError::ForeignGateway);
    }
    let data = config::data(overrides)?;
    // Looking for it must not make one.
    if !data.join(auth::TOKEN_FILE).exists() {
        return Err(TalkCommandError::NoToken(data));
    }
    Ok(auth::local_token(&data)?)
}
