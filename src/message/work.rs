//! What an assistant does on its way to an answer: it gets data, decides, writes code, runs it, makes files and a
//! report.

use super::floor::FloorOrder;
use super::{FileNote, RunId};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Dataset(Dataset),
    Decision(Decision),
    Code(CodeNote),
    Execution(Execution),
    Artifact(Artifact),
    Floor(FloorNote),
    Report(Report),
}

/// A table that a user has sent. Its rows never come here, besides the first few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    pub name: String,
    /// The directory of the session's files, by its own name.
    pub workspace: String,
    pub rows: u64,
    pub columns: Vec<Column>,
    /// The first rows, as a JSON list of records.
    pub head: String,
    pub encoding: String,
    pub warnings: Vec<String>,
    /// How many rows of how many were read, if the table is too large for the memory of one execution.
    pub sampled: Option<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The type that pandas gives it.
    pub dtype: String,
    /// All of its values, if it has texts and few different ones. Clients do not get them.
    pub values: Vec<String>,
    /// How its dates are written, such as `%d/%m/%Y`.
    pub date_format: Option<String>,
}

impl Column {
    fn weight(&self) -> usize {
        let values = self.values.iter().map(|value| value.len() + size_of::<String>());
        self.name.len() + self.dtype.len() + values.sum::<usize>()
    }
}

/// What the assistant does next, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub run: RunId,
    /// Counted from 1 in each run.
    pub step: u32,
    pub next: NextAction,
    pub instruction: Option<String>,
    pub question: Option<String>,
    pub assumption: Option<String>,
    pub rationale: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAction {
    /// Ask the user, who answers with the next request.
    Ask,
    /// Write code and run it.
    Act,
    /// Write the report.
    Finalize,
}

impl NextAction {
    pub const ALL: [Self; 3] = [Self::Ask, Self::Act, Self::Finalize];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Act => "act",
            Self::Finalize => "finalize",
        }
    }
}

/// Code that is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeNote {
    pub run: RunId,
    pub step: u32,
    pub code: String,
}

/// How the code of a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub run: RunId,
    pub step: u32,
    pub success: bool,
    pub stdout: String,
    pub error: Option<String>,
    /// The files that exist afterwards.
    pub outputs: Vec<Output>,
    pub took: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub file_name: String,
    pub description: String,
    pub kind: OutputKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    Figure,
    Table,
}

impl OutputKind {
    pub const ALL: [Self; 2] = [Self::Figure, Self::Table];

    pub fn name(self) -> &'static str {
        match self {
            Self::Figure => "figure",
            Self::Table => "table",
        }
    }
}

/// A file that was made for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub run: RunId,
    pub kind: ArtifactKind,
    pub file: FileNote,
    pub description: String,
    pub media_type: String,
    /// In bytes.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactKind {
    Figure,
    Table,
    Report,
}

impl ArtifactKind {
    pub const ALL: [Self; 3] = [Self::Figure, Self::Table, Self::Report];

    pub fn name(self) -> &'static str {
        match self {
            Self::Figure => "figure",
            Self::Table => "table",
            Self::Report => "report",
        }
    }
}

impl From<OutputKind> for ArtifactKind {
    fn from(kind: OutputKind) -> Self {
        match kind {
            OutputKind::Figure => Self::Figure,
            OutputKind::Table => Self::Table,
        }
    }
}

/// A change of what the floor plan shows.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorNote {
    pub run: RunId,
    pub order: FloorOrder,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub run: RunId,
    pub title: String,
    pub sections: Vec<Section>,
    pub suggestions: Vec<String>,
    pub assumptions: Vec<String>,
    /// The request needed more steps than are allowed; this is what is known so far.
    pub intermediate: bool,
    /// Made by rules, without a model.
    pub rule_based: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    /// Markdown, the name of a figure, or a JSON list of records.
    pub content: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    Text,
    Image,
    Table,
}

impl SectionKind {
    pub const ALL: [Self; 3] = [Self::Text, Self::Image, Self::Table];

    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Table => "table",
        }
    }
}

impl Work {
    /// Approximate bytes that it keeps in memory.
    pub fn weight(&self) -> usize {
        match self {
            Self::Dataset(set) => {
                set.head.len() + set.columns.iter().map(Column::weight).sum::<usize>()
            }
            Self::Decision(decision) => {
                let texts = [&decision.instruction, &decision.question, &decision.assumption];
                decision.rationale.len()
                    + texts.into_iter().flatten().map(String::len).sum::<usize>()
            }
            Self::Code(note) => note.code.len(),
            Self::Execution(done) => done.stdout.len() + done.error.as_ref().map_or(0, String::len),
            Self::Artifact(made) => made.file.thumbnail.as_ref().map_or(0, bytes::Bytes::len),
            Self::Floor(note) => match &note.order {
                FloorOrder::ShowMap(map) => 64 * (map.highlights().len() + map.overlays().len()),
                FloorOrder::DrawArrow(_) | FloorOrder::ClearArrows | FloorOrder::ClearMap => 0,
            },
            Self::Report(report) => report.sections.iter().map(|one| one.content.len()).sum(),
        }
    }
}
