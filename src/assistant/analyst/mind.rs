//! The mind behind an analysis plans it and writes its code: a chat model, or rules if there is no model.

use super::graph::Request;
use super::schema::{
    CodeGenOutput, DataFrameInfo, ExpectedOutput, NextAction, ReasonOutput, ReportOutput,
};
use super::{Host, model, planner, script};
use crate::assistant::Halt;
use crate::locale::Locale;

#[derive(Debug)]
pub enum Mind {
    Model(model::Abilities),
    Rules,
}

/// The decision about the next step, with its reason.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) next: Next,
    pub(super) instruction: Option<String>,
    pub(super) assumptions: Vec<String>,
    pub(super) rationale: String,
}

#[derive(Debug)]
pub(super) enum Next {
    Ask(String),
    Act(Action),
    Finalize,
}

#[derive(Debug)]
pub(super) enum Action {
    /// In words; the code has to be written.
    Instruction(String),
    Program(Program),
}

/// Code, and the files that it says it will save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub code: String,
    pub expected: Vec<ExpectedOutput>,
}

impl Mind {
    /// `finished`: actions that were finished for this request.
    pub(super) async fn reason<H: Host>(
        &self,
        host: &mut H,
        request: &Request,
        info: &DataFrameInfo,
        finished: u32,
    ) -> Result<Decided, Halt> {
        match self {
            Self::Model(abilities) => {
                let output = model::reason(host, *abilities, request, info, finished).await?;
                Ok(Decided::by_model(output, request.locale))
            }
            Self::Rules => Ok(by_rules(request, info, finished)),
        }
    }

    pub(super) async fn program<H: Host>(
        &self,
        host: &mut H,
        request: &Request,
        action: Action,
    ) -> Result<Program, Halt> {
        match (self, action) {
            (Self::Model(abilities), Action::Instruction(instruction)) => {
                let CodeGenOutput { code, expected_outputs } =
                    model::code(host, *abilities, request, &instruction).await?;
                Ok(Program { code, expected: expected_outputs })
            }
            (Self::Model(_) | Self::Rules, Action::Program(program)) => Ok(program),
            (Self::Rules, Action::Instruction(_)) => {
                Err(Halt::Failed("no model is there to write the code".to_owned()))
            }
        }
    }

    pub(super) async fn report<H: Host>(
        &self,
        host: &mut H,
        request: &Request,
        intermediate: bool,
    ) -> Result<ReportOutput, Halt> {
        match self {
            Self::Model(abilities) => model::report(host, *abilities, request, intermediate).await,
            Self::Rules => {
                let Request { question, results, assumptions, locale, .. } = request;
                let own = &results[results.len() - own_results(request)..];
                if !script::programs(question).is_empty() {
                    return Ok(script::report(own, *locale));
                }
                let info = request.info.clone().unwrap_or_default();
                Ok(planner::report(question, &info, own, assumptions, *locale))
            }
        }
    }

    pub(super) fn is_rule_based(&self) -> bool {
        matches!(self, Self::Rules)
    }
}

/// Results of this request; the others are of earlier ones.
fn own_results(request: &Request) -> usize {
    request.results.len() - request.earlier
}

/// Rules plan everything at once, and report when it has run.
fn by_rules(request: &Request, info: &DataFrameInfo, finished: u32) -> Decided {
    let locale = request.locale;
    let scripted = script::programs(&request.question);
    let done = usize::try_from(finished).unwrap_or(usize::MAX);
    if let Some(code) = scripted.get(done) {
        let program = Program { code: code.clone(), expected: Vec::new() };
        return Decided::act(
            locale.say("analysis", "scripted", &[]),
            program,
            Vec::new(),
            locale.say("analysis", "scripted", &[]),
        );
    }
    if finished > 0 {
        let rationale = locale.say("analysis", "all_done", &[]);
        return Decided {
            next: Next::Finalize,
            instruction: None,
            assumptions: Vec::new(),
            rationale,
        };
    }
    match planner::plan(&request.question, &request.said, info, locale) {
        planner::Plan::Ask { question, rationale, .. } => {
            let (instruction, assumptions) = (None, Vec::new());
            Decided { next: Next::Ask(question), instruction, assumptions, rationale }
        }
        planner::Plan::Act { instruction, code, expected_outputs, assumptions, rationale } => {
            let program = Program { code, expected: expected_outputs };
            Decided::act(instruction, program, assumptions, rationale)
        }
    }
}

impl Decided {
    /// Nothing can be analysed without a table.
    pub(super) fn ask_for_table(locale: Locale) -> Self {
        Self {
            next: Next::Ask(locale.say("analysis", "no_table", &[])),
            instruction: None,
            assumptions: Vec::new(),
            rationale: locale.say("analysis", "no_table_why", &[]),
        }
    }

    fn act(
        instruction: String,
        program: Program,
        assumptions: Vec<String>,
        rationale: String,
    ) -> Self {
        let next = Next::Act(Action::Program(program));
        Self { next, instruction: Some(instruction), assumptions, rationale }
    }

    fn by_model(output: ReasonOutput, locale: Locale) -> Self {
        let ReasonOutput { next_action, instruction, question, assumption, rationale } = output;
        let next = match next_action {
            NextAction::Ask => {
                Next::Ask(question.unwrap_or_else(|| locale.say("analyst", "which_analysis", &[])))
            }
            NextAction::Act => {
                Next::Act(Action::Instruction(instruction.clone().unwrap_or_default()))
            }
            NextAction::Finalize => Next::Finalize,
        };
        Self { next, instruction, assumptions: assumption.into_iter().collect(), rationale }
    }
}
