//! One session, seen at the same time by an AIコア socket for each channel and by one connection of the session API:
//! both tell the same events in the same order, and what one client does the other learns.

use crate::client::{Aicore, Api, Ask, Client, Codec, Told, What};
use crate::support::Gateway;
use kakehashi::message::{AgentSet, AgentSlot, Channel, RunOutcome};
use serde_json::json;
use std::net::SocketAddr;

const AGENT: Channel = Channel::Agent(AgentSlot::ALL[0]);

/// All eight sockets of a frontend that shows everything, and a client of the whole session.
struct Both {
    input: Client<Aicore>,
    chat: Client<Aicore>,
    agents: Vec<Client<Aicore>>,
    _others: [Client<Aicore>; 2],
    api: Client<Api>,
}

impl Both {
    async fn open(addr: SocketAddr) -> Self {
        let more = || json!({"機能": ["stream", "confirm", "agents"], "言語": "en"});
        let input = Client::<Aicore>::open_with(addr, "input", None, more()).await;
        let session = input.session().to_owned();
        let socket = async |name| Client::open_with(addr, name, Some(&session), more()).await;
        let mut panes = Vec::new();
        for name in ["0", "1", "2", "3", "4"] {
            let mut pane: Client<Aicore> = socket(name).await;
            pane.until("welcome_text").await;
            panes.push(pane);
        }
        let (chat, agents) = (panes.remove(0), panes);
        let _others = [socket("file").await, socket("audio").await];
        let mut api = Client::<Api>::open(addr, json!({"session": session})).await;
        assert_eq!(api.session(), session);
        api.until("ready").await;
        Self { input, chat, agents, _others, api }
    }
}

/// What is told about one channel.
fn on(channel: Channel, told: &[Told]) -> Vec<Told> {
    told.iter().filter(|told| told.channel == channel).cloned().collect()
}

/// The answer of a run, or that it was cancelled, comes behind its end.
fn is_said(what: &What) -> bool {
    matches!(what, What::Said(_))
}

fn is_changed(what: &What) -> bool {
    matches!(what, What::Changed(_))
}

#[tokio::test]
async fn both_dialects_tell_one_run_in_the_same_order() {
    let gateway = Gateway::start().await;
    let mut both = Both::open(gateway.addr).await;
    let asked = &AgentSlot::ALL[..2];
    let text = |slot: AgentSlot| format!("say one\nwrite {}.txt made\nsay two", slot.number());
    for slot in asked {
        let (agents, text) = (AgentSet::from(*slot), text(*slot));
        both.input.ask(Ask::TextToAgents { agents, text: &text }).await;
    }
    let mut in_api = Vec::new();
    for _ in asked {
        in_api.extend(both.api.told_until(is_changed).await);
    }
    let mut in_chat = Vec::new();
    for _ in asked {
        let is_answered = |what: &What| matches!(what, What::Answered(_));
        in_chat.extend(both.chat.told_until(is_answered).await);
    }
    in_chat.retain(|told| !is_changed(&told.what));
    assert_eq!(on(Channel::Chat, &in_api), in_chat);
    for (slot, pane) in asked.iter().zip(&mut both.agents) {
        let in_pane = pane.told_until(is_changed).await;
        assert_eq!(on(Channel::Agent(*slot), &in_api), in_pane);
        let told: Vec<_> = in_pane.into_iter().map(|told| told.what).collect();
        for expected in [
            What::Requested(text(*slot)),
            What::RunEnded(RunOutcome::Finished),
            What::Said("one\ntwo".to_owned()),
        ] {
            assert!(told.contains(&expected), "{expected:?}: {told:?}");
        }
    }
    let reports = on(Channel::Input, &in_api);
    let started = both.input.told_until(|_| true).await;
    assert_eq!(started[..], reports[..1]);
    gateway.stop().await;
}

#[tokio::test]
async fn a_text_typed_on_one_is_seen_on_the_other() {
    let gateway = Gateway::start().await;
    let mut both = Both::open(gateway.addr).await;
    for turn in 0..2 {
        let text = format!("say turn {turn}");
        let ask = Ask::Text { to: AGENT, text: &text };
        if turn == 0 {
            both.input.ask(ask).await
        } else {
            both.api.ask(ask).await
        }
        let (here, there) =
            (both.agents[0].told_until(is_said).await, both.api.told_until(is_said).await);
        let typed = What::Typed { text: text.clone(), files: Vec::new() };
        assert_eq!(here[0], Told { channel: AGENT, what: typed });
        assert_eq!(here, on(AGENT, &there), "turn {turn}");
    }
    gateway.stop().await;
}

