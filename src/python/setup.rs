//! Makes an environment: a virtual environment of Python with exactly the packages of the lock file.

use super::environment::{Layout, READY, Step, prefix};
use super::error::PythonError;
use super::found::{self, Found};
use super::program::{self, LOCK, PREPARE};
use crate::process::{self, Launcher, Lines, Pipes, Place, ProgramStdin};
use rustix::fs::{FlockOperation, flock};
use serde::Deserialize;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longer lines of pip are of no interest.
const LONGEST_LINE: usize = 256 * 1024;
/// How often one looks whether somebody else has finished.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long the last words of a program that is gone may take.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How names of variables begin that say how the packages are reached.
const FOR_PIP: [&str; 6] =
    ["PIP_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_"];

type Progress<'a> = &'a mut (dyn FnMut(Step) + Send);

pub(super) async fn make(
    place: &Path,
    python: Option<&Path>,
    launcher: &Launcher,
    stop: &CancellationToken,
    progress: Progress<'_>,
) -> Result<(), PythonError> {
    progress(Step::LookingForPython);
    let python = found::python(python).await?;
    let name = prefix() + &python.version();
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |err| PythonError::File(path, err)
    };
    fs::create_dir_all(place).map_err(failed(place))?;
    let place = place.canonicalize().map_err(failed(place))?;
    let directory = place.join(&name);
    let _lock = lock(&place.join(format!("{name}.lock")), stop, progress).await?;
    if directory.join(READY).exists() {
        let removed = directory.join(READY);
        // Somebody else has just made it, unless its Python has gone since.
        if super::environment::Environment::find(place.parent().unwrap_or(&place)).is_ok() {
            return Ok(());
        }
        fs::remove_file(&removed).map_err(failed(&removed))?;
    }
    match fs::remove_dir_all(&directory) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(failed(&directory)(err)),
        Ok(()) | Err(_) => (),
    }
    fs::create_dir_all(&directory).map_err(failed(&directory))?;
    let maker = Maker { directory: &directory, python: &python, launcher, stop };
    let layout = maker.make(progress).await?;
    let part = directory.join(".ready");
    let text = serde_json::to_vec(&layout).map_err(io::Error::from);
    let written = text.and_then(|text| {
        fs::write(&part, text)?;
        fs::rename(&part, directory.join(READY))
    });
    written.map_err(failed(&directory))
}

/// Held until it is dropped, also by a process that is killed.
async fn lock(
    path: &Path,
    stop: &CancellationToken,
    progress: Progress<'_>,
) -> Result<File, PythonError> {
    let failed = |err| PythonError::File(path.display().to_string(), err);
    let file = File::create(path).map_err(failed)?;
    let mut is_told = false;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => (),
            Err(err) => return Err(failed(err.into())),
        }
        if !is_told {
            progress(Step::Waiting);
            is_told = true;
        }
        let waited = stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await;
        waited.ok_or(PythonError::Cancelled)?;
    }
}

struct Maker<'a> {
    directory: &'a Path,
    python: &'a Found,
    launcher: &'a Launcher,
    stop: &'a CancellationToken,
}

/// What the last step says.
#[derive(Deserialize)]
struct Prepared {
    executable: PathBuf,
    standard: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
}

