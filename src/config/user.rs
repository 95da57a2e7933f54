//! `[[users]]`: who may log in, and the hash of their password.

use argon2::password_hash::phc::PasswordHash;
use serde::Deserialize;

const LONGEST_NAME: usize = 64;

/// Somebody who may log in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawUser")]
pub struct User {
    pub name: String,
    /// As `kakehashi user add` wrote it.
    pub password: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUser {
    name: String,
    password: String,
}

impl TryFrom<RawUser> for User {
    type Error = String;

    fn try_from(raw: RawUser) -> Result<Self, String> {
        check_name(&raw.name)?;
        let argon2 = |hash: &PasswordHash| hash.algorithm.as_str().starts_with("argon2");
        if PasswordHash::new(&raw.password).ok().filter(argon2).is_none() {
            let name = raw.name;
            return Err(format!(
                "the password of `{name}` is not an Argon2 hash; use `kakehashi user add` or `passwd`"
            ));
        }
        Ok(Self { name: raw.name, password: raw.password })
    }
}

/// What is wrong with a name, if anything.
pub fn check_name(name: &str) -> Result<(), String> {
    let bad = |c: char| c.is_control() || c == '/' || c == '\\' || is_invisible(c);
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count());
    if fits && name.trim() == name && !matches!(name, "." | "..") && !name.contains(bad) {
        return Ok(());
    }
    Err(format!(
        "`{}` is not a user name: 1 to {LONGEST_NAME} visible characters, no slashes, no blanks around it",
        name.escape_debug()
    ))
}

/// Two names that look the same must be the same.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The first name that is there twice.
pub(super) fn repeated(users: &[User]) -> Option<&str> {
    let again =
        |(at, user): &(usize, &User)| users[..*at].iter().any(|other| other.name == user.name);
    users.iter().enumerate().find(again).map(|(_, user)| user.name.as_str())
}
