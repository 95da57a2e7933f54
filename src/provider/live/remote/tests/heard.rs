//! Whatever happens, nobody is said to have heard more than was played; and not much less, if nothing is lost on the way.

use super::fake_vendor::Call;
use super::player::Network;
use super::*;
use crate::message::TalkKey;
use crate::provider::live::remote::vendor::gemini::tests::fake_vendor::Call as GeminiCall;
use crate::task;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep, sleep_until};

/// Replies are told apart by their letter, letters by their place.
const MOST_LETTERS: usize = 120;
const MOST_REPLIES: usize = 26;
/// `PROPTEST_CASES` asks for more.
const CASES: u32 = 16;
/// How many milliseconds sound may take on its way, and news of it back.
const FARTHEST: u64 = 400;
/// What is told too little of a reply: a torn word, and what was played since its socket last told.
const SLACK: usize = 6;

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

/// How a vendor says one reply.
#[derive(Debug, Clone, Copy)]
struct Manner {
    letters: usize,
    /// Samples of one letter: twenty a second or eight, or anything between, and much the same in all replies.
    letter: usize,
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

fn manners() -> impl Strategy<Value = Vec<Manner>> {
    let parts = (1_usize..MOST_LETTERS, 0_usize..=5, 1_usize..20, 0_u64..400, 0_usize..40);
    (1_200_usize..=2_850, prop::collection::vec(parts, 1..4)).prop_map(|(voice, replies)| {
        let manner = |(letters, slower, piece, pause, lead)| {
            let letter = voice * (100 + slower) / 100;
            Manner { letters, letter, piece, pause, lead }
        };
        replies.into_iter().map(manner).collect()
    })
}

fn network() -> impl Strategy<Value = Network> {
    let ways = (any::<u64>(), 0..=FARTHEST, prop_oneof![Just(0_u64), 1_u64..800]);
    ways.prop_map(|(seed, down, up)| {
        let (down, up) = (Duration::from_millis(down), Duration::from_millis(up));
        Network { seed, down, up }
    })
}

fn cases() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(CASES, |_| asked.cases);
    ProptestConfig { cases, ..asked }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn nobody_is_said_to_have_heard_more_than_was_played(
        actions in prop::collection::vec(action(), 1..14),
        manners in manners(),
        network in network(),
        lossless in any::<bool>(),
        is_known in any::<bool>(),
        kind in prop_oneof![Just(LiveKind::OpenAi), Just(LiveKind::Gemini)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let actions = if is_known { after_three_replies(actions) } else { actions };
        let talk = if lossless { without_loss(actions, network) } else { (actions, network) };
        runtime.block_on(converse(talk, manners, kind, lossless));
    }
}

#[tokio::test(start_paused = true)]
async fn a_voice_that_is_known_to_be_slow_is_told_less_far() {
    let manner =
        |letters, letter, piece, pause, lead| Manner { letters, letter, piece, pause, lead };
    let manners = vec![
        manner(25, 2_798, 18, 255, 16),
        manner(107, 2_717, 1, 388, 18),
        manner(9, 2_798, 6, 282, 37),
    ];
    let way = Duration::from_millis(130);
    let network = Network { seed: 11_541_492_087_059_766_960, down: way, up: Duration::ZERO };
    let actions = after_three_replies(vec![Action::Wait(2_175), Action::Wait(603)]);
    converse((actions, network), manners, LiveKind::OpenAi, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_voice_is_not_taken_to_be_slower_than_it_was() {
    let manners = vec![
        Manner { letters: 20, letter: 2_809, piece: 15, pause: 0, lead: 0 },
        Manner { letters: 104, letter: 2_755, piece: 2, pause: 395, lead: 16 },
    ];
    let way = Duration::from_millis(320);
    let network = Network { seed: 249_103_998_190_044_202, down: way, up: Duration::ZERO };
    let actions = after_three_replies(vec![Action::Wait(0)]);
    converse((actions, network), manners, LiveKind::Gemini, true).await;
}

/// The same with a voice that is known by then.
fn after_three_replies(actions: Vec<Action>) -> Vec<Action> {
    let replies = [Action::Wait(20_000), Action::Write].into_iter().cycle().take(6);
    replies.chain(actions).collect()
}

/// The same with a client that is always there, and always heard at once.
fn without_loss(mut actions: Vec<Action>, network: Network) -> (Vec<Action>, Network) {
    actions.retain(|action| !action.loses_something());
    (actions, Network { up: Duration::ZERO, ..network })
}

async fn converse(
    (actions, network): (Vec<Action>, Network),
    manners: Vec<Manner>,
    kind: LiveKind,
    lossless: bool,
) {
    let name = if kind == LiveKind::Gemini { "gemini-3.8-live" } else { "first" };
    let Talk { link, speaker, player, vendor } = talk_with(rules(), &[name]);
    let LiveLink { input, mut output } = link;
    player.far_away(network);
    let (hang_up, hung_up) = mpsc::channel(1);
    match kind {
        LiveKind::OpenAi => task::spawn("vendor", serve(vendor, manners.clone(), hung_up)),
        LiveKind::Gemini => task::spawn("vendor", serve_gemini(vendor, manners.clone(), hung_up)),
    };
    let mut connection = 1;
    say(&input, LiveInput::Text("begin".to_owned())).await;
    for action in actions {
        match action {
            Action::Wait(time) => sleep(Duration::from_millis(time)).await,
            Action::Cancel => {
                player.hush();
                speaker.stop(None);
                say(&input, LiveInput::Interrupt).await;
            }
            Action::Write => say(&input, LiveInput::Text("more".to_owned())).await,
            Action::Key(chunks) => {
                say(&input, LiveInput::TalkKey(TalkKey::Pressed)).await;
                microphone(&input, chunks).await;
                say(&input, LiveInput::TalkKey(TalkKey::Released)).await;
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
    let played = played(&player, &manners);
    for (name, letters) in &told {
        let heard = played.get(name).copied().unwrap_or(0);
        assert!(*letters <= heard, "{letters} letters of {name} were told, {heard} were played");
    }
    // A voice is taken to say eight letters a second, or an eighth less than the slowest of its replies.
    let slowest = manners.iter().map(|manner| manner.letter * 8 / 7 + 1).max().unwrap().max(3_000);
    for (name, heard) in played.into_iter().filter(|_| lossless) {
        let letter = manners[usize::from(name as u8 - b'a') % manners.len()].letter;
        let least = heard * letter / slowest;
        let letters = told.get(&name).copied().unwrap_or(0);
        assert!(letters + SLACK >= least, "{letters} letters of {name} were told, {heard} played");
    }
}

impl Action {
    /// Nobody knows exactly any more what was heard.
    fn loses_something(&self) -> bool {
        match self {
            Self::LoseAcks(_) | Self::HandOver | Self::HangUp => true,
            Self::Wait(_) | Self::Cancel | Self::Write | Self::Key(_) | Self::Speak(_) => false,
        }
    }
}

/// A conversation may have been given up by then, which is no reason to tell too much of it.
async fn say(input: &mpsc::Sender<LiveInput>, what: LiveInput) {
    let _ = input.send(what).await;
}

async fn microphone(input: &mpsc::Sender<LiveInput>, chunks: usize) {
    for _ in 0..chunks {
        let pcm = 9_000_i16.to_le_bytes().repeat(640).into();
        let chunk = AudioChunk { rate: 16_000, pcm };
        say(input, LiveInput::Audio { chunk, lost: 0 }).await;
        sleep(Duration::from_millis(40)).await;
    }
}

/// Letters of each reply that were played from beginning to end.
fn played(player: &Player, manners: &[Manner]) -> BTreeMap<char, usize> {
    let mut letters = BTreeMap::new();
    for (value, count) in player.played.lock().unwrap().iter() {
        let reply = usize::try_from(*value).unwrap() / MOST_LETTERS;
        if *count >= manners[reply % manners.len()].letter {
            let name = char::from(b'a' + u8::try_from(reply).unwrap());
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
                event = call.read() => {
                    let Some(event) = event else { break };
                    match event["type"].as_str().unwrap() {
                        "response.create" if speaking.is_none() && replies < MOST_REPLIES => {
                            let reply = Speaking::new(replies, &manners);
                            call.created(&reply.id).await;
                            speaking = Some(reply);
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
                    let Some(now) = &mut speaking else { continue };
                    if now.go_on_in(&mut call).await {
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

/// It answers what it reads and what it hears, and falls silent by itself when it hears somebody.
async fn serve_gemini(mut vendor: Vendor, manners: Vec<Manner>, mut hang_up: mpsc::Receiver<()>) {
    let mut replies = 0;
    loop {
        let mut call = GeminiCall::pick_up(vendor.ring().await).await;
        call.begin().await;
        let (mut speaking, mut seen): (Option<Speaking>, usize) = (None, 0);
        loop {
            let next = speaking.as_ref().map(|speaking| speaking.next);
            if call.loud > seen {
                seen = call.loud;
                fall_silent(&mut call, &mut speaking).await;
            }
            tokio::select! {
                frame = call.read() => {
                    let Some(frame) = frame else { break };
                    let input = &frame["realtimeInput"];
                    let begins = input["activityStart"].is_object();
                    let asks = input["text"].is_string()
                        || input["activityEnd"].is_object()
                        || input["audioStreamEnd"] == true;
                    if begins || asks {
                        fall_silent(&mut call, &mut speaking).await;
                    }
                    if asks && replies < MOST_REPLIES {
                        call.handle(None).await;
                        speaking = Some(Speaking::new(replies, &manners));
                        replies += 1;
                    }
                }
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    let Some(now) = &mut speaking else { continue };
                    if now.go_on_in_gemini(&mut call).await {
                        let end = json!({"generationComplete": true, "turnComplete": true});
                        call.content(end).await;
                        call.handle(Some("h")).await;
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

async fn fall_silent(call: &mut GeminiCall<DuplexStream>, speaking: &mut Option<Speaking>) {
    if speaking.take().is_some() {
        call.content(json!({"interrupted": true})).await;
        call.content(json!({"turnComplete": true})).await;
    }
}

impl Speaking {
    fn new(reply: usize, manners: &[Manner]) -> Self {
        let manner = manners[reply % manners.len()];
        let (id, next) = (format!("r{reply}"), Instant::now());
        Self { id, reply, manner, spoken: 0, written: 0, next }
    }

    async fn go_on_in(&mut self, call: &mut Call) -> bool {
        let (text, samples) = self.go_on();
        call.text(&self.id, &text).await;
        call.sound(&self.id, &samples).await;
        self.is_complete()
    }

    async fn go_on_in_gemini(&mut self, call: &mut GeminiCall<DuplexStream>) -> bool {
        let (text, samples) = self.go_on();
        call.words(&text).await;
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        call.pcm(&bytes).await;
        self.is_complete()
    }

    fn is_complete(&self) -> bool {
        self.spoken == self.manner.letters
    }

    /// The next words, and the next piece of sound.
    fn go_on(&mut self) -> (String, Vec<i16>) {
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
        let value = |at: usize| i16::try_from(self.reply * MOST_LETTERS + at).unwrap();
        let letter = |at: usize| std::iter::repeat_n(value(at), self.manner.letter);
        let samples = (self.spoken..end).flat_map(letter).collect();
        self.spoken = end;
        self.next = Instant::now() + Duration::from_millis(self.manner.pause);
        (text, samples)
    }
}
