//! One call of git: an empty environment, no configuration but ours and the repository's, nothing that runs other
//! programs, a timeout and an output limit.

use super::GitError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The first version with `merge-tree --write-tree`.
const OLDEST: Version = Version { major: 2, minor: 38 };
const OLDEST_TEXT: &str = "2.38";
/// Enough to hash or write every file of a large project on a slow disk.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// Enough for a list of a million paths.
const OUTPUT_LIMIT: usize = 128 << 20;
const STDERR_LIMIT: usize = 16 << 10;
/// The size of a pipe's buffer.
const PIECE: usize = 64 << 10;
/// Another git process holds a lock for moments only, so a locked call is retried.
pub(super) const LOCK_TRIES: u32 = 20;
pub(super) const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// With these, nothing runs a program, uses the network or cleans up, whatever the repository's configuration says.
const OVERRIDES: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "core.alternateRefsCommand=false",
    "core.fsyncMethod=batch",
    "core.looseCompression=1",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

const ENVIRONMENT: [(&str, &str); 18] = [
    ("LC_ALL", "C"),
    ("HOME", "/nonexistent"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_ADVICE", "0"),
    ("GIT_AUTHOR_NAME", "Kakehashi"),
    ("GIT_AUTHOR_EMAIL", "kakehashi@localhost"),
    ("GIT_COMMITTER_NAME", "Kakehashi"),
    ("GIT_COMMITTER_EMAIL", "kakehashi@localhost"),
];

#[cfg(test)]
thread_local! {
    /// What git was started for by this thread, so that tests can count.
    pub(super) static STARTED: std::cell::RefCell<Vec<&'static str>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

pub(super) struct Git {
    command: Command,
    /// The subcommand, for error messages.
    what: &'static str,
    input: Vec<u8>,
    /// Used instead of `input`.
    input_file: Option<PathBuf>,
    most: usize,
    limit: Duration,
}

pub(super) struct Output {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    /// There was more output than the limit.
    pub(super) cut: bool,
}

impl Git {
    /// Names no repository; the caller does that with [`Git::env`].
    pub(super) fn new(what: &'static str) -> Self {
        Self::with(what, &[])
    }

    pub(super) fn with(what: &'static str, settings: &[&str]) -> Self {
        let mut command = Command::new("git");
        command.env_clear().envs(ENVIRONMENT).current_dir("/");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.arg("--no-pager");
        for setting in OVERRIDES.iter().chain(settings) {
            command.args(["-c", setting]);
        }
        command.arg(what);
        Self {
            command,
            what,
            input: Vec::new(),
            input_file: None,
            most: OUTPUT_LIMIT,
            limit: TIME_LIMIT,
        }
    }

    pub(super) fn what(&self) -> &'static str {
        self.what
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn at(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(super) fn args<const N: usize>(mut self, args: [&str; N]) -> Self {
        self.command.args(args);
        self
    }

    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// For input that may be large.
    pub(super) fn input_file(mut self, path: PathBuf) -> Self {
        self.input_file = Some(path);
        self
    }

    /// Output above this limit is cut instead of being an error.
    pub(super) fn most(mut self, bytes: usize) -> Self {
        self.most = bytes;
        self
    }

    pub(super) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The output. Any exit code other than 0 is an error.
    pub(super) fn read(self) -> Result<Vec<u8>, GitError> {
        let what = self.what;
        let output = self.run()?;
        match output.code {
            0 => Ok(output.stdout),
            _ => Err(GitError::from_stderr(what, &output.stderr)),
        }
    }

    /// The output as trimmed text.
    pub(super) fn word(self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.read()?).trim().to_owned())
    }

    pub(super) fn run(mut self) -> Result<Output, GitError> {
        let mut tries = 0;
        loop {
            let output = self.once()?;
            tries += 1;
            let locked =
                output.code != 0 && output.stderr.contains(".lock': File exists") && !output.cut;
            if !locked || tries == LOCK_TRIES {
                return Ok(output);
            }
            thread::sleep(LOCK_PAUSE);
        }
    }

    fn once(&mut self) -> Result<Output, GitError> {
        let what = self.what;
        #[cfg(test)]
        STARTED.with_borrow_mut(|started| started.push(what));
        let command = self.command.process_group(0);
        let input = self.input_file.as_ref().map(File::open).transpose();
        let input = input.map_err(GitError::io("reading what git is to be told"))?;
        command
            .stdin(input.map_or_else(Stdio::piped, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(|err| {
            // A missing working directory is reported in the same way.
            let there = command.get_current_dir().is_none_or(Path::is_dir);
            if err.kind() == ErrorKind::NotFound && there {
                GitError::Missing
            } else {
                GitError::io("starting git")(err)
            }
        })?;
        let heard = listen(child, &self.input, self.most, self.limit)
            .map_err(GitError::io("reading git"))?;
        if heard.timed_out {
            return Err(GitError::TimedOut { what, seconds: self.limit.as_secs() });
        }
        if heard.cut && self.most == OUTPUT_LIMIT {
            return Err(GitError::TooMuch { what });
        }
        // We killed it ourselves once we had enough output.
        let code = if heard.cut { 0 } else { heard.status.code().unwrap_or(-1) };
        Ok(Output { code, stdout: heard.stdout, stderr: heard.stderr, cut: heard.cut })
    }
}

struct Heard {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
    cut: bool,
    timed_out: bool,
}

/// Why reading has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    Ended,
    Enough,
    TimedOut,
}

/// Serves all three pipes at once, so that neither side waits for the other. Without threads, which the system may
/// refuse.
fn listen(mut child: Child, input: &[u8], most: usize, limit: Duration) -> io::Result<Heard> {
    let group = Pid::from_child(&child);
    let until = Instant::now() + limit;
    let mut pipes = Pipes {
        stdin: child.stdin.take().filter(|_| !input.is_empty()),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        input,
        said: Vec::new(),
        complaints: Vec::new(),
    };
    let silence = pipes.serve(most, until).and_then(|silence| {
        let lingers = silence == Silence::Ended && !has_exited(group, until)?;
        Ok(if lingers { Silence::TimedOut } else { silence })
    });
    // The child is not reaped yet, so its process id cannot belong to another process.
    if !matches!(silence, Ok(Silence::Ended)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let Pipes { mut said, complaints, .. } = pipes;
    let (status, silence) = (child.wait()?, silence?);
    let cut = said.len() > most;
    said.truncate(most);
    let stderr = String::from_utf8_lossy(&complaints).into_owned();
    Ok(Heard { status, stdout: said, stderr, cut, timed_out: silence == Silence::TimedOut })
}

/// Our ends of the three pipes; closed ones are `None`.
struct Pipes<'a> {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    input: &'a [u8],
    said: Vec<u8>,
    complaints: Vec<u8>,
}

impl Pipes<'_> {
    /// Reads until git closes its output, writes more than `most`, or the timeout.
    fn serve(&mut self, most: usize, until: Instant) -> io::Result<Silence> {
        // Writes must not block: git may not read before its own output is read.
        self.stdin.as_ref().map_or(Ok(()), |pipe| ioctl_fionbio(pipe, true))?;
        while self.stdout.is_some() || self.stderr.is_some() {
            let Some(ready) = self.wait(until)? else { return Ok(Silence::TimedOut) };
            if ready.stdin {
                self.write();
            }
            if ready.stdout && read_some(&mut self.stdout, &mut self.said, usize::MAX)? {
                self.stdout = None;
            }
            if ready.stderr && read_some(&mut self.stderr, &mut self.complaints, STDERR_LIMIT)? {
                self.stderr = None;
            }
            if self.said.len() > most {
                return Ok(Silence::Enough);
            }
        }
        Ok(Silence::Ended)
    }

    /// Waits until a pipe can be read or written; `None` after the timeout.
    fn wait(&self, until: Instant) -> io::Result<Option<Ready>> {
        let mut watched = Vec::with_capacity(3);
        let pipes = [
            self.stdin.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::OUT)),
            self.stdout.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN)),
            self.stderr.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN)),
        ];
        for (pipe, wanted) in pipes.iter().flatten() {
            watched.push(PollFd::new(pipe, *wanted));
        }
        if !poll_until(&mut watched, until)? {
            return Ok(None);
        }
        let mut answers = watched.iter().map(|pipe| !pipe.revents().is_empty());
        let [stdin, stdout, stderr] =
            pipes.map(|pipe| pipe.is_some() && answers.next().unwrap_or_default());
        Ok(Some(Ready { stdin, stdout, stderr }))
    }

    fn write(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(self.input) {
            Ok(written) => self.input = &self.input[written..],
            Err(err) if matches!(err.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Git has stopped reading; its exit code tells why.
            Err(_) => self.input = &[],
        }
        if self.input.is_empty() {
            self.stdin = None;
        }
    }
}

