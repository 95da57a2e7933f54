//! File lists: what an unchanged one costs, and the first scan of a large project.

use crate::Plan;
use crate::client::{Client, frame};
use crate::report::{Of, Report, Row, Target, median, ratio};
use crate::server::{Home, Server};
use crate::wire::{self, Known};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const FEW: usize = 100;
const MANY: usize = 100_000;
const FILES_PER_DIRECTORY: usize = 100;
/// What the reference does for every list.
const WALK: &str = "import os, sys
for place, _, names in os.walk(sys.argv[1]):
    for name in names:
        os.stat(os.path.join(place, name)).st_mtime";

pub(crate) async fn lists(plan: &Plan, report: &mut Report) {
    let (few, many) = (Home::new(), Home::new());
    for (home, count) in [(&few, FEW), (&many, MANY)] {
        make_files(&home.project(), count);
        make_files(&home.data().join("temp/local/input"), count);
    }
    first_scan(plan, report, &many).await;
    let (few_server, many_server) = (Server::gateway(&few), Server::gateway(&many));
    let (mut few, mut many) = (Asker::new(&few_server).await, Asker::new(&many_server).await);
    for (kind, what) in [
        ("files_backup", "unchanged files_backup, 100,000 files"),
        ("files_temp", "unchanged files_temp, 100,000 files"),
    ] {
        let few_known = Known::of(&few.whole(kind).await);
        let many_known = Known::of(&many.whole(kind).await);
        assert_eq!((few_known.count, many_known.count), (FEW, MANY), "{kind} is not complete");
        let (mut few_times, mut many_times) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..plan.list_rounds {
            few_times.push(few.again(kind, &few_known).await.0);
            let (time, size) = many.again(kind, &many_known).await;
            many_times.push(time);
            bytes = size;
        }
        report.add(&Row {
            what,
            unit: "ms",
            gateway: median(many_times.clone()),
            against: Some(("100 files", median(few_times.clone()))),
            result: Of::Ratio(ratio(&many_times, &few_times)),
            targets: vec![Target::AtMost(1.2)],
            how: format!(
                "from the request, which names what the client has, to the whole answer of {bytes} bytes; median of {}",
                plan.list_rounds
            ),
        });
    }
}

async fn first_scan(plan: &Plan, report: &mut Report, home: &Home) {
    let what = "first scan of 100,000 files with times";
    let (mut python, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..plan.scans {
        match walk_in_python(&home.project()) {
            Some(seconds) => python.push(seconds),
            None => return report.skip(what, "python3 is missing"),
        }
        // Nobody has asked this gateway for a list yet, so it knows nothing of the project.
        let server = Server::gateway(home);
        let mut asker = Asker::new(&server).await;
        let begun = Instant::now();
        let answer = asker.whole("files_backup").await;
        ours.push(begun.elapsed().as_secs_f64());
        assert_eq!(Known::of(&answer).count, MANY);
    }
    report.add(&Row {
        what,
        unit: "s",
        gateway: median(ours.clone()),
        against: Some(("os.walk", median(python.clone()))),
        result: Of::Ratio(ratio(&python, &ours)),
        targets: vec![Target::AtLeast(2.0)],
        how: format!(
            "the gateway from the first request until the whole list has arrived at a client, Python from its start until every file is stat'ed; times faster, median of {}",
            plan.scans
        ),
    });
}

fn walk_in_python(root: &Path) -> Option<f64> {
    let begun = Instant::now();
    let mut walk = Command::new("python3");
    let status = walk.args(["-c", WALK]).arg(root).stdout(Stdio::null()).status().ok()?;
    status.success().then(|| begun.elapsed().as_secs_f64())
}

fn make_files(root: &Path, count: usize) {
    for index in 0..count {
        let directory = root.join(format!("part{:04}", index / FILES_PER_DIRECTORY));
        if index % FILES_PER_DIRECTORY == 0 {
            fs::create_dir_all(&directory).unwrap();
        }
        File::create(directory.join(format!("file{index:06}.txt"))).unwrap();
    }
}

/// Asks on one socket and is answered on another.
struct Asker {
    input: Client,
    file: Client,
}

impl Asker {
    async fn new(server: &Server) -> Self {
        let (input, session) = Client::join(server, "input", None).await;
        let file = Client::connect(server, "file", Some(&session)).await;
        Self { input, file }
    }

    async fn whole(&mut self, kind: &str) -> String {
        self.input.send(&frame(&wire::list(kind, None))).await;
        self.file.receive_kind(kind).await.0
    }

    /// Milliseconds and bytes of an answer to somebody who has the list.
    async fn again(&mut self, kind: &str, known: &Known) -> (f64, usize) {
        let begun = Instant::now();
        self.input.send(&frame(&wire::list(kind, Some(known)))).await;
        let (answer, _) = self.file.receive_kind(kind).await;
        (begun.elapsed().as_secs_f64() * 1e3, answer.len())
    }
}
