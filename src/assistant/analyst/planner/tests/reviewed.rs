//! Questions that were answered with wrong numbers once: what they have to be understood as, or what is asked back.

use super::*;

#[derive(Deserialize)]
struct Reviewed {
    tables: BTreeMap<String, DataFrameInfo>,
    questions: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    table: String,
    /// What the user said before.
    said: Vec<String>,
    question: String,
    plan: String,
    /// What is asked back, and what a yes to it is understood as.
    hypothesis: Option<String>,
    then: Option<String>,
}

fn reviewed() -> Reviewed {
    let text = include_str!("../../../../../tests/fixtures/analyst/reviewed.json");
    serde_json::from_str(text).unwrap()
}

fn history(said: &[String]) -> Vec<Said> {
    let both = |text: &String| {
        let said = |by, text: &str| Said { by, text: text.to_owned() };
        [said(By::User, text), said(By::Analyst, "Here it is.")]
    };
    said.iter().flat_map(both).collect()
}

#[test]
fn what_a_reviewer_asked_is_understood_or_asked_back() {
    let reviewed = reviewed();
    assert!(reviewed.questions.len() > 150);
    let mut wrong = Vec::new();
    for Row { table, said, question, plan: expected, hypothesis, then } in &reviewed.questions {
        let (info, history) = (&reviewed.tables[table], history(said));
        let found = match plan(question, &history, info, Locale::En) {
            Plan::Act { .. } => read(question, &history, info, true),
            Plan::Ask { hypothesis: asked, question: text, .. } => {
                assert!(text.contains(&asked), "{text}");
                assert_eq!(Some(&asked), hypothesis.as_ref(), "{question}");
                assert_eq!(Some(read(&asked, &[], info, true)), *then, "{question}");
                let known = plan(&asked, &[], info, Locale::En);
                assert!(matches!(known, Plan::Act { .. }), "{asked} is not understood itself");
                "ask".to_owned()
            }
        };
        if found != *expected {
            wrong.push(format!("{question}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_yes_to_a_question_back_is_its_hypothesis() {
    let reviewed = reviewed();
    for Row { table, said, question, then, .. } in &reviewed.questions {
        let Some(then) = then else { continue };
        let mut said = said.clone();
        said.push(question.clone());
        let found = read("yes", &history(&said), &reviewed.tables[table], true);
        assert_eq!(found, *then, "{question}");
    }
}

#[test]
fn dates_are_read_as_the_table_writes_them() {
    let tables = reviewed().tables;
    let code = |table: &str, question: &str| match planned(question, &[], &tables[table]) {
        Plan::Act { code, .. } => code,
        Plan::Ask { question, .. } => panic!("{question}"),
    };
    for (table, question, format) in [
        ("orders", "monthly total sales", "{\"date\": \"%d/%m/%Y %H:%M\"}"),
        ("american", "monthly total fare", "{\"day\": \"%m/%d/%Y\"}"),
        ("twins", "monthly total fare (day/month/year)", "{\"day\": \"%d/%m/%Y\"}"),
        ("sales", "overview", "{}"),
    ] {
        let code = code(table, question);
        assert!(code.contains(&format!("date_formats = {format}\n")), "{code}");
    }
    // All rows are read: of a part of the columns a part of the rows would be another one.
    assert!(!code("orders", "total sales by region").contains("dfs"));
}
