//! HTTP of the packet dialect's frontends: sessions, model settings, files, and requests that are none.

use crate::http::{encoded, get, post};
use crate::support::{BODY, Client, Gateway, Home, KIND, PATIENCE, SESSION, TOKEN};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

const START: &str = "/core/AIコア/初期化";
const MODELS: &str = "/core/AIコア/モデル情報/取得";
const SETTINGS: &str = "/core/AIコア/モデル情報/設定";
const CONTENT: &str = "/core/files/内容取得";

#[tokio::test]
async fn everything_but_login_and_state_needs_a_user() {
    let gateway = Gateway::start().await;
    for path in [
        "/core/auth/現在利用者",
        "/core/auth/ログアウト",
        START,
        MODELS,
        SETTINGS,
        "/core/AIコア/セッション一覧",
        CONTENT,
    ] {
        let nobody = post(path, &json!({})).send(gateway.addr).await;
        assert_eq!(nobody.json()["detail"], "Not authenticated", "{path}");
        let stranger = post(path, &json!({})).bearer("wrong").send(gateway.addr).await;
        assert_eq!(stranger.json()["detail"], "Could not validate credentials", "{path}");
        assert_eq!((nobody.status, stranger.status), (401, 401), "{path}");
    }
    let state = get("/core/サーバー状態").send(gateway.addr).await.json();
    assert_eq!(state["data"], json!({"ready_count": 1, "busy_count": 0}));
    assert_eq!((&state["ready_count"], &state["busy_count"]), (&json!(1), &json!(0)));
    gateway.stop().await;
}

