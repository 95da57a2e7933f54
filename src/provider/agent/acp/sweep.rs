//! What a cancelled prompt has left running. An agent that stops when it is asked to stays, but not what it started for
//! that prompt, whether it still knows of it or not.
//!
//! A helper that it keeps for itself and happens to have started in that very prompt cannot be told from the work: it
//! ends too, because nothing of a cancelled run may go on. Helpers from before stay. An agent that cannot work without
//! the one it lost fails at the next prompt, and is started again for it.

use super::peer::Said;
use super::{Agent, Halt, Happening};
use crate::process::tree::Process;
use crate::provider::agent::AgentInput;
use rustix::process::Signal;
use std::time::Duration;
use tokio::time::Instant;

/// Time to leave after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// After KILL only the kernel can still be busy with a process.
const LAST_WAIT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(40);
/// A process that forks and exits during a look is not seen, so one look without anybody proves nothing.
const QUIET_LOOKS: u32 = 4;

impl Agent {
    /// Remembers who is there, before a prompt is sent.
    pub(super) async fn look_around(&mut self) {
        self.family = match &self.peer {
            Some(peer) => peer.host.family().await,
            None => Vec::new(),
        };
    }

    /// Ends whoever came since then: TERM, and KILL two seconds later or at a further cancel.
    pub(super) async fn sweep(&mut self) -> Result<(), Halt> {
        let mut kill_at = Instant::now() + GRACE;
        let limit = kill_at + LAST_WAIT;
        let mut asked = false;
        let mut quiet = 0;
        loop {
            let left = self.newcomers().await;
            quiet = if left.is_empty() { quiet + 1 } else { 0 };
            let Some(peer) = self.peer.as_ref().filter(|_| quiet < QUIET_LOOKS) else {
                return Ok(());
            };
            let now = Instant::now();
            if left.is_empty() {
                // Where somebody had to be ended, somebody may be left who forks.
                if asked {
                    self.idle_until(now + POLL).await?;
                }
                continue;
            }
            if now > limit {
                // They had their time to leave, and fork faster than they are found: their end is that of the box.
                if let Some(peer) = &mut self.peer {
                    peer.host.kill();
                }
                return self.bury().await.map(drop);
            }
            if now >= kill_at {
                peer.host.signal(&left, Signal::KILL);
            } else if !asked {
                peer.host.signal(&left, Signal::TERM);
            }
            (asked, self.wounded) = (true, true);
            if self.idle_until(now + POLL).await? {
                kill_at = Instant::now();
            }
        }
    }

    /// Processes of the agent that were not there before the prompt.
    async fn newcomers(&self) -> Vec<Process> {
        let Some(peer) = &self.peer else { return Vec::new() };
        let mut family = peer.host.family().await;
        family.retain(|process| !self.family.iter().any(|known| known.is(process)));
        family
    }

    /// True: somebody does not want to wait.
    async fn idle_until(&mut self, moment: Instant) -> Result<bool, Halt> {
        loop {
            match self.next(Some(moment)).await {
                Happening::Late => return Ok(false),
                Happening::Input(AgentInput::Cancel | AgentInput::CancelNow) => return Ok(true),
                Happening::Input(AgentInput::Prompt(prompt)) => self.hold(prompt),
                Happening::Said(Said::Message(message)) => self.on_other(message),
                Happening::Said(Said::Ended(_)) => {
                    self.bury().await?;
                    return Ok(false);
                }
                Happening::Said(Said::Complaint(_))
                | Happening::Input(AgentInput::Warm | AgentInput::Answer { .. }) => (),
                Happening::LinkDropped => return Err(Halt::LinkDropped),
            }
        }
    }
}
