//! Processes that fork and exit faster than anybody can find them: they end with the box, whoever ends it.
//!
//! All processes of a chain share the lock of one file. Nobody can miss one of them: the kernel frees the lock when the
//! last is gone.

use crate::acp::wait_for;
use crate::sandbox::{Lab, boxes};
use crate::support::{BODY, Frontend, Gateway, KIND};
use kakehashi::process::Launcher;
use kakehashi::provider::agent::{
    self, AgentConfig, AgentEnd, AgentInput, AgentOutput, AgentPrompt, Place,
};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Only against a test that never ends: the machine is busy with the chains.
const PATIENCE: Duration = Duration::from_secs(300);

/// Each process is gone as soon as it has forked the next one.
const CHAINS: &str = r"import fcntl, os, signal, sys\nsignal.signal(15, signal.SIG_IGN)\nlock = open(sys.argv[1], 'w')\nfcntl.flock(lock, 2)\nfor _ in range(40):\n if os.fork() == 0:\n  os.setsid()\n  while True:\n   if os.fork(): os._exit(0)\n";

/// Forty chains of one agent.
struct Chains {
    lock: File,
}

impl Chains {
    /// Waits until they run.
    async fn begun(data: &Path, name: &str) -> Self {
        let mut found = None;
        wait_for(PATIENCE, || {
            found = found.take().or_else(|| find(data, name));
            found.as_ref().is_some_and(|path| !is_free(&File::open(path).unwrap()))
        })
        .await;
        Self { lock: File::open(found.unwrap()).unwrap() }
    }

    fn are_gone(&self) -> bool {
        is_free(&self.lock)
    }
}

fn is_free(lock: &File) -> bool {
    let free = flock(lock, FlockOperation::NonBlockingLockShared).is_ok();
    if free {
        flock(lock, FlockOperation::Unlock).unwrap();
    }
    free
}

/// Each agent works in a directory of its own, somewhere below the data directory.
fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| match path.file_name()? == name {
        true => Some(path),
        false if path.is_symlink() => None,
        false => find(&path, name),
    })
}

/// Starts chains with the scripted agent and with one that speaks ACP.
async fn besiege(lab: &Lab, front: &mut Frontend) -> [(&'static str, Chains); 2] {
    let python = "$(python3 -c 'import sys; print(sys.executable)')";
    let request = format!(
        "write chains.py {CHAINS}\nrun env -i {python} chains.py scripted.lock; sleep 1000"
    );
    front.type_in("3", &request).await;
    front.type_in("2", "chains acp.lock wait").await;
    let scripted = Chains::begun(&lab.data(), "scripted.lock").await;
    [("3", scripted), ("2", Chains::begun(&lab.data(), "acp.lock").await)]
}

#[tokio::test]
async fn chains_of_forks_end_with_a_cancel() {
    for state in boxes() {
        let lab = Lab::new(state);
        let mut front = Frontend::open(lab.addr(), None).await;
        for (pane, chains) in besiege(&lab, &mut front).await {
            front.cancel(pane).await;
            let slot = pane.parse::<usize>().unwrap() - 1;
            front.agents[slot].patience = PATIENCE;
            front.agents[slot].until_where(|packet| packet[KIND] == "output_text").await;
            assert!(chains.are_gone(), "{state:?}: told as over in pane {pane}, and is not");
        }
        // The agents go on.
        assert_eq!(lab.ask(2, "say('there')").await, "there");
    }
}

#[tokio::test]
async fn chains_of_forks_end_with_the_gateway() {
    for state in boxes() {
        let lab = Lab::new(state);
        let mut front = Frontend::open(lab.addr(), None).await;
        let chains = besiege(&lab, &mut front).await;
        let (code, _) = lab.end();
        assert_eq!(code, Some(0), "{state:?}");
        for (pane, chains) in chains {
            assert!(chains.are_gone(), "{state:?}: the chains of pane {pane} outlive the gateway");
        }
    }
}

#[tokio::test]
async fn chains_of_forks_end_after_kill_9() {
    for state in boxes() {
        let lab = Lab::new(state);
        let mut front = Frontend::open(lab.addr(), None).await;
        let chains = besiege(&lab, &mut front).await;
        lab.kill();
        wait_for(PATIENCE, || chains.iter().all(|(_, chains)| chains.are_gone())).await;
    }
}

/// Takes the place of our own binary: a supervisor that needs six seconds to end its agent, as on a busy machine.
fn slow_supervisor(place: &Path) -> PathBuf {
    let (program, gone) = (place.join("supervisor"), place.join("gone"));
    let script = format!(
        "#!/bin/sh\ntrap 'sleep 6; touch {}; exit' TERM\necho begun\nwhile :; do sleep 0.1; done\n",
        gone.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    program
}

#[tokio::test]
async fn a_cancel_waits_for_a_supervisor_that_is_slow() {
    let place = tempfile::tempdir().unwrap();
    let config = AgentConfig::Scripted(Launcher {
        supervisor: slow_supervisor(place.path()),
        owner: "slow-supervisor-test".into(),
        variables: Vec::new(),
    });
    let mut link = agent::start(&config, &Place::open(place.path()));
    let prompt = AgentPrompt { text: "run true".to_owned(), attachments: Vec::new() };
    link.input.send(AgentInput::Prompt(prompt)).await.unwrap();
    while link.output.recv().await.unwrap() != AgentOutput::Line("begun".to_owned()) {}
    link.input.send(AgentInput::Cancel).await.unwrap();
    while link.output.recv().await.unwrap() != AgentOutput::Done(AgentEnd::Cancelled) {}
    assert!(place.path().join("gone").exists(), "told as over before it was");
}

#[tokio::test]
async fn the_gateway_waits_for_a_supervisor_that_is_slow() {
    let place = tempfile::tempdir().unwrap();
    let gateway = Gateway::start_with(|config| {
        config.supervisor = slow_supervisor(place.path());
        config.box_rules.enabled = false;
    })
    .await;
    let mut front = Frontend::open(gateway.addr, None).await;
    front.type_in("1", "run true").await;
    let begun = |packet: &Value| packet[BODY].as_str().is_some_and(|text| text.contains("begun"));
    front.agents[0].until_where(begun).await;
    gateway.stop().await;
    assert!(place.path().join("gone").exists(), "the gateway ended before its agent");
}
