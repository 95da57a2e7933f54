// Runs on the audio thread: the microphone becomes frames, and packets of sound become what is heard.

import { createFramer } from "./framer.js";
import { createPlayout } from "./playout.js";
import { createResampler } from "./resampler.js";

const PROGRESS_EVERY_BLOCKS = 16;

class Capture extends AudioWorkletProcessor {
  constructor({ processorOptions: { rate } }) {
    super();
    this.resample = createResampler(sampleRate, rate);
    this.framer = createFramer(rate, (pcm, peak) => this.port.postMessage({ pcm: pcm.buffer, peak }, [pcm.buffer]));
    this.running = true;
    this.port.onmessage = ({ data }) => this.obey(data);
  }

  obey({ kind, on }) {
    if (kind === "mute") this.framer.mute(on);
    else this.running = false;
  }

  process([input]) {
    if (input.length > 0) this.framer.add(this.resample(input[0]));
    return this.running;
  }
}

class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.playout = createPlayout(sampleRate);
    this.progress = { peak: 0, playing: false };
    this.blocks = 0;
    this.era = 0;
    this.port.onmessage = ({ data }) => this.obey(data);
  }

  obey({ kind, generation, samples, era, seconds }) {
    if (kind === "sound") this.playout.push(generation, samples);
    else if (kind === "latency") this.playout.delay(seconds);
    else if (kind === "cancel") this.playout.cancel(generation);
    else if (kind === "hush") this.playout.hush();
    else this.reset(era);
    this.tell();
  }

  reset(era) {
    this.era = era;
    this.playout.reset();
  }

  process(_, [[block]]) {
    this.playout.render(block);
    for (const sample of block) this.progress.peak = Math.max(this.progress.peak, Math.abs(sample));
    this.tell();
    return true;
  }

  // A browser that has to draw is not woken for nothing.
  tell() {
    const reports = this.playout.reports();
    const playing = this.playout.isPlaying;
    this.blocks += 1;
    const isNews = reports.length > 0 || playing !== this.progress.playing;
    if (!isNews && !(playing && this.blocks % PROGRESS_EVERY_BLOCKS === 0)) return;
    this.port.postMessage({ reports, playing, peak: this.progress.peak, total: this.playout.total, era: this.era });
    this.progress = { peak: 0, playing };
  }
}

registerProcessor("capture", Capture);
registerProcessor("playback", Playback);