/// Waits until `client` is asked, and tells the id of the question.
async fn asked<C: Codec>(client: &mut Client<C>) -> String {
    let told = client.expect(|what| matches!(what, What::Question { .. })).await;
    let What::Question { id } = told.what else { unreachable!() };
    id
}

/// Waits until `client` learns that the question is settled.
async fn settled<C: Codec>(client: &mut Client<C>) -> What {
    client.expect(|what| matches!(what, What::Settled { .. })).await.what
}

#[tokio::test]
async fn a_question_answered_on_one_is_settled_on_the_other() {
    let gateway = Gateway::start().await;
    let mut both = Both::open(gateway.addr).await;
    for approved in [true, false] {
        let text = "ask write the file\nsay went on";
        both.api.ask(Ask::Text { to: AGENT, text }).await;
        let id = asked(&mut both.api).await;
        assert_eq!(asked(&mut both.agents[0]).await, id);
        assert_eq!(asked(&mut both.input).await, id);
        let answer = Ask::Answer { id: &id, approved };
        // One answer on each side.
        if approved {
            both.input.ask(answer).await
        } else {
            both.api.ask(answer).await
        }
        let expected = What::Settled { id: id.clone(), approved };
        assert_eq!(settled(&mut both.agents[0]).await, expected);
        assert_eq!(settled(&mut both.input).await, expected);
        assert_eq!(settled(&mut both.api).await, expected);
        let (here, there) =
            (both.agents[0].told_until(is_said).await, both.api.told_until(is_said).await);
        assert_eq!(here, on(AGENT, &there), "{approved}");
    }
    gateway.stop().await;
}

/// Waits until `client` learns of an upload, and tells its path.
async fn received<C: Codec>(client: &mut Client<C>) -> String {
    let told = client.expect(|what| matches!(what, What::Received(_))).await;
    let What::Received(path) = told.what else { unreachable!() };
    path
}

#[tokio::test]
async fn files_uploaded_on_one_are_seen_on_the_other() {
    let gateway = Gateway::start().await;
    let mut both = Both::open(gateway.addr).await;
    let upload = |name, bytes| Ask::Upload { to: Channel::Chat, name, bytes };
    both.api.ask(upload("from-api.txt", b"one")).await;
    let first = received(&mut both.chat).await;
    assert_eq!(received(&mut both.api).await, first);
    assert!(first.ends_with("from-api.txt"), "{first}");
    both.input.ask(upload("from-aicore.txt", b"two")).await;
    let second = received(&mut both.api).await;
    assert_eq!(received(&mut both.chat).await, second);
    assert!(second.ends_with("from-aicore.txt"), "{second}");
    // Both go with the next text, whoever sends it.
    both.api.ask(Ask::Text { to: Channel::Chat, text: "look" }).await;
    let typed = What::Typed { text: "look".to_owned(), files: vec![first, second] };
    assert_eq!(both.api.expect(|what| matches!(what, What::Typed { .. })).await.what, typed);
    assert_eq!(both.chat.expect(|what| matches!(what, What::Typed { .. })).await.what, typed);
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_on_one_ends_the_run_on_the_other() {
    let gateway = Gateway::start().await;
    let mut both = Both::open(gateway.addr).await;
    for turn in 0..2 {
        both.api.ask(Ask::Text { to: AGENT, text: "stream 1\nsleep 60" }).await;
        let begun = |what: &What| matches!(what, What::Line(_));
        both.agents[0].expect(begun).await;
        both.api.expect(begun).await;
        let cancel = Ask::Cancel { to: AGENT };
        if turn == 0 {
            both.input.ask(cancel).await
        } else {
            both.api.ask(cancel).await
        }
        let (here, there) =
            (both.agents[0].told_until(is_said).await, both.api.told_until(is_said).await);
        let cancelled = Told { channel: AGENT, what: What::RunEnded(RunOutcome::Cancelled) };
        assert!(here.contains(&cancelled), "{here:?}");
        assert_eq!(here, on(AGENT, &there), "turn {turn}");
    }
    gateway.stop().await;
}
