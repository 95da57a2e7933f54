//! The data analyst with a chat model behind a real wire: the model plans and writes code, Python runs it, and the model
//! reports. The server of the model answers by what it was asked.

use crate::acp::wait_for;
use crate::analyst::{Analyst, gateway_with, upload};
use crate::builtin;
use crate::model_server::{Asked, ModelServer, Reply};
use crate::support::{Gateway, PATIENCE};
use kakehashi::provider::row::ChatKind;
use serde_json::{Value, json};
use tokio::time::timeout;

/// The last row is behind the five that a model may see.
const SALES: &str = "region,amount\nEast,1\nWest,2\nEast,3\nWest,4\nEast,5\nSecretstan,6\n";

const BARS: &str = "df.groupby('region')['amount'].sum().plot.bar()\n\
                    plt.savefig(f'{workspace_dir}/bars.png')\nprint('groups', 3)";
const WRONG: &str = "print(df['price'].mean())";
const RIGHT: &str = "df['amount'].plot.line()\nplt.savefig(f'{workspace_dir}/line.png')\n\
                     print('mean', df['amount'].mean())";

/// What the model was given besides its instructions. A second try has what was wrong behind it.
fn material(asked: &Asked) -> (Value, bool) {
    let messages = asked.body["messages"].as_array().unwrap();
    let text = messages.last().unwrap()["content"].as_str().unwrap();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = values.next().unwrap().unwrap();
    (first, values.next().is_some())
}

/// What is asked: the tool that the model has to answer with, or where it has no tools the schema in its instructions.
fn step(asked: &Asked) -> &str {
    if let Some(name) = asked.body["tools"][0]["function"]["name"].as_str() {
        return name;
    }
    let system = asked.body["messages"][0]["content"].as_str().unwrap();
    let by_field = [("next_action", "reason"), ("expected_outputs", "write_code")];
    by_field
        .iter()
        .find(|(field, _)| system.contains(field))
        .map_or("write_report", |(_, name)| name)
}

fn reasoned(next: &str, rest: Value) -> Value {
    let mut answer = json!({"next_action": next, "rationale": "to answer"});
    answer.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    answer
}

fn coded(code: &str, files: &[&str]) -> Value {
    let file = |name: &&str| json!({"file_name": name, "description": "a figure", "output_type": "figure"});
    json!({"code": code, "expected_outputs": files.iter().map(file).collect::<Vec<_>>()})
}

/// A model that does the first request in one action, and makes a mistake in the second.
fn answer(asked: &Asked) -> Value {
    let (material, is_second_try) = material(asked);
    let is_first = material["request"] == "show bars";
    match step(asked) {
        "reason" if is_first && !is_second_try && material["actions_finished"] == 0 => {
            json!({"next_action": "dance"})
        }
        "reason" => {
            let results = material["execution_results"].as_array().unwrap();
            let last = results.last().map(|result| result["success"] == true);
            match (material["actions_finished"].as_u64().unwrap(), last) {
                (0, _) if material["request"] == "which one?" => {
                    reasoned("ask", json!({"question": "Is it the amount?"}))
                }
                (0, _) => reasoned(
                    "act",
                    json!({"instruction": material["request"], "assumption": "all rows count"}),
                ),
                (_, Some(true)) => reasoned("finalize", json!({})),
                (_, _) => reasoned("act", json!({"instruction": "try again"})),
            }
        }
        "write_code" if material["instruction"] == "show bars" => coded(BARS, &["bars.png"]),
        "write_code" if material["failed_before"].is_null() => coded(WRONG, &[]),
        "write_code" => {
            assert!(material["failed_before"]["error"].to_string().contains("price"));
            coded(RIGHT, &["line.png"])
        }
        "write_report" => {
            let text = |text: &str| json!({"section_type": "text", "content": text});
            let results = material["execution_results"].as_array().unwrap();
            let files = results.iter().flat_map(|result| result["outputs"].as_array().unwrap());
            let images =
                files.map(|file| json!({"section_type": "image", "content": file["file_name"]}));
            let mut sections =
                vec![text("## Conclusion\nIt is done."), text("## Evidence\nSee the figures.")];
            sections.extend(images);
            if is_first && !is_second_try {
                sections.push(json!({"section_type": "image", "content": "dreamt.png"}));
            }
            json!({"title": "Sales", "sections": sections, "suggestions": ["Compare the regions"]})
        }
        other => panic!("{other}"),
    }
}

