//! A frontend of agents: the input socket and the panes, without the history, and with a dialog for questions.

use crate::support::{BODY, CHANNEL, Client, KIND};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// Done, cut off, failed.
const ENDS: [&str; 3] = ["<<< 処理終了 >>>", "<<< 処理中断 >>>", "!"];

#[derive(Debug)]
pub(crate) struct Panes {
    pub(crate) input: Client,
    panes: Vec<Client>,
}

/// What came of one request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) answer: String,
    pub(crate) lines: Vec<String>,
}

impl Told {
    /// Whether the agent says that the conversation is a new one.
    pub(crate) fn forgot(&self) -> bool {
        self.lines.iter().any(|line| line.ends_with("does not remember what was said before"))
    }
}

impl Panes {
    pub(crate) async fn open(addr: SocketAddr, session: Option<&str>) -> Self {
        let more = json!({"履歴件数": 0, "機能": ["confirm"]});
        let mut input = Client::open_with(addr, "input", session, more.clone()).await;
        input.until("welcome_text").await;
        let mut panes = Vec::new();
        for name in ["1", "2", "3", "4"] {
            let session = input.session().to_owned();
            let mut pane = Client::open_with(addr, name, Some(&session), more.clone()).await;
            pane.until("welcome_text").await;
            panes.push(pane);
        }
        Self { input, panes }
    }

    pub(crate) fn session(&self) -> String {
        self.input.session().to_owned()
    }

    pub(crate) fn pane(&mut self, number: usize) -> &mut Client {
        &mut self.panes[number - 1]
    }

    pub(crate) async fn type_in(&mut self, pane: usize, text: &str) {
        let pane = pane.to_string();
        self.input.send(&json!({CHANNEL: pane, KIND: "input_text", BODY: text})).await;
    }

    pub(crate) async fn cancel(&mut self, pane: usize) {
        let pane = pane.to_string();
        self.input.send(&json!({CHANNEL: pane, KIND: "cancel_run", BODY: "強制停止！"})).await;
    }

    /// Types a request and waits for its answer.
    pub(crate) async fn ask(&mut self, pane: usize, text: &str) -> Told {
        self.type_in(pane, text).await;
        self.told(pane).await
    }

    /// What there is until a request is over.
    pub(crate) async fn told(&mut self, pane: usize) -> Told {
        let pane = self.pane(pane);
        let ends = |packet: &Value| ENDS.iter().any(|end| packet[BODY] == *end);
        let packets = pane.collect_until(ends).await;
        let text = |packet: &Value| packet[BODY].as_str().unwrap().to_owned();
        let is_line = |packet: &&Value| {
            let mark = packet[BODY].as_str().is_some_and(|text| text.starts_with("<<<"));
            packet[KIND] == "output_stream" && !mark
        };
        let lines = packets.iter().filter(is_line).map(text).collect();
        Told { answer: text(&pane.until("output_text").await), lines }
    }

    /// The next question of an agent, as the pane shows it.
    pub(crate) async fn question(&mut self, pane: usize) -> Value {
        self.pane(pane).until("confirm_request").await[BODY].clone()
    }

    pub(crate) async fn decide(&mut self, question: &Value, approved: bool) {
        // Without effect for what is not dangerous.
        let answer = json!({"id": question["id"], "承認": approved, "再確認": true});
        self.input.send(&json!({KIND: "confirm_answer", BODY: answer})).await;
    }
}
