//! The data analyst, from the upload of a table to the download of a report. Python runs for real, in its sandbox.

use crate::client::{Aicore, Api, Ask, Client, CoreUi};
use crate::http::{Reply, announced, delete, get};
use crate::protocol::{ANALYST, Way, analyst_protocol};
use crate::python::{boxes, data, environment};
use crate::support::{Gateway, Home, PATIENCE, TOKEN};
use futures_util::{SinkExt, StreamExt};
use kakehashi::config::Config;
use kakehashi::message::Channel;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

const SALES: &str = "日付,地域,売上\n2026-01-03,東京,1200\n2026-01-15,大阪,800\n2026-02-02,東京,950\n\
                     2026-02-20,名古屋,400\n2026-03-05,大阪,1500\n2026-03-18,東京,2100\n2026-03-30,名古屋,\n";

/// `None`: this system gives us no sandbox, and then nothing runs.
pub(crate) async fn gateway() -> Option<Gateway> {
    gateway_with(|_| ()).await
}

pub(crate) async fn gateway_with(change: impl FnOnce(&mut Config)) -> Option<Gateway> {
    let home = home().await?;
    Some(Gateway::start_at(home, change).await)
}

/// With the packages that all tests share.
pub(crate) async fn home() -> Option<Arc<Home>> {
    boxes().first()?;
    environment().await;
    let home = Home::new();
    std::os::unix::fs::symlink(data().join("python"), home.data.path().join("python")).unwrap();
    Some(Arc::new(home))
}

pub(crate) async fn upload(
    gateway: &Gateway,
    name: &str,
    session: Option<&str>,
    body: &[u8],
) -> Reply {
    let session = session.map_or_else(String::new, |id| format!("&session={id}"));
    let path = format!("/analyst/upload?name={name}{session}");
    announced(&path, "text/csv").local().bytes(body).send(gateway.addr).await
}

/// A session with the table of sales.
pub(crate) async fn with_sales(gateway: &Gateway) -> String {
    let told = upload(gateway, "sales.csv", None, SALES.as_bytes()).await;
    assert_eq!(told.status, 201, "{}", told.body);
    told.json()["session"].as_str().unwrap().to_owned()
}

pub(crate) struct Analyst {
    ws: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub(crate) session: String,
    resumed: bool,
}

impl Analyst {
    pub(crate) async fn open(addr: SocketAddr, session: &str) -> Self {
        Self::resume(addr, session, None).await
    }

    async fn resume(addr: SocketAddr, session: &str, after: Option<u64>) -> Self {
        let after = after.map_or_else(String::new, |seq| format!("&after={seq}"));
        let (mut analyst, first) =
            Self::attach(addr, &format!("session={session}{after}"), TOKEN).await;
        assert_eq!(first["type"], "connected", "{first}");
        analyst.session = first["session"].as_str().unwrap().to_owned();
        analyst.resumed = first["resumed"] == true;
        analyst
    }

    /// As whoever has the secret, with the first answer.
    pub(crate) async fn attach(addr: SocketAddr, query: &str, secret: &str) -> (Self, Value) {
        let address = format!("ws://{addr}/analyst/ws?{query}");
        let mut request = address.into_client_request().unwrap();
        let bearer = format!("Bearer {secret}").parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        request.headers_mut().insert("accept-language", "en".parse().unwrap());
        let ws = connect_async(request).await.unwrap().0;
        let mut analyst = Self { ws, session: String::new(), resumed: false };
        let first = analyst.next().await;
        (analyst, first)
    }

    pub(crate) async fn raw(&mut self, text: &str) {
        self.ws.send(Message::text(text)).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, text: &str) {
        self.raw(&json!({"type": "ask", "text": text}).to_string()).await;
    }

    async fn code(&mut self, code: &str) {
        self.ask(&call(code)).await;
    }

    async fn next(&mut self) -> Value {
        loop {
            match timeout(PATIENCE * 3, self.ws.next()).await.expect("a frame").unwrap().unwrap() {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    let kind = frame["type"].as_str().unwrap();
                    analyst_protocol().check(ANALYST, Way::Send, kind, &frame);
                    return frame;
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => {
                    panic!("{other:?}")
                }
            }
        }
    }

    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
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

