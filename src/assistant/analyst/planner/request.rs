//! An analysis in the closed vocabulary of the planner: what a question was understood as, before any code is written.

use super::value::Date;
use super::words::{Aggregate, Chart, Compare, Grain};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Analysis {
    Overview,
    Missing,
    Describe,
    Columns,
    Duplicates,
    Correlation,
    Group,
    Trend,
    Rows,
    Hist,
    Scatter,
    Line,
    Box,
}

/// Columns are named by their places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) analysis: Analysis,
    /// What is looked at: the columns of a summary, the axes of a chart.
    pub(super) columns: Vec<usize>,
    pub(super) keys: Vec<usize>,
    /// What is computed of which column; without a column the rows are counted.
    pub(super) measures: Measures,
    pub(super) filters: Vec<Filter>,
    /// Of each of these one filter has to hold.
    pub(super) either: Vec<Vec<Filter>>,
    /// What is done about missing values before anything else.
    pub(super) prepare: Option<Prepare>,
    /// Whether groups are set beside each other, so that their difference and the whole are told.
    pub(super) is_compared: bool,
    /// Values of a key that are asked for, of the whole.
    pub(super) focus: Vec<String>,
    pub(super) date: Option<(usize, Grain)>,
    pub(super) order: Option<Direction>,
    pub(super) limit: Option<u32>,
    pub(super) part: Option<Part>,
    pub(super) chart: Option<Chart>,
    pub(super) suppositions: Vec<Supposition>,
}

/// Columns, and what is computed of each.
pub(super) type Measures = Vec<(Option<usize>, Aggregate)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

/// What is computed of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Share,
    Pareto,
}

/// What is done about missing values of columns; without columns, of all.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prepare {
    pub(super) columns: Vec<usize>,
    pub(super) how: Gap,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Gap {
    /// Rows with one are left out.
    Dropped,
    Filled(f64),
    FilledBy(Aggregate),
}

/// All filters have to hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    pub(super) column: usize,
    pub(super) compare: Compare,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    None,
    Number(f64),
    Text(String),
    /// As `2024-03-01`.
    Date(String),
    /// One of several.
    Numbers(Vec<f64>),
    Texts(Vec<String>),
    /// Months of any year.
    Months(Vec<u32>),
    /// Their first days, and the first days after them.
    Periods(Vec<(String, String)>),
}

/// What the question did not say.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Supposition {
    OnlyNumber(usize),
    Aggregate(usize, Aggregate),
    CountRows,
    FirstDate(usize),
    Grain(Grain),
    IsValue(String, usize),
    InPeriod(Date, usize),
    InMonths(Vec<u32>, usize),
    Percent(f64, f64),
    Limit(u32),
    Frequencies(usize),
    NumbersAsTexts(usize),
    SameAsBefore,
    /// The rows of a product are computed one by one.
    Product(usize),
    /// Hours are those of the day, on whatever day.
    ComesAgain(Grain),
    /// Nobody said in which direction.
    Direction(Direction),
    /// The values are shown one by one, and all together.
    Beside(usize),
}

impl Value {
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::None | Self::Number(_) | Self::Date(_) | Self::Numbers(_) => None,
            Self::Texts(_) | Self::Months(_) | Self::Periods(_) => None,
        }
    }
}

impl Request {
    pub(super) fn new(analysis: Analysis) -> Self {
        Self {
            analysis,
            columns: Vec::new(),
            keys: Vec::new(),
            measures: Vec::new(),
            filters: Vec::new(),
            either: Vec::new(),
            prepare: None,
            is_compared: false,
            focus: Vec::new(),
            date: None,
            order: None,
            limit: None,
            part: None,
            chart: None,
            suppositions: Vec::new(),
        }
    }
}

impl Analysis {
    /// The name of its template and of its texts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Missing => "missing",
            Self::Describe => "describe",
            Self::Columns => "columns",
            Self::Duplicates => "duplicates",
            Self::Correlation => "correlation",
            Self::Group => "group",
            Self::Trend => "trend",
            Self::Rows => "rows",
            Self::Hist => "hist",
            Self::Scatter => "scatter",
            Self::Line => "line",
            Self::Box => "box",
        }
    }
}
