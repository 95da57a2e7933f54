//! The graph with a model that answers from a list, and a host that runs nothing.

use super::planner::{By, Said};
use super::schema::{DataFrameInfo, Dtypes, ExecutionResult, ExpectedOutput, OutputType};
use super::*;
use crate::locale::Locale;
use crate::message::{NextAction, RunId, SectionKind};
use crate::provider::chat::{CHAT_OUTPUT_CAPACITY, ChatOutput, DoneReason, ToolCall};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::future::pending;
use std::sync::Mutex;
use tokio::sync::mpsc;

/// One answer of the model.
enum Answer {
    Call(Value),
    Text(&'static str),
}

#[derive(Default)]
struct Fake {
    answers: Mutex<VecDeque<Answer>>,
    /// What the model was sent, without the system prompts.
    asked: Mutex<Vec<String>>,
    results: VecDeque<ExecutionResult>,
    told: Vec<Work>,
    said: Vec<String>,
    reports: Vec<(Report, String)>,
}

impl Fake {
    fn new(answers: Vec<Answer>, results: Vec<ExecutionResult>) -> Self {
        let (answers, results) = (Mutex::new(answers.into()), results.into());
        Self { answers, results, ..Self::default() }
    }

    fn decisions(&self) -> Vec<NextAction> {
        let decided = self.told.iter().filter_map(|work| match work {
            Work::Decision(decision) => Some(decision.next),
            Work::Dataset(_)
            | Work::Code(_)
            | Work::Execution(_)
            | Work::Artifact(_)
            | Work::Floor(_)
            | Work::Report(_) => None,
        });
        decided.collect()
    }
}

impl Host for Fake {
    fn ask(&self, request: ChatRequest) -> ChatTurn {
        let (sender, output) = mpsc::channel(CHAT_OUTPUT_CAPACITY);
        self.asked.lock().unwrap().push(format!("{:?}", request.history));
        let said = match self.answers.lock().unwrap().pop_front() {
            Some(Answer::Call(arguments)) => ChatOutput::ToolCall(ToolCall {
                id: "1".into(),
                name: request.tools.first().map_or_else(String::new, |tool| tool.name.clone()),
                arguments: arguments.to_string(),
                signature: None,
            }),
            Some(Answer::Text(text)) => ChatOutput::Delta(text.to_owned()),
            None => panic!("the model is asked too often"),
        };
        sender.try_send(said).unwrap();
        sender.try_send(ChatOutput::Done { reason: DoneReason::Complete }).unwrap();
        ChatTurn { output }
    }

    async fn cancelled(&self) {
        pending().await
    }

    async fn count(&mut self, _: Usage) -> Result<(), Halt> {
        Ok(())
    }

    async fn tell(&mut self, work: Work) -> Result<(), Halt> {
        self.told.push(work);
        Ok(())
    }

    async fn say(&mut self, text: &str) -> Result<(), Halt> {
        self.said.push(text.to_owned());
        Ok(())
    }

    async fn execute(&mut self, _: u32, program: &Program) -> Result<ExecutionResult, Halt> {
        let result = self.results.pop_front().expect("one execution too many");
        Ok(ExecutionResult { code: program.code.clone(), ..result })
    }

