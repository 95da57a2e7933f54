//! Makes a report of what the Python of the templates printed: its marked lines say facts, tables and notes as JSON.

use super::super::report::literal;
use super::super::schema::{ExecutionResult, OutputType, ReportOutput, ReportSection, SectionType};
use super::speak::Speaker;
use serde::Deserialize;
use serde_json::Value;

/// What one run of code printed.
#[derive(Debug, Default)]
struct Printed {
    title: Option<String>,
    facts: Vec<Fact>,
    tables: Vec<Table>,
    notes: Vec<serde_json::Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
struct Title {
    text: String,
}

#[derive(Debug, Deserialize)]
struct Fact {
    name: String,
    label: String,
    value: Value,
}

#[derive(Debug, Deserialize)]
struct Table {
    label: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    total: u64,
}

/// Facts that answer a question by themselves, most important first.
const CONCLUSIVE: [&str; 17] = [
    "answer",
    "highest",
    "lowest",
    "first",
    "next",
    "last",
    "difference",
    "together",
    "strongest",
    "pareto",
    "correlation",
    "mean",
    "min",
    "max",
    "rows",
    "missing",
    "duplicates",
];
const MOST_CONCLUSIONS: usize = 6;

pub(super) fn report(
    question: &str,
    results: &[ExecutionResult],
    assumptions: &[String],
    speaker: &Speaker<'_>,
) -> ReportOutput {
    let printed: Vec<Printed> = results.iter().map(printed).collect();
    let title = printed.iter().rev().find_map(|printed| printed.title.clone());
    let mut sections = vec![text(speaker, "conclusion", &conclusions(results, &printed, speaker))];
    sections.push(text(speaker, "evidence", &evidence(results, &printed, speaker)));
    for (result, printed) in results.iter().zip(&printed) {
        sections.extend(printed.tables.iter().map(|table| table_section(table, speaker)));
        let figures = result.outputs.iter().filter(|file| file.output_type == OutputType::Figure);
        sections.extend(figures.map(|file| ReportSection {
            section_type: SectionType::Image,
            content: file.file_name.clone(),
            description: Some(file.description.clone()),
        }));
    }
    let mut supposed: Vec<String> = assumptions.iter().map(|one| literal(one)).collect();
    if supposed.is_empty() {
        supposed.push(speaker.say("no_assumptions", &[]));
    }
    sections.push(text(speaker, "assumptions", &supposed));
    sections.push(text(speaker, "method", &[speaker.say("by_rules", &[])]));
    let title = title.unwrap_or_else(|| question.chars().take(80).collect());
    ReportOutput { title, sections, suggestions: Some(suggestions(results, speaker)) }
}

fn printed(result: &ExecutionResult) -> Printed {
    let mut printed = Printed::default();
    for line in result.stdout.as_deref().unwrap_or_default().lines() {
        // Lines that were cut off are no JSON, and are passed over.
        match line.split_once(' ') {
            Some(("@title", json)) => {
                printed.title = serde_json::from_str(json).ok().map(|title: Title| title.text);
            }
            Some(("@fact", json)) => printed.facts.extend(serde_json::from_str::<Fact>(json)),
            Some(("@table", json)) => printed.tables.extend(serde_json::from_str::<Table>(json)),
            Some(("@note", json)) => {
                printed.notes.extend(serde_json::from_str::<serde_json::Map<_, _>>(json))
            }
            Some(_) | None => {}
        }
    }
    printed
}

fn text(speaker: &Speaker<'_>, heading: &str, lines: &[String]) -> ReportSection {
    let lines: Vec<_> = lines.iter().map(|line| format!("- {line}")).collect();
    ReportSection {
        section_type: SectionType::Text,
        content: format!("## {}\n\n{}", speaker.say(heading, &[]), lines.join("\n")),
        description: None,
    }
}

/// Facts of the runs that went well, or the reason why there are none.
fn conclusions(
    results: &[ExecutionResult],
    printed: &[Printed],
    speaker: &Speaker<'_>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (_, printed) in results.iter().zip(printed).filter(|(result, _)| result.success) {
        let nothing =
            printed.facts.iter().any(|fact| fact.name == "rows_selected" && fact.value == 0);
        if nothing {
            lines.push(speaker.say("nothing_selected", &[]));
            continue;
        }
        let ranked = CONCLUSIVE
            .iter()
            .flat_map(|name| printed.facts.iter().filter(move |fact| fact.name == *name));
        let mut chosen: Vec<&Fact> = ranked.take(MOST_CONCLUSIONS).collect();
        if chosen.is_empty() {
            let said = printed.facts.iter().filter(|fact| fact.name != "rows_selected");
            chosen = said.take(MOST_CONCLUSIONS).collect();
        }
        // The number or the name that was asked for comes first, and what it is of behind it.
        let of = printed.title.iter().map(|title| literal(title));
        lines.extend(chosen.into_iter().map(|fact| fact_line(fact, speaker)));
        lines.extend(of);
    }
    if lines.is_empty() {
        lines.push(speaker.say("no_conclusion", &[]));
    }
    lines
}

