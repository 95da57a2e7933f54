//! The existing Vue client, frame by frame: what it sends from page load to reload, with its own keys in its own
//! order, and what it needs to see.

use crate::http::{get, post};
use crate::support::{BODY, CHANNEL, Client, Frontend, Gateway, Home, KIND, SESSION, TOKEN, brief};
use kakehashi::config::Config;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_tungstenite::tungstenite::Message;

/// Where its development server is.
const VITE: &str = "http://localhost:8090";
const SETTINGS: &str = "/core/AIコア/モデル情報/設定";

/// The page: one socket per component, all frames as text so that keys keep the client's order.
struct Page {
    addr: SocketAddr,
    cookie: String,
    session: String,
    input: Client,
    file: Client,
    panes: Vec<Client>,
    audio: Client,
}

/// A browser sends nothing but the cookie along, and says which page it is.
async fn connect(addr: SocketAddr, cookie: &str, session: &str, socket: &str) -> Client {
    let mut client = Client::dial_with(addr, &[("Origin", VITE), ("Cookie", cookie)]).await;
    let id = if session.is_empty() { "null".to_owned() } else { format!("\"{session}\"") };
    let frame = format!(r#"{{"type":"connect","セッションID":{id},"ソケット番号":"{socket}"}}"#);
    client.send_raw(Message::text(frame)).await;
    client.init = client.next().await;
    assert_eq!(client.init[KIND], "init");
    assert_eq!(client.init[CHANNEL], socket);
    client
}

impl Page {
    /// Load order seen on the wire: input, file, 0 to 4, and audio after input's init.
    async fn load(addr: SocketAddr, cookie: &str, session: &str) -> Self {
        let input = connect(addr, cookie, session, "input").await;
        let session = input.session().to_owned();
        let file = connect(addr, cookie, &session, "file").await;
        let mut panes = Vec::new();
        for name in ["0", "1", "2", "3", "4"] {
            panes.push(connect(addr, cookie, &session, name).await);
        }
        let audio = connect(addr, cookie, &session, "audio").await;
        Self { addr, cookie: cookie.to_owned(), session, input, file, panes, audio }
    }

    async fn send(&mut self, rest: &str) {
        let frame = format!(r#"{{"セッションID":"{}",{rest}}}"#, self.session);
        self.input.send_raw(Message::text(frame)).await;
    }

    async fn send_audio(&mut self, kind: &str, body: &str, data: &str) {
        let session = &self.session;
        let frame = format!(
            r#"{{"セッションID":"{session}","チャンネル":"audio","メッセージ識別":"{kind}","メッセージ内容":{body},"ファイル名":{data},"サムネイル画像":null}}"#
        );
        self.audio.send_raw(Message::text(frame)).await;
    }

    async fn operations(&mut self, microphone: bool, mode: &str) {
        self.send(&format!(
            r#""チャンネル":null,"メッセージ識別":"operations","メッセージ内容":{{"ボタン":{{"マイク":{microphone},"スピーカー":true,"ファイル":true,"チャット":true,"エージェント1":true,"カメラ":false,"エージェント2":false,"エージェント3":false,"エージェント4":false,"チャットモード":"{mode}"}}}}"#
        ))
        .await;
    }
}

fn kinds(packets: &[Value]) -> Vec<String> {
    brief(packets).into_iter().map(|row| row.0).collect()
}

fn is(kind: &'static str) -> impl Fn(&Value) -> bool {
    move |packet| packet[KIND] == kind
}

/// What its HTTP client keeps: the token in local storage, and the browser's cookie.
struct Browser {
    addr: SocketAddr,
    token: String,
    cookie: String,
}

impl Browser {
    /// The login page: name and password, then who that is.
    async fn log_in(addr: SocketAddr) -> Self {
        let body = json!({"利用者ID": "local", "パスワード": TOKEN});
        let reply = post("/core/auth/ログイン", &body).header("Origin", VITE).send(addr).await;
        assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some(VITE));
        let answer = reply.json();
        assert_eq!(
            (&answer["status"], &answer["data"]["token_type"]),
            (&json!("OK"), &json!("bearer"))
        );
        let token = answer["data"]["access_token"].as_str().unwrap().to_owned();
        let browser = Self { addr, token, cookie: reply.cookie().unwrap() };
        browser.who().await;
        assert_eq!(answer["data"]["初期ページ"], "AIコア");
        browser
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let asked = post(path, body).header("Origin", VITE).bearer(&self.token);
        let answer = asked.header("Cookie", &self.cookie).send(self.addr).await.json();
        assert_eq!(answer["status"], "OK", "{path}: {answer}");
        answer["data"].clone()
    }

    async fn who(&self) {
        assert_eq!(self.post("/core/auth/現在利用者", &Value::Null).await["利用者ID"], "local");
    }

    /// `/AIコア` without an id makes a session and loads itself again with it.
    async fn open_page(&self) -> String {
        self.who().await;
        let made = self.post("/core/AIコア/初期化", &json!({SESSION: ""})).await;
        self.load_page(made[SESSION].as_str().unwrap()).await
    }

    /// Four agent panes and the settings dialog each ask for the models.
    async fn load_page(&self, session: &str) -> String {
        self.who().await;
        let known = self.post("/core/AIコア/初期化", &json!({SESSION: session})).await;
        assert_eq!(known[SESSION], session);
        for _ in 0..5 {
            let models =
                self.post("/core/AIコア/モデル情報/取得", &json!({SESSION: session})).await;
            assert_eq!(models["モデル設定"].as_object().unwrap().len(), 34);
            for kind in ["claude_sdk", "claude_cli", "copilot_cli", "gemini_cli", "codex_cli"] {
                assert!(models["available_models"]["code_models"][kind].is_object(), "{kind}");
            }
        }
        session.to_owned()
    }

    /// The settings dialog sends everything that it was told back, with what was chosen, and asks for a restart in the
    /// same request. It takes any status but `OK` as "not saved".
    async fn set_models(&self, session: &str) {
        let told = self.post("/core/AIコア/モデル情報/取得", &json!({SESSION: session})).await;
        let mut settings = told["モデル設定"].clone();
        settings["CODE_AI1_NAME"] = json!("scripted");
        settings["CODE_MAX_TURNS"] = json!(999);
        settings["CODE_AI4_PLACE"] = json!("shared");
        let apps = json!({"reboot_core": false, "reboot_apps": true});
        let body = json!({SESSION: session, "モデル設定": settings, "再起動要求": apps});
        let data = self.post(SETTINGS, &body).await;
        assert_eq!(data, json!({"再起動": false}));
        let told = self.post("/core/AIコア/モデル情報/取得", &json!({SESSION: session})).await;
        assert_eq!(told["モデル設定"], settings);
        self.poll_state().await;
    }

    /// The two buttons of the dialog about changed files ask for nothing but a restart, and show why there is none.
    async fn ask_for_restart(&self, session: &str) {
        for core in [false, true] {
            let reboot = json!({"reboot_core": core, "reboot_apps": true});
            let body = json!({SESSION: session, "モデル設定": {}, "再起動要求": reboot});
            let asked = post(SETTINGS, &body).header("Origin", VITE).bearer(&self.token);
            let answer = asked.header("Cookie", &self.cookie).send(self.addr).await;
            assert_eq!((answer.status, answer.refused().as_str()), (200, "RESTART_REFUSED"));
        }
    }

    /// Every three seconds, from a fixed address, without a token.
    async fn poll_state(&self) {
        let reply = get("/core/サーバー状態").header("Origin", VITE).send(self.addr).await;
        assert_eq!(reply.json()["ready_count"], 1);
        assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some(VITE));
    }

    async fn content(&self, name: &str) -> Value {
        self.post("/core/files/内容取得", &json!({"ファイル名": name})).await["base64_data"].clone()
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one visit from beginning to end")]
async fn the_existing_client_works_from_load_to_reload() {
    let gateway =
        Gateway::start_with(|config| config.allowed_origins = vec![VITE.to_owned()]).await;
    std::fs::write(gateway.project().join("main.py"), "print()").unwrap();
    let browser = Browser::log_in(gateway.addr).await;
    let session = browser.open_page().await;
    browser.poll_state().await;
    let mut page = Page::load(gateway.addr, &browser.cookie, &session).await;
    let greeting = page.input.collect_until(is("welcome_text")).await;
    assert_eq!(kinds(&greeting), ["welcome_info", "streaming_started", "welcome_text"]);
    for pane in &mut page.panes {
        assert_eq!(
            kinds(&pane.collect_until(is("welcome_text")).await),
            ["welcome_info", "welcome_text"]
        );
    }

    // Buttons, then the file pane opens and polls.
    page.operations(false, "live").await;
    for kind in ["files_backup", "files_temp", "files_temp"] {
        page.send(&format!(r#""チャンネル":"file","メッセージ識別":"{kind}","メッセージ内容":"""#))
            .await;
        let list = page.file.until(kind).await;
        assert!(list[BODY]["ファイルリスト"].is_array(), "{list}");
        // A click on a file shows it, by the path in the list or with the project's before it.
        if kind == "files_backup" {
            let name = list[BODY]["ファイルリスト"][0]["パス"].as_str().unwrap();
            let project = list[BODY]["プロジェクトパス"].as_str().unwrap();
            assert_eq!(browser.content(name).await, "cHJpbnQoKQ==");
            assert_eq!(browser.content(&format!("{project}/{name}")).await, "cHJpbnQoKQ==");
        }
    }

    // Chat pane in its three ways.
    page.send(r#""チャンネル":"0","送信モード":"Chat","メッセージ識別":"input_text","メッセージ内容":"やあ""#).await;
    let seen = page.panes[0].collect_until(is("output_text")).await;
    assert_eq!(kinds(&seen), ["input_text", "output_text"]);
    page.send(r#""チャンネル":"0","送信モード":"Live","メッセージ識別":"input_text","メッセージ内容":"やあ""#).await;
    assert_eq!(
        kinds(&page.panes[0].collect_until(is("output_text")).await),
        ["input_text", "output_text"]
    );
    page.send(r#""チャンネル":"0","送信モード":"Code1","メッセージ識別":"input_text","メッセージ内容":"say ok""#).await;
    assert_eq!(
        kinds(&page.panes[0].collect_until(is("output_request")).await),
        ["input_text", "output_request"]
    );
    let agent = page.panes[1].collect_until(is("output_text")).await;
    assert_eq!(kinds(&agent), ["input_request", "output_stream", "output_stream", "output_text"]);

    // Agent pane: its cancel button works on these two marker lines.
    page.send(r#""チャンネル":"2","メッセージ識別":"input_text","メッセージ内容":"sleep 30""#)
        .await;
    page.panes[2].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    page.send(r#""チャンネル":"2","メッセージ識別":"cancel_run","メッセージ内容":"強制停止！""#)
        .await;
    let stopped = page.panes[2].collect_until(is("output_text")).await;
    assert_eq!(kinds(&stopped), ["cancel_run", "output_stream", "output_text"]);
    assert_eq!(stopped[0][BODY], "処理中断！");
    assert_eq!(stopped[1][BODY], "<<< 処理中断 >>>");

    browser.set_models(&page.session).await;
    // A run that changed files opens a dialog, which shows each of them and offers a restart.
    page.send(
        r#""チャンネル":"4","メッセージ識別":"input_text","メッセージ内容":"write notes.txt hi""#,
    )
    .await;
    let changed = page.panes[4].until("update_info").await;
    assert_eq!(changed[BODY], json!({"update_files": ["notes.txt"]}));
    let name = changed[BODY]["update_files"][0].as_str().unwrap();
    let shown = base64_simd::STANDARD.decode_to_vec(browser.content(name).await.as_str().unwrap());
    assert_eq!(shown.unwrap(), std::fs::read(gateway.project().join("notes.txt")).unwrap());
    browser.ask_for_restart(&page.session).await;

    // Files: bare from the chat pane, a data URL from an agent's.
    page.send(r#""チャンネル":"0","メッセージ識別":"input_file","メッセージ内容":"aGVsbG8=","ファイル名":"a.txt","サムネイル画像":null"#).await;
    let sent = page.panes[0].until("input_file").await;
    assert_eq!(sent["サムネイル画像"], Value::Null);
    // The file pane opens the newest upload by itself.
    assert_eq!(browser.content(sent["ファイル名"].as_str().unwrap()).await, "aGVsbG8=");
    page.send(r#""チャンネル":"3","メッセージ識別":"input_file","メッセージ内容":"data:text/plain;base64,aGVsbG8=","ファイル名":"a.txt","サムネイル画像":null"#).await;
    page.panes[3].until("input_file").await;

    // The picture pane sends its text along with each picture.
    let image = base64_simd::STANDARD.encode_to_string(crate::routing::picture(8, 8));
    page.send(&format!(
        r#""チャンネル":"input","出力先チャンネル":"0","メッセージ識別":"input_image","メッセージ内容":"image/jpeg","ファイル名":"{image}","サムネイル画像":null"#
    ))
    .await;
    page.send(
        r#""チャンネル":"input","メッセージ識別":"input_text","メッセージ内容":"これは何？""#,
    )
    .await;
    let answers = [page.panes[0].next().await, page.panes[0].next().await];
    assert_eq!(kinds(&answers), ["output_text", "output_text"]);

    // Microphone: two cancels before the first chunk, then 64 ms of sound each.
    page.operations(true, "live").await;
    page.send_audio("cancel_audio", "null", "null").await;
    page.send_audio("cancel_audio", "null", "null").await;
    let chunk = format!("\"{}\"", base64_simd::STANDARD.encode_to_string(vec![0u8; 2048]));
    for _ in 0..20 {
        page.send_audio("input_audio", "\"audio/pcm\"", &chunk).await;
    }
    let sound = page.audio.until("output_audio").await;
    assert_eq!(sound[BODY], "audio/pcm");

    // Reload: the same session, the history before the welcome, the buttons as they were.
    let (addr, cookie, session) = (page.addr, page.cookie.clone(), page.session.clone());
    drop(page);
    browser.load_page(&session).await;
    let mut page = Page::load(addr, &cookie, &session).await;
    assert_eq!(page.input.init[SESSION], session.as_str());
    assert_eq!(page.input.init[BODY]["ボタン"]["マイク"], true);
    assert_eq!(page.input.init[BODY]["ボタン"]["チャットモード"], "live");
    let history = page.panes[1].collect_until(is("welcome_text")).await;
    let expected = [
        "welcome_info",
        "input_request",
        "output_stream",
        "output_stream",
        "output_text",
        "welcome_text",
    ];
    assert_eq!(kinds(&history), expected);
    // The dialog about changed files does not open again.
    let history = page.panes[4].collect_until(is("welcome_text")).await;
    assert!(kinds(&history).contains(&"output_text".to_owned()));
    assert!(!kinds(&history).contains(&"update_info".to_owned()));
    let answer = history.iter().find(|packet| packet[KIND] == "output_text").unwrap();
    for key in ["ファイル名", "サムネイル画像"] {
        assert_eq!(answer.get(key), Some(&Value::Null));
    }
    page.send(r#""チャンネル":"0","送信モード":"Chat","メッセージ識別":"input_text","メッセージ内容":"まだいる？""#).await;
    // The file sent a moment ago goes along.
    page.panes[0]
        .until_where(|packet| {
            let text = packet[BODY].as_str().unwrap_or_default();
            text.starts_with("echo: まだいる？ [file ")
        })
        .await;

    // Logged out: the sockets close, and the token is worth nothing.
    browser.post("/core/auth/ログアウト", &Value::Null).await;
    assert_eq!(page.input.closed().await.0, 3506);
    let gone = post("/core/auth/現在利用者", &Value::Null).bearer(&browser.token);
    assert_eq!(gone.send(gateway.addr).await.status, 401);
}

/// The address of an old page holds an id of the original. The page asks for its session with that, opens its sockets
/// with what it is answered, and its dialogs use the address again.
#[tokio::test]
async fn a_page_with_an_id_of_the_original_in_its_address_works() {
    const OLD: &str = "bd07140c92";
    let gateway =
        Gateway::start_with(|config| config.allowed_origins = vec![VITE.to_owned()]).await;
    let browser = Browser::log_in(gateway.addr).await;
    let mut sessions = Vec::new();
    for visit in 0..2 {
        browser.who().await;
        let made = browser.post("/core/AIコア/初期化", &json!({SESSION: OLD})).await;
        let session = made[SESSION].as_str().unwrap().to_owned();
        let mut page = Page::load(gateway.addr, &browser.cookie, &session).await;
        let history = page.panes[0].collect_until(is("welcome_text")).await;
        assert_eq!(history.len(), [2, 4][visit], "{history:?}");
        page.send(r#""チャンネル":"0","送信モード":"Chat","メッセージ識別":"input_text","メッセージ内容":"やあ""#).await;
        page.panes[0].until("output_text").await;
        browser.set_models(OLD).await;
        let told = browser.post("/core/AIコア/モデル情報/取得", &json!({SESSION: session})).await;
        assert_eq!(told["モデル設定"]["CODE_AI4_PLACE"], "shared");
        sessions.push(session);
    }
    assert_eq!(sessions[0], sessions[1]);
}

/// A project under git, with its own home.
fn git_home() -> Arc<Home> {
    let home = Home::new();
    std::fs::write(home.project.path().join("old.txt"), "old\n").unwrap();
    for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "start"]] {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.current_dir(home.project.path()).status().unwrap().success());
    }
    Arc::new(home)
}

fn says(part: &'static str) -> impl Fn(&Value) -> bool {
    move |packet| {
        packet[KIND] == "output_text"
            && packet[BODY].as_str().is_some_and(|text| text.contains(part))
    }
}

async fn shown(browser: &Browser, name: &str) -> String {
    let content = browser.content(name).await;
    let bytes = base64_simd::STANDARD.decode_to_vec(content.as_str().unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The client knows of no copies: it is told in words where the work is, opens the files that it was told of, and takes
/// the work over by a word.
#[tokio::test]
async fn work_in_a_copy_is_told_shown_and_taken_over_in_words() {
    let list = |config: &mut Config| config.allowed_origins = vec![VITE.to_owned()];
    let gateway = Gateway::start_at(git_home(), list).await;
    let browser = Browser::log_in(gateway.addr).await;
    let session = browser.open_page().await;
    let mut page = Page::load(gateway.addr, &browser.cookie, &session).await;
    for pane in &mut page.panes {
        pane.until("welcome_text").await;
    }
    let project = |name: &str| std::fs::read_to_string(gateway.project().join(name)).ok();
    page.send(r#""チャンネル":"4","メッセージ識別":"input_text","メッセージ内容":"write notes.txt one\nwrite old.txt new""#).await;
    let told = page.panes[4].until_where(says("プロジェクトの写し")).await;
    let told = told[BODY].as_str().unwrap();
    assert!(told.contains("「採用 4」") && told.contains("「破棄 4」"), "{told}");
    let changed = page.panes[4].until("update_info").await;
    let names = json!({"update_files": ["agent-4:notes.txt", "agent-4:old.txt"]});
    assert_eq!(changed[BODY], names);
    // Each name shows the file as the agent has it, and the project's own name what is in the project.
    assert_eq!(shown(&browser, "agent-4:old.txt").await, "new");
    assert_eq!(shown(&browser, "old.txt").await, "old\n");
    assert_eq!(shown(&browser, "agent-4:notes.txt").await, "one");
    assert_eq!(shown(&browser, "notes.txt").await, "one");
    assert_eq!((project("notes.txt"), project("old.txt").as_deref()), (None, Some("old\n")));

    // As a part of a longer text the word is no decision; alone it is, also nearly.
    page.send(
        r#""チャンネル":"4","メッセージ識別":"input_text","メッセージ内容":"採用してもいい？""#,
    )
    .await;
    page.panes[4].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    assert_eq!(project("notes.txt"), None);
    page.send(r#""チャンネル":"4","メッセージ識別":"input_text","メッセージ内容":"採用します。""#)
        .await;
    let seen = page.panes[4].collect_until(says("notes.txt")).await;
    assert!(seen.iter().any(|packet| packet[KIND] == "input_text"), "{seen:?}");
    let changed = seen.iter().find(|packet| packet[KIND] == "update_info").unwrap();
    assert_eq!(changed[BODY]["update_files"], json!(["notes.txt", "old.txt"]));
    assert_eq!(
        (project("notes.txt").as_deref(), project("old.txt").as_deref()),
        (Some("one"), Some("new"))
    );

    // From the chat pane, which sends to the live model by itself: the work is told and thrown away there.
    page.send(r#""チャンネル":"0","送信モード":"Code2","メッセージ識別":"input_text","メッセージ内容":"write notes.txt two""#).await;
    page.panes[0].until_where(says("「採用 2」")).await;
    page.send(r#""チャンネル":"2","メッセージ識別":"input_text","メッセージ内容":"sleep 30""#)
        .await;
    page.panes[2].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
    page.panes[2].until_where(|packet| packet[BODY] == "<<< 処理開始 >>>").await;
    page.send(r#""チャンネル":"0","送信モード":"Live","メッセージ識別":"input_text","メッセージ内容":"破棄 2""#).await;
    page.panes[0].until_where(says("何も変更していません")).await;
    page.send(r#""チャンネル":"2","メッセージ識別":"cancel_run","メッセージ内容":"強制停止！""#)
        .await;
    page.panes[2].until_where(|packet| packet[BODY] == "<<< 処理中断 >>>").await;
    page.panes[2].until("output_text").await;
    assert_eq!(shown(&browser, "agent-2:notes.txt").await, "two");
    page.send(r#""チャンネル":"0","送信モード":"Live","メッセージ識別":"input_text","メッセージ内容":"破棄 2""#).await;
    page.panes[0].until_where(says("notes.txt")).await;
    assert_eq!(shown(&browser, "agent-2:notes.txt").await, "one");
    assert_eq!(project("notes.txt").as_deref(), Some("one"));
    // Nothing is left to decide about: the word is for the model again.
    page.send(r#""チャンネル":"0","送信モード":"Chat","メッセージ識別":"input_text","メッセージ内容":"採用 2""#).await;
    page.panes[0].until_where(says("echo: 採用 2")).await;
}

/// What is no user's typing takes nothing over, whatever it says.
#[tokio::test]
async fn only_what_a_user_types_takes_work_over() {
    let gateway = Gateway::start_at(git_home(), |_| ()).await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "write notes.txt one").await;
    front.agents[0].until("update_info").await;
    for word in ["採用", "採用 1", "accept 1"] {
        let file = base64_simd::STANDARD.encode_to_string(word);
        let sent = json!({CHANNEL: "1", KIND: "input_file", BODY: file, "ファイル名": word});
        front.input.send(&sent).await;
        front.input.send(&json!({CHANNEL: "1", KIND: "input_request", BODY: word})).await;
        front.agents[0].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
        front.type_in("2", &format!("say {word}\nrun echo {word}\n{word}")).await;
        front.agents[1].until_where(|packet| packet[BODY] == "<<< 処理終了 >>>").await;
        let to_model = json!({CHANNEL: "input", KIND: "input_text", BODY: word});
        front.input.send(&to_model).await;
        front.chat.until_where(|packet| packet[BODY] == format!("echo: {word}")).await;
    }
    assert!(!gateway.project().join("notes.txt").exists());
    front.type_in("1", "採用").await;
    front.agents[0].until("update_info").await;
    assert!(gateway.project().join("notes.txt").exists());
}
