//! Commands of clients: carried out in the order of their arrival, each once; file lists that were asked for, files that
//! wait for their text, and the controls of frontends. Words that answer a question are recognized here. Knows nothing
//! of how the other rooms carry a command out.

mod handlers;
pub(super) mod lists;
pub(super) mod plain_answer;
pub(super) mod plain_choice;
pub(super) mod plain_words;
mod queue;
mod recent_files;

use self::lists::ListRequests;
use self::queue::Blocker;
use self::recent_files::RecentFiles;
use super::Submitted;
use crate::message::{Channel, Controls, RequestNo};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;
use tokio::sync::mpsc;

#[derive(Debug)]
pub(super) struct Commands {
    inbox: mpsc::Receiver<Submitted>,
    backlog: VecDeque<Submitted>,
    /// Set while a command waits for the disk or the live model; later commands wait behind it.
    blocker: Option<Blocker>,
    lists: ListRequests,
    /// Numbers of cancels that are being looked up, each with those that were sent again meanwhile.
    overtaking: HashMap<RequestNo, Vec<Submitted>>,
    /// Work on a channel with a lower order than this is cancelled.
    cancelled_before: HashMap<Channel, u64>,
    /// Order of the newest command received.
    last_order: u64,
    /// Request numbers of choices that are being carried out, each with the sockets that sent it again meanwhile.
    choosing: HashMap<RequestNo, BTreeSet<u64>>,
    /// Counts texts that were held until their place in the log was known.
    held_texts: u64,
    controls: Controls,
    recent_files: RecentFiles,
}

impl Commands {
    /// `files` were sent before this actor started, with their age.
    pub(super) fn new(
        inbox: mpsc::Receiver<Submitted>,
        controls: Controls,
        files: Vec<(Channel, String, Duration)>,
    ) -> Self {
        Self {
            inbox,
            backlog: VecDeque::new(),
            blocker: None,
            lists: ListRequests::default(),
            overtaking: HashMap::new(),
            cancelled_before: HashMap::new(),
            last_order: 0,
            choosing: HashMap::new(),
            held_texts: 0,
            controls,
            recent_files: RecentFiles::restored(files),
        }
    }
}
