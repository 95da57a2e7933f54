//! Steps of an assistant as rows. As in `record`, the names here are part of the file format.

use super::floor_record::{self, OrderBody};
use crate::message::{
    Artifact, ArtifactKind, CodeNote, Column, Dataset, Decision, Execution, FileNote, FloorNote,
    NextAction, Output, OutputKind, Report, RunId, Section, SectionKind, Work,
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) fn body(work: &Work) -> Value {
    match work {
        Work::Dataset(set) => json!({
            "step": "dataset", "name": set.name, "workspace": set.workspace, "rows": set.rows,
            "columns": set.columns.iter().map(|one| (&one.name, &one.dtype)).collect::<Vec<_>>(),
            "values": set.columns.iter().map(|one| &one.values).collect::<Vec<_>>(),
            "dates": set.columns.iter().map(|one| &one.date_format).collect::<Vec<_>>(),
            "head": set.head, "encoding": set.encoding, "warnings": set.warnings, "sampled": set.sampled,
        }),
        Work::Decision(decision) => json!({
            "step": "decision", "run": decision.run.0, "number": decision.step, "next": decision.next.name(),
            "instruction": decision.instruction, "question": decision.question,
            "assumption": decision.assumption, "rationale": decision.rationale,
        }),
        Work::Code(note) => {
            json!({"step": "code", "run": note.run.0, "number": note.step, "code": note.code})
        }
        Work::Execution(done) => json!({
            "step": "execution", "run": done.run.0, "number": done.step, "success": done.success,
            "stdout": done.stdout, "error": done.error, "millis": millis(done.took),
            "outputs": done.outputs.iter().map(output).collect::<Vec<_>>(),
        }),
        Work::Artifact(made) => json!({
            "step": "artifact", "run": made.run.0, "kind": made.kind.name(), "name": made.file.name,
            "path": made.file.path, "description": made.description, "type": made.media_type, "size": made.size,
        }),
        Work::Floor(note) => json!({
            "step": "floor", "run": note.run.0, "order": floor_record::body(&note.order),
        }),
        Work::Report(report) => json!({
            "step": "report", "run": report.run.0, "title": report.title,
            "sections": report.sections.iter().map(section).collect::<Vec<_>>(),
            "suggestions": report.suggestions, "assumptions": report.assumptions,
            "intermediate": report.intermediate, "rule_based": report.rule_based,
        }),
    }
}

/// The small picture of a figure is kept beside the text.
pub(super) fn thumbnail(work: &Work) -> Option<&[u8]> {
    match work {
        Work::Artifact(made) => made.file.thumbnail.as_deref(),
        Work::Dataset(_)
        | Work::Decision(_)
        | Work::Code(_)
        | Work::Execution(_)
        | Work::Floor(_)
        | Work::Report(_) => None,
    }
}

pub(super) fn read(body: &str, blob: Option<Vec<u8>>) -> Option<Work> {
    let body: WorkBody = serde_json::from_str(body).ok()?;
    body.into_work(blob)
}

#[derive(Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum WorkBody {
    Dataset {
        name: String,
        workspace: String,
        rows: u64,
        columns: Vec<(String, String)>,
        /// In the order of the columns. Rows of earlier versions have none.
        #[serde(default)]
        values: Vec<Vec<String>>,
        #[serde(default)]
        dates: Vec<Option<String>>,
        head: String,
        encoding: String,
        warnings: Vec<String>,
        sampled: Option<(u64, u64)>,
    },
    Decision {
        run: u64,
        number: u32,
        next: String,
        instruction: Option<String>,
        question: Option<String>,
        assumption: Option<String>,
        rationale: String,
    },
    Code {
        run: u64,
        number: u32,
        code: String,
    },
    Execution {
        run: u64,
        number: u32,
        success: bool,
        stdout: String,
        error: Option<String>,
        millis: u64,
        outputs: Vec<OutputBody>,
    },
    Artifact {
        run: u64,
        kind: String,
        name: String,
        path: Option<String>,
        description: String,
        #[serde(rename = "type")]
        media_type: String,
        size: u64,
    },
    Floor {
        run: u64,
        order: OrderBody,
    },
    Report {
        run: u64,
        title: String,
        sections: Vec<SectionBody>,
        suggestions: Vec<String>,
        assumptions: Vec<String>,
        intermediate: bool,
        rule_based: bool,
    },
}

#[derive(Deserialize)]
struct OutputBody {
    name: String,
    description: String,
    kind: String,
}

#[derive(Deserialize)]
struct SectionBody {
    kind: String,
    content: String,
    description: Option<String>,
}

