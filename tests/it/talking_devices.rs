//! `kakehashi talk` with sound devices that need no hardware: null sinks of PulseAudio, and ALSA's file device.

use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Home, KIND};
use crate::talking::{Talk, noise};
use crate::talking_exactly::Line;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A sound server of our own with a speaker `spk` and a microphone `mic`; ended with the test.
struct Pulse {
    dir: tempfile::TempDir,
    server: Child,
}

impl Pulse {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("pulseaudio");
        command.args(["-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no"]);
        command.args(["--disable-shm=yes", "--log-target=stderr"]);
        let socket = dir.path().join("native");
        for module in [
            format!("module-native-protocol-unix auth-anonymous=1 socket={}", socket.display()),
            "module-null-sink sink_name=spk rate=48000 channels=1".to_owned(),
            "module-null-sink sink_name=mic rate=48000 channels=1".to_owned(),
        ] {
            command.arg("-L").arg(module);
        }
        for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "PULSE_RUNTIME_PATH"] {
            command.env(name, dir.path());
        }
        let log = File::create(dir.path().join("log")).unwrap();
        let server = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("PulseAudio is missing; scripts/test installs what these tests need");
        let pulse = Self { dir, server };
        pulse.wait_until_ready();
        pulse
    }

    fn wait_until_ready(&self) {
        let start = Instant::now();
        while !self.tool("pactl").args(["info"]).output().unwrap().status.success() {
            let log = || std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(start.elapsed() < PATIENCE, "no sound server: {}", log());
            sleep(Duration::from_millis(50));
        }
    }

    fn server(&self) -> String {
        format!("unix:{}", self.dir.path().join("native").display())
    }

    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env("PULSE_SERVER", self.server()).env("HOME", self.dir.path());
        command
    }

    /// Devices as ALSA knows them: the default, and each by a name of its own.
    fn alsa(&self) -> std::path::PathBuf {
        let server = self.server();
        let pcm = |name: &str, device: &str| {
            format!(
                "pcm.{name} {{ type pulse server \"{server}\" device \"{device}\" \
                 hint {{ show on description \"test {name}\" }} }}\n"
            )
        };
        let default = "pcm.!default { type asym playback.pcm \"loud\" capture.pcm \"ear\" \
                       hint { show on description \"both\" } }\n";
        let file = self.dir.path().join("asound.conf");
        let text = pcm("loud", "spk") + &pcm("ear", "mic.monitor") + default;
        std::fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Syllables of noise: neither an echo canceller nor a noise suppressor takes tones for speech.
fn syllables(seconds: usize) -> Vec<i16> {
    let mut smooth = 0.0_f32;
    let sound = noise(24_000 * seconds).into_iter().enumerate().map(|(at, sample)| {
        smooth += 0.25 * (f32::from(sample) - smooth);
        let open = (at as f32 / 8_000.0 * std::f32::consts::TAU).sin().max(0.0);
        (smooth * open * 2.5) as i16
    });
    sound.collect()
}

/// Seconds of the scripted model's tone, 450 Hz, as they were heard: blocks of 20 ms that are nothing else.
fn tone_in(heard: &[i16], rate: usize) -> f32 {
    let pure = |block: &&[i16]| {
        let turn = |at: usize| std::f32::consts::TAU * 450.0 * at as f32 / rate as f32;
        let part = |wave: fn(f32) -> f32| -> f32 {
            block.iter().enumerate().map(|(at, sample)| f32::from(*sample) * wave(turn(at))).sum()
        };
        let tone = 2.0 * (part(f32::sin).powi(2) + part(f32::cos).powi(2)) / block.len() as f32;
        let all: f32 = block.iter().map(|sample| f32::from(*sample).powi(2)).sum();
        all / block.len() as f32 > 1_000_000.0 && tone > 0.95 * all
    };
    heard.chunks_exact(rate / 50).filter(pure).count() as f32 / 50.0
}

/// Says something in the chat that the live model answers with a tone of 2.4 seconds.
fn ask_for_a_tone(gateway: &Process, talk: &Talk) {
    let told = talk.told();
    let session =
        told.lines().find_map(|line| line.strip_prefix("-- connected, session ")).unwrap();
    let (addr, session) = (gateway.addr, session.to_owned());
    let text =
        json!({CHANNEL: "0", "送信モード": "Live", KIND: "input_text", BODY: "x".repeat(40)});
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut input = Client::open(addr, "input", Some(&session)).await;
        input.send(&text).await;
        input.close().await;
    });
    talk.until_told("model: echo: xxx");
}

/// Waits for nearly all of that tone. A device that a busy machine starves puts silence between its parts, so it may
/// take longer and a block beside a hole is no tone, but nothing of it is left out or comes twice.
fn assert_the_tone_is_heard(heard: impl Fn() -> f32) {
    eventually(|| heard() > 1.7, || format!("{} s of the tone", heard()));
    sleep(Duration::from_secs(1));
    let seconds = heard();
    assert!(seconds < 2.5, "{seconds} s of 2.4");
}

