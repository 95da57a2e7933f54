//! Lines `use python_interpreter {"code": "..."}` of a request are its actions, in order, so that every step can be tried
//! without a model.

use super::schema::{ExecutionResult, OutputType, ReportOutput, ReportSection, SectionType};
use crate::locale::Locale;
use serde::Deserialize;

const PREFIX: &str = "use python_interpreter ";

#[derive(Deserialize)]
struct Arguments {
    code: String,
}

/// The code of each line that is such a call.
pub(super) fn programs(question: &str) -> Vec<String> {
    let calls = question.lines().filter_map(|line| line.trim().strip_prefix(PREFIX));
    calls
        .filter_map(|arguments| serde_json::from_str::<Arguments>(arguments).ok())
        .map(|arguments| arguments.code)
        .collect()
}

/// What the actions have printed and drawn.
pub(super) fn report(results: &[ExecutionResult], locale: Locale) -> ReportOutput {
    let say = |name: &str, values: &[(&str, &str)]| locale.say("analysis", name, values);
    let done = results.iter().filter(|result| result.success).count().to_string();
    let all = results.len().to_string();
    let text = |content: String| ReportSection {
        section_type: SectionType::Text,
        content,
        description: None,
    };
    let outputs = results.iter().flat_map(|result| &result.outputs);
    let figures = outputs.filter(|output| output.output_type == OutputType::Figure);
    let figure = |output: &super::schema::ExpectedOutput| ReportSection {
        section_type: SectionType::Image,
        content: output.file_name.clone(),
        description: Some(output.description.clone()).filter(|text| !text.is_empty()),
    };
    let conclusion = text(say("scripted_done", &[("done", &done), ("all", &all)]));
    let sections = std::iter::once(conclusion).chain(figures.map(figure)).collect();
    ReportOutput { title: say("scripted_title", &[]), sections, suggestions: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_calls_are_actions() {
        let question = "use python_interpreter {\"code\": \"print(1)\\nprint(2)\"}\n\
                        use python_interpreter nonsense\nuse your head\n\
                        \u{20} use python_interpreter {\"code\": \"df\"}";
        assert_eq!(programs(question), ["print(1)\nprint(2)", "df"]);
        assert!(programs("how many rows?").is_empty());
    }
}
