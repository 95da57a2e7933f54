//! The way from a question to a report: reason, then ask the user, or run code and reason again, or report.

use super::Host;
use super::mind::{Decided, Mind, Next, Program};
use super::planner::Said;
use super::report;
use super::schema::{DataFrameInfo, ExecutionResult};
use crate::assistant::Halt;
use crate::locale::Locale;
use crate::message::{CodeNote, Decision, NextAction, RunId, Work};

/// Most actions that are finished for one request. Then the report says that it is an intermediate one.
pub const MOST_ACTIONS: u32 = 5;

/// A request, with everything that is known when it begins.
#[derive(Debug, Clone)]
pub struct Request {
    pub run: RunId,
    pub question: String,
    /// Earlier texts of the user and the analyst, oldest first.
    pub said: Vec<Said>,
    /// `None`: the user has sent no table yet.
    pub info: Option<DataFrameInfo>,
    /// Remarks on the table for the report, such as that only a sample of it was read.
    pub remarks: Vec<String>,
    /// Everything that was run in this session, oldest first.
    pub results: Vec<ExecutionResult>,
    /// How many of the results are of earlier requests.
    pub earlier: usize,
    pub assumptions: Vec<String>,
    pub locale: Locale,
}

/// How a request was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The user has to answer a question first.
    Asked,
    Reported,
}

/// Works until the request is answered. The answer is told as steps, and as a text for clients that do not show steps.
pub async fn analyse<H: Host>(
    host: &mut H,
    mind: &Mind,
    mut request: Request,
) -> Result<Answered, Halt> {
    // Rules build on earlier analyses by naming them; a model builds on whatever it was told.
    if mind.is_rule_based() {
        request.assumptions.clear();
    }
    for finished in 0..=MOST_ACTIONS {
        let decided = match &request.info {
            Some(info) => mind.reason(host, &request, info, finished).await?,
            None => Decided::ask_for_table(request.locale),
        };
        // After the last action nothing more is run, whatever was decided.
        let is_over = finished == MOST_ACTIONS && matches!(decided.next, Next::Act(_));
        host.tell(Work::Decision(told(&request, finished, &decided, is_over))).await?;
        for assumption in decided.assumptions {
            if !request.assumptions.contains(&assumption) {
                request.assumptions.push(assumption);
            }
        }
        match decided.next {
            Next::Ask(question) => {
                host.say(&question).await?;
                return Ok(Answered::Asked);
            }
            Next::Act(action) if !is_over => {
                let program = mind.program(host, &request, action).await?;
                let result = run(host, &request, finished + 1, &program).await?;
                request.results.push(result);
            }
            Next::Act(_) | Next::Finalize => {
                report(host, mind, &request, is_over).await?;
                return Ok(Answered::Reported);
            }
        }
    }
    Err(Halt::Failed("the analysis did not come to an end".to_owned()))
}

fn told(request: &Request, finished: u32, decided: &Decided, is_over: bool) -> Decision {
    let next = match &decided.next {
        Next::Ask(_) => NextAction::Ask,
        Next::Act(_) if !is_over => NextAction::Act,
        Next::Act(_) | Next::Finalize => NextAction::Finalize,
    };
    let question = match &decided.next {
        Next::Ask(question) => Some(question.clone()),
        Next::Act(_) | Next::Finalize => None,
    };
    Decision {
        run: request.run,
        step: (finished + 1).min(MOST_ACTIONS),
        next,
        instruction: decided.instruction.clone(),
        question,
        assumption: Some(decided.assumptions.join("\n")).filter(|text| !text.is_empty()),
        rationale: decided.rationale.clone(),
    }
}

async fn run<H: Host>(
    host: &mut H,
    request: &Request,
    step: u32,
    program: &Program,
) -> Result<ExecutionResult, Halt> {
    let note = CodeNote { run: request.run, step, code: program.code.clone() };
    host.tell(Work::Code(note)).await?;
    host.execute(step, program).await
}

async fn report<H: Host>(
    host: &mut H,
    mind: &Mind,
    request: &Request,
    intermediate: bool,
) -> Result<(), Halt> {
    let written = mind.report(host, request, intermediate).await?;
    let report = report::completed(written, request, intermediate, mind.is_rule_based());
    let text = report::markdown(&report, request.locale);
    host.report(report, &text, request.locale).await?;
    host.say(&text).await
}
