//! What one conversation leads to, and what concerns everybody: two sessions with one model.

use super::fake_vendor::Call;
use super::*;
use serde_json::{Value, json};
use tokio::time::{advance, sleep};

const MINUTE: Duration = Duration::from_secs(60);

/// Two sessions of one gateway.
struct Gateway {
    remote: Remote,
    vendor: Vendor,
}

impl Gateway {
    fn new() -> Self {
        let (calls, called) = mpsc::channel(4);
        Self { remote: remote_to(calls), vendor: Vendor::new(called) }
    }

    /// A session in which somebody writes something.
    async fn session(&self) -> LiveLink {
        let config = LiveConfig::Remote(self.remote.clone());
        let link = live::connect(&config, Speaker::default(), ready(Vec::new()));
        link.input.send(LiveInput::Text("hello".to_owned())).await.unwrap();
        link
    }

    /// Somebody is answered as if nothing had happened.
    async fn answers(&mut self) -> LiveLink {
        let mut link = self.session().await;
        let mut call = self.vendor.answer().await;
        call.expect("conversation.item.create").await;
        call.reply("r", "hi").await;
        while !matches!(told(&mut link).await, LiveOutput::Transcript { text, .. } if text == "hi")
        {
        }
        link
    }

    /// Somebody is told at once that there is nobody to talk to.
    async fn refuses(&mut self) {
        let mut link = self.session().await;
        let LiveOutput::Failed { reason } = told(&mut link).await else { panic!() };
        assert!(reason.contains("no live model works at the moment"), "{reason}");
    }
}

async fn told(link: &mut LiveLink) -> LiveOutput {
    timeout(10 * MINUTE, link.output.recv()).await.unwrap().unwrap()
}

async fn fails(link: &mut LiveLink) -> String {
    loop {
        if let LiveOutput::Failed { reason } = told(link).await {
            return reason;
        }
    }
}

/// What a vendor does with a conversation that it does not like.
#[derive(Debug, Clone, Copy)]
enum Dislike {
    Mute,
    Fails,
    Filters,
    Closes(u16),
}

async fn dislikes(mut call: Call, dislike: Dislike) {
    while let Some(event) = call.read().await {
        if event["type"] != "response.create" {
            continue;
        }
        match dislike {
            Dislike::Mute => (),
            Dislike::Fails => {
                call.created("r").await;
                call.done("r", "failed").await;
            }
            Dislike::Filters => {
                call.send(json!({"type": "response.created", "response": {"id": "r"}})).await;
                let why = json!({"type": "incomplete", "reason": "content_filter"});
                let response: Value = json!({"id": "r", "status": "incomplete", "output": [],
                    "status_details": why});
                call.send(json!({"type": "response.done", "response": response})).await;
            }
            Dislike::Closes(code) => return call.close(code, "not that").await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_conversation_leads_to_takes_the_model_from_nobody_else() {
    for dislike in [
        Dislike::Mute,
        Dislike::Fails,
        Dislike::Filters,
        Dislike::Closes(1008),
        Dislike::Closes(3000),
        Dislike::Closes(1011),
        Dislike::Closes(1006),
    ] {
        let mut gateway = Gateway::new();
        let mut disliked = gateway.session().await;
        let failed = async {
            tokio::select! {
                reason = fails(&mut disliked) => reason,
                () = async {
                    loop {
                        let call = gateway.vendor.answer().await;
                        crate::task::spawn("vendor", dislikes(call, dislike));
                    }
                } => unreachable!(),
            }
        };
        let reason = failed.await;
        assert!(!reason.contains("at the moment"), "{dislike:?}: {reason}");
        gateway.answers().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_the_vendor_refuses_is_no_failure_of_the_model() {
    let mut gateway = Gateway::new();
    let mut picky = gateway.session().await;
    let mut call = gateway.vendor.pick_up().await;
    let update = call.next().await;
    let error = json!({"type": "invalid_request_error", "code": "invalid_value",
        "param": "session.audio.output.voice", "message": "no such voice",
        "event_id": update["event_id"]});
    call.send(json!({"type": "error", "error": error})).await;
    assert_eq!(fails(&mut picky).await, "no such voice");
    gateway.answers().await;
}

#[tokio::test(start_paused = true)]
async fn why_answers_do_not_come_is_told_in_the_vendors_words() {
    let mut gateway = Gateway::new();
    let mut link = gateway.session().await;
    for _ in 0..3 {
        let call = gateway.vendor.answer().await;
        crate::task::spawn("vendor", async move {
            let mut call = call;
            while let Some(event) = call.read().await {
                if event["type"] == "response.create" {
                    call.created("r").await;
                    let error = json!({"code": "server_error", "message": "not today"});
                    let why = json!({"type": "failed", "error": error});
                    let response = json!({"id": "r", "status": "failed", "output": [],
                        "status_details": why});
                    call.send(json!({"type": "response.done", "response": response})).await;
                }
            }
        });
    }
    let reason = fails(&mut link).await;
    assert!(reason.ends_with("does not answer: not today"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn what_concerns_everybody_is_tried_again_by_one_after_a_while() {
    let mut gateway = Gateway::new();
    let mut first = gateway.session().await;
    for _ in 0..5 {
        gateway.vendor.refuse(503).await;
    }
    assert!(fails(&mut first).await.contains("503"));
    gateway.refuses().await;
    advance(MINUTE).await;
    let mut probe = gateway.session().await;
    // Whoever comes meanwhile does not wait for it.
    sleep(Duration::from_millis(10)).await;
    gateway.refuses().await;
    gateway.vendor.refuse(503).await;
    assert!(fails(&mut probe).await.contains("503"), "once is enough");
    gateway.refuses().await;
    advance(MINUTE).await;
    let works = gateway.answers().await;
    gateway.answers().await;
    drop(works);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_given_up_leaves_the_next_try_to_others() {
    let mut gateway = Gateway::new();
    let mut first = gateway.session().await;
    gateway.vendor.refuse(401).await;
    fails(&mut first).await;
    gateway.refuses().await;
    advance(10 * MINUTE).await;
    let probe = gateway.session().await;
    let ringing = gateway.vendor.ring().await;
    drop(probe);
    sleep(Duration::from_secs(2)).await;
    drop(ringing);
    gateway.answers().await;
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_is_used_up_is_known_to_be_back_when_something_was_answered() {
    let mut gateway = Gateway::new();
    let mut first = gateway.session().await;
    let mut call = gateway.vendor.answer().await;
    let item = call.expect("conversation.item.create").await;
    call.error("insufficient_quota", &item).await;
    fails(&mut first).await;
    gateway.refuses().await;
    advance(10 * MINUTE).await;
    let _probe = gateway.session().await;
    let mut call = gateway.vendor.answer().await;
    call.expect("conversation.item.create").await;
    gateway.refuses().await;
    call.reply("r", "hi").await;
    sleep(Duration::from_secs(2)).await;
    gateway.answers().await;
}
