//! What the planner says to people, in the language of the question.

use super::code::operator;
use super::column::Column;
use super::request::{
    Analysis, Direction, Filter, Gap, Part, Prepare, Request, Supposition, Value,
};
use super::words::{Aggregate, words};
use crate::locale::Locale;

#[derive(Debug, Clone, Copy)]
pub(super) struct Speaker<'a> {
    pub(super) locale: Locale,
    pub(super) columns: &'a [Column],
}

impl Speaker<'_> {
    pub(super) fn say(&self, name: &str, values: &[(&str, &str)]) -> String {
        self.locale.say("analyst", name, values)
    }

    /// A heading of a table or the name of a fact.
    pub(super) fn label(&self, name: &str) -> String {
        self.locale.say("analyst_labels", name, &[])
    }

    pub(super) fn name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |column| &column.name)
    }

    fn names(&self, columns: &[usize]) -> String {
        let names: Vec<_> = columns.iter().map(|at| self.name(*at)).collect();
        names.join(&self.say("and", &[]))
    }

    /// A column in quotes, so that it is found again.
    pub(super) fn quoted(&self, column: usize) -> String {
        let (name, marks) = (self.name(column), &words().marks);
        if name.contains(&marks.close) {
            return name.to_owned();
        }
        format!("{}{name}{}", marks.open, marks.close)
    }

    pub(super) fn measure(&self, column: Option<usize>, how: Aggregate) -> String {
        let how = match how {
            Aggregate::Percentile(part) => self.say("percentile", &[("part", &part.to_string())]),
            Aggregate::Sum | Aggregate::Mean | Aggregate::Count | Aggregate::Median => {
                self.label(&how.name())
            }
            Aggregate::Min | Aggregate::Max | Aggregate::Unique => self.label(&how.name()),
            Aggregate::Std | Aggregate::Var => self.label(&how.name()),
        };
        match column {
            Some(column) => self.say("measure", &[("column", self.name(column)), ("how", &how)]),
            None => how,
        }
    }

    /// What an analysis shows, with its conditions.
    pub(super) fn title(&self, request: &Request) -> String {
        let mut title = self.subject(request);
        if let Some(limit) = request.limit {
            let lowest = request.order == Some(Direction::Ascending);
            let name = if lowest { "title_lowest" } else { "title_limit" };
            title = self.say(name, &[("title", &title), ("limit", &limit.to_string())]);
        }
        let mut filters: Vec<_> =
            request.filters.iter().map(|filter| self.filter(filter)).collect();
        filters.extend(request.either.iter().map(|any| {
            let any: Vec<_> = any.iter().map(|filter| self.filter(filter)).collect();
            format!("({})", any.join(&self.say("or", &[])))
        }));
        filters.extend(request.prepare.iter().map(|prepare| self.prepared(prepare)));
        if filters.is_empty() {
            return title;
        }
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
                let again = request.date.is_some_and(|(_, grain)| grain.comes_again());
                let name = match (again, request.is_compared, request.keys.is_empty()) {
                    (true, _, true) => "title_again",
                    (true, _, false) => "title_again_keys",
                    (false, true, true) => "title_periods",
                    (false, true, false) => "title_periods_keys",
                    (false, false, true) => "title_trend",
                    (false, false, false) => "title_trend_keys",
                };
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

    fn month(&self, month: u32) -> String {
        self.say("month", &[("month", &month.to_string())])
    }

    fn prepared(&self, prepare: &Prepare) -> String {
        let all = self.say("all_columns", &[]);
        let columns = if prepare.columns.is_empty() { all } else { self.names(&prepare.columns) };
        let (name, how) = match prepare.how {
            Gap::Dropped => ("title_dropped", String::new()),
            Gap::Filled(number) => ("title_filled", number.to_string()),
            Gap::FilledBy(how) => ("title_filled", self.label(&how.name())),
        };
        self.say(name, &[("columns", &columns), ("how", &how)])
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
            Value::Months(months) => {
                months.iter().map(|month| self.month(*month)).collect::<Vec<_>>().join(", ")
            }
            Value::Periods(periods) => {
                let named = periods.iter().map(|(start, next)| period_name(start, next));
                named.collect::<Vec<_>>().join(", ")
            }
        };
        let how = match operator(filter) {
            "is_null" => self.say("op_is_null", &[]),
            "not_null" => self.say("op_not_null", &[]),
            "not_in" => self.say("op_not_in", &[]),
            "contains" => self.say("op_contains", &[]),
            "not_contains" => self.say("op_not_contains", &[]),
            other => other.to_owned(),
        };
        let said = [self.name(filter.column), &how, &value].join(" ");
        said.trim_end().to_owned()
    }

    pub(super) fn supposition(&self, supposed: &Supposition) -> String {
        let column = |at: &usize| self.name(*at).to_owned();
        match supposed {
            Supposition::OnlyNumber(at) => {
                self.say("supposed_only_number", &[("column", &column(at))])
            }
            Supposition::Aggregate(at, how) => {
                let how = self.label(&how.name());
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
            Supposition::InMonths(months, at) => {
                let months = months.iter().map(|month| self.month(*month)).collect::<Vec<_>>();
                let months = months.join(&self.say("and", &[]));
                self.say("supposed_months", &[("months", &months), ("column", &column(at))])
            }
            Supposition::SameAsBefore => self.say("supposed_same", &[]),
            Supposition::Product(at) => self.say("supposed_product", &[("column", &column(at))]),
            Supposition::ComesAgain(grain) => {
                self.say("supposed_again", &[("grain", &self.say(grain.name(), &[]))])
            }
            Supposition::Direction(direction) => self.say(
                match direction {
                    Direction::Ascending => "supposed_ascending",
                    Direction::Descending => "supposed_descending",
                },
                &[],
            ),
            Supposition::Beside(at) => self.say("supposed_beside", &[("column", &column(at))]),
        }
    }
}

/// As short as a period can be said: `2024`, `2024-03`, or its first day.
fn period_name(start: &str, next: &str) -> String {
    let is_first = |text: &str, rest: &str| text.ends_with(rest);
    if is_first(start, "-01-01") && is_first(next, "-01-01") {
        start.chars().take(4).collect()
    } else if is_first(start, "-01") && is_first(next, "-01") {
        start.chars().take(7).collect()
    } else {
        start.to_owned()
    }
}
