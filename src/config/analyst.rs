//! `[analyst]`: how much an analysis may take.

use super::raw::Within;
use serde::Deserialize;
use std::time::Duration;

const MEGABYTE: u64 = 1_000_000;
const MIB: u64 = 1024 * 1024;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawAnalyst {
    /// In megabytes.
    pub(super) largest_file: Within<1, 2_000>,
    /// Of one action, in seconds.
    pub(super) seconds: Within<1, 3_600>,
    /// Of one action, in MiB.
    pub(super) memory: Within<600, 65_536>,
    /// What the files of one action may take together, in MiB.
    pub(super) disk: Within<1, 8_192>,
}

impl Default for RawAnalyst {
    fn default() -> Self {
        Self {
            largest_file: Within(200),
            seconds: Within(180),
            memory: Within(1024),
            disk: Within(256),
        }
    }
}

/// Limits of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalystRules {
    /// Bytes of one table.
    pub largest_file: u64,
    /// Of one action.
    pub time: Duration,
    /// Bytes of address space of one action.
    pub memory: u64,
    /// Bytes of the files of one action.
    pub disk: u64,
}

impl RawAnalyst {
    pub(super) fn rules(&self) -> AnalystRules {
        AnalystRules {
            largest_file: u64::from(self.largest_file.0) * MEGABYTE,
            time: Duration::from_secs(self.seconds.0.into()),
            memory: u64::from(self.memory.0) * MIB,
            disk: u64::from(self.disk.0) * MIB,
        }
    }
}
