//! The page of the agent UI names the frames that exist and no others, and its example does what it says.

use crate::analyst::gateway_with;
use crate::docs::{quoted, read};
use crate::golden_smol::{dialect, types};
use crate::smol::{Page, kinds};
use crate::support::Gateway;
use kakehashi::config::{Config, Overrides};
use kakehashi::dialect::{Dialect, Received};
use serde_json::Value;
use std::collections::BTreeSet;

/// The first cells of the table with this first heading.
fn cells(heading: &str) -> Vec<String> {
    let page = read("docs/agent-ui.md");
    let (_, table) = page.split_once(&format!("\n| {heading} |")).expect(heading);
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| line.split('|').nth(1).unwrap().trim().to_owned()).collect()
}

#[test]
fn every_frame_of_the_page_is_sent_by_the_gateway_and_none_is_missing() {
    let listed: BTreeSet<String> = cells("you get").iter().flat_map(|cell| quoted(cell)).collect();
    assert_eq!(listed, types());
}

#[test]
fn every_frame_that_the_page_of_the_agent_ui_tells_to_send_is_understood() {
    let sent = cells("you send");
    assert_eq!(sent.len(), 3);
    for cell in sent {
        let frame = cell.trim_matches('`');
        let read = dialect().decode(Received::Text(frame));
        assert!(read.is_ok(), "{frame}: {read:?}");
    }
}

#[test]
fn every_tool_of_the_page_is_one_of_the_agent() {
    let listed: BTreeSet<String> = cells("tool").iter().flat_map(|cell| quoted(cell)).collect();
    let offered = kakehashi::assistant::MAPPER.tools();
    assert_eq!(listed, offered.into_iter().map(|tool| tool.name).collect());
}

/// The text between the first fence of this language and its end.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split("```").next().unwrap()
}

#[tokio::test]
async fn the_tool_of_the_page_works_as_it_stands_there() {
    let page = read("docs/agent-ui.md");
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("to_fahrenheit.py");
    std::fs::write(&file, block(&page, "python")).unwrap();
    let row = block(&page, "toml").replace("/path/to/to_fahrenheit.py", file.to_str().unwrap());
    let written = place.path().join("kakehashi.toml");
    std::fs::write(&written, row).unwrap();
    let config = Config::load(Overrides {
        config: Some(written),
        project: Some(place.path().to_owned()),
        data: Some(place.path().to_owned()),
        ..Overrides::default()
    });
    let tools = config.unwrap().custom_tools;
    let Some(gateway) = gateway_with(|config| config.custom_tools = tools).await else { return };
    let mut page = Page::new(gateway.addr).await;
    let frames = page.turn("use to_fahrenheit {\"room\": \"Kitchen\", \"celsius\": 21}").await;
    let expected = ["user_message", "debug", "code", "text", "highlight_room"];
    assert_eq!(kinds(&frames), expected);
    assert_eq!(frames[3]["content"], "Kitchen: 69.8 F");
    // Its variables are not those of the agent.
    page.turn("use python_interpreter {\"code\": \"result = 42\"}").await;
    page.turn("use to_fahrenheit {\"room\": \"Kitchen\", \"celsius\": 21}").await;
    let frames = page.turn("use python_interpreter {\"code\": \"print(result)\"}").await;
    assert_eq!(frames[3]["content"], "42");
    let frames = page
        .turn("use python_interpreter {\"code\": \"plt.plot([1]); plt.savefig('t:1.png')\"}")
        .await;
    assert_eq!(frames[3]["content"], "[not kept: t:1.png (name)]");
    gateway.stop().await;
}

#[tokio::test]
async fn the_example_of_the_page_does_what_it_says() {
    let page = read("docs/agent-ui.md");
    let mut blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let asked: Value = serde_json::from_str(blocks.next().unwrap()).unwrap();
    let lines = blocks.next().unwrap().lines();
    let answered: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let gateway = Gateway::start().await;
    let mut page = Page::new(gateway.addr).await;
    assert_eq!(page.turn(asked["message"].as_str().unwrap()).await, answered);
    gateway.stop().await;
}