impl Maker<'_> {
    async fn make(&self, progress: Progress<'_>) -> Result<Layout, PythonError> {
        progress(Step::Creating { python: self.python.version() });
        let (base, directory) = (text(&self.python.executable), text(self.directory));
        let created = self.run(&[&base, "-I", "-m", "venv", &directory], |_| ()).await?;
        if created.is_err() {
            return Err(PythonError::NoVenv);
        }
        self.install(progress).await?;
        progress(Step::Compiling);
        let packages = self.packages()?;
        let fonts = PathBuf::from("fonts");
        let (place, prepare) = (self.directory.join(&fonts), self.directory.join("prepare.py"));
        let failed = |err| PythonError::File(directory.clone(), err);
        fs::create_dir_all(&place).map_err(failed)?;
        fs::write(&prepare, PREPARE).map_err(failed)?;
        let seen_packages = text(&self.directory.join(&packages));
        let mut said = String::new();
        let arguments = [base.as_str(), "-I", "-S", "-B", "-X", "utf8"];
        let own = [text(&prepare), seen_packages, text(&place)];
        let command: Vec<&str> =
            arguments.into_iter().chain(own.iter().map(String::as_str)).collect();
        let prepared = self.run(&command, |line| said = line.to_owned()).await?;
        let broken = |why: String| PythonError::Broken(why, directory.clone());
        prepared.map_err(broken)?;
        let prepared: Prepared =
            serde_json::from_str(&said).map_err(|err| broken(err.to_string()))?;
        let Prepared { executable, standard, libraries } = prepared;
        Ok(Layout { executable, standard, libraries, packages, fonts })
    }

    /// Bytecode comes with it: nobody could write it later.
    async fn install(&self, progress: Progress<'_>) -> Result<(), PythonError> {
        let lock = self.directory.join("requirements.txt");
        fs::write(&lock, LOCK).map_err(|err| PythonError::File(text(&lock), err))?;
        let (inner, lock) = (text(&self.directory.join("bin/python")), text(&lock));
        let command = [
            &inner,
            "-I",
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--no-deps",
            "--compile",
            "--progress-bar",
            "off",
            "-r",
            &lock,
        ];
        let of = program::packages().len();
        let mut at = 0;
        let installed = self.run(&command, |line| {
            if let Some(name) = collected(line) {
                at += 1;
                progress(Step::Installing { name: name.to_owned(), at: at.min(of), of });
            }
        });
        installed.await?.map_err(PythonError::Download)
    }

    /// Relative to the environment.
    fn packages(&self) -> Result<PathBuf, PythonError> {
        let entries = fs::read_dir(self.directory.join("lib"));
        let entries = entries.map_err(|err| PythonError::File(text(self.directory), err))?;
        let named = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
        let mut found = named.map(|name| Path::new("lib").join(name).join("site-packages"));
        let found = found.find(|place| self.directory.join(place).is_dir());
        found.ok_or(PythonError::NoVenv)
    }

    /// Whether the command did its work, and if not what it said last.
    async fn run(
        &self,
        command: &[&str],
        mut on_line: impl FnMut(&str),
    ) -> Result<Result<(), String>, PythonError> {
        let command: Vec<String> = command.iter().map(|&part| part.to_owned()).collect();
        let mut launcher = self.launcher.clone();
        launcher.variables = variables_for_pip();
        let place = Place::open(self.directory);
        let started = process::spawn(&launcher, &command, &place, ProgramStdin::Empty);
        let (mut process, Pipes { stdin, stdout, mut stderr }) =
            started.map_err(PythonError::Asked)?;
        let mut lines = Lines::new(stdout, LONGEST_LINE);
        let reading = async {
            loop {
                tokio::select! {
                    line = lines.next() => match line {
                        Ok(Some(line)) => on_line(&String::from_utf8_lossy(&line)),
                        Ok(None) | Err(_) => break,
                    },
                    _ = stderr.next() => (),
                }
            }
        };
        let is_whole = self.stop.run_until_cancelled(reading).await.is_some();
        if !is_whole {
            process.kill();
        }
        let status = process.gone().await;
        // The supervisor ends when its stdin is closed, so it stays open until here.
        drop(stdin);
        if !is_whole {
            return Err(PythonError::Cancelled);
        }
        stderr.drain(LAST_WORDS).await;
        if status.is_some_and(|status| status.success()) {
            return Ok(Ok(()));
        }
        let words = stderr.last_words();
        let error = words.lines().rev().find(|line| line.starts_with("ERROR"));
        let said = error.or(words.lines().last()).unwrap_or("it said nothing").trim();
        Ok(Err(said.trim_start_matches("ERROR: ").to_owned()))
    }
}

/// Which package pip has just begun with.
fn collected(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix("Collecting ")?;
    name.split(['=', ' ', ';']).next()
}

fn variables_for_pip() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let is_for_pip = |name: &String| {
        let name = name.to_ascii_uppercase();
        FOR_PIP.iter().any(|one| name.starts_with(one))
    };
    names.filter(is_for_pip).collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_that_pip_takes_are_counted() {
        for (line, name) in [
            ("Collecting numpy==2.4.6 (from -r requirements.txt (line 3))", Some("numpy")),
            ("  Downloading numpy-2.4.6.whl (17.0 MB)", None),
            ("", None),
        ] {
            assert_eq!(collected(line), name);
        }
    }
}
