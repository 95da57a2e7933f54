//! The vectors of the schema: what a model may write, and what is refused.

use super::*;
use serde_json::json;

#[track_caller]
fn reason(written: &Value) -> Result<ReasonOutput, SchemaError> {
    ReasonOutput::read(&written.to_string(), Locale::En)
}

#[test]
fn an_unknown_action_is_refused() {
    let refused = reason(&json!({"next_action": "guess", "rationale": "r"})).unwrap_err();
    assert!(refused.to_string().contains("guess"), "{refused}");
    assert!(reason(&json!({"next_action": "finalize"})).is_err(), "without a rationale");
}

#[test]
fn an_act_needs_an_instruction() {
    for instruction in [Value::Null, json!(" ")] {
        let act = json!({"next_action": "act", "instruction": instruction, "rationale": "r"});
        assert_eq!(reason(&act), Err(SchemaError::NoInstruction));
    }
    let act = json!({"next_action": "act", "instruction": "count", "rationale": "r"});
    assert_eq!(reason(&act).unwrap().instruction.as_deref(), Some("count"));
}

#[test]
fn an_ask_without_a_question_gets_the_usual_one() {
    for question in [Value::Null, json!("")] {
        let ask = json!({"next_action": "ask", "question": question, "rationale": "r"});
        let asked = reason(&ask).unwrap().question.unwrap();
        assert_eq!(asked, Locale::En.say("analyst", "which_analysis", &[]));
        assert!(asked.contains('?'), "{asked}");
    }
    let ask = json!({"next_action": "ask", "question": "Which?", "rationale": "r"});
    assert_eq!(reason(&ask).unwrap().question.as_deref(), Some("Which?"));
}

#[test]
fn code_names_its_files_without_directories() {
    let read = |name: &str| {
        let file = json!({"file_name": name, "description": "d", "output_type": "figure"});
        CodeGenOutput::read(&json!({"code": "1", "expected_outputs": [file]}).to_string())
    };
    for name in ["../a.png", "/etc/a.png", "a/b.png", "a\\b.png", "", "..", ".hidden", "a\nb"] {
        assert_eq!(read(name), Err(SchemaError::NotAName(name.to_owned())));
    }
    assert!(read("\u{58f2}\u{4e0a}.png").is_ok());
    let empty = CodeGenOutput::read(r#"{"code": " ", "expected_outputs": []}"#);
    assert_eq!(empty, Err(SchemaError::NoCode));
    let other = json!({"file_name": "a", "description": "", "output_type": "video"});
    let other = json!({"code": "1", "expected_outputs": [other]}).to_string();
    assert!(CodeGenOutput::read(&other).is_err());
}

fn report(sections: Value) -> Result<(ReportOutput, Vec<RefusedImage>), SchemaError> {
    let outputs = [("chart.png", OutputType::Figure), ("rows.csv", OutputType::Table)];
    let outputs = outputs.map(|(name, output_type)| ExpectedOutput {
        file_name: name.to_owned(),
        description: String::new(),
        output_type,
    });
    ReportOutput::read(&json!({"title": "t", "sections": sections}).to_string(), &outputs)
}

#[test]
fn an_unknown_section_refuses_the_report() {
    assert!(report(json!([{"section_type": "video", "content": "x"}])).is_err());
    assert_eq!(report(json!([])), Err(SchemaError::NoSections));
}

#[test]
fn only_figures_that_were_saved_are_shown() {
    for name in ["other.png", "/tmp/chart.png", "./chart.png", "../chart.png", "rows.csv"] {
        let sections = json!([
            {"section_type": "image", "content": name},
            {"section_type": "text", "content": "the rest"},
        ]);
        let (report, refused) = report(sections).unwrap();
        assert_eq!(refused, [RefusedImage(name.to_owned())]);
        assert_eq!(report.sections.len(), 1, "{name}");
    }
    let (kept, refused) =
        report(json!([{"section_type": "image", "content": "chart.png"}])).unwrap();
    assert!(refused.is_empty());
    assert_eq!(kept.sections[0].section_type, SectionType::Image);
}

#[test]
fn a_table_that_is_not_json_becomes_a_text() {
    for (content, expected) in [
        ("| a | b |", SectionType::Text),
        ("[1, 2]", SectionType::Text),
        ("\"text\"", SectionType::Text),
        ("{\"a\": 1}", SectionType::Text),
        ("[{\"a\": 1}]", SectionType::Table),
        ("{\"a\": [1]}", SectionType::Table),
    ] {
        let (report, refused) =
            report(json!([{"section_type": "table", "content": content}])).unwrap();
        assert!(refused.is_empty());
        assert_eq!(report.sections[0].section_type, expected, "{content}");
        assert_eq!(report.sections[0].content, content);
    }
}

#[test]
fn types_of_columns_keep_their_order() {
    let written = r#"{"shape":[7,2],"columns":["z","a"],"dtypes":{"z":"int64","a":"object"},"head":[{"z":1,"a":null}]}"#;
    let info: DataFrameInfo = serde_json::from_str(written).unwrap();
    assert_eq!(info.dtypes.0[0], ("z".to_owned(), "int64".to_owned()));
    assert_eq!((info.dtype("a"), info.dtype("b")), (Some("object"), None));
    assert_eq!(serde_json::to_string(&info.dtypes).unwrap(), r#"{"z":"int64","a":"object"}"#);
    assert_eq!(info.head[0]["a"], Value::Null);
}

/// A model that keeps to a schema writes what is understood here, and the other way round.
#[test]
fn the_schemas_say_what_is_read() {
    let validator =
        |schema: &str| jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let written = ReasonOutput {
        next_action: NextAction::Ask,
        instruction: None,
        question: Some("q".into()),
        assumption: None,
        rationale: "r".into(),
    };
    let reason = validator(REASON_SCHEMA);
    assert!(reason.is_valid(&serde_json::to_value(written).unwrap()));
    assert!(!reason.is_valid(&json!({"next_action": "guess", "rationale": "r"})));
    let file = |kind: &str| json!({"file_name": "a", "description": "", "output_type": kind});
    let code = validator(CODE_SCHEMA);
    assert!(code.is_valid(&json!({"code": "1", "expected_outputs": [file("table")]})));
    assert!(!code.is_valid(&json!({"code": "1", "expected_outputs": [file("video")]})));
    let section = |kind: &str| {
        let section = json!({"section_type": kind, "content": "", "description": null});
        json!({"title": "t", "sections": [section], "suggestions": null})
    };
    let report = validator(REPORT_SCHEMA);
    assert!(report.is_valid(&section("table")));
    assert!(!report.is_valid(&section("video")));
}
