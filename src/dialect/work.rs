//! Steps of an assistant as JSON, in the words of the data analyst's document. Dialects in plain JSON share it.

use super::smol;
use crate::message::{
    Artifact, CodeNote, Dataset, Decision, Execution, FloorNote, Output, Report, Section, Work,
};
use serde_json::{Map, Value, json};

/// The name of the step and its fields.
pub(super) fn frame(work: &Work) -> (&'static str, Value) {
    match work {
        Work::Dataset(set) => ("dataset_info", dataset(set)),
        Work::Decision(decision) => ("reason", reason(decision)),
        Work::Code(note) => ("code", code(note)),
        Work::Execution(done) => ("exec", execution(done)),
        Work::Artifact(made) => ("artifact", artifact(made)),
        Work::Floor(note) => ("floor", floor_order(note)),
        Work::Report(written) => ("report", report(written)),
    }
}

/// The description of a table, also as the answer to its upload.
pub(super) fn dataset(set: &Dataset) -> Value {
    let names: Vec<_> = set.columns.iter().map(|column| &column.name).collect();
    let dtypes = set.columns.iter().map(|column| (column.name.clone(), json!(column.dtype)));
    let sampled = set.sampled.map(|(read, total)| json!({"rows_read": read, "rows_total": total}));
    // What was stored as JSON can be read as JSON.
    let head: Value = serde_json::from_str(&set.head).unwrap_or_default();
    json!({
        "name": set.name, "shape": [set.rows, set.columns.len()], "columns": names,
        "dtypes": dtypes.collect::<Map<_, _>>(), "head": head, "encoding": set.encoding,
        "warnings": set.warnings, "sampled": sampled,
    })
}

fn reason(decision: &Decision) -> Value {
    json!({
        "run": decision.run.0, "loop": decision.step, "next_action": decision.next.name(),
        "instruction": decision.instruction, "question": decision.question,
        "assumption": decision.assumption, "rationale": decision.rationale,
    })
}

fn code(note: &CodeNote) -> Value {
    json!({"run": note.run.0, "loop": note.step, "language": "python", "code": note.code})
}

fn execution(done: &Execution) -> Value {
    let output = |one: &Output| json!({"file_name": one.file_name, "description": one.description, "output_type": one.kind.name()});
    let millis = u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX);
    json!({
        "run": done.run.0, "loop": done.step, "success": done.success, "stdout": done.stdout,
        "error": done.error, "outputs": done.outputs.iter().map(output).collect::<Vec<_>>(),
        "elapsed_ms": millis,
    })
}

/// What code printed, for people. Lines that it marks for the report are JSON, of which titles, facts and the names of
/// tables are left; their rows are in the report.
pub(super) fn readable(printed: &str) -> String {
    let lines: Vec<_> = printed.lines().filter_map(readable_line).collect();
    lines.join("\n")
}

fn readable_line(line: &str) -> Option<String> {
    let Some((mark, json)) = line.strip_prefix('@').and_then(|rest| rest.split_once(' ')) else {
        return Some(line.to_owned());
    };
    let Ok(Value::Object(marked)) = serde_json::from_str(json) else {
        return Some(line.to_owned());
    };
    let text = |key: &str| match marked.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    match mark {
        "title" => Some(text("text")),
        "fact" => Some(format!("{}: {}", text("label"), text("value"))),
        "table" => Some(text("label")),
        "note" => None,
        _ => Some(line.to_owned()),
    }
}

/// `path` is the one by which other clients of the session ask for the file.
fn artifact(made: &Artifact) -> Value {
    json!({
        "run": made.run.0, "kind": made.kind.name(), "file_name": made.file.name, "path": made.file.path,
        "description": made.description, "media_type": made.media_type, "size": made.size,
    })
}

fn floor_order(note: &FloorNote) -> Value {
    let content = smol::floor_content(&note.order);
    json!({"run": note.run.0, "order": note.order.name(), "content": content})
}

fn report(report: &Report) -> Value {
    let section = |one: &Section| json!({"section_type": one.kind.name(), "content": one.content, "description": one.description});
    json!({
        "run": report.run.0, "title": report.title,
        "sections": report.sections.iter().map(section).collect::<Vec<_>>(),
        "suggestions": report.suggestions, "assumptions": report.assumptions,
        "intermediate": report.intermediate, "rule_based": report.rule_based,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_lines_are_told_in_words() {
        let printed = "@title {\"text\": \"Sum\"}\n@fact {\"name\": \"first\", \"label\": \"East\", \"value\": 7}\n\
                       @table {\"label\": \"By region\", \"rows\": [[1]]}\n@note {\"a\": 1}\nplain\n@fact broken\n@other {}";
        assert_eq!(readable(printed), "Sum\nEast: 7\nBy region\nplain\n@fact broken\n@other {}");
    }
}
