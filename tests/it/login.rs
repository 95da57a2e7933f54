//! Who may come in: the token, logins, cookies, and what happens when one of them is no good.

use crate::http::{get, post};
use crate::support::{CODE, Client, Gateway, Home, KIND, PATIENCE, SESSION, TOKEN};
use kakehashi::auth;
use kakehashi::config::{Config, User};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const LOGIN: &str = "/core/auth/ログイン";
const LOGOUT: &str = "/core/auth/ログアウト";
const WHO: &str = "/core/auth/現在利用者";

fn login_body(name: &str, password: &str) -> Value {
    json!({"利用者ID": name, "パスワード": password})
}

/// Hashed once, as in a file: another hash would be another password.
pub(crate) fn with_users(config: &mut Config) {
    static USERS: LazyLock<[User; 2]> = LazyLock::new(|| {
        ["ann", "bob"].map(|name| User {
            name: name.to_owned(),
            password: auth::hash_password(&format!("{name}'s password")).unwrap(),
        })
    });
    config.users = USERS.to_vec();
}

/// Logs in and returns the token.
pub(crate) async fn log_in(addr: SocketAddr, name: &str) -> String {
    let reply = post(LOGIN, &login_body(name, &format!("{name}'s password"))).send(addr).await;
    let json = reply.json();
    assert_eq!(json["status"], "OK", "{json}");
    json["data"]["access_token"].as_str().unwrap().to_owned()
}

async fn connect_as(addr: SocketAddr, secret: &str, session: Option<&str>) -> (Client, Value) {
    let mut client = Client::dial_as(addr, None).await;
    let connect =
        json!({"type": "connect", "トークン": secret, SESSION: session, "ソケット番号": "input"});
    client.send(&connect).await;
    let first = client.next().await;
    (client, first)
}

