//! The one response that a Realtime connection can have at a time: requested, active, being cancelled. The vendor refuses
//! a second one, and a cancel that comes too early or too late. This avoids both, and tolerates both.

/// State of the slot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    #[default]
    Idle,
    /// Requested by this event. `cancelled`: it is cancelled as soon as it is created.
    Requested {
        event: String,
        cancelled: bool,
    },
    Active {
        response: String,
    },
    /// Waits for its end. `None`: a response whose id is not known.
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
    /// The next response is requested when this one is over.
    wanted: bool,
}

impl Responses {
    /// Requests a response, now or as soon as the current one is over.
    pub(super) fn want(&mut self) -> Option<Act> {
        self.wanted = true;
        self.next()
    }

    /// The request was sent as this event.
    pub(super) fn requested(&mut self, event: &str) {
        self.slot = Slot::Requested { event: event.to_owned(), cancelled: false };
    }

    /// Cancels the current response and the next one.
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
        // A response that was requested after it is still to come.
        if !matches!(self.slot, Slot::Requested { .. }) {
            self.slot = Slot::Idle;
        }
        self.next()
    }

    /// The vendor says that the response was already over.
    pub(super) fn nothing_to_cancel(&mut self) -> Option<Act> {
        if matches!(self.slot, Slot::Cancelling { .. }) {
            self.slot = Slot::Idle;
        }
        self.next()
    }

    /// The vendor is making a response that we do not know; ours has to wait for its end.
    pub(super) fn refused(&mut self) {
        if let Slot::Requested { cancelled, .. } = self.slot {
            self.wanted |= !cancelled;
            self.slot = Slot::Cancelling { response: None };
        }
    }

    /// An event failed. True if it had requested a response, which will not come.
    pub(super) fn failed(&mut self, event: Option<&str>) -> bool {
        let ours =
            matches!(&self.slot, Slot::Requested { event: known, .. } if event == Some(known));
        if ours {
            self.slot = Slot::Idle;
        }
        ours
    }

    /// Whether this response is current and not cancelled.
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
