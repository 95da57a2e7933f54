//! OpenAI's Realtime protocol, as it is generally available, and of servers that speak it. The vendor detects speech
//! where it is to, but never answers or falls silent by itself: when to speak is decided here, for all vendors alike.

mod answer;
mod session;
mod slot;
mod wire;

use super::protocol::{
    Address, Capabilities, Deed, Fate, Protocol, ReplyEnd, Resume, Said, Setup, Wish,
};
use crate::provider::row::{TurnRules, Turns};
use serde_json::{Value, json};
use slot::{Act, Responses};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;
use wire::{ClientEvent, Content, Item, Limit, Outgoing, OutputItem, ServerEvent, Trouble};

const RATE: u32 = 24_000;
/// The vendor ends a session after an hour, without a warning.
const RENEW_AFTER: Duration = Duration::from_secs(50 * 60);
const LONGEST: Duration = Duration::from_secs(58 * 60);
/// Shorter turns are refused.
const SHORTEST_TURN: usize = 2 * RATE as usize / 10;
/// So much silence, besides what the rules say, makes sure that a switched-off microphone ends a turn.
const EXTRA_SILENCE: Duration = Duration::from_millis(300);
/// Replies and calls that are remembered on one connection. More: the oldest is forgotten, long after it was heard.
const MOST_KNOWN: usize = 32;
/// Until somebody does something, nothing will work.
const FATAL: [&str; 5] = [
    "insufficient_quota",
    "invalid_api_key",
    "account_deactivated",
    "billing_hard_limit_reached",
    "model_not_found",
];

#[derive(Debug)]
pub(super) struct OpenAi {
    setup: Setup,
    now: Connection,
    /// The server does not take that it is to write down what the user says.
    untranscribed: bool,
}

/// What is known of one connection.
#[derive(Debug, Default)]
struct Connection {
    events: u64,
    ready: bool,
    /// By which the session was configured.
    configured: String,
    responses: Responses,
    /// Messages of the response that is being made.
    replies: Vec<String>,
    /// Samples of the last replies, because nothing can be cut behind its end.
    made: VecDeque<(String, u64)>,
    /// The first half of a sample whose other half is still to come, and whose it is.
    half: Option<(String, u8)>,
    calls: Vec<(String, String, String)>,
    /// The last calls that this connection knows.
    known_calls: VecDeque<String>,
    hearing: Option<String>,
    /// Bytes of a turn that we tell the vendor ourselves.
    manual: Option<usize>,
    committed: bool,
}

impl OpenAi {
    pub(super) fn new(setup: Setup) -> Self {
        Self { setup, now: Connection::default(), untranscribed: false }
    }

    fn send(&mut self, event: ClientEvent) -> (Deed, String) {
        self.now.events += 1;
        let event_id = format!("k{}", self.now.events);
        let outgoing = Outgoing { event_id: &event_id, event };
        // Nothing in these types can fail to be written.
        let frame = serde_json::to_string(&outgoing).unwrap_or_default();
        (Deed::Send(frame), event_id)
    }

    fn just(&mut self, event: ClientEvent) -> Deed {
        self.send(event).0
    }

    fn act(&mut self, act: Option<Act>) -> Option<Deed> {
        match act? {
            Act::Create => {
                let (deed, event) = self.send(ClientEvent::Respond);
                self.now.responses.requested(&event);
                Some(deed)
            }
            Act::Cancel { response } => {
                Some(self.just(ClientEvent::Cancel { response_id: response }))
            }
        }
    }

    fn request(&mut self) -> Option<Deed> {
        let act = self.now.responses.want();
        self.act(act)
    }

    fn message(&mut self, role: &'static str, content: Content) -> Deed {
        let item = Item::Message { role, content: vec![content] };
        self.just(ClientEvent::Create { item })
    }

    fn detect(&mut self, detection: Value) -> Option<Deed> {
        let input = json!({"turn_detection": detection});
        let session = json!({"type": "realtime", "audio": {"input": input}});
        let vendors = self.setup.rules.turns == Turns::Model;
        vendors.then(|| self.just(ClientEvent::Update { session }))
    }

