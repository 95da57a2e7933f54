//! The questions to a chat model: each is answered by one JSON object, as the call of a tool or as text. What does not fit
//! its schema is sent back once with the reason.

use super::Host;
use super::graph::{MOST_ACTIONS, Request};
use super::planner::By;
use super::report;
use super::schema::{
    CODE_SCHEMA, CodeGenOutput, DataFrameInfo, ExecutionResult, REASON_SCHEMA, REPORT_SCHEMA,
    ReasonOutput, ReportOutput, SchemaError,
};
use crate::assistant::Halt;
use crate::provider::chat::{ChatMessage, ChatOutput, ChatRequest, ToolSpec};
use serde_json::{Value, json};

const REASON: &str = include_str!("../../../config/prompts/analyst/reason.txt");
const CODE: &str = include_str!("../../../config/prompts/analyst/code.txt");
const REPORT: &str = include_str!("../../../config/prompts/analyst/report.txt");

/// A longer output of one execution is cut for the model; the user sees all of it.
const LONGEST_OUTPUT: usize = 6_000;
/// Older executions than these are left out.
const MOST_RESULTS: usize = 12;
/// Older texts than these are left out.
const MOST_SAID: usize = 12;
/// Longest answer, in bytes. A model that writes more may never stop.
const LONGEST_ANSWER: usize = 512 * 1024;

#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    pub tools: bool,
}

pub(super) async fn reason<H: Host>(
    host: &mut H,
    abilities: Abilities,
    request: &Request,
    info: &DataFrameInfo,
    finished: u32,
) -> Result<ReasonOutput, Halt> {
    let material = json!({
        "conversation": said(request), "request": request.question, "dataframe": info,
        "remarks": request.remarks, "execution_results": results(request),
        "assumptions": request.assumptions, "actions_finished": finished, "actions_allowed": MOST_ACTIONS,
    });
    let asked = Asked { system: REASON, name: "reason", schema: REASON_SCHEMA, material };
    let read = |text: &str, _| ReasonOutput::read(text, request.locale).map_err(reason_of);
    ask(host, abilities, asked, read).await
}

pub(super) async fn code<H: Host>(
    host: &mut H,
    abilities: Abilities,
    request: &Request,
    instruction: &str,
) -> Result<CodeGenOutput, Halt> {
    // The code that failed last, so that the next one does better.
    let failed = request.results.last().filter(|result| !result.success);
    let material = json!({
        "instruction": instruction, "dataframe": request.info, "remarks": request.remarks,
        "failed_before": failed.map(result),
    });
    let asked = Asked { system: CODE, name: "write_code", schema: CODE_SCHEMA, material };
    ask(host, abilities, asked, |text, _| CodeGenOutput::read(text).map_err(reason_of)).await
}

pub(super) async fn report<H: Host>(
    host: &mut H,
    abilities: Abilities,
    request: &Request,
    intermediate: bool,
) -> Result<ReportOutput, Halt> {
    let material = json!({
        "conversation": said(request), "request": request.question, "dataframe": request.info,
        "remarks": request.remarks, "execution_results": results(request),
        "assumptions": request.assumptions, "intermediate": intermediate,
    });
    let outputs: Vec<_> = request.results.iter().flat_map(|one| one.outputs.clone()).collect();
    let asked = Asked { system: REPORT, name: "write_report", schema: REPORT_SCHEMA, material };
    ask(host, abilities, asked, |text, attempt| {
        let (report, refused) = ReportOutput::read(text, &outputs).map_err(reason_of)?;
        match (attempt, refused.first(), report::missing(&report)) {
            (Attempt::First, Some(image), _) => {
                Err(format!("no execution has saved the figure {:?}", image.0))
            }
            (Attempt::First, None, Some(missing)) => Err(missing),
            // The gateway adds missing parts itself: see `report::completed`.
            (Attempt::First, None, None) | (Attempt::Last, _, _) => Ok(report),
        }
    })
    .await
}

/// One question to the model.
struct Asked {
    system: &'static str,
    /// The tool by which it is to answer.
    name: &'static str,
    schema: &'static str,
    material: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Last,
}

