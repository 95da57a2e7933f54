//! Whatever happens, nobody is said to have heard more than was played.

use super::vendor::{Call, LETTER};
use super::*;
use crate::message::TalkKey;
use crate::task;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use tokio::time::{Instant, sleep, sleep_until};

/// Replies are told apart by their letter, letters by their place.
const MOST_LETTERS: usize = 120;

#[derive(Debug, Clone)]
enum Action {
    Wait(u64),
    Cancel,
    Write,
    /// Speaks by a key for so many chunks.
    Key(usize),
    /// Speaks into the microphone for so many chunks.
    Speak(usize),
    LoseAcks(bool),
    HandOver,
    HangUp,
}

/// How a vendor speaks.
#[derive(Debug, Clone, Copy)]
struct Manner {
    letters: usize,
    /// Letters in one piece of sound.
    piece: usize,
    /// Between two pieces.
    pause: u64,
    /// How many letters the text is ahead of the sound.
    lead: usize,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0_u64..3_000).prop_map(Action::Wait),
        2 => Just(Action::Cancel),
        2 => Just(Action::Write),
        1 => (1_usize..30).prop_map(Action::Key),
        2 => (1_usize..40).prop_map(Action::Speak),
        1 => any::<bool>().prop_map(Action::LoseAcks),
        1 => Just(Action::HandOver),
        1 => Just(Action::HangUp),
    ]
}

fn manner() -> impl Strategy<Value = Manner> {
    let parts = (1_usize..MOST_LETTERS, 1_usize..20, 0_u64..400, 0_usize..40);
    parts.prop_map(|(letters, piece, pause, lead)| Manner { letters, piece, pause, lead })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_said_to_have_heard_more_than_was_played(
        actions in prop::collection::vec(action(), 1..14),
        manners in prop::collection::vec(manner(), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(converse(actions, manners));
    }
}

async fn converse(actions: Vec<Action>, manners: Vec<Manner>) {
    let Talk { link, speaker, player, vendor } = talk();
    let LiveLink { input, mut output } = link;
    let (hang_up, hung_up) = mpsc::channel(1);
    task::spawn("vendor", serve(vendor, manners, hung_up));
    let mut connection = 1;
    input.send(LiveInput::Text("begin".to_owned())).await.unwrap();
    for action in actions {
        match action {
            Action::Wait(time) => sleep(Duration::from_millis(time)).await,
            Action::Cancel => {
                player.hush();
                speaker.stop(None);
                input.send(LiveInput::Interrupt).await.unwrap();
            }
            Action::Write => input.send(LiveInput::Text("more".to_owned())).await.unwrap(),
            Action::Key(chunks) => {
                input.send(LiveInput::TalkKey(TalkKey::Pressed)).await.unwrap();
                microphone(&input, chunks).await;
                input.send(LiveInput::TalkKey(TalkKey::Released)).await.unwrap();
            }
            Action::Speak(chunks) => microphone(&input, chunks).await,
            Action::LoseAcks(lost) => player.deaf.store(lost, Ordering::Relaxed),
            Action::HandOver => {
                connection += 1;
                player.take_over(&speaker, ConnectionId(connection));
            }
            Action::HangUp => drop(hang_up.try_send(())),
        }
    }
    sleep(Duration::from_secs(180)).await;
    let mut told = BTreeMap::new();
    while let Ok(output) = output.try_recv() {
        if let LiveOutput::Transcript { speaker: Side::Model, text, .. } = output {
            let name = text.chars().next().unwrap();
            let letters = text.chars().filter(char::is_ascii_alphabetic).count();
            assert_eq!(told.insert(name, letters), None, "a reply is told once");
        }
    }
    let played = played(&player);
    for (name, letters) in told {
        let heard = played.get(&name).copied().unwrap_or(0);
        assert!(letters <= heard, "{letters} letters of {name} were told, {heard} were played");
    }
}

async fn microphone(input: &mpsc::Sender<LiveInput>, chunks: usize) {
    for _ in 0..chunks {
        let pcm = 9_000_i16.to_le_bytes().repeat(640).into();
        let chunk = AudioChunk { rate: 16_000, pcm };
        input.send(LiveInput::Audio { chunk, gap: false }).await.unwrap();
        sleep(Duration::from_millis(40)).await;
    }
}

/// Letters of each reply that were played from beginning to end.
fn played(player: &Player) -> BTreeMap<char, usize> {
    let mut letters = BTreeMap::new();
    for (value, count) in player.played.lock().unwrap().iter() {
        let reply = u32::try_from(usize::try_from(*value).unwrap() / MOST_LETTERS).unwrap();
        if *count >= LETTER {
            let name = char::from_u32(u32::from('a') + reply).unwrap();
            *letters.entry(name).or_insert(0) += 1;
        }
    }
    letters
}

/// One reply that is being made.
struct Speaking {
    id: String,
    reply: usize,
    manner: Manner,
    spoken: usize,
    written: usize,
    next: Instant,
}

async fn serve(mut vendor: Vendor, manners: Vec<Manner>, mut hang_up: mpsc::Receiver<()>) {
    let mut replies = 0;
    loop {
        let mut call = vendor.answer().await;
        let mut speaking: Option<Speaking> = None;
        loop {
            let next = speaking.as_ref().map(|speaking| speaking.next);
            tokio::select! {
                event = call.event() => {
                    let Some(event) = event else { break };
                    match event["type"].as_str().unwrap() {
                        "response.create" if speaking.is_none() && replies < 26 => {
                            let id = format!("r{replies}");
                            call.created(&id).await;
                            let manner = manners[replies % manners.len()];
                            let (reply, next) = (replies, Instant::now());
                            speaking = Some(Speaking { id, reply, manner, spoken: 0, written: 0, next });
                            replies += 1;
                        }
                        "response.cancel" => match speaking.take() {
                            Some(cut) => call.done(&cut.id, "cancelled").await,
                            None => call.error("response_cancel_not_active", &event).await,
                        },
                        "input_audio_buffer.commit" => {
                            call.send(json!({"type": "input_audio_buffer.committed", "item_id": "u"})).await;
                        }
                        _ => (),
                    }
                }
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    if let Some(now) = &mut speaking && now.go_on(&mut call).await {
                        call.done(&now.id, "completed").await;
                        speaking = None;
                    }
                }
                Some(()) = hang_up.recv() => {
                    call.close(1011, "gone").await;
                    break;
                }
            }
        }
    }
}

impl Speaking {
    /// True when it is complete.
    async fn go_on(&mut self, call: &mut Call) -> bool {
        let end = (self.spoken + self.manner.piece).min(self.manner.letters);
        let name = char::from(b'a' + u8::try_from(self.reply).unwrap());
        let ahead = (end + self.manner.lead).min(self.manner.letters);
        let mut text = String::new();
        for at in self.written..ahead {
            text.push(name);
            if at % 4 == 3 {
                text.push(' ');
            }
        }
        self.written = ahead.max(self.written);
        call.text(&self.id, &text).await;
        let value = |at: usize| i16::try_from(self.reply * MOST_LETTERS + at).unwrap();
        let samples: Vec<i16> =
            (self.spoken..end).flat_map(|at| std::iter::repeat_n(value(at), LETTER)).collect();
        call.sound(&self.id, &samples).await;
        self.spoken = end;
        self.next = Instant::now() + Duration::from_millis(self.manner.pause);
        end == self.manner.letters
    }
}
