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
    Percent(f64, f64),
    Limit(u32),
    Frequencies(usize),
    NumbersAsTexts(usize),
    NotUsed(String),
    SameAsBefore,
}

impl Request {
    pub(super) fn new(analysis: Analysis) -> Self {
        Self {
            analysis,
            columns: Vec::new(),
            keys: Vec::new(),
            measures: Vec::new(),
            filters: Vec::new(),
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
