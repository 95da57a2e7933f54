//! `kakehashi user`: who may log in. The users are `[[users]]` in the configuration file; everything else in it stays
//! as it is. A running gateway takes a change over at once.

use super::holder::Holder;
use crate::auth::{self, LONGEST_PASSWORD};
use crate::config::{self, ConfigError, Overrides, User};
use crate::data_dir::DataDirError;
use crate::message::Principal;
use crate::server::control::{self, ControlError};
use crate::store::StoreError;
use clap::Subcommand;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write, stdin, stdout};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};
use tracing::debug;

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
    #[error("{} is changed, but the running gateway goes on as before: {reason}", path.display())]
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

pub fn run(command: UserCommand, overrides: Overrides) -> Result<(), UserCommandError> {
    let path = config::file_to_edit(&overrides)?;
    match command {
        UserCommand::List { json } => return list(&config::users(&path)?, json),
        UserCommand::Logout { name } => return log_out(&name, overrides),
        UserCommand::Add { name, source } => {
            config::check_name(&name).map_err(UserCommandError::Name)?;
            check_unknown(&config::users(&path)?, &name)?;
            let hash = ask_hash(&name, &source)?;
            edit(&path, |known, users| {
                // Somebody else may have been faster while we asked.
                check_unknown(known, &name)?;
                users.push(row(&name, &hash));
                Ok(())
            })?;
            writeln!(stdout(), "{name} may log in")?;
        }
        UserCommand::Remove { name } => {
            edit(&path, |known, users| {
                check_known(known, &name)?;
                users.retain(|user| !is(user, &name));
                Ok(())
            })?;
            writeln!(stdout(), "{name} may not log in any more")?;
        }
        UserCommand::Passwd { name, source } => {
            check_known(&config::users(&path)?, &name)?;
            let hash = ask_hash(&name, &source)?;
            edit(&path, |known, users| {
                check_known(known, &name)?;
                users.iter_mut().filter(|user| is(user, &name)).for_each(|user| set(user, &hash));
                Ok(())
            })?;
            writeln!(stdout(), "{name} has a new password")?;
        }
    }
    tell_gateway(path, overrides)
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
fn log_out(name: &str, overrides: Overrides) -> Result<(), UserCommandError> {
    let data = config::data(overrides)?;
    let ended = Runtime::new()?.block_on(async {
        match Holder::of(&data)? {
            Holder::Gateway => Ok(control::logout(&data, name).await?),
            Holder::Us(_held) => Ok(auth::end_logins(&data, &Principal::new(name)).await?),
            Holder::Nobody => Ok::<_, UserCommandError>(0),
        }
    })?;
    let plural = if ended == 1 { "" } else { "s" };
    writeln!(stdout(), "{ended} login{plural} of {name} ended")?;
    Ok(())
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
    if password.len() > LONGEST_PASSWORD {
        return Err(UserCommandError::Long);
    }
    auth::hash_password(&password).map_err(|err| UserCommandError::Hash(err.to_string()))
}

fn row(name: &str, hash: &str) -> Table {
    Table::from_iter([("name", value(name)), ("password", value(hash))])
}

/// A comment behind the old password stays.
fn set(user: &mut Table, hash: &str) {
    let mut fresh = toml_edit::Value::from(hash);
    if let Some(old) = user.get("password").and_then(Item::as_value) {
        *fresh.decor_mut() = old.decor().clone();
    }
    user["password"] = Item::Value(fresh);
}

fn is(user: &Table, name: &str) -> bool {
    user.get("name").and_then(Item::as_str) == Some(name)
}

/// The file is replaced as a whole, so that no moment shows half of it, and by one of us at a time.
fn edit(
    path: &Path,
    change: impl FnOnce(&[User], &mut ArrayOfTables) -> Result<(), UserCommandError>,
) -> Result<(), UserCommandError> {
    let failed = |reason: String| UserCommandError::File { path: path.to_owned(), reason };
    // A link stays one: what it points to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let _turn = take_turn(path).map_err(|err| failed(err.to_string()))?;
    let known = config::users(path)?;
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
        Err(err) => return Err(failed(err.to_string())),
    };
    let mut remark = None;
    let mut document: DocumentMut = text.parse().map_err(|err| failed(format!("{err}")))?;
    let mut users = match document.remove_entry("users") {
        None => ArrayOfTables::new(),
        // As the file that comes with the gateway has it, whose comment goes with the first user.
        Some((key, item)) if item.as_array().is_some_and(Array::is_empty) => {
            remark = key.leaf_decor().prefix().cloned();
            ArrayOfTables::new()
        }
        // Also a list in one line.
        Some((_, item)) => {
            item.into_array_of_tables().map_err(|_| failed("`users` is no list".into()))?
        }
    };
    change(&known, &mut users)?;
    if let (Some(remark), Some(first)) = (remark, users.get_mut(0)) {
        let text = remark.as_str().unwrap_or_default();
        first.decor_mut().set_prefix(format!("\n{}", text.trim_start_matches('\n')));
    }
    if !users.is_empty() {
        document.insert("users", Item::ArrayOfTables(users));
    }
    replace(path, &document.to_string()).map_err(|err| failed(err.to_string()))
}

