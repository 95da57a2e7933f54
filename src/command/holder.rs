//! Who has the data directory while a command works on it.

use crate::data_dir::{self, DataDir, DataDirError};
use std::path::Path;

#[derive(Debug)]
pub(super) enum Holder {
    /// Its database may be read, and it can be asked for changes.
    Gateway,
    /// No gateway starts as long as this is kept.
    Us(DataDir),
    /// There is no such directory, so there is nothing in it.
    Nobody,
}

impl Holder {
    /// Takes the directory if no gateway has it; makes nothing.
    pub(super) fn of(data: &Path) -> Result<Self, DataDirError> {
        if !data.exists() {
            return Ok(Self::Nobody);
        }
        let unwritable = |reason| DataDirError::Unwritable { path: data.to_owned(), reason };
        if data_dir::is_taken(data).map_err(unwritable)? {
            return Ok(Self::Gateway);
        }
        match DataDir::open(data) {
            Ok(held) => Ok(Self::Us(held)),
            // One has started between the two looks.
            Err(DataDirError::InUse(_)) => Ok(Self::Gateway),
            Err(err @ DataDirError::Unwritable { .. }) => Err(err),
        }
    }
}
