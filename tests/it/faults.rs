//! What clients get wrong, on purpose or not: each is answered, and the socket and its neighbours go on.

use crate::rawsocket::{Socket, attach};
use crate::support::{
    BODY, CHANNEL, CODE, Client, Frontend, Gateway, Home, KIND, REQUEST, SEQ, SESSION, SOCKET_PATH,
};
use crate::texts::english_in;
use futures_util::{SinkExt, StreamExt};
use image::{ImageFormat, RgbImage};
use kakehashi::dialect::aicore::client_kinds;
use serde_json::{Value, json};
use std::io::Cursor;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};

const FILE: &str = "ファイル名";

// ---- who may connect -------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_page_of_another_site_cannot_open_a_socket() {
    let gateway = Gateway::start_with(|config| {
        config.allowed_origins = vec!["https://desk.example".to_owned()];
    })
    .await;
    let (own, port) = (gateway.addr.to_string(), gateway.addr.port());
    for (host, origin, status) in [
        (own.as_str(), None, 101),
        (&own, Some(format!("http://{own}")), 101),
        (&own, Some("https://desk.example".to_owned()), 101),
        (&own, Some("http://evil.example".to_owned()), 403),
        (&own, Some("null".to_owned()), 403),
        (&own, Some(format!("https://{own}")), 403),
        (&own, Some(format!("http://{own}.evil.example")), 403),
        (&own, Some(format!("http://localhost:{port}")), 403),
        ("evil.example", None, 403),
        (&format!("evil.example:{port}"), Some(format!("http://evil.example:{port}")), 403),
        (&format!("localhost:{port}"), Some(format!("http://localhost:{port}")), 101),
    ] {
        let answer = knock(gateway.addr, host, origin.as_deref()).await;
        assert_eq!(answer, status, "Host {host} Origin {origin:?}");
    }
}

/// The HTTP status of an upgrade with these headers.
async fn knock(addr: SocketAddr, host: &str, origin: Option<&str>) -> u16 {
    let mut request = format!("ws://{addr}{SOCKET_PATH}").into_client_request().unwrap();
    request.headers_mut().insert("Host", host.parse().unwrap());
    if let Some(origin) = origin {
        request.headers_mut().insert("Origin", origin.parse().unwrap());
    }
    match tokio_tungstenite::connect_async(request).await {
        Ok((_, response)) => response.status().as_u16(),
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(err) => panic!("{err}"),
    }
}

// ---- names that lead elsewhere ---------------------------------------------------------------------------------