async fn with_model(tools: bool) -> Option<(Gateway, ModelServer, Analyst)> {
    let server = ModelServer::answering(move |asked| {
        let answer = answer(asked);
        if tools {
            return builtin::reply("", &[(step(asked), answer)]);
        }
        builtin::reply(&format!("Here it is:\n```json\n{answer}\n```"), &[])
    })
    .await;
    let mut row = server.model(ChatKind::OpenAi, "/v1");
    row.tools = tools;
    let gateway = gateway_with(|config| config.add_chat(vec![row]).unwrap()).await?;
    let told = upload(&gateway, "sales.csv", None, SALES.as_bytes()).await;
    let session = told.json()["session"].as_str().unwrap().to_owned();
    let analyst = Analyst::open(gateway.addr, &session).await;
    Some((gateway, server, analyst))
}

fn images(report: &Value) -> Vec<&str> {
    let sections = report["sections"].as_array().unwrap().iter();
    let images = sections.filter(|section| section["section_type"] == "image");
    images.map(|section| section["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_model_plans_corrects_itself_and_shows_figures_of_all_requests() {
    for tools in [true, false] {
        let Some((gateway, server, mut analyst)) = with_model(tools).await else { return };
        analyst.ask("show bars").await;
        let first = analyst.one("report").await;
        let bars = images(&first);
        assert!(bars.len() == 1 && bars[0].contains("bars"), "{first}");
        assert_eq!(first["rule_based"], false);
        assert!(first["assumptions"].to_string().contains("all rows count"), "{first}");
        analyst.one("done").await;
        analyst.ask("show the line").await;
        let seen = analyst.until("done").await;
        let of = |kind: &str| seen.iter().filter(|frame| frame["type"] == kind).collect::<Vec<_>>();
        let runs: Vec<_> = of("exec").iter().map(|frame| frame["success"] == true).collect();
        assert_eq!(runs, [false, true], "{seen:?}");
        let second = of("report")[0];
        let both = images(second);
        assert!(
            both.len() == 2 && both[0].contains("bars") && both[1].contains("line"),
            "{second}"
        );
        assert_eq!(seen.last().unwrap()["loops"], 2);
        // What is asked ends the turn with one question.
        analyst.ask("which one?").await;
        let asked = analyst.one("question").await;
        assert_eq!(asked["text"], "Is it the amount?", "{asked}");
        analyst.one("done").await;
        for asked in server.asked() {
            assert!(!asked.body.to_string().contains("Secretstan"), "{}", asked.body);
        }
        // One try was answered with what is wrong, for the decision and for the report.
        let repairs = server.asked().iter().filter(|asked| material(asked).1).count();
        assert_eq!(repairs, 2);
        gateway.stop().await;
    }
}

#[tokio::test]
async fn a_model_that_writes_nonsense_twice_is_reported() {
    let server = ModelServer::answering(|asked| {
        assert_eq!(step(asked), "reason");
        builtin::reply("I would rather not.", &[])
    })
    .await;
    let row = server.model(ChatKind::OpenAi, "/v1");
    let Some(gateway) = gateway_with(|config| config.add_chat(vec![row]).unwrap()).await else {
        return;
    };
    let told = upload(&gateway, "sales.csv", None, SALES.as_bytes()).await;
    let mut analyst = Analyst::open(gateway.addr, told.json()["session"].as_str().unwrap()).await;
    analyst.ask("show bars").await;
    let error = analyst.one("error").await;
    assert!(error["message"].to_string().contains("cannot be used"), "{error}");
    assert_eq!(server.asked().len(), 2);
    gateway.stop().await;
}

#[tokio::test]
async fn a_cancel_ends_the_question_to_the_model() {
    let hanging = Reply::begin("text/event-stream").hang();
    let server = ModelServer::start([hanging]).await;
    let row = server.model(ChatKind::OpenAi, "/v1");
    let Some(gateway) = gateway_with(|config| config.add_chat(vec![row]).unwrap()).await else {
        return;
    };
    let told = upload(&gateway, "sales.csv", None, SALES.as_bytes()).await;
    let mut analyst = Analyst::open(gateway.addr, told.json()["session"].as_str().unwrap()).await;
    analyst.ask("show bars").await;
    wait_for(PATIENCE, || !server.asked().is_empty()).await;
    analyst.raw(r#"{"type":"cancel"}"#).await;
    timeout(PATIENCE, server.left()).await.expect("the connection ends");
    analyst.one("done").await;
    gateway.stop().await;
}
