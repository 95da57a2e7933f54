//! Whether analyses with Python can run here.

use super::Finding;
use crate::config::Config;
use crate::python::{self, BoxMeans, Environment, Outlook, PythonError};

const CHECK: &str = "python";
/// What is wrong says itself what helps.
const ADVICE: &str = "nothing else needs it; `kakehashi python status` looks again";

pub(super) fn finding(config: &Config) -> Finding {
    let boxes = python::launcher(&config.data).and_then(|mut launcher| {
        launcher.supervisor.clone_from(&config.supervisor);
        BoxMeans::find(&launcher)
    });
    told(boxes.map(drop), Environment::outlook(&config.data))
}

/// Nobody needs it who asks for no analyses, so nothing of it is a failure.
fn told(boxes: Result<(), PythonError>, outlook: Result<Outlook, PythonError>) -> Finding {
    match (boxes, outlook) {
        (Err(err), _) | (Ok(()), Err(err)) => {
            Finding::warn(CHECK, format!("analyses with Python cannot run: {err}"), ADVICE)
        }
        (Ok(()), Ok(Outlook::Made(made))) => {
            let version = made.python();
            Finding::ok(CHECK, format!("analyses run in a sandbox with Python {version}"))
        }
        (Ok(()), Ok(Outlook::Possible(version))) => Finding::ok(
            CHECK,
            format!(
                "analyses can run with Python {version}; their packages are installed by the first one or by `kakehashi python setup`"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn what_is_missing_is_told_with_what_to_do() {
        let possible = || Ok(Outlook::Possible("3.11.2".to_owned()));
        assert_eq!(told(Ok(()), possible()).verdict, Verdict::Ok);
        let none = told(Ok(()), Err(PythonError::NoPython));
        assert_eq!(none.verdict, Verdict::Warn);
        assert!(none.found.contains("apt-get install python3 python3-venv"));
        let advice = "run `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`";
        let no_box = PythonError::NoBox { reason: "no namespaces".to_owned(), advice };
        let none = told(Err(no_box), possible());
        assert!(none.found.contains("no namespaces") && none.found.contains(advice), "{none:?}");
    }
}