/// Project and data side by side in a directory of their own, so that an escape is seen.
fn fenced() -> (tempfile::TempDir, Arc<Home>) {
    let fence = tempfile::tempdir().unwrap();
    let inside = || tempfile::tempdir_in(fence.path()).unwrap();
    let home = Home::at(inside(), inside());
    (fence, Arc::new(home))
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![root.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                todo.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

#[tokio::test]
async fn no_file_name_leads_out_of_the_uploads() {
    let (fence, home) = fenced();
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let absolute = fence.path().join("absolute.txt").display().to_string();
    let long = "x".repeat(5000);
    let names = [
        "../../evil.txt",
        "../../../../../../evil",
        &absolute,
        "..\\..\\evil.txt",
        "C:\\evil.txt",
        "evil\0.txt",
        "\0",
        "CON",
        "nul.txt",
        "COM1.tar.gz",
        ".",
        "..",
        "",
        "a/../../../evil",
        "....//evil",
        "..%2f..%2fevil",
        "%00",
        "\u{202e}evil",
        "~/evil",
        "$HOME",
        "a\nb",
        "/dev/null",
        "evil/",
        &long,
    ];
    for name in names {
        let body = base64_simd::STANDARD.encode_to_string(b"content");
        let packet = json!({CHANNEL: "0", KIND: "input_file", FILE: name, BODY: body});
        front.input.send(&packet).await;
        let path = front.chat.until("input_file").await[FILE].as_str().unwrap().to_owned();
        let stored = path.strip_prefix("temp/input/").unwrap_or_else(|| panic!("{name}: {path}"));
        assert!(!stored.contains(['/', '\\', '\0', '\n']) && !stored.starts_with('.'), "{path}");
    }
    let home = gateway.stop().await;
    let uploads = home.data.path().join("temp/local/input");
    let outside = |path: &PathBuf| !path.starts_with(home.data.path());
    let (strange, inside): (Vec<_>, Vec<_>) =
        files_below(fence.path()).into_iter().partition(outside);
    assert!(strange.is_empty(), "{strange:?}");
    let (stored, rest): (Vec<_>, Vec<_>) =
        inside.into_iter().partition(|path| path.starts_with(&uploads));
    assert_eq!(stored.len(), names.len());
    assert!(rest.iter().all(|path| is_our_own(path)), "{rest:?}");
}

fn is_our_own(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    let of_workplaces = path.components().any(|part| part.as_os_str() == "workplace");
    name.starts_with("kakehashi.") || name == "token" || name == ".project" || of_workplaces
}

#[tokio::test]
async fn no_path_leads_an_agent_out_of_the_project() {
    let (fence, home) = fenced();
    let secret = fence.path().join("secret.txt");
    std::fs::write(&secret, "the secret").unwrap();
    let project = home.project.path().to_owned();
    std::os::unix::fs::symlink(fence.path(), project.join("way-out")).unwrap();
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let absolute = fence.path().join("x").display().to_string();
    for line in [
        "write ../x evil".to_owned(),
        "write a/../../x evil".to_owned(),
        "write way-out/x evil".to_owned(),
        format!("write {absolute} evil"),
        "image ../../x.png".to_owned(),
        "image way-out/x.png".to_owned(),
        "read /etc/passwd".to_owned(),
        "read ../secret.txt".to_owned(),
        "read way-out/secret.txt".to_owned(),
        format!("read {}", secret.display()),
    ] {
        front.type_in("1", &line).await;
        let packets = front.agents[0].collect_until(|packet| packet[KIND] == "output_text").await;
        let failed = packets.iter().any(|packet| packet[BODY] == "!");
        assert!(failed, "{line}: {packets:?}");
        let told =
            |word: &str| packets.iter().any(|packet| packet[BODY].to_string().contains(word));
        assert!(!told("the secret") && !told("root:"), "{line}: {packets:?}");
    }
    front.type_in("1", "write inside/x.txt good").await;
    front.agents[0].until("output_text").await;
    let home = gateway.stop().await;
    let mut outside = files_below(fence.path());
    outside.retain(|path| !path.starts_with(home.data.path()));
    outside.sort();
    let mut expected = vec![project.join("inside/x.txt"), project.join("way-out"), secret];
    expected.sort();
    assert_eq!(outside, expected);
}

#[tokio::test]
async fn no_id_or_channel_is_used_as_a_path() {
    let (fence, home) = fenced();
    let gateway = Gateway::start_at(home, |_| ()).await;
    let hex = "0".repeat(32);
    for id in [
        "../x",
        "ws-../../../etc/passwd",
        &format!("ws-{hex}/../x"),
        &format!("ws-{hex}\0"),
        &format!("../ws-{hex}"),
        &format!("ws-{}", "A".repeat(32)),
        &format!("ws-{}", "0".repeat(500)),
    ] {
        let mut client = Client::dial(gateway.addr).await;
        client.send(&json!({SESSION: id, "ソケット番号": "input"})).await;
        assert_eq!(client.next().await[CODE], "session_refused", "{id}");
        assert_eq!(client.closed().await.0, 3504, "{id}");
    }
    for name in ["../input", "0/../1", "input\0", "/etc/passwd", "CON"] {
        let mut client = Client::dial(gateway.addr).await;
        client.send(&json!({"ソケット番号": name})).await;
        assert_eq!(client.next().await[CODE], "unknown_socket", "{name}");
        assert_eq!(client.closed().await.0, 3503, "{name}");
    }
    let mut input = ready(gateway.addr).await;
    for name in ["../0", "0/..", "5", "/etc/passwd", "0\0"] {
        for kind in ["input_text", "input_file", "cancel_run", "files_backup", "files_temp"] {
            check(&mut input, json!({KIND: kind, CHANNEL: name, BODY: "AAEC"}), "wrong_channel")
                .await;
        }
        let target = json!({KIND: "input_text", "出力先チャンネル": name, BODY: "a"});
        check(&mut input, target, "wrong_channel").await;
    }
    still_works(&mut input).await;
    let home = gateway.stop().await;
    let strange: Vec<_> =
        files_below(fence.path()).into_iter().filter(|path| !is_our_own(path)).collect();
    assert!(strange.is_empty() && home.project.path().exists(), "{strange:?}");
}

// ---- frames that are no packets --------------------------------------------------------------------------------

#[tokio::test]
async fn broken_packets_are_answered_with_their_code_in_the_sessions_language() {
    let gateway = Gateway::start().await;
    let mut input = ready(gateway.addr).await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (text, code) in [
        ("", "malformed".to_owned()),
        ("{", "malformed".to_owned()),
        (r#"{"メッセージ識別":"input_text","メッセージ内容":"cut of"#, "malformed".to_owned()),
        (r#"{"メッセージ識別":"input_text"} {}"#, "malformed".to_owned()),
        (r#"{"メッセージ識別":"a","メッセージ識別":"b"}"#, "malformed".to_owned()),
        ("[]", "not_an_object".to_owned()),
        ("\"input_text\"", "not_an_object".to_owned()),
        ("{}", "missing_kind".to_owned()),
        (r#"{"メッセージ識別":42}"#, "missing_kind".to_owned()),
        (r#"{"メッセージ識別":"\ud800"}"#, "missing_kind".to_owned()),
        (&deep, "not_an_object".to_owned()),
        (
            &format!(r#"{{"メッセージ識別":"input_text","メッセージ内容":{deep}}}"#),
            "bad_field".to_owned(),
        ),
        (
            &format!(
                r#"{{"メッセージ識別":"operations","メッセージ内容":{{"ボタン":{{"a":{deep}}}}}}}"#
            ),
            "bad_field".to_owned(),
        ),
        (
            r#"{"メッセージ識別":"operations","メッセージ内容":{"ボタン":{"a":1e999}}}"#,
            "bad_field".to_owned(),
        ),
        (r#"{"メッセージ識別":"input_text","メッセージ内容":"\ud800"}"#, "bad_field".to_owned()),
        (
            r#"{"メッセージ識別":"input_text","メッセージ内容":"a","要求番号":{}}"#,
            "bad_field".to_owned(),
        ),
    ] {
        input.send_raw(Message::text(text)).await;
        let answer = input.next().await;
        assert_eq!((&answer[KIND], &answer[CODE]), (&json!("error"), &json!(code)), "{text}");
        let told = answer[BODY].as_str().unwrap();
        assert!(!told.is_ascii() && english_in(told).is_none(), "{text}: {told}");
    }
    // Lines and columns are those of the frame, in characters.
    input.send_raw(Message::text("{\n\"メッセージ識別\": x}")).await;
    let told = input.next().await[BODY].as_str().unwrap().to_owned();
    assert!(told.contains("2 行 12 文字目"), "{told}");
    input.send_raw(Message::binary(vec![0, 159, 146, 150])).await;
    assert_eq!(input.next().await[CODE], "binary");
    still_works(&mut input).await;
}

#[tokio::test]
async fn a_broken_websocket_is_closed_with_its_code() {
    let gateway = Gateway::start().await;
    for (code, opcode, bytes) in [
        (1007, Data::Text, b"{\"a\":\"\xff\xfe\"}".to_vec()),
        (1002, Data::Reserved(3), b"{}".to_vec()),
        (1002, Data::Continue, b"{}".to_vec()),
    ] {
        let (_, mut socket) = attach(gateway.addr, "input", None, json!({})).await;
        let frame = Frame::message(bytes, OpCode::Data(opcode), true);
        socket.send(Message::Frame(frame)).await.unwrap();
        assert_eq!(closed(&mut socket).await, Some(code), "{opcode:?}");
    }
}

/// The close code that arrives, whatever comes before it.
async fn closed(socket: &mut Socket) -> Option<u16> {
    let reading = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    };
    timeout(Duration::from_secs(10), reading).await.expect("not closed")
}

#[tokio::test]
async fn a_frame_over_the_limit_of_its_channel_is_refused_and_the_socket_stays() {
    let gateway = Gateway::start().await;
    let limits = kakehashi::config::Config::for_test("/", "/").limits;
    let mut input = ready(gateway.addr).await;
    let id = input.session().to_owned();
    let mut audio = Client::open(gateway.addr, "audio", Some(&id)).await;
    let sound = |size: usize| {
        let frame =
            json!({KIND: "input_audio", BODY: "audio/pcm", FILE: "", REQUEST: "s"}).to_string();
        let payload = "A".repeat((size - frame.len()) / 8 * 8);
        let padding = " ".repeat(size - frame.len() - payload.len());
        frame.replace(r#""ファイル名":"""#, &format!(r#""ファイル名":"{payload}""#)) + &padding
    };
    audio.send_raw(Message::text(sound(limits.audio_frame + 1))).await;
    let answer = audio.next().await;
    assert_eq!((&answer[KIND], &answer[CODE]), (&json!("error"), &json!("too_large")));
    audio.send_raw(Message::text(sound(limits.audio_frame))).await;
    audio.until("ack").await;
    let mut chat = Client::open(gateway.addr, "0", Some(&id)).await;
    chat.until("welcome_text").await;
    chat.send_raw(Message::text(" ".repeat(limits.other_frame + 1))).await;
    assert_eq!(chat.nothing_until("error").await[CODE], "too_large");
    chat.send_raw(Message::text(" ".repeat(limits.other_frame))).await;
    assert_eq!(chat.nothing_until("error").await[CODE], "malformed");
    input.send(&json!({CHANNEL: "0", KIND: "input_text", BODY: "hello"})).await;
    chat.until_where(|packet| packet[BODY] == "echo: hello").await;
}

#[tokio::test]
async fn a_message_over_every_limit_is_closed_without_being_read() {
    let gateway = Gateway::start_with(|config| config.limits.input_frame = 300 * 1024).await;
    let mut input = ready(gateway.addr).await;
    let id = input.session().to_owned();
    input.send_raw(Message::text(" ".repeat(300 * 1024))).await;
    assert_eq!(input.next().await[CODE], "malformed");
    for name in ["input", "audio", "0"] {
        let (_, socket) = attach(gateway.addr, name, Some(&id), json!({})).await;
        let (mut sink, mut stream) = socket.split();
        // Nobody takes the rest, so the sending may fail or stop at any point.
        let sending = sink.send(Message::text(" ".repeat(8 * 1024 * 1024)));
        let reading = async {
            loop {
                match stream.next().await {
                    Some(Ok(Message::Close(Some(frame)))) => return Some(u16::from(frame.code)),
                    Some(Ok(_)) => {}
                    other => panic!("{name}: no close but {other:?}"),
                }
            }
        };
        let both = async {
            tokio::pin!(sending);
            tokio::pin!(reading);
            tokio::select! {
                code = &mut reading => code,
                _ = &mut sending => reading.await,
            }
        };
        let code = timeout(Duration::from_secs(10), both).await.expect("not closed");
        assert_eq!(code, Some(1009), "{name}");
    }
    still_works(&mut input).await;
}

// ---- packets that break a rule ---------------------------------------------------------------------------------

#[tokio::test]
async fn every_rule_of_the_sockets_is_answered_by_its_code() {
    let gateway = Gateway::start().await;
    let mut input = ready(gateway.addr).await;
    let id = input.session().to_owned();
    let sound = |kind: &str| {
        matches!(kind, "input_audio" | "cancel_audio" | "playback_ack" | "push_to_talk")
    };
    for kind in client_kinds().into_iter().filter(|kind| sound(kind)) {
        let answer = check(&mut input, json!({KIND: kind}), "no_audio_here").await;
        assert!(answer[BODY].as_str().unwrap().contains(kind), "{answer}");
    }
    let mut audio = Client::open(gateway.addr, "audio", Some(&id)).await;
    for kind in client_kinds().into_iter().filter(|kind| !sound(kind)) {
        let answer = check(&mut audio, json!({KIND: kind, BODY: "a"}), "audio_only").await;
        assert!(answer[BODY].as_str().unwrap().contains(kind), "{answer}");
    }
    for name in ["file", "0", "1", "2", "3", "4"] {
        let mut socket = Client::open(gateway.addr, name, Some(&id)).await;
        if name != "file" {
            socket.until("welcome_text").await;
        }
        for kind in client_kinds() {
            check(&mut socket, json!({KIND: kind, BODY: "a", CHANNEL: name}), "receive_only").await;
        }
        unknown_is_quoted(&mut socket).await;
    }
    unknown_is_quoted(&mut input).await;
    unknown_is_quoted(&mut audio).await;
    still_works(&mut input).await;
    audio.send(&json!({KIND: "cancel_audio", REQUEST: "works"})).await;
    assert_eq!(audio.nothing_until("ack").await[REQUEST], "works");
}

async fn unknown_is_quoted(socket: &mut Client) {
    for kind in ["input_video", "Input_Text", "<script>", "connect"] {
        let answer = check(socket, json!({KIND: kind}), "unknown_kind").await;
        assert!(answer[BODY].as_str().unwrap().contains(kind), "{answer}");
    }
    let answer = check(socket, json!({KIND: "k".repeat(10_000)}), "unknown_kind").await;
    assert!(answer.to_string().len() < 1000, "{answer}");
}

#[tokio::test]
async fn a_wrong_channel_or_value_is_named() {
    let gateway = Gateway::start().await;
    let mut input = ready(gateway.addr).await;
    let mut audio = Client::open(gateway.addr, "audio", Some(input.session())).await;
    let sound = |channel: &str| json!({KIND: "input_audio", CHANNEL: channel, BODY: "audio/pcm", FILE: "AAAA"});
    for (packet, code) in [
        (sound("input"), "wrong_channel"),
        (sound("0"), "wrong_channel"),
        (json!({KIND: "cancel_audio", CHANNEL: "input"}), "wrong_channel"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: "AAA="}), "ok"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: "AAAA"}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: "AA=="}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: ""}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: "!!!!"}), "bad_base64"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: "A"}), "bad_base64"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: null}), "bad_field"),
        (json!({KIND: "input_audio", BODY: "audio/pcm", FILE: 1}), "bad_field"),
        (json!({KIND: "input_audio", BODY: "audio/wav", FILE: "AAA="}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "", FILE: "AAA="}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm;rate=7999", FILE: "AAA="}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm;rate=48001", FILE: "AAA="}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm;rate=-1", FILE: "AAA="}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm;rate=x", FILE: "AAA="}), "bad_audio"),
        (json!({KIND: "input_audio", BODY: "audio/pcm; rate=24000", FILE: "AAA="}), "ok"),
    ] {
        check(&mut audio, packet, code).await;
    }
    for (packet, code) in [
        (json!({KIND: "operations", CHANNEL: "0", BODY: {"ボタン": {}}}), "wrong_channel"),
        (json!({KIND: "operations", BODY: {}}), "bad_field"),
        (json!({KIND: "operations", BODY: {"ボタン": {"a": null}}}), "bad_field"),
        (json!({KIND: "input_text", CHANNEL: "audio", BODY: "a"}), "wrong_channel"),
        (json!({KIND: "input_text", CHANNEL: "file", BODY: "a"}), "wrong_channel"),
        (json!({KIND: "input_text", CHANNEL: "0", BODY: " \n"}), "bad_field"),
        (json!({KIND: "input_text", CHANNEL: "0", BODY: ["a"]}), "bad_field"),
        (json!({KIND: "input_text", CHANNEL: "0", BODY: "a", "送信モード": "Code5"}), "bad_field"),
        (json!({KIND: "input_request", CHANNEL: "file", BODY: "a"}), "wrong_channel"),
        (json!({KIND: "cancel_run", CHANNEL: "input"}), "wrong_channel"),
        (json!({KIND: "cancel_run"}), "bad_field"),
        (json!({KIND: "cancel_run", CHANNEL: "1", "実行番号": "some"}), "bad_field"),
        (json!({KIND: "input_file", CHANNEL: "file", BODY: "AAEC"}), "wrong_channel"),
        (json!({KIND: "input_file", CHANNEL: "0", BODY: "not base64!"}), "bad_base64"),
        (json!({KIND: "input_file", CHANNEL: "0", BODY: "data:text/plain,AAEC"}), "bad_base64"),
        (json!({KIND: "input_file", CHANNEL: "0", BODY: 7}), "bad_field"),
        (json!({KIND: "input_image", BODY: "image/png", FILE: "*"}), "bad_base64"),
        (json!({KIND: "input_image", BODY: "text/html", FILE: "AAEC"}), "bad_field"),
        (json!({KIND: "input_image", BODY: "image/png"}), "bad_field"),
        (json!({KIND: "input_image", BODY: "image/png", FILE: "AAEC"}), "file_refused"),
    ] {
        check(&mut input, packet, code).await;
    }
    still_works(&mut input).await;
}

