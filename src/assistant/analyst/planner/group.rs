//! Analyses of groups, of periods, and of the rows themselves.

use super::column::Kind;
use super::lex::Is;
use super::request::{Analysis, Direction, Measures, Part, Request, Supposition};
use super::understand::{Doubt, Reader};
use super::words::{Aggregate, Chart, Glue, Grain, Intent, Order, Word};

impl Reader<'_> {
    /// "The highest" is a maximum, or the group that has the most. What is asked for says which.
    pub(super) fn superlatives(&mut self, keys: &[usize], limit: Option<u32>) {
        let mentioned = self.mentioned();
        let has_noun = !keys.is_empty()
            || !self.of_kind(&mentioned, Kind::Text).is_empty()
            || self.grain().is_some();
        let is_listed = self.has(Intent::Rows) || limit.is_some();
        let has_number = !self.of_kind(&mentioned, Kind::Number).is_empty();
        let is_which = self.says(Glue::Which);
        let said: Vec<(usize, Word)> = self
            .words()
            .filter(|(_, word)| matches!(word, Word::Aggregate(_) | Word::Order(_)))
            .collect();
        let aggregates = said.iter().filter(|(_, word)| matches!(word, Word::Aggregate(_))).count();
        for (at, word) in said {
            let next = self.tokens.get(at + 1).map(|token| token.is.clone());
            let is_of_another = matches!(next, Some(Is::Word(Word::Aggregate(_))));
            let ranks = (is_which && aggregates == 1) || (is_of_another && keys.is_empty());
            let is_extreme = !has_noun && !is_listed && !is_which && has_number && aggregates == 0;
            let pairs = [(Aggregate::Max, Order::Most), (Aggregate::Min, Order::Least)];
            for (how, order) in pairs.map(|(how, order)| (Word::Aggregate(how), Word::Order(order)))
            {
                if word == how && ranks {
                    self.tokens[at].is = Is::Word(order);
                } else if word == order && is_extreme {
                    self.tokens[at].is = Is::Word(how);
                }
            }
        }
    }

    pub(super) fn trend(
        &mut self,
        mut keys: Vec<usize>,
        limit: Option<u32>,
        chart: Option<Chart>,
    ) -> Result<Request, Doubt> {
        let mut suppositions = Vec::new();
        let periods = self.found.periods;
        let (date, grain) = self.over(&mut keys, &mut suppositions)?;
        self.of_periods()?;
        if let Some((at, _)) = self.words().find(|(_, word)| *word == Word::Intent(Intent::Pareto))
        {
            // What has come together so far is not what is in a period.
            let token = &self.tokens[at];
            let (text, start, end) = (token.text.clone(), token.start, token.end);
            return Err(Doubt::Condition { text, start, end });
        }
        let order = self.order();
        if order == Some(Order::First) {
            return Err(self.first_of_what());
        }
        self.measure_is_known(order.is_some() || periods.is_some())?;
        let (measures, supposed) = self.measures()?;
        suppositions.extend(supposed);
        self.not_in_each(order, &keys, &self.all(Kind::Date))?;
        for key in self.of_kind(&self.mentioned(), Kind::Text) {
            let is_measured = measures.iter().any(|(column, _)| *column == Some(key));
            if !is_measured && !keys.contains(&key) {
                keys.push(key);
            }
        }
        for key in std::mem::take(&mut self.found.beside) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let part = (chart == Some(Chart::Pie) || self.has(Intent::Share)).then_some(Part::Share);
        if part.is_some() && !keys.is_empty() {
            return Err(Doubt::NoShares);
        }
        Ok(Request {
            keys,
            measures,
            date: Some((date, grain)),
            chart,
            suppositions,
            limit,
            part,
            order: order.map(direction),
            is_compared: periods.is_some(),
            ..Request::new(Analysis::Trend)
        })
    }

    /// The dates of a course of time, and the length of its periods.
    fn over(
        &self,
        keys: &mut Vec<usize>,
        suppositions: &mut Vec<Supposition>,
    ) -> Result<(usize, Grain), Doubt> {
        let mut dates = self.of_kind(&self.mentioned(), Kind::Date);
        dates.extend(self.of_kind(keys, Kind::Date));
        keys.retain(|key| !dates.contains(key));
        let known = self.all(Kind::Date);
        let periods = self.found.periods;
        let first = periods.map(|(column, _)| column).or(dates.first().copied());
        let Some(date) = first.or(known.first().copied()) else {
            return Err(Doubt::NoDate);
        };
        if dates.is_empty() && periods.is_none() {
            suppositions.push(Supposition::FirstDate(date));
        }
        let grain = self.grain().or(periods.map(|(_, grain)| grain)).unwrap_or_else(|| {
            suppositions.push(Supposition::Grain(Grain::Month));
            Grain::Month
        });
        if grain == Grain::Hour && !self.columns[date].has_time {
            return Err(Doubt::NoTimes);
        }
        if grain.comes_again() {
            suppositions.push(Supposition::ComesAgain(grain));
        }
        Ok((date, grain))
    }

    pub(super) fn grouped(
        &mut self,
        mut keys: Vec<usize>,
        limit: Option<u32>,
        chart: Option<Chart>,
    ) -> Result<Request, Doubt> {
        let mentioned = self.mentioned();
        let aggregates = self.words().any(|(_, word)| matches!(word, Word::Aggregate(_)));
        let part = self.part(chart);
        let mut suppositions = Vec::new();
        let order = self.order().or_else(|| self.ranked(&mentioned, &mut suppositions));
        let numbers = self.of_kind(&mentioned, Kind::Number);
        let texts = self.of_kind(&mentioned, Kind::Text);
        let lists = self.has(Intent::Rows);
        let ranks = order.is_some() && order != Some(Order::First) && !lists;
        if self.lists_by(&keys) && order.is_some() && !aggregates {
            return self.looked_at(keys, limit, order, suppositions);
        }
        let is_only_measured = self.has_conditions() && !lists && !self.has(Intent::Describe);
        let compares = aggregates
            || part.is_some()
            || chart.is_some()
            || (ranks && !(numbers.is_empty() && texts.is_empty()))
            || !self.found.beside.is_empty()
            || (is_only_measured && !numbers.is_empty());
        if keys.is_empty() && !compares {
            return self.looked_at(mentioned, limit, order, suppositions);
        }
        if order == Some(Order::First) {
            return Err(self.first_of_what());
        }
        if ranks {
            self.not_in_each(order, &keys, &texts)?;
        }
        let beside = std::mem::take(&mut self.found.beside);
        let contrasts = self.says(Glue::Contrast) || self.found.contrasts;
        let is_compared = !beside.is_empty() && (keys.is_empty() || contrasts);
        if is_compared {
            suppositions.extend(beside.iter().map(|column| Supposition::Beside(*column)));
        }
        self.measure_is_known(is_compared || ranks)?;
        let measures = self.measures_in(order, &mut suppositions)?;
        if is_compared {
            let is_new = |column: &usize| !keys.contains(column);
            let front: Vec<usize> = beside.into_iter().filter(is_new).collect();
            keys.splice(0..0, front);
        }
        self.add_keys(&mut keys, &texts, &measures, part);
        self.has_groups(&keys, part.is_some() || chart.is_some())?;
        if keys.is_empty() && ranks && !aggregates {
            return self.looked_at(mentioned, limit, order, Vec::new());
        }
        Ok(Request {
            keys,
            measures,
            order: order.map(direction),
            limit: limited(limit, order, &mut suppositions),
            part,
            chart,
            suppositions,
            is_compared,
            ..Request::new(Analysis::Group)
        })
    }

    /// Shares and bars are those of groups.
    fn has_groups(&self, keys: &[usize], is_needed: bool) -> Result<(), Doubt> {
        if !keys.is_empty() || !is_needed {
            return Ok(());
        }
        let text = self.all(Kind::Text).into_iter().take(1).collect::<Vec<_>>();
        Err(if text.is_empty() { Doubt::Nothing } else { Doubt::WhichColumns(text) })
    }

    /// "The first three rows by date" groups nothing.
    fn lists_by(&self, keys: &[usize]) -> bool {
        let is_text = |key: &usize| self.columns[*key].kind == Kind::Text;
        self.has(Intent::Rows) && keys.len() == 1 && !keys.iter().any(is_text)
    }

    fn has_conditions(&self) -> bool {
        !self.found.filters.is_empty() || !self.found.either.is_empty()
    }

    fn part(&self, chart: Option<Chart>) -> Option<Part> {
        if self.has(Intent::Pareto) {
            return Some(Part::Pareto);
        }
        (self.has(Intent::Share) || chart == Some(Chart::Pie)).then_some(Part::Share)
    }

    fn measures_in(
        &self,
        order: Option<Order>,
        suppositions: &mut Vec<Supposition>,
    ) -> Result<Measures, Doubt> {
        self.numeric_aggregates()?;
        let (mut measures, supposed) = self.measures()?;
        let guessed = supposed.iter().any(|one| matches!(one, Supposition::Aggregate(..)));
        suppositions.extend(supposed);
        if let Some(order @ (Order::Most | Order::Least)) = order
            && guessed
        {
            self.extremes(order, &mut measures, suppositions);
        }
        Ok(measures)
    }

    /// Texts that are named are grouped by.
    fn add_keys(
        &self,
        keys: &mut Vec<usize>,
        texts: &[usize],
        measures: &Measures,
        part: Option<Part>,
    ) {
        let is_new = |column: &usize| !measures.iter().any(|(one, _)| *one == Some(*column));
        for text in texts.iter().copied().filter(is_new) {
            if !keys.contains(&text) {
                keys.push(text);
            }
        }
        // The share of one value is a share of all values of its column.
        if keys.is_empty() && part == Some(Part::Share) {
            let is_text = |column: &usize| self.columns[*column].kind == Kind::Text;
            let filtered = self.found.filters.iter().map(|filter| filter.column);
            keys.extend(filtered.filter(is_text).take(1));
        }
    }

    /// An order without a direction: dates go on, and numbers go down.
    fn ranked(&self, mentioned: &[usize], suppositions: &mut Vec<Supposition>) -> Option<Order> {
        if !self.says(Glue::Ranked) {
            return None;
        }
        let is_number = |column: &usize| self.columns[*column].kind == Kind::Number;
        let goes_on = !mentioned.iter().any(is_number)
            && mentioned.iter().any(|column| self.columns[*column].kind == Kind::Date);
        let order = if goes_on { Order::Ascending } else { Order::Descending };
        suppositions.push(Supposition::Direction(direction(order)));
        Some(order)
    }

    /// What is compared or put in order has to be said, or there is only one number.
    fn measure_is_known(&self, is_needed: bool) -> Result<(), Doubt> {
        let is_said = self.words().any(|(_, word)| matches!(word, Word::Aggregate(_)))
            || !self.of_kind(&self.mentioned(), Kind::Number).is_empty();
        let known = self.summed();
        if !is_needed || is_said || known.is_empty() {
            return Ok(());
        }
        Err(self.which_measure())
    }

    /// Supposes what was sold, or the first number.
    fn which_measure(&self) -> Doubt {
        let known = self.summed();
        let is_sold = |column: &&usize| self.columns[**column].is_sold();
        let best = known.iter().find(is_sold).or(known.first()).copied();
        best.map_or(Doubt::TooFewNumbers, |column| Doubt::WhichColumns(vec![column]))
    }

    /// The highest price is the highest, and not the mean of some.
    fn extremes(
        &self,
        order: Order,
        measures: &mut [(Option<usize>, Aggregate)],
        suppositions: &mut Vec<Supposition>,
    ) {
        let extreme = if order == Order::Most { Aggregate::Max } else { Aggregate::Min };
        for (column, how) in measures {
            if let (Some(column), Aggregate::Mean) = (*column, *how) {
                *how = extreme;
                let was = Supposition::Aggregate(column, Aggregate::Mean);
                suppositions.retain(|one| *one != was);
                suppositions.push(Supposition::Aggregate(column, extreme));
            }
        }
    }

    /// The first of groups can be meant in many ways.
    fn first_of_what(&self) -> Doubt {
        let first = self.words().find(|(_, word)| *word == Word::Order(Order::First));
        first.map_or(Doubt::Nothing, |(at, _)| {
            let token = &self.tokens[at];
            let (text, start, end) = (token.text.clone(), token.start, token.end);
            Doubt::Condition { text, start, end }
        })
    }

    /// Nothing is computed of groups: rows, statistics or the whole table.
    fn looked_at(
        &self,
        mentioned: Vec<usize>,
        limit: Option<u32>,
        order: Option<Order>,
        mut suppositions: Vec<Supposition>,
    ) -> Result<Request, Doubt> {
        let numbers = self.of_kind(&mentioned, Kind::Number);
        let conditions = self.has_conditions();
        let is_only_filter = conditions && mentioned.is_empty();
        if self.has(Intent::Rows)
            || order.is_some()
            || (is_only_filter && !self.has(Intent::Describe) && !self.has(Intent::Overview))
        {
            let ranked = mentioned.iter().find(|column| self.columns[**column].kind != Kind::Text);
            if order.is_none() && !conditions && mentioned.is_empty() && limit.is_none() {
                return Err(Doubt::Nothing);
            }
            let is_placed = order.is_some() && order != Some(Order::First);
            // "The top three" of what?
            if is_placed && ranked.is_none() {
                return Err(self.which_measure());
            }
            let columns = ranked.copied().filter(|_| is_placed).into_iter().collect();
            let is_one = matches!(order, Some(Order::Most | Order::Least));
            let usual = if is_one { 1 } else { 10 };
            if limit.is_none() && !is_one {
                suppositions.push(Supposition::Limit(usual));
            }
            let (order, limit) = (order.map(direction), limit.or(Some(usual)));
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

/// "The top" without a number are ten.
fn limited(
    limit: Option<u32>,
    order: Option<Order>,
    suppositions: &mut Vec<Supposition>,
) -> Option<u32> {
    let named_top = limit.is_none() && matches!(order, Some(Order::Top | Order::Bottom));
    suppositions.extend(named_top.then_some(Supposition::Limit(10)));
    limit.or(named_top.then_some(10))
}

fn direction(order: Order) -> Direction {
    match order {
        Order::First | Order::Top | Order::Most | Order::Descending => Direction::Descending,
        Order::Bottom | Order::Least | Order::Ascending => Direction::Ascending,
    }
}
