//! A live model without a model: plays the microphone back, answers a text with an echo and a tone, and can be
//! interrupted like the real ones. Used by tests and by the offline demo.

mod tone;

use super::{
    LIVE_INPUT_CAPACITY, LIVE_OUTPUT_CAPACITY, LiveInput, LiveLink, LiveOutput, Pace, SPEAKER_RATE,
    Stale,
};
use crate::audio::gate::{Edge, SpeechGate};
use crate::audio::resample::{ResampleError, Resampler};
use crate::message::{AudioChunk, Generation, Speaker, StopReason};
use crate::task;
use bytes::Bytes;
use image::ImageReader;
use std::io::Cursor;
use tokio::sync::mpsc;
use tone::Tone;

/// A text that begins like this and goes on with a number gives work to that agent.
const USE: &str = "use ";
const GIVE_WORK: &str = "/agent ";

pub(super) fn connect(speaker: super::Speaker) -> LiveLink {
    let (input, requests) = mpsc::channel(LIVE_INPUT_CAPACITY);
    let (answers, output) = mpsc::channel(LIVE_OUTPUT_CAPACITY);
    let model = Model {
        answers,
        speaker,
        reply: None,
        gate: SpeechGate::default(),
        tone: None,
        resampler: None,
        calls: 0,
    };
    task::spawn("live-scripted", async move {
        // The only error is that nobody listens any more, which is how every conversation ends.
        let _ = model.run(requests).await;
    });
    LiveLink { input, output }
}

/// The session dropped its end of the link.
#[derive(Debug)]
struct LinkDropped;

#[derive(Debug)]
struct Model {
    answers: mpsc::Sender<LiveOutput>,
    speaker: super::Speaker,
    /// What is being played, as long as nobody has silenced it.
    reply: Option<Generation>,
    gate: SpeechGate,
    tone: Option<Tone>,
    /// For the rate at which the microphone sends.
    resampler: Option<(u32, Resampler)>,
    calls: u64,
}

impl Model {
    async fn run(mut self, mut requests: mpsc::Receiver<LiveInput>) -> Result<(), LinkDropped> {
        loop {
            tokio::select! {
                request = requests.recv() => match request {
                    Some(request) => self.on_input(request).await?,
                    None => return Ok(()),
                },
                chunk = next_chunk(&mut self.tone) => match chunk {
                    Some(pcm) => self.play(pcm).await?,
                    None => self.tone = None,
                },
            }
        }
    }

    async fn on_input(&mut self, request: LiveInput) -> Result<(), LinkDropped> {
        match request {
            // A gap needs no care: an echo has it too.
            LiveInput::Audio { chunk, lost: _ } => self.on_audio(chunk).await,
            LiveInput::Text(text) => self.on_text(&text).await,
            LiveInput::Place(place) => self.emit(LiveOutput::Placed(place)).await,
            LiveInput::Report(text) => {
                self.tone = Some(Tone::for_text(&text));
                Ok(())
            }
            LiveInput::Image(bytes) => {
                let seen = tokio::task::spawn_blocking(move || describe(bytes)).await;
                let text = seen.unwrap_or_else(|_| "echo: not an image".to_owned());
                self.emit(LiveOutput::Text(text)).await
            }
            LiveInput::Interrupt => {
                self.tone = None;
                Ok(())
            }
            // Whatever is said comes back, with or without a key.
            LiveInput::TalkKey(_) => Ok(()),
            LiveInput::ToolResult { outcome, .. } => {
                let (Ok(text) | Err(text)) = outcome;
                self.emit(LiveOutput::Text(text)).await
            }
        }
    }