#[tokio::test]
async fn a_viewer_receives_but_cannot_send() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let id = front.session().to_owned();
    let view = || json!({"閲覧": true});
    let mut input = Client::open_with(gateway.addr, "input", Some(&id), view()).await;
    input.until("welcome_text").await;
    let mut chat = Client::open_with(gateway.addr, "0", Some(&id), view()).await;
    let mut audio = Client::open_with(gateway.addr, "audio", Some(&id), view()).await;
    check(&mut input, json!({KIND: "input_text", CHANNEL: "0", BODY: "not me"}), "read_only").await;
    check(&mut input, json!({KIND: "cancel_run", CHANNEL: "1"}), "read_only").await;
    check(&mut input, json!({KIND: "operations", BODY: {"ボタン": {"a": true}}}), "read_only")
        .await;
    let sound = json!({KIND: "input_audio", BODY: "audio/pcm", FILE: "AAA="});
    check(&mut audio, sound.clone(), "read_only").await;
    check(&mut audio, json!({KIND: "cancel_audio"}), "read_only").await;
    // The microphone stays with the socket that may send, although the viewer is newer.
    check(&mut front.audio, sound, "ok").await;
    front.type_in("0", "me").await;
    let seen = chat.collect_until(|packet| packet[BODY] == "echo: me").await;
    assert!(seen.iter().all(|packet| packet[BODY] != "not me"), "{seen:?}");
    assert!(seen.iter().any(|packet| packet[KIND] == "input_text"), "{seen:?}");
}

