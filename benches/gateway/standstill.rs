//! Moments in which a core itself stands still: a virtual machine that is not given its time, an interrupt that takes
//! long. A thread that goes before everything else wakes up all the time and notes when it could not; what is measured in
//! such a moment is the machine.

use crate::cores;
use rustix::thread::gettid;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How often it looks. What is under way in such a moment waits a little, for either server.
const EVERY: Duration = Duration::from_millis(1);
/// Later than this is no ordinary delay of a thread that goes before all others.
const LATE: Duration = Duration::from_micros(250);

/// What was sent so shortly before is still under way.
const FLIGHT: Duration = Duration::from_micros(100);

/// Watches the servers' cores until it is dropped; the default one sees nothing.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    gaps: Arc<Mutex<Vec<Gap>>>,
    sees: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Gap {
    from: Instant,
    /// What came during the gap is worked off after it, in less than the same time again at the loads that are measured.
    over: Instant,
}

impl Watch {
    /// On a system that does not let us go before others nothing is noted.
    pub(crate) fn new() -> Self {
        let watch = Self::default();
        for core in cores::servers() {
            let [sees, over] = [&watch.sees, &watch.over].map(Arc::clone);
            let gaps = Arc::clone(&watch.gaps);
            thread::spawn(move || {
                cores::only(core);
                if go_first() {
                    sees.store(true, Ordering::Relaxed);
                    look(&gaps, &over);
                }
            });
        }
        watch
    }

    /// False: the system does not let it.
    pub(crate) fn sees(&self) -> bool {
        self.sees.load(Ordering::Relaxed)
    }

    /// The gaps that were not over by then.
    pub(crate) fn since(&self, then: Instant) -> Vec<Gap> {
        let gaps = self.gaps.lock().unwrap_or_else(PoisonError::into_inner);
        gaps.iter().filter(|gap| gap.over > then).copied().collect()
    }
}

impl Gap {
    /// Whether a core stood still around this moment. How long an answer took does not matter: a slow one must not have
    /// the better chance of being excused.
    pub(crate) fn is_around(&self, sent: Instant) -> bool {
        self.from < sent + FLIGHT && sent < self.over
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Makes this thread one that the system runs before all ordinary ones.
fn go_first() -> bool {
    let thread = gettid().as_raw_nonzero().to_string();
    let chrt =
        Command::new("chrt").args(["-f", "-p", "10", &thread]).stderr(Stdio::null()).status();
    chrt.is_ok_and(|status| status.success())
}

/// Notes every time that it could not look.
fn look(gaps: &Mutex<Vec<Gap>>, over: &AtomicBool) {
    let mut due = Instant::now();
    while !over.load(Ordering::Relaxed) {
        due += EVERY;
        sleep(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        if now > due + LATE {
            let gap = Gap { from: due, over: now + (now - due) };
            gaps.lock().unwrap_or_else(PoisonError::into_inner).push(gap);
            due = now;
        }
    }
}
