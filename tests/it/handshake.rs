//! The first packet: who is let in, who is told what, and with which close code.

use crate::support::{
    BODY, CHANNEL, CODE, Client, EPOCH, Gateway, Home, KIND, RESUMED, SESSION, brief,
};
use crate::texts::english_in;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn input_is_greeted_in_the_order_of_the_wire() {
    let gateway = Gateway::start().await;
    std::fs::write(gateway.project().join("_AIDIY.md"), "\u{feff}our project").unwrap();
    let mut input = Client::open(gateway.addr, "input", None).await;
    let keys: Vec<&String> = input.init.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 8);
    assert_eq!(input.init["ソケット番号"], "input");
    assert_eq!(input.init[CHANNEL], "input");
    assert_eq!(input.init[RESUMED], false);
    assert!(input.init[EPOCH].is_string());
    assert!(input.init["機能"].as_array().unwrap().contains(&json!("resume")));
    let content = &input.init[BODY];
    assert_eq!(content["ボタン"], json!({"スピーカー": true, "マイク": false, "カメラ": false}));
    assert_eq!(content["モデル設定"].as_object().unwrap().len(), 34);
    let root = format!("Root: {}", gateway.project().canonicalize().unwrap().display());
    let greeting = input.collect_until(|packet| packet[KIND] == "welcome_text").await;
    assert_eq!(greeting.len(), 3);
    assert_eq!(greeting[0][KIND], "welcome_info");
    assert_eq!(greeting[0][BODY], root.as_str());
    assert_eq!(greeting[1][KIND], "streaming_started");
    assert_eq!(greeting[1].get(CHANNEL), None);
    assert_eq!(greeting[2][BODY], "our project");
}

#[tokio::test]
async fn other_sockets_get_a_bare_init_and_their_welcome() {
    let gateway = Gateway::start().await;
    let input = Client::open(gateway.addr, "input", None).await;
    for name in ["0", "1", "2", "3", "4"] {
        let mut pane = Client::open(gateway.addr, name, Some(input.session())).await;
        assert_eq!(pane.init[BODY], json!({}));
        assert_eq!(pane.init[SESSION], input.init[SESSION]);
        let kinds: Vec<String> =
            brief(&[pane.next().await, pane.next().await]).into_iter().map(|row| row.0).collect();
        assert_eq!(kinds, ["welcome_info", "welcome_text"]);
    }
    for name in ["audio", "file"] {
        let socket = Client::open(gateway.addr, name, Some(input.session())).await;
        assert_eq!(socket.init[BODY], json!({}));
    }
}

#[tokio::test]
async fn welcome_speaks_the_language_of_the_client() {
    let gateway = Gateway::start().await;
    let mut english = Client::open_with(gateway.addr, "0", None, json!({"言語": "en-US"})).await;
    assert!(english.next().await[BODY].as_str().unwrap().starts_with("This is Kakehashi"));
    for more in [json!({}), json!({"言語": "fr"}), json!({"言語": 5})] {
        let mut default = Client::open_with(gateway.addr, "0", None, more).await;
        assert!(default.next().await[BODY].as_str().unwrap().starts_with("Kakehashi です"));
    }
}

#[tokio::test]
async fn socket_number_may_be_a_number_or_missing() {
    let gateway = Gateway::start().await;
    for (packet, socket) in [
        (json!({"type": "connect", "ソケット番号": 3}), "3"),
        (json!({"type": "connect", CHANNEL: "file"}), "file"),
        (json!({"type": "connect"}), "input"),
        (json!({}), "input"),
        (json!({"ソケット番号": Value::Null, SESSION: ""}), "input"),
    ] {
        let mut client = Client::dial(gateway.addr).await;
        client.send(&packet).await;
        assert_eq!(client.next().await["ソケット番号"], socket, "{packet}");
    }
}