// ---- limits of a session ---------------------------------------------------------------------------------------

#[tokio::test]
async fn a_picture_with_too_many_pixels_is_kept_without_a_thumbnail() {
    let gateway = Gateway::start_with(|config| config.limits.image_pixels = 100 * 100).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    for (side, shown) in [(101, false), (100, true)] {
        let mut png = Cursor::new(Vec::new());
        RgbImage::new(side, side).write_to(&mut png, ImageFormat::Png).unwrap();
        let body = base64_simd::STANDARD.encode_to_string(png.get_ref());
        let name = format!("{side}.png");
        let packet = json!({CHANNEL: "0", KIND: "input_file", FILE: name, BODY: body});
        front.input.send(&packet).await;
        let echo = front.chat.until("input_file").await;
        assert_eq!(echo["サムネイル画像"].is_string(), shown, "{side}: {echo}");
        let path = echo[FILE].as_str().unwrap().strip_prefix("temp/").unwrap();
        let stored = gateway.home.data.path().join("temp/local").join(path);
        assert_eq!(std::fs::read(stored).unwrap(), *png.get_ref());
    }
}

#[tokio::test]
async fn switches_are_limited_and_what_was_kept_stays() {
    let gateway = Gateway::start().await;
    let mut input = ready(gateway.addr).await;
    let switches = |names: std::ops::Range<u32>| -> Value {
        names.map(|name| (name.to_string(), json!(true))).collect::<serde_json::Map<_, _>>().into()
    };
    let operations = |controls: Value| json!({KIND: "operations", BODY: {"ボタン": controls}});
    check(&mut input, operations(switches(0..60)), "ok").await;
    check(&mut input, operations(switches(60..65)), "too_many_controls").await;
    check(&mut input, operations(json!({"0": "x".repeat(600)})), "too_many_controls").await;
    check(&mut input, operations(switches(60..64)), "ok").await;
    let again = Client::open(gateway.addr, "input", Some(input.session())).await;
    let kept = again.init[BODY]["ボタン"].as_object().unwrap();
    let numbers = kept.iter().filter(|(name, _)| name.parse::<u32>().is_ok());
    assert_eq!(numbers.filter(|(_, value)| **value == json!(true)).count(), 64);
}

