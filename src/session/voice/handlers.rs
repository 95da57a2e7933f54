//! What comes from the microphone, the user and the live model, and what the other rooms have to do with it.

use super::errand::{LiveRequest, answer};
use super::microphone::WORDS_CAPACITY;
use super::unstored::UnstoredText;
use crate::files::{FileError, SavedFile};
use crate::message::{
    AgentSet, AnswerNote, Caller, Channel, Confirmed, ConnectionId, DecidedBy, Event, Notice,
    Problem, Recorded, RunId, Signal, TurnTimes,
};
use crate::policy::{Call, Scope};
use crate::provider::live::{GIVE_WORK_TOOL, LIVE_OUTPUT_CAPACITY, LiveInput, LiveOutput};
use crate::session::actor::Session;
use crate::session::approval::gate::{AnswerTo, Judgement, Question, audit};
use crate::session::job::Asker;
use crate::session::journal::{Effect, Step};
use crate::session::run::current::Requester;
use crate::session::tools::ReplyTo;
use bytes::Bytes;
use tracing::info;

impl Session {
    /// Sound that a socket could not hand over by itself. If it does not hold the microphone now either, it is told so,
    /// once: a microphone sends many chunks a second.
    pub(in crate::session) fn on_not_holder(&mut self, connection: ConnectionId, sound: Recorded) {
        if !self.voice.hear(&self.shared, connection, sound)
            && self.sockets.tell_not_holder(connection)
        {
            self.refuse(Asker::new(connection), Problem::NotHolder);
        }
    }

    /// Handles output of the live model and all further output that is ready, until the journal is full.
    pub(in crate::session) fn on_live_output(&mut self, output: Option<LiveOutput>) {
        self.on_live(output);
        for _ in 0..LIVE_OUTPUT_CAPACITY {
            if self.shared.journal.is_full() {
                break;
            }
            let Some(output) = self.voice.more_output() else { break };
            self.on_live(Some(output));
        }
        self.voice.note_told(&self.shared);
    }

    /// Opens a model if input waits for one and the chat that it has to know is stored.
    pub(in crate::session) fn open_voice(&mut self) {
        let published = self.sockets.published(Channel::Chat);
        let pictures = || self.commands.take_unseen_pictures();
        self.voice.open_if_wanted(&self.shared, published, pictures);
    }

    /// The session ends: stores what the model has said so far.
    pub(in crate::session) async fn take_last_words(&mut self) {
        self.voice.leave();
        while let Some(word) = self.voice.last_word().await {
            self.on_live(Some(word));
        }
        self.store_text();
    }

    /// `None`: the model ended without a reason.
    fn on_live(&mut self, output: Option<LiveOutput>) {
        match output {
            Some(LiveOutput::Transcript { speaker, text, interrupted }) => {
                self.voice.works();
                self.say_in_chat(Event::Transcript { speaker, text, interrupted });
            }
            Some(LiveOutput::Placed(place)) => self.on_placed_text(place),
            Some(LiveOutput::ToolCall { id, name, arguments }) => {
                self.on_errand(id, &name, &arguments);
            }
            Some(LiveOutput::ToolsCancelled { ids }) => self.drop_live_requests(&ids),
            Some(LiveOutput::Turn(times)) => self.on_turn_times(times),
            Some(LiveOutput::Usage { input, output }) => {
                self.shared.env.metrics.live_tokens(input, output);
            }
            Some(LiveOutput::Replaced { model, reason }) => {
                self.say_in_chat(Event::Notice(Notice::LiveReplaced { model, reason }));
            }
            Some(LiveOutput::Text(text)) => {
                self.say_in_chat(Event::Text { text, run: None, note: AnswerNote::default() })
            }
            Some(LiveOutput::Failed { reason }) => self.on_live_down(reason),
            None => self.on_live_down("it ended unexpectedly".to_owned()),
        }
    }

    fn on_live_down(&mut self, reason: String) {
        info!(session = %self.shared.id, reason, "the live model is gone");
        self.store_text();
        self.drop_all_live_calls();
        if self.voice.on_failure(&reason) {
            self.say_in_chat(Event::Notice(Notice::LiveDown { reason }));
        }
    }

    fn on_turn_times(&mut self, times: TurnTimes) {
        self.shared.env.metrics.turn_taken(&times);
        self.sockets.tell_playing(&Signal::TurnTimes(times));
    }

    fn say_in_chat(&mut self, event: Event) {
        self.shared.record_event(Channel::Chat, event);
    }

    pub(in crate::session) fn send_live_text(
        &mut self,
        asker: Asker,
        echo: Option<Channel>,
        text: String,
    ) {
        if !self.voice.has_room() {
            return self.refuse(asker, Problem::QueueFull { waiting: WORDS_CAPACITY });
        }
        self.store_text();
        let unseen = self.commands.take_unseen_pictures().into_iter().map(LiveInput::Image);
        let mut shown: Vec<_> = unseen.map(Effect::Show).collect();
        let Some(channel) = echo else {
            shown.push(Effect::Show(LiveInput::Text(text)));
            return self.shared.record_for(asker, Step { changes: Vec::new(), effects: shown });
        };
        let attachments = self.commands.take_recent_files(channel);
        let event = Event::UserText { text: text.clone(), attachments };
        if channel != Channel::Chat || !self.voice.is_open() {
            shown.push(Effect::Show(LiveInput::Text(text)));
            let mut step = Step { changes: Vec::new(), effects: shown };
            self.shared.append(&mut step, channel, event);
            return self.shared.record_for(asker, step);
        }
        let place = self.commands.block_for_text();
        shown.extend([LiveInput::Place(place), LiveInput::Text(text)].map(Effect::Show));
        self.record(Step { changes: Vec::new(), effects: shown });
        self.voice.hold_text(asker, channel, event, place);
    }

