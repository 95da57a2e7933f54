//! What the words of questions mean.

use serde::Deserialize;

/// What a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Intent(Intent),
    Chart(Chart),
    Aggregate(Aggregate),
    Grain(Grain),
    Compare(Compare),
    Order(Order),
    Glue(Glue),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Intent {
    Overview,
    Missing,
    Describe,
    Columns,
    Duplicates,
    Correlation,
    Trend,
    Share,
    Pareto,
    Rows,
    Prediction,
    Web,
    Cause,
    /// Something stands where nothing stood.
    Fill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Chart {
    Hist,
    Scatter,
    Line,
    Bar,
    Box,
    Pie,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Aggregate {
    Sum,
    Mean,
    Count,
    Median,
    Min,
    Max,
    Unique,
    Std,
    Var,
    /// Below which so many of a hundred are.
    #[serde(skip)]
    Percentile(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grain {
    Day,
    Week,
    Month,
    Quarter,
    Year,
    /// Of the week, whatever week it is.
    Weekday,
    /// Of the day, whatever day it is.
    Hour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Compare {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    Contains,
    NotContains,
    IsNull,
    NotNull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// As the rows stand in the table.
    First,
    Top,
    Bottom,
    /// The one that has the most.
    Most,
    Least,
    Descending,
    Ascending,
}

/// Words that connect others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Glue {
    /// Stands after what is grouped by.
    Each,
    /// Stands before what is grouped by.
    Per,
    And,
    Or,
    Of,
    Subject,
    From,
    Until,
    Object,
    Only,
    Reference,
    Yes,
    No,
    Between,
    OneOf,
    Versus,
    /// Stands before what is left out.
    Except,
    /// Stands after what is left out.
    Excluded,
    /// Sets values beside each other.
    Contrast,
    /// Stands before or after what is put in order.
    Ranked,
    Which,
    /// A time that depends on the day on which it is asked.
    Relative,
    DayFirst,
    MonthFirst,
    Filler,
}

impl Aggregate {
    /// As the templates call it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Count => "count",
            Self::Median => "median",
            Self::Min => "min",
            Self::Max => "max",
            Self::Unique => "unique",
            Self::Std => "std",
            Self::Var => "var",
            Self::Percentile(part) => return format!("percentile:{part}"),
        }
        .to_owned()
    }

    /// Whether it counts rows, whatever is in them.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Count | Self::Unique)
    }
}

impl Grain {
    /// As pandas calls it.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Day => "D",
            Self::Week => "W",
            Self::Month => "M",
            Self::Quarter => "Q",
            Self::Year => "Y",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
        }
    }

    /// The name of its text.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Day => "by_day",
            Self::Week => "by_week",
            Self::Month => "by_month",
            Self::Quarter => "by_quarter",
            Self::Year => "by_year",
            Self::Weekday => "by_weekday",
            Self::Hour => "by_hour",
        }
    }

    /// Whether its periods come again, so that they are no course of time.
    pub(super) fn comes_again(self) -> bool {
        matches!(self, Self::Weekday | Self::Hour)
    }
}

impl Compare {
    /// As the closed vocabulary of filters calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Contains => "contains",
            Self::NotContains => "not_contains",
            Self::IsNull => "is_null",
            Self::NotNull => "not_null",
        }
    }

    pub(super) fn takes_value(self) -> bool {
        !matches!(self, Self::IsNull | Self::NotNull)
    }

    /// What holds of every other value.
    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Contains => Self::NotContains,
            Self::NotContains => Self::Contains,
            Self::IsNull => Self::NotNull,
            Self::NotNull => Self::IsNull,
        }
    }
}
