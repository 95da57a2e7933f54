//! `kakehashi user`: who may log in. The users are `[[users]]` in the configuration file; everything else in it stays
//! as it is. A running gateway takes a change over at once.

use super::holder::Holder;
use super::user_file::{self, Edit};
use crate::auth::{self, LONGEST_PASSWORD};
use crate::config::{self, ConfigError, Overrides, User};
use crate::data_dir::DataDirError;
use crate::locale::Locale;
use crate::message::Principal;
use crate::server::control::{self, ControlError};
use crate::store::StoreError;
use crate::task::start_small_runtime;
use clap::Subcommand;
use std::io::{self, BufRead, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use toml_edit::{Item, Table, value};

const SHORTEST_PASSWORD: usize = 8;

#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Let somebody log in. With the first user the local token stops to be a way in.
    Add {
        /// 1 to 64 characters without slashes. `local` gets the sessions from the time without users.
        name: String,
        #[command(flatten)]
        source: PasswordSource,
    },
    /// Show who may log in.
    List {
        /// Print JSON for programs.
        #[arg(long)]
        json: bool,
    },
    /// Let somebody log in no more, and end their logins. Their sessions stay; see `kakehashi session`.
    Remove { name: String },
    /// End all logins of somebody; without users that is `local`.
    Logout { name: String },
    /// Change somebody's password, and end their logins.
    Passwd {
        name: String,
        #[command(flatten)]
        source: PasswordSource,
    },
}

#[derive(Debug, clap::Args)]
pub struct PasswordSource {
    /// Read the password from the first line of stdin instead of asking.
    #[arg(long)]
    password_stdin: bool,
}

