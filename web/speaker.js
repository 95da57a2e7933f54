// The speaker: plays 24 kHz PCM16 chunks without gaps and falls silent at once when told.

const WORKLETS = "/assets/audio-worklets.js";
const RATE = 24_000;
/** What arrives before the browser allows sound is kept this long; older words would only confuse. */
const HELD_BYTES = 2 * 2 * RATE;

/** `onProgress(played, queued)` counts samples; `onBlocked()` once if the browser waits for a gesture. */
export function createSpeaker({ onProgress, onBlocked }) {
  let context = null;
  let worklet = null;
  let opening = null;
  let held = [];
  let blockedTold = false;

  async function open() {
    context = new AudioContext({ sampleRate: RATE });
    await context.audioWorklet.addModule(WORKLETS);
    worklet = new AudioWorkletNode(context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    worklet.port.onmessage = ({ data }) => onProgress(data.played, data.queued);
    worklet.connect(context.destination);
  }

  async function start() {
    opening ??= open();
    await opening;
    await context.resume();
    held.forEach(pass);
    held = [];
  }

  function pass(pcm) {
    worklet.port.postMessage(pcm.buffer, [pcm.buffer]);
  }

  function hold(pcm) {
    held.push(pcm);
    while (held.length > 1 && bytesIn(held) > HELD_BYTES) held.shift();
    start();
    setTimeout(tellBlocked, 500);
  }

  function tellBlocked() {
    if (blockedTold || context.state !== "suspended") return;
    blockedTold = true;
    onBlocked();
  }

  return {
    /** Browsers let sound begin only after a gesture; call this in every one. */
    unlock: start,
    play(pcm) {
      if (worklet === null || context.state !== "running") return hold(pcm);
      pass(pcm);
    },
    stop() {
      held = [];
      worklet?.port.postMessage("stop");
    },
  };
}

function bytesIn(chunks) {
  return chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);
}