/// Which pipes are ready.
struct Ready {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

/// Reads once, and keeps at most `most` bytes in all. Returns whether the pipe has ended.
fn read_some(pipe: &mut Option<impl Read>, kept: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let Some(pipe) = pipe else { return Ok(false) };
    let mut piece = [0; PIECE];
    match pipe.read(&mut piece) {
        Ok(0) => Ok(true),
        Ok(read) => {
            kept.extend(&piece[..read.min(most.saturating_sub(kept.len()))]);
            Ok(false)
        }
        Err(err) if err.kind() == ErrorKind::Interrupted => Ok(false),
        Err(err) => Err(err),
    }
}

/// Waits until a child exits, without reaping it. False after the timeout.
#[cfg(target_os = "linux")]
fn has_exited(child: Pid, until: Instant) -> io::Result<bool> {
    let exit = rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty())?;
    poll_until(&mut [PollFd::new(&exit, PollFlags::IN)], until)
}

#[cfg(not(target_os = "linux"))]
fn has_exited(child: Pid, until: Instant) -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(child), look)?.is_none() {
        if Instant::now() >= until {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(true)
}

/// False after the timeout.
fn poll_until(watched: &mut [PollFd<'_>], until: Instant) -> io::Result<bool> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(watched, Some(&left)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(err) => return Err(err.into()),
        }
    }
}

