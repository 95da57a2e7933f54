//! The agent UI over its real socket: the seed's sequence frame by frame, what a turn computes and draws, and what a page
//! that comes back is told. Python runs for real, in its sandbox.

use crate::analyst::{gateway as with_python, gateway_with};
use crate::builtin::reply;
use crate::client::{Aicore, Api, Ask, Client};
use crate::http::get;
use crate::model_server::ModelServer;
use crate::process::Process;
use crate::protocol::{AGENT_UI, Way, agent_ui_protocol};
use crate::support::{Gateway, Home, PATIENCE, TOKEN};
use futures_util::{SinkExt, StreamExt};
use kakehashi::config::Config;
use kakehashi::message::Channel;
use kakehashi::provider::row::ChatKind;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

const NOTICED: Duration = Duration::from_millis(300);

/// One page.
pub(crate) struct Page {
    ws: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub(crate) conversation: String,
    /// What was told of the past.
    pub(crate) history: Vec<Value>,
    resumed: bool,
}

impl Page {
    pub(crate) async fn open(addr: SocketAddr, query: &str) -> Self {
        let mut page = Self {
            ws: connect(addr, query, Some(TOKEN)).await,
            conversation: String::new(),
            history: Vec::new(),
            resumed: false,
        };
        let first = page.next().await;
        assert_eq!(first["type"], "map_definition", "{first}");
        let connected = page.next().await;
        assert_eq!(connected["type"], "connected", "{connected}");
        page.conversation = connected["content"]["conversation"].as_str().unwrap().to_owned();
        page.resumed = connected["content"]["resumed"] == true;
        page.history = page.until("history_end").await;
        page.history.pop();
        page
    }

    pub(crate) async fn new(addr: SocketAddr) -> Self {
        Self::open(addr, "?conversation=new").await
    }

    async fn again(&self, addr: SocketAddr) -> Self {
        Self::open(addr, &format!("?conversation={}", self.conversation)).await
    }

    async fn raw(&mut self, text: &str) {
        self.ws.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.raw(&json!({"message": text}).to_string()).await;
    }

    async fn next(&mut self) -> Value {
        loop {
            match timeout(PATIENCE * 3, self.ws.next()).await.expect("a frame").unwrap().unwrap() {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    let kind = frame["type"].as_str().unwrap();
                    agent_ui_protocol().check(AGENT_UI, Way::Send, kind, &frame);
                    return frame;
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => {
                    panic!("{other:?}")
                }
            }
        }
    }

    async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let frame = self.next().await;
            let is_last = frame["type"] == kind;
            seen.push(frame);
            if is_last {
                return seen;
            }
        }
    }

    async fn one(&mut self, kind: &str) -> Value {
        self.until(kind).await.pop().unwrap()
    }

    /// All frames of a turn besides progress.
    pub(crate) async fn turn(&mut self, text: &str) -> Vec<Value> {
        self.say(text).await;
        self.rest_of_turn().await
    }

    async fn rest_of_turn(&mut self) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let frame = self.next().await;
            match (frame["type"] == "progress", frame["content"]["state"] == "ended") {
                (true, true) => return seen,
                (true, false) => {}
                (false, _) => seen.push(frame),
            }
        }
    }

    async fn leave(mut self) {
        self.ws.close(None).await.unwrap();
        while let Some(Ok(_)) = self.ws.next().await {}
    }
}

async fn connect(
    addr: SocketAddr,
    query: &str,
    token: Option<&str>,
) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let mut request = format!("ws://{addr}/ws{query}").into_client_request().unwrap();
    if let Some(token) = token {
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
    }
    request.headers_mut().insert("accept-language", "en".parse().unwrap());
    connect_async(request).await.unwrap().0
}

/// The close code of a socket that is not let in, after its error.
async fn refused(addr: SocketAddr, query: &str, token: Option<&str>) -> u16 {
    let mut ws = connect(addr, query, token).await;
    let first = timeout(PATIENCE, ws.next()).await.unwrap().unwrap().unwrap();
    assert!(first.into_text().unwrap().contains("\"error\""));
    let end = timeout(PATIENCE, ws.next()).await.unwrap().unwrap().unwrap();
    let Message::Close(Some(frame)) = end else { panic!("{end:?}") };
    frame.code.into()
}

