//! Secrets as they are made, and as they are kept: only their digests are, so a stolen database opens nothing.

use sha2::{Digest as _, Sha256};
use std::fmt::Write;
use std::io;
use subtle::ConstantTimeEq;

/// Of a secret. Compared in constant time.
#[derive(Debug, Clone, Copy, Eq)]
pub(super) struct Digest(pub(super) [u8; 32]);

impl Digest {
    pub(super) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::hash::Hash for Digest {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// 256 random bits as text.
pub(super) fn random() -> io::Result<String> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).map_err(|err| io::Error::other(err.to_string()))?;
    Ok(bits.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_are_long() {
        let (one, two) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 64);
        assert_ne!(one, two);
        assert_eq!(Digest::of(&one), Digest::of(&one));
        assert_ne!(Digest::of(&one), Digest::of(&two));
    }
}
