//! What `kakehashi talk` tells a gateway about its speaker, held against what it has really played. The gateway here is
//! a script, so that every packet comes when it is wanted.

use crate::support::{BODY, KIND, PATIENCE, SESSION};
use crate::talking::{Talk, noise};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

const ID: &str = "ws-9d5e429d548ace0fdcf743a3d74ee399";
const GENERATION: &str = "世代番号";
const PLAYED: &str = "再生サンプル数";
const LEFT: &str = "残ミリ秒";

/// One socket of the scripted gateway.
pub(crate) struct Line {
    ws: WebSocketStream<TcpStream>,
    hello: Value,
}

impl Line {
    /// The next socket of this channel; others are welcomed and left alone.
    pub(crate) async fn accept(listener: &TcpListener, channel: &str) -> Self {
        let next = async {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let mut line = Self { ws: accept_async(stream).await.unwrap(), hello: Value::Null };
                line.hello = line.next().await;
                let socket = line.hello["ソケット番号"].clone();
                line.send(&json!({
                    SESSION: ID, "ソケット番号": socket, "チャンネル": socket, KIND: "init", BODY: {},
                    "世代": "2806678b8a3b1d7d", "再開": false, "機能": ["playback"],
                }))
                .await;
                if socket == channel {
                    return line;
                }
                tokio::spawn(async move { while line.ws.next().await.is_some() {} });
            }
        };
        timeout(PATIENCE, next).await.expect("nobody came")
    }

    async fn next(&mut self) -> Value {
        loop {
            match timeout(PATIENCE, self.ws.next()).await.expect("no packet in time") {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(_)) => {}
                other => panic!("no packet but {other:?}"),
            }
        }
    }

    /// The samples of the next piece that the microphone has heard.
    #[cfg(feature = "mic")]
    pub(crate) async fn hear(&mut self) -> Vec<i16> {
        loop {
            let packet = self.next().await;
            if packet[KIND] == "input_audio" {
                let pcm = packet["ファイル名"].as_str().unwrap();
                let bytes = base64_simd::STANDARD.decode_to_vec(pcm).unwrap();
                let pairs = bytes.as_chunks::<2>().0;
                return pairs.iter().map(|pair| i16::from_le_bytes(*pair)).collect();
            }
        }
    }

    async fn send(&mut self, packet: &Value) {
        self.ws.send(Message::text(packet.to_string())).await.unwrap();
    }

    async fn play(&mut self, generation: u64, samples: &[i16]) {
        for packet in samples.chunks(2_400) {
            let bytes: Vec<u8> = packet.iter().flat_map(|sample| sample.to_le_bytes()).collect();
            let pcm = base64_simd::STANDARD.encode_to_string(bytes);
            self.send(&json!({
                SESSION: ID, "チャンネル": "audio", KIND: "output_audio", BODY: "audio/pcm", "ファイル名": pcm,
                "サムネイル画像": null, GENERATION: generation,
            }))
            .await;
        }
    }

    async fn cancel(&mut self, generation: u64) {
        self.send(&json!({
            SESSION: ID, "チャンネル": "audio", KIND: "cancel_audio", BODY: "stop", "ファイル名": null,
            "サムネイル画像": null, GENERATION: generation,
        }))
        .await;
    }

    /// The next report about this generation that says at least so much.
    async fn ack(&mut self, generation: u64, enough: impl Fn(&Value) -> bool) -> Value {
        loop {
            let packet = self.next().await;
            let body = &packet[BODY];
            if packet[KIND] == "playback_ack" && body[GENERATION] == generation && enough(body) {
                return body.clone();
            }
        }
    }

    /// Keeps reading, as a gateway does.
    fn ignore(mut self) {
        tokio::spawn(async move { while self.ws.next().await.is_some() {} });
    }
}

async fn start(seconds: usize) -> (Talk, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut talk = Talk::new(&vec![0; 24_000 * seconds]);
    talk.start(listener.local_addr().unwrap(), "1", &[]);
    (talk, listener)
}

async fn ended(mut talk: Talk) -> Talk {
    let done = tokio::task::spawn_blocking(move || {
        assert!(talk.wait().success(), "{}", talk.errors());
        talk
    });
    done.await.unwrap()
}

fn played(body: &Value) -> u64 {
    body[PLAYED].as_u64().unwrap()
}

