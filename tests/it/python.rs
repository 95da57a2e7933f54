//! Python that nobody has read: what ordinary analyses can do. All tests use one environment, which is made once.

use kakehashi::process::Launcher;
use kakehashi::python::{
    Action, ActionResult, BoxMeans, DataFile, Environment, Interpreter, Limits, OutputKind,
    PythonError, Variables, Workspace,
};
use kakehashi::sandbox::Means;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// Below the target directory, so that it outlives the tests. `./scripts/test` makes it beforehand.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-data")
}

pub(crate) fn launcher() -> Launcher {
    let supervisor = PathBuf::from(env!("CARGO_BIN_EXE_kakehashi"));
    Launcher { supervisor, owner: "python-tests".into(), variables: Vec::new() }
}

pub(crate) async fn environment() -> &'static Environment {
    static MADE: OnceCell<Environment> = OnceCell::const_new();
    let make = async || {
        let stop = CancellationToken::new();
        // The first one may be below the home of root, where nobody else gets.
        let of_system = Path::new("/usr/bin/python3");
        let python = of_system.exists().then_some(of_system);
        let made = Environment::make(&data(), python, &launcher(), &stop, |_| ()).await;
        match made {
            Err(PythonError::NoPython | PythonError::WrongVersion(_) | PythonError::NoVenv) => {
                Environment::make(&data(), None, &launcher(), &stop, |_| ()).await.unwrap()
            }
            made => made.unwrap(),
        }
    };
    MADE.get_or_init(make).await
}

/// The boxes that this system can make, with Landlock as it is and as an older kernel has it.
pub(crate) fn boxes() -> Vec<BoxMeans> {
    let Ok(found) = BoxMeans::find(&launcher()) else { return Vec::new() };
    let limited = |landlock| {
        let means = Means { landlock, ..found.means.clone() };
        BoxMeans { means, ..found.clone() }
    };
    [found.means.landlock, 2].into_iter().map(limited).collect()
}

/// An interpreter with its files.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) interpreter: Interpreter,
    pub(crate) outside: TempDir,
}

pub(crate) const SALES: &str =
    "date,region,amount\n2024-01-01,東京,10\n2024-01-02,大阪,20\n2024-01-03,東京,30\n";

impl Lab {
    pub(crate) async fn new(files: &[(&str, &[u8])]) -> Option<Self> {
        Self::with(files, Limits::default(), boxes().into_iter().next()?).await
    }

    pub(crate) async fn with(
        files: &[(&str, &[u8])],
        limits: Limits,
        boxes: BoxMeans,
    ) -> Option<Self> {
        let outside = tempfile::tempdir().unwrap();
        let files = files.iter().map(|(name, bytes)| {
            let path = outside.path().join(name);
            fs::write(&path, bytes).unwrap();
            DataFile { name: (*name).to_owned(), path }
        });
        let files: Vec<_> = files.collect();
        let chosen = files.first().map(|one| one.name.clone());
        let workspace = Workspace { files, chosen };
        let stop = CancellationToken::new();
        let started = Interpreter::start(environment().await, &boxes, workspace, limits, &stop);
        Some(Self { interpreter: started.await.unwrap(), outside })
    }

    pub(crate) async fn run(&mut self, code: &str) -> ActionResult {
        self.act(code, Variables::Fresh).await
    }

    pub(crate) async fn act(&mut self, code: &str, variables: Variables) -> ActionResult {
        let action = Action { code: code.to_owned(), variables, time: None };
        self.interpreter.run(&action, &CancellationToken::new(), |_| ()).await.unwrap()
    }
}

#[tokio::test]
async fn an_analysis_sees_its_table_and_hands_over_what_it_has_made() {
    let Some(mut lab) = Lab::new(&[("sales.csv", SALES.as_bytes())]).await else { return };
    let code = "import json\n\
                total = df.groupby('region')['amount'].sum()\n\
                print(json.dumps(total.to_dict(), ensure_ascii=False))\n\
                total.to_csv('total.csv')\n\
                total.plot.bar(title='売上の推移')\n\
                plt.savefig(f'{workspace_dir}/chart.png')\n\
                sns.lineplot(data=df, x='date', y='amount')\n\
                plt.figure(); plt.plot([1, 2])\n\
                print(len(dfs), list(dfs), pd.__name__, np.arange(2).sum())";
    let done = lab.run(code).await;
    assert_eq!(done.failure, None, "{done:?}");
    assert_eq!(done.stdout, "{\"大阪\": 20, \"東京\": 40}\n1 ['sales.csv'] pandas 1\n");
    let outputs: Vec<_> = done.outputs.iter().map(|one| (one.name.as_str(), one.kind)).collect();
    assert_eq!(
        outputs,
        [
            ("total.csv", OutputKind::Table),
            ("chart.png", OutputKind::Figure),
            ("figure-1.png", OutputKind::Figure),
        ]
    );
    assert!(done.outputs[1].bytes.starts_with(b"\x89PNG"));
    // What is there already is not handed over again, and variables are fresh.
    let done = lab.run("print('total' in globals(), open('total.csv').readline())").await;
    assert_eq!(done.stdout, "False region,amount\n\n");
    assert!(done.outputs.is_empty());
    lab.interpreter.end().await;
}
