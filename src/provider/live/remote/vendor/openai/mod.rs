//! OpenAI's Realtime protocol (the generally available version), also spoken by other servers. It is configured so that
//! the vendor may report speech but never answers or interrupts by itself: the conversation decides that.

mod response;
mod response_slot;
mod session_config;
mod wire;

use crate::provider::live::remote::protocol::{
    Address, Capabilities, Effect, Protocol, Recovery, ReplyEnd, Request, Resume, Said, Setup,
};
use crate::provider::row::{TurnRules, Turns};
use response_slot::{Act, Responses};
use serde_json::{Value, json};
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
/// Silence beyond what the rules say, so that the turn ends when the microphone is switched off.
const EXTRA_SILENCE: Duration = Duration::from_millis(300);
/// How many replies and calls are remembered on one connection. More: the oldest is forgotten, long after it was heard.
const MOST_KNOWN: usize = 32;
/// Error codes after which nothing works until somebody does something.
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
    /// The server refused to transcribe the user.
    untranscribed: bool,
}

/// State of one connection.
#[derive(Debug, Default)]
struct Connection {
    events: u64,
    ready: bool,
    /// Id of the event that configured the session.
    configured: String,
    responses: Responses,
    /// Message ids of the current response.
    replies: Vec<String>,
    /// Samples of the last replies: a reply must not be truncated behind its end.
    made: VecDeque<(String, u64)>,
    /// Reply and first byte of a sample whose second byte is still to come.
    half: Option<(String, u8)>,
    calls: Vec<(String, String, String)>,
    /// Ids of the last calls on this connection.
    known_calls: VecDeque<String>,
    hearing: Option<String>,
    /// Bytes sent in a turn whose beginning and end the vendor is told.
    manual: Option<usize>,
    committed: bool,
}

impl OpenAi {
    pub(super) fn new(setup: Setup) -> Self {
        Self { setup, now: Connection::default(), untranscribed: false }
    }

    fn send(&mut self, event: ClientEvent) -> (Effect, String) {
        self.now.events += 1;
        let event_id = format!("k{}", self.now.events);
        let outgoing = Outgoing { event_id: &event_id, event };
        // Serializing these types cannot fail.
        let frame = serde_json::to_string(&outgoing).unwrap_or_default();
        (Effect::Send(frame), event_id)
    }

    fn just(&mut self, event: ClientEvent) -> Effect {
        self.send(event).0
    }

    fn act(&mut self, act: Option<Act>) -> Option<Effect> {
        match act? {
            Act::Create => {
                let (effect, event) = self.send(ClientEvent::Respond);
                self.now.responses.requested(&event);
                Some(effect)
            }
            Act::Cancel { response } => {
                Some(self.just(ClientEvent::Cancel { response_id: response }))
            }
        }
    }

    fn want_response(&mut self) -> Option<Effect> {
        let act = self.now.responses.want();
        self.act(act)
    }

    fn message(&mut self, role: &'static str, content: Content) -> Effect {
        let item = Item::Message { role, content: vec![content] };
        self.just(ClientEvent::Create { item })
    }

    fn detect(&mut self, detection: Value) -> Option<Effect> {
        let input = json!({"turn_detection": detection});
        let session = json!({"type": "realtime", "audio": {"input": input}});
        let vendors = self.setup.rules.turns == Turns::Model;
        vendors.then(|| self.just(ClientEvent::Update { session }))
    }

    fn hear(&mut self, pcm: &[u8]) -> Effect {
        if let Some(bytes) = &mut self.now.manual {
            *bytes += pcm.len();
        }
        let audio = base64_simd::STANDARD.encode_to_string(pcm);
        self.just(ClientEvent::Append { audio })
    }

    /// The user speaks by the talk key or by our own voice detection, so the vendor's is switched off.
    fn begin_turn(&mut self) -> Vec<Effect> {
        self.now.manual = Some(0);
        let mut effects = Vec::new();
        if let Some(utterance) = self.now.hearing.take() {
            effects.push(Effect::UserSaid { utterance, text: String::new(), last: true });
        }
        effects.extend(self.detect(Value::Null));
        effects.push(self.just(ClientEvent::Clear));
        effects
    }

