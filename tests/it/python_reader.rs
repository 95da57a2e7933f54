//! What the reader of CSV files understands of files as people and programs export them.

use crate::python::Lab;
use kakehashi::python::{DataFrameInfo, PythonError};
use serde_json::{Value, json};
use std::fmt::Write;

async fn described(lab: &mut Lab, name: &str) -> DataFrameInfo {
    lab.interpreter.describe(name, &Default::default()).await.unwrap()
}

fn kinds(info: &DataFrameInfo) -> Vec<&str> {
    info.warnings.iter().map(|one| one["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn headers_are_found_below_titles_and_missing_names_are_made() {
    let files: [(&str, &[u8]); 8] = [
        ("title.csv", b"Sales report\n\nname,qty,price\npen,1,2.5\nbook,2,3\n"),
        ("padded.csv", b"Report,,\nPeriod:,2024-01,\nname,qty,price\npen,1,2.5\n"),
        ("titles.csv", b"Shop,Tokyo,By,Sato\nday,item,qty,price,sum\n2024-01-01,pen,1,2,3\n2024-01-02,ink,1,2,3\n"),
        ("short.csv", b"a,b\n1,2,3\n4,5,6\n7,8,9\n"),
        ("one.csv", b"name\nx,1\ny,2\n"),
        ("none.csv", b"1,2.5,x\n3,4.5,y\n5,6.5,z\n"),
        ("years.csv", b"shop,2022,2023\nnorth,10,20\nsouth,11,22\n"),
        ("first.csv", b"a,b\n1,2,3,4\n5,6\n7,8\n"),
    ];
    let Some(mut lab) = Lab::new(&files).await else { return };
    for (name, rows, columns, warnings) in [
        ("title.csv", 2, &["name", "qty", "price"][..], &["title_rows"][..]),
        ("padded.csv", 1, &["name", "qty", "price"], &["title_rows"]),
        ("titles.csv", 2, &["day", "item", "qty", "price", "sum"], &["title_rows"]),
        ("short.csv", 3, &["a", "b", "column_3"], &["short_header"]),
        ("one.csv", 2, &["column_1", "column_2"], &["title_rows", "no_header"]),
        ("none.csv", 3, &["column_1", "column_2", "column_3"], &["no_header"]),
        ("years.csv", 2, &["shop", "2022", "2023"], &[]),
        ("first.csv", 2, &["a", "b"], &["skipped_row"]),
    ] {
        let info = described(&mut lab, name).await;
        assert_eq!((info.shape[0], kinds(&info).as_slice()), (rows, warnings), "{name}: {info:?}");
        assert_eq!(info.columns, columns, "{name}");
        let done = lab.run(&format!("print(len(dfs['{name}']), list(dfs['{name}']))")).await;
        let columns = json!(columns).to_string().replace('"', "'").replace(',', ", ");
        assert_eq!(done.stdout, format!("{rows} {columns}\n"), "{name}: {done:?}");
    }
    let title = &described(&mut lab, "padded.csv").await.warnings[0];
    assert_eq!((&title["count"], &title["text"]), (&json!(2), &json!("Report / Period: 2024-01")));
    lab.interpreter.end().await;
}

#[tokio::test]
async fn numbers_are_numbers_however_they_are_written_and_codes_stay_texts() {
    let files: [(&str, &[u8]); 5] = [
        ("codes.csv", "zip,tel,id,n\n0600001,0312345678,12345678901234567890,1\n1000001,0312345679,7,2\n".as_bytes()),
        ("comma.csv", b"a;b;c\n1.234,56;12.500;1,5\n-7,5;300;2\n"),
        ("point.csv", "n,yen,mixed,neg\n\"1,234\",\"￥1,200\",\"1,234\",\"△1,000\"\n\"12,345\",￥500,many,5\n".as_bytes()),
        ("pairs.csv", b"a,b\n\"1,5\",\"1,50\"\n2,\"12,95\"\n"),
        ("plain.csv", b"i,f,e,m,t\n1,.5,1e3,1,True\n-2,2,5,,False\n"),
    ];
    let Some(mut lab) = Lab::new(&files).await else { return };
    for (name, dtypes, first) in [
        (
            "codes.csv",
            &["str", "str", "str", "int64"][..],
            json!(["0600001", "0312345678", "12345678901234567890", 1]),
        ),
        ("comma.csv", &["float64", "int64", "float64"], json!([1234.56, 12500, 1.5])),
        ("point.csv", &["int64", "int64", "str", "int64"], json!([1234, 1200, "1,234", -1000])),
        ("pairs.csv", &["str", "float64"], json!(["1,5", 1.5])),
        (
            "plain.csv",
            &["int64", "float64", "float64", "float64", "bool"],
            json!([1, 0.5, 1000.0, 1.0, true]),
        ),
    ] {
        let info = described(&mut lab, name).await;
        let told: Vec<_> = info.columns.iter().map(|one| info.dtypes[one].as_str()).collect();
        assert_eq!(told, dtypes, "{name}");
        let row: Vec<Value> = info.columns.iter().map(|one| info.head[0][one].clone()).collect();
        assert_eq!(Value::from(row), first, "{name}");
        assert!(info.warnings.is_empty(), "{name}: {info:?}");
        let done = lab.run(&format!("print([str(one) for one in dfs['{name}'].dtypes])")).await;
        let dtypes = json!(dtypes).to_string().replace('"', "'").replace(',', ", ");
        assert_eq!(done.stdout, format!("{dtypes}\n"), "{name}: {done:?}");
    }
    lab.interpreter.end().await;
}

#[tokio::test]
async fn dates_and_the_values_of_texts_are_told() {
    let dates = "iso,slash,british,american,japanese,either,wrong,stamp\n\
        2024-01-05,2024/1/5,13/01/2024,1/13/2024,2024年1月5日,1/2/2024,2024-02-30,2024-01-01 10:00:00\n\
        2024-02-06,2024/2/6,1/2/2024,2/1/2024,2024年2月6日,3/4/2024,2024-02-01,2024-01-02 11:30:00\n";
    let mut many = String::from("few,many,long\n");
    for number in 0..300 {
        let _ = writeln!(many, "{},x{number},{}", ["a", "b"][number % 2], "l".repeat(61));
    }
    let Some(mut lab) =
        Lab::new(&[("dates.csv", dates.as_bytes()), ("many.csv", many.as_bytes())]).await
    else {
        return;
    };
    let info = described(&mut lab, "dates.csv").await;
    let told: Vec<_> =
        info.columns.iter().map(|one| info.dates.get(one).map_or("", String::as_str)).collect();
    let expected = [
        "%Y-%m-%d",
        "%Y/%m/%d",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%Y年%m月%d日",
        "",
        "",
        "%Y-%m-%d %H:%M:%S",
    ];
    assert_eq!(told, expected);
    assert!(info.dtypes.values().all(|one| one == "str"), "{:?}", info.dtypes);
    let info = described(&mut lab, "many.csv").await;
    assert_eq!(json!(info.values), json!({"few": ["a", "b"]}));
    lab.interpreter.end().await;
}

#[tokio::test]
async fn what_is_no_table_is_refused_with_what_to_send() {
    let files: [(&str, &[u8]); 8] = [
        ("list.json", br#"[{"a": 1}, {"a": 2}]"#),
        ("object.json", br#"{"a": [1, 2]}"#),
        ("lines.json", b"{\"a\": 1}\n{\"a\": 2}\n"),
        ("book.xlsx", b"PK\x03\x04\x14\0\x06\0"),
        ("table.parquet", b"PAR1\x15\x04\x15"),
        ("binary.csv", b"\x00\xff\xfe\x80,\x81\n\x9f"),
        ("page.csv", b"<!DOCTYPE html><table>"),
        ("brackets.csv", b"[a],[b]\n1,2\n"),
    ];
    let Some(mut lab) = Lab::new(&files).await else { return };
    for (name, said) in [
        ("list.json", "JSON and not a table"),
        ("object.json", "JSON and not a table"),
        ("lines.json", "JSON and not a table"),
        ("book.xlsx", "an Excel workbook"),
        ("table.parquet", "a Parquet file"),
        ("binary.csv", "not text"),
        ("page.csv", "a page"),
    ] {
        let refused = lab.interpreter.describe(name, &Default::default()).await;
        let Err(PythonError::Table(why)) = refused else { panic!("{name}: {refused:?}") };
        assert!(why.contains(said) && why.contains("export the table as CSV"), "{name}: {why}");
    }
    assert_eq!(described(&mut lab, "brackets.csv").await.columns, ["[a]", "[b]"]);
    lab.interpreter.end().await;
}

#[tokio::test]
async fn warnings_that_are_too_many_are_counted() {
    let text = format!("a,b\n{}{}", "1,2\n".repeat(200), "1,2,3\n".repeat(60));
    let Some(mut lab) = Lab::new(&[("many.csv", text.as_bytes())]).await else { return };
    let info = described(&mut lab, "many.csv").await;
    assert_eq!((info.shape, info.warnings.len()), ([200, 2], 50));
    assert_eq!(json!(info.warnings[49]), json!({"kind": "more_warnings", "count": 11}));
    lab.interpreter.end().await;
}

#[tokio::test]
async fn chosen_columns_have_the_rows_of_the_whole_table() {
    let mut large = String::from("number,text,more\n");
    for number in 0..1_200_000 {
        let surplus = if number % 100_000 == 7 { ",surplus" } else { "" };
        let _ = writeln!(large, "{number},different {number},{}{surplus}", "y".repeat(25));
    }
    assert!(large.len() > 50_000_000);
    let files: [(&str, &[u8]); 2] =
        [("large.csv", large.as_bytes()), ("wide.csv", b"a,b\n1,2\n3,4,5\n\n6\n\"7\n\",8\n")];
    let Some(mut lab) = Lab::new(&files).await else { return };
    for name in ["large.csv", "wide.csv"] {
        let code = format!(
            "whole = dfs['{name}']\n\
             print([dfs.load('{name}', columns=[one])[one].equals(whole[one]) for one in whole])"
        );
        let done = lab.run(&code).await;
        assert!(!done.stdout.contains("False") && done.stdout.contains("[True, True"), "{done:?}");
    }
    let sampled = described(&mut lab, "large.csv").await.sampled.unwrap();
    assert_eq!(sampled.rows_total, 1_200_000 - 12);
    let done = lab.run("print(list(dfs['wide.csv']['b']))").await;
    assert_eq!(done.stdout, "[2.0, nan, 8.0]\n", "{done:?}");
    lab.interpreter.end().await;
}

/// A table that cannot be read is an error only where it is used.
#[tokio::test]
async fn the_table_is_read_only_by_code_that_uses_it() {
    let Some(mut lab) = Lab::new(&[("page.csv", b"<html>")]).await else { return };
    for code in [
        "print('done')  # df",
        "pdf = 'df'; print('done')",
        "x = {'df': 1}; print('done')",
        "df = pd.DataFrame({'a': [1]}); print('done' if len(df) else '')",
    ] {
        assert_eq!(lab.run(code).await.stdout, "done\n", "{code}");
    }
    lab.interpreter.end().await;
    let Some(mut lab) = Lab::new(&[("a.csv", b"n\n1\n")]).await else { return };
    for code in [
        "def f():\n    return len(df)\nprint(f())",
        "df = df[df['n'] > 0]\nprint(len(df))",
        "df['m'] = 2\nprint(len(df))",
        "print(eval('len(df)'))",
        "if True:\n    df = df.copy()\nprint(len(df))",
    ] {
        assert_eq!(lab.run(code).await.stdout, "1\n", "{code}");
    }
    lab.interpreter.end().await;
}
