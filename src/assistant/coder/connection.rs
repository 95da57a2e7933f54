//! The agent's side of ACP: reads messages line by line, works on one prompt at a time, and accepts a cancel at any
//! moment.

use super::prompt::Prompt;
use super::speaker::{ANSWER_CAPACITY, Answer, OUTBOX_CAPACITY, Speaker};
use super::turn::Turn;
use super::{ASK_MODE, Coder, LABEL, NAME};
use crate::assistant::conversation::Conversation;
use crate::assistant::work::Halt;
use crate::process::{Lines, Place};
use crate::provider::agent::EndSignals;
use crate::provider::agent::acp::wire;
use crate::provider::chat;
use crate::tool::{Context, Workplace};
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, Implementation, InitializeResponse, LoadSessionResponse, NewSessionResponse,
    PromptCapabilities, PromptRequest, PromptResponse, RequestId, SessionMode, SessionModeState,
    SetSessionModeRequest, SetSessionModeResponse, StopReason,
};
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A longer message ends the connection. Pictures are part of messages.
const LONGEST_MESSAGE: usize = 64 * 1024 * 1024;
/// From this size on, messages are parsed on a blocking thread.
const LARGE_MESSAGE: usize = 256 * 1024;
const INTERNAL_ERROR: i32 = -32603;

#[derive(Debug)]
pub(super) struct Connection {
    agent: Arc<Coder>,
    place: Place,
    workplace: Workplace,
    signals: EndSignals,
    lines: Lines<ReadHalf<DuplexStream>>,
    /// A large message that is being parsed.
    parsing: Option<JoinHandle<Option<Message>>>,
    sink: WriteHalf<DuplexStream>,
    /// Bytes that are not written yet.
    unwritten: BytesMut,
    outbox: mpsc::Receiver<String>,
    /// `None` during a prompt, which uses it.
    speaker: Option<Speaker>,
    answers: mpsc::Sender<Answer>,
    /// `None`: no session was opened, or a prompt uses it.
    conversation: Option<Conversation>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Option<Value>,
}

/// The host has closed the connection.
#[derive(Debug)]
struct Closed;

impl Connection {
    pub(super) fn new(
        agent: Arc<Coder>,
        place: Place,
        stream: DuplexStream,
        signals: EndSignals,
    ) -> Self {
        let (source, sink) = tokio::io::split(stream);
        let (messages, outbox) = mpsc::channel(OUTBOX_CAPACITY);
        let (answers, given) = mpsc::channel(ANSWER_CAPACITY);
        let speaker = Speaker {
            session: NAME.to_owned(),
            outbox: messages,
            answers: given,
            last_question: 0,
            last_tool: 0,
            texts: agent.texts.clone(),
        };
        Self {
            workplace: Workplace::new(&place.directory, &agent.private),
            place,
            agent,
            signals,
            lines: Lines::new(source, LONGEST_MESSAGE),
            parsing: None,
            sink,
            unwritten: BytesMut::new(),
            outbox,
            speaker: Some(speaker),
            answers,
            conversation: None,
        }
    }

    pub(super) async fn serve(mut self) {
        while let Ok(message) = self.next().await {
            match (message.method.as_deref(), message.id) {
                (Some("session/prompt"), Some(id)) => self.prompt(&id, message.params).await,
                (Some(method), Some(id)) => self.request(method, &id, message.params).await,
                // Notifications and answers: there is nothing to cancel, and no question is open.
                (Some(_) | None, _) => {}
            }
        }
    }

    /// Returns the next message, and writes outgoing messages meanwhile. Dropping the future loses nothing.
    async fn next(&mut self) -> Result<Message, Closed> {
        loop {
            if let Some(parsing) = &mut self.parsing {
                let message = parsing.await.ok().flatten();
                self.parsing = None;
                if let Some(message) = message {
                    return Ok(message);
                }
            }
            let writes = !self.unwritten.is_empty();
            tokio::select! {
                biased;
                () = self.signals.end_requested().cancelled() => return Err(Closed),
                line = self.lines.next() => {
                    let line = line.ok().flatten().ok_or(Closed)?;
                    if line.len() >= LARGE_MESSAGE {
                        self.parsing = Some(tokio::task::spawn_blocking(move || parse(&line)));
                    } else if let Some(message) = parse(&line) {
                        return Ok(message);
                    }
                }
                written = self.sink.write_buf(&mut self.unwritten), if writes => {
                    written.map_err(|_| Closed)?;
                }
                Some(message) = self.outbox.recv(), if !writes => self.push(&message),
            }
        }
    }

    fn push(&mut self, message: &str) {
        self.unwritten.extend_from_slice(message.as_bytes());
        self.unwritten.extend_from_slice(b"\n");
    }

    fn answer(&mut self, id: &RequestId, result: &impl Serialize) {
        match wire::answer(id, result) {
            Ok(answer) => self.push(&answer),
            Err(err) => self.refuse(id, INTERNAL_ERROR, &err.to_string()),
        }
    }

    fn refuse(&mut self, id: &RequestId, code: i32, reason: &str) {
        self.push(&wire::refusal(id, code, reason));
    }