/// A gateway that never says anything, and ends when it has heard nearly all of three seconds of syllables. One that
/// plays them back is no use: an echo canceller may take what was said for an echo.
fn silent_gateway() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    let loud = |block: &&[i16]| block.iter().any(|sample| sample.unsigned_abs() > 2_000);
    let hearing = async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let mut line = Line::accept(&listener, "audio").await;
        let (start, mut heard) = (Instant::now(), 0);
        // Half of the time is between syllables, and holes of a busy machine are no syllables either.
        while heard < 50 {
            assert!(start.elapsed() < PATIENCE, "{heard} blocks of 20 ms are loud");
            heard += line.hear().await.chunks(480).filter(loud).count();
        }
    };
    (addr, spawn(move || tokio::runtime::Runtime::new().unwrap().block_on(hearing)))
}

/// `state` says how far it came.
fn eventually(condition: impl Fn() -> bool, state: impl Fn() -> String) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "it never came true: {}", state());
        sleep(Duration::from_millis(20));
    }
}

fn interrupt(talk: &mut Talk) {
    let pid = Pid::from_raw(talk.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(talk.wait().code(), Some(0), "{}", talk.errors());
}

#[test]
fn a_microphone_is_heard_by_the_gateway() {
    let ((addr, gateway), pulse) = (silent_gateway(), Pulse::start());
    let mut talk = Talk::new(&syllables(3));
    let mut command = talk.command(addr);
    talk.spawn(command.env("ALSA_CONFIG_PATH", pulse.alsa()));
    talk.until_told("connected");
    // A null sink hands its sound on as late as its player allows, and without this that is two seconds at once.
    let said = pulse
        .tool("paplay")
        .args(["-d", "mic", "--latency-msec=50"])
        .arg(talk.path("in.wav"))
        .status()
        .unwrap();
    assert!(said.success());
    gateway.join().unwrap();
    interrupt(&mut talk);
}

#[test]
fn a_speaker_plays_what_the_gateway_sends() {
    let home = Home::new();
    let (gateway, pulse) = (Process::start(&home, ""), Pulse::start());
    let mut talk = Talk::new(&[0]);
    let mut command = talk.command(gateway.addr);
    // The scripted model would mix the microphone into its tone.
    command.arg("--push-to-talk").env("ALSA_CONFIG_PATH", pulse.alsa());
    talk.spawn(&mut command);
    talk.until_told("connected");
    let recorded = talk.path("heard.raw");
    let mut recorder = pulse
        .tool("parec")
        .args(["-d", "spk.monitor", "--format=s16le", "--rate=24000", "--channels=1", "--raw"])
        .arg("--latency-msec=50")
        .stdout(File::create(&recorded).unwrap())
        .spawn()
        .unwrap();
    eventually(|| recorded.metadata().is_ok_and(|file| file.len() > 0), || "no record".to_owned());
    ask_for_a_tone(&gateway, &talk);
    assert_the_tone_is_heard(|| tone_in(&samples(&std::fs::read(&recorded).unwrap()), 24_000));
    let _ = recorder.kill();
    recorder.wait().unwrap();
    interrupt(&mut talk);
}

#[test]
fn devices_are_listed_and_chosen_by_name() {
    let home = Home::new();
    let (gateway, pulse) = (Process::start(&home, ""), Pulse::start());
    let mut talk = Talk::new(&[0]);
    let config = pulse.alsa();
    let list = Command::new(env!("CARGO_BIN_EXE_kakehashi"))
        .args(["talk", "--list-devices"])
        .env("ALSA_CONFIG_PATH", &config)
        .output()
        .unwrap();
    let names = String::from_utf8(list.stdout).unwrap();
    assert!(list.status.success(), "{names}");
    assert!(names.contains("input   ear") && names.contains("output  loud"), "{names}");

    let mut command = talk.command(gateway.addr);
    command.args(["--input", "ear", "--output", "test loud"]).env("ALSA_CONFIG_PATH", &config);
    talk.spawn(&mut command);
    talk.until_told("connected");
    interrupt(&mut talk);

    let mut command = talk.command(gateway.addr);
    command.args(["--input", "nothing of that name"]).env("ALSA_CONFIG_PATH", &config);
    talk.spawn(&mut command);
    assert_eq!(talk.wait().code(), Some(3));
    assert!(talk.errors().contains("none is called \"nothing of that name\""), "{}", talk.errors());
}

#[test]
fn a_sound_server_that_goes_away_ends_the_conversation_with_a_sentence() {
    let home = Home::new();
    let (gateway, pulse) = (Process::start(&home, ""), Pulse::start());
    let mut talk = Talk::new(&[0]);
    let mut command = talk.command(gateway.addr);
    talk.spawn(command.env("ALSA_CONFIG_PATH", pulse.alsa()));
    talk.until_told("connected");
    drop(pulse);
    assert_eq!(talk.wait().code(), Some(3), "{}", talk.errors());
    assert!(talk.errors().contains("the sound device is gone: "), "{}", talk.errors());
}

/// Pipes in place of files give the file device a clock: it waits for whoever reads and writes them.
struct Pipes {
    dir: tempfile::TempDir,
    over: Arc<AtomicBool>,
}

impl Pipes {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["in.raw", "out.raw"] {
            let made = Command::new("mkfifo").arg(dir.path().join(name)).status().unwrap();
            assert!(made.success());
        }
        let file = |name: &str| dir.path().join(name).display().to_string();
        let text = format!(
            "pcm.!default {{ type plug slave.pcm \"filecard\" hint {{ show on description \"files\" }} }}\n\
             pcm.filecard {{ type file slave.pcm \"nul\" file \"{}\" format \"raw\" infile \"{}\" }}\n\
             pcm.nul {{ type null }}\n",
            file("out.raw"),
            file("in.raw")
        );
        std::fs::write(dir.path().join("asound.conf"), text).unwrap();
        Self { dir, over: Arc::default() }
    }

    /// Both ends are held, so that a device may be opened and closed as often as it likes, and nobody here waits.
    fn open(&self, name: &str) -> File {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let mut options = File::options();
        options.read(true).write(true).custom_flags(flags).open(self.dir.path().join(name)).unwrap()
    }

    /// Speaks in real time and is silent afterwards.
    fn speak(&self, speech: Arc<Mutex<VecDeque<i16>>>) -> JoinHandle<()> {
        let mut pipe = self.open("in.raw");
        self.every_20_ms(move || {
            let mut waiting = speech.lock().unwrap();
            let next = waiting.iter().copied().chain(std::iter::repeat(0)).take(960);
            let block: Vec<u8> = next.flat_map(i16::to_le_bytes).collect();
            // A block of this size goes as a whole or not at all: then it is the turn of the next.
            if pipe.write(&block).is_ok() {
                let spoken = waiting.len().min(960);
                waiting.drain(..spoken);
            }
        })
    }

    /// Hears in real time.
    fn hear(&self) -> (JoinHandle<()>, Arc<Mutex<Vec<u8>>>) {
        let (mut pipe, heard) = (self.open("out.raw"), Arc::<Mutex<Vec<u8>>>::default());
        let (mut block, written) = ([0; 1_920], Arc::clone(&heard));
        let hearing = self.every_20_ms(move || {
            let count = pipe.read(&mut block).unwrap_or(0);
            written.lock().unwrap().extend(&block[..count]);
        });
        (hearing, heard)
    }

    fn every_20_ms(&self, mut work: impl FnMut() + Send + 'static) -> JoinHandle<()> {
        let over = Arc::clone(&self.over);
        spawn(move || {
            let mut due = Instant::now();
            while !over.load(Ordering::Relaxed) {
                work();
                due += Duration::from_millis(20);
                sleep(due.saturating_duration_since(Instant::now()));
            }
        })
    }
}

