//! Frames that nobody would send on purpose: random, mutated, cut, nested, and full of the wrong types.

use crate::process::Process;
use crate::rawsocket::{attach, packet};
use crate::support::{BODY, CHANNEL, Client, Home, KIND, REQUEST};
use crate::{golden_analyst, golden_core_ui, golden_smol};
use futures_util::{SinkExt, StreamExt};
use kakehashi::dialect::aicore::{AicoreDialect, client_kinds, read_connect};
use kakehashi::dialect::api::{ApiDialect, read_hello};
use kakehashi::dialect::{Dialect, Encoder, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{Channel, Command, SessionId};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

const FRAMES: u64 = 100_000;
const SOCKET_FRAMES: u64 = 3_000;
/// No answer to a bad frame may be longer, however long the frame was.
const LONGEST_ANSWER: usize = 4 * 1024;

#[test]
fn a_hundred_thousand_bad_frames_are_read_without_a_panic() {
    let dialects = Channel::ALL.map(|channel| {
        let id = SessionId::parse(&format!("ws-{}", "0".repeat(32))).unwrap();
        (channel, AicoreDialect::new(id, channel, Locale::Ja))
    });
    let mut mutator = Mutator::new(1);
    let (mut taken, mut refused) = (0_u64, 0_u64);
    for number in 0..FRAMES {
        let frame = mutator.frame();
        // Half of them where most is understood, the others on every channel in turn.
        let turn = if number % 2 == 0 { 1 } else { usize::try_from(number / 2 % 8).unwrap() };
        let (channel, dialect) = &dialects[turn];
        let read = catch_unwind(AssertUnwindSafe(|| check(*channel, dialect, &frame)));
        let understood = read.unwrap_or_else(|_| panic!("frame {number}: {frame:?}"));
        *(if understood { &mut taken } else { &mut refused }) += 1;
        let connect = catch_unwind(|| read_connect(&frame).map_err(|err| err.frame(Locale::En)));
        if let Err(answer) = connect.unwrap_or_else(|_| panic!("frame {number}: {frame:?}")) {
            assert!(answer.len() < LONGEST_ANSWER, "{answer}");
        }
    }
    // Both ways are walked, or the mutations are too harsh or too mild to mean anything.
    assert!(taken > FRAMES / 50 && refused > FRAMES / 2, "{taken} taken, {refused} refused");
}

#[test]
fn bad_frames_of_the_session_api_are_read_without_a_panic() {
    let id = SessionId::from_random(0);
    let dialect = ApiDialect::new(id, Locale::Ja, None);
    let mut samples = crate::api_docs::sent();
    samples.push(
        r#"{"type":"hello","after":7,"epoch":"ff","features":["audio"],"rate":16000}"#.to_owned(),
    );
    let mut mutator = Mutator { state: 4, samples };
    let (mut taken, mut refused) = (0_u64, 0_u64);
    for number in 0..FRAMES {
        let frame = mutator.other_value();
        let read = catch_unwind(AssertUnwindSafe(|| {
            let _ = read_hello(&frame).map_err(|error| error.say(Locale::En));
            dialect.decode(Received::Text(&frame))
        }));
        match read.unwrap_or_else(|_| panic!("frame {number}: {frame:?}")) {
            Ok(_) => taken += 1,
            Err(refusal) => {
                let mut answers = Vec::new();
                dialect.encoder().refuse(&refusal, &mut answers);
                let answer = answers[0].text().unwrap();
                assert!(answer.len() < LONGEST_ANSWER, "{answer}");
                let answer: Value = serde_json::from_str(answer).unwrap();
                assert_eq!(answer["type"], "error");
                refused += 1;
            }
        }
    }
    assert!(taken > FRAMES / 100 && refused > FRAMES / 4, "{taken} taken, {refused} refused");
}

#[test]
fn bad_frames_of_the_core_ui_interface_are_read_without_a_panic() {
    let golden = golden_core_ui::fixtures;
    throw_at(&golden_core_ui::dialect(), golden(), "client_", 5);
    throw_at(&golden_core_ui::page(), golden(), "agent_event_client_", 6);
}

#[test]
fn bad_frames_of_the_analyst_are_read_without_a_panic() {
    throw_at(&golden_analyst::dialect(), golden_analyst::fixtures(), "client_", 7);
}

#[test]
fn bad_frames_of_the_agent_ui_are_read_without_a_panic() {
    throw_at(&golden_smol::dialect(), golden_smol::fixtures(), "client_", 8);
}

/// Reads frames that are made of the golden ones whose names begin so. Each is understood or answered by one short
/// error frame.
fn throw_at<D: Dialect>(dialect: &D, golden: Vec<(String, Value)>, prefix: &str, seed: u64) {
    let golden = golden.into_iter().filter(|(name, _)| name.starts_with(prefix));
    let mut samples: Vec<String> = golden.map(|(_, frame)| frame.to_string()).collect();
    samples.sort();
    let mut mutator = Mutator { state: seed, samples };
    let (mut taken, mut refused) = (0_u64, 0_u64);
    for number in 0..FRAMES {
        let frame = mutator.inner_value();
        let read = catch_unwind(AssertUnwindSafe(|| dialect.decode(Received::Text(&frame))));
        match read.unwrap_or_else(|_| panic!("frame {number}: {frame:?}")) {
            Ok(_) => taken += 1,
            Err(refusal) => {
                let mut answers = Vec::new();
                dialect.encoder().refuse(&refusal, &mut answers);
                assert_eq!(answers.len(), 1);
                let answer = answers[0].text().unwrap();
                assert!(answer.len() < LONGEST_ANSWER, "{answer}");
                let answer: Value = serde_json::from_str(answer).unwrap();
                assert_eq!(answer["type"], "error");
                refused += 1;
            }
        }
    }
    assert!(taken > FRAMES / 100 && refused > FRAMES / 4, "{taken} taken, {refused} refused");
}

/// Reads one frame; what comes out must obey the rules of its socket. True if it was understood.
fn check(channel: Channel, dialect: &AicoreDialect, frame: &str) -> bool {
    let refusal = match dialect.decode(Received::Text(frame)) {
        Ok(read) => {
            let inbound = read.into_one().unwrap();
            let sound = matches!(
                inbound.command,
                Command::SendAudio(_)
                    | Command::StopPlayback
                    | Command::AckPlayback(_)
                    | Command::PressTalkKey(_)
            );
            let allowed = match channel {
                Channel::Audio => sound,
                Channel::Input => !sound,
                Channel::File | Channel::Chat | Channel::Agent(_) => false,
            };
            assert!(allowed, "{channel:?} took {inbound:?}");
            return true;
        }
        Err(refusal) => refusal,
    };
    let mut answers = Vec::new();
    dialect.encoder().refuse(&refusal, &mut answers);
    assert_eq!(answers.len(), 1);
    let answer = answers[0].text().unwrap();
    assert!(answer.len() < LONGEST_ANSWER, "{answer}");
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer[KIND], "error");
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_works_after_thousands_of_bad_frames() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut input = Client::open(process.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut writers = Vec::new();
    for (seed, name) in [(2, "input"), (3, "audio")] {
        let (_, socket) = attach(process.addr, name, Some(&id), json!({})).await;
        writers.push(tokio::spawn(throw(socket, seed)));
    }
    for writer in writers {
        timeout(Duration::from_secs(30), writer).await.expect("it hangs").unwrap();
    }
    assert_eq!(process.metric("kakehashi_panics_total"), 0);
    assert!(process.metric("kakehashi_frames_in_total") >= 2 * SOCKET_FRAMES);
    // Some of the frames were fit to be carried out; what still waits of them is in the way.
    input.send(&json!({CHANNEL: "0", KIND: "cancel_run", "実行番号": "all"})).await;
    let text = json!({CHANNEL: "0", KIND: "input_text", BODY: "still here?", REQUEST: "last"});
    input.send(&text).await;
    input.until_where(|packet| packet[KIND] == "ack" && packet[REQUEST] == "last").await;
    let (_, mut chat) = attach(process.addr, "0", Some(&id), json!({})).await;
    // A file among the frames may have become an attachment of this text.
    let answered = |packet: Value| {
        packet[BODY].as_str().is_some_and(|text| text.starts_with("echo: still here?"))
    };
    while !answered(packet(&mut chat).await) {}
}

/// Sends bad frames while it reads every answer, and returns when all have been dealt with.
async fn throw(socket: crate::rawsocket::Socket, seed: u64) {
    let (mut sink, mut stream) = socket.split();
    let sending = async {
        let mut mutator = Mutator::new(seed);
        for _ in 0..SOCKET_FRAMES {
            sink.send(Message::text(mutator.frame())).await.unwrap();
        }
        let end = json!({KIND: format!("the end of {seed}")}).to_string();
        sink.send(Message::text(end)).await.unwrap();
    };
    let reading = async {
        let last = format!("the end of {seed}");
        loop {
            match stream.next().await {
                Some(Ok(Message::Text(text))) if text.contains(&last) => break,
                Some(Ok(Message::Text(_) | Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("the socket did not stay open: {other:?}"),
            }
        }
    };
    tokio::join!(sending, reading);
}

/// Makes frames out of the golden ones, the same for the same seed.
struct Mutator {
    state: u64,
    samples: Vec<String>,
}

/// What may stand where another value belongs.
const VALUES: [&str; 17] = [
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "0.1e-7",
    "99999999999999999999999999999999999999999999999",
    "\"\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\u0000../../etc/passwd\"",
    "\"AAEC/w=\"",
    "\"!!not base64!!\"",
    "\"audio/pcm;rate=999999999999\"",
    "[[{}]]",
    "\"ああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああああ\"",
    "{\"ボタン\":{\"a\":[]}}",
];

const KEYS: [&str; 12] = [
    "メッセージ識別",
    "メッセージ内容",
    "チャンネル",
    "出力先チャンネル",
    "送信モード",
    "ファイル名",
    "要求番号",
    "実行番号",
    "ソケット番号",
    "セッションID",
    "最終連番",
    "世代",
];

impl Mutator {
    fn new(seed: u64) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/aicore");
        let mut paths: Vec<_> =
            std::fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path| std::fs::read_to_string(path).unwrap();
        let mut samples: Vec<String> = paths.into_iter().map(read).collect();
        samples.extend(client_kinds().map(|kind| {
            json!({CHANNEL: "0", KIND: kind, BODY: "AAEC", "ファイル名": "AAEC/w=="}).to_string()
        }));
        Self { state: seed, samples }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn frame(&mut self) -> String {
        let at = self.below(self.samples.len());
        let sample = self.samples[at].replace("<base64_pcm>", "AAEC/w==");
        match self.below(11) {
            0 => self.flip(sample),
            1 => {
                let end = self.below(sample.len());
                String::from_utf8_lossy(&sample.as_bytes()[..end]).into_owned()
            }
            2 => self.put(&sample, None),
            3..=5 => {
                let value = self.pick(&VALUES);
                self.put(&sample, Some(value))
            }
            6 => {
                let nest = self.nest();
                self.put(&sample, Some(&nest))
            }
            7 => self.nest(),
            8 => (0..self.below(200)).map(|_| self.letter()).collect(),
            9 => {
                let kind = format!("\"{}\"", self.pick(&client_kinds()));
                sample.replace("output_text", &kind).replace("output_audio", "input_audio")
            }
            _ => self.shuffle(&sample),
        }
    }

    /// A frame in which one value is another, or one of the usual mutations.
    fn other_value(&mut self) -> String {
        let at = self.below(self.samples.len());
        let sample = self.samples[at].clone();
        let Ok(Value::Object(mut frame)) = serde_json::from_str(&sample) else { return sample };
        match self.below(6) {
            0 => self.flip(sample),
            1 => self.nest(),
            2 => (0..self.below(200)).map(|_| self.letter()).collect(),
            _ => {
                let keys: Vec<String> = frame.keys().cloned().collect();
                let key = keys[self.below(keys.len())].clone();
                let value = self.pick(&VALUES);
                let Ok(value) = serde_json::from_str(value) else {
                    return format!("{{\"{key}\":{value},{}", &sample[1..]);
                };
                frame.insert(key, value);
                Value::from(frame).to_string()
            }
        }
    }

    /// Like `other_value`, but half of the time within `payload`.
    fn inner_value(&mut self) -> String {
        let at = self.below(self.samples.len());
        let Ok(mut frame) = serde_json::from_str::<Value>(&self.samples[at]) else {
            return self.other_value();
        };
        let Some(payload) = frame["payload"].as_object_mut().filter(|keys| !keys.is_empty()) else {
            return self.other_value();
        };
        let keys: Vec<String> = payload.keys().cloned().collect();
        let value = serde_json::from_str(self.pick(&VALUES));
        let (Ok(value), 0) = (value, self.below(2)) else { return self.other_value() };
        payload.insert(keys[self.below(keys.len())].clone(), value);
        frame.to_string()
    }

    /// A few bytes of it become others.
    fn flip(&mut self, sample: String) -> String {
        let mut bytes = sample.into_bytes();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            bytes[at] ^= 1 << self.below(8);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// One more key at the front, which may be there twice then, or instead of the other one.
    fn put(&mut self, sample: &str, value: Option<&str>) -> String {
        let key = self.pick(&KEYS);
        let value = value.unwrap_or("\"input_text\"");
        let rest = sample.trim_start().trim_start_matches('{');
        let rest = if self.below(4) == 0 { rest.to_owned() } else { rest.replacen(key, "x", 1) };
        format!("{{\"{key}\":{value},{rest}")
    }

    fn nest(&mut self) -> String {
        let depth = 200;
        if self.below(2) == 0 {
            format!("{}{}", "[".repeat(depth), "]".repeat(depth))
        } else {
            format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth - self.below(2)))
        }
    }

    fn letter(&mut self) -> char {
        let code = u32::try_from(self.next() % 0x3000).unwrap();
        if self.below(3) == 0 {
            self.pick(&['{', '}', '"', ':', ',', '\\', '[', '0'])
        } else {
            char::from_u32(code).unwrap_or('?')
        }
    }

    /// The same packet with other kinds and channels.
    fn shuffle(&mut self, sample: &str) -> String {
        let Ok(Value::Object(mut packet)) = serde_json::from_str(sample) else {
            return sample.to_owned();
        };
        packet.insert(KIND.to_owned(), self.pick(&client_kinds()).into());
        let channel = self.pick(&["audio", "input", "file", "0", "1", "4", "5", ""]);
        packet.insert(CHANNEL.to_owned(), channel.into());
        if self.below(3) == 0 {
            packet.insert(REQUEST.to_owned(), self.next().into());
        }
        Value::Object(packet).to_string()
    }
}
