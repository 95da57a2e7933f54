//! `kakehashi talk` as a process of its own, with two files in place of a sound card.

use crate::process::Process;
use crate::support::{Gateway, Home, TOKEN};
use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What is compared: 20 ms.
const BLOCK: usize = 480;
/// Nothing here takes this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// One run of the client.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) dir: TempDir,
    child: Option<Child>,
}

impl Talk {
    /// A place for its files, with something to say.
    pub(crate) fn new(speech: &[i16]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_wav(&dir.path().join("in.wav"), 24_000, speech);
        std::fs::write(dir.path().join("token"), TOKEN).unwrap();
        Self { dir, child: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn command(&self, addr: SocketAddr) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
        command.args(["talk", "--url", &format!("ws://{addr}"), "--token-file"]);
        command.arg(self.path("token")).env("LC_ALL", "en_US.UTF-8");
        command
    }

    pub(crate) fn start(&mut self, addr: SocketAddr, tail: &str, more: &[&str]) {
        let mut command = self.command(addr);
        command.arg("--wav").arg(self.path("in.wav")).arg("--out").arg(self.path("out.wav"));
        command.args(["--tail", tail]).args(more);
        self.spawn(&mut command);
    }

    pub(crate) fn spawn(&mut self, command: &mut Command) {
        let out = std::fs::File::create(self.path("told")).unwrap();
        let err = std::fs::File::create(self.path("errors")).unwrap();
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        self.child = Some(command.spawn().unwrap());
    }

    /// What it has written so far.
    pub(crate) fn told(&self) -> String {
        std::fs::read_to_string(self.path("told")).unwrap_or_default()
    }

    pub(crate) fn errors(&self) -> String {
        std::fs::read_to_string(self.path("errors")).unwrap_or_default()
    }

    pub(crate) fn until_told(&self, text: &str) {
        let start = Instant::now();
        while !self.told().contains(text) {
            assert!(
                start.elapsed() < PATIENCE,
                "no {text:?} in {:?}",
                (self.told(), self.errors())
            );
            sleep(Duration::from_millis(20));
        }
    }

    #[cfg(feature = "mic")]
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let (start, mut child) = (Instant::now(), self.child.take().unwrap());
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            if start.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("it does not end: {:?}", (self.told(), self.errors()));
            }
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn played(&self) -> Vec<i16> {
        let reader = WavReader::open(self.path("out.wav")).unwrap();
        assert_eq!(reader.spec().sample_rate, 24_000);
        reader.into_samples().map(Result::unwrap).collect()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) fn write_wav(path: &Path, rate: u32, samples: &[i16]) {
    let spec = WavSpec {
        channels: 1,
        sample_rate: rate,
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };
    let mut file = WavWriter::create(path, spec).unwrap();
    samples.iter().for_each(|sample| file.write_sample(*sample).unwrap());
    file.finalize().unwrap();
}

/// Noise: no two places of it are alike.
pub(crate) fn noise(samples: usize) -> Vec<i16> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) as i16) / 3
    };
    (0..samples).map(|_| next()).collect()
}

/// Where each block of `spoken` is in `played`, as exactly these samples.
fn blocks(spoken: &[i16], played: &[i16]) -> Vec<Option<usize>> {
    let find = |block: &[i16]| played.windows(BLOCK).position(|window| window == block);
    spoken.chunks_exact(BLOCK).map(find).collect()
}

/// Gaps of a busy machine cost some blocks, but never the order.
#[track_caller]
fn assert_mostly_there(found: &[Option<usize>]) {
    let there: Vec<usize> = found.iter().flatten().copied().collect();
    assert!(there.len() * 4 >= found.len() * 3, "{} of {} blocks", there.len(), found.len());
    assert!(there.is_sorted(), "out of order: {there:?}");
}

