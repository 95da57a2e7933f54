//! Writes the Python of an analysis: names and values as assignments, then the templates as they are. Nothing of a
//! question or a table gets into the code in any other way.

use super::super::schema::{ExpectedOutput, OutputType};
use super::column::{Column, Kind};
use super::literal::Literal;
use super::request::{Analysis, Direction, Filter, Gap, Part, Request, Value};
use super::speak::Speaker;
use super::words::{Aggregate, Chart, Compare};

const COMMON: &str = include_str!("../../../../config/analyst/templates/common.py");

/// Texts of tables and facts; a template gets those that it names.
const LABELS: [&str; 60] = [
    "rows_selected",
    "missing",
    "rows",
    "columns",
    "missing_cells",
    "duplicates",
    "column",
    "type",
    "present",
    "distinct",
    "mean",
    "std",
    "min",
    "median",
    "max",
    "statistics",
    "column_summary",
    "rows_with_missing",
    "missing_share",
    "missing_values",
    "quarter",
    "three_quarters",
    "most_frequent",
    "frequency",
    "frequencies",
    "count",
    "rows_alike",
    "duplicate_rows",
    "other_column",
    "correlation",
    "strongest",
    "groups",
    "total",
    "share",
    "cumulative",
    "pareto",
    "period",
    "periods",
    "highest",
    "from",
    "to",
    "distribution",
    "points",
    "group",
    "outliers",
    "all_together",
    "difference",
    "lowest",
    "other",
    "value",
    "day",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "more",
    "hour",
];

pub(super) struct Written {
    pub(super) code: String,
    pub(super) outputs: Vec<ExpectedOutput>,
}

pub(super) fn write(request: &Request, columns: &[Column], speaker: &Speaker<'_>) -> Written {
    let template = template(request.analysis);
    let mut settings = settings(request, columns, speaker);
    settings.push(("labels", labels(template, columns, speaker)));
    let named = number_of(&settings);
    let file = |ending: &str| format!("{}-{named}.{ending}", request.analysis.name());
    let (figure, table) = (has_figure(request).then(|| file("png")), file("csv"));
    settings.push(("figure_file", figure.clone().map_or(Literal::None, Literal::Text)));
    settings.push(("table_file", Literal::text(table.clone())));
    let assignments: String =
        settings.iter().map(|(name, value)| format!("{name} = {}\n", value.python())).collect();
    let code = format!(
        "{assignments}
{COMMON}{template}"
    );
    let title = speaker.title(request);
    let mut outputs = Vec::new();
    let mut add = |file_name, output_type| {
        outputs.push(ExpectedOutput { file_name, description: title.clone(), output_type });
    };
    if let Some(figure) = figure {
        add(figure, OutputType::Figure);
    }
    if template.contains("keep(") {
        add(table, OutputType::Table);
    }
    Written { code, outputs }
}

fn template(analysis: Analysis) -> &'static str {
    match analysis {
        Analysis::Overview => include_str!("../../../../config/analyst/templates/overview.py"),
        Analysis::Missing => include_str!("../../../../config/analyst/templates/missing.py"),
        Analysis::Describe => include_str!("../../../../config/analyst/templates/describe.py"),
        Analysis::Columns => include_str!("../../../../config/analyst/templates/columns.py"),
        Analysis::Duplicates => include_str!("../../../../config/analyst/templates/duplicates.py"),
        Analysis::Correlation => {
            include_str!("../../../../config/analyst/templates/correlation.py")
        }
        Analysis::Group => include_str!("../../../../config/analyst/templates/group.py"),
        Analysis::Trend => include_str!("../../../../config/analyst/templates/trend.py"),
        Analysis::Rows => include_str!("../../../../config/analyst/templates/rows.py"),
        Analysis::Hist => include_str!("../../../../config/analyst/templates/hist.py"),
        Analysis::Scatter => include_str!("../../../../config/analyst/templates/scatter.py"),
        Analysis::Line => include_str!("../../../../config/analyst/templates/line.py"),
        Analysis::Box => include_str!("../../../../config/analyst/templates/box.py"),
    }
}

fn has_figure(request: &Request) -> bool {
    match request.analysis {
        Analysis::Group => !request.keys.is_empty(),
        Analysis::Missing
        | Analysis::Correlation
        | Analysis::Trend
        | Analysis::Hist
        | Analysis::Scatter
        | Analysis::Line
        | Analysis::Box => true,
        Analysis::Overview
        | Analysis::Describe
        | Analysis::Columns
        | Analysis::Duplicates
        | Analysis::Rows => false,
    }
}

