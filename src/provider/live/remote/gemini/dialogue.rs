//! Who says what: replies and utterances, named and counted here because the vendor names neither.
//!
//! Its transcriptions are in no order with its sound. What the user said is taken for one utterance until its
//! answer is made; what the model said goes to the reply that is being made, or to the one that was.

use super::wire::{InlineData, ServerContent, Transcription};
use crate::provider::live::remote::protocol::{Deed, Fate, ReplyEnd};
use bytes::{Bytes, BytesMut};

const SOUND: &str = "audio/pcm";
const RATE: &str = "24000";
/// A turn that ended for one of these reasons ended well.
const GOOD_ENDS: [&str; 3] = ["", "TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT"];

#[derive(Debug, Default)]
pub(super) struct Dialogue {
    replies: u64,
    utterances: u64,
    reply: Option<Reply>,
    utterance: Option<Utterance>,
    /// The last reply, as long as more of its text may come.
    late: Option<String>,
    /// A reply was interrupted, and the vendor has not yet closed its turn.
    cut: bool,
    /// The vendor has something to answer.
    asked: bool,
    /// What it may still answer, one reply each; more than there is, if it answers several at once or not at all.
    open: u32,
}

#[derive(Debug)]
struct Reply {
    name: String,
    progress: Progress,
    /// The user does not want to hear it, but it comes.
    hushed: bool,
    /// That was known before it began, so it may be the answer to something else after all.
    foreseen: bool,
    /// There was sound of it that nobody hears, so its words may be of that.
    swallowed: bool,
    /// The first half of a sample whose other half is still to come.
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
    /// A new connection. Names are never used again.
    pub(super) fn forget(&mut self) {
        let Self { replies, utterances, .. } = *self;
        *self = Self { replies, utterances, ..Self::default() };
    }

    /// Nothing more is told of the reply that is being made, or of the one that is to be. False if there is none.
    pub(super) fn hush(&mut self, deeds: &mut Vec<Deed>) -> bool {
        if self.reply.is_none() && self.asked {
            self.reply = Some(self.new_reply(Progress::Expected));
        }
        let Some(reply) = &mut self.reply else { return false };
        reply.foreseen |= reply.progress == Progress::Expected;
        if !reply.hushed && !reply.foreseen {
            let end = ReplyEnd::Cancelled;
            deeds.push(Deed::ReplyEnded { reply: reply.name.clone(), end });
        }
        reply.hushed = true;
        true
    }

    /// The vendor gets something to answer, so what it says from now on is said to that.
    pub(super) fn ask(&mut self) {
        self.attend();
        self.asked = true;
        self.open = self.open.saturating_add(1);
    }

    /// The user begins to speak, as far as we know.
    pub(super) fn listen(&mut self, deeds: &mut Vec<Deed>) {
        self.attend();
        self.open = 0;
        self.end_utterance(deeds);
    }

    fn attend(&mut self) {
        self.asked = false;
        self.reply.take_if(|reply| reply.progress == Progress::Expected);
        self.pass();
    }

    /// The vendor may have something to say to what it has heard so far.
    pub(super) fn fall_silent(&mut self) {
        self.pass();
        self.open = self.open.saturating_add(1);
    }

    /// What the vendor says from now on is not said of the last reply: better too little is told of that than what
    /// nobody has heard.
    fn pass(&mut self) {
        if !self.cut {
            self.late = None;
        }
    }

    /// All of one message in the order in which it was said.
    pub(super) fn content(&mut self, content: ServerContent<'_>, deeds: &mut Vec<Deed>) {
        let mut heard = content.input_transcription;
        if !content.interrupted {
            self.user_said(heard.take(), deeds);
        }
        let parts = content.model_turn.map(|turn| turn.parts).unwrap_or_default();
        for data in parts.into_iter().filter_map(|part| part.inline_data) {
            self.sound(&data, deeds);
        }
        self.model_said(content.output_transcription, deeds);
        if content.interrupted {
            self.interrupted(deeds);
            self.user_said(heard, deeds);
        }
        if content.generation_complete {
            self.generation_complete(deeds);
        }
        if content.turn_complete {
            self.turn_complete(&content.turn_complete_reason.unwrap_or_default(), deeds);
        }
    }

