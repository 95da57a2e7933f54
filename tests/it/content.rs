//! What goes to an agent and comes from it besides text: files of people, and pictures that agents show.

use crate::acp::AGENT;
use crate::panes::Panes;
use crate::process::Process;
use crate::support::{BODY, CHANNEL, Home, KIND};
use serde_json::{Value, json};

/// A gateway whose first slot is our agent.
fn gateway(home: &Home) -> Process {
    let settings = format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\"]\n\
         [settings]\nCODE_AI2_NAME = \"scripted\"\nCODE_AI3_NAME = \"scripted\"\nCODE_AI4_NAME = \"scripted\"\n"
    );
    Process::start(home, &settings)
}

/// Everything that one request leads to; the word behind it marks its end.
async fn packets(front: &mut Panes, request: &str) -> Vec<Value> {
    front.type_in(1, request).await;
    let mut packets = front.pane(1).collect_until(|packet| packet[KIND] == "output_text").await;
    front.type_in(1, "mode").await;
    let is_start = |packet: &Value| packet[BODY] == "<<< 処理開始 >>>";
    packets.extend(front.pane(1).collect_until(is_start).await);
    front.told(1).await;
    packets
}

fn files(packets: &[Value]) -> Vec<&Value> {
    packets.iter().filter(|packet| packet[KIND] == "output_file").collect()
}

#[tokio::test]
async fn pictures_that_an_agent_shows_are_files_of_its_channel() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Panes::open(process.addr, None).await;
    for word in ["show", "show-thought"] {
        let packets = packets(&mut front, word).await;
        let [file] = files(&packets)[..] else { panic!("not one file: {packets:?}") };
        let name = file["ファイル名"].as_str().unwrap();
        assert!(name.starts_with("temp/output/") && name.ends_with(".png"), "{file}");
        assert!(!file["サムネイル画像"].is_null(), "{file}");
        let stored = walk(home.data.path()).into_iter().find(|path| path.ends_with(&name[12..]));
        assert!(std::fs::read(stored.unwrap()).unwrap().starts_with(b"\x89PNG"));
    }
    let many = packets(&mut front, &"show ".repeat(12)).await;
    assert_eq!(files(&many).len(), 8, "{many:?}");
}

#[tokio::test]
async fn what_is_no_picture_is_named_in_a_line() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Panes::open(process.addr, None).await;
    let packets = packets(&mut front, "show-page show-rest").await;
    let line = |text: &str| {
        let is_it = |packet: &Value| packet[KIND] == "output_stream" && packet[BODY] == text;
        assert!(packets.iter().any(is_it), "no {text:?} in {packets:?}");
    };
    line("a picture that cannot be shown (image/png)");
    line("file:///notes.txt (text/plain)");
    line("(audio/wav)");
    // A picture that is called a resource is one all the same.
    assert_eq!(files(&packets).len(), 1, "{packets:?}");
    let text = serde_json::to_string(&packets).unwrap();
    assert!(!text.contains("all of it"), "{text}");
}

/// Sends a file to the first pane, as the existing client does, and waits until it is there.
async fn send_file(front: &mut Panes, name: &str, content: &[u8]) {
    let data = base64_simd::STANDARD.encode_to_string(content);
    let packet = json!({CHANNEL: "1", KIND: "input_file", BODY: data, "ファイル名": name});
    front.input.send(&packet).await;
    front.pane(1).until("input_file").await;
}

#[tokio::test]
async fn files_that_are_sent_to_a_channel_reach_its_agent_in_the_box() {
    let home = Home::new();
    let process = gateway(&home);
    let mut front = Panes::open(process.addr, None).await;
    // It is in a box, where nothing of the gateway's own is to be seen.
    let token = home.data.path().join("token");
    let look = format!("python attempt(lambda: open({token:?}).read())");
    let told = front.ask(1, &look).await.answer;
    assert!(told.starts_with("no "), "{told}");

    send_file(&mut front, "dot.png", b"\x89PNG\r\n\x1a\nand so on").await;
    let picture = base64_simd::STANDARD.encode_to_string(b"\x89PNG\r\n\x1a\nand so on");
    assert_eq!(front.ask(1, "block").await.answer, format!("image {picture}"));
    send_file(&mut front, "my notes.txt", b"remember the milk").await;
    let told = front.ask(1, "block read-block").await.answer;
    assert!(told.starts_with("resource_link file:///"), "{told}");
    assert!(told.ends_with("remember the milk"), "{told}");
    // A file goes with one text only.
    assert_eq!(front.ask(1, "blocks").await.answer, "text");
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}
