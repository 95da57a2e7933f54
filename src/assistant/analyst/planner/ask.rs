//! Asks back, with a hypothesis that is an analysis which can be carried out: a plain yes stands for it.

use super::column::Kind;
use super::context::doubt_start;
use super::lex::{Token, tokens};
use super::speak::Speaker;
use super::understand::{Doubt, Question, understand};
use super::words::words;

/// Most doubts of one question that a hypothesis settles.
const MOST_DOUBTS: usize = 8;

/// A question back to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) question: String,
    pub(super) hypothesis: String,
    pub(super) rationale: String,
}

impl Speaker<'_> {
    pub(super) fn ask(&self, doubt: &Doubt, question: &Question) -> Asked {
        let (name, values) = self.doubt(doubt);
        let hypothesis = self.hypothesis(doubt, question).text;
        let mut values: Vec<(&str, &str)> =
            values.iter().map(|(key, value)| (*key, value.as_str())).collect();
        values.push(("hypothesis", &hypothesis));
        let question =
            [self.say(name, &values), self.say("ask_hypothesis", &[("hypothesis", &hypothesis)])];
        let rationale = self.say("why_asked", &[]);
        Asked { question: question.join(" "), hypothesis: hypothesis.clone(), rationale }
    }

    fn doubt(&self, doubt: &Doubt) -> (&'static str, Vec<(&'static str, String)>) {
        let text = |text: &String| vec![("text", text.clone())];
        match doubt {
            Doubt::Nothing => ("ask_nothing", Vec::new()),
            Doubt::NoColumns => ("ask_no_columns", Vec::new()),
            Doubt::Prediction => ("ask_prediction", Vec::new()),
            Doubt::Web => ("ask_web", Vec::new()),
            Doubt::Cause => ("ask_cause", Vec::new()),
            Doubt::TooFewNumbers => ("ask_too_few", Vec::new()),
            Doubt::NoDate => ("ask_no_date", Vec::new()),
            Doubt::NoTimes => ("ask_no_times", Vec::new()),
            Doubt::NoShares => ("ask_no_shares", Vec::new()),
            Doubt::NoSuchColumn { text: said, .. } => ("ask_no_column", text(said)),
            Doubt::WhichColumns(_) => ("ask_which", Vec::new()),
            Doubt::NotNumeric { column } => {
                ("ask_not_numeric", vec![("column", self.name(*column).to_owned())])
            }
            Doubt::InEach { text: said, .. } => ("ask_in_each", text(said)),
            Doubt::Condition { text: said, .. } => ("ask_condition", text(said)),
            Doubt::Unknown { text: said, .. } => ("ask_unknown", text(said)),
            Doubt::Part { text: said, .. } => ("ask_part", text(said)),
            Doubt::OfPeriods { text: said, .. } => ("ask_of_periods", text(said)),
            Doubt::WhoseValue { text: said, columns, .. } => {
                let columns: Vec<&str> = columns.iter().map(|at| self.name(*at)).collect();
                let columns = columns.join(&self.say("and", &[]));
                ("ask_whose", vec![("text", said.clone()), ("columns", columns)])
            }
            Doubt::DateOrder { column } => {
                ("ask_date_order", vec![("column", self.name(*column).to_owned())])
            }
        }
    }

    /// What is most likely meant. It is understood, whatever else of the question is in doubt.
    pub(super) fn hypothesis(&self, doubt: &Doubt, question: &Question) -> Question {
        let mut guess = self.guess(doubt, question);
        for _ in 0..MOST_DOUBTS {
            let Err(next) = understand(&guess, self.columns) else { return guess };
            // Only what is settled in place leads on to what was asked for.
            if doubt_start(&next).is_none() && !matches!(next, Doubt::DateOrder { .. }) {
                break;
            }
            guess = self.guess(&next, &guess);
        }
        self.overview()
    }

    fn overview(&self) -> Question {
        whole(self.say("hypothesis_overview", &[]))
    }

    fn guess(&self, doubt: &Doubt, question: &Question) -> Question {
        let in_place = |start: &usize, end: &usize, by: &str| replaced(question, *start, *end, by);
        match doubt {
            Doubt::Nothing | Doubt::NoColumns | Doubt::Web => self.overview(),
            Doubt::TooFewNumbers | Doubt::NoDate => self.overview(),
            Doubt::Prediction | Doubt::NoTimes | Doubt::NoShares => self.over_time(question),
            Doubt::Cause => whole(self.instead_of_cause()),
            Doubt::NoSuchColumn { start, end, nearest, .. } => match nearest {
                Some(at) => in_place(start, end, &self.quoted(*at)),
                None => self.overview(),
            },
            Doubt::WhichColumns(columns) => {
                let added: String =
                    columns.iter().map(|at| format!(" {}", self.quoted(*at))).collect();
                Question { text: question.text.clone() + &added, parts: question.parts.clone() }
            }
            Doubt::NotNumeric { column } => {
                whole(self.say("hypothesis_count", &[("column", &self.quoted(*column))]))
            }
            Doubt::InEach { start, end, .. } | Doubt::Condition { start, end, .. } => {
                in_place(start, end, " ")
            }
            Doubt::Unknown { start, end, value, .. } => {
                in_place(start, end, value.as_deref().unwrap_or(" "))
            }
            Doubt::OfPeriods { start, end, instead, .. } => in_place(start, end, instead),
            Doubt::Part { start, end, .. } => in_place(start, end, " 10 "),
            Doubt::WhoseValue { text, start, end, columns } => {
                let marks = &words().marks;
                let column = columns.first().map_or_else(String::new, |at| self.quoted(*at));
                let value = format!("{} = {}{text}{}", column, marks.open, marks.close);
                in_place(start, end, &value)
            }
            Doubt::DateOrder { .. } => {
                let order = self.say("month_first", &[]);
                let text = format!("{} ({order})", question.text);
                Question { text, parts: question.parts.clone() }
            }
        }
    }

    /// What was so far, of the number that is spoken of.
    fn over_time(&self, question: &Question) -> Question {
        let has_date = self.columns.iter().any(|column| column.kind == Kind::Date);
        let is_number = |at: &usize| {
            self.columns.get(*at).is_some_and(|one| one.kind == Kind::Number && !one.is_id())
        };
        let named = tokens(&question.text, self.columns);
        let named = named.iter().filter_map(Token::column);
        let number = named.chain(0..self.columns.len()).find(is_number);
        match number.filter(|_| has_date) {
            Some(at) => whole(self.say("hypothesis_trend", &[("column", &self.quoted(at))])),
            None => self.overview(),
        }
    }

    fn instead_of_cause(&self) -> String {
        let is_number = |column: &&super::column::Column| column.kind == Kind::Number;
        let enough = self.columns.iter().filter(is_number).count() > 1;
        self.say(if enough { "hypothesis_correlation" } else { "hypothesis_overview" }, &[])
    }
}

fn whole(text: String) -> Question {
    Question { text, parts: Vec::new() }
}

fn replaced(question: &Question, start: usize, end: usize, by: &str) -> Question {
    let before = question.text.get(..start).unwrap_or_default();
    let after = question.text.get(end..).unwrap_or_default();
    let text = format!("{before}{by}{after}");
    let shift = |part: &usize| {
        if *part >= end { *part - (end - start) + by.len() } else { (*part).min(start) }
    };
    let parts: Vec<usize> = question.parts.iter().map(shift).collect();
    // Without parts nothing counts on places.
    let text = if parts.is_empty() {
        text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    } else {
        text
    };
    Question { text, parts }
}
