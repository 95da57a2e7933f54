// Runs on the audio thread: cuts the microphone into PCM16 chunks, and plays chunks one after the other.

import { createResampler } from "./resampler.js";

const CAPTURE_RATE = 16_000;
const CHUNK_SAMPLES = 1_024;
/** Silence this long absorbs the uneven arrival of the first chunks. */
const HEAD_START_SAMPLES = 1_200;
const LONGEST_WAIT_BLOCKS = 24;
/** Five minutes at 24 kHz; beyond that something is wrong, and the newest is dropped. */
const QUEUE_LIMIT_SAMPLES = 5 * 60 * 24_000;
const REPORT_EVERY_BLOCKS = 16;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resample = createResampler(sampleRate, CAPTURE_RATE);
    this.startChunk();
    this.running = true;
    this.port.onmessage = () => (this.running = false);
  }

  startChunk() {
    this.chunk = new Int16Array(CHUNK_SAMPLES);
    this.filled = 0;
    this.peak = 0;
  }

  process([input]) {
    if (input.length > 0) this.resample(input[0]).forEach((sample) => this.take(sample));
    return this.running;
  }

  take(sample) {
    const bounded = Math.max(-1, Math.min(1, sample));
    this.chunk[this.filled] = Math.round(bounded * 32_767);
    this.filled += 1;
    this.peak = Math.max(this.peak, Math.abs(bounded));
    if (this.filled < CHUNK_SAMPLES) return;
    this.port.postMessage({ pcm: this.chunk.buffer, peak: this.peak }, [this.chunk.buffer]);
    this.startChunk();
  }
}

class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.played = 0;
    this.blocks = 0;
    this.drop();
    this.port.onmessage = ({ data }) => (data === "stop" ? this.fadeOut() : this.accept(data));
  }

  drop() {
    this.queue = [];
    this.offset = 0;
    this.queued = 0;
    this.playing = false;
    this.waited = 0;
    this.fading = false;
  }

  accept(pcm) {
    const samples = new Int16Array(pcm);
    if (this.queued + samples.length > QUEUE_LIMIT_SAMPLES) return;
    if (this.fading) this.drop();
    this.queue.push(samples);
    this.queued += samples.length;
  }

  // Cutting a wave in the middle clicks; one more block, fading to nothing, takes about 5 ms.
  fadeOut() {
    if (this.playing) this.fading = true;
    else this.drop();
  }

  process(_, [output]) {
    const block = output[0];
    if (this.mayPlay()) this.fill(block);
    if (this.fading) this.finishFade(block);
    this.report();
    return true;
  }

  mayPlay() {
    if (this.playing || this.queued === 0) return this.playing;
    this.waited += 1;
    this.playing = this.queued >= HEAD_START_SAMPLES || this.waited > LONGEST_WAIT_BLOCKS;
    return this.playing;
  }

  fill(block) {
    let filled = 0;
    while (filled < block.length && this.queue.length > 0) filled += this.copy(block, filled);
    this.played += filled;
    this.queued -= filled;
    if (this.queued === 0) this.pause();
  }

  copy(block, start) {
    const chunk = this.queue[0];
    const count = Math.min(block.length - start, chunk.length - this.offset);
    for (let index = 0; index < count; index += 1) block[start + index] = chunk[this.offset + index] / 32_768;
    this.offset += count;
    if (this.offset === chunk.length) this.nextChunk();
    return count;
  }

  nextChunk() {
    this.queue.shift();
    this.offset = 0;
  }

  pause() {
    this.playing = false;
    this.waited = 0;
  }

  finishFade(block) {
    for (let index = 0; index < block.length; index += 1) block[index] *= 1 - index / block.length;
    this.drop();
  }

  report() {
    this.blocks += 1;
    if (this.blocks % REPORT_EVERY_BLOCKS === 0) this.port.postMessage({ played: this.played, queued: this.queued });
  }
}

registerProcessor("capture", Capture);
registerProcessor("playback", Playback);
