//! Replies and utterances, which get their ids here because the vendor gives none.
//!
//! Transcriptions and sound come in no fixed order. Text of the user belongs to one utterance until its answer is made;
//! text of the model belongs to the current reply, or to the last one.

use super::wire::{InlineData, ServerContent, Transcription};
use crate::provider::live::remote::protocol::{Effect, Recovery, ReplyEnd};
use bytes::{Bytes, BytesMut};

const SOUND: &str = "audio/pcm";
const RATE: &str = "24000";
/// Reasons of a turn that ended well.
const GOOD_ENDS: [&str; 3] = ["", "TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT"];

#[derive(Debug, Default)]
pub(super) struct Dialogue {
    replies: u64,
    utterances: u64,
    reply: Option<Reply>,
    utterance: Option<Utterance>,
    /// The last reply, while more of its text may come.
    late: Option<String>,
    /// A reply was interrupted, and the vendor has not ended its turn yet.
    cut: bool,
    /// The vendor has something to answer.
    asked: bool,
    /// An upper bound for the replies that may still come: the vendor may answer several inputs at once, or not at all.
    open: u32,
}

#[derive(Debug)]
struct Reply {
    name: String,
    progress: Progress,
    /// The user has cancelled it, but the vendor goes on sending it.
    hushed: bool,
    /// It was cancelled before it began, so it may be the answer to something else after all.
    foreseen: bool,
    /// Sound of it was dropped, so its text may belong to that sound.
    swallowed: bool,
    /// First byte of a sample whose second byte is still to come.
    half: Option<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Expected,
    Begun,
    /// There will be no more sound.
    Made,
}

#[derive(Debug)]
struct Utterance {
    name: String,
    text: String,
}

impl Dialogue {
    /// A new connection begins. Ids go on, so that none is used twice.
    pub(super) fn forget(&mut self) {
        let Self { replies, utterances, .. } = *self;
        *self = Self { replies, utterances, ..Self::default() };
    }

    /// Suppresses the current or the expected reply. False if there is none.
    pub(super) fn hush(&mut self, effects: &mut Vec<Effect>) -> bool {
        if self.reply.is_none() && self.asked {
            self.reply = Some(self.new_reply(Progress::Expected));
        }
        let Some(reply) = &mut self.reply else { return false };
        reply.foreseen |= reply.progress == Progress::Expected;
        if !reply.hushed && !reply.foreseen {
            let end = ReplyEnd::Cancelled;
            effects.push(Effect::ReplyEnded { reply: reply.name.clone(), end });
        }
        reply.hushed = true;
        true
    }

    /// The vendor is given something to answer; what it says from now on answers that.
    pub(super) fn ask(&mut self) {
        self.attend();
        self.asked = true;
        self.open = self.open.saturating_add(1);
    }

    /// The user begins to speak, as far as we know.
    pub(super) fn listen(&mut self, effects: &mut Vec<Effect>) {
        self.attend();
        self.open = 0;
        self.end_utterance(effects);
    }

    fn attend(&mut self) {
        self.asked = false;
        self.reply.take_if(|reply| reply.progress == Progress::Expected);
        self.pass();
    }

    /// The vendor may answer what it has heard so far.
    pub(super) fn fall_silent(&mut self) {
        self.pass();
        self.open = self.open.saturating_add(1);
    }

    /// Text from now on does not belong to the last reply: a transcript with too little is better than one with text that
    /// nobody has heard.
    fn pass(&mut self) {
        if !self.cut {
            self.late = None;
        }
    }

    /// Handles the parts of one message in the order in which they were said.
    pub(super) fn content(&mut self, content: ServerContent<'_>, effects: &mut Vec<Effect>) {
        let mut heard = content.input_transcription;
        if !content.interrupted {
            self.user_said(heard.take(), effects);
        }
        let parts = content.model_turn.map(|turn| turn.parts).unwrap_or_default();
        for data in parts.into_iter().filter_map(|part| part.inline_data) {
            self.sound(&data, effects);
        }
        self.model_said(content.output_transcription, effects);
        if content.interrupted {
            self.interrupted(effects);
            self.user_said(heard, effects);
        }
        if content.generation_complete {
            self.generation_complete(effects);
        }
        if content.turn_complete {
            self.turn_complete(&content.turn_complete_reason.unwrap_or_default(), effects);
        }
    }

    fn user_said(&mut self, piece: Option<Transcription>, effects: &mut Vec<Effect>) {
        let Some(Transcription { text, finished }) = piece else { return };
        if !text.is_empty() {
            let utterance = self.utterance();
            utterance.text.push_str(&text);
            if !finished {
                let utterance = utterance.name.clone();
                effects.push(Effect::UserSaid { utterance, text, last: false });
            }
        }
        if finished {
            self.end_utterance(effects);
        }
    }

    fn utterance(&mut self) -> &mut Utterance {
        if self.utterance.is_none() {
            self.attend();
            self.open = 0;
            self.reply.take_if(|reply| reply.foreseen);
            self.utterances += 1;
        }
        let name = || format!("utterance-{}", self.utterances);
        self.utterance.get_or_insert_with(|| Utterance { name: name(), text: String::new() })
    }

    fn end_utterance(&mut self, effects: &mut Vec<Effect>) {
        if let Some(Utterance { name, text }) = self.utterance.take() {
            effects.push(Effect::UserSaid { utterance: name, text, last: true });
        }
    }

