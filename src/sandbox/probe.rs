//! Whether this system has what a box needs, found out by entering one.

use super::{BoxError, Confinement, Network};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

/// What a process says that is really in the box, and nobody else.
const PROOF: &str = "boxed";
const PROVE: &str =
    "grep -q '^Seccomp:.2$' /proc/self/status && ! kill -0 $PPID 2>/dev/null && echo boxed";

/// Why there is no box, if there is none. Blocking; asked once, and the same for the life of this process.
pub fn probe(launcher: &Path) -> Result<(), &'static str> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| attempt(launcher).map_err(|err| err.to_string()));
    found.as_ref().copied().map_err(String::as_str)
}

fn attempt(launcher: &Path) -> Result<(), BoxError> {
    let confinement = Confinement::closed(launcher).to_text()?;
    let mut command = Command::new(launcher);
    command.arg("boxed").arg(confinement).args(["--", "sh", "-c", PROVE]).current_dir("/");
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let output =
        command.output().map_err(|reason| BoxError::Path { path: launcher.to_owned(), reason })?;
    if output.status.success() && output.stdout.trim_ascii() == PROOF.as_bytes() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("the trial failed without a word");
    Err(BoxError::Trial(last.trim_start_matches("there is no box: ").to_owned()))
}

impl Confinement {
    /// Nothing may be changed and nobody reached.
    pub fn closed(launcher: &Path) -> Self {
        Self {
            launcher: launcher.to_owned(),
            writable: Vec::new(),
            readable: Vec::new(),
            protected: Vec::new(),
            hidden: Arc::new([]),
            secrets: Vec::new(),
            network: Network::None,
            closed_ports: Vec::new(),
        }
    }
}
