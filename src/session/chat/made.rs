//! What a file is that code has made: by its name, and by what was promised about it.

use crate::assistant::analyst::schema::{ExpectedOutput, OutputType};
use crate::message::{Artifact, ArtifactKind, Output, OutputKind};
use std::path::Path;

pub(super) const MARKDOWN: &str = "text/markdown";
pub(super) const HTML: &str = "text/html";

/// By the ending of the name. Pictures that could run code, such as SVG, are files to download.
pub(in crate::session) fn media_type(name: &str) -> &'static str {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "bmp" => "image/bmp",
        "csv" | "tsv" => "text/csv",
        "json" => "application/json",
        "md" => MARKDOWN,
        "html" => HTML,
        _ => "application/octet-stream",
    }
}

/// What a file is: by its ending, or else as it was promised. `None`: neither says that people could look at it.
pub(super) fn kind_of(name: &str, promised: Option<&ExpectedOutput>) -> Option<OutputKind> {
    match media_type(name) {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" | "image/bmp" => {
            Some(OutputKind::Figure)
        }
        "text/csv" | "application/json" => Some(OutputKind::Table),
        _ => promised.filter(|one| one.output_type == OutputType::Table).map(|_| OutputKind::Table),
    }
}

/// A file as an output of the code that made it.
pub(super) fn output(made: &Artifact) -> Option<Output> {
    let kind = match made.kind {
        ArtifactKind::Figure => OutputKind::Figure,
        ArtifactKind::Table => OutputKind::Table,
        ArtifactKind::Report => return None,
    };
    let (file_name, description) = (made.file.name.clone(), made.description.clone());
    Some(Output { file_name, description, kind })
}
