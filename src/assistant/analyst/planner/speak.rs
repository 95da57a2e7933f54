//! What the planner says to people, in the language of the question.

use super::code::operator;
use super::column::Column;
use super::request::{Analysis, Filter, Part, Request, Supposition, Value};
use super::understand::Doubt;
use super::words::{Aggregate, words};
use crate::locale::Locale;

#[derive(Debug, Clone, Copy)]
pub(super) struct Speaker<'a> {
    pub(super) locale: Locale,
    pub(super) columns: &'a [Column],
}

/// A question back to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) question: String,
    pub(super) hypothesis: String,
    pub(super) rationale: String,
}

impl Speaker<'_> {
    pub(super) fn say(&self, name: &str, values: &[(&str, &str)]) -> String {
        self.locale.say("analyst", name, values)
    }

    /// A heading of a table or the name of a fact.
    pub(super) fn label(&self, name: &str) -> String {
        self.locale.say("analyst_labels", name, &[])
    }

    fn name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |column| &column.name)
    }

    fn names(&self, columns: &[usize]) -> String {
        let names: Vec<_> = columns.iter().map(|at| self.name(*at)).collect();
        names.join(&self.say("and", &[]))
    }

    /// A column in quotes, so that it is found again.
    fn quoted(&self, column: usize) -> String {
        let (name, marks) = (self.name(column), &words().marks);
        if name.contains(&marks.close) {
            return name.to_owned();
        }
        format!("{}{name}{}", marks.open, marks.close)
    }

    pub(super) fn measure(&self, column: Option<usize>, how: Aggregate) -> String {
        let how = self.label(how.name());
        match column {
            Some(column) => self.say("measure", &[("column", self.name(column)), ("how", &how)]),
            None => how,
        }
    }

    /// What an analysis shows, with its conditions.
    pub(super) fn title(&self, request: &Request) -> String {
        let mut title = self.subject(request);
        if let Some(limit) = request.limit {
            title = self.say("title_limit", &[("title", &title), ("limit", &limit.to_string())]);
        }
        if request.filters.is_empty() {
            return title;
        }
        let filters: Vec<_> = request.filters.iter().map(|filter| self.filter(filter)).collect();
        self.say(
            "title_filters",
            &[("title", &title), ("filters", &filters.join(&self.say("and", &[])))],
        )
    }

    fn subject(&self, request: &Request) -> String {
        let measures = request.measures.iter().map(|(column, how)| self.measure(*column, *how));
        let measures = measures.collect::<Vec<_>>().join(&self.say("and", &[]));
        let (columns, keys) = (self.names(&request.columns), self.names(&request.keys));
        let values = [("columns", columns.as_str()), ("keys", &keys), ("measures", &measures)];
        match request.analysis {
            Analysis::Overview => self.say("title_overview", &[]),
            Analysis::Missing => self.say("title_missing", &[]),
            Analysis::Describe => self.say("title_describe", &values),
            Analysis::Columns => self.say("title_columns", &[]),
            Analysis::Duplicates => self.say("title_duplicates", &[]),
            Analysis::Correlation => self.say("title_correlation", &[]),
            Analysis::Group if request.keys.is_empty() => measures,
            Analysis::Group => match request.part {
                Some(Part::Share) => self.say("title_share", &values),
                Some(Part::Pareto) => self.say("title_pareto", &values),
                None => self.say("title_group", &values),
            },
            Analysis::Trend => {
                let grain =
                    request.date.map_or_else(String::new, |(_, grain)| self.say(grain.name(), &[]));
                let name = if request.keys.is_empty() { "title_trend" } else { "title_trend_keys" };
                self.say(name, &[&values[..], &[("grain", &grain)]].concat())
            }
            Analysis::Rows if request.columns.is_empty() => self.say("title_rows", &[]),
            Analysis::Rows => self.say("title_rows_by", &values),
            Analysis::Hist => self.say("title_hist", &values),
            Analysis::Scatter => self.say("title_scatter", &values),
            Analysis::Line => self.say("title_line", &values),
            Analysis::Box if request.keys.is_empty() => self.say("title_box", &values),
            Analysis::Box => self.say("title_box_keys", &values),
        }
    }

    fn filter(&self, filter: &Filter) -> String {
        let value = match &filter.value {
            Value::None => String::new(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) | Value::Date(text) => text.clone(),
            Value::Numbers(numbers) => {
                numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            }
            Value::Texts(texts) => texts.join(", "),
        };
        let said = [self.name(filter.column), operator(filter), &value].join(" ");
        said.trim_end().to_owned()
    }

    pub(super) fn supposition(&self, supposed: &Supposition) -> String {
        let column = |at: &usize| self.name(*at).to_owned();
        match supposed {
            Supposition::OnlyNumber(at) => {
                self.say("supposed_only_number", &[("column", &column(at))])
            }
            Supposition::Aggregate(at, how) => {
                let how = self.label(how.name());
                self.say("supposed_aggregate", &[("column", &column(at)), ("how", &how)])
            }
            Supposition::CountRows => self.say("supposed_count", &[]),
            Supposition::FirstDate(at) => self.say("supposed_date", &[("column", &column(at))]),
            Supposition::Grain(grain) => {
                self.say("supposed_grain", &[("grain", &self.say(grain.name(), &[]))])
            }
            Supposition::IsValue(text, at) => {
                self.say("supposed_value", &[("text", text), ("column", &column(at))])
            }
            Supposition::InPeriod(date, at) => {
                self.say("supposed_period", &[("date", &date.start()), ("column", &column(at))])
            }
            Supposition::Percent(said, value) => self.say(
                "supposed_percent",
                &[("said", &said.to_string()), ("value", &value.to_string())],
            ),
            Supposition::Limit(limit) => {
                self.say("supposed_limit", &[("limit", &limit.to_string())])
            }
            Supposition::Frequencies(at) => {
                self.say("supposed_frequencies", &[("column", &column(at))])
            }
            Supposition::NumbersAsTexts(at) => {
                self.say("supposed_numbers", &[("column", &column(at))])
            }
            Supposition::NotUsed(text) => self.say("supposed_unused", &[("text", text)]),
            Supposition::SameAsBefore => self.say("supposed_same", &[]),
        }
    }

    pub(super) fn ask(&self, doubt: &Doubt, question: &str) -> Asked {
        let overview = || self.say("hypothesis_overview", &[]);
        let (name, values, hypothesis) = match doubt {
            Doubt::Nothing => ("ask_nothing", Vec::new(), overview()),
            Doubt::NoColumns => ("ask_no_columns", Vec::new(), overview()),
            Doubt::Prediction => ("ask_prediction", Vec::new(), self.instead_of_prediction()),
            Doubt::Web => ("ask_web", Vec::new(), overview()),
            Doubt::Cause => ("ask_cause", Vec::new(), self.instead_of_cause()),
            Doubt::TooFewNumbers => ("ask_too_few", Vec::new(), overview()),
            Doubt::NoDate => ("ask_no_date", Vec::new(), overview()),
            Doubt::NoSuchColumn { text, start, end, nearest } => {
                let names = nearest.map(|at| self.quoted(at));
                let instead = names.map(|name| replaced(question, *start, *end, &name));
                ("ask_no_column", vec![("text", text.clone())], instead.unwrap_or_else(overview))
            }
            Doubt::WhichColumns(columns) => {
                let added: String =
                    columns.iter().map(|at| format!(" {}", self.quoted(*at))).collect();
                ("ask_which", Vec::new(), question.to_owned() + &added)
            }
            Doubt::NotNumeric { column } => {
                let hypothesis = self.say("hypothesis_count", &[("column", &self.quoted(*column))]);
                ("ask_not_numeric", vec![("column", self.name(*column).to_owned())], hypothesis)
            }
            Doubt::Condition { text, start, end } => {
                let rest = replaced(question, *start, *end, " ").trim().to_owned();
                let rest = if rest.is_empty() { overview() } else { rest };
                ("ask_condition", vec![("text", text.clone())], rest)
            }
        };
        let mut values: Vec<(&str, &str)> =
            values.iter().map(|(key, value)| (*key, value.as_str())).collect();
        values.push(("hypothesis", &hypothesis));
        let question =
            [self.say(name, &values), self.say("ask_hypothesis", &[("hypothesis", &hypothesis)])];
        let rationale = self.say("why_asked", &[]);
        Asked { question: question.join(" "), hypothesis: hypothesis.clone(), rationale }
    }

    fn instead_of_prediction(&self) -> String {
        use super::column::Kind;
        let find =
            |kind| self.columns.iter().position(|column| column.kind == kind && !column.is_id());
        match (find(Kind::Date), find(Kind::Number)) {
            (Some(_), Some(number)) => {
                self.say("hypothesis_trend", &[("column", &self.quoted(number))])
            }
            (Some(_) | None, _) => self.say("hypothesis_overview", &[]),
        }
    }

    fn instead_of_cause(&self) -> String {
        let is_number = |column: &&Column| column.kind == super::column::Kind::Number;
        let enough = self.columns.iter().filter(is_number).count() > 1;
        self.say(if enough { "hypothesis_correlation" } else { "hypothesis_overview" }, &[])
    }
}

fn replaced(question: &str, start: usize, end: usize, by: &str) -> String {
    let before = question.get(..start).unwrap_or_default();
    let after = question.get(end..).unwrap_or_default();
    format!("{before}{by}{after}")
}
