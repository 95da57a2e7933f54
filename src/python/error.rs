//! Why Python cannot be used, for people: each text says what to do.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum PythonError {
    #[error(
        "Python 3.11, 3.12 or 3.13 is not installed; install it, for example with `apt-get install python3 python3-venv`"
    )]
    NoPython,
    #[error(
        "Python {0} cannot be used, 3.11 to 3.13 is needed; install it, for example with `apt-get install python3 python3-venv`"
    )]
    WrongVersion(String),
    #[error(
        "Python cannot make an environment: its module venv or ensurepip is missing; install it, for example with `apt-get install python3-venv`"
    )]
    NoVenv,
    #[error(
        "the packages cannot be downloaded: {0}; check the network and the settings of pip, and start `kakehashi python setup` again"
    )]
    Download(String),
    #[error("the packages do not work: {0}; delete {1} and start `kakehashi python setup` again")]
    Broken(String, String),
    #[error("the packages for analyses are not installed yet; start `kakehashi python setup`")]
    NotMade,
    #[error("{0} cannot be used: {1}")]
    File(String, #[source] io::Error),
    #[error("there is no sandbox for Python, and without one it does not run: {reason}; {advice}")]
    NoBox { reason: String, advice: &'static str },
    #[error("Python cannot be started in its sandbox: {0}")]
    Start(String),
    #[error("Python could not be asked: {0}")]
    Asked(#[source] io::Error),
    #[error("`{0}` is not the name of a file of this workspace")]
    Name(String),
    #[error("the file cannot be read as a table: {0}")]
    Table(String),
    #[error("stopped")]
    Cancelled,
}

impl PythonError {
    /// Whether the file is to blame, and not this machine.
    pub fn is_about_the_table(&self) -> bool {
        matches!(self, Self::Table(_) | Self::Name(_))
    }
}