pub(crate) fn call(code: &str) -> String {
    format!("use python_interpreter {}", json!({"code": code}))
}

pub(crate) fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect()
}

fn of_kind<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

#[tokio::test]
async fn without_a_model_a_text_is_echoed_and_a_failure_is_an_error() {
    let gateway = Gateway::start().await;
    let mut page = Page::new(gateway.addr).await;
    assert!(!page.resumed && page.history.is_empty());
    let frames = page.turn("How is the Kitchen?").await;
    assert_eq!(kinds(&frames)[..3], ["user_message", "debug", "text"]);
    assert_eq!(frames[0], json!({"type": "user_message", "content": "How is the Kitchen?"}));
    let echo = "Echo (mock mode): How is the Kitchen?";
    assert_eq!(frames[2], json!({"type": "text", "content": echo}));
    let debug = &frames[1]["content"];
    assert_eq!(debug["agent_response"]["text"], echo);
    assert_eq!(debug["output_count"], frames.len() - 2);
    assert_eq!(debug["parsed_outputs"].as_array().unwrap()[..], frames[2..]);
    let frames = page.turn("fail no more words").await;
    assert_eq!(kinds(&frames), ["user_message", "debug", "error"]);
    assert_eq!(frames[2]["content"], "Error running agent: no more words");
    assert_eq!(frames[1]["content"]["agent_response"]["error"], true);
    gateway.stop().await;
}

#[tokio::test]
async fn an_order_that_cannot_be_drawn_is_in_debug_with_the_reason() {
    let gateway = Gateway::start().await;
    let mut page = Page::new(gateway.addr).await;
    let frames = page.turn("ARROW_COMMAND: room=Attic, direction=left").await;
    assert_eq!(kinds(&frames), ["user_message", "debug", "text"]);
    let refused = &frames[1]["content"]["refused"][0];
    let why = refused.as_str().unwrap();
    assert!(why.contains("unknown room \"Attic\"") && why.contains("Kitchen"), "{why}");
    gateway.stop().await;
}

#[tokio::test]
async fn bad_input_is_answered_and_the_socket_lives() {
    let gateway = Gateway::start().await;
    let mut page = Page::new(gateway.addr).await;
    for frame in ["hello", "{", "[]", "null", "5", "{}", r#"{"message":5}"#, r#"{"type":"x"}"#] {
        page.raw(frame).await;
        let error = page.next().await;
        assert_eq!(error["type"], "error", "{frame}: {error}");
        let text = error["content"].as_str().unwrap();
        assert!(text.starts_with("Error processing request: "), "{text}");
    }
    page.ws.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_eq!(page.next().await["type"], "error");
    assert_eq!(kinds(&page.turn("still there?").await), ["user_message", "debug", "text"]);
    gateway.stop().await;
}

#[tokio::test]
async fn a_turn_computes_and_its_outputs_come_after_debug() {
    let Some(gateway) = with_python().await else { return };
    let mut page = Page::new(gateway.addr).await;
    let frames = page.turn(&call("x = 41\nprint('first')")).await;
    assert_eq!(kinds(&frames), ["user_message", "debug", "code", "text"]);
    let code = json!({
        "type": "code", "content": "x = 41\nprint('first')", "language": "python", "step": "Step 1",
    });
    assert_eq!(frames[2], code);
    assert_eq!(frames[3]["content"], "first");
    // What was computed before is still there.
    let plot = "print(x + 1)\nplt.plot([1, x])\nplt.savefig('zu.png')";
    let asked = format!("{}\n{}", call(plot), call("print(x * 2)"));
    let frames = page.turn(&asked).await;
    assert_eq!(kinds(&frames), ["user_message", "debug", "code", "code", "text", "image"]);
    assert_eq!(frames[3]["step"], "Step 2");
    let text = frames[4]["content"].as_str().unwrap();
    assert!(text.contains("42") && text.contains("82"), "{text}");
    let image = &frames[5];
    assert_eq!((&image["format"], &image["path"]), (&json!("png"), &json!("zu.png")));
    assert!(image["content"].as_str().unwrap().starts_with("iVBORw0KGgo"), "a PNG as base64");
    let debug = frames[1].to_string();
    assert!(!debug.contains("iVBORw0KGgo"), "pictures need not travel twice");
    assert!(frames[1]["content"]["agent_response"]["raw_output"].as_str().unwrap().contains("42"));
    // An error of the code is a result.
    let frames = page.turn(&call("nonsense")).await;
    assert_eq!(kinds(&frames), ["user_message", "debug", "code", "text"]);
    assert!(frames[3]["content"].as_str().unwrap().contains("NameError"));
    gateway.stop().await;
}

