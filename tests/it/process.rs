//! The real binary as a process of its own.

use crate::support::Home;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The real binary, killed with the test.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) addr: SocketAddr,
    pub(crate) scheme: String,
}

impl Process {
    pub(crate) fn start(home: &Home, settings: &str) -> Self {
        Self::start_under(home, "exec \"$0\" \"$@\"", settings)
    }

    /// Models and agents are scripted unless the settings say something about them.
    pub(crate) fn start_under(home: &Home, script: &str, settings: &str) -> Self {
        let file = home.data.path().join("settings.toml");
        let has_git = home.project.path().join(".git").exists();
        if has_git || settings.contains("_PLACE") {
            std::fs::write(&file, settings).unwrap();
        } else {
            std::fs::write(&file, with_shared_places(settings)).unwrap();
        }
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_kakehashi"), "--listen", "127.0.0.1:0"]);
        command.arg("--project").arg(home.project.path());
        command.arg("--data").arg(home.data.path()).arg("--config").arg(file);
        if !["[[agents]]", "[[chat]]", "CODE_AI", "models"]
            .iter()
            .any(|word| settings.contains(word))
        {
            command.args(["--models", "scripted"]);
        }
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap();
        let (scheme, addr) = url.trim_end_matches('/').split_once("://").unwrap();
        Self { child, addr: addr.parse().unwrap(), scheme: scheme.to_owned() }
    }

    /// Asks it to end; tells its exit code and how long it took since `told`.
    pub(crate) fn end(mut self, told: Instant) -> (Option<i32>, Duration) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, told.elapsed())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`: no destructor of the gateway runs.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// One number of `/metrics`.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let mut client = std::net::TcpStream::connect(self.addr).unwrap();
        let head =
            format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.addr);
        client.write_all(head.as_bytes()).unwrap();
        let mut page = String::new();
        client.read_to_string(&mut page).unwrap();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
    }

    /// A number of KiB from the kernel: `VmRSS` is memory now, `VmHWM` the most there ever was.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// As in [`crate::support::Gateway::start_at`]. Settings that say something about places are left as they are.
fn with_shared_places(settings: &str) -> String {
    let places: String =
        (1..=4).map(|slot| format!("CODE_AI{slot}_PLACE = \"shared\"\n")).collect();
    match settings.split_once("[settings]\n") {
        Some((before, after)) => format!("{before}[settings]\n{places}{after}"),
        None => format!("{settings}\n[settings]\n{places}"),
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already ended where a test asked for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
