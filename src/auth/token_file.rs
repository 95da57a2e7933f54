//! The file `token` in the data directory. An agent's shell is a local process too, so being on this machine is not
//! enough to come in; being able to read this file is.

use super::secret;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tracing::warn;

pub const TOKEN_FILE: &str = "token";

/// Shorter ones were written by hand and could be guessed.
const SHORTEST: usize = 32;
const LONGEST: u64 = 1024;

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot use the token file {}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: io::Error },
    #[error(
        "the token in {} is not one line of at least {SHORTEST} letters, digits, - or _; remove the file to get a new one",
        .0.display()
    )]
    Weak(PathBuf),
}

/// The token of this data directory; made at first use.
pub fn local_token(data: &Path) -> Result<String, TokenError> {
    let path = data.join(TOKEN_FILE);
    let unusable = |reason| TokenError::Unusable { path: path.clone(), reason };
    let text = match make(&path) {
        Ok(token) => return Ok(token),
        Err(err) if err.kind() == ErrorKind::AlreadyExists => read(&path).map_err(unusable)?,
        Err(err) => return Err(unusable(err)),
    };
    let token = text.trim();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if token.len() < SHORTEST || !token.bytes().all(plain) {
        return Err(TokenError::Weak(path));
    }
    Ok(token.to_owned())
}

fn make(path: &Path) -> io::Result<String> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let token = secret::random()?;
    let written = file.write_all(format!("{token}\n").as_bytes()).and_then(|()| file.sync_all());
    if let Err(err) = written {
        // Half a token would be refused at the next start.
        let _ = std::fs::remove_file(path);
        return Err(err);
    }
    Ok(token)
}

fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        warn!(path = %path.display(), "others could read the token; it is private now, remove it to get a new one");
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_token_is_made_once_and_private() {
        let data = tempfile::tempdir().unwrap();
        let token = local_token(data.path()).unwrap();
        assert_eq!(local_token(data.path()).unwrap(), token);
        assert_eq!(mode(&data.path().join(TOKEN_FILE)), 0o600);
    }

    #[test]
    fn a_token_that_others_can_read_is_closed() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(TOKEN_FILE);
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(local_token(data.path()).unwrap(), "0123456789abcdef0123456789abcdef");
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_weak_token_is_refused_with_what_to_do() {
        let data = tempfile::tempdir().unwrap();
        for weak in [
            "",
            "short\n",
            "0123456789abcdef 0123456789abcdef",
            "0123456789abcdef\n0123456789abcdef",
        ] {
            std::fs::write(data.path().join(TOKEN_FILE), weak).unwrap();
            let refused = local_token(data.path()).unwrap_err().to_string();
            assert!(refused.contains("remove the file"), "{weak:?}: {refused}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_named() {
        let refused = local_token(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(refused.starts_with("cannot use the token file /dev/null/token: "), "{refused}");
    }
}
