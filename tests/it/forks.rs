//! Processes that fork and exit faster than anybody can find them: they end with the box, whoever ends it.

use crate::acp::{count, wait_for};
use crate::runs::processes_with;
use crate::sandbox::{Lab, boxes};
use crate::support::{Frontend, KIND};
use std::time::{Duration, Instant};

/// Ten times of what a cancel takes: three seconds for those who may leave by themselves, and the end of the box.
const LIMIT: Duration = Duration::from_secs(40);

/// Each process is gone as soon as it has forked the next one.
const CHAINS: &str = r"import os, signal\nsignal.signal(15, signal.SIG_IGN)\nfor _ in range(40):\n if os.fork() == 0:\n  os.setsid()\n  while True:\n   if os.fork(): os._exit(0)\n";

/// Starts forty chains with the scripted agent and with one that speaks ACP, and waits until they run.
async fn besiege(front: &mut Frontend, mark: &str) {
    let python = "$(python3 -c 'import sys; print(sys.executable)')";
    let request =
        format!("write chains.py {CHAINS}\nrun env -i {python} chains.py {mark}.1; sleep {mark}.1");
    front.type_in("3", &request).await;
    front.type_in("2", &format!("chains {mark}.2 wait")).await;
    for slot in [1, 2] {
        let word = format!("{mark}.{slot}");
        // Of one that has just forked and exits nothing is to be seen, so a look finds only some of them.
        wait_for(LIMIT, || count(&word) >= 3).await;
    }
}

fn mark(number: u8) -> String {
    format!("9{number}{}", std::process::id())
}

#[tokio::test]
async fn chains_of_forks_end_with_a_cancel() {
    for state in boxes() {
        let (lab, mark) = (Lab::new(state), mark(1));
        let mut front = Frontend::open(lab.addr(), None).await;
        besiege(&mut front, &mark).await;
        for (pane, word) in [("3", format!("{mark}.1")), ("2", format!("{mark}.2"))] {
            let began = Instant::now();
            front.cancel(pane).await;
            let slot = pane.parse::<usize>().unwrap() - 1;
            front.agents[slot].until_where(|packet| packet[KIND] == "output_text").await;
            assert!(began.elapsed() < LIMIT, "{state:?}: {:?}", began.elapsed());
            // Bubblewrap is gone a moment before the kernel has ended all of its namespace.
            wait_for(LIMIT, || count(&word) == 0).await;
        }
        // The agents go on.
        assert_eq!(lab.ask(2, "say('there')").await, "there");
    }
}

#[tokio::test]
async fn chains_of_forks_end_with_the_gateway() {
    for state in boxes() {
        let (lab, mark) = (Lab::new(state), mark(2));
        let mut front = Frontend::open(lab.addr(), None).await;
        besiege(&mut front, &mark).await;
        let (code, took) = lab.end();
        assert_eq!(code, Some(0), "{state:?}");
        assert!(took < LIMIT, "{state:?}: {took:?}");
        assert_eq!(processes_with(&mark), Vec::<String>::new(), "{state:?}");
    }
}

#[tokio::test]
async fn chains_of_forks_end_after_kill_9() {
    for state in boxes() {
        let (lab, mark) = (Lab::new(state), mark(3));
        let mut front = Frontend::open(lab.addr(), None).await;
        besiege(&mut front, &mark).await;
        lab.kill();
        wait_for(LIMIT, || processes_with(&mark).is_empty()).await;
    }
}