    async fn request(&mut self, method: &str, id: &RequestId, params: Value) {
        match method {
            "initialize" => self.answer(id, &self.introduction()),
            "session/new" => {
                self.conversation = Some(Conversation::new(&self.agent.memory));
                self.answer(id, &NewSessionResponse::new(NAME).modes(modes()));
            }
            "session/load" => self.load(id).await,
            "session/set_mode" => {
                let wanted = serde_json::from_value::<SetSessionModeRequest>(params);
                if wanted.is_ok_and(|wanted| *wanted.mode_id.0 == *ASK_MODE) {
                    self.answer(id, &SetSessionModeResponse::new());
                } else {
                    self.refuse(id, wire::INVALID_PARAMS, "the only mode is `ask`");
                }
            }
            _ => self.refuse(id, wire::METHOD_NOT_FOUND, "this agent has no such method"),
        }
    }

    fn introduction(&self) -> InitializeResponse {
        let sees = self.agent.chat.as_ref().is_some_and(|chat| chat::capabilities(chat).images_in);
        let takes = PromptCapabilities::new().image(sees).embedded_context(true);
        let can = AgentCapabilities::new().load_session(true).prompt_capabilities(takes);
        let own = Implementation::new(NAME, env!("CARGO_PKG_VERSION")).title(LABEL.to_owned());
        InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(can).agent_info(own)
    }

    /// The conversation is not replayed to the host, which has it already.
    async fn load(&mut self, id: &RequestId) {
        let file = self.agent.memory.clone();
        let loaded = tokio::task::spawn_blocking(move || Conversation::load(&file)).await;
        match loaded {
            Ok(Ok(conversation)) => {
                self.conversation = Some(conversation);
                self.answer(id, &LoadSessionResponse::new().modes(modes()));
            }
            Ok(Err(err)) => self.refuse(id, INTERNAL_ERROR, &format!("nothing is left: {err}")),
            Err(_) => self.refuse(id, INTERNAL_ERROR, "the gateway is shutting down"),
        }
    }

    async fn prompt(&mut self, id: &RequestId, params: Value) {
        let Ok(request) = serde_json::from_value::<PromptRequest>(params) else {
            return self.refuse(id, wire::INVALID_PARAMS, "the prompt cannot be read");
        };
        let (Some(conversation), Some(speaker)) = (self.conversation.take(), self.speaker.take())
        else {
            return self.refuse(id, wire::INVALID_PARAMS, "there is no session");
        };
        let mut turn = Turn {
            agent: Arc::clone(&self.agent),
            context: Context {
                workplace: self.workplace.clone(),
                launcher: self.agent.program.launcher(),
                place: self.place.clone(),
                longest: None,
                memory: None,
                stop: CancellationToken::new(),
                kill_now: self.signals.kill_now().clone(),
            },
            speaker,
            conversation,
        };
        let stop = turn.context.stop.clone();
        let end = self.run_prompt(turn.run(Prompt::of(request.prompt)), &stop).await;
        // The host gets all output before the response that ends the prompt.
        while let Ok(message) = self.outbox.try_recv() {
            self.push(&message);
        }
        self.conversation = Some(turn.conversation);
        self.speaker = Some(turn.speaker);
        let cancelled = stop.is_cancelled();
        match end {
            Ok(reason) => self.answer(id, &PromptResponse::new(reason)),
            Err(Halt::Failed(_)) if cancelled => {
                self.answer(id, &PromptResponse::new(StopReason::Cancelled));
            }
            Err(Halt::Cancelled | Halt::Disconnected) => {
                self.answer(id, &PromptResponse::new(StopReason::Cancelled));
            }
            Err(Halt::Failed(reason)) => self.refuse(id, INTERNAL_ERROR, &reason),
        }
    }

    /// Waits until the work has ended, and handles messages of the host meanwhile. If the host closes the connection,
    /// the work is cancelled.
    async fn run_prompt<T>(
        &mut self,
        work: impl Future<Output = T>,
        stop: &CancellationToken,
    ) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let message = tokio::select! {
                biased;
                message = self.next() => message,
                end = &mut work => return end,
            };
            let Ok(message) = message else { break };
            match (message.method.as_deref(), message.id) {
                (Some("session/cancel"), None) => stop.cancel(),
                (Some(_), Some(id)) => {
                    self.refuse(&id, INTERNAL_ERROR, "a prompt is being worked on");
                }
                (None, Some(RequestId::Number(number))) => {
                    if let Ok(id) = u64::try_from(number) {
                        // Full: no question has this answer, so it is dropped.
                        let _ = self.answers.try_send(Answer { id, result: message.result });
                    }
                }
                (Some(_), None) | (None, Some(RequestId::Str(_) | RequestId::Null) | None) => {}
            }
        }
        // The host reads no more, so the work must not wait for room in the outbox.
        stop.cancel();
        self.outbox.close();
        while self.outbox.try_recv().is_ok() {}
        work.await
    }
}

fn parse(line: &Bytes) -> Option<Message> {
    serde_json::from_slice(line).ok()
}

fn modes() -> SessionModeState {
    SessionModeState::new(ASK_MODE, vec![SessionMode::new(ASK_MODE, "Ask")])
}
