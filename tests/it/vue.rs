//! The existing Vue client, frame by frame: what it sends from page load to reload, with its own keys in its own
//! order, and what it needs to see.

use crate::support::{BODY, CHANNEL, Client, Gateway, KIND, SESSION, brief};
use serde_json::Value;
use std::net::SocketAddr;
use tokio_tungstenite::tungstenite::Message;

/// The page: one socket per component, all frames as text so that keys keep the client's order.
struct Page {
    addr: SocketAddr,
    session: String,
    input: Client,
    file: Client,
    panes: Vec<Client>,
    audio: Client,
}

async fn connect(addr: SocketAddr, session: &str, socket: &str) -> Client {
    let mut client = Client::dial(addr).await;
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
    async fn load(addr: SocketAddr, session: &str) -> Self {
        let input = connect(addr, session, "input").await;
        let session = input.session().to_owned();
        let file = connect(addr, &session, "file").await;
        let mut panes = Vec::new();
        for name in ["0", "1", "2", "3", "4"] {
            panes.push(connect(addr, &session, name).await);
        }
        let audio = connect(addr, &session, "audio").await;
        Self { addr, session, input, file, panes, audio }
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

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one visit from beginning to end")]
async fn the_existing_client_works_from_load_to_reload() {
    let gateway = Gateway::start().await;
    std::fs::write(gateway.project().join("main.py"), "print()").unwrap();
    let mut page = Page::load(gateway.addr, "").await;
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

    // Files: bare from the chat pane, a data URL from an agent's.
    page.send(r#""チャンネル":"0","メッセージ識別":"input_file","メッセージ内容":"aGVsbG8=","ファイル名":"a.txt","サムネイル画像":null"#).await;
    assert_eq!(page.panes[0].until("input_file").await["サムネイル画像"], Value::Null);
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
    let (addr, session) = (page.addr, page.session.clone());
    drop(page);
    let mut page = Page::load(addr, &session).await;
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
    page.send(r#""チャンネル":"0","送信モード":"Chat","メッセージ識別":"input_text","メッセージ内容":"まだいる？""#).await;
    // The file sent a moment ago goes along.
    page.panes[0]
        .until_where(|packet| packet[BODY].as_str().unwrap().starts_with("echo: まだいる？ [file "))
        .await;
}