#[tokio::test]
async fn reports_say_exactly_what_was_played() {
    let (talk, listener) = start(3).await;
    let mut line = Line::accept(&listener, "audio").await;
    assert_eq!(line.hello["機能"], json!(["playback"]));
    line.play(1, &[5_000; 72_000]).await;
    let heard = line.ack(1, |body| played(body) > 12_000).await;
    assert!(heard[LEFT].as_u64().unwrap() > 1_000, "{heard}");
    line.cancel(1).await;
    // Late, and therefore for nobody.
    line.play(1, &[5_000; 2_400]).await;
    line.play(2, &[-5_000; 12_000]).await;
    let mut told = 0;
    let second = loop {
        let body = line.next().await[BODY].clone();
        if body[GENERATION] == 1 {
            told = played(&body);
        } else if body[GENERATION] == 2 && body[LEFT] == 0 {
            break played(&body);
        }
    };
    assert_eq!(second, 12_000);
    // One that is cancelled before it begins was not heard at all.
    line.play(3, &[7_000; 240]).await;
    line.cancel(3).await;
    assert_eq!(played(&line.ack(3, |_| true).await), 0);
    line.ignore();

    let talk = ended(talk).await;
    let sound = talk.played();
    let positive = sound.iter().filter(|sample| **sample > 0).count() as u64;
    // The report comes with the cancel, the fade behind it is a few milliseconds, and its last sample is silent.
    assert!(told <= positive + 1 && positive <= told + 24 * 20, "{told} told, {positive} played");
    assert_eq!(sound.iter().filter(|sample| **sample == -5_000).count(), 12_000 - 192);
    assert!(sound.iter().all(|sample| *sample <= 5_000), "the third was never played");
    // The first sample of all may be one of sound.
    let sound = [&[0], &sound[..]].concat();
    let steps = sound.windows(2).map(|pair| (i32::from(pair[0]) - i32::from(pair[1])).abs());
    // Only the hard beginnings of the two answers are steps; their ends are fades.
    assert_eq!(steps.filter(|step| *step > 100).count(), 2);
}

#[tokio::test]
async fn a_lost_socket_costs_no_sound_and_repeats_none() {
    let (talk, listener) = start(3).await;
    let speech = noise(48_000);
    let mut line = Line::accept(&listener, "audio").await;
    line.play(1, &speech[..24_000]).await;
    let known = line.ack(1, |body| played(body) > 6_000).await;
    drop(line);
    // The next one goes on from what it knows to be heard, which is less than what was heard by now.
    let mut line = Line::accept(&listener, "audio").await;
    assert_eq!(line.hello[SESSION], ID);
    assert_eq!(line.hello["世代"], "2806678b8a3b1d7d");
    let from = usize::try_from(played(&known)).unwrap();
    line.play(1, &speech[from..]).await;
    let all = line.ack(1, |body| body[LEFT] == 0).await;
    assert_eq!(played(&all) as usize, 48_000 - from, "of what this socket has brought");
    line.ignore();

    let talk = ended(talk).await;
    let sound = talk.played();
    let blocks = speech.chunks_exact(480);
    let places = |block: &[i16]| {
        sound.windows(480).enumerate().filter(|(_, at)| *at == block).map(|(at, _)| at).collect()
    };
    let found: Vec<Vec<usize>> = blocks.map(places).collect();
    assert!(found.iter().all(|places| places.len() <= 1), "nothing is played twice");
    let there: Vec<_> = found.iter().flatten().collect();
    assert!(there.len() >= 96, "{} of 100 blocks", there.len());
    assert!(there.is_sorted());
}

#[tokio::test]
async fn push_to_talk_frames_what_is_spoken() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut talk = Talk::new(&noise(12_000));
    talk.start(listener.local_addr().unwrap(), "0.5", &["--push-to-talk"]);
    let mut line = Line::accept(&listener, "audio").await;
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "end") {
        let packet = line.next().await;
        let state = packet[BODY]["状態"].as_str().unwrap_or_default();
        let kind =
            if packet[KIND] == "push_to_talk" { state } else { packet[KIND].as_str().unwrap() };
        kinds.push(kind.to_owned());
    }
    assert_eq!(kinds.first().unwrap(), "start");
    let spoken = kinds.iter().filter(|kind| *kind == "input_audio").count();
    assert_eq!(spoken, kinds.len() - 2);
    assert_eq!(spoken, 25, "half a second in pieces of 20 ms");
    // Nothing is sent without the key, to the very end.
    while let Some(Ok(message)) = timeout(PATIENCE, line.ws.next()).await.expect("still open") {
        assert!(!message.to_string().contains("input_audio"), "{message}");
    }
    ended(talk).await;
}

#[tokio::test]
async fn a_gateway_without_the_playback_feature_gets_no_reports() {
    let (talk, listener) = start(2).await;
    let mut line = Line::accept(&listener, "audio").await;
    // Half a second.
    let pcm = base64_simd::STANDARD.encode_to_string(vec![16; 24_000]);
    let mut sound = json!({
        SESSION: ID, "チャンネル": "audio", KIND: "output_audio", BODY: "audio/pcm", "ファイル名": pcm,
    });
    line.send(&sound).await;
    // It records as fast as it plays, in pieces of 20 ms: when it has sent 60 of them, it has played everything.
    let mut recorded = 0;
    while recorded < 60 {
        recorded += usize::from(line.next().await[KIND] == "input_audio");
    }
    line.send(&json!({KIND: "cancel_audio", "チャンネル": "audio", BODY: "stop"})).await;
    sound[KIND] = json!("error");
    sound["コード"] = json!("unknown_kind");
    sound[BODY] = json!("what is that?");
    line.send(&sound).await;
    while let Ok(Some(Ok(message))) = timeout(PATIENCE, line.ws.next()).await {
        assert!(!message.to_string().contains("playback_ack"), "{message}");
    }
    let talk = ended(talk).await;
    assert_eq!(talk.played().iter().filter(|sample| **sample == 0x1010).count(), 12_000 - 192);
    assert!(!talk.told().contains("what is that?"), "{}", talk.told());
}
