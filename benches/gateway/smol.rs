//! The agent UI on the scripted model: how soon a page hears of a message, and of what came of it.

use crate::Plan;
use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, median};
use crate::server::{Home, Server};
use serde_json::json;
use std::time::Instant;

pub(crate) async fn messages(plan: &Plan, report: &mut Report) {
    let home = Home::new();
    let server = Server::gateway(&home);
    let mut client = Client::smol(&server).await;
    let (mut first, mut debug) = (Vec::new(), Vec::new());
    for _ in 0..plan.answers {
        let begun = Instant::now();
        client.send(&frame(&json!({"message": "How is the Kitchen?"}).to_string())).await;
        client.receive_text_with("\"user_message\"").await;
        first.push(begun.elapsed().as_secs_f64() * 1e3);
        client.receive_text_with("\"debug\"").await;
        debug.push(begun.elapsed().as_secs_f64() * 1e3);
        client.receive_text_with("\"ended\"").await;
    }
    for (what, times) in
        [("agent UI, message to first frame", first), ("agent UI, message to debug", debug)]
    {
        report.add(&Row {
            what,
            unit: "ms",
            gateway: median(times),
            against: None,
            result: Of::Figure,
            targets: Vec::new(),
            how: format!("medians of {} messages that the scripted model echoes", plan.answers),
        });
    }
}