    async fn report(&mut self, report: Report, markdown: &str, _: Locale) -> Result<(), Halt> {
        self.reports.push((report, markdown.to_owned()));
        Ok(())
    }
}

fn request(question: &str) -> Request {
    let dtypes = Dtypes(vec![("region".into(), "str".into()), ("amount".into(), "int64".into())]);
    let columns = vec!["region".to_owned(), "amount".to_owned()];
    Request {
        run: RunId(7),
        question: question.to_owned(),
        said: vec![Said { by: By::User, text: "earlier question".into() }],
        info: Some(DataFrameInfo { shape: (7, 2), columns, dtypes, ..DataFrameInfo::default() }),
        remarks: Vec::new(),
        results: Vec::new(),
        earlier: 0,
        assumptions: Vec::new(),
        locale: Locale::En,
    }
}

fn act(instruction: &str, assumption: Option<&str>) -> Answer {
    Answer::Call(json!({
        "next_action": "act", "instruction": instruction, "question": null,
        "assumption": assumption, "rationale": "why",
    }))
}

fn finalize() -> Answer {
    Answer::Call(json!({"next_action": "finalize", "rationale": "done"}))
}

fn code(code: &str) -> Answer {
    Answer::Call(json!({"code": code, "expected_outputs": []}))
}

fn report_of(content: &str) -> Answer {
    let section = json!({"section_type": "text", "content": content});
    Answer::Call(json!({"title": "T", "sections": [section], "suggestions": ["by month"]}))
}

const WHOLE: &str = "## Conclusion\n\nup\n\n## Evidence\n\n42";

fn printed(stdout: &str) -> ExecutionResult {
    ExecutionResult { success: true, stdout: Some(stdout.into()), ..ExecutionResult::default() }
}

fn failed(error: &str) -> ExecutionResult {
    ExecutionResult { error: Some(error.into()), ..ExecutionResult::default() }
}

const MODEL: Mind = Mind::Model(Abilities { tools: true });

#[tokio::test]
async fn a_request_is_reasoned_about_computed_and_reported() {
    let answers = vec![act("sum", None), code("print(42)"), finalize(), report_of(WHOLE)];
    let mut host = Fake::new(answers, vec![printed("42\n")]);
    let answered = analyse(&mut host, &MODEL, request("total?")).await.unwrap();
    assert_eq!(answered, Answered::Reported);
    assert_eq!(host.decisions(), [NextAction::Act, NextAction::Finalize]);
    let (report, markdown) = &host.reports[0];
    assert!(!report.intermediate && !report.rule_based);
    assert_eq!(report.suggestions, ["by month"]);
    assert_eq!(host.said.as_slice(), std::slice::from_ref(markdown));
    assert!(markdown.starts_with("# T\n\n## Conclusion"), "{markdown}");
}

#[tokio::test]
async fn the_error_goes_back_with_the_code() {
    let answers = vec![
        act("sum", None),
        code("df.x"),
        act("sum amount", None),
        code("df.amount"),
        finalize(),
        report_of(WHOLE),
    ];
    let results = vec![failed("AttributeError: x"), printed("42")];
    let mut host = Fake::new(answers, results);
    analyse(&mut host, &MODEL, request("total?")).await.unwrap();
    let asked = host.asked.lock().unwrap();
    for told in [&asked[2], &asked[3]] {
        assert!(told.contains("AttributeError: x") && told.contains("df.x"), "{told}");
    }
    assert!(asked[4].contains("42"), "{}", asked[4]);
}

#[tokio::test]
async fn a_question_ends_the_request() {
    let asks = json!({"next_action": "ask", "question": "Do you mean amount?", "rationale": "r"});
    let mut host = Fake::new(vec![Answer::Call(asks)], Vec::new());
    let answered = analyse(&mut host, &MODEL, request("how much?")).await.unwrap();
    assert_eq!(answered, Answered::Asked);
    assert_eq!((host.decisions(), host.said.len()), (vec![NextAction::Ask], 1));
    assert_eq!(host.said[0], "Do you mean amount?");
    assert!(host.reports.is_empty());
}

#[tokio::test]
async fn without_a_table_the_user_is_asked_for_one_and_no_model_is() {
    let mut host = Fake::new(Vec::new(), Vec::new());
    let asked = Request { info: None, ..request("total?") };
    assert_eq!(analyse(&mut host, &MODEL, asked).await.unwrap(), Answered::Asked);
    assert_eq!(host.decisions(), [NextAction::Ask]);
}

#[tokio::test]
async fn after_five_actions_there_is_an_intermediate_report() {
    let mut answers = Vec::new();
    for _ in 0..MOST_ACTIONS {
        answers.extend([act("more", None), code("print(1)")]);
    }
    answers.extend([act("still more", None), report_of(WHOLE)]);
    let results = (0..MOST_ACTIONS).map(|_| printed("1")).collect();
    let mut host = Fake::new(answers, results);
    analyse(&mut host, &MODEL, request("everything")).await.unwrap();
    let (report, markdown) = &host.reports[0];
    assert!(report.intermediate && markdown.contains("intermediate report"), "{markdown}");
    assert_eq!(host.decisions().last(), Some(&NextAction::Finalize));
    assert!(host.results.is_empty());
}

#[tokio::test]
async fn five_actions_that_are_enough_make_a_whole_report() {
    let mut answers = Vec::new();
    for _ in 0..MOST_ACTIONS {
        answers.extend([act("more", None), code("print(1)")]);
    }
    answers.extend([finalize(), report_of(WHOLE)]);
    let results = (0..MOST_ACTIONS).map(|_| printed("1")).collect();
    let mut host = Fake::new(answers, results);
    analyse(&mut host, &MODEL, request("everything")).await.unwrap();
    assert!(!host.reports[0].0.intermediate);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_written_once_more_and_then_fails() {
    let bad = || Answer::Call(json!({"next_action": "dance", "rationale": "r"}));
    let answers = vec![bad(), finalize(), report_of(WHOLE)];
    let mut host = Fake::new(answers, Vec::new());
    analyse(&mut host, &MODEL, request("x")).await.unwrap();
    assert!(host.asked.lock().unwrap()[1].contains("what_is_wrong_with_it"));

    let mut host = Fake::new(vec![bad(), Answer::Text("I would rather not.")], Vec::new());
    let Err(Halt::Failed(reason)) = analyse(&mut host, &MODEL, request("x")).await else {
        panic!("it did not fail")
    };
    assert!(reason.contains("cannot be used"), "{reason}");
}

#[tokio::test]
async fn a_model_without_tools_answers_in_text() {
    let fenced = "Of course:\n```json\n{\"next_action\": \"finalize\", \"rationale\": \"r\"}\n```";
    let written = r#"{"title": "T", "sections": [{"section_type": "text", "content": "Conclusion, Evidence"}]}"#;
    let mut host = Fake::new(vec![Answer::Text(fenced), Answer::Text(written)], Vec::new());
    let mind = Mind::Model(Abilities { tools: false });
    analyse(&mut host, &mind, request("x")).await.unwrap();
    assert_eq!(host.reports.len(), 1);
}

#[tokio::test]
async fn conclusion_evidence_and_assumptions_are_never_missing() {
    let answers = vec![
        act("sum", Some("amount is in yen")),
        code("print(42)"),
        finalize(),
        report_of("It went up."),
        report_of("It went up."),
    ];
    let mut host = Fake::new(answers, vec![printed("42")]);
    analyse(&mut host, &MODEL, request("total?")).await.unwrap();
    let markdown = &host.reports[0].1;
    for part in
        ["## Conclusion\n\nIt went up.", "## Evidence\n\n```\n42\n```", "- amount is in yen"]
    {
        assert!(markdown.contains(part), "{part} in {markdown}");
    }
}

#[tokio::test]
async fn a_figure_that_nobody_saved_is_not_in_the_report() {
    let image = |name: &str| json!({"section_type": "image", "content": name});
    let text = json!({"section_type": "text", "content": WHOLE});
    let written = json!({"title": "T", "sections": [text, image("a.png"), image("../b.png")]});
    let answers = vec![
        act("plot", None),
        code("plt.savefig('a.png')"),
        finalize(),
        Answer::Call(written.clone()),
        Answer::Call(written),
    ];
    let saved = ExpectedOutput {
        file_name: "a.png".into(),
        description: "d".into(),
        output_type: OutputType::Figure,
    };
    let mut host =
        Fake::new(answers, vec![ExecutionResult { outputs: vec![saved], ..printed("1") }]);
    analyse(&mut host, &MODEL, request("plot")).await.unwrap();
    let report = &host.reports[0].0;
    let images = report.sections.iter().filter(|one| one.kind == SectionKind::Image);
    assert_eq!(images.map(|one| one.content.as_str()).collect::<Vec<_>>(), ["a.png"]);
}

#[tokio::test]
async fn rows_of_the_table_never_reach_the_model() {
    let answers = vec![finalize(), report_of(WHOLE)];
    let mut host = Fake::new(answers, Vec::new());
    analyse(&mut host, &MODEL, request("x")).await.unwrap();
    let asked = host.asked.lock().unwrap().join("\n");
    assert!(asked.contains("dtypes") && asked.contains("earlier question"), "{asked}");
}

#[tokio::test]
async fn scripted_lines_are_actions_and_need_no_model() {
    let question = "use python_interpreter {\"code\": \"print(1)\"}\nuse python_interpreter {\"code\": \"print(2)\"}";
    let mut host = Fake::new(Vec::new(), vec![printed("1"), printed("2")]);
    analyse(&mut host, &Mind::Rules, request(question)).await.unwrap();
    assert_eq!(host.decisions(), [NextAction::Act, NextAction::Act, NextAction::Finalize]);
    assert!(host.reports[0].0.rule_based && host.results.is_empty());
}