    fn hear(&mut self, pcm: &[u8]) -> Deed {
        if let Some(bytes) = &mut self.now.manual {
            *bytes += pcm.len();
        }
        let audio = base64_simd::STANDARD.encode_to_string(pcm);
        self.just(ClientEvent::Append { audio })
    }

    /// The user speaks by a key, or by our own gate: the vendor is not to judge.
    fn begin_turn(&mut self) -> Vec<Deed> {
        self.now.manual = Some(0);
        let mut deeds = Vec::new();
        if let Some(utterance) = self.now.hearing.take() {
            deeds.push(Deed::UserSaid { utterance, text: String::new(), last: true });
        }
        deeds.extend(self.detect(Value::Null));
        deeds.push(self.just(ClientEvent::Clear));
        deeds
    }

    fn end_turn(&mut self) -> Vec<Deed> {
        let Some(bytes) = self.now.manual.take() else { return Vec::new() };
        let enough = bytes >= SHORTEST_TURN;
        self.now.committed |= enough;
        let event = if enough { ClientEvent::Commit } else { ClientEvent::Clear };
        let mut deeds = vec![self.just(event)];
        let detection = self.detection();
        deeds.extend(self.detect(detection));
        deeds
    }

    /// A turn that nobody will end by silence is ended by ours.
    fn hear_nothing(&mut self) -> Vec<Deed> {
        if self.now.hearing.is_none() {
            return Vec::new();
        }
        let time = self.setup.rules.silence + EXTRA_SILENCE;
        let samples = usize::try_from(time.as_millis()).unwrap_or(0) * RATE as usize / 1000;
        vec![self.hear(&vec![0; 2 * samples])]
    }

    fn heard(&mut self, reply: String, played: Duration) -> Vec<Deed> {
        let known = self.now.made.iter().position(|(name, _)| *name == reply);
        let Some((_, made)) = known.and_then(|at| self.now.made.remove(at)) else {
            return Vec::new();
        };
        let played = u64::try_from(played.as_millis()).unwrap_or(u64::MAX);
        let audio_end_ms = played.min(made * 1000 / u64::from(RATE));
        let event = if audio_end_ms == 0 {
            ClientEvent::Delete { item_id: reply }
        } else {
            ClientEvent::Truncate { item_id: reply, content_index: 0, audio_end_ms }
        };
        vec![self.just(event)]
    }

    fn tool_result(&mut self, id: String, outcome: Result<String, String>) -> Vec<Deed> {
        let output = match outcome {
            Ok(text) => text,
            Err(reason) => json!({ "error": reason }).to_string(),
        };
        let item = if self.now.known_calls.contains(&id) {
            Item::FunctionCallOutput { call_id: id, output }
        } else {
            // It was called on another connection.
            let text = format!("A tool that you called before has answered: {output}");
            Item::Message { role: "system", content: vec![Content::InputText { text }] }
        };
        let create = self.just(ClientEvent::Create { item });
        [Some(create), self.request()].into_iter().flatten().collect()
    }

    fn on_error(&mut self, error: &Trouble) -> Vec<Deed> {
        let reason = error.text();
        match error.code() {
            "response_cancel_not_active" => {
                let act = self.now.responses.nothing_to_cancel();
                let next = self.act(act);
                [Some(Deed::Remark(reason)), next].into_iter().flatten().collect()
            }
            "conversation_already_has_active_response" => {
                self.now.responses.refused();
                vec![Deed::Remark(reason)]
            }
            "session_expired" => vec![Deed::Failed { reason, fate: Fate::Retry }],
            code if FATAL.contains(&code) => vec![Deed::Failed { reason, fate: Fate::GiveUp }],
            _ => {
                let event = error.event_id.as_deref();
                if !self.now.ready && event == Some(&self.now.configured) {
                    return vec![self.on_refused(error)];
                }
                if self.now.responses.failed(event) {
                    let reply = event.unwrap_or_default().to_owned();
                    return vec![Deed::ReplyEnded { reply, end: ReplyEnd::Failed(reason) }];
                }
                vec![Deed::Remark(reason)]
            }
        }
    }

