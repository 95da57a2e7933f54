//! Why there is no box, for people.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum BoxError {
    #[error("the system gives us no namespaces of our own: {0}")]
    Namespaces(#[source] io::Error),
    #[error("{} cannot be mounted: {reason}", path.display())]
    Mount { path: PathBuf, reason: io::Error },
    #[error("{} cannot be used: {reason}", path.display())]
    Path { path: PathBuf, reason: io::Error },
    #[error(
        "{} has a second name on this disk, by which it could be read; find it with `find / -samefile`, and remove it",
        .0.display()
    )]
    SecondName(PathBuf),
    #[error("the loopback cannot be switched on: {0}")]
    Loopback(#[source] io::Error),
    #[error("Landlock is missing (Linux 5.13 or later has it) or not as it was: {0}")]
    Landlock(String),
    #[error("bubblewrap is not installed")]
    NoBwrap,
    #[error("{own}; and bubblewrap does not help: {bwrap}")]
    Neither { own: Box<BoxError>, bwrap: Box<BoxError> },
    #[error("{} was replaced while the box was made; try again", .0.display())]
    Replaced(PathBuf),
    #[error("limits cannot be set: {0}")]
    Limits(#[source] io::Error),
    #[error("a closed view needs namespaces of our own, one of processes among them")]
    NotClosed,
    #[error("there is no command")]
    NoCommand,
    #[error("system calls cannot be filtered: {0}")]
    Seccomp(String),
    #[error("rights cannot be given up: {0}")]
    Rights(#[source] io::Error),
    #[error("what the box is to be cannot be told: {0}")]
    Text(String),
    /// What the process said that tried.
    #[error("{0}")]
    Trial(String),
    #[error("only Linux has what a box needs")]
    NotLinux,
}