#[tokio::test]
async fn a_malformed_first_packet_is_answered_and_closed() {
    let gateway = Gateway::start().await;
    for (message, code, error) in [
        (Message::text("hello"), 3502, "malformed"),
        (Message::text("[1,2]"), 3502, "not_an_object"),
        (Message::text("null"), 3502, "not_an_object"),
        (Message::text("{\"type\":"), 3502, "malformed"),
        (Message::binary(vec![1, 2, 3]), 3502, "binary"),
        (Message::text(format!("{{\"x\":\"{}\"}}", "x".repeat(70_000))), 3502, "too_large"),
        (Message::text(r#"{"ソケット番号":"77"}"#), 3503, "unknown_socket"),
        (Message::text(r#"{"ソケット番号":{"a":1}}"#), 3503, "unknown_socket"),
        (Message::text(r#"{"セッションID":"my-own-id"}"#), 3504, "session_refused"),
        (Message::text(r#"{"セッションID":"ws-../../etc/passwd"}"#), 3504, "session_refused"),
        (Message::text(r#"{"セッションID":42}"#), 3504, "session_refused"),
        (Message::text(r#"{"履歴件数":-1}"#), 3502, "bad_field"),
        (Message::text(r#"{"閲覧":"yes"}"#), 3502, "bad_field"),
    ] {
        let mut client = Client::dial(gateway.addr).await;
        client.send_raw(message.clone()).await;
        let answer = client.next().await;
        assert_eq!(answer[KIND], "error", "{message}");
        assert_eq!(answer[CODE], error, "{message}");
        let told = answer[BODY].as_str().unwrap();
        assert!(!told.is_ascii() && english_in(told).is_none(), "{message}: {told}");
        assert_eq!(client.closed().await.0, code, "{message}");
    }
}

#[tokio::test]
async fn silence_is_closed_after_the_handshake_time() {
    let gateway =
        Gateway::start_with(|config| config.limits.handshake = Duration::from_millis(200)).await;
    let mut client = Client::dial(gateway.addr).await;
    assert_eq!(client.next().await[CODE], "no_connect");
    assert_eq!(client.closed().await.0, 3501);
}

#[tokio::test]
async fn ids_are_long_random_and_ours() {
    let gateway = Gateway::start().await;
    let one = Client::open(gateway.addr, "input", None).await;
    let two = Client::open(gateway.addr, "input", None).await;
    assert_ne!(one.session(), two.session());
    for id in [one.session(), two.session()] {
        let digits = id.strip_prefix("ws-").unwrap();
        assert!(digits.len() * 4 >= 128 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}

#[tokio::test]
async fn a_well_formed_unknown_id_starts_a_session_of_that_id() {
    let gateway = Gateway::start().await;
    let id = format!("ws-{}", "0123456789abcdef".repeat(2));
    let client = Client::open(gateway.addr, "input", Some(&id)).await;
    assert_eq!(client.session(), id);
}

#[tokio::test]
async fn a_session_of_another_principal_is_refused() {
    let home = Arc::new(Home::new());
    let gateway = Gateway::start_at(Arc::clone(&home), |_| ()).await;
    let id = Client::open(gateway.addr, "input", None).await.session().to_owned();
    gateway.stop().await;
    let database = rusqlite::Connection::open(home.data.path().join("kakehashi.db")).unwrap();
    database.execute("UPDATE sessions SET principal = 'somebody else'", []).unwrap();
    drop(database);
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut client = Client::dial(gateway.addr).await;
    client.send(&json!({"type": "connect", SESSION: id, "ソケット番号": "0"})).await;
    assert_eq!(client.next().await[CODE], "session_refused");
    assert_eq!(client.closed().await.0, 3504);
}

#[tokio::test]
async fn sockets_are_limited_per_channel_and_per_user() {
    let gateway = Gateway::start_with(|config| {
        config.limits.sockets_per_channel = 2;
        config.limits.sockets_per_principal = 3;
    })
    .await;
    let first = Client::open(gateway.addr, "0", None).await;
    let connect = json!({SESSION: first.session(), "ソケット番号": "0"});
    let second = Client::open(gateway.addr, "0", Some(first.session())).await;
    let mut third = Client::dial(gateway.addr).await;
    third.send(&connect).await;
    assert_eq!(third.next().await[CODE], "too_many_sockets");
    assert_eq!(third.closed().await.0, 3005);
    let _other = Client::open(gateway.addr, "1", Some(first.session())).await;
    let mut fourth = Client::dial(gateway.addr).await;
    fourth.send(&json!({SESSION: first.session(), "ソケット番号": "2"})).await;
    assert_eq!(fourth.next().await[CODE], "too_many_sockets");
    fourth.closed().await;
    // A place is free again as soon as its socket is gone.
    second.close().await;
    let mut again = Client::dial(gateway.addr).await;
    again.send(&connect).await;
    assert_eq!(again.next().await[KIND], "init");
}

#[tokio::test]
async fn the_path_is_found_in_every_spelling() {
    let gateway = Gateway::start().await;
    for path in ["/core/ws/AI%e3%82%b3%e3%82%a2", "/core/ws/%41I%E3%82%B3%E3%82%A2"] {
        let url = format!("ws://{}{path}", gateway.addr);
        assert!(tokio_tungstenite::connect_async(url).await.is_ok(), "{path}");
    }
    let url = format!("ws://{}/core/ws/other", gateway.addr);
    assert!(tokio_tungstenite::connect_async(url).await.is_err());
}
