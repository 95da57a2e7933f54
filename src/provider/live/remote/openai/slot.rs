//! The one response that a Realtime conversation can have at a time: asked for, being made, being cancelled. A vendor
//! refuses a second one, and a cancel that comes too early or too late; neither must happen, and neither does harm.

/// What there is at this moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    #[default]
    Idle,
    /// Asked for by this event; perhaps it is not wanted any more when it is there.
    Requested {
        event: String,
        cancelled: bool,
    },
    Active {
        response: String,
    },
    /// Nothing more of it is wanted. `None`: one that we do not know.
    Cancelling {
        response: Option<String>,
    },
}

/// What is to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    Create,
    Cancel { response: String },
}

#[derive(Debug, Default)]
pub(super) struct Responses {
    pub(super) slot: Slot,
    /// Another one is to be asked for when this one is over.
    wanted: bool,
}

impl Responses {
    /// An answer is wanted: now, or as soon as the one before is over.
    pub(super) fn want(&mut self) -> Option<Act> {
        self.wanted = true;
        self.next()
    }

    /// The event by which it was asked for.
    pub(super) fn requested(&mut self, event: &str) {
        self.slot = Slot::Requested { event: event.to_owned(), cancelled: false };
    }

    /// No answer is wanted any more.
    pub(super) fn cancel(&mut self) -> Option<Act> {
        self.wanted = false;
        match &mut self.slot {
            Slot::Idle | Slot::Cancelling { .. } => None,
            Slot::Requested { cancelled, .. } => {
                *cancelled = true;
                None
            }
            Slot::Active { response } => {
                let response = std::mem::take(response);
                self.slot = Slot::Cancelling { response: Some(response.clone()) };
                Some(Act::Cancel { response })
            }
        }
    }

    pub(super) fn created(&mut self, response: String) -> Option<Act> {
        match &self.slot {
            Slot::Requested { cancelled: true, .. } => {
                self.slot = Slot::Cancelling { response: Some(response.clone()) };
                Some(Act::Cancel { response })
            }
            Slot::Cancelling { .. } => None,
            Slot::Idle | Slot::Requested { .. } | Slot::Active { .. } => {
                self.slot = Slot::Active { response };
                None
            }
        }
    }

    pub(super) fn done(&mut self) -> Option<Act> {
        // One that was asked for after it is still to come.
        if !matches!(self.slot, Slot::Requested { .. }) {
            self.slot = Slot::Idle;
        }
        self.next()
    }

    /// There was nothing to cancel: it was over already.
    pub(super) fn nothing_to_cancel(&mut self) -> Option<Act> {
        if matches!(self.slot, Slot::Cancelling { .. }) {
            self.slot = Slot::Idle;
        }
        self.next()
    }

    /// Another one is being made, of which we do not know; ours has to wait for it.
    pub(super) fn refused(&mut self) {
        if let Slot::Requested { cancelled, .. } = self.slot {
            self.wanted |= !cancelled;
            self.slot = Slot::Cancelling { response: None };
        }
    }

    /// Whether this event asked for a response; then there will be none.
    pub(super) fn failed(&mut self, event: Option<&str>) -> bool {
        let ours =
            matches!(&self.slot, Slot::Requested { event: known, .. } if event == Some(known));
        if ours {
            self.slot = Slot::Idle;
        }
        ours
    }

    /// Whether somebody wants to hear this one.
    pub(super) fn is_wanted(&self, id: &str) -> bool {
        matches!(&self.slot, Slot::Active { response } if response == id)
    }

    fn next(&mut self) -> Option<Act> {
        if !self.wanted || self.slot != Slot::Idle {
            return None;
        }
        self.wanted = false;
        Some(Act::Create)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active() -> Responses {
        let mut responses = Responses::default();
        assert_eq!(responses.want(), Some(Act::Create));
        responses.requested("e1");
        assert_eq!(responses.created("r1".to_owned()), None);
        responses
    }

    #[test]
    fn there_is_one_response_at_a_time() {
        let mut responses = active();
        assert!(responses.is_wanted("r1"));
        assert_eq!(responses.want(), None);
        assert_eq!(responses.want(), None);
        assert_eq!(responses.done(), Some(Act::Create));
        responses.requested("e2");
        assert_eq!(responses.want(), None);
    }

    #[test]
    fn a_cancel_waits_until_there_is_something_to_cancel() {
        let mut responses = Responses::default();
        assert_eq!(responses.cancel(), None);
        responses.want();
        responses.requested("e1");
        assert_eq!(responses.cancel(), None);
        assert_eq!(responses.want(), None);
        let cancel = Act::Cancel { response: "r1".to_owned() };
        assert_eq!(responses.created("r1".to_owned()), Some(cancel));
        assert!(!responses.is_wanted("r1"));
        assert_eq!(responses.cancel(), None, "once is enough");
        assert_eq!(responses.want(), None);
        assert_eq!(responses.done(), Some(Act::Create));
    }

    #[test]
    fn a_cancel_that_comes_too_late_harms_nobody() {
        let mut responses = active();
        assert!(responses.cancel().is_some());
        assert_eq!(responses.want(), None);
        assert_eq!(responses.nothing_to_cancel(), Some(Act::Create));
        responses.requested("e2");
        // Its end comes after all, when the next one is already asked for.
        assert_eq!(responses.done(), None);
        assert_eq!(responses.created("r2".to_owned()), None);
        assert!(responses.is_wanted("r2"));
    }

    #[test]
    fn a_response_that_nobody_knows_is_waited_for() {
        let mut responses = Responses::default();
        responses.want();
        responses.requested("e1");
        responses.refused();
        assert_eq!(responses.want(), None);
        assert_eq!(responses.done(), Some(Act::Create));
    }

    #[test]
    fn a_request_that_failed_leaves_the_place_free() {
        let mut responses = Responses::default();
        responses.want();
        responses.requested("e1");
        assert!(!responses.failed(Some("e0")));
        assert!(responses.failed(Some("e1")));
        assert_eq!(responses.want(), Some(Act::Create));
    }
}
