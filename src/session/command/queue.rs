//! The queue of commands, in the order of their arrival. A command that needs the disk (a request number is looked up, a
//! file is stored) keeps those behind it waiting. A cancel does not wait.

use super::Commands;
use crate::message::{
    Channel, Command, ConnectionId, ControlValue, Controls, Problem, RequestNo, Route,
};
use crate::session::Submitted;
use crate::session::job::Asker;
use crate::store::Change;
use std::collections::BTreeSet;
use std::future::pending;

/// Commands waiting behind one that needs the disk. Full: the sockets wait, and their clients with them.
const BACKLOG_CAPACITY: usize = 64;
/// Most controls of a frontend that are remembered; more is a mistake of the client.
const CONTROLS_LIMIT: usize = 64;
const CONTROL_BYTES: usize = 512;

/// A command that those behind it wait for.
#[derive(Debug)]
pub(super) struct Blocker {
    /// Where the command is going to start work.
    starts_work_on: Vec<Channel>,
}

impl Commands {
    /// Waits for the next command and takes it into the backlog; for ever while the backlog is full. `None`: no handle
    /// of the session is left.
    pub(in crate::session) async fn receive(&mut self) -> Option<()> {
        if !self.has_room() {
            return pending().await;
        }
        let submitted = self.inbox.recv().await?;
        self.put(submitted);
        Some(())
    }

    /// Takes commands that have arrived already into the backlog.
    pub(in crate::session) fn receive_ready(&mut self) {
        while self.has_room()
            && let Ok(earlier) = self.inbox.try_recv()
        {
            self.put(earlier);
        }
    }

    /// Takes all commands that have arrived, also above the backlog's limit: the session ends.
    pub(super) fn receive_last(&mut self) {
        while let Ok(submitted) = self.inbox.try_recv() {
            self.put(submitted);
        }
    }

    /// The next command to carry out; `None` while one waits for the disk or the live model.
    pub(super) fn next(&mut self) -> Option<Submitted> {
        if self.blocker.is_some() { None } else { self.backlog.pop_front() }
    }

    /// A choice is stored only when it is done, so the store does not know a repeat of it; it must not be done twice.
    /// True: this repeats a choice that is being carried out, and its socket waits for the outcome.
    pub(super) fn joins_choice(&mut self, request: &RequestNo, connection: ConnectionId) -> bool {
        let again = self.choosing.get_mut(request);
        again.map(|again| again.insert(connection.0)).is_some()
    }

    /// A cancel is looked up while other commands wait. `None`: it repeats one that is being looked up, and is handled
    /// after it.
    pub(super) fn overtake(
        &mut self,
        request: &RequestNo,
        submitted: Submitted,
    ) -> Option<Submitted> {
        if let Some(repeated) = self.overtaking.get_mut(request) {
            repeated.push(submitted);
            return None;
        }
        self.overtaking.insert(request.clone(), Vec::new());
        Some(submitted)
    }

    /// A cancel was looked up. Returns its repeats, for [`Commands::put_in_order`].
    pub(super) fn overtaken(&mut self, request: &RequestNo) -> Vec<Submitted> {
        self.overtaking.remove(request).unwrap_or_default()
    }

    /// A cancel of everything on a channel also means commands that are not carried out yet.
    pub(super) fn cancel_before(&mut self, channel: Channel, order: u64) {
        self.cancelled_before.insert(channel, order);
        self.last_order = self.last_order.max(order);
    }

    pub(in crate::session) fn controls(&self) -> &Controls {
        &self.controls
    }

    /// Remembers controls of a frontend, for its next connection. `Err`: there are too many, or they are too long.
    pub(super) fn save_controls(&mut self, controls: Controls) -> Result<Change, Problem> {
        let mut merged = self.controls.clone();
        merged.extend(controls);
        if merged.len() > CONTROLS_LIMIT
            || merged.iter().any(|(name, value)| is_too_long(name, value))
        {
            return Err(Problem::TooManyControls { limit: CONTROLS_LIMIT });
        }
        self.controls = merged;
        Ok(Change::Controls(self.controls.clone()))
    }

    pub(super) fn has_room(&self) -> bool {
        self.backlog.len() < BACKLOG_CAPACITY
    }

