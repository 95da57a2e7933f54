//! A response: the sound of its messages, and at its end what it has cost, what became of its messages, and which
//! tools it really wants.

use super::wire::{OutputItem, Response, Status, Trouble};
use super::{FATAL, MOST_KNOWN, OpenAi};
use crate::provider::live::LiveOutput;
use crate::provider::live::remote::protocol::{Deed, Fate, ReplyEnd};
use bytes::Bytes;
use std::collections::VecDeque;

impl OpenAi {
    /// The first that is known of a message.
    pub(super) fn begin(&mut self, item: &str) -> Option<Deed> {
        if self.now.replies.iter().any(|known| known == item) {
            return None;
        }
        self.now.replies.push(item.to_owned());
        remember(&mut self.now.made, (item.to_owned(), 0));
        Some(Deed::ReplyBegan { reply: item.to_owned() })
    }

    pub(super) fn on_audio(&mut self, item: String, audio: &str) -> Vec<Deed> {
        let Ok(pcm) = base64_simd::STANDARD.decode_to_vec(audio) else {
            return vec![Deed::Remark("sound that is no base64".to_owned())];
        };
        let began = self.begin(&item);
        let pcm = self.whole_samples(&item, pcm);
        if let Some((_, made)) = self.now.made.iter_mut().find(|(name, _)| *name == item) {
            *made += (pcm.len() / 2) as u64;
        }
        let sound = Deed::Sound { reply: item, pcm };
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

    pub(super) fn on_done(&mut self, response: Response) -> Vec<Deed> {
        let wanted = self.now.responses.is_wanted(&response.id);
        let mut deeds = Vec::new();
        if let Some(usage) = response.usage {
            let (input, output) = (usage.input_tokens, usage.output_tokens);
            deeds.push(Deed::Tell(LiveOutput::Usage { input, output }));
        }
        if wanted {
            self.finish(&response, &mut deeds);
        } else {
            let cancelled = self.now.replies.drain(..);
            deeds.extend(
                cancelled.map(|reply| Deed::ReplyEnded { reply, end: ReplyEnd::Cancelled }),
            );
            self.now.calls.clear();
        }
        let act = self.now.responses.done();
        deeds.extend(self.act(act));
        deeds
    }

    fn finish(&mut self, response: &Response, deeds: &mut Vec<Deed>) {
        let end = end_of(response);
        let replies = std::mem::take(&mut self.now.replies);
        let calls = self.calls_of(response);
        if replies.is_empty() && calls.is_empty() {
            let end = match &end {
                ReplyEnd::Complete => ReplyEnd::Failed("an empty answer".to_owned()),
                ReplyEnd::Cancelled | ReplyEnd::Failed(_) => end.clone(),
            };
            deeds.push(Deed::ReplyEnded { reply: response.id.clone(), end });
        }
        // Whoever cancelled it, it was not us.
        if end == ReplyEnd::Cancelled {
            deeds.push(Deed::Interrupted);
        }
        deeds.extend(replies.into_iter().map(|reply| Deed::ReplyEnded { reply, end: end.clone() }));
        for (id, name, arguments) in calls {
            remember(&mut self.now.known_calls, id.clone());
            deeds.push(Deed::Tell(LiveOutput::ToolCall { id, name, arguments }));
        }
        if let Some(error) = error_of(response)
            && FATAL.contains(&error.code())
        {
            deeds.push(Deed::Failed { reason: error.text(), fate: Fate::GiveUp });
        }
    }

    /// A response that was broken off wants nothing, although its calls may look complete.
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
        // What became too long was said as far as it goes.
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
