//! What one socket sees of a session: one channel by its own numbers, or all channels by the session's order.

use super::{Channel, Entry, Event, Notice, Order, Seq};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    One(Channel),
    All,
}

/// How far a view has been read: the channel's number in a view of one channel, otherwise the session's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position(pub u64);

impl View {
    pub fn contains(self, channel: Channel) -> bool {
        match self {
            Self::One(one) => one == channel,
            Self::All => true,
        }
    }

    pub fn position(self, entry: &Entry) -> Position {
        self.position_of(entry.seq, entry.order)
    }

    pub fn position_of(self, seq: Seq, order: Order) -> Position {
        match self {
            Self::One(_) => Position(seq.0),
            Self::All => Position(order.0),
        }
    }

    /// Whether the view shows an event. Some events are logged on two channels, so that a socket of either channel gets
    /// them. A view of all channels shows them once, on their home channel.
    pub fn shows(self, entry: &Entry) -> bool {
        match self {
            Self::One(one) => one == entry.channel,
            Self::All => home(entry).is_none_or(|home| home == entry.channel),
        }
    }
}

/// The home channel of an event that may be logged on several channels.
fn home(entry: &Entry) -> Option<Channel> {
    match &entry.event {
        Event::ConfirmAsked(asked) => Some(asked.channel),
        Event::ConfirmSettled { channel, .. } => Some(*channel),
        Event::Chosen(chosen) => Some(Channel::Agent(chosen.agent)),
        Event::Notice(Notice::ChangedInCopy { agent, .. }) => Some(Channel::Agent(*agent)),
        Event::FilesChanged { by, .. } => by.map(Channel::Agent),
        // The copy on the input channel is an announcement for a live model.
        Event::FileMade(_) if entry.channel == Channel::Input => Some(Channel::Chat),
        Event::UserText { .. }
        | Event::UserRequest { .. }
        | Event::UserFile(_)
        | Event::Text { .. }
        | Event::RunStarted(_)
        | Event::RunLine(_)
        | Event::Tool(_)
        | Event::Plan(_)
        | Event::RunEnded(_)
        | Event::RunSummed(_)
        | Event::FileMade(_)
        | Event::RequestAnswered { .. }
        | Event::Transcript { .. }
        | Event::CancelTaken
        | Event::AgentReport(_)
        | Event::Notice(_)
        | Event::Work(_)
        | Event::Files { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AgentSlot, ChoiceKind, Chosen, ChosenOutcome, EventTime};
    use super::*;

    #[test]
    fn an_event_that_is_logged_on_two_channels_is_shown_once() {
        let agent = AgentSlot::ALL[1];
        let outcome = ChosenOutcome::Failed { reason: String::new() };
        let chosen = Chosen { agent, project: None, kind: ChoiceKind::Accept, outcome };
        let in_copy = Notice::ChangedInCopy { agent, files: 1 };
        let changed = |by| Event::FilesChanged { paths: Vec::new(), by, copy_of: None };
        for (here, there) in [
            (Event::Chosen(chosen.clone()), Event::Chosen(chosen)),
            (Event::Notice(in_copy.clone()), Event::Notice(in_copy)),
            (changed(None), changed(Some(agent))),
        ] {
            let shown = |channel, event| {
                let (seq, order, at) = (Seq(1), Order(1), EventTime(0));
                View::All.shows(&Entry { channel, seq, order, at, event })
            };
            assert!(shown(Channel::Agent(agent), here.clone()), "{here:?}");
            assert!(!shown(Channel::Chat, there.clone()), "{there:?}");
        }
    }
}