impl WorkBody {
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn into_work(self, blob: Option<Vec<u8>>) -> Option<Work> {
        Some(match self {
            Self::Dataset {
                name,
                workspace,
                rows,
                columns,
                values,
                dates,
                head,
                encoding,
                warnings,
                sampled,
            } => {
                let (mut values, mut dates) = (values.into_iter(), dates.into_iter());
                let columns = columns.into_iter().map(|(name, dtype)| Column {
                    name,
                    dtype,
                    values: values.next().unwrap_or_default(),
                    date_format: dates.next().flatten(),
                });
                let columns = columns.collect();
                Work::Dataset(Dataset {
                    name,
                    workspace,
                    rows,
                    columns,
                    head,
                    encoding,
                    warnings,
                    sampled,
                })
            }
            Self::Decision { run, number, next, instruction, question, assumption, rationale } => {
                let next = NextAction::ALL.into_iter().find(|one| one.name() == next)?;
                let (run, step) = (RunId(run), number);
                Work::Decision(Decision {
                    run,
                    step,
                    next,
                    instruction,
                    question,
                    assumption,
                    rationale,
                })
            }
            Self::Code { run, number, code } => {
                Work::Code(CodeNote { run: RunId(run), step: number, code })
            }
            Self::Execution { run, number, success, stdout, error, millis, outputs } => {
                let outputs =
                    outputs.into_iter().map(OutputBody::into_output).collect::<Option<_>>()?;
                let (run, took) = (RunId(run), Duration::from_millis(millis));
                Work::Execution(Execution {
                    run,
                    step: number,
                    success,
                    stdout,
                    error,
                    outputs,
                    took,
                })
            }
            Self::Artifact { run, kind, name, path, description, media_type, size } => {
                let kind = ArtifactKind::ALL.into_iter().find(|one| one.name() == kind)?;
                let file = FileNote { name, path, thumbnail: blob.map(Bytes::from) };
                Work::Artifact(Artifact {
                    run: RunId(run),
                    kind,
                    file,
                    description,
                    media_type,
                    size,
                })
            }
            Self::Floor { run, order } => {
                Work::Floor(FloorNote { run: RunId(run), order: order.into_order()? })
            }
            Self::Report {
                run,
                title,
                sections,
                suggestions,
                assumptions,
                intermediate,
                rule_based,
            } => {
                let sections =
                    sections.into_iter().map(SectionBody::into_section).collect::<Option<_>>()?;
                Work::Report(Report {
                    run: RunId(run),
                    title,
                    sections,
                    suggestions,
                    assumptions,
                    intermediate,
                    rule_based,
                })
            }
        })
    }
}

impl OutputBody {
    fn into_output(self) -> Option<Output> {
        let kind = OutputKind::ALL.into_iter().find(|one| one.name() == self.kind)?;
        Some(Output { file_name: self.name, description: self.description, kind })
    }
}

impl SectionBody {
    fn into_section(self) -> Option<Section> {
        let kind = SectionKind::ALL.into_iter().find(|one| one.name() == self.kind)?;
        Some(Section { kind, content: self.content, description: self.description })
    }
}

fn output(output: &Output) -> Value {
    let Output { file_name, description, kind } = output;
    json!({"name": file_name, "description": description, "kind": kind.name()})
}

fn section(section: &Section) -> Value {
    let Section { kind, content, description } = section;
    json!({"kind": kind.name(), "content": content, "description": description})
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(work: Work) {
        let blob = thumbnail(&work).map(<[u8]>::to_vec);
        assert_eq!(read(&body(&work).to_string(), blob).as_ref(), Some(&work));
    }

    fn column(name: &str, dtype: &str, values: &[&str], date_format: Option<&str>) -> Column {
        Column {
            name: name.to_owned(),
            dtype: dtype.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
            date_format: date_format.map(str::to_owned),
        }
    }

    fn columns() -> Vec<Column> {
        vec![
            column("\u{58f2}\u{4e0a}", "int64", &[], None),
            column("shop", "str", &["a", "b"], None),
            column("day", "str", &[], Some("%d/%m/%Y")),
        ]
    }

    #[test]
    fn a_table_of_an_earlier_version_is_read() {
        let row = r#"{"step":"dataset","name":"a.csv","workspace":"2026","rows":1,"columns":[["n","int64"]],
            "head":"[]","encoding":"utf-8","warnings":[],"sampled":null}"#;
        let Some(Work::Dataset(set)) = read(row, None) else { panic!("{row}") };
        assert_eq!(set.columns, [column("n", "int64", &[], None)]);
    }

    #[test]
    fn every_step_survives_its_row() {
        let run = RunId(3);
        let text = || Some("\u{58f2}\u{4e0a} \"x\"\n".to_owned());
        check(Work::Dataset(Dataset {
            name: "sales.csv".into(),
            workspace: "20261118200000".into(),
            rows: 7,
            columns: columns(),
            head: "[{}]".into(),
            encoding: "cp932".into(),
            warnings: vec!["w".into()],
            sampled: Some((5, 7)),
        }));
        for next in NextAction::ALL {
            let (instruction, question, assumption) = (text(), None, text());
            let rationale = "r".to_owned();
            check(Work::Decision(Decision {
                run,
                step: 2,
                next,
                instruction,
                question,
                assumption,
                rationale,
            }));
        }
        check(Work::Code(CodeNote { run, step: 1, code: "print(1)\n".into() }));
        let outputs = OutputKind::ALL.map(|kind| Output {
            file_name: "a.png".into(),
            description: "d".into(),
            kind,
        });
        check(Work::Execution(Execution {
            run,
            step: 1,
            success: false,
            stdout: "out".into(),
            error: text(),
            outputs: outputs.into(),
            took: Duration::from_millis(12),
        }));
        for kind in ArtifactKind::ALL {
            let (name, thumbnail) = ("a.png".into(), Some(Bytes::from_static(b"png")));
            let file = FileNote { name, path: Some("workspace/2026/a.png".into()), thumbnail };
            let (description, media_type) = (String::new(), "image/png".to_owned());
            check(Work::Artifact(Artifact { run, kind, file, description, media_type, size: 9 }));
        }
        let sections =
            SectionKind::ALL.map(|kind| Section { kind, content: "c".into(), description: text() });
        check(Work::Report(Report {
            run,
            title: "t".into(),
            sections: sections.into(),
            suggestions: vec!["s".into()],
            assumptions: vec!["a".into()],
            intermediate: true,
            rule_based: false,
        }));
    }
}
