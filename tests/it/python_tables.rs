//! Data files of every make, charts in Japanese, and what libraries need under the filter.

use crate::python::{Lab, SALES, environment};
use kakehashi::python::PythonError;
use serde_json::{Value, json};
use std::fmt::Write;
use std::process::Command;
use std::time::Instant;

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// What is told of a file: the kind, and the line if there is one.
fn repairs(name: &str) -> Vec<(&'static str, Option<Value>)> {
    match name {
        "bad.csv" => vec![("skipped_row", Some(json!(3)))],
        "headers.csv" => {
            vec![("empty_header", None), ("duplicate_header", None), ("duplicate_header", None)]
        }
        "empty.csv" => vec![("empty_file", None)],
        "header.csv" => vec![("header_only", None)],
        _ => vec![],
    }
}

#[tokio::test]
async fn files_of_every_make_are_read_and_repairs_are_told() {
    let cp932 = b"\x93\xfa\x95t,\x8b\xe0\x8az\n2024-01-01,10\n";
    let wide = utf16("日付\t金額\n2024-01-01\t10\n");
    let bom = [b"\xef\xbb\xbf", SALES.as_bytes()].concat();
    let files: [(&str, &[u8]); 11] = [
        ("seven.csv", b"a,b\n1,x\n2,y\n3,z\n4,\n5,v\n6,w\n7,u\n"),
        ("cp932.csv", cp932),
        ("wide.csv", &wide),
        ("bom.csv", &bom),
        ("semicolon.csv", b"a;b\n1,5;2\n3,5;4\n"),
        ("pipe.csv", b"a|b\n1|2\n"),
        ("quoted.csv", b"a,b\n\"x\ny\",\"1,5\"\nz,2\n"),
        ("bad.csv", b"a,b\n1,2\n1,2,3,4\n5,6\n"),
        ("headers.csv", b"a,,a, a \n1,2,3,4\n"),
        ("empty.csv", b""),
        ("header.csv", b"a,b\n"),
    ];
    let Some(mut lab) = Lab::new(&files).await else { return };
    let stop = Default::default();
    let info = lab.interpreter.describe("seven.csv", &stop).await.unwrap();
    assert_eq!((info.shape, info.head.len()), ([7, 2], 5));
    assert_eq!(info.dtypes["a"], "int64");
    assert_eq!(Value::from(info.head[3].clone()), json!({"a": 4, "b": null}));
    assert!(info.warnings.is_empty() && info.sampled.is_none());
    for (name, shape, columns, encoding, delimiter) in [
        ("cp932.csv", [1, 2], vec!["日付", "金額"], "cp932", ","),
        ("wide.csv", [1, 2], vec!["日付", "金額"], "utf-16", "\t"),
        ("bom.csv", [3, 3], vec!["date", "region", "amount"], "utf-8-sig", ","),
        ("semicolon.csv", [2, 2], vec!["a", "b"], "utf-8", ";"),
        ("pipe.csv", [1, 2], vec!["a", "b"], "utf-8", "|"),
        ("quoted.csv", [2, 2], vec!["a", "b"], "utf-8", ","),
        ("bad.csv", [2, 2], vec!["a", "b"], "utf-8", ","),
        ("headers.csv", [1, 4], vec!["a", "column_2", "a_2", "a_3"], "utf-8", ","),
        ("empty.csv", [0, 0], vec![], "utf-8", ","),
        ("header.csv", [0, 2], vec!["a", "b"], "utf-8", ","),
    ] {
        let info = lab.interpreter.describe(name, &stop).await.unwrap();
        assert_eq!(
            (info.shape, &info.columns),
            (shape, &columns.iter().map(|one| (*one).to_owned()).collect()),
            "{name}"
        );
        assert_eq!(
            (info.encoding.as_str(), info.delimiter.as_str()),
            (encoding, delimiter),
            "{name}"
        );
        let told: Vec<_> = info
            .warnings
            .iter()
            .map(|one| (one["kind"].as_str().unwrap(), one.get("line").cloned()))
            .collect();
        assert_eq!(told, repairs(name), "{name}");
        // Actions read it the same way.
        let done = lab.run(&format!("print(list(dfs['{name}'].shape))")).await;
        assert_eq!(done.stdout, format!("[{}, {}]\n", shape[0], shape[1]), "{name}: {done:?}");
    }
    assert!(matches!(lab.interpreter.describe("../x", &stop).await, Err(PythonError::Name(_))));
    lab.interpreter.end().await;
}

#[tokio::test]
async fn nonsense_is_a_table_or_an_error_and_nothing_else() {
    let Some(mut lab) = Lab::new(&[("binary.csv", b"\x00\xff\xfe\x80,\x81\n\x9f")]).await else {
        return;
    };
    match lab.interpreter.describe("binary.csv", &Default::default()).await {
        Ok(_) | Err(PythonError::Table(_)) => (),
        Err(err) => panic!("{err}"),
    }
    assert_eq!(lab.run("print('alive')").await.stdout, "alive\n");
    lab.interpreter.end().await;
}