#[tokio::test]
async fn what_is_spoken_to_the_echo_is_played_and_both_sides_are_told() {
    let gateway = Gateway::start().await;
    let spoken = noise(36_000);
    let mut talk = Talk::new(&spoken);
    talk.start(gateway.addr, "3.5", &[]);
    let (talk, status) = tokio::task::spawn_blocking(move || {
        let status = talk.wait();
        (talk, status)
    })
    .await
    .unwrap();
    assert!(status.success(), "{}", talk.errors());
    assert_mostly_there(&blocks(&spoken, &talk.played()));
    let told = talk.told();
    for part in ["-- connected, session ws-", "you: heard 1.", "model: played 1."] {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn talk_uses_the_language_of_its_flag_or_of_the_environment() {
    let gateway = Gateway::start().await;
    for (variable, flag, expected) in [
        ("ja_JP.UTF-8", None, "接続しました。セッション ws-"),
        ("en_GB.UTF-8", None, "connected, session ws-"),
        ("C.UTF-8", Some("ja"), "接続しました。セッション ws-"),
        ("ja_JP.UTF-8", Some("en"), "connected, session ws-"),
    ] {
        let mut talk = Talk::new(&noise(2_400));
        let mut command = talk.command(gateway.addr);
        command.arg("--wav").arg(talk.path("in.wav")).arg("--out").arg(talk.path("out.wav"));
        command.args(["--tail", "0.1"]).env("LC_ALL", variable);
        command.args(flag.map(|flag| ["--lang", flag]).into_iter().flatten());
        talk.spawn(&mut command);
        let waited = tokio::task::spawn_blocking(move || (talk.wait(), talk));
        let (status, talk) = waited.await.unwrap();
        assert!(status.success(), "{}", talk.errors());
        assert!(talk.told().contains(expected), "{variable} {flag:?}: {}", talk.told());
    }
    gateway.stop().await;
}

#[test]
fn a_gateway_that_was_killed_is_found_again_and_the_session_goes_on() {
    let home = Home::new();
    let first = Process::start(&home, "");
    let (addr, spoken) = (first.addr, noise(24_000 * 12));
    let mut talk = Talk::new(&spoken);
    talk.start(addr, "3", &[]);
    talk.until_told("connected");
    // A second and a half in pieces of 20 ms, behind what it says first on its sockets.
    let start = Instant::now();
    while first.metric("kakehashi_frames_in_total") < 80 {
        assert!(start.elapsed() < PATIENCE, "nothing is spoken");
        sleep(Duration::from_millis(20));
    }
    first.kill();
    talk.until_told("connection lost");
    let same_port = format!("shift 2; exec \"$0\" --listen {addr} \"$@\"");
    let _second = Process::start_under(&home, &same_port, "");
    assert!(talk.wait().success(), "{}", talk.errors());
    let told = talk.told();
    let sessions: Vec<_> =
        told.lines().filter_map(|line| line.strip_prefix("-- connected, session ")).collect();
    assert_eq!(sessions.len(), 2, "{told}");
    assert_eq!(sessions[0], sessions[1], "the same session");
    let found = blocks(&spoken, &talk.played());
    let there: Vec<usize> = found.iter().flatten().copied().collect();
    assert!(there.is_sorted(), "nothing is played twice or in another order");
    assert!(found[..50].iter().flatten().count() > 30, "the first second was heard");
    let last = &found[found.len() - 50..];
    assert!(last.iter().flatten().count() > 30, "and so was the last: {told}");
}

#[test]
fn the_microphone_is_closed_while_the_speaker_is_heard_without_echo_cancellation() {
    let home = Home::new();
    let gateway = Process::start(&home, "");
    let spoken = noise(24_000 * 2);
    let mut talk = Talk::new(&spoken);
    talk.start(gateway.addr, "1", &["--no-aec"]);
    assert!(talk.wait().success(), "{}", talk.errors());
    let found = blocks(&spoken, &talk.played());
    let heard = found.iter().flatten().count();
    // Until the first echo is heard everything passes, and then nothing while it is.
    assert!(heard > 0 && heard < found.len() * 3 / 4, "{heard} of {}", found.len());
}

#[test]
fn a_missing_gateway_and_a_refused_login_are_told_in_one_sentence() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut talk = Talk::new(&noise(2_400));
    talk.start(free, "1", &[]);
    assert_eq!(talk.wait().code(), Some(2));
    let sentence = talk.errors();
    assert!(sentence.starts_with("kakehashi: cannot reach the gateway at ws://127.0.0.1:"));
    assert!(sentence.trim_end().ends_with("is it running?"), "{sentence}");
    assert_eq!(sentence.lines().count(), 1);

    let home = Home::new();
    let gateway = Process::start(&home, "");
    let mut talk = Talk::new(&noise(2_400));
    std::fs::write(talk.path("token"), "not-the-token-of-this-gateway-0123456789").unwrap();
    talk.start(gateway.addr, "1", &[]);
    assert_eq!(talk.wait().code(), Some(2));
    assert!(talk.errors().starts_with("kakehashi: the gateway refused: "), "{}", talk.errors());
}

#[test]
fn the_token_of_this_machine_stays_on_it() {
    let talk = Talk::new(&[0]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.args(["talk", "--url", "wss://gateway.invalid", "--wav", "in.wav", "--out", "out.wav"]);
    command.arg("--data").arg(talk.dir.path()).current_dir(talk.dir.path());
    let output = command.env_remove("KAKEHASHI_TOKEN_FILE").output().unwrap();
    let sentence = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(sentence.contains("is not sent to another one"), "{sentence}");
}

#[test]
fn talk_without_a_sound_device_says_so_and_exits_with_3() {
    let talk = Talk::new(&[0]);
    let nothing = talk.path("asound.conf");
    std::fs::write(&nothing, "").unwrap();
    let mut command = talk.command("127.0.0.1:9".parse().unwrap());
    let mut child = command
        .env("ALSA_CONFIG_PATH", nothing)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{told}");
    let expected = if cfg!(feature = "mic") {
        "kakehashi: there is no sound device that can be used: "
    } else {
        "kakehashi: this kakehashi was built without sound devices; ./scripts/talk builds one"
    };
    // The system's sound library may have its own words before ours.
    assert!(told.lines().last().is_some_and(|line| line.starts_with(expected)), "{told}");
}