    fn end_turn(&mut self) -> Vec<Effect> {
        let Some(bytes) = self.now.manual.take() else { return Vec::new() };
        let enough = bytes >= SHORTEST_TURN;
        self.now.committed |= enough;
        let event = if enough { ClientEvent::Commit } else { ClientEvent::Clear };
        let mut effects = vec![self.just(event)];
        let detection = self.detection();
        effects.extend(self.detect(detection));
        effects
    }

    /// The microphone is off: sends silence, so that the vendor ends the turn.
    fn hear_nothing(&mut self) -> Vec<Effect> {
        if self.now.hearing.is_none() {
            return Vec::new();
        }
        let time = self.setup.rules.silence + EXTRA_SILENCE;
        let samples = usize::try_from(time.as_millis()).unwrap_or(0) * RATE as usize / 1000;
        vec![self.hear(&vec![0; 2 * samples])]
    }

    fn heard(&mut self, reply: String, played: Duration) -> Vec<Effect> {
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

    fn tool_result(&mut self, id: String, outcome: Result<String, String>) -> Vec<Effect> {
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
        [Some(create), self.want_response()].into_iter().flatten().collect()
    }

    fn on_error(&mut self, error: &Trouble) -> Vec<Effect> {
        let reason = error.text();
        match error.code() {
            "response_cancel_not_active" => {
                let act = self.now.responses.nothing_to_cancel();
                let next = self.act(act);
                [Some(Effect::Remark(reason)), next].into_iter().flatten().collect()
            }
            "conversation_already_has_active_response" => {
                self.now.responses.refused();
                vec![Effect::Remark(reason)]
            }
            "session_expired" => vec![Effect::Failed { reason, recovery: Recovery::Retry }],
            code if FATAL.contains(&code) => {
                vec![Effect::Failed { reason, recovery: Recovery::GiveUp }]
            }
            _ => {
                let event = error.event_id.as_deref();
                if !self.now.ready && event == Some(&self.now.configured) {
                    return vec![self.on_refused(error)];
                }
                if self.now.responses.failed(event) {
                    let reply = event.unwrap_or_default().to_owned();
                    return vec![Effect::ReplyEnded { reply, end: ReplyEnd::Failed(reason) }];
                }
                vec![Effect::Remark(reason)]
            }
        }
    }

    /// The session configuration was refused. Servers other than OpenAI's may not support transcription; they are
    /// configured again without it.
    fn on_refused(&mut self, error: &Trouble) -> Effect {
        let other = error.param.as_ref().is_some_and(|param| !param.contains("transcription"));
        if other || self.untranscribed {
            // Part of the configuration, such as the voice, is chosen by the session: others may have no problem.
            return Effect::Failed { reason: error.text(), recovery: Recovery::Unfit };
        }
        warn!(reason = error.text(), "what the user says is not written down");
        self.untranscribed = true;
        self.configure()
    }

    fn configure(&mut self) -> Effect {
        let session = self.session();
        let (configure, event) = self.send(ClientEvent::Update { session });
        self.now.configured = event;
        configure
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each")]
    fn on_event(&mut self, event: ServerEvent) -> Vec<Effect> {
        let responses = &mut self.now.responses;
        match event {
            ServerEvent::SessionUpdated if !self.now.ready => {
                self.now.ready = true;
                vec![Effect::Ready]
            }
            ServerEvent::SessionCreated | ServerEvent::SessionUpdated | ServerEvent::Other => {
                Vec::new()
            }
            ServerEvent::Error { error } => self.on_error(&error),
            ServerEvent::SpeechStarted { item_id } => {
                self.now.hearing = Some(item_id.clone());
                vec![Effect::SpeechBegan { utterance: item_id }]
            }
            ServerEvent::SpeechStopped { item_id } => {
                self.now.hearing = None;
                vec![Effect::SpeechEnded { utterance: item_id }]
            }
            ServerEvent::Committed { item_id } if std::mem::take(&mut self.now.committed) => {
                // Tells only the id; that the user spoke is known.
                vec![Effect::UserSaid { utterance: item_id, text: String::new(), last: false }]
            }
            ServerEvent::Committed { .. } => Vec::new(),
            ServerEvent::HeardPiece { item_id, delta } => {
                vec![Effect::UserSaid { utterance: item_id, text: delta, last: false }]
            }
            ServerEvent::Heard { item_id, transcript } => {
                vec![Effect::UserSaid { utterance: item_id, text: transcript, last: true }]
            }
            ServerEvent::NotHeard { item_id } => {
                vec![Effect::UserSaid { utterance: item_id, text: String::new(), last: true }]
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
                let said = Effect::ReplySaid { reply: item_id, text: delta };
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
            // Of a response that was cancelled.
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

    fn open(&mut self, _handle: Option<&str>, said: &[Said]) -> Vec<Effect> {
        self.now = Connection::default();
        let mut effects = vec![self.configure()];
        for Said { by_user, text } in said {
            let text = text.clone();
            effects.push(if *by_user {
                self.message("user", Content::InputText { text })
            } else {
                self.message("assistant", Content::OutputText { text })
            });
        }
        // The history may be in another language.
        let language = self.setup.language().filter(|_| !said.is_empty());
        effects.extend(language.map(|text| self.message("system", Content::InputText { text })));
        effects
    }

    fn set_rules(&mut self, rules: Arc<TurnRules>) {
        self.setup.rules = rules;
    }

    fn request(&mut self, request: Request) -> Vec<Effect> {
        match request {
            Request::Hear(pcm) => vec![self.hear(&pcm)],
            Request::HearNothing => self.hear_nothing(),
            Request::SpeechBegins => self.begin_turn(),
            Request::SpeechEnds => self.end_turn(),
            Request::Reply | Request::Insist => self.want_response().into_iter().collect(),
            Request::Read(text) => vec![self.message("user", Content::InputText { text })],
            Request::Report(text) => {
                let told = self.message("system", Content::InputText { text });
                [Some(told), self.want_response()].into_iter().flatten().collect()
            }
            Request::See(jpeg) => {
                let data = base64_simd::STANDARD.encode_to_string(&jpeg);
                let image_url = format!("data:image/jpeg;base64,{data}");
                vec![self.message("user", Content::InputImage { image_url })]
            }
            Request::Cancel => {
                let act = self.now.responses.cancel();
                self.act(act).into_iter().collect()
            }
            Request::Heard { reply, played } => self.heard(reply, played),
            Request::ToolResult { id, outcome } => self.tool_result(id, outcome),
        }
    }

    fn frame(&mut self, frame: &[u8]) -> Vec<Effect> {
        match serde_json::from_slice(frame) {
            Ok(event) => self.on_event(event),
            Err(err) => vec![Effect::Remark(format!("not understood: {err}"))],
        }
    }

    #[cfg(test)]
    fn size(&self) -> usize {
        let Connection { replies, made, calls, known_calls, .. } = &self.now;
        replies.len() + made.len() + calls.len() + known_calls.len()
    }

    fn closed(&mut self, code: Option<u16>, reason: &str) -> Recovery {
        let fatal = FATAL.iter().any(|fatal| reason.contains(fatal));
        match code {
            _ if fatal => Recovery::GiveUp,
            // A policy was violated, perhaps only by this conversation; a retry would fail again.
            Some(1008 | 3000 | 3003) => Recovery::Unfit,
            Some(_) | None => Recovery::Retry,
        }
    }
}

/// The longest wait among the limits that are used up.
fn limited(limits: &[Limit]) -> Option<Effect> {
    let used_up = limits.iter().filter(|limit| limit.remaining.is_some_and(|left| left < 1.0));
    let seconds = used_up.filter_map(|limit| limit.reset_seconds).fold(0.0, f64::max);
    let reset = Duration::try_from_secs_f64(seconds).ok()?;
    (!reset.is_zero()).then_some(Effect::Limited { reset })
}

/// Escapes a model's name for the query of a URL.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests;
