//! The words of questions, from `config/analyst/words.*.toml`. Words of both languages are understood in every question.

use super::fold;
pub(super) use super::meaning::{Aggregate, Chart, Compare, Glue, Grain, Intent, Order, Word};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    #[serde(default)]
    months: Vec<Vec<String>>,
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
    /// After, or before, a number that is a share of a hundred in order.
    pub(super) percentile: Vec<String>,
    /// Parts of words that deny something.
    pub(super) negations: Vec<String>,
    /// Comparisons that are hardly said of anything but dates.
    pub(super) temporal: Vec<String>,
    /// What multiplies one column with another.
    pub(super) times: Vec<String>,
    pub(super) open: String,
    pub(super) close: String,
}

#[derive(Debug, Default, Deserialize)]
struct Alike {
    groups: Vec<Vec<String>>,
    averaged: Vec<String>,
    sold: Vec<String>,
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
    /// Parts of names of columns that say how much was sold.
    pub(super) sold: Vec<String>,
    /// Names of months, from January.
    pub(super) months: Vec<(Vec<char>, u32)>,
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
            self.sold = folded(&alike.sold);
        }
        for (month, names) in (1..).zip(&file.months) {
            self.months.extend(names.iter().map(|name| (fold::key(name), month)));
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