#[tokio::test]
async fn of_a_large_file_a_part_is_read_and_that_is_told() {
    let mut text = String::from("number,text,more\n");
    for number in 0..1_200_000 {
        let _ = writeln!(text, "{number},some text that is different {number},{}", "y".repeat(20));
    }
    assert!(text.len() > 50_000_000);
    let Some(mut lab) = Lab::new(&[("large.csv", text.as_bytes())]).await else { return };
    let info = lab.interpreter.describe("large.csv", &Default::default()).await.unwrap();
    let sampled = info.sampled.unwrap();
    assert_eq!((info.shape[0], sampled.rows_total), (1_200_000, 1_200_000));
    assert!(sampled.rows_read > 100_000 && sampled.rows_read < 1_200_000, "{sampled:?}");
    let done = lab
        .run("print(len(df)); print(dfs.load('large.csv', columns=['number'])['number'].sum())")
        .await;
    let expected = format!("{}\n", sampled.rows_read);
    assert!(done.stdout.contains(&expected) && done.stdout.contains("rows were read]"), "{done:?}");
    lab.interpreter.end().await;
}

#[tokio::test]
async fn japanese_letters_are_drawn_and_not_boxes() {
    let Some(mut lab) = Lab::new(&[]).await else { return };
    let code = r#"
def drawn(letter):
    figure = plt.figure(figsize=(1, 1))
    figure.text(0.2, 0.2, letter, fontsize=40)
    figure.canvas.draw()
    return bytes(figure.canvas.buffer_rgba())
import warnings
warnings.simplefilter("ignore")
missing, blank = drawn("\U000e0fff"), drawn(" ")
seen = {drawn(letter) for letter in "売上の推移髙﨑①㈱"}
print(len(seen), missing in seen, blank in seen)
sns.set_theme()
plt.figure(); plt.title("売上の推移"); plt.plot([1, 2]); plt.gcf().canvas.draw()
for theme in ("ggplot", "seaborn-v0_8", "fivethirtyeight"):
    plt.style.use(theme)
    print(drawn("売") == drawn("\U000e0fff"))
"#;
    let done = lab.run(code).await;
    assert_eq!(done.failure, None, "{done:?}");
    assert_eq!(done.stdout, "9 False False\nFalse\nFalse\nFalse\n");
    lab.interpreter.end().await;
}

#[tokio::test]
async fn libraries_work_under_the_filter() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    let code = r#"
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
data = load_iris()
search = GridSearchCV(RandomForestClassifier(n_estimators=5, random_state=0), {"max_depth": [2, 3]}, n_jobs=-1)
print(search.fit(data.data, data.target).score(data.data, data.target) > 0.9)
print(KMeans(3, n_init=2, random_state=0).fit(data.data).inertia_ > 0)
print(make_pipeline(StandardScaler(), PCA(2)).fit_transform(data.data).shape)
frame = pd.DataFrame(data.data, columns=["a", "b", "c", "d"]).assign(kind=data.target)
sns.heatmap(frame.corr()); plt.savefig("heat.png")
sns.pairplot(frame, hue="kind", vars=["a", "b"]).savefig("pairs.png")
sns.regplot(data=frame, x="a", y="b"); plt.savefig("regression.svg")
plt.figure(); sns.kdeplot(frame["a"])
frame.groupby("kind").agg(["mean", "std"]).to_csv("groups.csv")
frame.to_json("frame.json")
print(pd.to_datetime(df["date"]).dt.tz_localize("Asia/Tokyo").iloc[0])
print(np.linalg.svd(np.ones((300, 300)))[1][0].round())
with open("notes.txt", "w") as file: file.write("x")
"#;
    let done = lab.run(code).await;
    assert_eq!(done.failure, None, "{done:?}");
    assert_eq!(done.stdout, "True\nTrue\n(150, 2)\n2024-01-01 00:00:00+09:00\n300.0\n");
    let mut names: Vec<_> = done.outputs.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "figure-1.png",
            "frame.json",
            "groups.csv",
            "heat.png",
            "notes.txt",
            "pairs.png",
            "regression.svg"
        ]
    );
    lab.interpreter.end().await;
}

/// Figures depend on the machine: they are printed, and only what is wrong by an order of magnitude is a failure.
#[tokio::test]
async fn a_warm_action_begins_soon_and_computes_as_fast_as_elsewhere() {
    const CODE: &str = "import time\nrng = np.random.default_rng(0)\n\
        frame = pd.DataFrame({'key': rng.integers(0, 1000, 1_000_000), 'value': rng.random(1_000_000)})\n\
        begun = time.perf_counter()\nfor _ in range(5): frame.groupby('key')['value'].agg(['mean', 'sum', 'max'])\n\
        print(round(time.perf_counter() - begun, 3))";
    let files = [("sales.csv", SALES.as_bytes())];
    environment().await;
    let cold = Instant::now();
    let Some(mut lab) = Lab::new(&files).await else { return };
    assert_eq!(lab.run("1").await.failure, None);
    let cold = cold.elapsed();
    let warm = lab.run("print('first line')").await.elapsed;
    let boxed: f64 = lab.run(CODE).await.stdout.trim().parse().unwrap();
    let mut bare = Command::new(environment().await.directory().join("bin/python"));
    bare.arg("-c").arg(format!("import numpy as np, pandas as pd\n{CODE}"));
    let bare = bare.output().unwrap().stdout;
    let bare: f64 = String::from_utf8(bare).unwrap().trim().parse().unwrap();
    println!("cold {cold:?}, warm {warm:?}, group-by of a million rows {boxed} s, bare {bare} s");
    assert!(warm.as_secs() < 5, "{warm:?}");
    assert!(boxed < bare * 12.0, "{boxed} {bare}");
    lab.interpreter.end().await;
}
