//! Which room handles what wakes the actor: an urgent message, the outcome of a job, a committed effect.

use super::Urgent;
use super::actor::Session;
use super::job::JobDone;
use super::journal::Effect;
use super::workplace::{kept, planted, run_backup};
use crate::message::Signal;

impl Session {
    pub(super) fn on_urgent(&mut self, urgent: Urgent) {
        match urgent {
            Urgent::SoundWaits => self.voice.feed(),
            Urgent::NotHolder { connection, sound } => self.on_not_holder(connection, *sound),
            Urgent::Cancel(submitted) => self.on_cancel(*submitted),
            // A socket that is gone already does not wait for the answer.
            Urgent::Attach { attach, reply } => drop(reply.send(self.on_attach(&attach))),
            Urgent::CatchUp { connection, reply } => {
                let _ = reply.send(self.sockets.catch_up(connection));
            }
            Urgent::Detach { connection } => self.sockets.on_detach(connection),
            Urgent::System(notice) => self.sockets.signal_everyone(&Signal::System(notice)),
            Urgent::Settings { new, reply } => drop(reply.send(self.on_settings(*new))),
            Urgent::Inquiry(inquiry) => self.on_inquiry(*inquiry),
            Urgent::Delete(reply) => self.lifetime.delete(reply),
            Urgent::DeleteUnused(reply) => {
                if self.is_unused() {
                    self.lifetime.delete(reply);
                }
            }
        }
    }

    pub(super) fn on_job(&mut self, done: JobDone) {
        match done {
            JobDone::LookedUp { submitted, known, way } => self.on_looked_up(submitted, known, way),
            JobDone::Stored { asker, channel, picture, saved } => {
                self.commands.unblock();
                self.on_stored(asker, channel, picture, saved);
            }
            JobDone::DatasetFound { asker, found } => self.on_dataset_found(asker, found),
            JobDone::ImageStored { asker, image, saved } => {
                self.commands.unblock();
                self.on_image_stored(asker, image, saved);
            }
            JobDone::Listed { wanted, list } => {
                self.commands.on_listed(&mut self.shared, &mut self.sockets, wanted, list);
            }
            JobDone::Followed { kind, before, list } => {
                self.sockets.on_list_changed(&mut self.shared, kind, before, list);
            }
            JobDone::Placed { slot, project, site } => {
                let (shared, sockets) = (&mut self.shared, &self.sockets);
                self.workplaces.on_placed(shared, &mut self.runs, sockets, slot, &project, site);
            }
            JobDone::Prepared { channel, run, before } => self.on_prepared(channel, run, before),
            JobDone::Guarded { channel, run, copies, then } => {
                self.on_guarded(channel, run, copies, then);
            }
            JobDone::Copied { channel, copies, paths } => {
                run_backup::on_copied(&mut self.shared, channel, &copies, paths);
            }
            JobDone::Concluded { channel, run, conclusion } => {
                self.on_concluded(channel, run, conclusion);
            }
            JobDone::Described { channel, run, note } => self.on_described(channel, run, note),
            JobDone::Compared { inquirer, rows } => {
                let (shared, sockets) = (&mut self.shared, &mut self.sockets);
                self.workplaces.on_compared(shared, sockets, inquirer, rows);
            }
            JobDone::Diffed { inquirer, diff } => {
                let (shared, sockets) = (&mut self.shared, &mut self.sockets);
                self.workplaces.on_diffed(shared, sockets, inquirer, diff);
            }
            JobDone::BackupsListed { inquirer, list } => {
                let (shared, sockets) = (&mut self.shared, &mut self.sockets);
                self.workplaces.on_backups_listed(shared, sockets, inquirer, list);
            }
            JobDone::Judged(case) => self.on_judged(*case),
            JobDone::CallJudged { id, judged } => self.on_call_judged(id, judged),
            JobDone::CallDone { id, outcome } => self.on_call_done(id, outcome),
            JobDone::LookedForRepositories { watch, moved } => {
                planted::on_looked(&mut self.shared, &self.runs, watch, &moved);
            }
            JobDone::Offered { asker, offer } => self.on_offer(asker, offer),
            JobDone::ProjectOpened { asker, changes, files } => {
                self.commands.unblock();
                self.on_project_opened(asker, changes, files);
            }
            JobDone::Kept { agent, files } => kept::on_found(&mut self.shared, agent, files),
            JobDone::Chosen { inquirer, agent, kind, carried } => {
                self.on_chosen(inquirer, agent, kind, carried);
            }
        }
    }

    pub(super) fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Publish(entry) => self.sockets.publish(&entry),
            Effect::Pass(piece) => self.sockets.pass(&piece),
            Effect::Ack { connection, request, repeated } => {
                self.sockets.signal(connection, Signal::Ack { request, repeated });
            }
            // The one who waits for it may be gone.
            Effect::Settled(done) => drop(done.send(())),
            Effect::ShowSettings => self.tell_settings(),
            Effect::Decide { lane, ask, decision } => {
                self.runs.answer_agent(lane, ask, decision);
            }
            Effect::Call(call) => {
                if let Some(webhook) = &self.shared.env.webhook {
                    webhook.call(*call);
                }
            }
            Effect::Show(input) => self.voice.show(input),
            Effect::Begin { channel, run } => self.begin(channel, run),
            Effect::UseTool(id) => self.use_tool(id),
        }
    }
}
