//! Passwords as Argon2id hashes. Blocking, and slow on purpose.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use std::sync::LazyLock;

/// As `[[users]]` keeps it.
pub fn hash(password: &str) -> Result<String, argon2::password_hash::Error> {
    let hashed: PasswordHash = Argon2::default().hash_password(password.as_bytes())?;
    Ok(hashed.to_string())
}

/// `None`: there is no such user. That takes as long to find out as a wrong password.
pub(super) fn is_right(password: &str, hash: Option<String>) -> bool {
    static NOBODY: LazyLock<Option<String>> = LazyLock::new(|| self::hash("nobody").ok());
    let known = hash.is_some();
    let Some(hash) = hash.or_else(|| NOBODY.clone()) else { return false };
    let Ok(hash) = PasswordHash::new(&hash) else { return false };
    Argon2::default().verify_password(password.as_bytes(), &hash).is_ok() && known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_password_of_a_known_user_is_right() {
        let stored = hash("open sesame").unwrap();
        assert!(stored.starts_with("$argon2id$v=19$"), "{stored}");
        assert!(is_right("open sesame", Some(stored.clone())));
        assert!(!is_right("open Sesame", Some(stored.clone())));
        assert!(!is_right("", Some(stored)));
        assert!(!is_right("nobody", None));
        assert!(!is_right("anything", Some("no hash".to_owned())));
    }
}
