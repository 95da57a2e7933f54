//! Settings in the session API: read, changed, refused, and the same ones in every dialect.

use crate::api::ApiClient;
use crate::http::post;
use crate::support::{BODY, Client, Gateway, Home, SESSION};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

const SETTINGS: &str = "/core/AIコア/モデル情報/設定";

async fn settings(client: &mut ApiClient) -> Value {
    client.send(&json!({"type": "settings"})).await;
    client.until("settings").await["data"].clone()
}

/// The same for the same change.
fn number(changes: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    changes.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Waits for the answer to a change.
async fn set(client: &mut ApiClient, changes: Value) -> Value {
    let mut frame = json!({"type": "set", "request": number(&changes)});
    frame.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    client.send(&frame).await;
    let answered = |frame: &Value| frame["type"] == "ack" || frame["type"] == "error";
    client.collect_until(answered).await.pop().unwrap()
}

#[tokio::test]
async fn settings_are_read_changed_and_remembered() {
    let home = Arc::new(Home::new());
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    let session = client.session().to_owned();
    let mut other = ApiClient::open(gateway.addr, json!({"session": session})).await;
    other.until("ready").await;
    let before = settings(&mut client).await;
    assert_eq!((&before["chat"], &before["project"]), (&json!("scripted"), &Value::Null));
    let names: Vec<_> = before["choices"]["agents"].as_array().unwrap().iter().collect();
    assert!(names.iter().any(|row| row["name"] == "builtin"), "{names:?}");

    let change = json!({"agents": {"agent2": {"name": "builtin", "workplace": "worktree"}}});
    assert_eq!(set(&mut client, change.clone()).await["repeated"], false);
    assert_eq!(set(&mut client, change).await["repeated"], true);
    // Everybody is shown it.
    let told = other.until("settings").await;
    assert_eq!(told["data"]["agents"]["agent2"]["name"], "builtin", "{told}");
    assert_eq!(told["data"]["choices"], Value::Null);
    // A page has the same settings, and its changes are shown here.
    let input = Client::open(gateway.addr, "input", Some(&session)).await;
    assert_eq!(input.init[BODY]["モデル設定"]["CODE_AI2_NAME"], "builtin");
    let body = json!({SESSION: session, "モデル設定": {"CODE_AI2_PLACE": "shared"}});
    assert_eq!(post(SETTINGS, &body).local().send(gateway.addr).await.json()["status"], "OK");
    let told = other.until("settings").await;
    assert_eq!(told["data"]["agents"]["agent2"]["workplace"], "shared", "{told}");
    gateway.stop().await;

    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut client = ApiClient::open(gateway.addr, json!({"session": session})).await;
    let agent = &settings(&mut client).await["agents"]["agent2"];
    assert_eq!((&agent["name"], &agent["workplace"]), (&json!("builtin"), &json!("shared")));
    gateway.stop().await;
}

#[tokio::test]
async fn what_cannot_be_is_refused_as_a_whole_with_a_reason_for_each() {
    let gateway = Gateway::start().await;
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    let before = settings(&mut client).await;
    let change = json!({
        "chat": "nobody", "chat_models": {"nobody": "m"}, "project": "/etc",
        "agents": {"agent1": {"name": "nobody"}, "agent2": {"workplace": "worktree"}},
    });
    let refused = set(&mut client, change.clone()).await;
    assert_eq!(refused["code"], "settings_refused", "{refused}");
    assert_eq!(refused["request"], json!(number(&change)));
    let reason = |row: &Value| (row["setting"].clone(), row["code"].clone());
    let reasons: Vec<_> = refused["settings"].as_array().unwrap().iter().map(reason).collect();
    let expected = [
        ("chat", "unknown_model"),
        ("chat_models.nobody", "no_effect"),
        ("agents.agent1.name", "unknown_model"),
        ("project", "not_listed"),
    ];
    assert_eq!(reasons, expected.map(|(name, code)| (json!(name), json!(code))));
    assert_eq!(settings(&mut client).await, before);
    // What is no setting at all is a mistake in the frame.
    let wrong = set(&mut client, json!({"chats": "x"})).await;
    assert_eq!(wrong["code"], "bad_field", "{wrong}");
    gateway.stop().await;
}

#[tokio::test]
async fn a_session_moves_to_another_project_when_nobody_works() {
    let other = tempfile::tempdir().unwrap();
    let path: PathBuf = other.path().canonicalize().unwrap();
    std::fs::write(path.join("there.txt"), "x").unwrap();
    let gone = path.join("gone");
    std::fs::create_dir(&gone).unwrap();
    let projects = [("Other", &path), ("Gone", &gone)];
    let projects = projects.map(|(name, path)| (name.to_owned(), path.clone()));
    let gateway = Gateway::start_with(|config| config.projects = projects.to_vec()).await;
    std::fs::remove_dir(&gone).unwrap();
    let mut client = ApiClient::open(gateway.addr, json!({})).await;
    let code = |refused: &Value| refused["settings"][0]["code"].clone();
    let refused = set(&mut client, json!({"project": gone})).await;
    assert_eq!(code(&refused), "unusable", "{refused}");
    client.send(&json!({"type": "send", "to": "agent1", "text": "sleep 60"})).await;
    client.until("run_started").await;
    let busy = set(&mut client, json!({"project": path})).await;
    assert_eq!(code(&busy), "busy", "{busy}");
    client.send(&json!({"type": "cancel", "to": "agent1"})).await;
    client.until("run_ended").await;
    // The end of a run takes a moment longer than its announcement.
    let mut tries = 0;
    while set(&mut client, json!({"project": path, "agents": {"agent4": {"model": null}}})).await["type"]
        != "ack"
    {
        tries += 1;
        assert!(tries < 1000, "the run never ends");
        tokio::task::yield_now().await;
    }
    client.send(&json!({"type": "files", "list": "project"})).await;
    let list = client.until("files").await;
    assert_eq!(list["data"]["files"][0]["path"], "there.txt", "{list}");
    assert_eq!(settings(&mut client).await["project"], json!(path));
    gateway.stop().await;
}
