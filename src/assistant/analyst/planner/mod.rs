//! Plans analyses by rules, without a model: finds in a question what is asked of which columns, writes Python for it
//! from templates, and reports what the Python printed. It is pure: it reads no files and runs nothing.

mod analysis;
mod ask;
mod code;
mod column;
mod context;
mod filter;
mod fold;
mod group;
mod implied;
mod join;
mod lex;
mod literal;
mod meaning;
mod measure;
mod operand;
mod prepare;
mod product;
mod rank;
mod report;
mod request;
mod speak;
#[cfg(test)]
mod tests;
mod understand;
mod unknown;
mod value;
mod words;

use super::schema::{DataFrameInfo, ExecutionResult, ExpectedOutput, ReportOutput};
use crate::locale::Locale;
use ask::Asked;
use column::{Column, columns};
use speak::Speaker;
use understand::understand;

/// What was said in a session before the question, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub by: By,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    User,
    /// A question back, or the conclusion of a report.
    Analyst,
}

/// What to do about a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    Ask {
        /// For the user. It contains the hypothesis in words, and what to answer.
        question: String,
        /// The request that a plain yes stands for.
        hypothesis: String,
        rationale: String,
    },
    Act {
        /// What is done, in one sentence for people.
        instruction: String,
        code: String,
        expected_outputs: Vec<ExpectedOutput>,
        /// What was supposed. The report has to state each.
        assumptions: Vec<String>,
        rationale: String,
    },
}

/// Plans what to do about a question. The answer is in the language of the question if that is Japanese, and otherwise
/// in the session's. A plain yes to a question back stands for its hypothesis.
pub fn plan(question: &str, history: &[Said], info: &DataFrameInfo, locale: Locale) -> Plan {
    let columns = columns_of(question, history, info);
    let resolved = context::resolve(question, history, &columns, locale);
    let columns = &*understand::ordered(&resolved, &columns);
    let speaker = Speaker { locale: language(question, history, locale), columns };
    match understand(&resolved, columns) {
        Err(doubt) => {
            let Asked { question, hypothesis, rationale } = speaker.ask(&doubt, &resolved);
            Plan::Ask { question, hypothesis, rationale }
        }
        Ok(request) => {
            let written = code::write(&request, columns, &speaker);
            let title = speaker.title(&request);
            let suppositions = request.suppositions.iter();
            Plan::Act {
                instruction: title.clone(),
                code: written.code,
                expected_outputs: written.outputs,
                assumptions: suppositions.map(|one| speaker.supposition(one)).collect(),
                rationale: speaker.say("why_acted", &[("title", &title)]),
            }
        }
    }
}

/// The columns of a table, with those that are computed of them in what was said.
fn columns_of(question: &str, history: &[Said], info: &DataFrameInfo) -> Vec<Column> {
    let mut columns = columns(info);
    let texts = history.iter().map(|said| said.text.as_str()).chain([question]);
    product::add_products(&mut columns, texts);
    columns
}

/// Reports what the code of a plan printed. A conclusion, the evidence and every assumption are always there, whatever
/// the results are.
pub fn report(
    question: &str,
    info: &DataFrameInfo,
    results: &[ExecutionResult],
    assumptions: &[String],
    locale: Locale,
) -> ReportOutput {
    let columns = columns(info);
    let speaker = Speaker { locale: language(question, &[], locale), columns: &columns };
    report::report(question, results, assumptions, &speaker)
}

/// A short answer such as a yes or the name of a column is in no language of its own.
fn language(question: &str, history: &[Said], locale: Locale) -> Locale {
    let said = history.iter().rev().filter(|said| said.by == By::User).take(1);
    let mut texts = said.map(|said| said.text.as_str()).chain([question]);
    if texts.any(fold::is_japanese) { Locale::Ja } else { locale }
}
