//! Where one message of an agent ends and the next begins. They arrive in pieces, and the answer is all of them.

use agent_client_protocol_schema::v1::MessageId;

/// Between two messages.
const GAP: &str = "\n\n";

/// What was said so far for one prompt, as far as it matters for what follows.
#[derive(Debug, Default)]
pub(super) struct Messages {
    id: Option<MessageId>,
    any: bool,
    /// How many line ends the last piece had at its end, if there was nothing else since.
    line_ends: usize,
    is_over: bool,
}

impl Messages {
    /// A tool was called: what is said next is something new, whatever its name.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// What has to stand before this piece: a blank line, if it begins a message and none is there already.
    pub(super) fn gap(&mut self, id: Option<MessageId>, text: &str) -> &'static str {
        if text.is_empty() {
            return "";
        }
        let another = id.is_some() && self.id.is_some() && id != self.id;
        let begins = self.any && (std::mem::take(&mut self.is_over) || another);
        let leading = text.len() - text.trim_start_matches('\n').len();
        let present = (self.line_ends + leading).min(GAP.len());
        self.remember(id, text);
        if begins { &GAP[present..] } else { "" }
    }

    fn remember(&mut self, id: Option<MessageId>, text: &str) {
        let trailing = text.len() - text.trim_end_matches('\n').len();
        let before = if trailing == text.len() { self.line_ends } else { 0 };
        *self = Self {
            id: id.or(self.id.take()),
            any: true,
            line_ends: before + trailing,
            is_over: false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as they come; `None` is a tool call.
    #[track_caller]
    fn check(pieces: &[Option<(&str, &str)>], whole: &str) {
        let mut messages = Messages::default();
        let mut said = String::new();
        for piece in pieces {
            let Some((id, text)) = piece else {
                messages.end();
                continue;
            };
            let id = Some(*id).filter(|id| !id.is_empty()).map(MessageId::new);
            said.push_str(messages.gap(id, text));
            said.push_str(text);
        }
        assert_eq!(said, whole);
    }

    #[test]
    fn messages_are_apart_and_their_pieces_are_not() {
        check(&[Some(("", "a")), Some(("", "b"))], "ab");
        check(&[Some(("1", "a")), Some(("1", "b")), Some(("2", "c"))], "ab\n\nc");
        check(&[Some(("", "a")), None, None, Some(("", "b")), Some(("", "c"))], "a\n\nbc");
        check(&[Some(("1", "a")), None, Some(("1", "b"))], "a\n\nb");
        check(&[None, Some(("", "a"))], "a");
        check(&[Some(("1", "a")), Some(("", "b")), Some(("1", "c"))], "abc");
    }

    #[test]
    fn a_blank_line_that_is_there_is_enough() {
        check(&[Some(("", "a\n")), None, Some(("", "b"))], "a\n\nb");
        check(&[Some(("", "a\n\n")), None, Some(("", "b"))], "a\n\nb");
        check(&[Some(("", "a\n")), Some(("", "\n")), None, Some(("", "b"))], "a\n\nb");
        check(&[Some(("", "a")), None, Some(("", "\n\n")), Some(("", "b"))], "a\n\nb");
        check(&[Some(("", "a\n\n\n")), None, Some(("", "\nb"))], "a\n\n\n\nb");
    }
}
