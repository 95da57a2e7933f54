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

    /// Bits that only somebody with this secret can tell, the same for the same purpose and parts.
    pub(super) fn derive(&self, purpose: &str, parts: &[&str]) -> u128 {
        let mut hash = Sha256::new();
        for part in [purpose].iter().chain(parts) {
            // With its length, so that no two lists of parts look alike.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(self.0);
        let bits: [u8; 32] = hash.finalize().into();
        bits[..16].iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
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

    #[test]
    fn derived_bits_depend_on_the_secret_and_on_every_part() {
        let derived = |secret, parts: &[&str]| Digest::of(secret).derive("purpose", parts);
        let first = derived("a", &["ann", "x"]);
        assert_eq!(first, derived("a", &["ann", "x"]));
        assert_ne!(first, Digest::of("a").derive("other", &["ann", "x"]));
        for (secret, parts) in [
            ("b", ["ann", "x"]),
            ("a", ["bob", "x"]),
            ("a", ["ann", "y"]),
            ("a", ["annx", ""]),
            ("a", ["an", "nx"]),
        ] {
            assert_ne!(first, derived(secret, &parts), "{secret} {parts:?}");
        }
    }
}
