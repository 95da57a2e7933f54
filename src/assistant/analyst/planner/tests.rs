//! Questions over the tables of `tests/fixtures/analyst`: what they are understood as, what is asked back, and what a
//! report says of what was printed. The values themselves are compared where the code runs.

use super::code::operator;
use super::context::resolve;
use super::request::{Part, Request, Value as Operand};
use super::*;
use crate::assistant::analyst::schema::{OutputType, ReportSection, SectionType};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

mod reviewed;

#[derive(Deserialize)]
struct Fixture {
    tables: BTreeMap<String, Table>,
    questions: Vec<Question>,
    asks: Vec<Asks>,
    conditions: Value,
}

#[derive(Deserialize)]
struct Table {
    info: DataFrameInfo,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    table: String,
    question: String,
    plan: String,
    figure: Option<String>,
}

#[derive(Deserialize)]
struct Asks {
    table: String,
    question: String,
    hypothesis: String,
}

fn fixture() -> Fixture {
    let text = include_str!("../../../../tests/fixtures/analyst/questions.json");
    serde_json::from_str(text).unwrap()
}

fn planned(question: &str, history: &[Said], info: &DataFrameInfo) -> Plan {
    plan(question, history, info, Locale::En)
}

/// A request on one line.
fn sketch(request: &Request, columns: &[Column], shows_order: bool) -> String {
    let name = |at: &usize| columns[*at].name.clone();
    let names = |columns: &[usize]| columns.iter().map(name).collect::<Vec<_>>().join(", ");
    let mut parts = vec![request.analysis.name().to_owned()];
    for (word, columns) in [("columns", &request.columns), ("keys", &request.keys)] {
        parts.extend((!columns.is_empty()).then(|| format!("{word} {}", names(columns))));
    }
    parts.extend(request.date.map(|(at, grain)| format!("date {} {}", name(&at), grain.code())));
    for (column, how) in &request.measures {
        let column = column.as_ref().map_or_else(String::new, |at| format!(" {}", name(at)));
        parts.push(format!("{}{column}", how.name()));
    }
    let condition = |filter: &request::Filter| {
        let value = match &filter.value {
            Operand::None => String::new(),
            Operand::Number(number) => format!(" {number}"),
            Operand::Text(text) | Operand::Date(text) => format!(" {text}"),
            Operand::Numbers(numbers) => format!(" {numbers:?}"),
            Operand::Texts(texts) => format!(" {}", texts.join(", ")),
            Operand::Months(months) => format!(" {months:?}"),
            Operand::Periods(periods) => {
                let starts = periods.iter().map(|(start, _)| start.as_str());
                format!(" {}", starts.collect::<Vec<_>>().join(", "))
            }
        };
        format!("{} {}{value}", name(&filter.column), operator(filter))
    };
    parts.extend(request.filters.iter().map(|filter| format!("where {}", condition(filter))));
    parts.extend(request.either.iter().map(|any| {
        let any: Vec<_> = any.iter().map(condition).collect();
        format!("where {}", any.join(" or "))
    }));
    parts.extend(
        request
            .order
            .map(|order| match order {
                request::Direction::Ascending => "ascending".to_owned(),
                request::Direction::Descending => "descending".to_owned(),
            })
            .filter(|_| shows_order),
    );
    parts.extend((!request.focus.is_empty()).then(|| format!("of {}", request.focus.join(", "))));
    parts.extend(
        request
            .prepare
            .as_ref()
            .map(|prepare| format!("prepare {} {:?}", names(&prepare.columns), prepare.how)),
    );
    parts.extend(request.limit.map(|limit| format!("limit {limit}")));
    parts.extend(request.part.map(|part| match part {
        Part::Share => "share".to_owned(),
        Part::Pareto => "pareto".to_owned(),
    }));
    parts.join("; ")
}

fn understood(question: &str, history: &[Said], info: &DataFrameInfo) -> String {
    read(question, history, info, false)
}

fn read(question: &str, history: &[Said], info: &DataFrameInfo, shows_order: bool) -> String {
    let columns = columns_of(question, history, info);
    let resolved = resolve(question, history, &columns, Locale::En);
    match understand(&resolved, &columns) {
        Ok(request) => sketch(&request, &columns, shows_order),
        Err(doubt) => format!("{doubt:?}"),
    }
}

