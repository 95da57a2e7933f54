//! The data analyst without a model, and the Python of its sandbox beside Python alone.

use crate::Plan;
use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, Target, median, ratio};
use crate::server::{Home, Server};
use kakehashi::process::Launcher;
use kakehashi::python::{
    Action, BoxMeans, DataFile, Environment, Failure, Interpreter, Limits, Variables, Workspace,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const TABLE: &str = "region,amount\nEast,120\nWest,80\nEast,95\nNorth,40\n";
const QUESTION: &str = "total amount by region as a bar chart";
/// Groups a million rows and prints how long that took, without the time to make them.
const GROUP_BY: &str = "import time\nrng = np.random.default_rng(0)\n\
    frame = pd.DataFrame({'key': rng.integers(0, 1000, 1_000_000), 'value': rng.random(1_000_000)})\n\
    begun = time.perf_counter()\n\
    for _ in range(5): frame.groupby('key')['value'].agg(['mean', 'sum', 'max'])\n\
    print(time.perf_counter() - begun)";
/// Takes memory until there is no more, and says how much that was.
const FILL: &str = "blocks = []\ntry:\n  while True: blocks.append(bytearray(8 << 20))\n\
    except MemoryError: pass\ncount = len(blocks)\nblocks.clear()\nprint(count * 8)";
const LIBRARIES: &str = "import numpy as np, pandas as pd, matplotlib.pyplot, seaborn, sklearn\n";

/// What is measured needs the packages and a sandbox.
struct Lab {
    environment: Environment,
    boxes: BoxMeans,
    home: Home,
}

impl Lab {
    async fn open(report: &mut Report) -> Option<Self> {
        let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-data");
        let supervisor = PathBuf::from(env!("CARGO_BIN_EXE_kakehashi"));
        let launcher = Launcher { supervisor, owner: "bench".into(), variables: Vec::new() };
        let boxes = match BoxMeans::find(&launcher) {
            Ok(boxes) => boxes,
            Err(err) => {
                report.skip("the data analyst", &err.to_string());
                return None;
            }
        };
        let stop = CancellationToken::new();
        let made = Environment::make(&data, None, &launcher, &stop, |step| println!("{step}"));
        let environment = made.await.unwrap();
        let home = Home::new();
        std::fs::create_dir_all(home.data()).unwrap();
        std::os::unix::fs::symlink(data.join("python"), home.data().join("python")).unwrap();
        Some(Self { environment, boxes, home })
    }

    async fn interpreter(&self) -> Interpreter {
        let path = self.home.project().join("sales.csv");
        std::fs::write(&path, TABLE).unwrap();
        let file = DataFile { name: "sales.csv".to_owned(), path };
        let workspace = Workspace { chosen: Some(file.name.clone()), files: vec![file] };
        let (limits, stop) = (Limits::default(), CancellationToken::new());
        let started = Interpreter::start(&self.environment, &self.boxes, workspace, limits, &stop);
        started.await.unwrap()
    }

    /// Python alone, with the same packages.
    fn bare(&self, code: &str) -> String {
        let mut python = Command::new(self.environment.directory().join("bin/python"));
        // The sandbox gives one thread to each library.
        python.env("OPENBLAS_NUM_THREADS", "1").env("OMP_NUM_THREADS", "1");
        let output = python.arg("-c").arg(format!("{LIBRARIES}{code}")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

pub(crate) async fn all(plan: &Plan, report: &mut Report) {
    let Some(lab) = Lab::open(report).await else { return };
    first_chart(&lab, plan, report).await;
    start_up(&lab, plan, report).await;
    computing(&lab, plan, report).await;
}

/// From a question to the first figure, by rules.
async fn first_chart(lab: &Lab, plan: &Plan, report: &mut Report) {
    let server = Server::gateway(&lab.home);
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let mut client = Client::analyst(&server, TABLE).await;
        // The upload has started the interpreter of the session.
        for times in [&mut cold, &mut warm] {
            let begun = Instant::now();
            client.send(&frame(&json!({"type": "ask", "text": QUESTION}).to_string())).await;
            client.receive_text_with("\"artifact\"").await;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            client.receive_text_with("\"done\"").await;
        }
    }
    let how = |which: &str| format!("{which} question of {} sessions, by rules", plan.rounds);
    for (what, times, which) in [
        ("question to first chart, after the upload", cold, "first"),
        ("question to first chart, once more", warm, "second"),
    ] {
        report.add(&Row {
            what,
            unit: "ms",
            gateway: median(times),
            against: None,
            result: Of::Figure,
            targets: Vec::new(),
            how: how(which),
        });
    }
}

async fn start_up(lab: &Lab, plan: &Plan, report: &mut Report) {
    let (mut cold, mut bare, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let begun = Instant::now();
        let mut interpreter = lab.interpreter().await;
        first_line(&mut interpreter).await;
        cold.push(begun.elapsed().as_secs_f64() * 1e3);
        for _ in 0..5 {
            warm.push(first_line(&mut interpreter).await.as_secs_f64() * 1e3);
        }
        interpreter.end().await;
        let begun = Instant::now();
        lab.bare("print(1)");
        bare.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let how = "from the action to the first line that the code prints; bare: a new Python that imports the same libraries";
    for (what, times, target) in [
        ("first line of code, cold sandbox", cold, 4000.0),
        ("first line of code, warm sandbox", warm, 300.0),
    ] {
        report.add(&Row {
            what,
            unit: "ms",
            gateway: median(times),
            against: Some(("bare Python", median(bare.clone()))),
            result: Of::Figure,
            targets: vec![Target::AtMost(target)],
            how: how.to_owned(),
        });
    }
}

/// How long it takes until the code has said something.
async fn first_line(interpreter: &mut Interpreter) -> Duration {
    let begun = Instant::now();
    let mut first = None;
    let action = action("print(1, flush=True)");
    let stop = CancellationToken::new();
    let done = interpreter.run(&action, &stop, |_| {
        first.get_or_insert_with(|| begun.elapsed());
    });
    assert_eq!(done.await.unwrap().failure, None);
    first.unwrap()
}

async fn computing(lab: &Lab, plan: &Plan, report: &mut Report) {
    let mut interpreter = lab.interpreter().await;
    let (mut boxed, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        boxed.push(seconds(&said(&mut interpreter, GROUP_BY).await));
        bare.push(seconds(&lab.bare(GROUP_BY)));
    }
    report.add(&Row {
        what: "group-by of a million rows, five times",
        unit: "s",
        gateway: median(boxed.clone()),
        against: Some(("bare Python", median(bare.clone()))),
        result: Of::Ratio(ratio(&boxed, &bare)),
        targets: vec![Target::AtMost(1.2)],
        how: format!("the same code in the sandbox and in bare Python; medians of {}", plan.rounds),
    });
    let filled = said(&mut interpreter, FILL).await;
    interpreter.end().await;
    report.add(&Row {
        what: "memory that an action gets beside the libraries",
        unit: "MiB",
        gateway: seconds(&filled),
        against: Some(("limit", Limits::default().memory as f64 / f64::from(1 << 20))),
        result: Of::Figure,
        targets: Vec::new(),
        how: "blocks of 8 MiB until MemoryError; the libraries count towards the limit".to_owned(),
    });
}

async fn said(interpreter: &mut Interpreter, code: &str) -> String {
    let done = interpreter.run(&action(code), &CancellationToken::new(), |_| ()).await.unwrap();
    assert!(matches!(done.failure, None | Some(Failure::Ended(_))), "{:?}", done.failure);
    done.stdout
}

fn action(code: &str) -> Action {
    Action { code: code.to_owned(), variables: Variables::Fresh, time: None }
}

fn seconds(text: &str) -> f64 {
    text.trim().parse().unwrap()
}