/// Hashes are nobody else's business, so a new file is private; an old one keeps its rights.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A name that nobody can have put there before us.
    let fresh = path.with_extension(format!("{:016x}.new", getrandom::u64().unwrap_or_default()));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&fresh)?;
    let written =
        fill(&mut file, text, fs::metadata(path).ok()).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // Half a file is of no use to anybody.
        let _ = fs::remove_file(&fresh);
    }
    written
}

fn fill(file: &mut File, text: &str, old: Option<Metadata>) -> io::Result<()> {
    if let Some(old) = old {
        file.set_permissions(fs::Permissions::from_mode(old.permissions().mode() & 0o777))?;
        // An administrator who edits somebody's file leaves it theirs.
        if let Err(err) = std::os::unix::fs::fchown(&*file, Some(old.uid()), Some(old.gid())) {
            debug!(%err, "the file belongs to whoever changed it");
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Others wait until it is dropped.
fn take_turn(path: &Path) -> io::Result<File> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let turn = File::open(dir)?;
    turn.lock()?;
    Ok(turn)
}

fn tell_gateway(path: PathBuf, overrides: Overrides) -> Result<(), UserCommandError> {
    let data = config::data(overrides)?;
    match Runtime::new()?.block_on(control::reload_users(&data, &path)) {
        Ok(()) => writeln!(stdout(), "the running gateway knows it")?,
        Err(ControlError::NotRunning(data)) => {
            let data = data.display();
            writeln!(stdout(), "no gateway is running with {data}; it holds from the next start")?;
        }
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
        edit(&path, |_, users| {
            change(users);
            Ok(())
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
    }

    #[test]
    fn the_rest_of_the_file_stays_as_it_is() {
        const HASH: &str = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWA";
        let user = |name: &str| format!("[[users]]\nname = \"{name}\"\npassword = \"{HASH}\"\n");
        let add = |users: &mut ArrayOfTables| users.push(row("ann", HASH));
        let ann = user("ann");
        check("", add, &ann);
        let before = "# mine\nlisten = \"127.0.0.1:1\" # here\n\n[limits]\nsockets = 5\n";
        check(before, add, &format!("{before}\n{ann}"));
        let shipped = "a = 1\n# Who may come in.\nusers = []\n\n[limits]\n"
            .replace("a = 1", "language = \"en\"");
        check(
            &shipped,
            add,
            &format!("language = \"en\"\n\n[limits]\n\n# Who may come in.\n{ann}"),
        );
        let both = format!("{ann}\n{}", user("bob"));
        check(&both, |users| users.retain(|user| !is(user, "ann")), &format!("\n{}", user("bob")));
        check(&ann, |users| users.clear(), "");
        let noted = ann.replace("\"\n", "\" # kept\n");
        let other = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA";
        let changed = noted.replace(HASH, other);
        check(&noted, |users| users.iter_mut().for_each(|user| set(user, other)), &changed);
    }

    #[test]
    fn a_name_that_lies_in_wait_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("kakehashi.toml"), dir.path().join("victim"));
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join("kakehashi.toml.new")).unwrap();
        replace(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
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
