// When which sample is heard, as arithmetic without a clock: sound arrives unevenly and in generations, leaves evenly in
// blocks, never begins or ends with a click, and is counted. Runs on the audio thread, and in tests without one.

import { createLedger } from "./ledger.js";
import { createRing } from "./ring.js";

/** So much is waited for before the first sample, because packets do not come evenly. */
const START_MS = 100;
/** After each gap a little more is waited for, up to a limit, and after a while without gaps less again. */
const GROWTH_MS = 5;
const LONGEST_START_MS = 500;
const CALM_MS = 10_000;
const FADE_MS = 8;
const REPORT_MS = 150;
/** A longer silence was meant, or is not cured by waiting a little longer. */
const LONGEST_GAP_MS = 1_000;
/** Five minutes; beyond that something is wrong, and the newest is dropped. */
const LIMIT_MS = 300_000;
/** Counts of older generations are of no use to anybody. */
const REMEMBERED = 8;

/** A generation is a number that rises with every answer, or null where the gateway does not number them. */
export function createPlayout(rate) {
  const samplesIn = (ms) => Math.round((ms * rate) / 1000);
  const fade = samplesIn(FADE_MS);
  const ring = createRing(samplesIn(LIMIT_MS));
  const ledger = createLedger(noteHeard);
  /** What the device has taken and nobody has heard yet, in samples. */
  let latency = 0;
  /** What leaves the speaker at this moment; undefined is silence. */
  let hearing;
  /** What is in the ring: runs of one generation, in order. */
  let runs = [];
  /** The faded end of what was cancelled. */
  let tail = { generation: null, samples: [], at: 0 };
  let counts = new Map();
  let due = new Set();
  let stale = 0;
  let newest = 0;
  /** How loud, from 0 to `fade`; it moves by one with every sample. */
  let level = 0;
  let start = samplesIn(START_MS);
  let playing = false;
  let waited = 0;
  let silence = 0;
  let emptied;
  let calm = 0;
  let unreported = 0;
  let total = 0;

  function countOf(generation) {
    if (!counts.has(generation)) counts.set(generation, { played: 0, gaps: 0 });
    if (counts.size > REMEMBERED) counts.delete(counts.keys().next().value);
    return counts.get(generation);
  }

  // Told at its beginning, now and then, and at its end.
  function noteHeard(generation, count) {
    const begins = generation !== hearing;
    hearing = generation;
    if (generation === undefined) return;
    countOf(generation).played += count;
    total += count;
    unreported = begins ? 0 : unreported + count;
    if (!begins && unreported < samplesIn(REPORT_MS) && leftOf(generation) > 0) return;
    unreported %= samplesIn(REPORT_MS);
    due.add(generation);
  }

  /** What is still to be heard of it, in samples. */
  function leftOf(generation) {
    const waiting = runs.filter((run) => run.generation === generation).reduce((sum, run) => sum + run.count, 0);
    const fading = tail.generation === generation ? tail.samples.length - tail.at : 0;
    return waiting + fading + ledger.onTheWay(generation);
  }

  function isStale(generation) {
    return generation !== null && generation <= stale;
  }

  function queue(generation, count) {
    if (runs.at(-1)?.generation === generation) runs.at(-1).count += count;
    else runs.push({ generation, count });
  }

  function noteGap(generation) {
    const short = silence < samplesIn(LONGEST_GAP_MS);
    if (emptied !== generation || (generation === null && !short)) return;
    emptied = undefined;
    countOf(generation).gaps += 1;
    calm = 0;
    if (short) start = Math.min(start + samplesIn(GROWTH_MS), samplesIn(LONGEST_START_MS));
  }

  function pause() {
    playing = false;
    waited = 0;
    silence = 0;
    level = 0;
  }

  // Cutting a wave in the middle clicks: as many samples as it takes to become silent are still heard.
  function fadeAway() {
    const samples = Float32Array.from({ length: level }, () => (ring.take() / 32_768) * ((level -= 1) / fade));
    tail = { generation: runs[0].generation, samples, at: 0 };
    runs[0].count -= samples.length;
  }

  /** Ends the oldest `count` runs. */
  function cut(count) {
    if (count === 0) return;
    if (playing) fadeAway();
    for (const run of runs.splice(0, count)) {
      ring.drop(run.count);
      countOf(run.generation);
      due.add(run.generation);
    }
    emptied = undefined;
    pause();
  }

  function fallSilent() {
    cut(runs.length);
    if (newest > 0) due.add(newest);
  }

  function mayPlay(blockLength) {
    if (playing || runs.length === 0) return playing;
    waited += blockLength;
    // A word that is shorter than the wait is heard as well.
    playing = ring.length >= start || waited > 2 * start;
    return playing;
  }

  function playTail(block) {
    const count = Math.min(block.length, tail.samples.length - tail.at);
    for (let index = 0; index < count; index += 1) block[index] = tail.samples[tail.at + index];
    tail.at += count;
    ledger.wrote(tail.generation, count);
    return count;
  }

  /** Plays the oldest run into the block; the rest of a run is just enough to fade it out. */
  function playRun(block, from) {
    const [run] = runs;
    const count = Math.min(block.length - from, run.count);
    for (let index = 0; index < count; index += 1) {
      const left = run.count - index;
      if (left <= level) level -= 1;
      else if (level < fade && left > level + 1) level += 1;
      block[from + index] = (ring.take() / 32_768) * (level / fade);
    }
    run.count -= count;
    ledger.wrote(run.generation, count);
    if (run.count === 0) endRun(run.generation);
    return count;
  }

  function endRun(generation) {
    runs.shift();
    if (runs.length > 0) return;
    emptied = generation;
    pause();
  }

  function play(block, from) {
    let filled = from;
    while (filled < block.length && runs.length > 0) filled += playRun(block, filled);
    rest(filled - from);
    return filled;
  }

  function rest(played) {
    calm += played;
    if (calm < samplesIn(CALM_MS)) return;
    calm = 0;
    start = Math.max(start - samplesIn(GROWTH_MS), samplesIn(START_MS));
  }

  function report(generation) {
    const { played, gaps } = countOf(generation);
    return { generation, played, gaps, leftMs: Math.ceil((leftOf(generation) * 1000) / rate) };
  }

  return {
    push(generation, samples) {
      if (samples.length === 0 || isStale(generation) || !ring.add(samples)) return;
      newest = Math.max(newest, generation ?? 0);
      noteGap(generation);
      queue(generation, samples.length);
    },
    /** Nothing up to this generation is wanted any more; null: nothing of what is here. */
    cancel(generation) {
      if (generation === null) return fallSilent();
      stale = Math.max(stale, generation);
      const fresh = runs.findIndex((run) => run.generation !== null && !isStale(run.generation));
      cut(fresh === -1 ? runs.length : fresh);
      due.add(generation);
    },
    /** The person wants silence: what is on its way is not wanted either. */
    hush() {
      stale = Math.max(stale, newest);
      fallSilent();
    },
    /** Another connection numbers and counts anew, and sends again what was not heard. */
    reset() {
      cut(runs.length);
      tail.generation = undefined;
      ledger.disown();
      hearing = undefined;
      counts = new Map();
      due = new Set();
      emptied = undefined;
      stale = 0;
      newest = 0;
    },
    /** The device plays so much later what it is given. */
    delay(seconds) {
      latency = samplesIn(seconds * 1000);
    },
    render(block) {
      let filled = playTail(block);
      if (filled < block.length && mayPlay(block.length)) filled = play(block, filled);
      block.fill(0, filled);
      ledger.wrote(undefined, block.length - filled);
      ledger.settle(latency);
      if (!playing) silence += block.length;
    },
    /** What has to be told of which generation since the last time; nothing while a cancelled one fades. */
    reports() {
      if (tail.at < tail.samples.length) return [];
      const told = [...due].map(report);
      due = new Set();
      return told;
    },
    get isPlaying() {
      return playing || tail.at < tail.samples.length;
    },
    /** How much is waited for at this moment, and all that has ever left the speaker, in samples. */
    get start() {
      return start;
    },
    get total() {
      return total;
    },
  };
}
