//! All code of a response, each piece once.

use super::{AgentResponse, Code, CodeOrigin, Log, fence, label, limit};
use std::collections::HashSet;

const USUAL_LANGUAGE: &str = "python";

pub(super) fn all(response: &AgentResponse) -> Vec<Code> {
    let mut codes = Codes::default();
    for (index, step) in response.code_steps.iter().enumerate() {
        let label = step.step.as_deref().map(|label| limit::start(label, limit::MAX_WORD));
        let label = label.filter(|label| !label.trim().is_empty()).map(str::to_owned);
        codes.add_step(&step.code, label.unwrap_or_else(|| format!("Step {}", index + 1)));
    }
    let raw = limit::scanned(&response.raw_output);
    let fences = fence::all(raw);
    codes.add_fences(&fences);
    for block in label::all(raw, &fences) {
        codes.add(block, None, CodeOrigin::Written);
    }
    for log in &response.logs {
        match log {
            // Agents log plain sentences too. An assignment is the only sign of code that can be relied on.
            Log::Line(line) if line.contains('=') => codes.add(line, None, CodeOrigin::Logs),
            Log::Line(_) | Log::Note(_) => {}
        }
    }
    codes.add_fences(&fence::all(limit::scanned(&response.text)));
    codes.found
}

#[derive(Default)]
struct Codes<'a> {
    found: Vec<Code>,
    seen: HashSet<&'a str>,
}

impl<'a> Codes<'a> {
    /// Steps are what really ran: the same code in two steps ran twice, and both are shown.
    fn add_step(&mut self, code: &'a str, label: String) {
        let content = code.trim();
        self.seen.insert(content);
        self.push(code, None, CodeOrigin::Step(label));
    }

    fn add_fences(&mut self, fences: &[fence::Fence<'a>]) {
        for fence in fences {
            self.add(fence.content, fence.language, CodeOrigin::Written);
        }
    }

    fn add(&mut self, code: &'a str, language: Option<&str>, origin: CodeOrigin) {
        let content = code.trim();
        if self.seen.insert(content) {
            self.push(content, language, origin);
        }
    }

    fn push(&mut self, code: &str, language: Option<&str>, origin: CodeOrigin) {
        if code.trim().is_empty() || self.found.len() >= limit::MAX_CODES {
            return;
        }
        let language = language.unwrap_or(USUAL_LANGUAGE).to_owned();
        self.found.push(Code { content: limit::cut(code, limit::MAX_CODE), language, origin });
    }
}