#[tokio::test]
async fn without_a_secret_a_socket_is_told_and_closed() {
    let gateway = Gateway::start().await;
    for (header, token) in [
        (None, Value::Null),
        (None, json!("")),
        (None, json!("a guess that is long enough to be a token")),
        (Some(("Authorization", "Bearer wrong")), Value::Null),
        (Some(("Authorization", "Basic dXNlcjpwYXNz")), Value::Null),
        (Some(("Cookie", "kakehashi-1=wrong")), Value::Null),
        // A token that is there counts, also when the header would do.
        (Some(("Authorization", &format!("Bearer {TOKEN}"))), json!("wrong")),
    ] {
        let mut client = Client::dial_as(gateway.addr, header).await;
        client.send(&json!({"type": "connect", "トークン": token, "ソケット番号": "input"})).await;
        let error = client.next().await;
        assert_eq!((&error[KIND], &error[CODE]), (&json!("error"), &json!("unauthorized")));
        assert_eq!(client.closed().await.0, 3506, "{header:?} {token}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_token_that_is_no_text_is_a_malformed_packet() {
    let gateway = Gateway::start().await;
    let mut client = Client::dial_as(gateway.addr, None).await;
    client.send_raw(tokio_tungstenite::tungstenite::Message::text(r#"{"トークン":1}"#)).await;
    assert_eq!(client.next().await[CODE], "bad_field");
    assert_eq!(client.closed().await.0, 3502);
    gateway.stop().await;
}

#[tokio::test]
async fn a_secret_comes_as_header_as_cookie_or_in_connect() {
    let gateway = Gateway::start().await;
    let reply = post(LOGIN, &login_body("local", TOKEN)).send(gateway.addr).await;
    let cookie = reply.cookie().unwrap();
    let attributes = reply.header("set-cookie").unwrap();
    for wanted in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(attributes.contains(wanted), "{attributes}");
    }
    assert!(!attributes.contains("Secure"), "{attributes}");
    let issued = reply.json()["data"]["access_token"].as_str().unwrap().to_owned();
    assert_eq!(reply.json()["data"]["初期ページ"], "AIコア");
    let (_client, init) = connect_as(gateway.addr, &issued, None).await;
    assert_eq!(init[KIND], "init");
    let bearer = format!("Bearer {issued}");
    for header in [("Cookie", cookie.as_str()), ("Authorization", bearer.as_str())] {
        let mut client = Client::dial_as(gateway.addr, Some(header)).await;
        client.send(&json!({"type": "connect", SESSION: init[SESSION], "ソケット番号": "0"})).await;
        assert_eq!(client.next().await[KIND], "init", "{header:?}");
        let who = post(WHO, &Value::Null).header(header.0, header.1).send(gateway.addr).await;
        assert_eq!(who.json()["data"]["利用者ID"], "local");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_printed_address_sets_the_cookie_and_loses_the_token() {
    let gateway = Gateway::start().await;
    let entered = get(&format!("/?token={TOKEN}&lang=en")).send(gateway.addr).await;
    assert_eq!(entered.status, 200);
    assert!(entered.body.contains("/assets/enter.js"), "{}", entered.body);
    assert_eq!(entered.header("cache-control").unwrap(), "no-store");
    let cookie = entered.cookie().unwrap();
    assert!(!cookie.contains(TOKEN), "the cookie is a login of its own");
    let page = get("/").header("Cookie", &cookie).send(gateway.addr).await;
    assert!(page.body.contains("/assets/app.js"), "{}", page.body);

    let wrong = get("/?token=wrong").send(gateway.addr).await;
    assert_eq!((wrong.status, wrong.header("location")), (303, Some("/login?wrong".to_owned())));
    assert_eq!(wrong.cookie(), None);
    let nobody = get("/?lang=en").send(gateway.addr).await;
    assert_eq!(
        (nobody.status, nobody.header("location")),
        (303, Some("/login?lang=en".to_owned()))
    );
    let me = get("/api/me").send(gateway.addr).await;
    assert_eq!((me.status, me.json()["users"].clone()), (401, json!(false)));
    gateway.stop().await;
}

#[tokio::test]
async fn a_logout_closes_the_sockets_of_that_login_only() {
    let gateway = Gateway::start_with(with_users).await;
    let (first, second) = (log_in(gateway.addr, "ann").await, log_in(gateway.addr, "ann").await);
    let (mut one, init) = connect_as(gateway.addr, &first, None).await;
    let session = init[SESSION].as_str().unwrap();
    let (mut two, _) = connect_as(gateway.addr, &second, Some(session)).await;
    two.until("welcome_text").await;
    let out = post(LOGOUT, &Value::Null).bearer(&first).send(gateway.addr).await;
    assert_eq!(out.json()["status"], "OK");
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(one.closed().await.0, 3506);
    two.send(&json!({"チャンネル": "0", KIND: "input_text", "メッセージ内容": "x", "要求番号": 1}))
        .await;
    two.until("ack").await;
    assert_eq!(post(WHO, &Value::Null).bearer(&first).send(gateway.addr).await.status, 401);
    let (_, refused) = connect_as(gateway.addr, &first, Some(session)).await;
    assert_eq!(refused[CODE], "unauthorized");
    gateway.stop().await;
}

#[tokio::test]
async fn logins_and_sessions_survive_a_restart() {
    let home = Arc::new(Home::new());
    let gateway = Gateway::start_at(Arc::clone(&home), with_users).await;
    let secret = log_in(gateway.addr, "ann").await;
    let (_client, init) = connect_as(gateway.addr, &secret, None).await;
    gateway.stop().await;
    let gateway = Gateway::start_at(home, with_users).await;
    let (_client, again) = connect_as(gateway.addr, &secret, init[SESSION].as_str()).await;
    assert_eq!(again[SESSION], init[SESSION]);
    gateway.stop().await;
}

#[tokio::test]
async fn another_users_session_is_never_reachable() {
    let gateway = Gateway::start_with(with_users).await;
    let (ann, bob) = (log_in(gateway.addr, "ann").await, log_in(gateway.addr, "bob").await);
    // The same id of the original stands for a session of each.
    let (_one, anns) = connect_as(gateway.addr, &ann, Some("bd07140c92")).await;
    let (_other, bobs) = connect_as(gateway.addr, &bob, Some("bd07140c92")).await;
    // A refusal has an empty id.
    for init in [&anns, &bobs] {
        assert!(init[SESSION].as_str().unwrap().starts_with("ws-"), "{init}");
    }
    assert_ne!(anns[SESSION], bobs[SESSION]);
    let (_client, init) = connect_as(gateway.addr, &ann, None).await;
    let session = init[SESSION].as_str().unwrap();
    let (mut foreign, error) = connect_as(gateway.addr, &bob, Some(session)).await;
    assert_eq!(error[CODE], "session_refused");
    assert_eq!(foreign.closed().await.0, 3504);
    for path in
        ["/core/AIコア/初期化", "/core/AIコア/モデル情報/取得", "/core/AIコア/モデル情報/設定"]
    {
        let body = json!({SESSION: session, "モデル設定": {"CODE_PLAN": "auto"}});
        let refused = post(path, &body).bearer(&bob).send(gateway.addr).await;
        assert_eq!(refused.refused(), "SESSION_REFUSED", "{path}");
    }
    // Where there are users, the token of the file lets nobody in.
    let (_, refused) = connect_as(gateway.addr, TOKEN, None).await;
    assert_eq!(refused[CODE], "unauthorized");
    assert_eq!(
        post(LOGIN, &login_body("local", TOKEN)).send(gateway.addr).await.refused(),
        "LOGIN_FAILED"
    );
    assert_eq!(get(&format!("/?token={TOKEN}")).send(gateway.addr).await.status, 303);
    gateway.stop().await;
}

#[tokio::test]
async fn wrong_logins_are_answered_alike_and_slowed_down() {
    let gateway = Gateway::start_with(with_users).await;
    let wrong = post(LOGIN, &login_body("ann", "bob's password")).send(gateway.addr).await;
    let nobody = post(LOGIN, &login_body("nobody", "x")).send(gateway.addr).await;
    assert_eq!((wrong.status, wrong.body.as_str()), (200, nobody.body.as_str()));
    assert_eq!(wrong.refused(), "LOGIN_FAILED");
    assert_eq!(wrong.cookie(), None);
    // All at once, because waits are short at first and a busy machine is slow.
    let guess = || post(LOGIN, &login_body("ann", "guess")).send(gateway.addr);
    let answers = futures_util::future::join_all((0..20).map(|_| guess())).await;
    let held = answers.iter().filter(|answer| answer.status == 429);
    assert!(held.clone().count() >= 10, "{}", held.count());
    assert!(held.clone().all(|answer| answer.refused() == "TOO_MANY_LOGINS"));
    assert!(answers.iter().all(|answer| answer.json()["status"] == "NG"));
    gateway.stop().await;
}

#[tokio::test]
async fn an_expired_login_closes_its_sockets() {
    let gateway =
        Gateway::start_with(|config| config.login.lifetime = Duration::from_secs(1)).await;
    let reply = post(LOGIN, &login_body("local", TOKEN)).send(gateway.addr).await;
    let secret = reply.json()["data"]["access_token"].as_str().unwrap().to_owned();
    let (mut client, init) = connect_as(gateway.addr, &secret, None).await;
    assert_eq!(init[KIND], "init");
    assert_eq!(client.closed().await.0, 3506);
    assert_eq!(post(WHO, &Value::Null).bearer(&secret).send(gateway.addr).await.status, 401);
    gateway.stop().await;
}

#[tokio::test]
async fn nothing_is_done_for_a_login_that_ended_since_the_upgrade() {
    let gateway = Gateway::start_with(with_users).await;
    for _ in 0..8 {
        let secret = log_in(gateway.addr, "ann").await;
        let header = format!("Bearer {secret}");
        let mut late = Client::dial_as(gateway.addr, Some(("Authorization", &header))).await;
        post(LOGOUT, &Value::Null).bearer(&secret).send(gateway.addr).await;
        late.send(&json!({"type": "connect", SESSION: null, "ソケット番号": "input"})).await;
        assert_eq!(late.next().await[CODE], "unauthorized");
        assert_eq!(late.closed().await.0, 3506);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_token_of_the_file_cannot_be_logged_out() {
    let gateway = Gateway::start().await;
    let out = post(LOGOUT, &Value::Null).local().send(gateway.addr).await;
    assert_eq!(out.refused(), "NOT_A_LOGIN");
    gateway.stop().await;
}

#[tokio::test]
async fn the_printed_address_makes_no_second_login() {
    let gateway = Gateway::start().await;
    let entered = get(&format!("/?token={TOKEN}")).send(gateway.addr).await;
    let cookie = entered.cookie().unwrap();
    let again = get(&format!("/?token={TOKEN}")).header("Cookie", &cookie).send(gateway.addr).await;
    assert_eq!((again.status, again.cookie()), (200, None));
    gateway.stop().await;
}

#[tokio::test]
async fn a_stranger_cannot_fill_memory_or_hold_connections() {
    let gateway =
        Gateway::start_with(|config| config.limits.header = Duration::from_millis(300)).await;
    // A first packet without end, from somebody who has shown nothing.
    let mut socket = Client::dial_as(gateway.addr, None).await;
    assert!(!socket.takes(4 * 1024 * 1024).await, "it was read to the end");
    // A body that never comes.
    let mut stream = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    let head = format!(
        "POST /core/auth/%E3%83%AD%E3%82%B0%E3%82%A4%E3%83%B3 HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000\r\n\r\nx",
        gateway.addr
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("still open").unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    gateway.stop().await;
}
