//! `kakehashi user`: who may log in. The users are `[[users]]` in the configuration file; everything else in it stays
//! as it is. A running gateway takes a change over at once.

use crate::auth;
use crate::config::{self, ConfigError, Overrides, User};
use crate::server::control::{self, ControlError};
use clap::Subcommand;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write, stdin, stdout};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

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
    #[error("the two passwords differ")]
    Differ,
    #[error("nobody can be asked without a terminal; add --password-stdin")]
    NoTerminal,
    #[error("the password cannot be hashed: {0}")]
    Hash(String),
    #[error("cannot change {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("{} is changed, but the running gateway goes on as before: {reason}", path.display())]
    NotTold { path: PathBuf, reason: ControlError },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub fn run(command: UserCommand, overrides: Overrides) -> Result<(), UserCommandError> {
    let path = config::file_to_edit(&overrides)?;
    let users = config::users(&path)?;
    let known = |name: &str| users.iter().any(|user| user.name == name);
    match command {
        UserCommand::List { json } => return list(&users, json),
        UserCommand::Add { name, source } => {
            config::check_name(&name).map_err(UserCommandError::Name)?;
            if known(&name) {
                return Err(UserCommandError::Exists(name));
            }
            let hash = ask_hash(&name, &source)?;
            edit(&path, |users| users.push(row(&name, &hash)))?;
            writeln!(stdout(), "{name} may log in")?;
        }
        UserCommand::Remove { name } if known(&name) => {
            edit(&path, |users| users.retain(|user| !is(user, &name)))?;
            writeln!(stdout(), "{name} may not log in any more")?;
        }
        UserCommand::Passwd { name, source } if known(&name) => {
            let hash = ask_hash(&name, &source)?;
            edit(&path, |users| {
                users.iter_mut().filter(|user| is(user, &name)).for_each(|user| {
                    user["password"] = value(&hash);
                });
            })?;
            writeln!(stdout(), "{name} has a new password")?;
        }
        UserCommand::Remove { name } | UserCommand::Passwd { name, .. } => {
            return Err(UserCommandError::Unknown(name));
        }
    }
    tell_gateway(path, overrides)
}

fn list(users: &[User], json: bool) -> Result<(), UserCommandError> {
    let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
    if json {
        writeln!(stdout(), "{}", serde_json::json!(names))?;
    } else if names.is_empty() {
        writeln!(
            stdout(),
            "no users: there is one local user, by the token in the data directory"
        )?;
    } else {
        writeln!(stdout(), "{}", names.join("\n"))?;
    }
    Ok(())
}

fn ask_hash(name: &str, source: &PasswordSource) -> Result<String, UserCommandError> {
    let password = if source.password_stdin {
        let mut line = String::new();
        stdin().lock().read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    } else if stdin().is_terminal() {
        let password = rpassword::prompt_password(format!("Password for {name}: "))?;
        if password.chars().count() >= SHORTEST_PASSWORD
            && rpassword::prompt_password("The same again: ")? != password
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
    auth::hash_password(&password).map_err(|err| UserCommandError::Hash(err.to_string()))
}

fn row(name: &str, hash: &str) -> Table {
    Table::from_iter([("name", value(name)), ("password", value(hash))])
}

fn is(user: &Table, name: &str) -> bool {
    user.get("name").and_then(Item::as_str) == Some(name)
}

/// The file is replaced as a whole, so that no moment shows half of it.
fn edit(path: &Path, change: impl FnOnce(&mut ArrayOfTables)) -> Result<(), UserCommandError> {
    let failed = |reason: String| UserCommandError::File { path: path.to_owned(), reason };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
        Err(err) => return Err(failed(err.to_string())),
    };
    let mut document: DocumentMut = text.parse().map_err(|err| failed(format!("{err}")))?;
    let mut users = match document.remove("users") {
        None => ArrayOfTables::new(),
        // As the file that comes with the gateway has it.
        Some(item) if item.as_array().is_some_and(Array::is_empty) => ArrayOfTables::new(),
        // Also a list in one line.
        Some(item) => {
            item.into_array_of_tables().map_err(|_| failed("`users` is no list".into()))?
        }
    };
    change(&mut users);
    if !users.is_empty() {
        document.insert("users", Item::ArrayOfTables(users));
    }
    replace(path, &document.to_string()).map_err(|err| failed(err.to_string()))
}

/// Hashes are nobody else's business, so a new file is private; an old one keeps its rights.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one: what it points to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let rights = fs::metadata(path).map(|found| found.permissions().mode() & 0o777);
    let fresh = path.with_extension("toml.new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.set_permissions(fs::Permissions::from_mode(rights.unwrap_or(0o600)))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

fn tell_gateway(path: PathBuf, overrides: Overrides) -> Result<(), UserCommandError> {
    let data = config::data(overrides)?;
    match Runtime::new()?.block_on(control::reload_users(&data, &path)) {
        Ok(()) => writeln!(stdout(), "the running gateway knows it")?,
        Err(ControlError::NotRunning(_)) => (),
        Err(reason) => return Err(UserCommandError::NotTold { path, reason }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, change: impl FnOnce(&mut ArrayOfTables), after: &str) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/kakehashi.toml");
        if !before.is_empty() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, before).unwrap();
        }
        edit(&path, change).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        let add = |users: &mut ArrayOfTables| users.push(row("ann", "hash"));
        let ann = "[[users]]\nname = \"ann\"\npassword = \"hash\"\n";
        check("", add, ann);
        let before = "# mine\nlisten = \"127.0.0.1:1\" # here\n\n[limits]\nsockets = 5\n";
        check(before, add, &format!("{before}\n{ann}"));
        check("users = []\n[limits]\n", add, &format!("[limits]\n\n{ann}"));
        let bob = "\n[[users]]\nname = \"bob\"\npassword = \"x\"\n";
        check(&format!("{ann}{bob}"), |users| users.retain(|user| !is(user, "ann")), bob);
        check(ann, |users| users.clear(), "");
    }

    #[test]
    fn a_new_file_is_private_and_an_old_one_keeps_its_rights() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kakehashi.toml");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace(&path, "").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, "").unwrap();
        assert_eq!(mode(), 0o640);
    }
}
