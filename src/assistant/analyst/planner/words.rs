//! The words of questions, from `config/analyst/words.*.toml`. Words of both languages are understood in every question.

use super::fold;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Chart {
    Hist,
    Scatter,
    Line,
    Bar,
    Box,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grain {
    Day,
    Week,
    Month,
    Quarter,
    Year,
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
    IsNull,
    NotNull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Top,
    Bottom,
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
    Filler,
}

#[derive(Debug, Deserialize)]
struct File {
    intent: BTreeMap<Intent, Vec<String>>,
    chart: BTreeMap<Chart, Vec<String>>,
    aggregate: BTreeMap<Aggregate, Vec<String>>,
    grain: BTreeMap<Grain, Vec<String>>,
    compare: BTreeMap<Compare, Vec<String>>,
    order: BTreeMap<Order, Vec<String>>,
    glue: BTreeMap<Glue, Vec<String>>,
    scale: Scale,
    fold: Option<Fold>,
    mark: Option<Marks>,
    alike: Option<Alike>,
}

#[derive(Debug, Deserialize)]
struct Scale {
    words: Vec<(String, f64)>,
    #[serde(default)]
    units: Vec<String>,
}

/// How half-width katakana are read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Fold {
    pub(super) half: String,
    pub(super) full: String,
    pub(super) voiced: Vec<String>,
    pub(super) half_voiced: Vec<String>,
    pub(super) voiced_mark: String,
    pub(super) half_voiced_mark: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Marks {
    pub(super) quotes: Vec<String>,
    pub(super) year: String,
    pub(super) month: String,
    pub(super) day: String,
    pub(super) percent: String,
    pub(super) open: String,
    pub(super) close: String,
}

#[derive(Debug, Default, Deserialize)]
struct Alike {
    groups: Vec<Vec<String>>,
    averaged: Vec<String>,
}

/// All words, folded.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) all: Vec<(Vec<char>, Word)>,
    pub(super) scales: Vec<(Vec<char>, f64)>,
    pub(super) units: Vec<Vec<char>>,
    pub(super) marks: Marks,
    /// Names of columns that usually mean the same.
    pub(super) alike: Vec<Vec<String>>,
    /// Parts of names of columns of which a mean says more than a sum.
    pub(super) averaged: Vec<String>,
}

/// Loaded apart from the words, which are folded with it.
pub(super) fn half_width() -> &'static Fold {
    static FOLD: LazyLock<Fold> = LazyLock::new(|| {
        let files = files().into_iter();
        files.filter_map(|file| file.fold).next().unwrap_or_default()
    });
    &FOLD
}

pub(super) fn words() -> &'static Words {
    static WORDS: LazyLock<Words> = LazyLock::new(|| {
        let mut words = Words::default();
        for file in files() {
            words.add(file);
        }
        words
    });
    &WORDS
}

fn files() -> Vec<File> {
    let texts = [
        include_str!("../../../../config/analyst/words.ja.toml"),
        include_str!("../../../../config/analyst/words.en.toml"),
    ];
    // A test reads both files, so that none is left out here.
    texts.iter().filter_map(|text| toml::from_str(text).ok()).collect()
}

impl Words {
    fn add(&mut self, file: File) {
        self.take(file.intent, Word::Intent);
        self.take(file.chart, Word::Chart);
        self.take(file.aggregate, Word::Aggregate);
        self.take(file.grain, Word::Grain);
        self.take(file.compare, Word::Compare);
        self.take(file.order, Word::Order);
        self.take(file.glue, Word::Glue);
        let scales = file.scale.words.iter();
        self.scales.extend(scales.map(|(text, scale)| (fold::key(text), *scale)));
        // The longest word counts.
        self.scales.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        self.units.extend(file.scale.units.iter().map(|text| fold::key(text)));
        self.marks = file.mark.unwrap_or(std::mem::take(&mut self.marks));
        if let Some(alike) = file.alike {
            let folded = |names: &Vec<String>| names.iter().map(|name| fold::text(name)).collect();
            self.alike = alike.groups.iter().map(folded).collect();
            self.averaged = folded(&alike.averaged);
        }
    }

    fn take<K>(&mut self, group: BTreeMap<K, Vec<String>>, word: impl Fn(K) -> Word)
    where
        K: Copy,
    {
        for (meaning, texts) in group {
            self.all.extend(texts.iter().map(|text| (fold::key(text), word(meaning))));
        }
    }
}

impl Aggregate {
    /// As pandas and the texts call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Count => "count",
            Self::Median => "median",
            Self::Min => "min",
            Self::Max => "max",
            Self::Unique => "unique",
        }
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
        }
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
            Self::IsNull => "is_null",
            Self::NotNull => "not_null",
        }
    }

    pub(super) fn takes_value(self) -> bool {
        !matches!(self, Self::IsNull | Self::NotNull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read() {
        for text in [
            include_str!("../../../../config/analyst/words.ja.toml"),
            include_str!("../../../../config/analyst/words.en.toml"),
        ] {
            if let Err(err) = toml::from_str::<File>(text) {
                panic!("{err}");
            }
        }
        let fold = half_width();
        assert_eq!(fold.half.chars().count(), fold.full.chars().count());
    }

    #[test]
    fn no_word_means_two_things() {
        let mut known: BTreeMap<&[char], Word> = BTreeMap::new();
        for (text, word) in &words().all {
            let text = text.as_slice();
            let other = known.insert(text, *word);
            assert!(other.is_none_or(|other| other == *word), "{text:?}: {other:?}, {word:?}");
        }
    }
}
