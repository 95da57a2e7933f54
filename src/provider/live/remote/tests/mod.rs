//! Whole conversations on the paused clock: a vendor in memory that speaks Realtime's own JSON, and a speaker that
//! knows to the sample what it has played.

mod availability;
mod fake_vendor;
mod heard;
#[cfg(feature = "slow-tests")]
mod hours;
mod lives;
mod player;
mod talking;
mod turns;
mod unstoppable;

use super::connection::dial::Dialer;
use super::speech::turn_taking::tests::rules;
use super::{Availability, Client, Remote, SizeProbe};
use crate::audio::voice::VoiceGate;
use crate::message::{AudioChunk, ConnectionId, Speaker as Side};
use crate::provider::live::{self, LiveConfig, LiveInput, LiveLink, LiveOutput, Said, Speaker};
use crate::provider::row::{ChatKey, LiveKind, LiveModel, Secret, TurnRules};
use fake_vendor::Vendor;
use player::Player;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A conversation, and everybody who takes part in it.
struct Talk {
    link: LiveLink,
    speaker: Speaker,
    player: Player,
    vendor: Vendor,
}

fn model(name: &str) -> Arc<LiveModel> {
    let secret = Some(Secret::new("sk-secret"));
    Arc::new(LiveModel {
        name: name.to_owned(),
        label: name.to_uppercase(),
        kind: if name.starts_with("gemini") { LiveKind::Gemini } else { LiveKind::OpenAi },
        base_url: "ws://vendor/v1".to_owned(),
        model: name.to_owned(),
        voice: Some("marin".to_owned()),
        key: Some(ChatKey { variable: "A_KEY".to_owned(), secret }),
        language: None,
        transcription: None,
    })
}

fn talk() -> Talk {
    talk_with(rules(), &["first"])
}

fn talk_with(rules: TurnRules, models: &[&str]) -> Talk {
    talk_after(Vec::new(), rules, models)
}

/// After something was said elsewhere.
fn talk_after(past: Vec<Said>, rules: TurnRules, models: &[&str]) -> Talk {
    let (calls, called) = mpsc::channel(4);
    let remote = Remote {
        models: models.iter().map(|name| model(name)).collect(),
        rules: Arc::new(rules),
        ..remote_to(calls)
    };
    let speaker = Speaker::default();
    let player = Player::start(&speaker, ConnectionId(1));
    let link = live::connect(&LiveConfig::Remote(remote), speaker.clone(), ready(past));
    Talk { link, speaker, player, vendor: Vendor::new(called) }
}

/// With nobody to talk to.
pub(super) fn remote() -> Remote {
    remote_to(mpsc::channel(1).0)
}

fn remote_to(calls: mpsc::Sender<DuplexStream>) -> Remote {
    let client = Client {
        dialer: Dialer::to(calls),
        availability: Availability::default(),
        gate: by_level,
        size_probe: SizeProbe::default(),
    };
    Remote {
        models: vec![model("first")],
        rules: Arc::new(rules()),
        instructions: "be brief".into(),
        tools: Vec::new(),
        client,
    }
}

/// Whatever is loud is a voice.
fn by_level(rules: &TurnRules) -> VoiceGate {
    let judge = |frame: &[i16]| if frame.iter().any(|level| *level > 1_000) { 1.0 } else { 0.0 };
    VoiceGate::judged_by(Box::new(judge), rules.threshold_percent, rules.silence)
}

impl Talk {
    async fn say(&self, input: LiveInput) {
        self.link.input.send(input).await.unwrap();
    }

    /// The user wants silence, as a session passes it on.
    async fn cancel(&self) {
        self.player.hush();
        self.speaker.stop(None);
        self.say(LiveInput::Interrupt).await;
    }

    /// A second of microphone is 25 chunks.
    async fn microphone(&self, level: i16, chunks: usize) {
        for _ in 0..chunks {
            let pcm = level.to_le_bytes().repeat(960).into();
            self.say(LiveInput::Audio { chunk: AudioChunk { rate: 24_000, pcm }, lost: 0 }).await;
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }

    /// What the session is told next, besides times and costs.
    async fn told(&mut self) -> LiveOutput {
        loop {
            let next = timeout(Duration::from_secs(120), self.link.output.recv()).await;
            let output = next.unwrap().unwrap();
            if !matches!(output, LiveOutput::Turn(_) | LiveOutput::Usage { .. }) {
                return output;
            }
        }
    }

    async fn said(&mut self) -> (Side, String, bool) {
        let told = self.told().await;
        let LiveOutput::Transcript { speaker, text, interrupted } = told else {
            panic!("{told:?}");
        };
        (speaker, text, interrupted.is_some())
    }

    /// Nothing is told for a minute.
    async fn nothing(&mut self) {
        let found = timeout(Duration::from_secs(60), self.told()).await;
        assert!(found.is_err(), "{found:?}");
    }
}

fn user(text: &str) -> (Side, String, bool) {
    (Side::User, text.to_owned(), false)
}

fn answer(text: &str) -> (Side, String, bool) {
    (Side::Model, text.to_owned(), false)
}

fn cut(text: &str) -> (Side, String, bool) {
    (Side::Model, text.to_owned(), true)
}
