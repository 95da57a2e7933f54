//! Chooses the analysis that the words of a question lead to.

use super::column::Kind;
use super::request::{Analysis, Request, Supposition};
use super::understand::{Doubt, Reader};
use super::words::{Aggregate, Chart, Glue, Intent, Word};

impl Reader<'_> {
    pub(super) fn analysis(
        &mut self,
        keys: Vec<usize>,
        limit: Option<u32>,
    ) -> Result<Request, Doubt> {
        let chart = self.chart();
        self.superlatives(&keys, limit);
        if let Some(Chart::Hist | Chart::Scatter | Chart::Box) = chart {
            return self.drawn(chart, keys);
        }
        if self.has(Intent::Correlation) {
            return self.correlation();
        }
        for (intent, analysis) in [
            (Intent::Missing, Analysis::Missing),
            (Intent::Duplicates, Analysis::Duplicates),
            (Intent::Columns, Analysis::Columns),
        ] {
            if self.has(intent) && keys.is_empty() {
                return Ok(Request { columns: self.mentioned(), ..Request::new(analysis) });
            }
        }
        if chart == Some(Chart::Line)
            && self.grain().is_none()
            && !self.has(Intent::Trend)
            && keys.is_empty()
        {
            let numbers = self.of_kind(&self.mentioned(), Kind::Number);
            if let [x, y] = *numbers.as_slice() {
                return Ok(Request { columns: vec![x, y], chart, ..Request::new(Analysis::Line) });
            }
        }
        let is_line = chart == Some(Chart::Line) && keys.is_empty();
        let is_over_time = self.grain().is_some() || self.has(Intent::Trend);
        if is_over_time || is_line || self.found.periods.is_some() {
            return self.trend(keys, limit, chart);
        }
        self.grouped(keys, limit, chart)
    }

    fn drawn(&self, chart: Option<Chart>, mut keys: Vec<usize>) -> Result<Request, Doubt> {
        let mentioned = self.mentioned();
        let mut numbers = self.of_kind(&mentioned, Kind::Number);
        let texts = self.of_kind(&mentioned, Kind::Text);
        let known = self.all(Kind::Number);
        let wanted = if chart == Some(Chart::Scatter) { 2 } else { 1 };
        let mut suppositions = Vec::new();
        if chart == Some(Chart::Hist) && numbers.is_empty() && !texts.is_empty() {
            let suppositions = vec![Supposition::Frequencies(texts[0])];
            let measures = vec![(None, Aggregate::Count)];
            let (keys, chart) = (texts, Some(Chart::Bar));
            return Ok(Request {
                keys,
                measures,
                chart,
                suppositions,
                ..Request::new(Analysis::Group)
            });
        }
        // An axis that was grouped by is an axis all the same: "y by x".
        if chart == Some(Chart::Scatter) {
            numbers.extend(self.of_kind(&keys, Kind::Number));
            keys.clear();
        }
        if numbers.len() < wanted && known.len() == wanted {
            suppositions.extend(known.iter().map(|column| Supposition::OnlyNumber(*column)));
            numbers.clone_from(&known);
        }
        if numbers.len() < wanted {
            let others = known.iter().filter(|column| !numbers.contains(column));
            let supposed: Vec<usize> = others.copied().take(wanted - numbers.len()).collect();
            let enough = numbers.len() + supposed.len() == wanted;
            return Err(if enough { Doubt::WhichColumns(supposed) } else { Doubt::TooFewNumbers });
        }
        numbers.truncate(wanted);
        if self.words().any(|(_, word)| word == Word::Glue(Glue::Versus)) {
            numbers.reverse();
        }
        let analysis = match chart {
            Some(Chart::Scatter) => Analysis::Scatter,
            Some(Chart::Box) => Analysis::Box,
            Some(Chart::Hist | Chart::Line | Chart::Bar | Chart::Pie) | None => Analysis::Hist,
        };
        if analysis == Analysis::Box {
            keys.extend(texts);
        }
        Ok(Request { columns: numbers, keys, chart, suppositions, ..Request::new(analysis) })
    }

    fn correlation(&self) -> Result<Request, Doubt> {
        let mentioned = self.mentioned();
        if let Some(column) = mentioned.iter().find(|at| self.columns[**at].kind != Kind::Number) {
            return Err(Doubt::NotNumeric { column: *column });
        }
        if self.all(Kind::Number).len() < 2 {
            return Err(Doubt::TooFewNumbers);
        }
        Ok(Request { columns: mentioned, ..Request::new(Analysis::Correlation) })
    }
}
