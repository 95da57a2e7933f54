//! Tokens of one turn with a chat model: as reported by its server, otherwise estimated from the length of question and
//! answer. A turn that was cancelled or cut off counts too.

use crate::provider::chat::{
    ChatError, ChatMessage, ChatOutput, ChatRequest, ToolCall, ToolSpec, Usage,
};

/// For estimates. Japanese has about one token per character of three bytes, English one per four bytes.
pub(super) const BYTES_PER_TOKEN: usize = 3;
/// Tokens assumed for a picture; vendors count from some hundred to some thousand.
const PICTURE: usize = 1_000;

#[derive(Debug)]
pub(super) struct Tally {
    /// Bytes of the request.
    asked: usize,
    /// Bytes of the answer.
    said: usize,
    /// Usage as the server reported it.
    told: Option<Usage>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The turn goes on, or ended before its answer was complete.
    Open,
    Complete,
    /// The turn failed before any output, but not by a timeout. Only what the server reported counts.
    Refused,
}

impl Tally {
    pub(super) fn of(request: &ChatRequest) -> Self {
        let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.schema.len();
        let files = request.attachments.len() * PICTURE * BYTES_PER_TOKEN;
        let asked = request.text.len()
            + request.system.as_ref().map_or(0, String::len)
            + request.history.iter().map(weight).sum::<usize>()
            + request.tools.iter().map(tool).sum::<usize>()
            + files;
        Self { asked, said: 0, told: None, end: End::Open }
    }

    pub(super) fn note(&mut self, output: &ChatOutput) {
        match output {
            ChatOutput::Delta(text) => self.said += text.len(),
            ChatOutput::ToolCall(call) => self.said += length(call),
            ChatOutput::Image { .. } => self.said += PICTURE * BYTES_PER_TOKEN,
            ChatOutput::Usage(usage) => self.told = Some(*usage),
            ChatOutput::Done { .. } => self.end = End::Complete,
            ChatOutput::Failed(error) if self.said == 0 && is_refusal(error) => {
                self.end = End::Refused;
            }
            ChatOutput::Failed(_) => self.end = End::Open,
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        let (asked, said) = (tokens(self.asked), tokens(self.said));
        let Usage { input, output } = match (self.end, self.told) {
            (End::Complete, Some(told)) => told,
            (End::Refused, told) => told.unwrap_or_default(),
            // Reported at the beginning, when there was hardly any answer.
            (End::Open, Some(told)) => Usage { input: told.input, output: told.output.max(said) },
            (End::Open | End::Complete, None) => Usage { input: asked, output: said },
        };
        input.saturating_add(output)
    }
}

/// A timeout is not a refusal: the model may have worked all that time.
fn is_refusal(error: &ChatError) -> bool {
    match error {
        ChatError::Timeout { .. } => false,
        ChatError::NoKey { .. }
        | ChatError::BadKey { .. }
        | ChatError::Quota { .. }
        | ChatError::UnknownModel { .. }
        | ChatError::TooLong { .. }
        | ChatError::Refused { .. }
        | ChatError::Network { .. }
        | ChatError::Malformed { .. }
        | ChatError::Server { .. }
        | ChatError::Budget { .. }
        | ChatError::Unavailable(_)
        | ChatError::Scripted(_) => true,
    }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

fn length(call: &ToolCall) -> usize {
    call.name.len() + call.arguments.len()
}

fn weight(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::User { text, images } => text.len() + images.len() * PICTURE * BYTES_PER_TOKEN,
        ChatMessage::Assistant { text, calls } => {
            text.len() + calls.iter().map(length).sum::<usize>()
        }
        ChatMessage::Tool(result) => match &result.outcome {
            Ok(text) | Err(text) => text.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::chat::DoneReason;
    use std::time::Duration;

    const DONE: ChatOutput = ChatOutput::Done { reason: DoneReason::Complete };

    fn said(text: &str) -> ChatOutput {
        ChatOutput::Delta(text.to_owned())
    }

    fn told(input: u64, output: u64) -> ChatOutput {
        ChatOutput::Usage(Usage { input, output })
    }

    #[track_caller]
    fn check(outputs: &[ChatOutput], expected: u64) {
        let request = ChatRequest { text: "twelve bytes".to_owned(), ..ChatRequest::default() };
        let mut tally = Tally::of(&request);
        outputs.iter().for_each(|output| tally.note(output));
        assert_eq!(tally.tokens(), expected, "{outputs:?}");
    }

    #[test]
    fn reported_usage_counts_and_else_an_estimate_of_the_text() {
        check(&[said("123456"), told(500, 7), DONE], 507);
        check(&[said("123456"), DONE], 6);
        check(&[], 4);
        check(&[said("123456")], 6);
        // Anthropic reports usage at the beginning; here the connection is cut off afterwards.
        let cut = ChatOutput::Failed(ChatError::Network { reason: "cut off".to_owned() });
        check(&[said("123456"), told(500, 1), cut], 502);
    }

    #[test]
    fn a_refused_turn_costs_nothing_and_a_timed_out_one_its_question() {
        let refused = ChatError::Server { status: 500, reason: String::new() };
        check(&[ChatOutput::Failed(refused)], 0);
        let silent = ChatError::Timeout { waited: Duration::from_secs(300) };
        check(&[ChatOutput::Failed(silent)], 4);
    }
}
