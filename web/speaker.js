// The speaker: plays 24 kHz PCM16 packets without gaps, falls silent at once when told, and says what was heard.

const WORKLETS = "/assets/audio-worklets.js";
const RATE = 24_000;
/** What arrives before the browser allows sound is kept this long; older words would only confuse. */
const HELD_SAMPLES = 2 * RATE;
const BLOCKED_AFTER_MS = 500;
/** Time constant of a speaker that is switched off or on: no click, and still at once. */
const SWITCH_SECONDS = 0.005;

/** Estimates waver; less than this nobody hears, in seconds. */
const LATENCY_STEP = 0.002;

/** Browsers have worklets only on secure origins. */
const CAN_PLAY = globalThis.isSecureContext;

/**
 * `onProgress({ reports, playing, peak, total })`: `reports` are { generation, played, gaps, leftMs }, and `total` counts
 * samples. `onBlocked(key)` once, with the text that tells why nothing is heard.
 */
export function createSpeaker({ onProgress, onBlocked }) {
  let context = null;
  let worklet = null;
  let volume = null;
  let opening = null;
  let held = [];
  let audible = true;
  let blockedTold = false;
  let heard = false;
  let era = 0;
  let latency = 0;

  async function open() {
    context = new AudioContext({ sampleRate: RATE });
    await context.audioWorklet.addModule(WORKLETS);
    worklet = new AudioWorkletNode(context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    worklet.port.onmessage = ({ data }) => progress(data);
    worklet.port.postMessage({ kind: "reset", era });
    volume = new GainNode(context, { gain: audible ? 1 : 0 });
    worklet.connect(volume).connect(context.destination);
  }

  // What was heard over another connection is of no use to this one, and would be counted twice.
  function progress({ era: told, ...data }) {
    tellLatency();
    heard ||= data.total > 0;
    onProgress(told === era ? data : { ...data, reports: [] });
  }

  // Known only while sound plays, and another one after a change of device.
  function tellLatency() {
    const seconds = context.outputLatency || context.baseLatency || 0;
    if (Math.abs(seconds - latency) < LATENCY_STEP) return;
    latency = seconds;
    worklet.port.postMessage({ kind: "latency", seconds });
  }

  async function start() {
    if (!CAN_PLAY) return;
    opening ??= open();
    await opening;
    await context.resume();
    tellLatency();
    held.forEach(pass);
    held = [];
  }

  function pass(sound) {
    worklet.port.postMessage(sound, [sound.samples.buffer]);
  }

  function hold(sound) {
    held.push(sound);
    while (held.length > 1 && samplesIn(held) > HELD_SAMPLES) held.shift();
    start();
    setTimeout(tellBlocked, BLOCKED_AFTER_MS);
  }

  function tellBlocked() {
    if (context?.state !== "suspended") return;
    if (held.length > 0) tellUnheard(held);
    tellOnce("soundBlocked");
  }

  function tellOnce(key) {
    if (blockedTold || !audible) return;
    blockedTold = true;
    onBlocked(key);
  }

  function refuse(sound) {
    tellUnheard([sound], 0);
    tellOnce("soundInsecure");
  }

  // The gateway must not believe that a page was heard which may not make a sound.
  function tellUnheard(sounds, leftMs = (samplesIn(sounds) * 1000) / RATE) {
    if (heard) return;
    const generations = new Set(sounds.map((sound) => sound.generation));
    const reports = [...generations].map((generation) => ({ generation, played: 0, gaps: 0, leftMs: Math.round(leftMs) }));
    onProgress({ reports, playing: false, peak: 0, total: 0 });
  }

  return {
    /** Browsers let sound begin only after a gesture; call this in every one. */
    unlock: start,
    /** `generation` is null where the gateway does not number its answers. */
    play(generation, bytes) {
      // Half a sample at the end would be noise.
      const sound = { kind: "sound", generation, samples: new Int16Array(bytes.buffer, 0, bytes.length >> 1) };
      if (!CAN_PLAY) return refuse(sound);
      if (worklet === null || context.state !== "running") return hold(sound);
      pass(sound);
    },
    /** Silence for everything up to this generation, or with null for all that has come. */
    stop(generation) {
      if (worklet === null) tellUnheard([...held, { generation }], 0);
      held = held.filter((sound) => generation !== null && sound.generation > generation);
      worklet?.port.postMessage({ kind: "cancel", generation });
    },
    /** Silence also for what is on its way. */
    hush() {
      if (worklet === null) tellUnheard(held, 0);
      held = [];
      worklet?.port.postMessage({ kind: "hush" });
    },
    /** The connection is another one: it begins to count anew. */
    reset() {
      held = [];
      era += 1;
      worklet?.port.postMessage({ kind: "reset", era });
    },
    /**
     * A volume, no more: whoever does not want to hear reads along, so the answer goes on in time and counts as heard,
     * and coming back is not behind.
     */
    setAudible(on) {
      audible = on;
      volume?.gain.setTargetAtTime(on ? 1 : 0, context.currentTime, SWITCH_SECONDS);
    },
  };
}

function samplesIn(sounds) {
  return sounds.reduce((sum, sound) => sum + sound.samples.length, 0);
}