#[test]
fn the_file_device_of_alsa_is_spoken_to() {
    let ((addr, gateway), pipes) = (silent_gateway(), Pipes::new());
    let speech = Arc::new(Mutex::new(VecDeque::new()));
    let speaking = pipes.speak(Arc::clone(&speech));
    let (hearing, _) = pipes.hear();
    let mut talk = Talk::new(&[0]);
    let mut command = talk.command(addr);
    talk.spawn(command.env("ALSA_CONFIG_PATH", pipes.dir.path().join("asound.conf")));
    talk.until_told("connected");
    // At 48 kHz.
    speech.lock().unwrap().extend(syllables(3).into_iter().flat_map(|sample| [sample; 2]));
    gateway.join().unwrap();
    interrupt(&mut talk);
    pipes.over.store(true, Ordering::Relaxed);
    speaking.join().unwrap();
    hearing.join().unwrap();
}

#[test]
fn the_file_device_of_alsa_is_heard() {
    let home = Home::new();
    let (gateway, pipes) = (Process::start(&home, ""), Pipes::new());
    let speaking = pipes.speak(Arc::default());
    let (hearing, heard) = pipes.hear();
    let mut talk = Talk::new(&[0]);
    let mut command = talk.command(gateway.addr);
    command.arg("--push-to-talk");
    talk.spawn(command.env("ALSA_CONFIG_PATH", pipes.dir.path().join("asound.conf")));
    talk.until_told("connected");
    ask_for_a_tone(&gateway, &talk);
    assert_the_tone_is_heard(|| tone_in(&samples(&heard.lock().unwrap()), 48_000));
    interrupt(&mut talk);
    pipes.over.store(true, Ordering::Relaxed);
    speaking.join().unwrap();
    hearing.join().unwrap();
}

fn samples(bytes: &[u8]) -> Vec<i16> {
    bytes.as_chunks::<2>().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect()
}
