//! Code between fences of backticks. A fence is closed by one that is at least as long and begins or ends its line, so
//! backticks within a line of code do not close it.

use super::limit;
use std::ops::Range;

const SHORTEST: usize = 3;
/// Bytes after an opening fence, until the end of its line.
const MAX_LINE: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub(super) language: Option<&'a str>,
    /// Without blanks around it.
    pub(super) content: &'a str,
    /// With the fences.
    pub(super) span: Range<usize>,
}

/// The fences of a text, in order. One that is never closed is no code.
pub(super) fn all(text: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut open: Option<Opening<'_>> = None;
    let mut at = 0;
    while let Some(run) = next_run(text, at) {
        at = run.end;
        let Some(opening) = &open else {
            open = Opening::read(text, &run);
            continue;
        };
        if run.len() < opening.length || !closes(text, &run) {
            continue;
        }
        // A closing fence can follow directly; then there is no code.
        let content = text.get(opening.content..run.start).unwrap_or_default().trim();
        if !content.is_empty() {
            let span = opening.start..run.end;
            fences.push(Fence { language: opening.language, content, span });
        }
        open = None;
    }
    fences
}

struct Opening<'a> {
    language: Option<&'a str>,
    start: usize,
    /// Where the code begins.
    content: usize,
    length: usize,
}

impl<'a> Opening<'a> {
    /// Only a language may follow on the line. At the start of a line, more words may follow it.
    fn read(text: &'a str, run: &Range<usize>) -> Option<Self> {
        let rest = limit::start(text.get(run.end..)?, MAX_LINE);
        let line = rest.split('\n').next().unwrap_or(rest);
        if line.len() == rest.len() || line.contains('`') {
            return None;
        }
        let mut words = line.split_whitespace();
        let language = words.next();
        let is_word =
            language.is_none_or(|word| word.len() <= limit::MAX_WORD && is_language(word));
        let is_alone = words.next().is_none() || begins_line(text, run.start);
        let content = run.end + line.len() + 1;
        let opening = Self { language, start: run.start, content, length: run.len() };
        (is_word && is_alone).then_some(opening)
    }
}

fn is_language(word: &str) -> bool {
    word.bytes().all(|one| one.is_ascii_alphanumeric() || b"_+-#.".contains(&one))
}

fn next_run(text: &str, from: usize) -> Option<Range<usize>> {
    let start = from + text.get(from..)?.find("```")?;
    let length = text.as_bytes()[start..].iter().take_while(|one| **one == b'`').count();
    debug_assert!(length >= SHORTEST);
    Some(start..start + length)
}

fn closes(text: &str, run: &Range<usize>) -> bool {
    let rest = text.get(run.end..).unwrap_or_default();
    let next = rest.bytes().find(|one| !matches!(one, b' ' | b'\t' | b'\r'));
    matches!(next, None | Some(b'\n')) || begins_line(text, run.start)
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    matches!(before.iter().rev().find(|one| !matches!(one, b' ' | b'\t')), None | Some(b'\n'))
}