    async fn on_audio(&mut self, chunk: AudioChunk) -> Result<(), LinkDropped> {
        let edge = self.gate.push(&chunk);
        if edge == Some(Edge::Started) && self.tone.take().is_some() {
            self.speaker.stop(Some(StopReason::UserSpeaks));
        }
        match self.resample(chunk) {
            Ok(pcm) if pcm.is_empty() => (),
            Ok(pcm) => self.play(pcm).await?,
            Err(err) => {
                self.emit(LiveOutput::Failed { reason: err.to_string() }).await?;
                return Err(LinkDropped);
            }
        }
        if let Some(Edge::Ended { speech }) = edge {
            let seconds = speech.as_secs_f64();
            self.transcribe(Speaker::User, format!("heard {seconds:.1} s of speech")).await?;
            self.transcribe(Speaker::Model, format!("played {seconds:.1} s back")).await?;
        }
        Ok(())
    }

    async fn on_text(&mut self, text: &str) -> Result<(), LinkDropped> {
        if let Some(call) = self.tool_call(text) {
            return self.emit(call).await;
        }
        self.emit(LiveOutput::Text(format!("echo: {text}"))).await?;
        self.tone = Some(Tone::for_text(text));
        Ok(())
    }

    /// `/agent 2 do this`: real models call the tool when they are asked for work.
    /// `use file:read {"path": "a"}` calls any other tool.
    fn tool_call(&mut self, text: &str) -> Option<LiveOutput> {
        if let Some((name, arguments)) =
            text.strip_prefix(USE).and_then(|rest| rest.split_once(' '))
            && name.contains(':')
        {
            self.calls += 1;
            let (name, arguments) = (name.to_owned(), arguments.trim().to_owned());
            return Some(LiveOutput::ToolCall { id: self.calls.to_string(), name, arguments });
        }
        let (channel, request) = text.strip_prefix(GIVE_WORK)?.split_once(' ')?;
        self.calls += 1;
        Some(LiveOutput::ToolCall {
            id: self.calls.to_string(),
            name: super::GIVE_WORK_TOOL.to_owned(),
            arguments: serde_json::json!({ "channel": channel, "request": request }).to_string(),
        })
    }

    fn resample(&mut self, chunk: AudioChunk) -> Result<Bytes, ResampleError> {
        if chunk.rate == SPEAKER_RATE {
            return Ok(chunk.pcm);
        }
        let kept = self.resampler.take().filter(|(rate, _)| *rate == chunk.rate);
        let (rate, mut resampler) = match kept {
            Some(kept) => kept,
            None => (chunk.rate, Resampler::new(chunk.rate, SPEAKER_RATE)?),
        };
        let pcm = resampler.push(&chunk.pcm);
        self.resampler = Some((rate, resampler));
        Ok(pcm)
    }

    /// It is as fast as the microphone. Silence ends what was being played, not what comes now.
    async fn play(&mut self, pcm: Bytes) -> Result<(), LinkDropped> {
        loop {
            let begin = || self.speaker.begin(Pace::Speech);
            let reply = *self.reply.get_or_insert_with(begin);
            match self.speaker.push(reply, pcm.clone()).await {
                Ok(()) => return Ok(()),
                Err(Stale) => self.reply = None,
            }
        }
    }

    async fn transcribe(&mut self, speaker: Speaker, text: String) -> Result<(), LinkDropped> {
        self.emit(LiveOutput::Transcript { speaker, text, interrupted: None }).await
    }

    async fn emit(&mut self, output: LiveOutput) -> Result<(), LinkDropped> {
        self.answers.send(output).await.map_err(|_| LinkDropped)
    }
}

/// Waits for ever while no tone plays; `None` means that it is over.
async fn next_chunk(tone: &mut Option<Tone>) -> Option<Bytes> {
    match tone {
        Some(tone) => tone.next().await,
        None => std::future::pending().await,
    }
}

/// Reads no more than the header, but some formats are copied for that, so this stays off the runtime.
fn describe(bytes: Bytes) -> String {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok();
    match reader.and_then(|reader| reader.into_dimensions().ok()) {
        Some((width, height)) => format!("echo: image {width}x{height}"),
        None => "echo: not an image".to_owned(),
    }
}

#[cfg(test)]
mod tests;
