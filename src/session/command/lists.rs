//! File lists that clients ask for. One list answers everybody who waits for it.

use super::Commands;
use crate::files::{FileError, Listed};
use crate::message::{Event, KnownList, Problem, Signal};
use crate::session::job::{self, Asker, Wanted};
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::session::sockets::Sockets;
use crate::session::sockets::file_watch::is_elsewhere;
use std::collections::HashMap;

/// Who waits for which list, and which one the client has already.
pub(super) type ListRequests = HashMap<Wanted, Vec<(Asker, Option<KnownList>)>>;

impl Commands {
    pub(super) fn list_files(
        &mut self,
        shared: &mut Shared,
        asker: Asker,
        wanted: Wanted,
        known: Option<KnownList>,
    ) {
        let askers = self.lists.entry(wanted).or_default();
        askers.push((asker, known));
        if askers.len() == 1 {
            make_list(shared, wanted);
        }
    }

    pub(in crate::session) fn on_listed(
        &mut self,
        shared: &mut Shared,
        sockets: &mut Sockets,
        wanted: Wanted,
        list: Result<Listed, FileError>,
    ) {
        match list {
            // The list was begun before the session moved to another project, and askers may have joined since.
            Ok(listed) if is_elsewhere(shared, &listed.list) => make_list(shared, wanted),
            Ok(listed) => self.answer(shared, sockets, wanted, listed),
            Err(err) => {
                for (asker, _) in self.lists.remove(&wanted).unwrap_or_default() {
                    sockets.refuse(shared, asker, failed(&err));
                }
            }
        }
    }

    /// A job was lost, and it may have been a list: everybody who waits for one is told.
    pub(super) fn fail_lists(&mut self, shared: &Shared, sockets: &mut Sockets) {
        for (asker, _) in self.lists.drain().flat_map(|(_, askers)| askers) {
            sockets.refuse(shared, asker, failed(&FileError::Internal));
        }
    }

    /// If all askers already have the list, a signal says that nothing changed.
    fn answer(
        &mut self,
        shared: &mut Shared,
        sockets: &mut Sockets,
        wanted: Wanted,
        listed: Listed,
    ) {
        let askers = self.lists.remove(&wanted).unwrap_or_default();
        let mut step = Step::default();
        let Wanted { kind, answer_on: channel, .. } = wanted;
        if askers.iter().all(|(_, known)| known.as_ref().is_some_and(|known| listed.is(known))) {
            let list =
                KnownList { newest: listed.list.newest.clone(), count: listed.list.files.len() };
            sockets.signal_channel(channel, &Signal::FilesUnchanged { kind, channel, list });
        } else {
            shared.append(&mut step, channel, Event::Files { kind, list: Some(listed.list) });
        }
        for (asker, _) in askers {
            shared.record_for(asker, std::mem::take(&mut step));
        }
    }
}

fn make_list(shared: &mut Shared, wanted: Wanted) {
    let (env, principal) = (shared.env.clone(), shared.principal.clone());
    shared.jobs.spawn(job::list(env, principal, wanted));
}

fn failed(err: &FileError) -> Problem {
    Problem::ListFailed { reason: err.to_string() }
}
