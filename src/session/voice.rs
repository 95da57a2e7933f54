//! The session's end of the live model: opened at first use, fed through a ring that forgets the oldest sound.

use crate::message::AudioChunk;
use crate::provider::live::{self, LiveConfig, LiveInput, LiveLink, LiveOutput};
use std::collections::VecDeque;
use std::future::pending;

/// Chunks kept while the model does not take them, about four seconds. Full: the oldest sound is dropped, counted
/// and marked as a gap; texts and pictures are never dropped.
const RING_CAPACITY: usize = 64;
/// Texts and pictures kept likewise. Full: the newest is refused, and the user is told.
pub(super) const WORDS_CAPACITY: usize = 16;
/// The same by payload: a picture or two.
const WORDS_BYTES: usize = 48 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Voice {
    config: LiveConfig,
    link: Option<LiveLink>,
    waiting: VecDeque<LiveInput>,
    gap: bool,
}

#[derive(Debug)]
pub(super) enum Wake {
    /// `None`: the model is gone.
    Output(Option<LiveOutput>),
    Room,
}

impl Voice {
    pub(super) fn new(config: LiveConfig) -> Self {
        Self { config, link: None, waiting: VecDeque::new(), gap: false }
    }

    /// Whether somebody is talking with the model.
    pub(super) fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Returns how many older chunks had to go.
    pub(super) fn hear(&mut self, chunk: AudioChunk) -> usize {
        let gap = std::mem::take(&mut self.gap);
        self.send(LiveInput::Audio { chunk, gap });
        let mut dropped = 0;
        while self.waiting.len() > RING_CAPACITY
            && let Some(oldest) =
                self.waiting.iter().position(|input| matches!(input, LiveInput::Audio { .. }))
        {
            self.waiting.remove(oldest);
            self.mark_gap(oldest);
            dropped += 1;
        }
        dropped
    }

    /// Whether the model is ready for more to read or to look at.
    pub(super) fn has_room(&self) -> bool {
        let words = self.waiting.iter().filter(|input| !matches!(input, LiveInput::Audio { .. }));
        let bytes = words.clone().map(|input| match input {
            LiveInput::Image(image) => image.len(),
            LiveInput::Text(text) | LiveInput::Report(text) => text.len(),
            LiveInput::Audio { .. } | LiveInput::Interrupt => 0,
        });
        words.count() < WORDS_CAPACITY && bytes.sum::<usize>() < WORDS_BYTES
    }

    /// Gives the model something to read or to look at.
    pub(super) fn show(&mut self, input: LiveInput) {
        self.send(input);
    }

    /// Silence: what the model says is not wanted any more. Goes ahead of everything that waits.
    pub(super) fn interrupt(&mut self) {
        let Some(link) = &self.link else { return };
        if matches!(self.waiting.front(), Some(LiveInput::Interrupt)) {
            return;
        }
        if let Err(refused) = link.input.try_send(LiveInput::Interrupt) {
            self.waiting.push_front(refused.into_inner());
        }
    }

    /// Waits for the model's next word (if `listening`) or for room to feed it more; never without a model.
    pub(super) async fn wake(&mut self, listening: bool) -> Wake {
        let Some(link) = &mut self.link else { return pending().await };
        tokio::select! {
            output = link.output.recv(), if listening => Wake::Output(output),
            // An error means that the model is gone, which its output reports.
            Ok(_) = link.input.reserve(), if !self.waiting.is_empty() => Wake::Room,
            else => pending().await,
        }
    }

    /// Takes what else the model has said, if anything.
    pub(super) fn more_output(&mut self) -> Option<LiveOutput> {
        self.link.as_mut()?.output.try_recv().ok()
    }

    /// Hands over what waits, as far as it is taken.
    pub(super) fn feed(&mut self) {
        let Some(link) = &self.link else { return };
        while let Some(input) = self.waiting.pop_front() {
            if let Err(refused) = link.input.try_send(input) {
                self.waiting.push_front(refused.into_inner());
                return;
            }
        }
    }

    /// Forgets the model; the next use opens a new one.
    pub(super) fn close(&mut self) {
        self.link = None;
        self.waiting.clear();
    }

    fn send(&mut self, input: LiveInput) {
        let link = self.link.get_or_insert_with(|| live::connect(&self.config));
        if !self.waiting.is_empty() {
            self.waiting.push_back(input);
        } else if let Err(refused) = link.input.try_send(input) {
            self.waiting.push_back(refused.into_inner());
        }
    }

    /// The chunk after a dropped one says so.
    fn mark_gap(&mut self, from: usize) {
        for input in self.waiting.iter_mut().skip(from) {
            if let LiveInput::Audio { gap, .. } = input {
                *gap = true;
                return;
            }
        }
        self.gap = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(mark: u8) -> AudioChunk {
        AudioChunk { rate: 24_000, pcm: bytes::Bytes::from(vec![mark; 2]) }
    }

    #[tokio::test]
    async fn a_model_that_does_not_listen_costs_the_oldest_sound_and_no_word() {
        let (input, mut taken) = tokio::sync::mpsc::channel(1);
        let (_output, answers) = tokio::sync::mpsc::channel(1);
        let mut voice = Voice::new(LiveConfig::Scripted);
        voice.link = Some(LiveLink { input, output: answers });
        let mut dropped = 0;
        for mark in 0..=u8::try_from(RING_CAPACITY).unwrap() + 10 {
            dropped += voice.hear(chunk(mark));
            if mark == 5 {
                voice.show(LiveInput::Text("hello".into()));
            }
        }
        assert_eq!(dropped, 11);
        let mut heard = Vec::new();
        let mut texts = 0;
        while let Ok(input) = taken.try_recv() {
            match input {
                LiveInput::Audio { chunk, gap } => heard.push((chunk.pcm[0], gap)),
                LiveInput::Text(_) => texts += 1,
                LiveInput::Report(_) | LiveInput::Image(_) | LiveInput::Interrupt => {}
            }
            voice.feed();
        }
        assert_eq!(texts, 1);
        assert_eq!(heard[0], (0, false), "the first was taken at once");
        assert_eq!(heard[1], (12, true), "the first after the gap says so");
        assert!(heard[2..].iter().all(|(_, gap)| !gap));
        assert_eq!(heard.last(), Some(&(74, false)));
    }
}
