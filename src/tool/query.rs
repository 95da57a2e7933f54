//! The tool `query`: reads a small table of measurements with SQL. The table is invented and lives in memory, each time
//! anew, so nothing that a query does can last or reach anything else.

use super::call::{Call, Outcome, Work, arguments};
use super::registry::{Risk, Tool};
use super::workplace::Workplace;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use serde::Deserialize;
use serde_json::json;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

pub(super) static QUERY: Tool = Tool { name: "query", risk: Risk::Compute, prepare };

const LONGEST: usize = 16 * 1024;
const MOST_ROWS: usize = 200;
/// Bytes of one value. SQLite does not look whether it was interrupted while it makes or searches one.
const LONGEST_VALUE: i32 = 100_000;
/// Bytes of the answer.
const MOST_TEXT: usize = 64 * 1024;
/// A query that takes longer never ends.
const TIME: Duration = Duration::from_secs(5);
/// Days of the table, with a row for each room every three hours.
const DAYS: i32 = 14;
const TABLE: &str = "CREATE TABLE measurement (date TEXT NOT NULL, room TEXT NOT NULL, temperature REAL NOT NULL, \
     humidity REAL NOT NULL, brightness REAL NOT NULL, setpoint REAL NOT NULL)";
const INSERT: &str = "INSERT INTO measurement VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
/// Each room with its usual temperature and humidity.
const ROOMS: [(&str, f64, f64); 5] = [
    ("Room1", 21.0, 45.0),
    ("Room2", 20.0, 48.0),
    ("Bathroom", 23.0, 70.0),
    ("Kitchen", 22.5, 52.0),
    ("Toilet", 19.0, 50.0),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
}

fn prepare(_: &Workplace, text: &str) -> Result<Call, String> {
    let Arguments { query } = arguments(&QUERY, text)?;
    let input = json!({ "query": query });
    let title_values = vec![("query", query.clone())];
    let work = if query.len() > LONGEST || !reads(&query) {
        let why = "query has to be one SELECT of at most 16 KiB on the table measurement";
        Work::Impossible(why.to_owned())
    } else {
        Work::Look(Box::new(move |_| answer(&query)))
    };
    Ok(Call { tool: &QUERY, input, title_values, path: None, lines: None, work })
}

fn reads(query: &str) -> bool {
    let first = query.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next();
    first.is_some_and(|word| ["select", "with"].iter().any(|one| word.eq_ignore_ascii_case(one)))
}

fn answer(query: &str) -> Outcome {
    rows(query).map_err(|err| format!("the query failed: {err}"))
}

fn rows(query: &str) -> Result<String, rusqlite::Error> {
    let data = sample()?;
    let handle = data.get_interrupt_handle();
    let (done, waits) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        if waits.recv_timeout(TIME) == Err(mpsc::RecvTimeoutError::Timeout) {
            handle.interrupt();
        }
    });
    let told = told(&data, query);
    drop(done);
    // It has nothing to fail with.
    let _ = watch.join();
    told
}

fn told(data: &Connection, query: &str) -> Result<String, rusqlite::Error> {
    let mut statement = data.prepare(query)?;
    if !statement.readonly() {
        return Err(rusqlite::Error::InvalidQuery);
    }
    let mut text = statement.column_names().collect::<Vec<_>>().join(",");
    let columns = statement.column_count();
    let mut found = statement.query([])?;
    let mut count = 0;
    while let Some(row) = found.next()? {
        if count == MOST_ROWS || text.len() > MOST_TEXT {
            text.push_str("\n[there are more rows; ask for less at once]");
            break;
        }
        let values: Result<Vec<_>, _> = (0..columns).map(|at| row.get_ref(at).map(shown)).collect();
        text.push('\n');
        text.push_str(&values?.join(","));
        count += 1;
    }
    Ok(text)
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => format!("[{} bytes]", bytes.len()),
    }
}

fn sample() -> Result<Connection, rusqlite::Error> {
    let mut data = Connection::open_in_memory()?;
    data.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    data.execute_batch(TABLE)?;
    let filling = data.transaction()?;
    {
        let mut insert = filling.prepare(INSERT)?;
        for day in 0..DAYS {
            for hour in (0..24).step_by(3) {
                let date = format!("2026-02-{:02}T{hour:02}:00:00", day + 1);
                for (room, temperature, humidity) in ROOMS {
                    let (warm, bright) = at(day, hour);
                    let values = params![
                        date,
                        room,
                        rounded(temperature + warm),
                        rounded(humidity - 2.0 * warm),
                        rounded(bright),
                        temperature.floor(),
                    ];
                    insert.execute(values)?;
                }
            }
        }
    }
    filling.commit()?;
    Ok(data)
}

/// How much warmer it is than usual, and how bright. Noon is warm and bright, and each day a little warmer.
fn at(day: i32, hour: i32) -> (f64, f64) {
    let noon = (f64::from(hour - 6) / 12.0 * std::f64::consts::PI).sin();
    (1.5 * noon + 0.1 * f64::from(day), 400.0 * noon.max(0.0))
}

fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_table_is_read_and_nothing_else_can_be_done() {
        let told = answer("SELECT room, count(*) AS n FROM measurement GROUP BY room").unwrap();
        assert_eq!(told, "room,n\nBathroom,112\nKitchen,112\nRoom1,112\nRoom2,112\nToilet,112");
        let all = answer("select * from measurement").unwrap();
        assert_eq!(all.lines().count(), MOST_ROWS + 2);
        assert!(answer("select nowhere from measurement").unwrap_err().contains("no such column"));
        assert!(answer("select 1; drop table measurement").is_err());
        let place = Workplace::new(Path::new("/"), &[]);
        for query in ["attach 'x' as y", "pragma query_only", "delete from measurement", "", "x"] {
            let call = QUERY.prepare(&place, &json!({ "query": query }).to_string()).unwrap();
            assert!(call.impossible().is_some(), "{query}");
        }
        let insert = "with a as (select 1) insert into measurement select 1, 1, 1, 1, 1, 1";
        assert!(answer(insert).is_err());
    }

    #[test]
    fn no_value_is_huge_and_none_is_searched_for_long() {
        for query in [
            "select hex(zeroblob(300000000))",
            "select length(zeroblob(999999999))",
            "select instr(hex(zeroblob(4000000)), hex(zeroblob(2000000)) || 1)",
        ] {
            assert!(answer(query).unwrap_err().contains("too big"), "{query}");
        }
    }

    #[test]
    fn a_query_without_an_end_is_stopped() {
        let endless =
            "with recursive n(x) as (select 1 union all select x + 1 from n) select sum(x) from n";
        assert!(answer(endless).unwrap_err().contains("interrupted"));
    }
}
