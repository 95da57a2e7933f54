//! A server process of the benchmark: the gateway or the echo.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Everything comes from one address and one user here.
const LIMITS: &str = "[limits]\nsockets_per_principal = 100000\nconnections_per_address = 100000\n";

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) addr: SocketAddr,
    pub(crate) is_gateway: bool,
    _home: Option<TempDir>,
}

impl Server {
    pub(crate) fn echo() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("--echo-server");
        Self::start(command, None)
    }

    pub(crate) fn gateway() -> Self {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("kakehashi.toml");
        std::fs::File::create(&config).unwrap().write_all(LIMITS.as_bytes()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(config);
        command.arg("--project").arg(home.path()).arg("--data").arg(home.path().join("data"));
        command.env("KAKEHASHI_LOG", "error");
        Self::start(command, Some(home))
    }

    fn start(mut command: Command, home: Option<TempDir>) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addr = line.trim().trim_start_matches("listening on http://").trim_end_matches('/');
        Self { child, addr: addr.parse().unwrap(), is_gateway: home.is_some(), _home: home }
    }

    /// CPU time used so far, by all threads.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // The kernel counts in hundredths of a second on every system we know.
        Duration::from_millis(ticks * 10)
    }

    pub(crate) fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
