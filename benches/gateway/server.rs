//! A server process of the benchmark: the gateway or the echo.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Everything comes from one address and one user here.
const LIMITS: &str = "[limits]\nsockets_per_principal = 100000\nconnections_per_address = 100000\n";
/// Agents that do what a benchmark says.
const SCRIPTED: &str = "[settings]\nCODE_AI1_NAME = \"scripted\"\n";

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) addr: SocketAddr,
    pub(crate) is_gateway: bool,
    data: PathBuf,
}

/// A gateway's project and data; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        let home = Self { dir };
        home.configure(SCRIPTED);
        home
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Writes the gateway's settings.
    pub(crate) fn configure(&self, more: &str) {
        fs::write(self.config(), format!("{LIMITS}\n{more}")).unwrap();
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("kakehashi.toml")
    }
}

impl Server {
    pub(crate) fn echo() -> Self {
        Self::helper("--echo-server")
    }

    /// This binary in another role.
    pub(crate) fn helper(role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(role);
        Self::start(command, None)
    }

    pub(crate) fn gateway(home: &Home) -> Self {
        let binary = std::env::var_os("BENCH_GATEWAY");
        let binary = binary.unwrap_or_else(|| env!("CARGO_BIN_EXE_kakehashi").into());
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(home.config());
        command.arg("--project").arg(home.project()).arg("--data").arg(home.data());
        command.env("KAKEHASHI_LOG", "error").stdin(Stdio::null());
        // Keys of whoever measures would offer their models.
        for name in kakehashi::config::key_variables() {
            command.env_remove(name);
        }
        Self::start(command, Some(home))
    }

    fn start(mut command: Command, home: Option<&Home>) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let addr = address.and_then(|address| address.trim().parse().ok());
        Self {
            child,
            addr: addr.unwrap_or_else(|| panic!("the server does not say where it is: {line}")),
            is_gateway: home.is_some(),
            data: home.map_or_else(PathBuf::new, Home::data),
        }
    }

    /// The secret of the local user, on a gateway that asks for one.
    pub(crate) fn token(&self) -> Option<String> {
        let token = fs::read_to_string(self.data.join("token")).ok()?;
        Some(token.trim().to_owned())
    }

    pub(crate) fn cpu(&self) -> Cpu {
        let threads = fs::read_dir(self.proc("task")).unwrap().filter_map(|thread| {
            let thread = thread.ok()?;
            let stat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let nanos = stat.split(' ').next()?.parse().ok()?;
            Some((thread.file_name().into_string().ok()?, nanos))
        });
        Cpu(threads.collect())
    }

    pub(crate) fn memory_kib(&self) -> f64 {
        let status = fs::read_to_string(self.proc("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub(crate) fn threads(&self) -> usize {
        fs::read_dir(self.proc("task")).unwrap().count()
    }

    fn proc(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string()).join(name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nanoseconds that each thread has run so far.
#[derive(Debug)]
pub(crate) struct Cpu(HashMap<String, u64>);

impl Cpu {
    /// What all threads have used since then; those that ended meanwhile are not counted.
    pub(crate) fn since(&self, before: &Self) -> Duration {
        let used =
            |(thread, now): (&String, &u64)| now - before.0.get(thread).copied().unwrap_or(0);
        Duration::from_nanos(self.0.iter().map(used).sum())
    }
}