/// Version of the installed git, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// `git version 2.39.5 (Apple Git-154)`
    fn parse(text: &str) -> Option<Self> {
        let numbers = text.trim().strip_prefix("git version ")?;
        let mut parts = numbers.split(|letter: char| !letter.is_ascii_digit());
        Some(Self { major: parts.next()?.parse().ok()?, minor: parts.next()?.parse().ok()? })
    }
}

/// Fails if git is missing or too old for us. Git is asked only until its version is good enough.
pub fn version() -> Result<Version, GitError> {
    static KNOWN: OnceLock<Version> = OnceLock::new();
    if let Some(version) = KNOWN.get() {
        return Ok(*version);
    }
    let told = Git::new("version").word()?;
    match Version::parse(&told) {
        Some(version) if version >= OLDEST => Ok(*KNOWN.get_or_init(|| version)),
        Some(_) | None => Err(GitError::TooOld { found: told, needed: OLDEST_TEXT }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        for (told, expected) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.45.1.windows.1", Some((2, 45))),
            ("git version 3.0-rc1", Some((3, 0))),
            ("hello", None),
        ] {
            let parsed = Version::parse(told).map(|version| (version.major, version.minor));
            assert_eq!(parsed, expected, "{told}");
        }
        assert!(Version { major: 3, minor: 0 } > OLDEST);
        assert!(Version { major: 2, minor: 37 } < OLDEST);
    }

    #[test]
    fn output_beyond_the_limit_is_cut_and_git_is_ended() {
        let output = Git::new("help").arg("-a").most(10).run().unwrap();
        assert!(output.cut);
        assert_eq!(output.stdout.len(), 10);
    }

    #[test]
    fn a_call_that_does_not_end_is_ended_with_all_it_started() {
        let began = std::time::Instant::now();
        let hanging = Git::with("hang", &["alias.hang=!sleep 1000; true"]);
        let ended = hanging.within(Duration::from_millis(200)).word();
        assert_eq!(ended, Err(GitError::TimedOut { what: "hang", seconds: 0 }));
        assert!(began.elapsed() < Duration::from_secs(500));
    }

    #[test]
    fn what_git_says_is_in_the_error() {
        let err = Git::new("cat-file").args(["-t", "HEAD"]).env("GIT_DIR", "/nowhere").word();
        let Err(GitError::Failed { what: "cat-file", stderr }) = err else { panic!("{err:?}") };
        assert!(stderr.contains("not a git repository"), "{stderr}");
    }
}