#[test]
fn questions_are_understood() {
    let fixture = fixture();
    assert_eq!(fixture.questions.len(), 62);
    let mut wrong = Vec::new();
    for Question { id, table, question, plan, figure } in &fixture.questions {
        let info = &fixture.tables[table].info;
        let found = understood(question, &[], info);
        if found != *plan {
            wrong.push(format!("{id} {question}: {found}"));
        }
        let Plan::Act { expected_outputs, code, .. } = planned(question, &[], info) else {
            panic!("{id} is not planned")
        };
        let figures: Vec<_> =
            expected_outputs.iter().filter(|file| file.output_type == OutputType::Figure).collect();
        assert_eq!(figures.len(), usize::from(figure.is_some()), "{id}");
        for file in figures {
            assert!(figure.as_ref().is_some_and(|kind| file.file_name.starts_with(kind)), "{id}");
            assert!(code.contains("plt.savefig"), "{id}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_not_understood_is_asked_with_a_hypothesis_that_is() {
    let fixture = fixture();
    assert_eq!(fixture.asks.len(), 10);
    for Asks { table, question, hypothesis: expected } in &fixture.asks {
        let info = &fixture.tables[table].info;
        let Plan::Ask { question: asked, hypothesis, rationale } = planned(question, &[], info)
        else {
            panic!("{question} is planned")
        };
        assert_eq!(hypothesis, *expected, "{question}");
        assert!(asked.contains(&hypothesis) && !rationale.is_empty(), "{asked}");
        assert!(asked.contains('?') || asked.contains('\u{ff1f}'), "{asked}");
        let known = planned(&hypothesis, &[], info);
        assert!(matches!(known, Plan::Act { .. }), "{hypothesis} is not understood itself");
        // Also in the other language of the session.
        for locale in [Locale::Ja, Locale::En] {
            let Plan::Ask { hypothesis, .. } = plan(question, &[], info, locale) else {
                panic!("{question} is planned")
            };
            let known = plan(&hypothesis, &[], info, locale);
            assert!(matches!(known, Plan::Act { .. }), "{hypothesis} is not understood itself");
        }
    }
}

fn said(texts: &[&str]) -> Vec<Said> {
    let by = |at: usize| if at.is_multiple_of(2) { By::User } else { By::Analyst };
    let said = |(at, text): (usize, &&str)| Said { by: by(at), text: (*text).to_owned() };
    texts.iter().enumerate().map(said).collect()
}

#[test]
fn an_answer_is_read_with_what_was_asked() {
    let fixture = fixture();
    let info = &fixture.tables["sensors"].info;
    let misspelt = said(&["average temprature by device", "Did you mean ...?"]);
    let mean = "group; keys device; mean temperature";
    for yes in [
        "yes",
        "Yes, please.",
        "OK",
        "\u{306f}\u{3044}",
        "\u{306f}\u{3044}\u{3001}\u{304a}\u{9858}\u{3044}\u{3057}\u{307e}\u{3059}",
    ] {
        assert_eq!(understood(yes, &misspelt, info), mean, "{yes}");
    }
    let humidity = "group; keys device; mean humidity";
    assert_eq!(understood("no, humidity", &misspelt, info), humidity);
    let unsaid = said(&["average by device", "Which columns?"]);
    assert_eq!(understood("humidity", &unsaid, info), humidity);
    // A yes to nothing is not understood, and neither is a yes after an answer.
    assert_eq!(understood("yes", &[], info), "Nothing");
    let answered = said(&["average temperature by device", "Here it is."]);
    assert_eq!(understood("yes", &answered, info), "Nothing");
    // A new question is not an answer.
    assert_eq!(understood("missing values", &misspelt, info), "missing");
    let long: Vec<Said> = (0..200).flat_map(|_| said(&["yes", "?"])).collect();
    assert_eq!(understood("yes", &long, info), "Nothing");
}

#[test]
fn an_analysis_is_changed_by_what_is_said_of_it() {
    let fixture = fixture();
    let info = &fixture.tables["sensors"].info;
    let before = said(&["average temperature by device where humidity > 50", "Here it is."]);
    let condition = "where humidity > 50";
    for (question, expected) in [
        ("the same by status", format!("group; keys status; mean temperature; {condition}")),
        (
            "show it monthly",
            format!("trend; keys device; date timestamp M; mean temperature; {condition}"),
        ),
        (
            "the same with maximum humidity",
            format!("group; keys device; max humidity; {condition}"),
        ),
    ] {
        assert_eq!(understood(question, &before, info), expected, "{question}");
    }
}

fn info(columns: &[(&str, &str, Value)]) -> DataFrameInfo {
    let head = columns.iter().map(|(name, _, value)| ((*name).to_owned(), value.clone()));
    let dtypes = columns.iter().map(|(name, dtype, _)| ((*name).to_owned(), (*dtype).to_owned()));
    DataFrameInfo {
        shape: (1, u64::try_from(columns.len()).unwrap()),
        columns: columns.iter().map(|(name, ..)| (*name).to_owned()).collect(),
        dtypes: crate::assistant::analyst::schema::Dtypes(dtypes.collect()),
        head: vec![head.collect()],
        ..DataFrameInfo::default()
    }
}

#[test]
fn widths_cases_and_longer_names_are_found() {
    let table = info(&[
        ("Sales", "int64", json!(1)),
        ("Sales Amount", "int64", json!(1)),
        ("sales", "int64", json!(1)),
        ("\u{ff7a}\u{ff70}\u{ff84}\u{ff9e}", "object", json!("a1")),
    ]);
    for (question, expected) in [
        ("sum of sales_amount", "group; sum Sales Amount"),
        (
            "sum of \u{ff33}\u{ff21}\u{ff2c}\u{ff25}\u{ff33}\u{3000}amount",
            "group; sum Sales Amount",
        ),
        ("sum of sales", "group; sum sales"),
        ("sum of Sales", "group; sum Sales"),
        ("sum of \"Sales\"", "group; sum Sales"),
        (
            "sum of sales by \u{30b3}\u{30fc}\u{30c9}",
            "group; keys \u{ff7a}\u{ff70}\u{ff84}\u{ff9e}; sum sales",
        ),
    ] {
        assert_eq!(understood(question, &[], &table), expected, "{question}");
    }
}

#[test]
fn conditions_are_never_passed_over() {
    let fixture = fixture();
    let table = &fixture.tables["sensors"].info;
    for (question, expected) in [
        (
            "sum of humidity where temperature between 18 and 20",
            "group; sum humidity; where temperature >= 18; where temperature <= 20",
        ),
        ("count where status in (ok, error)", "group; count; where status in ok, error"),
        ("count where status = top", "group; count; where status == top"),
        ("count where status is warning or error", "group; count; where status in warning, error"),
        ("count where device contains A", "group; count; where device contains A"),
        ("count where temperature is not null", "group; count; where temperature not_null"),
        (
            "average humidity since 2024-03-02",
            "group; mean humidity; where timestamp >= 2024-03-02",
        ),
        (
            "average humidity in 2024",
            "group; mean humidity; where timestamp >= 2024-01-01; where timestamp < 2025-01-01",
        ),
        ("count where temperature < -1.5k", "group; count; where temperature < -1500"),
    ] {
        assert_eq!(understood(question, &[], table), expected, "{question}");
    }
    for question in [
        "average humidity above",
        "count above 5 by device",
        "how many are over 5",
        "count where status > 5",
        "count where pressure > 5",
        "sum of humidity where temperature is high",
    ] {
        assert!(matches!(planned(question, &[], table), Plan::Ask { .. }), "{question}");
    }
}

#[test]
fn japanese_conditions_are_never_passed_over() {
    let fixture = fixture();
    let texts: Vec<Vec<String>> = serde_json::from_value(fixture.conditions.clone()).unwrap();
    assert!(texts.len() > 10);
    for row in &texts {
        let [table, question, expected] = row.as_slice() else { panic!("{row:?}") };
        let info = &fixture.tables[table].info;
        if expected == "ask" {
            assert!(matches!(planned(question, &[], info), Plan::Ask { .. }), "{question}");
        } else {
            assert_eq!(understood(question, &[], info), *expected, "{question}");
        }
    }
}

#[test]
fn a_table_without_columns_is_asked_for() {
    let asked = planned("overview", &[], &DataFrameInfo::default());
    assert!(matches!(asked, Plan::Ask { question, .. } if question.contains("upload")));
}

#[test]
fn the_answer_has_the_language_of_the_question() {
    let fixture = fixture();
    let table = &fixture.tables["sales"].info;
    let Plan::Act { instruction, .. } =
        plan("\u{5730}\u{57df}\u{5225}\u{306e}\u{4ef6}\u{6570}", &[], table, Locale::En)
    else {
        panic!()
    };
    assert!(!instruction.is_ascii());
    let Plan::Act { instruction, .. } = plan("overview", &[], table, Locale::En) else { panic!() };
    assert!(instruction.is_ascii());
}

/// The settings of a code, without its texts, which are told to `tell`.
fn bones(code: &str, tell: &mut impl FnMut(String)) -> String {
    let (settings, _) = code.split_once("\n# Helpers of every analysis").unwrap();
    let mut bones = String::new();
    let mut rest = settings;
    while let Some((before, text)) = rest.split_once('"') {
        bones.push_str(before);
        let mut is_escaped = false;
        let end = text.find(|one| {
            let ends = one == '"' && !is_escaped;
            is_escaped = one == '\\' && !is_escaped;
            ends
        });
        let end = end.unwrap();
        tell(literal::tests::read(&format!("\"{}\"", &text[..end])).unwrap());
        rest = &text[end + 1..];
    }
    bones + rest
}

proptest! {
    #[test]
    fn no_name_and_no_value_becomes_code(name in "\\PC{1,12}|[\"'\\\\\n\r{}$#=\u{2028}]{1,8}", value in any::<String>()) {
        let table = info(&[(&name, "object", json!("x")), ("n", "int64", json!(1))]);
        let columns = columns(&table);
        let speaker = Speaker { locale: Locale::En, columns: &columns };
        let mut request = Request::new(request::Analysis::Group);
        request.keys = vec![0];
        request.measures = vec![(Some(1), words::Aggregate::Sum)];
        let compare = words::Compare::Eq;
        request.filters = vec![request::Filter { column: 0, compare, value: Operand::Text(value.clone()) }];
        let code = code::write(&request, &columns, &speaker).code;
        let mut texts = Vec::new();
        let bones = bones(&code, &mut |text| texts.push(text));
        prop_assert!(texts.contains(&name) && texts.contains(&value));
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "_=[]{},.: \n-".contains(one);
        prop_assert!(bones.chars().all(is_plain), "{}", bones);
        prop_assert_eq!(bones.lines().count(), 20);
    }

    #[test]
    fn no_question_is_too_strange(question in any::<String>(), name in any::<String>()) {
        let table = info(&[(&name, "object", json!("x")), ("n", "int64", json!(1))]);
        let _ = planned(&question, &[], &table);
        let _ = planned(&format!("sum of n by \"{name}\" where {question}"), &said(&[&question, "?"]), &table);
    }
}

fn printed(stdout: &str, success: bool) -> ExecutionResult {
    ExecutionResult {
        success,
        stdout: Some(stdout.to_owned()),
        error: (!success).then(|| "Traceback\nKeyError: 'x'\n".to_owned()),
        outputs: vec![ExpectedOutput {
            file_name: "group-1.png".into(),
            description: "Chart".into(),
            output_type: OutputType::Figure,
        }],
        ..ExecutionResult::default()
    }
}

fn texts(report: &ReportOutput) -> String {
    let texts = report.sections.iter().filter(|one| one.section_type == SectionType::Text);
    texts.map(|section| section.content.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_report_says_what_was_printed() {
    let stdout = concat!(
        "@title {\"text\": \"Sales\"}\n",
        "@fact {\"name\": \"first\", \"label\": \"Tokyo\", \"value\": 1234567.5}\n",
        "@table {\"name\": \"groups\", \"label\": \"Sales\", \"columns\": [\"z\", \"a\"], \"rows\": [[1, null]], \"total\": 9}\n",
        "@note {\"name\": \"left_out\", \"count\": \"3\"}\n",
        "@fact {\"name\": \"cut off\", \"lab\n",
        "@fact not json\n@unknown {}\n",
    );
    let report = report(
        "q",
        &DataFrameInfo::default(),
        &[printed(stdout, true)],
        &["supposed".into()],
        Locale::En,
    );
    assert_eq!(report.title, "Sales");
    let said = texts(&report);
    for wanted in [
        "## Conclusion",
        "Tokyo: 1,234,567.5",
        "## Evidence",
        "3 rows",
        "- supposed",
        "without a language model",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(!said.contains("cut off"), "{said}");
    let of = |kind| report.sections.iter().find(|one| one.section_type == kind).unwrap();
    let table: &ReportSection = of(SectionType::Table);
    // The columns keep their order.
    assert_eq!(table.content, r#"[{"z": 1, "a": null}]"#);
    assert_eq!(table.description.as_deref(), Some("Sales (1 of 9 rows)"));
    assert_eq!(of(SectionType::Image).content, "group-1.png");
    assert!(report.suggestions.is_some_and(|all| !all.is_empty()));
}

#[test]
fn a_report_without_results_says_so() {
    for results in [vec![], vec![printed("", false)], vec![ExecutionResult::default()]] {
        let report = report("q", &DataFrameInfo::default(), &results, &[], Locale::En);
        let said = texts(&report);
        for wanted in ["## Conclusion", "## Evidence", "## Assumptions", "there is no conclusion"] {
            assert!(said.contains(wanted), "{said}");
        }
        let failed = results.iter().any(|result| result.error.is_some());
        assert_eq!(said.contains("KeyError: 'x'"), failed, "{said}");
    }
}

#[test]
fn names_from_the_table_mean_nothing_to_markdown() {
    let stdout = "@fact {\"name\": \"first\", \"label\": \"![x](http://y)\\n# z\", \"value\": \"<b>\\\\*\"}\n";
    let said =
        texts(&report("q", &DataFrameInfo::default(), &[printed(stdout, true)], &[], Locale::En));
    assert!(said.contains("!\\[x\\](http://y) \\# z: \\<b\\>\\\\\\*"), "{said}");
}
