//! Who may come in: users, or the token of the local one.

use super::Finding;
use crate::auth::TOKEN_FILE;
use crate::config::Config;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

/// The token is only looked at, not read: whoever sees this report must not learn it.
pub(super) fn findings(config: &Config) -> Vec<Finding> {
    vec![users(config), token(config)]
}

fn users(config: &Config) -> Finding {
    const CHECK: &str = "users";
    match config.users.as_slice() {
        [] => Finding::ok(CHECK, "none; whoever has the token is the one local user"),
        [one] => Finding::ok(CHECK, format!("one: {}", one.name)),
        several => Finding::ok(CHECK, format!("{} may log in", several.len())),
    }
}

fn token(config: &Config) -> Finding {
    const CHECK: &str = "token";
    let path = config.data.join(TOKEN_FILE);
    let shown = path.display();
    match path.metadata() {
        Err(err) if err.kind() == ErrorKind::NotFound => {
            Finding::ok(CHECK, "none yet; the first start makes it")
        }
        Err(err) => Finding::fail(CHECK, format!("{shown}: {err}"), "check the file's rights"),
        Ok(about) if about.permissions().mode() & 0o077 != 0 => Finding::warn(
            CHECK,
            format!("others can read {shown}"),
            "remove the file and start the gateway, which makes a new one",
        ),
        Ok(_) => Finding::ok(CHECK, format!("{shown}, readable for this user only")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;
    use std::fs::{self, Permissions};

    #[test]
    fn a_token_that_others_can_read_is_told_without_showing_it() {
        let data = tempfile::tempdir().unwrap();
        let config = Config::for_test("/", data.path());
        assert_eq!(token(&config).verdict, Verdict::Ok);
        let path = data.path().join(TOKEN_FILE);
        fs::write(&path, "a secret").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let open = token(&config);
        assert_eq!(open.verdict, Verdict::Warn);
        assert!(!open.found.contains("secret"), "{}", open.found);
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(token(&config).verdict, Verdict::Ok);
    }
}