    /// The model has reported everything that was said before this text.
    pub(super) fn on_placed_text(&mut self, place: u64) {
        if self.voice.holds_text_at(place) {
            self.store_text();
        }
    }

    /// Stores the text that waits: what was said before it has been reported, or is not going to be.
    pub(in crate::session) fn store_text(&mut self) {
        let Some(text) = self.voice.take_text() else { return };
        let UnstoredText { asker, channel, event, .. } = text;
        self.commands.unblock();
        let mut step = Step::default();
        self.shared.append(&mut step, channel, event);
        self.shared.record_for(asker, step);
    }

    /// A file was stored. An open live model sees a picture at once. A picture opens no model, because it may be meant
    /// for the chat.
    pub(in crate::session) fn on_stored(
        &mut self,
        asker: Asker,
        channel: Channel,
        mut picture: Option<Bytes>,
        saved: Result<SavedFile, FileError>,
    ) {
        let note = match saved {
            Ok(saved) => saved.note,
            Err(err) => {
                return self.refuse(asker, Problem::FileRefused { reason: err.to_string() });
            }
        };
        let mut step = Step::default();
        if self.voice.is_open() && self.voice.has_room() {
            let seen = picture.take().map(LiveInput::Image);
            step.effects.extend(seen.map(Effect::Show));
        }
        if let Some(path) = note.path.clone() {
            self.commands.add_recent_file(channel, path, picture);
        }
        self.shared.append(&mut step, channel, Event::UserFile(note));
        self.shared.record_for(asker, step);
    }

    pub(in crate::session) fn on_image_stored(
        &mut self,
        asker: Asker,
        image: Bytes,
        saved: Result<SavedFile, FileError>,
    ) {
        if let Err(err) = saved {
            return self.refuse(asker, Problem::FileRefused { reason: err.to_string() });
        }
        if !self.voice.has_room() {
            return self.refuse(asker, Problem::QueueFull { waiting: WORDS_CAPACITY });
        }
        let effects = vec![Effect::Show(LiveInput::Image(image))];
        self.shared.record_for(asker, Step { changes: Vec::new(), effects });
    }

    /// A tool call of the live model. The model goes on talking meanwhile; it gets the result of the call, and later a
    /// report of how the work ended.
    pub(super) fn on_errand(&mut self, id: String, name: &str, arguments: &str) {
        let mut step = Step::default();
        if name != GIVE_WORK_TOOL {
            let (run, reply) = (RunId(0), ReplyTo::Live(id));
            self.start_call(&mut step, Caller::Live, run, name, arguments.to_owned(), reply);
            return self.record(step);
        }
        match LiveRequest::read(id.clone(), name, arguments) {
            Ok((wanted, call)) => self.judge_live_request(&mut step, wanted, call),
            Err(why) => answer(&mut step, id, Err(why)),
        }
        self.shared.journal.record(step);
    }

    fn judge_live_request(&mut self, step: &mut Step, wanted: LiveRequest, call: Call) {
        let slot = wanted.agent;
        self.approvals.recall(slot, &self.runs);
        let scope = Scope::new(self.shared.env.files.project(), &[]);
        let Judgement { confirmed, level, reason } =
            self.approvals.judge(Caller::Live, &call, &scope);
        let Some(confirmed) = confirmed else {
            let (lane, answer_to) = (slot.into(), AnswerTo::Live(wanted));
            let (caller, diff) = (Caller::Live, None);
            let question = Question { caller, lane, answer_to, call, diff, level, reason };
            return self.approvals.ask_user(&mut self.shared, &self.runs, step, question);
        };
        audit(
            &self.shared,
            step,
            Caller::Live,
            RunId(0),
            &call,
            Some(level),
            confirmed,
            DecidedBy::Rule,
            &reason,
        );
        self.answer_live_request(step, wanted, confirmed, &reason);
    }

    /// The model has cancelled these calls, so their open questions are refused. Work that has begun goes on; the user
    /// can cancel it on the agent's channel.
    pub(super) fn drop_live_requests(&mut self, ids: &[String]) {
        let mut step = Step::default();
        while let Some(open) = self.approvals.take_live_request(|wanted| ids.contains(&wanted.id)) {
            let why = "the model does not want it any more";
            self.settle(&mut step, open, Confirmed::Refused, DecidedBy::End, why);
        }
        self.drop_live_calls(&mut step, ids);
        self.record(step);
    }

    /// Carries out the decision about a live model's call.
    pub(in crate::session) fn answer_live_request(
        &mut self,
        step: &mut Step,
        wanted: LiveRequest,
        confirmed: Confirmed,
        why: &str,
    ) {
        match confirmed {
            Confirmed::Approved => self.give_work(step, wanted),
            Confirmed::Refused => {
                let why = if why.is_empty() { "the user does not want it" } else { why };
                answer(step, wanted.id, Err(why.to_owned()));
            }
        }
    }

    /// Queues the request for the agent. The tool result goes first, so that the model hears of it before any report of
    /// the agent.
    fn give_work(&mut self, step: &mut Step, wanted: LiveRequest) {
        let LiveRequest { id, agent: slot, request } = wanted;
        let agent = slot.number();
        let waiting = self.runs.waiting(slot);
        if waiting >= self.shared.env.config.limits.queue_per_channel {
            let why = format!("{waiting} requests wait for agent {agent} already");
            return answer(step, id, Err(why));
        }
        let done = format!("agent {agent} has it; you will be told when it is done");
        answer(step, id, Ok(done));
        let requester = Requester { order: self.commands.last_order(), address: None };
        self.request_each(step, requester, AgentSet::from(slot), &request, &[]);
    }
}
