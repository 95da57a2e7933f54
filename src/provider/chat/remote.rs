//! One turn with a model behind HTTP: asks, asks again where that may help and nothing was said yet, and hands out
//! what comes.

use super::answer::{Answer, malformed};
use super::client::{self, Client};
use super::error::ChatError;
use super::failure::{Again, Complaint, Failure, presentable};
use super::prompt::{self, Prompt};
use super::sse::{LARGEST_EVENT, SseEvent, SseReader};
use super::{CHAT_OUTPUT_CAPACITY, ChatOutput, ChatRequest, ChatTurn, anthropic, gemini, openai};
use crate::provider::row::{ChatKind, ChatModel};
use crate::task;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT,
};
use hyper::{Request, Response};
use jiff::{Timestamp, fmt::rfc2822};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Until an answer begins: a model may think for minutes, and one on a machine of our own may have to be loaded first.
const THOUGHT: Duration = Duration::from_secs(300);
/// Between two pieces of an answer.
const SILENCE: Duration = Duration::from_secs(60);
/// What may follow when the answer is complete, such as its cost.
const AFTERWORD: Duration = Duration::from_secs(2);
const TRIES: u32 = 3;
/// The first pause; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// How much of a refusal is read.
const LARGEST_REFUSAL: usize = 256 * 1024;

pub(super) fn ask(model: Arc<ChatModel>, client: Client, request: ChatRequest) -> ChatTurn {
    let (pieces, output) = mpsc::channel(CHAT_OUTPUT_CAPACITY);
    task::spawn("chat-remote", async move {
        tokio::select! {
            // Nobody waits for the answer any more; the connection is dropped with it.
            () = pieces.closed() => (),
            () = answer(model, &client, request, &pieces) => (),
        }
    });
    ChatTurn { output }
}

async fn answer(
    model: Arc<ChatModel>,
    client: &Client,
    request: ChatRequest,
    pieces: &mpsc::Sender<ChatOutput>,
) {
    let mut turn = Turn { model: &model, client, pieces, answer: Answer::default(), begun: false };
    let last = match turn.converse(request).await {
        Ok(last) => last,
        Err(error) => ChatOutput::Failed(error),
    };
    if let Some(usage) = turn.answer.usage {
        turn.emit(ChatOutput::Usage(usage)).await;
    }
    turn.emit(last).await;
}

/// A request to a server, without its key.
#[derive(Debug)]
pub(super) struct Call {
    url: String,
    headers: Vec<(&'static str, &'static str)>,
    body: Bytes,
}

impl Call {
    pub(super) fn new(url: String, body: &impl Serialize) -> Result<Self, ChatError> {
        let body = serde_json::to_vec(body).map_err(|err| malformed(&err.to_string()))?;
        Ok(Self { url, headers: Vec::new(), body: body.into() })
    }

    pub(super) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    fn request(&self, model: &ChatModel) -> Result<Request<Full<Bytes>>, ChatError> {
        let agent = concat!("kakehashi/", env!("CARGO_PKG_VERSION"));
        let mut request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .header(USER_AGENT, agent);
        for (name, value) in &self.headers {
            request = request.header(*name, *value);
        }
        if let Some((name, value)) = key(model)? {
            request = request.header(name, value);
        }
        let reason = || format!("the address {} is not one", self.url);
        request
            .body(Full::new(self.body.clone()))
            .map_err(|_| ChatError::Network { reason: reason() })
    }
}

/// The key, in the header that this vendor reads.
fn key(model: &ChatModel) -> Result<Option<(HeaderName, HeaderValue)>, ChatError> {
    let Some(key) = &model.key else { return Ok(None) };
    let variable = key.variable.clone();
    let Some(secret) = &key.secret else { return Err(ChatError::NoKey { variable }) };
    let (name, prefix) = match model.kind {
        ChatKind::OpenAi => openai::KEY_HEADER,
        ChatKind::Anthropic => anthropic::KEY_HEADER,
        ChatKind::Gemini => gemini::KEY_HEADER,
    };
    let value = HeaderValue::from_str(&format!("{prefix}{}", secret.expose()));
    let mut value = value.map_err(|_| ChatError::BadKey { variable: Some(variable) })?;
    value.set_sensitive(true);
    Ok(Some((HeaderName::from_static(name), value)))
}

