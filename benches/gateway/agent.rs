//! An agent that speaks the Agent Client Protocol and does what a benchmark needs: it answers in lines, waits to be
//! stopped, or does not stop: not even by TERM.

use serde_json::{Value, json};
use std::io::{BufRead, Write};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) fn serve() {
    let mut running: Option<Value> = None;
    let (mut deaf, mut stubborn) = (false, None);
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let (id, params) = (message["id"].clone(), &message["params"]);
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => answer(&id, &json!({"protocolVersion": 1, "agentCapabilities": {}})),
            "session/new" => answer(&id, &json!({"sessionId": "bench"})),
            "session/prompt" => {
                let text = params["prompt"][0]["text"].as_str().unwrap_or_default();
                let (word, count) = text.split_once(' ').unwrap_or((text, "1"));
                talk(count.parse().unwrap_or(1));
                deaf = matches!(word, "deaf" | "stubborn");
                if word == "stubborn" {
                    stubborn.get_or_insert_with(ignore_term);
                }
                match word {
                    "talk" => answer(&id, &json!({"stopReason": "end_turn"})),
                    _ => running = Some(id),
                }
            }
            "session/cancel" if !deaf => {
                if let Some(id) = running.take() {
                    answer(&id, &json!({"stopReason": "cancelled"}));
                }
            }
            _ => {}
        }
    }
}

/// For as long as this is kept.
fn ignore_term() -> (Runtime, Signal) {
    let runtime = Runtime::new().unwrap();
    let term = runtime.block_on(async { signal(SignalKind::terminate()).unwrap() });
    (runtime, term)
}

fn talk(lines: usize) {
    for line in 0..lines {
        let content =
            json!({"type": "text", "text": format!("line {line} of an agent that answers\n")});
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
        say(&json!({
            "jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": "bench", "update": update},
        }));
    }
}

fn answer(id: &Value, result: &Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    // Who does not listen any more ends us by our stdin.
    let _ = writeln!(out, "{message}");
    let _ = out.flush();
}