#[tokio::test]
async fn progress_is_told_meanwhile_and_a_cancel_ends_the_turn() {
    let Some(gateway) = with_python().await else { return };
    let mut page = Page::new(gateway.addr).await;
    page.say(&call("while True: pass")).await;
    let mut states = Vec::new();
    while states.last() != Some(&json!("executing")) {
        states.push(page.one("progress").await["content"]["state"].clone());
    }
    assert_eq!(states[0], "thinking");
    page.raw(r#"{"type":"cancel"}"#).await;
    let frames = page.rest_of_turn().await;
    assert_eq!(kinds(&frames), ["debug", "code", "text"]);
    assert_eq!(page.turn(&call("print(7)")).await[3]["content"], "7");
    gateway.stop().await;
}

#[tokio::test]
async fn tools_change_the_floor_plan_and_say_what_is_allowed() {
    let gateway = Gateway::start().await;
    let mut page = Page::new(gateway.addr).await;
    let asked = "use draw_arrow {\"room_name\": \"kitchen\", \"direction\": \"LEFT\"}\n\
                 use show_map {\"highlight_rooms\": \"Toilet\", \"room_colors\": \"#00ff00\", \"text_overlays\": \"21:Room1\"}\n\
                 use clear_arrows {}\nuse clear_map {}";
    let frames = page.turn(asked).await;
    let plan = ["arrow", "clear_arrows", "map", "clear_map"];
    let of_plan = kinds(&frames).into_iter().filter(|kind| plan.contains(kind));
    assert_eq!(of_plan.collect::<Vec<_>>(), plan);
    let arrow = json!({"type": "arrow", "content": {"room": "Kitchen", "direction": "left"}});
    assert_eq!(of_kind(&frames, "arrow"), [&arrow]);
    let map = &of_kind(&frames, "map")[0]["content"];
    assert_eq!(map["floorId"], "1F");
    assert_eq!(map["rectangles"][0]["color"], "#00FF00");
    assert_eq!(map["overlays"][0]["position"], json!({"type": "rectangle", "name": "Room1"}));
    let frames =
        page.turn("use draw_arrow {\"room_name\": \"Attic\", \"direction\": \"up\"}").await;
    assert!(of_kind(&frames, "arrow").is_empty());
    let text = of_kind(&frames, "text")[0]["content"].as_str().unwrap();
    assert!(text.contains("Bathroom"), "{text}");
    gateway.stop().await;
}

#[tokio::test]
async fn two_sockets_never_mix() {
    let gateway = Gateway::start().await;
    let (mut one, mut other) = (Page::new(gateway.addr).await, Page::new(gateway.addr).await);
    assert_ne!(one.conversation, other.conversation);
    for number in 0..5 {
        one.say(&format!("one {number}")).await;
        other.say(&format!("other {number}")).await;
    }
    for (page, own, foreign) in [(&mut one, "one", "other"), (&mut other, "other", "one")] {
        let mut texts = 0;
        while texts < 5 {
            let frame = page.next().await;
            assert!(!frame.to_string().contains(foreign), "{frame}");
            texts += usize::from(frame["type"] == "text" && frame.to_string().contains(own));
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_page_that_comes_back_is_told_what_was_said_also_after_a_restart() {
    let gateway = Gateway::start().await;
    let mut page = Page::new(gateway.addr).await;
    let live = page.turn("remember me").await;
    let again = page.again(gateway.addr).await;
    assert!(again.resumed);
    assert_eq!(again.history, live);
    let home = gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut again = page.again(gateway.addr).await;
    assert_eq!(again.history, live);
    assert_eq!(kinds(&again.turn("and again").await), ["user_message", "debug", "text"]);
    gateway.stop().await;
}

#[tokio::test]
async fn a_page_that_keeps_nothing_goes_on_where_it_left_if_that_is_clear() {
    let gateway = Gateway::start().await;
    let mut page = Page::open(gateway.addr, "").await;
    page.turn("before").await;
    let conversation = page.conversation.clone();
    page.leave().await;
    // The gateway notices a moment later that the socket is closed.
    sleep(NOTICED).await;
    let again = Page::open(gateway.addr, "").await;
    assert_eq!(again.conversation, conversation);
    assert!(again.resumed && again.history.is_empty(), "it still shows what it was told");
    // While it is open, another one is new.
    let other = Page::open(gateway.addr, "").await;
    assert_ne!(other.conversation, conversation);
    let before = [again.conversation.clone(), other.conversation.clone()];
    again.leave().await;
    other.leave().await;
    sleep(NOTICED).await;
    let third = Page::open(gateway.addr, "").await;
    assert!(!before.contains(&third.conversation), "nobody knows which one is meant");
    gateway.stop().await;
}

#[tokio::test]
async fn only_what_pages_need_is_served_and_only_after_the_login() {
    let gateway = Gateway::start().await;
    let page = get("/smol/?lang=en").send(gateway.addr).await;
    assert_eq!(page.status, 303);
    assert_eq!(page.header("location").unwrap(), "/login?next=smol&lang=en");
    for (path, kind) in [
        ("/backend/data/OSM_floor.png?v=3", "image/png"),
        ("/backend/data/OSM_floor-plan-rectangles.json?v=1", "application/json"),
        ("/backend/bitmaps/arrow_up.bmp", "image/bmp"),
        ("/backend/bitmaps/arrow_right.bmp", "image/bmp"),
    ] {
        assert_eq!(get(path).send(gateway.addr).await.status, 401, "{path}");
        let file = get(path).local().send(gateway.addr).await;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("content-type").unwrap(), kind);
    }
    for path in [
        "/static/../backend/.env",
        "/static/%2e%2e/backend/.env",
        "/static/..%2f..%2fCargo.toml",
        "/backend/.env",
        "/backend/data/.env",
        "/backend/data/..%2f..%2fCargo.toml",
        "/backend/bitmaps/person.bmp",
        "/backend/agent_wrapper.py",
        "/smol/../Cargo.toml",
        "/static/",
        "/static/none.js",
    ] {
        assert_eq!(get(path).local().send(gateway.addr).await.status, 404, "{path}");
    }
    assert_eq!(refused(gateway.addr, "", None).await, 3506);
    assert_eq!(refused(gateway.addr, "?conversation=x", Some(TOKEN)).await, 3504);
    let unknown = format!("?conversation=ws-{:032x}", 5);
    assert_eq!(refused(gateway.addr, &unknown, Some(TOKEN)).await, 3504);
    gateway.stop().await;
}

#[tokio::test]
async fn what_was_said_survives_kill_9() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let mut page = Page::new(process.addr).await;
    let live = page.turn("use draw_arrow {\"room_name\": \"Toilet\", \"direction\": \"up\"}").await;
    assert_eq!(of_kind(&live, "arrow").len(), 1);
    process.kill();
    let process = Process::start(&home, "");
    let mut again = page.again(process.addr).await;
    assert_eq!(again.history, live);
    assert_eq!(kinds(&again.turn("go on").await), ["user_message", "debug", "text"]);
}

#[tokio::test]
async fn the_same_turn_is_seen_in_other_dialects() {
    let Some(gateway) = with_python().await else { return };
    let mut page = Page::new(gateway.addr).await;
    let hello = json!({"session": page.conversation, "history": 0});
    let mut api = Client::<Api>::open(gateway.addr, hello).await;
    api.until("ready").await;
    let arrow = "use draw_arrow {\"room_name\": \"Toilet\", \"direction\": \"up\"}";
    let asked = format!("{}\n{arrow}", call("print('seen by all')\nplt.plot([1, 2])"));
    let more = json!({"機能": ["stream", "confirm", "agents"], "言語": "en"});
    let session = Some(page.conversation.as_str());
    let mut aicore = Client::<Aicore>::open_with(gateway.addr, "0", session, more).await;
    let frames = page.turn(&asked).await;
    assert_eq!(of_kind(&frames, "image").len(), 1);
    let code = api.until("code").await;
    assert!(code["data"]["code"].as_str().unwrap().contains("seen by all"), "{code}");
    assert_eq!(api.until("exec").await["data"]["stdout"], "seen by all\n");
    assert_eq!(api.until("artifact").await["data"]["kind"], "figure");
    let floor = api.until("floor").await;
    assert_eq!(floor["data"]["content"], json!({"room": "Toilet", "direction": "up"}));
    let is_line = |frame: &Value, text: &str| {
        frame["メッセージ識別"] == "output_stream" && frame.to_string().contains(text)
    };
    for text in ["Code of step 1", "Output:"] {
        aicore.until_where(|frame| is_line(frame, text)).await;
    }
    aicore.until("output_file").await;
    aicore.until_where(|frame| is_line(frame, "an arrow in Toilet, up")).await;
    // And what is said there is seen here.
    api.ask(Ask::Text { to: Channel::Chat, text: "from there" }).await;
    assert_eq!(page.one("user_message").await["content"], "from there");
    gateway.stop().await;
}

/// Of this machine, and free a moment ago.
fn free_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn a_second_address_has_the_page_at_its_root() {
    let second = free_address();
    let gateway = Gateway::start_with(|config| config.smol.listen = Some(second)).await;
    assert_eq!(get("/live").send(gateway.addr).await.status, 200);
    let page = get("/?lang=en").send(second).await;
    assert_eq!((page.status, page.header("location").unwrap()), (303, "/login?lang=en".to_owned()));
    let page = get("/").local().send(second).await;
    assert!(page.status == 200 && page.body.contains("id=\"map-pane\""), "{}", page.body);
    assert_eq!(get("/static/app.js?v=2").send(second).await.status, 200);
    assert_eq!(get("/login").send(second).await.status, 200);
    assert_eq!(get("/backend/bitmaps/arrow_left.bmp").local().send(second).await.status, 200);
    assert_eq!(refused(second, "", None).await, 3506);
    let mut page = Page::new(second).await;
    assert_eq!(kinds(&page.turn("hello").await), ["user_message", "debug", "text"]);
    // The first address has its own page.
    assert!(!get("/").local().send(gateway.addr).await.body.contains("id=\"map-pane\""));
    gateway.stop().await;
}

#[test]
fn the_second_address_is_announced() {
    let home = Home::new();
    let settings = home.data.path().join("settings.toml");
    std::fs::write(&settings, "[smol]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kakehashi"));
    command.args(["--listen", "127.0.0.1:0", "--models", "scripted", "--project"]);
    command.arg(home.project.path()).arg("--data").arg(home.data.path());
    command.arg("--config").arg(settings).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gateway = command.spawn().unwrap();
    let said = BufReader::new(gateway.stdout.take().unwrap()).lines().map(Result::unwrap);
    let prefix = "agent UI on http://";
    let line = said.take(5).find(|line| line.starts_with(prefix)).unwrap();
    let address = line[prefix.len()..].trim_end_matches('/');
    assert!(std::net::TcpStream::connect(address).is_ok(), "{line}");
    gateway.kill().unwrap();
    gateway.wait().unwrap();
}

#[tokio::test]
async fn a_foreign_page_is_served_in_place_of_ours() {
    let place = tempfile::tempdir().unwrap();
    let page = place.path().join("page");
    std::fs::create_dir_all(page.join("js")).unwrap();
    std::fs::write(place.path().join("secret.js"), "secret").unwrap();
    std::fs::write(page.join("js/app.js"), "foreign()").unwrap();
    let directory = page.clone();
    let gateway = Gateway::start_with(|config| config.smol.page = Some(directory)).await;
    let ask = async |path: &str| get(path).local().send(gateway.addr).await;
    assert_eq!(ask("/smol/").await.body, "<h1>Frontend not found</h1>");
    std::fs::write(page.join("index.html"), "<h1>theirs</h1>").unwrap();
    assert_eq!(ask("/smol/").await.body, "<h1>theirs</h1>");
    for path in ["/static/js/app.js?v=7", "/smol/js/app.js"] {
        let file = ask(path).await;
        assert_eq!((file.status, file.body.as_str()), (200, "foreign()"), "{path}");
        assert_eq!(get(path).send(gateway.addr).await.status, 401, "{path}");
    }
    for path in [
        "/static/../secret.js",
        "/static/%2e%2e/secret.js",
        "/static/js/..%2f..%2fsecret.js",
        "/static/js",
    ] {
        assert_eq!(ask(path).await.status, 404, "{path}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn tables_to_try_things_with_need_no_network() {
    let Some(gateway) = with_python().await else { return };
    let mut page = Page::new(gateway.addr).await;
    let frames = page.turn("use get_titanic_data {}").await;
    assert_eq!(kinds(&frames), ["user_message", "debug", "code", "text"]);
    assert!(frames[3]["content"].as_str().unwrap().contains("survived"), "{}", frames[3]);
    let seed = "df = sns.load_dataset('titanic')\nprint(len(df), len(titanic), df.survived.dtype)";
    let frames = page.turn(&call(seed)).await;
    assert_eq!(frames[3]["content"], "600 600 int64");
    let frames = page.turn("use save_data {\"dataset\": \"titanic\", \"file_name\": \"t\"}").await;
    assert!(frames[3]["content"].as_str().unwrap().contains("[saved: t.csv]"), "{}", frames[3]);
    let address = format!("/analyst/files/{}/t.csv", page.conversation);
    let file = get(&address).local().send(gateway.addr).await;
    assert_eq!(file.body.lines().count(), 601);
    let asked =
        "use query {\"query\": \"SELECT count(*) AS n FROM measurement WHERE room = 'Kitchen'\"}";
    let frames = page.turn(asked).await;
    assert_eq!(of_kind(&frames, "text")[0]["content"], "n\n112");
    gateway.stop().await;
}

#[tokio::test]
async fn a_model_computes_and_draws_and_follow_up_questions_keep_their_context() {
    let compute = |code: &str| ("python_interpreter", json!({"code": code}));
    let arrow = ("draw_arrow", json!({"room_name": "Kitchen", "direction": "up"}));
    let wrong = ("draw_arrow", json!({"room_name": "Attic", "direction": "up"}));
    let server = ModelServer::start([
        reply("Let me compute.", &[compute("x = 41"), arrow]),
        reply("", &[compute("print(x + 1)"), wrong]),
        reply("Kitchenの値は 42", &[]),
        reply("", &[compute("print(x * 2)")]),
        reply("{\"points\": [{\"lat\": 35.5, \"lon\": 139.5}]}", &[]),
    ])
    .await;
    let row = server.model(ChatKind::OpenAi, "/v1");
    let change = |config: &mut Config| config.add_chat(vec![row]).unwrap();
    let Some(gateway) = gateway_with(change).await else { return };
    let mut page = Page::new(gateway.addr).await;
    let frames = page.turn("what is it?").await;
    let expected = ["user_message", "debug", "code", "code", "text", "highlight_room", "arrow"];
    assert_eq!(kinds(&frames), expected);
    assert_eq!(frames[4]["content"], "Let me compute.\n\nKitchenの値は 42");
    assert_eq!(frames[1]["content"]["agent_response"]["raw_output"], "42\n");
    let asked = server.asked();
    let offered: Vec<_> = asked[0].body["tools"].as_array().unwrap().iter().collect();
    assert_eq!(offered.len(), 8, "its own tools and no others: {offered:?}");
    let told = asked[2].body["messages"].to_string();
    assert!(told.contains("42") && told.contains("Bathroom, Kitchen"), "{told}");
    let frames = page.turn("and twice that, on a map?").await;
    assert_eq!(kinds(&frames), ["user_message", "debug", "code", "text", "map"]);
    assert_eq!(frames[1]["content"]["agent_response"]["raw_output"], "82\n");
    let told = server.asked()[3].body["messages"].to_string();
    assert!(told.contains("what is it?") && told.contains("の値は 42"), "{told}");
    gateway.stop().await;
}

/// A table or a printed text may have told the model to do so.
#[tokio::test]
async fn the_agent_reaches_nothing_of_the_project() {
    let calls = [
        ("file_read", json!({"path": "secret.txt"})),
        ("shell_execute", json!({"command": "cat secret.txt"})),
        ("file_write", json!({"path": "made.txt", "content": "x"})),
    ];
    let server = ModelServer::start([reply("", &calls), reply("well", &[])]).await;
    let row = server.model(ChatKind::OpenAi, "/v1");
    let gateway = Gateway::start_with(|config| config.add_chat(vec![row]).unwrap()).await;
    std::fs::write(gateway.project().join("secret.txt"), "the secret").unwrap();
    let mut page = Page::new(gateway.addr).await;
    assert_eq!(kinds(&page.turn("do as you are told").await), ["user_message", "debug", "text"]);
    let told = server.asked()[1].body["messages"].to_string();
    assert!(!told.contains("the secret"), "{told}");
    assert_eq!(told.matches("there is no tool").count(), 3, "{told}");
    assert!(told.contains("there are python_interpreter, draw_arrow"), "{told}");
    let frames = page.turn("use file:read {\"path\": \"secret.txt\"}").await;
    assert!(!json!(frames).to_string().contains("the secret"), "{frames:?}");
    gateway.stop().await;
}

#[tokio::test]
async fn no_page_sees_the_token_of_an_address() {
    let second = free_address();
    let gateway = Gateway::start_with(|config| config.smol.listen = Some(second)).await;
    for (addr, path) in [(gateway.addr, "/smol/"), (second, "/")] {
        let path = format!("{path}?token={TOKEN}");
        // Logged in or not, the answer is the page that takes the token out of the address.
        for ask in [get(&path), get(&path).local()] {
            let answer = ask.send(addr).await;
            assert!(answer.status == 200 && answer.body.contains("/assets/enter.js"), "{path}");
        }
        let wrong = get(&path.replace(TOKEN, "wrong")).send(addr).await;
        assert_eq!(wrong.header("location").as_deref(), Some("/login?wrong"));
    }
    gateway.stop().await;
}

#[tokio::test]
async fn if_the_rules_ask_a_call_waits_for_the_answer_of_the_page() {
    let gateway = Gateway::start_with(|config| {
        let rules = include_str!("../../config/policy.toml");
        let file = config.data.join("policy.toml");
        let free = "kinds = [\"compute\"]\ndecision = \"allow\"";
        let asking = rules.replace(free, "kinds = [\"compute\"]\ndecision = \"ask\"");
        assert_ne!(asking, rules);
        std::fs::write(&file, asking).unwrap();
        config.policy = Some(file);
    })
    .await;
    let mut page = Page::new(gateway.addr).await;
    for allow in [true, false] {
        page.say("use draw_arrow {\"room_name\": \"Kitchen\", \"direction\": \"up\"}").await;
        let confirm = page.one("confirm").await;
        assert_eq!(confirm["content"]["arguments"]["room_name"], "Kitchen", "{confirm}");
        assert_eq!(page.one("progress").await["content"]["state"], "waiting");
        let id = &confirm["content"]["id"];
        page.raw(&json!({"type": "confirm", "id": id, "allow": allow}).to_string()).await;
        let confirmed = page.one("confirmed").await;
        assert_eq!(confirmed["content"], json!({"id": id, "allowed": allow}));
        let frames = page.rest_of_turn().await;
        assert_eq!(of_kind(&frames, "arrow").len(), usize::from(allow), "{frames:?}");
    }
    gateway.stop().await;
}