fn evidence(
    results: &[ExecutionResult],
    printed: &[Printed],
    speaker: &Speaker<'_>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (result, printed) in results.iter().zip(printed) {
        lines.extend(printed.facts.iter().map(|fact| fact_line(fact, speaker)));
        lines.extend(printed.notes.iter().map(|note| note_line(note, speaker)));
        if !result.success {
            let error = result.error.as_deref().unwrap_or_default();
            // The last line of a traceback says what went wrong.
            let error =
                error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            lines.push(speaker.say("failed", &[("error", &literal(error))]));
        }
    }
    if lines.is_empty() {
        lines.push(speaker.say("no_evidence", &[]));
    }
    lines
}

fn fact_line(fact: &Fact, speaker: &Speaker<'_>) -> String {
    let value = match &fact.value {
        Value::Number(number) => shown(number),
        Value::String(text) => literal(text),
        Value::Null => speaker.label("missing"),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => literal(&fact.value.to_string()),
    };
    speaker.say("fact", &[("label", &literal(&fact.label)), ("value", &value)])
}

fn note_line(note: &serde_json::Map<String, Value>, speaker: &Speaker<'_>) -> String {
    let name = note.get("name").and_then(Value::as_str).unwrap_or_default();
    let texts: Vec<(&str, String)> = note
        .iter()
        .filter_map(|(key, value)| Some((key.as_str(), literal(value.as_str()?))))
        .collect();
    let values: Vec<(&str, &str)> = texts.iter().map(|(key, text)| (*key, text.as_str())).collect();
    let known = NOTES.into_iter().find(|(known, _)| *known == name);
    known.map_or_else(String::new, |(_, text)| speaker.say(text, &values))
}

/// What templates note, and how it is said.
const NOTES: [(&str, &str); 15] = [
    ("not_numbers", "note_not_numbers"),
    ("not_dates", "note_not_dates"),
    ("nothing_selected", "note_nothing_selected"),
    ("widest_columns", "note_widest_columns"),
    ("negative_share", "note_negative_share"),
    ("drawn", "note_drawn"),
    ("no_date", "note_no_date"),
    ("left_out", "note_left_out"),
    ("kept_missing", "note_kept_missing"),
    ("filled", "note_filled"),
    ("dropped", "note_dropped"),
    ("ties", "note_ties"),
    ("saved", "note_saved"),
    ("no_pie", "note_no_pie"),
    ("pie_rest", "note_pie_rest"),
];

/// With commas between thousands, and at most four decimals.
fn shown(number: &serde_json::Number) -> String {
    let Some(value) = number.as_f64() else { return number.to_string() };
    let rounded = if value.abs() >= 0.001 || value == 0.0 {
        format!("{value:.4}")
    } else {
        number.to_string()
    };
    let text = match rounded.split_once('.') {
        Some(_) => rounded.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => rounded,
    };
    let (sign, bare) = text.strip_prefix('-').map_or(("", text.as_str()), |bare| ("-", bare));
    let (whole, decimals) =
        bare.split_once('.').map_or((bare, None), |(whole, rest)| (whole, Some(rest)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let decimals = decimals.map_or_else(String::new, |decimals| format!(".{decimals}"));
    format!("{sign}{grouped}{decimals}")
}

/// A table as records of which a data frame can be made, with the columns in their order.
fn table_section(table: &Table, speaker: &Speaker<'_>) -> ReportSection {
    let record = |row: &Vec<Value>| {
        let cell =
            |(name, value): (&String, &Value)| format!("{}: {value}", Value::from(name.as_str()));
        let cells: Vec<_> = table.columns.iter().zip(row).map(cell).collect();
        format!("{{{}}}", cells.join(", "))
    };
    let rows: Vec<_> = table.rows.iter().map(record).collect();
    let is_cut = u64::try_from(table.rows.len()).is_ok_and(|shown| shown < table.total);
    let description = if is_cut {
        let (rows, total) = (table.rows.len().to_string(), table.total.to_string());
        speaker.say("table_cut", &[("label", &table.label), ("rows", &rows), ("total", &total)])
    } else {
        table.label.clone()
    };
    ReportSection {
        section_type: SectionType::Table,
        content: format!("[{}]", rows.join(", ")),
        description: Some(description),
    }
}

/// Other analyses of the same columns that are possible here.
fn suggestions(results: &[ExecutionResult], speaker: &Speaker<'_>) -> Vec<String> {
    use super::column::Kind;
    let find = |kind| speaker.columns.iter().find(|column| column.kind == kind && !column.is_id());
    let (number, date, group) = (find(Kind::Number), find(Kind::Date), find(Kind::Text));
    let mut suggestions = Vec::new();
    if let (Some(_), Some(number)) = (date, number) {
        suggestions.push(speaker.say("suggest_trend", &[("column", &number.name)]));
    }
    if let (Some(group), Some(number)) = (group, number) {
        let values = [("key", group.name.as_str()), ("column", &number.name)];
        suggestions.push(speaker.say("suggest_share", &values));
    }
    if let Some(number) = number {
        suggestions.push(speaker.say("suggest_hist", &[("column", &number.name)]));
    }
    suggestions.push(speaker.say("suggest_missing", &[]));
    let done = |text: &String| results.iter().any(|result| result.code.contains(text.as_str()));
    suggestions.retain(|text| !done(text));
    suggestions.truncate(3);
    suggestions
}