    pub(in crate::session) fn is_empty(&self) -> bool {
        self.backlog.is_empty() && self.blocker.is_none()
    }

    /// Order of the newest command; whatever happens now comes after it.
    pub(in crate::session) fn last_order(&self) -> u64 {
        self.last_order
    }

    fn put(&mut self, submitted: Submitted) {
        self.last_order = self.last_order.max(submitted.order);
        self.backlog.push_back(submitted);
    }

    /// Later commands wait until [`Commands::unblock`].
    pub(super) fn block_with(&mut self, command: &Command) {
        self.blocker = Some(Blocker { starts_work_on: targets(command) });
    }

    /// Commands behind a text for a live model wait until the text is in the log. Returns a number for the text.
    pub(in crate::session) fn block_for_text(&mut self) -> u64 {
        self.block();
        self.held_texts += 1;
        self.held_texts
    }

    /// Commands behind a change of the project wait until the project is open.
    pub(in crate::session) fn block(&mut self) {
        self.blocker = Some(Blocker { starts_work_on: Vec::new() });
    }

    /// The command that others waited for is settled.
    pub(in crate::session) fn unblock(&mut self) {
        self.blocker = None;
    }

    /// Whether work on this channel was requested before `order` and has not begun.
    pub(super) fn expects_work_on(&self, channel: Channel, order: u64) -> bool {
        let blocked =
            self.blocker.iter().flat_map(|blocker| blocker.starts_work_on.iter().copied());
        let earlier = self.backlog.iter().filter(|submitted| submitted.order < order);
        let mut waiting = earlier.flat_map(|submitted| targets(&submitted.inbound.command));
        blocked.chain(&mut waiting).any(|target| target == channel)
    }

    /// Whether this work was requested before a cancel of everything.
    pub(in crate::session) fn is_cancelled(&self, channel: Channel, order: u64) -> bool {
        self.cancelled_before.get(&channel).is_some_and(|before| order < *before)
    }

    pub(in crate::session) fn begin_choice(&mut self, request: RequestNo) {
        self.choosing.insert(request, BTreeSet::new());
    }

    /// The sockets that sent this choice again and wait for its outcome too.
    pub(in crate::session) fn end_choice(&mut self, request: &RequestNo) -> Vec<Asker> {
        let again = self.choosing.remove(request).unwrap_or_default().into_iter();
        let asker = |connection| Asker {
            request: Some(request.clone()),
            ..Asker::new(ConnectionId(connection))
        };
        again.map(asker).collect()
    }

    /// Puts a cancel that overtook other commands back into its place.
    pub(super) fn put_in_order(&mut self, submitted: Submitted) {
        let place = self.backlog.partition_point(|waiting| waiting.order < submitted.order);
        self.backlog.insert(place, submitted);
    }
}

/// The channels on which a command starts work.
fn targets(command: &Command) -> Vec<Channel> {
    match command {
        Command::SendText { route: Route::Chat, .. } => vec![Channel::Chat],
        Command::SendText { route: Route::Agent(slot), .. } => vec![Channel::Agent(*slot)],
        Command::SendText { route: Route::AgentsFromChat(agents), .. }
        | Command::RequestRun { agents, .. } => agents.iter().map(Channel::Agent).collect(),
        Command::SendText { route: Route::Live { .. }, .. }
        | Command::SaveControls(_)
        | Command::AddDataset(_)
        | Command::ChooseDataset { .. }
        | Command::SendFile { .. }
        | Command::ShowImage { .. }
        | Command::SendAudio(_)
        | Command::StopPlayback
        | Command::AckPlayback(_)
        | Command::PressTalkKey(_)
        | Command::CancelRun { .. }
        | Command::Confirm { .. }
        | Command::Compare { .. }
        | Command::ShowDiff { .. }
        | Command::ListBackups { .. }
        | Command::Choose { .. }
        | Command::ListFiles { .. }
        | Command::ShowSettings
        | Command::ChangeSettings(_)
        | Command::WatchFiles { .. } => Vec::new(),
    }
}

fn is_too_long(name: &str, value: &ControlValue) -> bool {
    let text = match value {
        ControlValue::Text(text) => text.len(),
        ControlValue::Flag(_) | ControlValue::Number(_) => 0,
    };
    name.len() + text > CONTROL_BYTES
}
