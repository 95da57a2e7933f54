//! Tells an address of the operator's that something waits for approval. It tells little, and nobody waits for it: a
//! full queue or a server that does not answer costs the call, never the session.

use super::chat::Client;
use super::hmac::{hex, hmac_sha256};
use crate::provider::row::{Webhook, WebhookCall};
use crate::task;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use jiff::Timestamp;
use serde_json::json;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::warn;

/// Calls that wait for those before them. Full: the newest is left out, and the log says so.
const WAITING: usize = 64;
const PATIENCE: Duration = Duration::from_secs(5);
/// Before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// Agents put what they want to do into the name of a tool; so much of it is passed on.
const LONGEST_TOOL: usize = 200;
/// HMAC-SHA256 of the body, by the secret.
const SIGNATURE: &str = "x-kakehashi-signature";

/// Clones share one queue; the last one ends it.
#[derive(Debug, Clone)]
pub struct Caller {
    queue: mpsc::Sender<WebhookCall>,
}

impl Caller {
    /// `None`: calls would have to be signed, and there is no secret.
    pub fn start(webhook: Webhook, client: Client) -> Option<Self> {
        if let Some(key) = webhook.key.as_ref().filter(|key| key.secret.is_none()) {
            warn!(variable = key.variable, "the webhook is not called: the variable is not set");
            return None;
        }
        let (queue, mut calls) = mpsc::channel::<WebhookCall>(WAITING);
        task::spawn("webhook", async move {
            while let Some(call) = calls.recv().await {
                // Who comes too late has nothing to approve.
                if call.expires > SystemTime::now()
                    && let Err(reason) = deliver(&webhook, &client, &call).await
                {
                    warn!(reason, "the webhook was called in vain");
                }
            }
        });
        Some(Self { queue })
    }

    pub fn call(&self, call: WebhookCall) {
        if self.queue.try_send(call).is_err() {
            warn!("too many calls wait for the webhook; one is left out");
        }
    }
}

async fn deliver(webhook: &Webhook, client: &Client, call: &WebhookCall) -> Result<(), String> {
    let body = body(call);
    let mut pauses = PAUSES.into_iter();
    loop {
        let request = request(webhook, &body).map_err(|err| err.to_string())?;
        let (reason, may_pass) = match client.status_of(request, PATIENCE).await {
            Ok(200..=299) => return Ok(()),
            Ok(status) => (format!("its server answers {status}"), status >= 500 || status == 429),
            Err(reason) => (reason, true),
        };
        match pauses.next() {
            Some(pause) if may_pass => sleep(pause).await,
            Some(_) | None => return Err(reason),
        }
    }
}

fn body(call: &WebhookCall) -> Bytes {
    let expires = Timestamp::try_from(call.expires).unwrap_or(Timestamp::UNIX_EPOCH);
    let tool: String = call.tool.chars().take(LONGEST_TOOL).collect();
    let body = json!({
        "event": "waiting_for_approval",
        "session": call.session,
        "channel": call.channel,
        "tool": tool,
        "level": call.level,
        "id": call.id,
        "expires": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    });
    body.to_string().into()
}

fn request(webhook: &Webhook, body: &Bytes) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = Request::post(&webhook.url)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("kakehashi/", env!("CARGO_PKG_VERSION")));
    if let Some(secret) = webhook.key.as_ref().and_then(|key| key.secret.as_ref()) {
        let signature = hmac_sha256(secret.expose().as_bytes(), body);
        request = request.header(SIGNATURE, format!("sha256={}", hex(&signature)));
    }
    request.body(Full::new(body.clone()))
}
