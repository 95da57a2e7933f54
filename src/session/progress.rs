//! What an agent does, as lines for frontends that know nothing else.

use crate::provider::agent::{PlanStep, PlanStepState, Tool, ToolStatus};

/// A thought without line ends is shown in pieces of this size.
const LONGEST_LINE: usize = 4 * 1024;

/// Takes the lines that are complete.
pub(super) fn whole_lines(text: &mut String) -> Vec<String> {
    let end = match text.rfind('\n') {
        Some(end) => end + 1,
        None if text.len() > LONGEST_LINE => text.len(),
        None => return Vec::new(),
    };
    let rest = text.split_off(end);
    let whole = std::mem::replace(text, rest);
    whole.lines().map(str::to_owned).collect()
}

pub(super) fn tool(tool: &Tool) -> String {
    let status = match tool.status {
        ToolStatus::Started => "...",
        ToolStatus::Completed => "ok",
        ToolStatus::Failed => "failed",
    };
    format!("[tool] {}: {status}", name(tool))
}

pub(super) fn plan(steps: &[PlanStep]) -> Vec<String> {
    let line = |step: &PlanStep| {
        let mark = match step.state {
            PlanStepState::Pending => " ",
            PlanStepState::Started => ">",
            PlanStepState::Completed => "x",
        };
        format!("[plan] [{mark}] {}", step.text)
    };
    steps.iter().map(line).collect()
}

fn name(tool: &Tool) -> &str {
    let title = Some(tool.title.as_str()).filter(|title| !title.is_empty());
    title.or(tool.name.as_deref()).unwrap_or(&tool.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_are_taken() {
        let mut text = "one\ntwo\nthr".to_owned();
        assert_eq!(whole_lines(&mut text), ["one", "two"]);
        assert_eq!(text, "thr");
        assert!(whole_lines(&mut text).is_empty());
        let mut long = "x".repeat(LONGEST_LINE + 1);
        assert_eq!(whole_lines(&mut long).len(), 1);
        assert!(long.is_empty());
    }
}