fn settings(
    request: &Request,
    columns: &[Column],
    speaker: &Speaker<'_>,
) -> Vec<(&'static str, Literal)> {
    let name = |at: &usize| columns[*at].name.clone();
    let names = |at: &[usize]| Literal::texts(at.iter().map(name));
    let filters = request.filters.iter().map(|filter| filter_literal(filter, columns)).collect();
    let mut settings = vec![
        ("title", Literal::text(speaker.title(request))),
        ("filters", Literal::List(filters)),
        ("columns", names(&request.columns)),
    ];
    settings.extend(read(request, columns));
    match request.analysis {
        Analysis::Overview
        | Analysis::Missing
        | Analysis::Describe
        | Analysis::Columns
        | Analysis::Duplicates => {}
        Analysis::Correlation => {
            settings.push(("named_columns", names(&request.columns)));
            // One named column is compared with all others.
            if request.columns.len() < 2 {
                let is_other = |at: &usize| !request.columns.contains(at);
                let numbers = (0..columns.len()).filter(|at| columns[*at].kind == Kind::Number);
                let others = numbers.filter(is_other).collect::<Vec<_>>();
                settings[2].1 = names(&[request.columns.clone(), others].concat());
            }
        }
        Analysis::Group => {
            settings.push(("measures", measures(request, columns, speaker)));
            settings.extend(group(request, columns));
        }
        Analysis::Trend => {
            settings.push(("measures", measures(request, columns, speaker)));
            settings.extend(trend(request, columns));
        }
        Analysis::Rows => {
            let by = request.columns.first();
            let is_date = by.is_some_and(|at| columns[*at].kind == Kind::Date);
            settings.extend([
                ("order_column", by.map_or(Literal::None, |at| Literal::text(name(at)))),
                ("order_is_date", Literal::Bool(is_date)),
                ("order", order(request)),
                ("limit", limit(request)),
            ]);
        }
        Analysis::Hist | Analysis::Scatter | Analysis::Line | Analysis::Box => {
            let axis = |at: usize| {
                request.columns.get(at).map_or(Literal::None, |at| Literal::text(name(at)))
            };
            settings.extend([("x", axis(0)), ("y", axis(1)), ("keys", names(&request.keys))]);
        }
    }
    settings
}

