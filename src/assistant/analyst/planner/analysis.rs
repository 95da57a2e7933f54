//! Chooses the analysis that the words of a question lead to.

use super::column::Kind;
use super::request::{Analysis, Direction, Part, Request, Supposition};
use super::understand::{Doubt, Reader};
use super::words::{Aggregate, Chart, Glue, Grain, Intent, Order, Word};

impl Reader<'_> {
    pub(super) fn analysis(
        &mut self,
        keys: Vec<usize>,
        limit: Option<u32>,
    ) -> Result<Request, Doubt> {
        let chart = self.chart();
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
        if self.grain().is_some() || self.has(Intent::Trend) || is_line {
            return self.trend(keys, chart);
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
            Some(Chart::Hist | Chart::Line | Chart::Bar) | None => Analysis::Hist,
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

    fn trend(&mut self, mut keys: Vec<usize>, chart: Option<Chart>) -> Result<Request, Doubt> {
        let mut dates = self.of_kind(&self.mentioned(), Kind::Date);
        dates.extend(self.of_kind(&keys, Kind::Date));
        keys.retain(|key| !dates.contains(key));
        let mut suppositions = Vec::new();
        let known = self.all(Kind::Date);
        let Some(date) = dates.first().or(known.first()).copied() else {
            return Err(Doubt::NoDate);
        };
        if dates.is_empty() {
            suppositions.push(Supposition::FirstDate(date));
        }
        let grain = self.grain().unwrap_or_else(|| {
            suppositions.push(Supposition::Grain(Grain::Month));
            Grain::Month
        });
        let (measures, supposed) = self.measures()?;
        suppositions.extend(supposed);
        for key in self.of_kind(&self.mentioned(), Kind::Text) {
            let is_measured = measures.iter().any(|(column, _)| *column == Some(key));
            if !is_measured && !keys.contains(&key) {
                keys.push(key);
            }
        }
        let date = Some((date, grain));
        Ok(Request { keys, measures, date, chart, suppositions, ..Request::new(Analysis::Trend) })
    }

    fn grouped(
        &mut self,
        mut keys: Vec<usize>,
        limit: Option<u32>,
        chart: Option<Chart>,
    ) -> Result<Request, Doubt> {
        let mentioned = self.mentioned();
        let aggregates = self.words().any(|(_, word)| matches!(word, Word::Aggregate(_)));
        let part = if self.has(Intent::Pareto) {
            Some(Part::Pareto)
        } else {
            self.has(Intent::Share).then_some(Part::Share)
        };
        let order = self.order();
        let numbers = self.of_kind(&mentioned, Kind::Number);
        let ranks = order.is_some() && !self.has(Intent::Rows);
        // "The first three rows by sales" groups nothing.
        let ranked = keys.len() == 1 && !self.of_kind(&keys, Kind::Text).contains(&keys[0]);
        if self.has(Intent::Rows) && order.is_some() && ranked && !aggregates {
            return self.looked_at(keys, limit, order);
        }
        let compares =
            aggregates || part.is_some() || chart.is_some() || (ranks && !numbers.is_empty());
        if keys.is_empty() && !compares {
            return self.looked_at(mentioned, limit, order);
        }
        self.numeric_aggregates()?;
        let (measures, mut suppositions) = self.measures()?;
        if compares {
            let is_new = |column: &usize| !measures.iter().any(|(one, _)| *one == Some(*column));
            let texts = self.of_kind(&mentioned, Kind::Text);
            keys.extend(texts.into_iter().filter(is_new));
        }
        if keys.is_empty() && (part.is_some() || chart.is_some()) {
            let texts = self.all(Kind::Text);
            return Err(texts
                .first()
                .map_or(Doubt::Nothing, |column| Doubt::WhichColumns(vec![*column])));
        }
        if keys.is_empty() && ranks && !aggregates {
            return self.looked_at(mentioned, limit, order);
        }
        let is_plain = matches!(order, Some(Order::Top | Order::Bottom)) && limit.is_none();
        let named_top = is_plain
            && self.words().any(|(at, word)| {
                let short = self.tokens[at].text.chars().count() <= 6;
                short && matches!(word, Word::Order(Order::Top | Order::Bottom))
            });
        let limit = limit.or(named_top.then_some(10));
        if named_top {
            suppositions.push(Supposition::Limit(10));
        }
        let order = order.map(direction);
        Ok(Request {
            keys,
            measures,
            order,
            limit,
            part,
            chart,
            suppositions,
            ..Request::new(Analysis::Group)
        })
    }

    /// Nothing is computed of groups: rows, statistics or the whole table.
    fn looked_at(
        &self,
        mentioned: Vec<usize>,
        limit: Option<u32>,
        order: Option<Order>,
    ) -> Result<Request, Doubt> {
        let numbers = self.of_kind(&mentioned, Kind::Number);
        let is_only_filter = !self.found.filters.is_empty() && mentioned.is_empty();
        if self.has(Intent::Rows)
            || order.is_some()
            || (is_only_filter && !self.has(Intent::Describe) && !self.has(Intent::Overview))
        {
            let ranked = mentioned.iter().find(|column| self.columns[**column].kind != Kind::Text);
            if order.is_none()
                && self.found.filters.is_empty()
                && mentioned.is_empty()
                && limit.is_none()
            {
                return Err(Doubt::Nothing);
            }
            let columns = ranked.copied().filter(|_| order.is_some()).into_iter().collect();
            let suppositions =
                if limit.is_none() { vec![Supposition::Limit(10)] } else { Vec::new() };
            let (order, limit) = (order.map(direction), limit.or(Some(10)));
            return Ok(Request {
                columns,
                order,
                limit,
                suppositions,
                ..Request::new(Analysis::Rows)
            });
        }
        if self.has(Intent::Describe) || (!numbers.is_empty() && !self.has(Intent::Overview)) {
            let columns = if mentioned.is_empty() { self.all(Kind::Number) } else { numbers };
            if columns.is_empty() {
                return Ok(Request { columns: mentioned, ..Request::new(Analysis::Columns) });
            }
            return Ok(Request { columns, ..Request::new(Analysis::Describe) });
        }
        if self.has(Intent::Overview) {
            return Ok(Request::new(Analysis::Overview));
        }
        if mentioned.is_empty() {
            Err(Doubt::Nothing)
        } else {
            Ok(Request { columns: mentioned, ..Request::new(Analysis::Columns) })
        }
    }
}

fn direction(order: Order) -> Direction {
    match order {
        Order::Top | Order::Descending => Direction::Descending,
        Order::Bottom | Order::Ascending => Direction::Ascending,
    }
}
