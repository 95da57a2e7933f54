// Cuts a microphone's samples into frames of 20 ms PCM16. Runs on the audio thread.

const FRAMES_PER_SECOND = 50;
const FADE_SECONDS = 0.005;

/** `onFrame(pcm, peak)` gets each whole frame and how loud it was, from 0 to 1. */
export function createFramer(rate, onFrame) {
  const size = rate / FRAMES_PER_SECOND;
  const step = 1 / (rate * FADE_SECONDS);
  let frame = new Int16Array(size);
  let filled = 0;
  let peak = 0;
  let wanted = 1;
  let gain = 1;

  function take(sample) {
    gain += Math.max(-step, Math.min(step, wanted - gain));
    const bounded = Math.max(-1, Math.min(1, sample * gain));
    frame[filled] = Math.round(bounded * 32_767);
    peak = Math.max(peak, Math.abs(bounded));
    filled += 1;
    if (filled === size) finish();
  }

  function finish() {
    onFrame(frame, peak);
    frame = new Int16Array(size);
    filled = 0;
    peak = 0;
  }

  return {
    add: (samples) => samples.forEach(take),
    /** Frames of silence go on, so that whoever listens knows that the person has stopped speaking. */
    mute: (on) => (wanted = on ? 0 : 1),
  };
}
