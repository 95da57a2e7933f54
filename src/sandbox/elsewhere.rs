//! The same names on systems where there is no box.

use super::{BoxError, Confinement};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

#[derive(Debug)]
pub enum Next {
    Become(Command),
    Hold(Command),
    Lead(Command),
}

pub fn enter(_: &Confinement, _: &Path, _: &[OsString]) -> Result<Next, BoxError> {
    Err(BoxError::NotLinux)
}

pub fn filter_for_children() -> Result<Vec<u8>, BoxError> {
    Err(BoxError::NotLinux)
}

pub fn hold(_: Command) -> io::Result<ExitCode> {
    Err(io::Error::other(BoxError::NotLinux))
}

pub fn lead(_: Command) -> io::Result<ExitCode> {
    Err(io::Error::other(BoxError::NotLinux))
}
