//! Code below a line such as `Executing code:`: the indented lines that follow.

use super::fence::Fence;

const LABELS: [&str; 3] = ["Code:", "Executing code:", "Running code:"];

/// The blocks of a text in order, without blanks around them. Lines between fences were found already.
pub(super) fn all<'a>(text: &'a str, fences: &[Fence<'_>]) -> Vec<&'a str> {
    let mut blocks = Vec::new();
    if !LABELS.iter().any(|label| text.contains(label)) {
        return blocks;
    }
    let mut fences = fences.iter().peekable();
    let mut state = State::Outside;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        while fences.next_if(|fence| fence.span.end <= start).is_some() {}
        if fences.peek().is_some_and(|fence| fence.span.start < end) {
            blocks.extend(state.block(text));
            state = State::Outside;
            continue;
        }
        let is_indented = line.starts_with([' ', '\t']) && line.trim_end_matches('\n').len() > 1;
        state = match state {
            State::Labelled if line.trim().is_empty() => State::Labelled,
            State::Labelled if is_indented => State::Inside(start, end),
            State::Inside(first, _) if is_indented => State::Inside(first, end),
            State::Outside | State::Labelled | State::Inside(..) => {
                blocks.extend(state.block(text));
                if is_label(line) { State::Labelled } else { State::Outside }
            }
        };
    }
    blocks.extend(state.block(text));
    blocks
}

#[derive(Clone, Copy)]
enum State {
    Outside,
    /// Below a label, with only empty lines so far.
    Labelled,
    /// From the first indented line to the end of the last.
    Inside(usize, usize),
}

impl State {
    fn block(self, text: &str) -> Option<&str> {
        let Self::Inside(start, end) = self else {
            return None;
        };
        text.get(start..end).map(str::trim).filter(|block| !block.is_empty())
    }
}

/// A label is the end of its line, and no part of a longer word.
fn is_label(line: &str) -> bool {
    let line = line.trim_end();
    LABELS.iter().any(|label| {
        let before = line.strip_suffix(label).map(|before| before.bytes().next_back());
        before
            .is_some_and(|last| !last.is_some_and(|one| one.is_ascii_alphanumeric() || one == b'_'))
    })
}