fn call(model: &ChatModel, prompt: &Prompt) -> Result<Call, ChatError> {
    match model.kind {
        ChatKind::OpenAi => openai::call(model, prompt),
        ChatKind::Anthropic => anthropic::call(model, prompt),
        ChatKind::Gemini => gemini::call(model, prompt),
    }
}

fn refusal(kind: ChatKind, status: u16, body: &[u8]) -> Complaint {
    match kind {
        ChatKind::OpenAi => openai::refusal(status, body),
        ChatKind::Anthropic => anthropic::refusal(status, body),
        ChatKind::Gemini => gemini::refusal(status, body),
    }
}

#[derive(Debug)]
enum Decoder {
    OpenAi(openai::Decoder),
    Anthropic(anthropic::Decoder),
    Gemini(gemini::Decoder),
}

impl Decoder {
    fn of(kind: ChatKind) -> Self {
        match kind {
            ChatKind::OpenAi => Self::OpenAi(openai::Decoder::default()),
            ChatKind::Anthropic => Self::Anthropic(anthropic::Decoder::default()),
            ChatKind::Gemini => Self::Gemini(gemini::Decoder::default()),
        }
    }

    fn take(
        &mut self,
        model: &ChatModel,
        event: &SseEvent,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        match self {
            Self::OpenAi(decoder) => decoder.take(model, event, answer),
            Self::Anthropic(decoder) => decoder.take(model, event, answer),
            Self::Gemini(decoder) => decoder.take(model, event, answer),
        }
    }

    fn finish(&mut self, answer: &mut Answer) -> Result<(), Failure> {
        match self {
            Self::OpenAi(decoder) => decoder.finish(answer),
            Self::Anthropic(_) | Self::Gemini(_) => Ok(()),
        }
    }
}

struct Turn<'a> {
    model: &'a Arc<ChatModel>,
    client: &'a Client,
    pieces: &'a mpsc::Sender<ChatOutput>,
    answer: Answer,
    /// Something was handed out, so asking again would say it twice.
    begun: bool,
}

