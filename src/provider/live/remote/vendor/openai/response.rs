//! A response: the sound of its messages and, at its end, its usage, how its messages ended, and its tool calls.

use super::wire::{OutputItem, Response, Status, Trouble};
use super::{FATAL, MOST_KNOWN, OpenAi};
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::protocol::{Effect, Recovery, ReplyEnd};
use bytes::Bytes;
use std::collections::VecDeque;

impl OpenAi {
    /// Announces a message when something of it comes for the first time.
    pub(super) fn begin(&mut self, item: &str) -> Option<Effect> {
        if self.now.replies.iter().any(|known| known == item) {
            return None;
        }
        self.now.replies.push(item.to_owned());
        remember(&mut self.now.made, (item.to_owned(), 0));
        Some(Effect::ReplyBegan { reply: item.to_owned() })
    }

    pub(super) fn on_audio(&mut self, item: String, audio: &str) -> Vec<Effect> {
        let Ok(pcm) = base64_simd::STANDARD.decode_to_vec(audio) else {
            return vec![Effect::Remark("sound that is no base64".to_owned())];
        };
        let began = self.begin(&item);
        let pcm = self.whole_samples(&item, pcm);
        if let Some((_, made)) = self.now.made.iter_mut().find(|(name, _)| *name == item) {
            *made += (pcm.len() / 2) as u64;
        }
        let sound = Effect::Sound { reply: item, pcm };
        [began, Some(sound)].into_iter().flatten().collect()
    }

    /// A sample that was torn between two messages is put together again.
    fn whole_samples(&mut self, item: &str, mut pcm: Vec<u8>) -> Bytes {
        if let Some((_, half)) = self.now.half.take().filter(|(of, _)| of == item) {
            pcm.insert(0, half);
        }
        if pcm.len() % 2 == 1 {
            self.now.half = pcm.pop().map(|half| (item.to_owned(), half));
        }
        pcm.into()
    }

    pub(super) fn on_done(&mut self, response: Response) -> Vec<Effect> {
        let wanted = self.now.responses.is_wanted(&response.id);
        let mut effects = Vec::new();
        if let Some(usage) = response.usage {
            let (input, output) = (usage.input_tokens, usage.output_tokens);
            effects.push(Effect::Tell(LiveOutput::Usage { input, output }));
        }
        if wanted {
            self.finish(&response, &mut effects);
        } else {
            let cancelled = self.now.replies.drain(..);
            effects.extend(
                cancelled.map(|reply| Effect::ReplyEnded { reply, end: ReplyEnd::Cancelled }),
            );
            self.now.calls.clear();
        }
        let act = self.now.responses.done();
        effects.extend(self.act(act));
        effects
    }

    fn finish(&mut self, response: &Response, effects: &mut Vec<Effect>) {
        let end = end_of(response);
        let replies = std::mem::take(&mut self.now.replies);
        let calls = self.calls_of(response);
        if replies.is_empty() && calls.is_empty() {
            let end = match &end {
                ReplyEnd::Complete => ReplyEnd::Failed("an empty answer".to_owned()),
                ReplyEnd::Cancelled | ReplyEnd::Failed(_) => end.clone(),
            };
            effects.push(Effect::ReplyEnded { reply: response.id.clone(), end });
        }
        // It was cancelled, but not by us.
        if end == ReplyEnd::Cancelled {
            effects.push(Effect::Interrupted);
        }
        effects.extend(
            replies.into_iter().map(|reply| Effect::ReplyEnded { reply, end: end.clone() }),
        );
        for (id, name, arguments) in calls {
            remember(&mut self.now.known_calls, id.clone());
            effects.push(Effect::Tell(LiveOutput::ToolCall { id, name, arguments }));
        }
        if let Some(error) = error_of(response)
            && FATAL.contains(&error.code())
        {
            effects.push(Effect::Failed { reason: error.text(), recovery: Recovery::GiveUp });
        }
    }

    /// Calls of a response that was not completed are dropped, although they may look complete.
    fn calls_of(&mut self, response: &Response) -> Vec<(String, String, String)> {
        let mut calls = std::mem::take(&mut self.now.calls);
        if response.status != Status::Completed {
            return Vec::new();
        }
        for item in &response.output {
            if let OutputItem::FunctionCall { call_id, name, arguments } = item
                && !calls.iter().any(|(id, ..)| id == call_id)
            {
                calls.push((call_id.clone(), name.clone(), arguments.clone()));
            }
        }
        calls
    }
}

fn remember<T>(known: &mut VecDeque<T>, new: T) {
    if known.len() >= MOST_KNOWN {
        known.pop_front();
    }
    known.push_back(new);
}

fn end_of(response: &Response) -> ReplyEnd {
    match response.status {
        // A reply that became too long is complete as far as it goes.
        Status::Completed | Status::Incomplete => ReplyEnd::Complete,
        Status::Cancelled => ReplyEnd::Cancelled,
        Status::Failed | Status::Other => {
            let because = response.status_details.as_ref().and_then(|why| why.reason.clone());
            let reason = error_of(response).map(Trouble::text).or(because);
            ReplyEnd::Failed(reason.unwrap_or_else(|| "it gives no reason".to_owned()))
        }
    }
}

fn error_of(response: &Response) -> Option<&Trouble> {
    response.status_details.as_ref()?.error.as_ref()
}