    pub(crate) async fn one(&mut self, kind: &str) -> Value {
        self.until(kind).await.pop().unwrap()
    }
}

fn call(code: &str) -> String {
    format!("use python_interpreter {}", json!({"code": code}))
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect()
}

fn of_kind<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

#[tokio::test]
async fn a_table_is_described_and_a_request_goes_its_way_frame_by_frame() {
    let Some(gateway) = gateway().await else { return };
    let told = upload(&gateway, "sales.csv", None, SALES.as_bytes()).await.json();
    assert_eq!(told["shape"], json!([7, 3]));
    assert_eq!(told["columns"], json!(["日付", "地域", "売上"]));
    assert_eq!(told["dtypes"]["売上"], "float64");
    assert_eq!(told["head"].as_array().unwrap().len(), 5);
    let mut analyst = Analyst::open(gateway.addr, told["session"].as_str().unwrap()).await;
    assert_eq!(analyst.one("dataset_info").await["shape"], json!([7, 3]));
    let code =
        "print(int(df['売上'].sum()))\ndf['売上'].plot()\nplt.savefig(f'{workspace_dir}/a.png')";
    analyst.code(code).await;
    let frames = analyst.until("done").await;
    let expected = [
        "user", "progress", "reason", "progress", "code", "exec", "progress", "artifact", "reason",
        "progress", "report", "artifact", "artifact", "done",
    ];
    assert_eq!(kinds(&frames), expected);
    let done = of_kind(&frames, "exec")[0];
    assert_eq!((&done["success"], &done["stdout"]), (&json!(true), &json!("6950\n")), "{done}");
    assert_eq!(done["outputs"][0]["file_name"], "a.png");
    let report = of_kind(&frames, "report")[0];
    assert_eq!(report["rule_based"], true);
    let end = frames.last().unwrap();
    assert_eq!((&end["outcome"], &end["loops"]), (&json!("finished"), &json!(1)));
    // What was told is there to be downloaded, and whoever is not logged in gets none of it.
    let url = of_kind(&frames, "artifact")[1]["url"].as_str().unwrap().to_owned();
    for path in [url.as_str(), report["url"].as_str().unwrap()] {
        let markdown = get(path).local().send(gateway.addr).await;
        assert!(markdown.body.contains("6950"), "{}", markdown.body);
        assert_eq!(get(path).send(gateway.addr).await.status, 401);
    }
    let page = get(report["html_url"].as_str().unwrap()).local().send(gateway.addr).await;
    assert!(page.body.contains("<!DOCTYPE html>") && page.body.contains("6950"));
    let kind = page.header("content-disposition").unwrap();
    assert!(kind.starts_with("attachment"), "a report must not run in the gateway's page: {kind}");
    gateway.stop().await;
}

#[tokio::test]
async fn an_error_of_the_code_is_a_result_and_the_sixth_action_is_not_run() {
    let Some(gateway) = gateway().await else { return };
    let session = with_sales(&gateway).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    let lines: Vec<_> = (1..=6).map(|number| call(&format!("print({number})"))).collect();
    let failing = call("df['none']");
    analyst.ask(&format!("{failing}\n{}", lines.join("\n"))).await;
    let frames = analyst.until("done").await;
    let runs = of_kind(&frames, "exec");
    assert_eq!(runs.len(), 5);
    assert_eq!(runs[0]["success"], false);
    assert!(runs[0]["error"].as_str().unwrap().contains("KeyError"), "{}", runs[0]);
    assert_eq!(runs[4]["stdout"], "4\n");
    let report = of_kind(&frames, "report")[0];
    assert_eq!(report["intermediate"], true);
    gateway.stop().await;
}