#[tokio::test]
async fn a_malformed_request_is_answered_with_its_mistake() {
    let gateway = Gateway::start().await;
    let wrong = |path| post(path, &Value::Null).local();
    for (path, body) in [
        ("/core/auth/ログイン", ""),
        ("/core/auth/ログイン", "{"),
        ("/core/auth/ログイン", r#"{"利用者ID":"a"}"#),
        (START, "[]x"),
        (SETTINGS, r#"{"モデル設定":1}"#),
        (CONTENT, "{}"),
    ] {
        let reply = wrong(path).body(body).send(gateway.addr).await;
        assert_eq!(reply.status, 422, "{path} {body}: {}", reply.body);
    }
    let large = wrong(START).body(&format!("\"{}\"", "x".repeat(70_000))).send(gateway.addr).await;
    assert_eq!(large.status, 413, "{}", large.body);
    assert_eq!(get(START).local().send(gateway.addr).await.status, 405);
    assert_eq!(get("/core/何もない").local().send(gateway.addr).await.status, 404);
    gateway.stop().await;
}

#[tokio::test]
async fn a_session_is_made_kept_and_known_to_sockets() {
    let gateway = Gateway::start().await;
    let made = post(START, &json!({SESSION: ""})).local().send(gateway.addr).await.json();
    let id = made["data"][SESSION].as_str().unwrap().to_owned();
    let again = post(START, &json!({SESSION: id})).local().send(gateway.addr).await.json();
    assert_eq!(again["data"][SESSION], json!(id));
    let client = Client::open(gateway.addr, "input", Some(&id)).await;
    assert_eq!(client.session(), id);
    for odd in ["my-own-id", "bd07140c9", "bd07140c922", "BD07140C92", "bd07140c9g"] {
        let odd = post(START, &json!({SESSION: odd})).local().send(gateway.addr).await;
        assert_eq!(odd.refused(), "SESSION_REFUSED");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn an_id_of_the_original_stands_for_one_session_of_its_user() {
    let home = Arc::new(Home::new());
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let start = async |addr, id: &str| {
        let made = post(START, &json!({SESSION: id})).local().send(addr).await.json();
        made["data"][SESSION].as_str().unwrap().to_owned()
    };
    let id = start(gateway.addr, "bd07140c92").await;
    assert!(id.starts_with("ws-"), "{id}");
    assert_ne!(start(gateway.addr, "bd07140c93").await, id);
    // The page keeps the old id in its address: its dialogs use that, its sockets what it was answered.
    let change = json!({SESSION: "bd07140c92", "モデル設定": {"CODE_AI2_PLACE": "shared"}});
    assert_eq!(post(SETTINGS, &change).local().send(gateway.addr).await.json()["status"], "OK");
    let socket = Client::open(gateway.addr, "input", Some(&id)).await;
    assert_eq!(socket.init[BODY]["モデル設定"]["CODE_AI2_PLACE"], "shared");
    let same = Client::open(gateway.addr, "0", Some("bd07140c92")).await;
    assert_eq!(same.session(), id);
    let body = json!({SESSION: "bd07140c92"});
    let models = post(MODELS, &body).local().send(gateway.addr).await.json();
    assert_eq!(models["data"]["モデル設定"]["CODE_AI2_PLACE"], "shared");
    gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    assert_eq!(start(gateway.addr, "bd07140c92").await, id);
    gateway.stop().await;
}

#[tokio::test]
async fn settings_are_shown_checked_and_refused_with_reasons() {
    let gateway = Gateway::start().await;
    let client = Client::open(gateway.addr, "input", None).await;
    let id = client.session();
    let models = post(MODELS, &json!({SESSION: id})).local().send(gateway.addr).await.json();
    let data = &models["data"];
    assert_eq!(data["モデル設定"], client.init[BODY]["モデル設定"]);
    for (group, name) in [
        ("chat_models", "openrt"),
        ("live_models", "openai_live"),
        ("live_voices", "gemini_live"),
        ("code_models", "codex_cli"),
        ("chat_models", "scripted"),
    ] {
        assert!(data["available_models"][group][name].is_object(), "{group} {name}");
    }
    let change = async |changes: Value| {
        let body = json!({SESSION: id, "モデル設定": changes});
        post(SETTINGS, &body).local().send(gateway.addr).await
    };
    let kept = change(json!({"CODE_PLAN": "auto", "CODE_MAX_TURNS": 999})).await.json();
    assert_eq!(kept["message"], "2件の設定を更新しました（セッション内のみ）");
    assert_eq!(change(json!({})).await.refused(), "NO_SETTINGS");
    let refused = change(json!({
        "CODE_PLAN": "auto", "NO_SUCH": "x", "CHAT_AI_NAME": "gemini", "CODE_MAX_TURNS": "many",
        "CODE_BASE_PATH": "/etc", "CHAT_TOOLS": "file:read,file:burn",
    }))
    .await;
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert_eq!(refused.refused(), "SETTINGS_REFUSED");
    for (name, reason) in [
        ("NO_SUCH", "そのような設定"),
        ("CHAT_AI_NAME", "使えるもの: scripted, auto"),
        ("CODE_MAX_TURNS", "整数"),
        ("CODE_BASE_PATH", "[projects]"),
        ("CHAT_TOOLS", "「file:burn」はありません。使えるもの: file:read, "),
    ] {
        let line = message.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.contains(reason), "{line}");
    }
    let restart = json!({SESSION: id, "モデル設定": {}, "再起動要求": {"reboot_core": true}});
    let restart = post(SETTINGS, &restart).local().send(gateway.addr).await;
    assert_eq!(restart.refused(), "RESTART_REFUSED");
    gateway.stop().await;
}

#[tokio::test]
async fn settings_are_saved_although_a_restart_is_asked_for_and_agents_work() {
    let gateway = Gateway::start().await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut agent = Client::open(gateway.addr, "1", Some(&id)).await;
    input.send(&json!({"チャンネル": "1", KIND: "input_text", BODY: "sleep 60"})).await;
    agent.until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    let current = async || {
        let models = post(MODELS, &json!({SESSION: id})).local().send(gateway.addr).await.json();
        models["data"]["モデル設定"].clone()
    };
    // Existing clients send all of them back, the project too, which cannot be changed now.
    let mut settings = current().await;
    settings["CODE_AI3_PLACE"] = json!("shared");
    let body = json!({
        SESSION: id,
        "モデル設定": settings,
        "再起動要求": {"reboot_core": false, "reboot_apps": true},
    });
    let saved = post(SETTINGS, &body).local().send(gateway.addr).await.json();
    assert_eq!((&saved["status"], &saved["data"]), (&json!("OK"), &json!({"再起動": false})));
    let message = saved["message"].as_str().unwrap();
    assert!(message.starts_with("34件の設定を更新しました") && message.contains("再起動は"));
    assert_eq!(current().await, settings);
    // What cannot be is refused as a whole, restart or not.
    let mut wrong = body.clone();
    wrong["モデル設定"]["CODE_AI3_PLACE"] = json!("nowhere");
    wrong["モデル設定"]["CODE_AI2_PLACE"] = json!("shared");
    let refused = post(SETTINGS, &wrong).local().send(gateway.addr).await;
    assert_eq!(refused.refused(), "SETTINGS_REFUSED");
    assert_eq!(current().await, settings);
    gateway.stop().await;
}

#[tokio::test]
async fn a_session_moves_to_another_project_and_stays_there() {
    let other = tempfile::tempdir().unwrap();
    let path = other.path().canonicalize().unwrap();
    std::fs::write(path.join("there.txt"), "there").unwrap();
    let listed = path.clone();
    let choose = move |config: &mut kakehashi::config::Config| {
        config.projects = vec![("The other".to_owned(), listed.clone())];
    };
    let gateway = Gateway::start_with(choose.clone()).await;
    std::fs::write(gateway.project().join("here.txt"), "here").unwrap();
    let mut input = Client::open(gateway.addr, "input", None).await;
    let id = input.session().to_owned();
    let mut file = Client::open(gateway.addr, "file", Some(&id)).await;
    let mut agent = Client::open(gateway.addr, "1", Some(&id)).await;
    agent.until("welcome_text").await;

    let models = post(MODELS, &json!({SESSION: id})).local().send(gateway.addr).await.json();
    let key = format!("{}", path.display());
    assert_eq!(models["data"]["external_root_dic"][&key], "The other");
    let change = json!({SESSION: id, "モデル設定": {"CODE_BASE_PATH": format!("{key}/")}});

    // Not while an agent works.
    input.send(&json!({"チャンネル": "1", KIND: "input_text", BODY: "sleep 60"})).await;
    agent.until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    let busy = post(SETTINGS, &change).local().send(gateway.addr).await;
    assert_eq!(busy.refused(), "SETTINGS_REFUSED");
    input.send(&json!({"チャンネル": "1", KIND: "cancel_run", BODY: ""})).await;
    agent.until_where(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
    // The end of a run takes a moment longer than its announcement.
    let moving = async {
        loop {
            let moved = post(SETTINGS, &change).local().send(gateway.addr).await;
            if moved.json()["status"] == "OK" {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, moving).await.expect("it stays busy");

    input.send(&json!({"チャンネル": "file", KIND: "files_backup", BODY: ""})).await;
    let list = file.until("files_backup").await;
    assert_eq!(list[BODY]["プロジェクトパス"], json!(key));
    assert_eq!(list[BODY]["ファイルリスト"][0]["パス"], "there.txt");
    input.send(&json!({"チャンネル": "1", KIND: "input_text", BODY: "write made.txt x"})).await;
    agent.until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    assert!(path.join("made.txt").exists());
    let body = json!({"ファイル名": "there.txt", SESSION: id});
    let content = post(CONTENT, &body).local().send(gateway.addr).await.json();
    assert_eq!(content["data"]["base64_data"], "dGhlcmU=");
    let absolute = json!({"ファイル名": path.join("there.txt")});
    let content = post(CONTENT, &absolute).local().send(gateway.addr).await.json();
    assert_eq!(content["data"]["base64_data"], "dGhlcmU=");

    let home = gateway.stop().await;
    let gateway = Gateway::start_at(std::sync::Arc::clone(&home), choose).await;
    let input = Client::open(gateway.addr, "input", Some(&id)).await;
    assert_eq!(input.init[BODY]["モデル設定"]["CODE_BASE_PATH"], json!(key));
    gateway.stop().await;
    // A project that is not configured any more is given up.
    let gateway = Gateway::start_at(home, |_| ()).await;
    let input = Client::open(gateway.addr, "input", Some(&id)).await;
    assert_eq!(input.init[BODY]["モデル設定"]["CODE_BASE_PATH"], "");
    gateway.stop().await;
}

#[tokio::test]
async fn file_content_stays_below_its_roots() {
    let gateway = Gateway::start().await;
    std::fs::write(gateway.project().join("page.html"), "<script>").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", gateway.project().join("link")).unwrap();
    let ask = async |name: &str| {
        post(CONTENT, &json!({"ファイル名": name})).local().send(gateway.addr).await
    };
    let good = ask("page.html").await;
    assert_eq!(good.json()["data"]["base64_data"], "PHNjcmlwdD4=");
    assert_eq!(good.header("content-type").unwrap(), "application/json");
    assert_eq!(good.header("x-content-type-options").unwrap(), "nosniff");
    let token = gateway.home.data.path().join("token").display().to_string();
    for (name, code) in [
        ("", "INVALID_FILE_NAME"),
        ("../token", "INVALID_FILE_NAME"),
        ("/etc/hostname", "INVALID_FILE_NAME"),
        (token.as_str(), "INVALID_FILE_NAME"),
        ("nothing.txt", "FILE_NOT_FOUND"),
    ] {
        assert_eq!(ask(name).await.refused(), code, "{name}");
    }
    let link = ask("link").await;
    assert_ne!(link.json()["status"], "OK", "{}", link.body);
    gateway.stop().await;
}

/// Asks for a file and takes nothing of the answer.
async fn ask_and_wait(addr: SocketAddr, name: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(addr).await.unwrap();
    let (body, path) = (json!({"ファイル名": name}).to_string(), encoded(CONTENT));
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    // It is answered, and the rest waits for us.
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    stream
}

#[tokio::test]
async fn downloads_that_nobody_reads_are_limited() {
    // Nobody is given up before the last has asked.
    let hour = std::time::Duration::from_secs(3600);
    let patient = |config: &mut kakehashi::config::Config| {
        (config.limits.write, config.limits.handshake) = (hour, hour);
    };
    let gateway = Gateway::start_with(patient).await;
    std::fs::write(gateway.project().join("large"), vec![0; 6 * 1024 * 1024]).unwrap();
    std::fs::write(gateway.project().join("small"), "x").unwrap();
    let ask =
        async || post(CONTENT, &json!({"ファイル名": "small"})).local().send(gateway.addr).await;
    let mut waiting = Vec::new();
    for _ in 0..19 {
        waiting.push(ask_and_wait(gateway.addr, "large").await);
    }
    assert_eq!(ask().await.status, 200);
    waiting.push(ask_and_wait(gateway.addr, "large").await);
    let refused = ask().await;
    assert_eq!((refused.status, refused.refused().as_str()), (503, "UNAVAILABLE"));
    drop(waiting);
    let served = async {
        while ask().await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, served).await.expect("places are given up with their connections");
    gateway.stop().await;
}
