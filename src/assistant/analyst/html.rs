//! A report as one self-contained HTML page: figures are in it, and nothing is loaded or run.

use super::report::{columns, plain};
use crate::locale::Locale;
use crate::message::{Report, Section, SectionKind};
use base64_simd::STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use serde_json::{Map, Value};

const STYLE: &str = include_str!("../../../config/analyst/report.css");

/// A figure of the report, by its file name.
#[derive(Debug)]
pub struct Figure {
    pub name: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
}

/// Figures that are not given are left out.
pub fn page(report: &Report, figures: &[Figure], locale: Locale) -> String {
    let mut body = format!("<h1>{}</h1>\n", escaped(&report.title));
    if report.rule_based {
        let note = locale.say("analysis", "rule_based", &[]);
        body.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(&note)));
    }
    report.sections.iter().for_each(|section| push_section(&mut body, section, figures));
    if !report.suggestions.is_empty() {
        let heading = escaped(&locale.say("analysis", "suggestions", &[]));
        let items: String =
            report.suggestions.iter().map(|one| format!("<li>{}</li>", escaped(one))).collect();
        body.push_str(&format!("<h2>{heading}</h2>\n<ul>{items}</ul>\n"));
    }
    let (language, title) = (locale.tag(), escaped(&report.title));
    format!(
        "<!DOCTYPE html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn push_section(body: &mut String, section: &Section, figures: &[Figure]) {
    let caption = section.description.as_deref().unwrap_or_default();
    match section.kind {
        SectionKind::Text => body.push_str(&rendered(&section.content)),
        SectionKind::Image => {
            if let Some(figure) = figures.iter().find(|one| one.name == section.content) {
                body.push_str(&image(figure, caption));
            }
        }
        SectionKind::Table => match table(&section.content, caption) {
            Some(table) => body.push_str(&table),
            None => body.push_str(&format!("<pre>{}</pre>\n", escaped(&section.content))),
        },
    }
}

/// Markdown whose own HTML is shown as text, and whose links lead only to the web.
fn rendered(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(markdown, options).map(harmless);
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

#[expect(clippy::wildcard_enum_match_arm, reason = "everything else is text and marks around it")]
fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if is_web(&dest_url) { dest_url } else { CowStr::Borrowed("") };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        // Figures have sections of their own; everything else would be loaded from elsewhere.
        Event::Start(Tag::Image { .. }) => Event::Start(Tag::Emphasis),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Emphasis),
        other => other,
    }
}

fn is_web(address: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme))
}

fn image(figure: &Figure, caption: &str) -> String {
    let caption = escaped(caption);
    let (kind, data) = (escaped(&figure.media_type), STANDARD.encode_to_string(&figure.bytes));
    format!(
        "<figure><img src=\"data:{kind};base64,{data}\" alt=\"{caption}\"><figcaption>{caption}</figcaption></figure>\n"
    )
}

/// `None`: the content is no list of records.
fn table(content: &str, caption: &str) -> Option<String> {
    let rows: Vec<Map<String, Value>> = serde_json::from_str(content).ok()?;
    let columns = columns(&rows);
    if columns.is_empty() {
        return None;
    }
    let head: String = columns.iter().map(|name| format!("<th>{}</th>", escaped(name))).collect();
    let row = |row: &Map<String, Value>| {
        let cell = |name: &&String| {
            let value = row.get(*name).unwrap_or(&Value::Null);
            let class = if value.is_number() { " class=\"number\"" } else { "" };
            format!("<td{class}>{}</td>", escaped(&plain(value)))
        };
        format!("<tr>{}</tr>\n", columns.iter().map(cell).collect::<String>())
    };
    let rows: String = rows.iter().map(row).collect();
    let caption = escaped(caption);
    Some(format!(
        "<div class=\"table\"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
    ))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_writes_runs_nothing_and_loads_nothing() {
        let hostile = "<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n\
                       [a](javascript:alert(1)) [b](https://example.org) ![c](https://example.org/c.png)";
        let out = rendered(hostile);
        assert!(!out.contains("<script") && !out.contains("<img"), "{out}");
        assert!(
            !out.contains("javascript:") && out.contains("href=\"https://example.org\""),
            "{out}"
        );
        let content = r#"[{"<b>": "<i>", "n": 3}, {"x": null}]"#;
        let out = table(content, "<u>").unwrap();
        assert!(!out.contains("<b>") && !out.contains("<i>") && !out.contains("<u>"), "{out}");
        assert!(out.contains("<td class=\"number\">3</td>"), "{out}");
        assert_eq!(table("[]", ""), None);
        assert_eq!(table("5", ""), None);
    }
}