#[tokio::test]
async fn without_a_table_the_user_is_asked_for_one() {
    let Some(gateway) = gateway().await else { return };
    let mut analyst = Analyst::open(gateway.addr, "").await;
    analyst.ask("how many rows?").await;
    let frames = analyst.until("done").await;
    assert_eq!(of_kind(&frames, "question").len(), 1, "{frames:?}");
    // Bad frames are answered, and the socket lives.
    for (frame, code) in
        [("{", "malformed"), ("[]", "not_an_object"), (r#"{"type":"x"}"#, "unknown_type")]
    {
        analyst.raw(frame).await;
        assert_eq!(analyst.one("error").await["code"], code);
    }
    analyst.ws.send(Message::binary(vec![1, 2])).await.unwrap();
    analyst.one("error").await;
    analyst.ask("still there?").await;
    analyst.until("done").await;
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_ends_the_code_and_the_next_request_works() {
    let Some(gateway) = gateway().await else { return };
    let session = with_sales(&gateway).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    analyst.code("while True: pass").await;
    analyst.one("code").await;
    analyst.raw(r#"{"type":"cancel"}"#).await;
    assert_eq!(analyst.one("done").await["outcome"], "cancelled");
    analyst.code("print(len(df))").await;
    assert_eq!(analyst.one("exec").await["stdout"], "7\n");
    gateway.stop().await;
}

#[tokio::test]
async fn uploads_that_cannot_be_used_are_told_why() {
    let Some(gateway) = gateway_with(|config| config.analyst.largest_file = 100_000).await else {
        return;
    };
    for (path, status) in [
        ("/analyst/upload", 400),
        ("/analyst/upload?name=", 400),
        ("/analyst/upload?name=..%2Fa.csv", 400),
        ("/analyst/upload?name=a.csv&session=nonsense", 404),
        ("/analyst/upload?name=a.csv&session=ws-00000000000000000000000000000000", 404),
    ] {
        let told = announced(path, "text/csv").local().bytes(b"a\n1\n").send(gateway.addr).await;
        assert_eq!(told.status, status, "{path}: {}", told.body);
        assert_eq!(told.json()["type"], "error");
    }
    let unknown = announced("/analyst/upload?name=a.csv", "text/csv").bytes(b"a\n1\n");
    assert_eq!(unknown.send(gateway.addr).await.status, 401);
    let large = vec![b'1'; 100_001];
    assert_eq!(upload(&gateway, "a.csv", None, &large).await.status, 413);
    for nothing in [&b""[..], b"\n\n", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe\xfd"] {
        let told = upload(&gateway, "a.csv", None, nothing).await;
        assert_eq!(told.status, 422, "{}", told.body);
    }
    for (language, said) in [("en", "JSON and not a table; export"), ("ja", "CSV 形式で")] {
        let path = "/analyst/upload?name=a.json";
        let told = announced(path, "text/csv").local().header("accept-language", language);
        let told = told.bytes(br#"[{"a": 1}]"#).send(gateway.addr).await;
        assert_eq!(told.status, 422, "{}", told.body);
        assert!(told.json()["message"].as_str().unwrap().contains(said), "{}", told.body);
    }
    let left = std::fs::read_dir(gateway.home.data.path().join("workspace/local")).unwrap();
    for workspace in left {
        let files = std::fs::read_dir(workspace.unwrap().path()).unwrap();
        assert_eq!(files.count(), 1, "only the name of the session is left");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn what_is_odd_about_a_table_is_told() {
    let Some(gateway) = gateway().await else { return };
    let cp932 = b"\x92\x6e\x88\xe6,n\n\x93\x8c\x8b\x9e,1\n";
    let told = upload(&gateway, "cp932.csv", None, cp932).await.json();
    assert_eq!((&told["columns"], &told["encoding"]), (&json!(["地域", "n"]), &json!("cp932")));
    let session = told["session"].as_str().unwrap();
    let messy = "a;a;\n1;2;3\n4;5;6;7;8\n";
    let told = upload(&gateway, "messy.csv", Some(session), messy.as_bytes()).await.json();
    assert_eq!(told["session"], session);
    assert_eq!(told["shape"], json!([1, 3]), "{told}");
    let warnings = told["warnings"].to_string();
    assert!(warnings.contains('3') && told["warnings"].as_array().unwrap().len() >= 3, "{told}");
    // The one that was sent last is `df`; the other one is there by its name.
    let mut analyst = Analyst::open(gateway.addr, session).await;
    analyst.code("print(df.shape, dfs['cp932'].shape)").await;
    assert_eq!(analyst.one("exec").await["stdout"], "(1, 3) (1, 2)\n");
    gateway.stop().await;
}

#[tokio::test]
async fn whoever_resumes_gets_what_was_missed_also_after_a_restart() {
    let Some(home) = home().await else { return };
    let gateway = Gateway::start_at(home, |_| ()).await;
    let session = with_sales(&gateway).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    analyst.code("print('first')").await;
    let frames = analyst.until("done").await;
    let all: Vec<u64> = frames.iter().filter_map(|frame| frame["seq"].as_u64()).collect();
    for (at, seq) in all.iter().enumerate().step_by(3) {
        let mut again = Analyst::resume(gateway.addr, &session, Some(*seq)).await;
        assert!(again.resumed);
        if at + 1 < all.len() {
            let rest = again.until("done").await;
            let seen: Vec<u64> = rest.iter().filter_map(|frame| frame["seq"].as_u64()).collect();
            assert_eq!(seen, all[at + 1..], "after {seq}");
        }
    }
    let home = gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    let before = analyst.until("done").await;
    assert_eq!(of_kind(&before, "report").len(), 1);
    // The table is still `df`.
    analyst.code("print(len(df))").await;
    assert_eq!(analyst.one("exec").await["stdout"], "7\n");
    gateway.stop().await;
}

#[tokio::test]
async fn a_request_that_a_restart_cuts_off_ends_once() {
    let Some(home) = home().await else { return };
    let gateway = Gateway::start_at(home, |_| ()).await;
    let session = with_sales(&gateway).await;
    let mut analyst = Analyst::open(gateway.addr, &session).await;
    analyst.code("while True: pass").await;
    let code = analyst.one("code").await;
    let home = gateway.stop().await;
    let gateway = Gateway::start_at(home, |_| ()).await;
    let mut analyst = Analyst::resume(gateway.addr, &session, code["seq"].as_u64()).await;
    let rest = analyst.until("done").await;
    assert!(kinds(&rest).ends_with(&["message", "done"]), "{rest:?}");
    let end = rest.last().unwrap();
    assert_eq!((&end["outcome"], &end["run"]), (&json!("interrupted"), &code["run"]), "{end}");
    analyst.code("print(len(df))").await;
    assert_eq!(analyst.next().await["type"], "user");
    gateway.stop().await;
}

#[tokio::test]
async fn every_dialect_sees_the_same_analysis() {
    let Some(gateway) = gateway().await else { return };
    let session = with_sales(&gateway).await;
    let hello = json!({"session": session, "history": 0});
    let mut api = Client::<Api>::open(gateway.addr, hello).await;
    api.until("ready").await;
    let more = json!({"機能": ["stream", "confirm", "agents"]});
    let mut aicore = Client::<Aicore>::open_with(gateway.addr, "0", Some(&session), more).await;
    let mut core_ui = Client::<CoreUi>::open(gateway.addr, &format!("session={session}")).await;
    api.ask(Ask::Text { to: Channel::Chat, text: &call("print('seen by all')") }).await;
    for kind in ["reason", "code", "exec", "reason", "report", "artifact"] {
        api.until(kind).await;
    }
    let printed = aicore.until_where(|frame| frame.to_string().contains("seen by all")).await;
    assert_eq!(printed["メッセージ識別"], "input_text");
    aicore.until("output_file").await;
    let answer = core_ui.until("onNewMessage").await;
    assert!(answer["payload"]["content"].as_str().unwrap().contains("seen by all"), "{answer}");
    gateway.stop().await;
}

#[tokio::test]
async fn an_idle_interpreter_does_not_hold_up_the_end_of_the_gateway() {
    let Some(gateway) = gateway().await else { return };
    with_sales(&gateway).await;
    // The gateway waits a minute for programs that nobody ends.
    timeout(PATIENCE, gateway.stop()).await.expect("the interpreter was ended");
}

#[tokio::test]
async fn a_deleted_session_takes_its_data_along() {
    let Some(gateway) = gateway().await else { return };
    let session = with_sales(&gateway).await;
    let place = gateway.home.data.path().join("workspace/local");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
    let path = format!("/api/sessions/{session}");
    assert!(delete(&path).local().send(gateway.addr).await.status < 300);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    let gone = get(&format!("/analyst/files/{session}/sales.csv")).local().send(gateway.addr).await;
    assert_eq!(gone.status, 404);
    gateway.stop().await;
}