async fn ask<H: Host, T>(
    host: &mut H,
    abilities: Abilities,
    asked: Asked,
    read: impl Fn(&str, Attempt) -> Result<T, String>,
) -> Result<T, Halt> {
    let Asked { system, name, schema, material } = asked;
    let tool = ToolSpec {
        name: name.to_owned(),
        description: "Gives your answer.".to_owned(),
        schema: schema.to_owned(),
    };
    let how = if abilities.tools {
        format!("Answer by calling the tool {name}.")
    } else {
        format!("Answer with one JSON object and nothing else. Its schema:\n{schema}")
    };
    let request = |text: String| ChatRequest {
        history: vec![ChatMessage::User { text, images: Vec::new() }],
        system: Some(format!("{system}\n{how}")),
        tools: if abilities.tools { vec![tool.clone()] } else { Vec::new() },
        ..ChatRequest::default()
    };
    let material = material.to_string();
    let written = answer(host, request(material.clone())).await?;
    let problem = match read(&written, Attempt::First) {
        Ok(output) => return Ok(output),
        Err(problem) => problem,
    };
    let again = json!({"your_answer": written, "what_is_wrong_with_it": problem});
    let written = answer(host, request(format!("{material}\n{again}"))).await?;
    read(&written, Attempt::Last).map_err(|problem| {
        Halt::Failed(format!(
            "the model's answer cannot be used, also not the second one: {problem}"
        ))
    })
}

/// The arguments of the first tool call, or else the JSON object in the text.
async fn answer<H: Host>(host: &mut H, request: ChatRequest) -> Result<String, Halt> {
    let mut turn = host.ask(request);
    let (mut text, mut call) = (String::new(), None);
    loop {
        let output = tokio::select! {
            biased;
            () = host.cancelled() => return Err(Halt::Cancelled),
            output = turn.output.recv() => output,
        };
        match output {
            Some(ChatOutput::Delta(piece)) => text.push_str(&piece),
            Some(ChatOutput::ToolCall(made)) => {
                call.get_or_insert(made.arguments);
            }
            Some(ChatOutput::Image { .. }) => {}
            Some(ChatOutput::Usage(usage)) => host.count(usage).await?,
            Some(ChatOutput::Done { .. }) => return Ok(call.unwrap_or_else(|| object_in(&text))),
            Some(ChatOutput::Failed(error)) => return Err(Halt::Failed(error.to_string())),
            None => {
                let reason = "the connection to the model was lost; try again";
                return Err(Halt::Failed(reason.to_owned()));
            }
        }
        if text.len() > LONGEST_ANSWER {
            let reason = "the model's answer does not end; ask for less at once";
            return Err(Halt::Failed(reason.to_owned()));
        }
    }
}

/// Models put fences and sentences around JSON.
fn object_in(text: &str) -> String {
    match (text.find('{'), text.rfind('}')) {
        (Some(from), Some(to)) if from < to => text[from..=to].to_owned(),
        (_, _) => text.to_owned(),
    }
}

fn said(request: &Request) -> Vec<Value> {
    let newest = request.said.len().saturating_sub(MOST_SAID);
    let row = |said: &super::planner::Said| {
        let role = match said.by {
            By::User => "user",
            By::Analyst => "analyst",
        };
        json!({"role": role, "text": cut(&said.text)})
    };
    request.said[newest..].iter().map(row).collect()
}

fn results(request: &Request) -> Vec<Value> {
    let newest = request.results.len().saturating_sub(MOST_RESULTS);
    request.results[newest..].iter().map(result).collect()
}

fn result(result: &ExecutionResult) -> Value {
    json!({
        "success": result.success, "code": cut(&result.code), "stdout": result.stdout.as_deref().map(cut),
        "error": result.error.as_deref().map(cut), "outputs": result.outputs,
    })
}

/// The beginning and the end of a long text.
fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST_OUTPUT {
        return text.to_owned();
    }
    let half = LONGEST_OUTPUT / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n[{} characters are left out]\n{tail}", count - 2 * half)
}

fn reason_of(err: SchemaError) -> String {
    err.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_between_fences_and_sentences() {
        let text = "Sure:\n```json\n{\"a\": {\"b\": 1}}\n```\nDone.";
        assert_eq!(object_in(text), "{\"a\": {\"b\": 1}}");
        assert_eq!(object_in("no"), "no");
        assert_eq!(object_in("} {"), "} {");
    }

    #[test]
    fn long_outputs_keep_both_ends() {
        let text = format!("first{}last", "\u{3042}".repeat(LONGEST_OUTPUT));
        let short = cut(&text);
        assert!(short.starts_with("first") && short.ends_with("last"), "{short}");
        assert!(short.chars().count() < LONGEST_OUTPUT + 60);
        assert_eq!(cut("short"), "short");
    }
}