impl Turn<'_> {
    async fn converse(&mut self, request: ChatRequest) -> Result<ChatOutput, ChatError> {
        key(self.model)?;
        let model = Arc::clone(self.model);
        let call = tokio::task::spawn_blocking(move || {
            prompt::prepare(&model, request).and_then(|prompt| call(&model, &prompt))
        });
        let call = call.await.map_err(|_| malformed("the request could not be made"))??;
        let mut tries = 1;
        loop {
            let Failure { error, again } = match self.attempt(&call).await {
                Ok(()) => break,
                Err(failure) => failure,
            };
            let pause = match again {
                Again::Never => return Err(error),
                Again::Soon => pause(tries),
                Again::After(time) => time,
            };
            if self.begun || tries == TRIES {
                return Err(error);
            }
            tries += 1;
            self.answer = Answer::default();
            tokio::time::sleep(pause).await;
        }
        let cut_off = || ChatError::Network { reason: "the answer was cut off".to_owned() };
        let reason = self.answer.end.ok_or_else(cut_off)?;
        Ok(ChatOutput::Done { reason })
    }

    async fn attempt(&mut self, call: &Call) -> Result<(), Failure> {
        let response = self.client.send(call.request(self.model)?, self.patience()).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let form = content_type(response.headers());
        let body = response.into_body();
        match form.as_str() {
            "text/event-stream" | "" => self.stream(body).await,
            "application/json" => self.at_once(body).await,
            other => Err(malformed(&format!("`{other}` instead of a stream of events")).into()),
        }
    }

    async fn stream(&mut self, mut body: Incoming) -> Result<(), Failure> {
        let mut reader = SseReader::default();
        let mut decoder = Decoder::of(self.model.kind);
        while !self.answer.over {
            let piece = match client::next_piece(&mut body, self.patience()).await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                // The answer itself is there.
                Err(_) if self.answer.end.is_some() => break,
                Err(error) => return Err(error.into()),
            };
            let events = reader.push(&piece).map_err(|err| malformed(&err.to_string()))?;
            for event in events {
                if !self.answer.over {
                    self.take(&mut decoder, &event).await?;
                }
            }
        }
        if self.answer.over {
            release(body);
            return Ok(());
        }
        let rest = reader.finish().map_err(|err| malformed(&err.to_string()))?;
        if let Some(event) = rest {
            self.take(&mut decoder, &event).await?;
        }
        // A stream that just ends is cut off; its calls are not whole either.
        if self.answer.end.is_some() && !self.answer.over {
            decoder.finish(&mut self.answer)?;
            self.hand_out().await;
        }
        Ok(())
    }

    /// A server that does not stream answers all at once, in the same words.
    async fn at_once(&mut self, mut body: Incoming) -> Result<(), Failure> {
        let bytes = client::whole(&mut body, LARGEST_EVENT, self.patience()).await?;
        let data = String::from_utf8(bytes.into()).map_err(|_| malformed("what is not UTF-8"))?;
        let mut decoder = Decoder::of(self.model.kind);
        self.take(&mut decoder, &SseEvent { name: String::new(), data }).await?;
        if self.answer.end.is_some() && !self.answer.over {
            decoder.finish(&mut self.answer)?;
            self.hand_out().await;
        }
        Ok(())
    }

    /// How long the next bytes may take.
    fn patience(&self) -> Duration {
        let usual = if self.begun { SILENCE } else { THOUGHT };
        match self.answer.end {
            Some(_) => AFTERWORD,
            None => self.model.patience.unwrap_or(usual),
        }
    }

    async fn take(&mut self, decoder: &mut Decoder, event: &SseEvent) -> Result<(), Failure> {
        let taken = decoder.take(self.model, event, &mut self.answer);
        self.hand_out().await;
        taken
    }

    async fn hand_out(&mut self) {
        for output in std::mem::take(&mut self.answer.outputs) {
            self.begun = true;
            self.emit(output).await;
        }
    }

    /// A closed queue is seen by the select around the whole turn.
    async fn emit(&self, output: ChatOutput) {
        let _ = self.pieces.send(output).await;
    }

    async fn refused(&self, response: Response<Incoming>) -> Failure {
        let status = response.status().as_u16();
        let (head, mut body) = response.into_parts();
        if head.status.is_redirection() {
            let place = head.headers.get(LOCATION).and_then(|place| place.to_str().ok());
            let place = presentable(place.unwrap_or_default(), None);
            let reason = format!("it sends us to {place}; if that is right, make it `base_url`");
            return ChatError::Server { status, reason }.into();
        }
        // A refusal that cannot be read is one all the same.
        let said = client::whole(&mut body, LARGEST_REFUSAL, SILENCE).await.unwrap_or_default();
        let mut complaint = refusal(self.model.kind, status, &said);
        complaint.retry_after = retry_after(&head.headers).or(complaint.retry_after);
        complaint.failure(self.model)
    }
}

/// Reads what is left, usually nothing, so that the connection can be used again. Nobody waits for it.
fn release(mut body: Incoming) {
    task::spawn("chat-release", async move {
        let _ = client::whole(&mut body, LARGEST_REFUSAL, AFTERWORD).await;
    });
}

/// Somewhere between half and all of the time, so that many who were refused together do not come back together.
fn pause(tries: u32) -> Duration {
    let longest = PAUSE * 2_u32.pow(tries - 1);
    let mut random = [0_u8; 1];
    // Without randomness the pause is the shortest one.
    let _ = getrandom::fill(&mut random);
    longest / 2 + longest * u32::from(random[0]) / 512
}

fn content_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let form = text.split(';').next().unwrap_or_default();
    form.trim().to_ascii_lowercase()
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = rfc2822::parse(text).ok()?.timestamp();
    let left = date.duration_since(Timestamp::now());
    Some(Duration::try_from(left).unwrap_or_default())
}