#[tokio::test]
async fn a_text_of_one_mebibyte_passes_and_a_longer_one_does_not() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    let text = |length: usize| json!({CHANNEL: "1", KIND: "input_text", BODY: "x".repeat(length)});
    check(&mut front.input, text(1024 * 1024 + 1), "bad_field").await;
    check(&mut front.input, text(1024 * 1024), "ok").await;
    let packets = front.agents[0].collect_until(|packet| packet[KIND] == "output_text").await;
    let lines: usize = packets
        .iter()
        .filter(|packet| packet[KIND] == "output_stream")
        .map(|packet| packet[BODY].as_str().unwrap().matches('x').count())
        .sum();
    assert_eq!(lines, 1024 * 1024);
}

#[tokio::test]
async fn a_full_queue_refuses_and_leaves_no_trace() {
    let gateway = Gateway::start().await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "sleep 1000").await;
    for place in 1..=16 {
        front.type_in("1", &format!("say {place}")).await;
        let queued = front.agents[0].until_where(|packet| packet["待ち順"].is_u64()).await;
        assert_eq!(queued["待ち順"], place);
    }
    let one_more = json!({CHANNEL: "1", KIND: "input_text", BODY: "say too much", REQUEST: "x"});
    front.input.send(&one_more).await;
    let answer = front.input.nothing_until("error").await;
    assert_eq!((&answer[CODE], &answer[REQUEST]), (&json!("queue_full"), &json!("x")));
    // Neither shown now nor remembered: the last packet of the channel is still the place of the sixteenth.
    let mut again = Client::open(gateway.addr, "1", Some(front.session())).await;
    let history = again.collect_until(|packet| packet[KIND] == "welcome_text").await;
    let last = history.iter().rfind(|packet| packet.get(SEQ).is_some()).unwrap();
    assert_eq!(last["待ち順"], 16);
    // Another channel has a queue of its own, and a refused number is not used up.
    check(&mut front.input, json!({CHANNEL: "2", KIND: "input_text", BODY: "say 2"}), "ok").await;
    front.input.send(&json!({CHANNEL: "1", KIND: "cancel_run", "実行番号": "all"})).await;
    front.agents[0].until("cancel_run").await;
    front.input.send(&one_more).await;
    let ack = front.input.nothing_until("ack").await;
    assert_eq!((&ack[REQUEST], &ack["重複"]), (&json!("x"), &json!(false)));
    front.agents[0].until_where(|packet| packet[BODY] == "too much").await;
}

