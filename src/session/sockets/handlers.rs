//! A socket attaches or leaves: what the other rooms have to do with it.

use super::reader::Start;
use crate::message::{Channel, Greeting, Position, View};
use crate::session::actor::Session;
use crate::session::{Attach, AttachError, Attached, Cursor, Role};
use std::sync::Arc;

impl Session {
    pub(in crate::session) fn on_attach(
        &mut self,
        attach: &Attach,
    ) -> Result<Attached, AttachError> {
        let limit = self.shared.env.config.limits.sockets_per_channel;
        if self.sockets.count_view(attach.view) >= limit {
            return Err(AttachError::TooMany { limit });
        }
        if let Some(locale) = attach.language.filter(|_| attach.role == Role::Participant) {
            self.speak(locale);
        }
        let published = self.sockets.published_in(attach.view);
        let resume = attach.cursor.filter(|cursor| self.trusts(*cursor) && cursor.at <= published);
        let start = match resume {
            Some(Cursor { at, again, .. }) => Start::Resume(Position(at.0.saturating_sub(again))),
            None => Start::With(attach.history),
        };
        let greeting = Greeting {
            session: self.shared.id.clone(),
            view: attach.view,
            epoch: self.shared.epoch,
            resumed: resume.is_some(),
            first: self.sockets.greet(attach.view),
            controls: self.commands.controls().clone(),
            settings: Arc::clone(&self.shared.settings),
            project: self.shared.env.files.project().display().to_string().into(),
            overview: None,
            setup: None,
        };
        self.lifetime.note_arrival();
        let queues = self.sockets.attach(attach);
        if attach.view.contains(Channel::Input) {
            self.sockets.tell_trouble(&self.shared, attach.connection);
        }
        if attach.features.agents {
            self.runs.tell_present_state(&mut self.sockets, attach.view, attach.connection);
        }
        self.sockets.note_use(&mut self.shared);
        if let View::One(Channel::Agent(slot)) = attach.view {
            self.warm_up(slot);
        }
        Ok(Attached { greeting, start, queues })
    }

    /// A cursor without an epoch is taken as one of this session's history.
    fn trusts(&self, cursor: Cursor) -> bool {
        cursor.epoch.is_none_or(|epoch| epoch == self.shared.epoch)
    }
}
