//! Where certificate and key are. What is in them is the server's business.

use super::ConfigError;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Both are PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Our certificate first, then those that vouch for it.
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// As it is written; an empty path means that there is none.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTls {
    pub(super) cert: PathBuf,
    pub(super) key: PathBuf,
}

impl RawTls {
    pub(super) fn files(self) -> Result<Option<TlsFiles>, ConfigError> {
        match (is_given(&self.cert), is_given(&self.key)) {
            (true, true) => Ok(Some(TlsFiles { cert: self.cert, key: self.key })),
            (false, false) => Ok(None),
            (true, false) => Err(ConfigError::HalfTls { has: "certificate", lacks: "key" }),
            (false, true) => Err(ConfigError::HalfTls { has: "key", lacks: "cert" }),
        }
    }
}

fn is_given(path: &Path) -> bool {
    !path.as_os_str().is_empty()
}