#[tokio::test]
async fn a_dead_peer_loses_its_place_and_a_living_one_does_not() {
    let gateway = Gateway::start_with(|config| {
        config.limits.ping = Duration::from_millis(100);
        config.limits.sockets_per_channel = 1;
    })
    .await;
    let (init, mut living) = attach(gateway.addr, "0", None, json!({})).await;
    let id = init[SESSION].as_str().unwrap().to_owned();
    // It takes its place and is never heard of again; pongs are sent only by reading.
    let (_, dead) = attach(gateway.addr, "1", Some(&id), json!({})).await;
    let answering = tokio::spawn(async move {
        let mut pings = 0;
        while pings < 12 {
            match timeout(Duration::from_secs(10), living.next()).await.unwrap() {
                Some(Ok(Message::Ping(_))) => pings += 1,
                Some(Ok(Message::Text(_))) => {}
                other => panic!("{other:?}"),
            }
        }
    });
    let connect = json!({SESSION: id, "ソケット番号": "1"});
    let mut refused = 0;
    let taking_over = async {
        loop {
            let mut next = Client::dial(gateway.addr).await;
            next.send(&connect).await;
            let answer = next.next().await;
            if answer[KIND] == "init" {
                return;
            }
            assert_eq!(answer[CODE], "too_many_sockets");
            refused += 1;
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(10), taking_over).await.expect("the dead keep their place");
    assert!(refused > 0, "its place was never taken");
    answering.await.unwrap();
    drop(dead);
}

// ---- helpers ---------------------------------------------------------------------------------------------------

/// An input socket past its welcome.
async fn ready(addr: SocketAddr) -> Client {
    let mut input = Client::open(addr, "input", None).await;
    input.until("welcome_text").await;
    input
}

/// Sends a numbered packet; the very next answer must be the error of this code with the number, or `ok`: an ack.
async fn check(socket: &mut Client, mut packet: Value, code: &str) -> Value {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = format!("r-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    packet[REQUEST] = json!(number);
    socket.send(&packet).await;
    let answer = loop {
        let answer = socket.next().await;
        // Sound that comes back is not the answer.
        if answer[KIND] != "output_audio" {
            break answer;
        }
    };
    let shown: String = packet.to_string().chars().take(300).collect();
    if code == "ok" {
        assert_eq!(answer[KIND], "ack", "{shown}: {answer}");
    } else {
        assert_eq!(answer[KIND], "error", "{shown}: {answer}");
        assert_eq!(answer[CODE], code, "{shown}: {answer}");
        assert!(!answer[BODY].as_str().unwrap().is_empty());
    }
    assert_eq!(answer[REQUEST], number.as_str(), "{shown}: {answer}");
    answer
}

async fn still_works(input: &mut Client) {
    check(input, json!({KIND: "operations", BODY: {"ボタン": {"works": true}}}), "ok").await;
}
