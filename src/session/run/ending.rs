//! What is told at the end of a run: its answer, how it ended, and which files it changed and made.

use super::current::{Current, Ending, TOO_MANY_FAILURES};
use super::inspection::tell_file;
use super::report::answer_request;
use crate::message::{AnswerNote, Channel, Event, Notice, PlaceKind, Run, RunOrigin};
use crate::session::journal::Step;
use crate::session::shared::Shared;
use crate::session::voice::Voice;
use crate::session::workplace::run_backup::tell_changes;

/// `files` were found changed in this `place`.
pub(super) fn tell_end(
    shared: &mut Shared,
    voice: &Voice,
    step: &mut Step,
    done: Current,
    place: PlaceKind,
    files: usize,
    ending: Ending,
) {
    let run = done.run;
    // A stopped chat has said something too: the partial answer is shown before the notice.
    let silent = done.answer.is_empty() && !matches!(ending, Ending::Finished);
    if !silent {
        let note = AnswerNote { sources: done.sources, latency: Some(done.asked.elapsed()) };
        let text = done.answer.clone();
        shared.append(step, run.channel, Event::Text { text, run: Some(run.id), note });
    }
    let failed = |reason: &str| Notice::RunFailed { run: run.id, reason: reason.to_owned() };
    let notices = match &ending {
        Ending::Finished if done.cut_off => vec![Notice::AnswerCut { run: run.id }],
        Ending::Finished => Vec::new(),
        Ending::Cancelled => vec![Notice::RunCancelled { run: run.id }],
        Ending::Failed(reason) => vec![failed(reason)],
        // The lock comes first: a client that is told of the failure must know that nothing can be sent.
        Ending::Locked { failures } => {
            vec![Notice::Locked { failures: *failures }, failed(TOO_MANY_FAILURES)]
        }
    };
    for notice in notices {
        shared.append(step, run.channel, Event::Notice(notice));
    }
    if run.origin == RunOrigin::Request {
        answer_request(shared, voice, step, &run, done.answer, ending);
    }
    if place == PlaceKind::Worktree {
        tell_copy(shared, step, &run, files);
    }
    tell_changes(shared, step, run.channel, done.changed, place);
    for note in done.made {
        tell_file(shared, step, run.channel, note);
    }
}

/// Tells where the work is and how to accept it, for frontends that show only text.
fn tell_copy(shared: &mut Shared, step: &mut Step, run: &Run, files: usize) {
    let Channel::Agent(agent) = run.channel else { return };
    let in_chat = (run.origin == RunOrigin::Request).then_some(Channel::Chat);
    if files > 0 {
        for channel in [run.channel].into_iter().chain(in_chat) {
            shared.append(step, channel, Event::Notice(Notice::ChangedInCopy { agent, files }));
        }
    }
}