    fn sound(&mut self, data: &InlineData<'_>, effects: &mut Vec<Effect>) {
        let mut mime = data.mime_type.split(';').map(str::trim);
        if mime.next().is_none_or(|kind| !kind.eq_ignore_ascii_case(SOUND)) {
            return;
        }
        let rate = mime.find_map(|parameter| parameter.strip_prefix("rate="));
        if let Some(rate) = rate.filter(|rate| *rate != RATE) {
            let rate: String = rate.chars().take(16).collect();
            let reason = format!("it speaks at {rate} Hz, but {RATE} Hz were agreed");
            return effects.push(Effect::Failed { reason, recovery: Recovery::GiveUp });
        }
        let Ok(pcm) = base64_simd::STANDARD.decode_to_vec(data.data.as_bytes()) else {
            return effects
                .push(Effect::Remark("sound that is not base64 was left out".to_owned()));
        };
        if self.reply.as_ref().is_some_and(|reply| reply.progress == Progress::Made) {
            self.end_reply(ReplyEnd::Complete, effects);
        }
        let reply = self.begin(effects);
        let pcm = reply.whole_samples(pcm);
        reply.swallowed |= reply.hushed;
        if !pcm.is_empty() && !reply.hushed {
            effects.push(Effect::Sound { reply: reply.name.clone(), pcm });
        }
    }

    fn begin(&mut self, effects: &mut Vec<Effect>) -> &mut Reply {
        let mut reply = match self.reply.take() {
            Some(reply) => reply,
            None => {
                let reply = self.new_reply(Progress::Expected);
                effects.push(Effect::ReplyBegan { reply: reply.name.clone() });
                reply
            }
        };
        if reply.progress == Progress::Expected {
            reply.progress = Progress::Begun;
            (self.late, self.asked) = (None, false);
            self.open = self.open.saturating_sub(1);
        }
        self.reply.insert(reply)
    }

    fn new_reply(&mut self, progress: Progress) -> Reply {
        self.replies += 1;
        Reply {
            name: format!("reply-{}", self.replies),
            progress,
            hushed: false,
            foreseen: false,
            swallowed: false,
            half: None,
        }
    }

    fn model_said(&mut self, piece: Option<Transcription>, effects: &mut Vec<Effect>) {
        let Some(Transcription { text, finished }) = piece else { return };
        if !text.is_empty() {
            match (&self.reply, self.late.clone()) {
                (None, Some(reply)) => effects.push(Effect::ReplySaid { reply, text }),
                // Text of a reply that was interrupted.
                (None, None) if self.cut => (),
                _ => {
                    let reply = self.begin(effects);
                    let said = Effect::ReplySaid { reply: reply.name.clone(), text };
                    // Sound that was played before the cancel has text, too, which may come late.
                    let wanted = !(reply.hushed && (reply.foreseen || reply.swallowed));
                    effects.extend(Some(said).filter(|_| wanted));
                }
            }
        }
        if finished && self.reply.is_none() {
            self.late = None;
        }
    }

    fn interrupted(&mut self, effects: &mut Vec<Effect>) {
        // A reply that the user cancelled is silent already.
        if !self.reply.as_ref().is_some_and(|reply| reply.hushed) {
            effects.push(Effect::Interrupted);
        }
        self.cut |= self.reply.is_some();
        self.asked = false;
        self.end_reply(ReplyEnd::Cancelled, effects);
        self.end_utterance(effects);
    }

    /// The vendor ends the turn only after the time of playback; the user's text should be known earlier.
    fn generation_complete(&mut self, effects: &mut Vec<Effect>) {
        if let Some(reply) = &mut self.reply {
            if reply.progress == Progress::Begun && !reply.hushed {
                effects.push(Effect::ReplyMade { reply: reply.name.clone() });
            }
            reply.progress = Progress::Made;
        }
        self.end_utterance(effects);
    }

    fn turn_complete(&mut self, reason: &str, effects: &mut Vec<Effect>) {
        self.asked = false;
        if std::mem::take(&mut self.cut) && self.reply.is_none() {
            self.late = None;
            return;
        }
        // A turn without sound is an answer, too: it ends the wait.
        self.begin(effects);
        let end = match GOOD_ENDS.contains(&reason) {
            true => ReplyEnd::Complete,
            false => ReplyEnd::Failed(reason.chars().take(100).collect()),
        };
        self.end_reply(end, effects);
        self.end_utterance(effects);
        // Another reply is expected, and its text may come before its sound.
        if self.open > 0 {
            self.late = None;
        }
    }

    fn end_reply(&mut self, end: ReplyEnd, effects: &mut Vec<Effect>) {
        if let Some(Reply { name, hushed: false, .. }) = self.reply.take() {
            self.late = Some(name.clone());
            effects.push(Effect::ReplyEnded { reply: name, end });
        }
    }
}

impl Reply {
    /// A sample that was torn between two messages is put together again.
    fn whole_samples(&mut self, pcm: Vec<u8>) -> Bytes {
        let mut pcm = match self.half.take() {
            None => pcm,
            Some(half) => {
                let mut whole = BytesMut::with_capacity(pcm.len() + 1);
                whole.extend_from_slice(&[half]);
                whole.extend_from_slice(&pcm);
                whole.into()
            }
        };
        if pcm.len() % 2 == 1 {
            self.half = pcm.pop();
        }
        pcm.into()
    }
}