    /// Other servers than the vendor's own may not know how to write down what is said; without that one can talk to
    /// them all the same.
    fn on_refused(&mut self, error: &Trouble) -> Deed {
        let other = error.param.as_ref().is_some_and(|param| !param.contains("transcription"));
        if other || self.untranscribed {
            // What it is to be is in part the session's own choice, such as its voice.
            return Deed::Failed { reason: error.text(), fate: Fate::Unfit };
        }
        warn!(reason = error.text(), "what the user says is not written down");
        self.untranscribed = true;
        self.configure()
    }

    fn configure(&mut self) -> Deed {
        let session = self.session();
        let (configure, event) = self.send(ClientEvent::Update { session });
        self.now.configured = event;
        configure
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each")]
    fn on_event(&mut self, event: ServerEvent) -> Vec<Deed> {
        let responses = &mut self.now.responses;
        match event {
            ServerEvent::SessionUpdated if !self.now.ready => {
                self.now.ready = true;
                vec![Deed::Ready]
            }
            ServerEvent::SessionCreated | ServerEvent::SessionUpdated | ServerEvent::Other => {
                Vec::new()
            }
            ServerEvent::Error { error } => self.on_error(&error),
            ServerEvent::SpeechStarted { item_id } => {
                self.now.hearing = Some(item_id.clone());
                vec![Deed::SpeechBegan { utterance: item_id }]
            }
            ServerEvent::SpeechStopped { item_id } => {
                self.now.hearing = None;
                vec![Deed::SpeechEnded { utterance: item_id }]
            }
            ServerEvent::Committed { item_id } if std::mem::take(&mut self.now.committed) => {
                // Its name; that it was spoken is nothing new.
                vec![Deed::UserSaid { utterance: item_id, text: String::new(), last: false }]
            }
            ServerEvent::Committed { .. } => Vec::new(),
            ServerEvent::HeardPiece { item_id, delta } => {
                vec![Deed::UserSaid { utterance: item_id, text: delta, last: false }]
            }
            ServerEvent::Heard { item_id, transcript } => {
                vec![Deed::UserSaid { utterance: item_id, text: transcript, last: true }]
            }
            ServerEvent::NotHeard { item_id } => {
                vec![Deed::UserSaid { utterance: item_id, text: String::new(), last: true }]
            }
            ServerEvent::ResponseCreated { response } => {
                let act = responses.created(response.id);
                self.act(act).into_iter().collect()
            }
            ServerEvent::ItemAdded { response_id, item: OutputItem::Message { id } }
                if responses.is_wanted(&response_id) =>
            {
                self.begin(&id).into_iter().collect()
            }
            ServerEvent::Audio { response_id, item_id, delta }
                if responses.is_wanted(&response_id) =>
            {
                self.on_audio(item_id, &delta)
            }
            ServerEvent::Said { response_id, item_id, delta }
                if responses.is_wanted(&response_id) =>
            {
                let began = self.begin(&item_id);
                let said = Deed::ReplySaid { reply: item_id, text: delta };
                [began, Some(said)].into_iter().flatten().collect()
            }
            ServerEvent::Called { response_id, call_id, name, arguments }
                if responses.is_wanted(&response_id) && !name.is_empty() =>
            {
                self.now.calls.push((call_id, name, arguments));
                Vec::new()
            }
            ServerEvent::Limits { rate_limits } => limited(&rate_limits).into_iter().collect(),
            ServerEvent::ResponseDone { response } => self.on_done(response),
            // Of a response that nobody wants any more.
            ServerEvent::ItemAdded { .. }
            | ServerEvent::Audio { .. }
            | ServerEvent::Said { .. }
            | ServerEvent::Called { .. } => Vec::new(),
        }
    }
}

impl Protocol for OpenAi {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            input_rate: RATE,
            output_rate: RATE,
            cancel: true,
            truncate: true,
            images: true,
            hears_speech: true,
            interrupts_itself: false,
            replies_unasked: false,
            works_aside: false,
            hears_aside: true,
            yields_turns: true,
            resume: Resume::Replay,
            renew_after: Some(RENEW_AFTER),
            longest: Some(LONGEST),
        }
    }

    fn address(&self) -> Address {
        let model = &self.setup.model;
        let name = percent_encoded(&model.model);
        let key = model.key.as_ref().and_then(|key| key.secret.as_ref());
        let key = key.map(|key| ("authorization", format!("Bearer {}", key.expose())));
        Address {
            url: format!("{}/realtime?model={name}", model.base_url),
            headers: key.into_iter().collect(),
        }
    }

    fn open(&mut self, _handle: Option<&str>, said: &[Said]) -> Vec<Deed> {
        self.now = Connection::default();
        let mut deeds = vec![self.configure()];
        for Said { by_user, text } in said {
            let text = text.clone();
            deeds.push(if *by_user {
                self.message("user", Content::InputText { text })
            } else {
                self.message("assistant", Content::OutputText { text })
            });
        }
        // What was said may have been said in another one.
        let language = self.setup.language().filter(|_| !said.is_empty());
        deeds.extend(language.map(|text| self.message("system", Content::InputText { text })));
        deeds
    }

    fn set_rules(&mut self, rules: Arc<TurnRules>) {
        self.setup.rules = rules;
    }

    fn wish(&mut self, wish: Wish) -> Vec<Deed> {
        match wish {
            Wish::Hear(pcm) => vec![self.hear(&pcm)],
            Wish::HearNothing => self.hear_nothing(),
            Wish::SpeechBegins => self.begin_turn(),
            Wish::SpeechEnds => self.end_turn(),
            Wish::Reply | Wish::Insist => self.request().into_iter().collect(),
            Wish::Read(text) => vec![self.message("user", Content::InputText { text })],
            Wish::Report(text) => {
                let told = self.message("system", Content::InputText { text });
                [Some(told), self.request()].into_iter().flatten().collect()
            }
            Wish::See(jpeg) => {
                let data = base64_simd::STANDARD.encode_to_string(&jpeg);
                let image_url = format!("data:image/jpeg;base64,{data}");
                vec![self.message("user", Content::InputImage { image_url })]
            }
            Wish::Cancel => {
                let act = self.now.responses.cancel();
                self.act(act).into_iter().collect()
            }
            Wish::Heard { reply, played } => self.heard(reply, played),
            Wish::ToolResult { id, outcome } => self.tool_result(id, outcome),
        }
    }

    fn frame(&mut self, frame: &[u8]) -> Vec<Deed> {
        match serde_json::from_slice(frame) {
            Ok(event) => self.on_event(event),
            Err(err) => vec![Deed::Remark(format!("not understood: {err}"))],
        }
    }

    #[cfg(test)]
    fn size(&self) -> usize {
        let Connection { replies, made, calls, known_calls, .. } = &self.now;
        replies.len() + made.len() + calls.len() + known_calls.len()
    }

    fn closed(&mut self, code: Option<u16>, reason: &str) -> Fate {
        let fatal = FATAL.iter().any(|fatal| reason.contains(fatal));
        match code {
            _ if fatal => Fate::GiveUp,
            // A policy was violated, which will be so the next time too; but perhaps only by what was said.
            Some(1008 | 3000 | 3003) => Fate::Unfit,
            Some(_) | None => Fate::Retry,
        }
    }
}

/// When there will be more of what is used up, if anything is.
fn limited(limits: &[Limit]) -> Option<Deed> {
    let used_up = limits.iter().filter(|limit| limit.remaining.is_some_and(|left| left < 1.0));
    let seconds = used_up.filter_map(|limit| limit.reset_seconds).fold(0.0, f64::max);
    let reset = Duration::try_from_secs_f64(seconds).ok()?;
    (!reset.is_zero()).then_some(Deed::Limited { reset })
}

/// What may be in a model's name without meaning something in an address.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests;