/// How the table is read, before anything is computed of it.
fn read(request: &Request, columns: &[Column]) -> [(&'static str, Literal); 4] {
    [
        ("either", either(request, columns)),
        ("date_formats", formats(columns)),
        ("products", products(columns)),
        ("prepared", prepared(request, columns)),
    ]
}

fn trend(request: &Request, columns: &[Column]) -> [(&'static str, Literal); 8] {
    let (date, grain) = request.date.map_or((Literal::None, ""), |(date, grain)| {
        (Literal::text(columns[date].name.clone()), grain.code())
    });
    [
        ("keys", Literal::texts(request.keys.iter().map(|at| columns[*at].name.clone()))),
        ("date", date),
        ("grain", Literal::text(grain)),
        ("chart", chart(request)),
        ("order", request.order.map_or(Literal::None, |_| order(request))),
        ("limit", limit(request)),
        ("is_compared", Literal::Bool(request.is_compared)),
        ("share", Literal::Bool(request.part == Some(Part::Share))),
    ]
}

fn group(request: &Request, columns: &[Column]) -> [(&'static str, Literal); 9] {
    let is_dated = |at: &usize| columns[*at].kind == Kind::Date;
    let in_time = request.order.is_none() && request.keys.iter().any(is_dated);
    [
        ("keys", Literal::texts(request.keys.iter().map(|at| columns[*at].name.clone()))),
        ("order", order(request)),
        ("limit", limit(request)),
        ("share", Literal::Bool(request.part == Some(Part::Share))),
        ("pareto", Literal::Bool(request.part == Some(Part::Pareto))),
        ("dated_keys", Literal::Bool(in_time)),
        ("chart", chart(request)),
        ("is_compared", Literal::Bool(request.is_compared)),
        ("focus", Literal::texts(request.focus.clone())),
    ]
}

/// How dates are written, where the table says it.
fn formats(columns: &[Column]) -> Literal {
    let format =
        |column: &Column| Some((column.name.clone(), Literal::text(column.format.clone()?)));
    Literal::Dict(columns.iter().filter_map(format).collect())
}

fn products(columns: &[Column]) -> Literal {
    let product = |column: &Column| {
        let (one, other) = column.factors?;
        let names = [columns.get(one)?.name.clone(), columns.get(other)?.name.clone()];
        Some((column.name.clone(), Literal::texts(names)))
    };
    Literal::Dict(columns.iter().filter_map(product).collect())
}

/// What is done about missing values: the columns, and a number or what is computed of the others.
fn prepared(request: &Request, columns: &[Column]) -> Literal {
    let Some(prepare) = &request.prepare else { return Literal::None };
    let is_number =
        |at: &usize| columns[*at].kind == Kind::Number && columns[*at].factors.is_none();
    let mut filled = prepare.columns.clone();
    if filled.is_empty() && prepare.how != Gap::Dropped {
        filled = (0..columns.len()).filter(is_number).collect();
    }
    let how = match prepare.how {
        Gap::Dropped => Literal::None,
        Gap::Filled(number) => Literal::Number(number),
        Gap::FilledBy(how) => Literal::text(how.name()),
    };
    let names = Literal::texts(filled.iter().map(|at| columns[*at].name.clone()));
    Literal::List(vec![names, how])
}

fn either(request: &Request, columns: &[Column]) -> Literal {
    let any = |any: &Vec<Filter>| {
        Literal::List(any.iter().map(|filter| filter_literal(filter, columns)).collect())
    };
    Literal::List(request.either.iter().map(any).collect())
}

fn limit(request: &Request) -> Literal {
    request.limit.map_or(Literal::None, Literal::Count)
}

fn measures(request: &Request, columns: &[Column], speaker: &Speaker<'_>) -> Literal {
    let mut taken: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let measure = |(column, how): &(Option<usize>, Aggregate)| {
        let label = free(speaker.measure(*column, *how), &taken);
        taken.push(label.clone());
        let column = column.map_or(Literal::None, |at| Literal::text(columns[at].name.clone()));
        Literal::List(vec![column, Literal::text(how.name()), Literal::text(label)])
    };
    Literal::List(request.measures.iter().map(measure).collect())
}

/// A heading that no column has.
fn free(mut label: String, taken: &[String]) -> String {
    while taken.contains(&label) {
        label.push('*');
    }
    label
}

fn labels(template: &str, columns: &[Column], speaker: &Speaker<'_>) -> Literal {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let is_used = |name: &&str| {
        let quoted = format!("\"{name}\"");
        template.contains(&quoted) || COMMON.contains(&format!("labels[{quoted}]"))
    };
    let label = |name: &str| (name.to_owned(), Literal::text(free(speaker.label(name), &names)));
    Literal::Dict(LABELS.into_iter().filter(is_used).map(label).collect())
}

fn filter_literal(filter: &Filter, columns: &[Column]) -> Literal {
    let (kind, value) = match &filter.value {
        Value::None => ("text", Literal::None),
        Value::Number(number) => ("number", Literal::Number(*number)),
        Value::Text(text) => ("text", Literal::text(text.clone())),
        Value::Date(day) => ("date", Literal::text(day.clone())),
        Value::Numbers(numbers) => {
            ("number", Literal::List(numbers.iter().copied().map(Literal::Number).collect()))
        }
        Value::Texts(texts) => ("text", Literal::texts(texts.clone())),
        Value::Months(months) => {
            ("month", Literal::List(months.iter().copied().map(Literal::Count).collect()))
        }
        Value::Periods(periods) => {
            let period =
                |(start, next): &(String, String)| Literal::texts([start.clone(), next.clone()]);
            ("period", Literal::List(periods.iter().map(period).collect()))
        }
    };
    Literal::List(vec![
        Literal::text(columns[filter.column].name.clone()),
        Literal::text(operator(filter)),
        value,
        Literal::text(kind),
    ])
}

pub(super) fn operator(filter: &Filter) -> &'static str {
    match &filter.value {
        Value::Numbers(_) | Value::Texts(_) | Value::Months(_) | Value::Periods(_) => {
            if filter.compare == Compare::Ne { "not_in" } else { "in" }
        }
        Value::None | Value::Number(_) | Value::Text(_) | Value::Date(_) => filter.compare.name(),
    }
}

fn order(request: &Request) -> Literal {
    Literal::text(match request.order {
        Some(Direction::Ascending) => "ascending",
        Some(Direction::Descending) | None => "descending",
    })
}

fn chart(request: &Request) -> Literal {
    let name = |chart| match chart {
        Chart::Hist => "hist",
        Chart::Scatter => "scatter",
        Chart::Line => "line",
        Chart::Bar => "bar",
        Chart::Pie => "pie",
        Chart::Box => "box",
    };
    request.chart.map_or(Literal::None, |chart| Literal::text(name(chart)))
}

/// A name for the files of an analysis: the same for the same analysis, so that another one does not overwrite them.
fn number_of(settings: &[(&'static str, Literal)]) -> String {
    let mut number: u64 = 0xcbf2_9ce4_8422_2325;
    for (name, value) in settings {
        for byte in name.bytes().chain(value.python().bytes()) {
            number = (number ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{:06x}", number & 0xff_ffff)
}
