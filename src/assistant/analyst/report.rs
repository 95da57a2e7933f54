//! Completes a report, and writes it as Markdown. Conclusion, evidence and every assumption are always in it, whoever
//! wrote it.

use super::graph::Request;
use super::schema::{ExecutionResult, ReportOutput, ReportSection, SectionType};
use crate::locale::Locale;
use crate::message::{Report, Section, SectionKind};
use serde_json::{Map, Value};

/// Rows of a table that are shown in Markdown; all of them are in the table itself.
const MOST_ROWS: usize = 200;
/// Characters of an output that stand as evidence, if the report has none of its own.
const LONGEST_EVIDENCE: usize = 2_000;

/// Why a report cannot stay as it is.
pub(super) fn missing(report: &ReportOutput) -> Option<String> {
    let headings = |name: &str| [Locale::Ja, Locale::En].map(|it| it.say("analysis", name, &[]));
    let has = |name: &str| {
        let headings = headings(name).map(|heading| heading.to_lowercase());
        let mut texts = report.sections.iter().filter(|one| one.section_type == SectionType::Text);
        texts.any(|one| headings.iter().any(|heading| one.content.to_lowercase().contains(heading)))
    };
    let lacking = ["conclusion", "evidence"].into_iter().find(|name| !has(name))?;
    let [ja, en] = headings(lacking);
    Some(format!("a text section with the heading \"## {ja}\" or \"## {en}\" is missing"))
}

/// The report with what may not be missing in it.
pub(super) fn completed(
    written: ReportOutput,
    request: &Request,
    intermediate: bool,
    rule_based: bool,
) -> Report {
    let locale = request.locale;
    let say = |name: &str| locale.say("analysis", name, &[]);
    let lacks = missing(&written).is_some();
    let ReportOutput { title, sections, suggestions } = written;
    let mut sections: Vec<_> = sections.into_iter().map(section).collect();
    if lacks {
        sections = with_headings(sections, request);
    }
    if intermediate {
        sections.insert(0, text(say("intermediate")));
    }
    if !request.remarks.is_empty() {
        sections.push(listed(&say("remarks"), &request.remarks));
    }
    let is_told = |assumption: &&String| {
        sections.iter().any(|one| {
            let said = |text: &str| one.content.contains(text);
            one.kind == SectionKind::Text && (said(assumption) || said(&literal(assumption)))
        })
    };
    if !request.assumptions.iter().all(|one| is_told(&one)) {
        sections.push(listed(&say("assumptions"), &request.assumptions));
    }
    Report {
        run: request.run,
        title,
        sections,
        suggestions: suggestions.unwrap_or_default(),
        assumptions: request.assumptions.clone(),
        intermediate,
        rule_based,
    }
}

/// For a report whose parts have no headings: its first text is the conclusion, and what the code printed the evidence.
fn with_headings(mut sections: Vec<Section>, request: &Request) -> Vec<Section> {
    let heading = |name| format!("## {}\n\n", request.locale.say("analysis", name, &[]));
    let none = request.locale.say("analysis", "no_evidence", &[]);
    let printed = |result: &ExecutionResult| {
        result.stdout.as_deref().filter(|out| result.success && !out.trim().is_empty()).map(fenced)
    };
    let (earlier, own) = request.results.split_at(request.earlier.min(request.results.len()));
    // A request that has run nothing is answered by what is known already.
    let results = if own.is_empty() { earlier } else { own };
    let evidence = results.iter().rev().find_map(printed).unwrap_or(none);
    let evidence = text(heading("evidence") + &evidence);
    match sections.iter_mut().find(|one| one.kind == SectionKind::Text) {
        Some(first) => first.content.insert_str(0, &heading("conclusion")),
        None => {
            let none = request.locale.say("analysis", "no_conclusion", &[]);
            sections.insert(0, text(heading("conclusion") + &none));
        }
    }
    sections.insert(1, evidence);
    sections
}

/// The whole report as one Markdown text. Figures are linked by their names, which are beside it.
pub fn markdown(report: &Report, locale: Locale) -> String {
    let mut parts = vec![format!("# {}", literal(&one_line(&report.title)))];
    if report.rule_based {
        parts.push(format!("> {}", locale.say("analysis", "rule_based", &[])));
    }
    parts.extend(report.sections.iter().map(section_markdown));
    if !report.suggestions.is_empty() {
        let heading = locale.say("analysis", "suggestions", &[]);
        parts.push(listed(&heading, &report.suggestions).content);
    }
    parts.join("\n\n") + "\n"
}

fn section_markdown(section: &Section) -> String {
    let caption = section.description.as_deref().map(one_line).unwrap_or_default();
    let caption = literal(&caption);
    match section.kind {
        SectionKind::Text => section.content.trim().to_owned(),
        SectionKind::Image => format!("![{caption}](<{}>)", section.content),
        SectionKind::Table => {
            let table =
                table_markdown(&section.content).unwrap_or_else(|| fenced(&section.content));
            if caption.is_empty() { table } else { format!("**{caption}**\n\n{table}") }
        }
    }
}

/// A JSON list of records as a table. `None`: it is something else.
fn table_markdown(content: &str) -> Option<String> {
    let rows: Vec<Map<String, Value>> = serde_json::from_str(content).ok()?;
    let columns = columns(&rows);
    if columns.is_empty() {
        return None;
    }
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let mut lines = vec![
        line(columns.iter().map(|name| cell(name)).collect()),
        line(columns.iter().map(|_| "---".to_owned()).collect()),
    ];
    for row in rows.iter().take(MOST_ROWS) {
        let value = |name: &&String| row.get(*name).map_or_else(String::new, shown);
        lines.push(line(columns.iter().map(value).collect()));
    }
    if rows.len() > MOST_ROWS {
        lines.push(line(vec![format!("+{}", rows.len() - MOST_ROWS)]));
    }
    Some(lines.join("\n"))
}

/// The columns of all rows, in the order in which they first appear.
pub(super) fn columns(rows: &[Map<String, Value>]) -> Vec<&String> {
    let mut columns: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(Map::keys) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    columns
}

/// A value as people read it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn shown(value: &Value) -> String {
    cell(&plain(value))
}

fn cell(text: &str) -> String {
    literal(&one_line(text))
}

/// A text that means nothing but itself in Markdown.
pub(super) fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            _ if one.is_control() => literal.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' => {
                literal.extend(['\\', one]);
            }
            _ => literal.push(one),
        }
    }
    literal
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Code fences that no text can close.
fn fenced(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST_EVIDENCE).collect();
    let fence = "`".repeat(cut.split(|one| one != '`').map(str::len).max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{}\n{fence}", cut.trim_end())
}

fn section(section: ReportSection) -> Section {
    let kind = match section.section_type {
        SectionType::Text => SectionKind::Text,
        SectionType::Image => SectionKind::Image,
        SectionType::Table => SectionKind::Table,
    };
    Section { kind, content: section.content, description: section.description }
}

fn text(content: String) -> Section {
    Section { kind: SectionKind::Text, content, description: None }
}

fn listed(heading: &str, items: &[String]) -> Section {
    let items: Vec<_> =
        items.iter().map(|item| format!("- {}", literal(&one_line(item)))).collect();
    text(format!("## {heading}\n\n{}", items.join("\n")))
}