/// Why nothing was changed, or why nobody was told.
#[derive(Debug, thiserror::Error)]
pub enum UserCommandError {
    #[error("{0}")]
    Name(String),
    #[error("there is a user `{0}` already; `kakehashi user passwd {0}` changes the password")]
    Exists(String),
    #[error("there is no user `{0}`; `kakehashi user list` shows them")]
    Unknown(String),
    #[error("a password needs at least {SHORTEST_PASSWORD} characters")]
    Short,
    #[error("a password has at most {LONGEST_PASSWORD} bytes")]
    Long,
    #[error("the two passwords differ")]
    Differ,
    #[error("nobody can be asked without a terminal; add --password-stdin")]
    NoTerminal,
    #[error("the password cannot be hashed: {0}")]
    Hash(String),
    #[error("cannot change {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("the running gateway refuses it: {0}")]
    Refused(String),
    #[error("{why}; {} is changed all the same, because it cannot be put back: {reason}", path.display())]
    NotUndone { path: PathBuf, why: String, reason: io::Error },
    #[error("{} is changed, but the running gateway may go on as before: {reason}", path.display())]
    NotTold { path: PathBuf, reason: ControlError },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Data(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub fn run(
    command: UserCommand,
    overrides: Overrides,
    locale: Locale,
) -> Result<(), UserCommandError> {
    let path = config::file_to_edit(&overrides)?;
    let (edit, done) = match command {
        UserCommand::List { json } => return list(&config::users(&path)?, json, locale),
        UserCommand::Logout { name } => return log_out(&name, overrides, locale),
        UserCommand::Add { name, source } => {
            config::check_name(&name).map_err(UserCommandError::Name)?;
            check_unknown(&config::users(&path)?, &name)?;
            let hash = ask_hash(&name, &source, locale)?;
            let edit = user_file::edit(&path, |known, users| {
                // Somebody else may have been faster while we asked.
                check_unknown(known, &name)?;
                users.push(row(&name, &hash));
                Ok(())
            })?;
            (edit, format!("{name} may log in"))
        }
        UserCommand::Remove { name } => {
            let edit = user_file::edit(&path, |known, users| {
                check_known(known, &name)?;
                users.retain(|user| !is(user, &name));
                Ok(())
            })?;
            (edit, format!("{name} may not log in any more"))
        }
        UserCommand::Passwd { name, source } => {
            check_known(&config::users(&path)?, &name)?;
            let hash = ask_hash(&name, &source, locale)?;
            let edit = user_file::edit(&path, |known, users| {
                check_known(known, &name)?;
                users.iter_mut().filter(|user| is(user, &name)).for_each(|user| set(user, &hash));
                Ok(())
            })?;
            (edit, format!("{name} has a new password"))
        }
    };
    let told = tell_gateway(path, edit, overrides)?;
    writeln!(stdout(), "{}\n{}", locale.word(&done), locale.word(&told))?;
    Ok(())
}

fn check_known(users: &[User], name: &str) -> Result<(), UserCommandError> {
    if users.iter().any(|user| user.name == name) {
        Ok(())
    } else {
        Err(UserCommandError::Unknown(name.to_owned()))
    }
}

fn check_unknown(users: &[User], name: &str) -> Result<(), UserCommandError> {
    match check_known(users, name) {
        Ok(()) => Err(UserCommandError::Exists(name.to_owned())),
        Err(_) => Ok(()),
    }
}

/// With and without a running gateway.
fn log_out(name: &str, overrides: Overrides, locale: Locale) -> Result<(), UserCommandError> {
    let data = config::data(overrides)?;
    let ended = start_small_runtime()?.block_on(async {
        match Holder::of(&data)? {
            Holder::Gateway => Ok(control::logout(&data, name).await?),
            Holder::Us(_held) => Ok(auth::end_logins(&data, &Principal::new(name)).await?),
            Holder::Nobody => Ok::<_, UserCommandError>(0),
        }
    })?;
    let told = match ended {
        1 => format!("1 login of {name} ended"),
        ended => format!("{ended} logins of {name} ended"),
    };
    writeln!(stdout(), "{}", locale.word(&told))?;
    Ok(())
}

fn list(users: &[User], json: bool, locale: Locale) -> Result<(), UserCommandError> {
    let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
    if json {
        writeln!(stdout(), "{}", serde_json::json!(names))?;
    } else if names.is_empty() {
        let none = "no users: there is one local user, by the token in the data directory";
        writeln!(stdout(), "{}", locale.word(none))?;
    } else {
        writeln!(stdout(), "{}", names.join("\n"))?;
    }
    Ok(())
}

fn ask_hash(
    name: &str,
    source: &PasswordSource,
    locale: Locale,
) -> Result<String, UserCommandError> {
    let password = if source.password_stdin {
        let mut line = String::new();
        stdin().lock().read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    } else if stdin().is_terminal() {
        let password = rpassword::prompt_password(locale.word(&format!("Password for {name}: ")))?;
        if password.chars().count() >= SHORTEST_PASSWORD
            && rpassword::prompt_password(locale.word("The same again: "))? != password
        {
            return Err(UserCommandError::Differ);
        }
        password
    } else {
        return Err(UserCommandError::NoTerminal);
    };
    if password.chars().count() < SHORTEST_PASSWORD {
        return Err(UserCommandError::Short);
    }
    if password.len() > LONGEST_PASSWORD {
        return Err(UserCommandError::Long);
    }
    auth::hash_password(&password).map_err(|err| UserCommandError::Hash(err.to_string()))
}

pub(super) fn row(name: &str, hash: &str) -> Table {
    Table::from_iter([("name", value(name)), ("password", value(hash))])
}

/// A comment behind the old password stays.
pub(super) fn set(user: &mut Table, hash: &str) {
    let mut fresh = toml_edit::Value::from(hash);
    if let Some(old) = user.get("password").and_then(Item::as_value) {
        *fresh.decor_mut() = old.decor().clone();
    }
    user["password"] = Item::Value(fresh);
}

pub(super) fn is(user: &Table, name: &str) -> bool {
    user.get("name").and_then(Item::as_str) == Some(name)
}

/// Nothing is left of a change that it refuses, or that cannot be told because the settings are wrong.
fn tell_gateway(
    path: PathBuf,
    edit: Edit,
    overrides: Overrides,
) -> Result<String, UserCommandError> {
    let told = config::data(overrides).map_err(UserCommandError::from).and_then(|data| {
        let told = start_small_runtime()?.block_on(control::reload_users(&data, &path));
        Ok(told?)
    });
    match told {
        Ok(()) => Ok("the running gateway knows it".to_owned()),
        Err(UserCommandError::Control(ControlError::NotRunning(data))) => {
            let data = data.display();
            Ok(format!("no gateway is running with {data}; it holds from the next start"))
        }
        Err(UserCommandError::Control(ControlError::Refused(refused))) => {
            undo(path, edit, UserCommandError::Refused(refused))
        }
        // Whether it has taken the change over nobody knows.
        Err(UserCommandError::Control(reason)) => Err(UserCommandError::NotTold { path, reason }),
        Err(err) => undo(path, edit, err),
    }
}

fn undo(path: PathBuf, edit: Edit, why: UserCommandError) -> Result<String, UserCommandError> {
    match edit.undo() {
        Ok(()) => Err(why),
        Err(reason) => Err(UserCommandError::NotUndone { path, why: why.to_string(), reason }),
    }
}