    fn user_said(&mut self, piece: Option<Transcription>, deeds: &mut Vec<Deed>) {
        let Some(Transcription { text, finished }) = piece else { return };
        if !text.is_empty() {
            let utterance = self.utterance();
            utterance.text.push_str(&text);
            if !finished {
                let utterance = utterance.name.clone();
                deeds.push(Deed::UserSaid { utterance, text, last: false });
            }
        }
        if finished {
            self.end_utterance(deeds);
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

    fn end_utterance(&mut self, deeds: &mut Vec<Deed>) {
        if let Some(Utterance { name, text }) = self.utterance.take() {
            deeds.push(Deed::UserSaid { utterance: name, text, last: true });
        }
    }

    fn sound(&mut self, data: &InlineData<'_>, deeds: &mut Vec<Deed>) {
        let mut mime = data.mime_type.split(';').map(str::trim);
        if mime.next().is_none_or(|kind| !kind.eq_ignore_ascii_case(SOUND)) {
            return;
        }
        let rate = mime.find_map(|parameter| parameter.strip_prefix("rate="));
        if let Some(rate) = rate.filter(|rate| *rate != RATE) {
            let rate: String = rate.chars().take(16).collect();
            let reason = format!("it speaks at {rate} Hz, but {RATE} Hz were agreed");
            return deeds.push(Deed::Failed { reason, fate: Fate::GiveUp });
        }
        let Ok(pcm) = base64_simd::STANDARD.decode_to_vec(data.data.as_bytes()) else {
            return deeds.push(Deed::Remark("sound that is not base64 was left out".to_owned()));
        };
        if self.reply.as_ref().is_some_and(|reply| reply.progress == Progress::Made) {
            self.end_reply(ReplyEnd::Complete, deeds);
        }
        let reply = self.begin(deeds);
        let pcm = reply.whole_samples(pcm);
        reply.swallowed |= reply.hushed;
        if !pcm.is_empty() && !reply.hushed {
            deeds.push(Deed::Sound { reply: reply.name.clone(), pcm });
        }
    }

    fn begin(&mut self, deeds: &mut Vec<Deed>) -> &mut Reply {
        let mut reply = match self.reply.take() {
            Some(reply) => reply,
            None => {
                let reply = self.new_reply(Progress::Expected);
                deeds.push(Deed::ReplyBegan { reply: reply.name.clone() });
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

    fn model_said(&mut self, piece: Option<Transcription>, deeds: &mut Vec<Deed>) {
        let Some(Transcription { text, finished }) = piece else { return };
        if !text.is_empty() {
            match (&self.reply, self.late.clone()) {
                (None, Some(reply)) => deeds.push(Deed::ReplySaid { reply, text }),
                // Of a reply that nobody wants to hear.
                (None, None) if self.cut => (),
                _ => {
                    let reply = self.begin(deeds);
                    let said = Deed::ReplySaid { reply: reply.name.clone(), text };
                    // What was heard before it was hushed has words, too, and they may come late.
                    let wanted = !(reply.hushed && (reply.foreseen || reply.swallowed));
                    deeds.extend(Some(said).filter(|_| wanted));
                }
            }
        }
        if finished && self.reply.is_none() {
            self.late = None;
        }
    }

    fn interrupted(&mut self, deeds: &mut Vec<Deed>) {
        // Whoever asked for silence has it already, and perhaps something new to say.
        if !self.reply.as_ref().is_some_and(|reply| reply.hushed) {
            deeds.push(Deed::Interrupted);
        }
        self.cut |= self.reply.is_some();
        self.asked = false;
        self.end_reply(ReplyEnd::Cancelled, deeds);
        self.end_utterance(deeds);
    }

    /// The turn itself ends only when its sound must have been played; by then everybody wants to have read what the
    /// user said.
    fn generation_complete(&mut self, deeds: &mut Vec<Deed>) {
        if let Some(reply) = &mut self.reply {
            if reply.progress == Progress::Begun && !reply.hushed {
                deeds.push(Deed::ReplyMade { reply: reply.name.clone() });
            }
            reply.progress = Progress::Made;
        }
        self.end_utterance(deeds);
    }

    fn turn_complete(&mut self, reason: &str, deeds: &mut Vec<Deed>) {
        self.asked = false;
        if std::mem::take(&mut self.cut) && self.reply.is_none() {
            self.late = None;
            return;
        }
        // An answer without a sound is one too: whoever waits need not wait any longer.
        self.begin(deeds);
        let end = match GOOD_ENDS.contains(&reason) {
            true => ReplyEnd::Complete,
            false => ReplyEnd::Failed(reason.chars().take(100).collect()),
        };
        self.end_reply(end, deeds);
        self.end_utterance(deeds);
        // Its words may come ahead of its sound.
        if self.open > 0 {
            self.late = None;
        }
    }

    fn end_reply(&mut self, end: ReplyEnd, deeds: &mut Vec<Deed>) {
        if let Some(Reply { name, hushed: false, .. }) = self.reply.take() {
            self.late = Some(name.clone());
            deeds.push(Deed::ReplyEnded { reply: name, end });
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
