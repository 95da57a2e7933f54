//! Whether this system has what a box needs, and of what it is best made; found out by entering one.

use super::means::{KEEPS_SIGNALS, Means, Way, Wish};
use super::{BoxError, Confinement, Limits, Network};
#[cfg(target_os = "linux")]
use super::{bwrap, ruleset};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

/// What a process says that is really in the box, and nobody else.
const PROOF: &str = "boxed";
const PROVE: &str = "grep -q '^Seccomp:.2$' /proc/self/status && echo boxed";
/// The same where nobody outside can be signalled.
const PROVE_ALONE: &str =
    "grep -q '^Seccomp:.2$' /proc/self/status && ! kill -0 $PPID 2>/dev/null && echo boxed";
/// What comes before either where the box has a process namespace, whose `/proc` knows nobody else.
const PROVE_OWN_PIDS: &str = "test $PPID = 1 && grep -q '^PPid:.1$' /proc/$$/status && ";

/// Of what a box is made here, or why there is none. Blocking; asked once, and the same for the life of this process.
pub fn probe(launcher: &Path, wish: Wish) -> Result<&'static Means, &'static str> {
    static FOUND: [OnceLock<Result<Means, String>>; 3] = [const { OnceLock::new() }; 3];
    let place = match wish {
        Wish::Auto => &FOUND[0],
        Wish::Own => &FOUND[1],
        Wish::Bwrap => &FOUND[2],
    };
    let found = place.get_or_init(|| find(launcher, wish).map_err(|err| err.to_string()));
    found.as_ref().map_err(String::as_str)
}

#[cfg(not(target_os = "linux"))]
fn find(_: &Path, _: Wish) -> Result<Means, BoxError> {
    Err(BoxError::NotLinux)
}

#[cfg(target_os = "linux")]
fn find(launcher: &Path, wish: Wish) -> Result<Means, BoxError> {
    let landlock = ruleset::version(KEEPS_SIGNALS);
    let attempted = |way| attempt(launcher, Means { way, landlock });
    // Where even that is refused, the first reason is the better one.
    let own = || attempted(Way::Own).or_else(|err| attempted(Way::SharedPids).map_err(|_| err));
    let bwrap = || attempted(Way::Bwrap(bwrap::installed().ok_or(BoxError::NoBwrap)?));
    choose(wish, landlock, own, bwrap)
}

/// Bubblewrap is taken where we cannot do it alone, or not as well.
fn choose(
    wish: Wish,
    landlock: u8,
    own: impl FnOnce() -> Result<Means, BoxError>,
    bwrap: impl FnOnce() -> Result<Means, BoxError>,
) -> Result<Means, BoxError> {
    if landlock == 0 {
        let reason = "this kernel says that it has none; `cat /sys/kernel/security/lsm` names it";
        return Err(BoxError::Landlock(reason.to_owned()));
    }
    match wish {
        Wish::Own => own(),
        Wish::Bwrap => bwrap(),
        Wish::Auto => match own() {
            Ok(whole) if whole.lacks().is_empty() => Ok(whole),
            Ok(partial) => Ok(bwrap().unwrap_or(partial)),
            Err(own) => bwrap().map_err(|bwrap| {
                if matches!(bwrap, BoxError::NoBwrap) {
                    return own;
                }
                BoxError::Neither { own: Box::new(own), bwrap: Box::new(bwrap) }
            }),
        },
    }
}

fn attempt(launcher: &Path, means: Means) -> Result<Means, BoxError> {
    let prove = if means.landlock >= KEEPS_SIGNALS { PROVE_ALONE } else { PROVE };
    let prove = match means.way {
        Way::Own => [PROVE_OWN_PIDS, prove].concat(),
        Way::SharedPids | Way::Bwrap(_) | Way::First(_) | Way::Made(_) => prove.to_owned(),
    };
    let confinement = Confinement { means: means.clone(), ..Confinement::closed(launcher) };
    let mut command = Command::new(launcher);
    command.arg("boxed").arg(confinement.to_text()?).args(["--", "sh", "-c", &prove]);
    command.current_dir("/");
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    let output =
        command.output().map_err(|reason| BoxError::Path { path: launcher.to_owned(), reason })?;
    if output.status.success() && output.stdout.trim_ascii() == PROOF.as_bytes() {
        return Ok(means);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("the trial failed without a word");
    Err(BoxError::Trial(last.trim_start_matches("there is no box: ").to_owned()))
}

impl Confinement {
    /// Nothing may be changed and nobody reached.
    pub fn closed(launcher: &Path) -> Self {
        Self {
            launcher: launcher.to_owned(),
            writable: Vec::new(),
            readable: Vec::new(),
            protected: Vec::new(),
            stand_ins: Vec::new(),
            hidden: Arc::new([]),
            secrets: Vec::new(),
            network: Network::None,
            means: Means::whole(),
            limits: Limits::default(),
            closed_ports: Vec::new(),
            closed: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen, if each way works or not.
    fn chosen(wish: Wish, landlock: u8, own: bool, bwrap: bool) -> Result<&'static str, String> {
        let tried = |works: bool, way: Way| match works {
            true => Ok(Means { way, landlock }),
            false => Err(BoxError::Trial(format!("no {way:?}"))),
        };
        let bwrap = || tried(bwrap, Way::Bwrap("/bwrap".into()));
        let found = choose(wish, landlock, || tried(own, Way::Own), bwrap);
        let name = |means: Means| if means.way == Way::Own { "own" } else { "bwrap" };
        found.map(name).map_err(|err| err.to_string())
    }

    #[test]
    fn bubblewrap_is_taken_where_we_cannot_or_not_as_well() {
        let auto = |landlock, own, bwrap| chosen(Wish::Auto, landlock, own, bwrap);
        assert_eq!(auto(6, true, true).unwrap(), "own");
        assert_eq!(auto(6, false, true).unwrap(), "bwrap");
        for older in [1, 2, 4, 5] {
            assert_eq!(auto(older, true, true).unwrap(), "bwrap");
            assert_eq!(auto(older, true, false).unwrap(), "own");
            assert_eq!(auto(older, false, true).unwrap(), "bwrap");
        }
        let neither = auto(6, false, false).unwrap_err();
        assert!(neither.contains("no Own") && neither.contains("does not help: no Bwrap"));
    }

    #[test]
    fn a_wish_is_obeyed_or_refused() {
        assert_eq!(chosen(Wish::Own, 1, true, true).unwrap(), "own");
        assert_eq!(chosen(Wish::Bwrap, 6, true, true).unwrap(), "bwrap");
        assert_eq!(chosen(Wish::Own, 6, false, true).unwrap_err(), "no Own");
        assert!(chosen(Wish::Bwrap, 6, true, false).unwrap_err().starts_with("no Bwrap"));
        // Without any Landlock there is no box, whoever makes the view.
        for wish in [Wish::Auto, Wish::Own, Wish::Bwrap] {
            assert!(chosen(wish, 0, true, true).unwrap_err().starts_with("Landlock is missing"));
        }
    }

    #[test]
    fn without_bubblewrap_the_reason_is_our_own() {
        let own = || Err(BoxError::Trial("no namespaces".to_owned()));
        let refused = choose(Wish::Auto, 6, own, || Err(BoxError::NoBwrap)).unwrap_err();
        assert_eq!(refused.to_string(), "no namespaces");
    }
}
