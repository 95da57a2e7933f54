// When which sample is heard: the playout as arithmetic, sample by sample.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createFramer } from "../../web/framer.js";
import { createPlayout } from "../../web/playout.js";
import { createRing } from "../../web/ring.js";

const RATE = 24_000;
const BLOCK = 128;
const PACKET = 960;
const START = 2_400;
const FADE = 192;
const REPORT = 3_600;

/** A tone that is loud enough for every click to be seen. */
function tone(count, from = 0, frequency = 440) {
  return Int16Array.from({ length: count }, (_, index) => 28_000 * Math.sin((2 * Math.PI * frequency * (from + index)) / RATE));
}

function feed(playout, generation, samples) {
  for (let at = 0; at < samples.length; at += PACKET) playout.push(generation, samples.slice(at, at + PACKET));
}

/** Everything that is heard in so many blocks, with what was reported on the way. */
function listen(playout, blocks) {
  const heard = [];
  const reports = [];
  for (let count = 0; count < blocks; count += 1) {
    const block = new Float32Array(BLOCK).fill(9);
    playout.render(block);
    heard.push(...block);
    reports.push(...playout.reports().map((report) => ({ ...report, at: heard.length })));
  }
  return { heard, reports };
}

const blocksIn = (samples) => Math.ceil(samples / BLOCK);

/** A tone of 440 Hz moves by less than this between two samples, and a fade by one part of its length. */
const STEEPEST = (28_000 / 32_768) * ((2 * Math.PI * 440) / RATE) + 1 / FADE + 0.001;

function assertNoClick(heard, words) {
  let previous = 0;
  for (const [index, sample] of heard.entries()) {
    assert.ok(Math.abs(sample - previous) <= STEEPEST, `${words}: a click of ${sample - previous} at ${index}`);
    previous = sample;
  }
}

function loudAfter(heard, at) {
  return heard.slice(at).some((sample) => sample !== 0);
}

test("every sample is heard once, in order and unchanged between the fades", () => {
  const playout = createPlayout(RATE);
  const samples = tone(RATE);
  feed(playout, 1, samples);
  const { heard, reports } = listen(playout, blocksIn(RATE + START));
  const inside = { heard: heard.slice(FADE, RATE - FADE), wanted: [...samples.slice(FADE, RATE - FADE)] };
  assert.deepEqual(inside.heard, inside.wanted.map((sample) => sample / 32_768));
  assert.ok(heard.slice(RATE).every((sample) => sample === 0));
  assertNoClick(heard, "one answer");
  assert.equal(playout.total, RATE);
  assert.deepEqual({ ...reports.at(-1), at: null }, { generation: 1, played: RATE, gaps: 0, leftMs: 0, at: null });
});

test("nothing is heard before the start buffer is there", () => {
  const playout = createPlayout(RATE);
  playout.push(1, tone(START - 1));
  assert.ok(!loudAfter(listen(playout, 4).heard, 0));
  assert.equal(playout.isPlaying, false);
  playout.push(1, tone(1, START - 1));
  assert.ok(loudAfter(listen(playout, 1).heard, 0));
  assert.equal(playout.isPlaying, true);
});

test("a word shorter than the start buffer is heard after twice the wait", () => {
  const playout = createPlayout(RATE);
  playout.push(1, tone(500));
  const { heard, reports } = listen(playout, blocksIn(3 * START));
  assert.ok(heard.findIndex((sample) => sample !== 0) <= 2 * START + BLOCK);
  assert.equal(reports.at(-1).played, 500);
  assertNoClick(heard, "a short word");
});

test("what is heard is reported at its beginning, every 150 ms and at its end", () => {
  const playout = createPlayout(RATE);
  feed(playout, 3, tone(RATE / 2));
  const { reports } = listen(playout, blocksIn(RATE));
  assert.deepEqual([reports[0].generation, reports[0].played], [3, BLOCK]);
  assert.equal(reports[0].leftMs, Math.round(((RATE / 2 - BLOCK) * 1000) / RATE));
  const ticks = reports.slice(0, -1).map((report) => report.at);
  for (const [index, at] of ticks.slice(1).entries()) assert.ok(at - ticks[index] <= REPORT + BLOCK, `${ticks}`);
  assert.deepEqual([reports.at(-1).played, reports.at(-1).leftMs], [RATE / 2, 0]);
  assert.equal(ticks.length, 4);
});

test("a cancel is silence within a fade, without a click, and the count is exact", () => {
  for (const blocks of [1, 2, 7, 40]) {
    const playout = createPlayout(RATE);
    const samples = tone(RATE);
    feed(playout, 5, samples);
    const before = listen(playout, blocks).heard;
    playout.cancel(5);
    const { heard, reports } = listen(playout, 20);
    assert.ok(!loudAfter(heard, FADE), "the fade is too long");
    assertNoClick([...before, ...heard], `cancelled after ${blocks} blocks`);
    const level = Math.min(FADE, before.length);
    assert.deepEqual(reports, [{ generation: 5, played: before.length + level, gaps: 0, leftMs: 0, at: reports[0].at }]);
    assert.ok(reports[0].at <= FADE + BLOCK, "the report waits");
  }
});

test("what the device has taken and not played yet was not heard", () => {
  const late = 0.1 * RATE;
  const playout = createPlayout(RATE);
  playout.delay(0.1);
  feed(playout, 1, tone(RATE));
  const { reports } = listen(playout, blocksIn(RATE + late + START));
  assert.deepEqual([reports[0].played > 0, reports[0].at > late], [true, true], "it begins when it leaves the speaker");
  for (const { played, at, leftMs } of reports) {
    assert.equal(played, Math.min(RATE, at - late));
    assert.equal(leftMs, Math.ceil(((RATE - played) * 1000) / RATE));
  }
  assert.deepEqual([reports.at(-1).played, reports.at(-1).leftMs], [RATE, 0]);
  assert.equal(playout.total, RATE);
});

test("a cancel is told with what was heard by then, and again when the device has played the rest", () => {
  const late = 0.1 * RATE;
  for (const blocks of [4, 40]) {
    const playout = createPlayout(RATE);
    playout.delay(0.1);
    feed(playout, 5, tone(RATE));
    const before = listen(playout, blocks).heard.length;
    playout.cancel(5);
    const { reports } = listen(playout, 60);
    const whole = before + FADE;
    assert.equal(reports[0].played, Math.max(0, before + reports[0].at - late));
    assert.ok(reports[0].at <= FADE + BLOCK && reports[0].leftMs > 0);
    assert.deepEqual([reports.at(-1).played, reports.at(-1).leftMs], [whole, 0]);
    assert.ok(before + reports.at(-1).at >= whole + late, "told before it was heard");
  }
});

test("another latency takes nothing back", () => {
  const playout = createPlayout(RATE);
  feed(playout, 1, tone(RATE));
  const counts = [0, 0.05, 0.2, 0.01].map((seconds) => {
    playout.delay(seconds);
    listen(playout, 20);
    return playout.total;
  });
  const late = 20 * BLOCK;
  assert.deepEqual(counts, [late, 2 * late - 0.05 * RATE, 2 * late - 0.05 * RATE, 4 * late - 0.01 * RATE]);
});

test("what the device still has of another connection is not counted for the new one", () => {
  const playout = createPlayout(RATE);
  playout.delay(0.1);
  feed(playout, 4, tone(RATE));
  listen(playout, 40);
  playout.reset();
  feed(playout, 4, tone(4_800));
  const { reports } = listen(playout, 200);
  assert.deepEqual([reports.at(-1).played, reports.at(-1).leftMs], [4_800, 0]);
});

test("the count of a cancelled answer is where its signal ends", () => {
  const playout = createPlayout(RATE);
  // Every sample tells its own place, and none is silent.
  feed(playout, 1, Int16Array.from({ length: 12_000 }, (_, index) => 1_000 + index));
  const before = listen(playout, 30).heard;
  playout.cancel(1);
  const { heard, reports } = listen(playout, 4);
  const whole = [...before, ...heard];
  const lastLoud = whole.findLastIndex((sample) => sample !== 0);
  // The last step of a fade is silence.
  assert.equal(reports[0].played, lastLoud + 2);
});

test("an answer that was cancelled before its first sample was not heard at all", () => {
  const playout = createPlayout(RATE);
  playout.push(2, tone(START - 1));
  playout.cancel(2);
  const expected = [{ generation: 2, played: 0, gaps: 0, leftMs: 0 }];
  assert.deepEqual(playout.reports(), expected, "it need not wait for a block");
  assert.ok(!loudAfter(listen(playout, 100).heard, 0));
});

test("sound of a cancelled answer that is late dies, and a later answer is heard whole", () => {
  const playout = createPlayout(RATE);
  feed(playout, 1, tone(RATE));
  const before = listen(playout, 10).heard;
  playout.cancel(1);
  feed(playout, 1, tone(RATE));
  feed(playout, 2, tone(4_800));
  const { heard, reports } = listen(playout, 200);
  assertNoClick([...before, ...heard], "one answer after the other");
  assert.equal(reports.findLast((report) => report.generation === 1).played, 10 * BLOCK + FADE);
  assert.equal(reports.at(-1).generation, 2);
  assert.equal(reports.at(-1).played, 4_800);
  assert.equal(playout.total, 10 * BLOCK + FADE + 4_800);
});

test("a cancel takes what it names and leaves a later answer that waits behind", () => {
  const playout = createPlayout(RATE);
  feed(playout, 1, tone(RATE));
  feed(playout, 2, tone(RATE));
  feed(playout, 3, tone(4_800));
  const before = listen(playout, 10).heard;
  playout.cancel(2);
  const { heard, reports } = listen(playout, 200);
  assertNoClick([...before, ...heard], "cut between two answers");
  const last = (generation) => reports.findLast((report) => report.generation === generation)?.played;
  assert.deepEqual([last(1), last(2), last(3)], [10 * BLOCK + FADE, 0, 4_800]);
});

test("a cancel of an answer that is over changes nothing of the one that plays", () => {
  const playout = createPlayout(RATE);
  feed(playout, 1, tone(4_800));
  feed(playout, 2, tone(RATE));
  listen(playout, 60);
  assert.equal(playout.isPlaying, true);
  playout.cancel(1);
  assert.deepEqual(playout.reports().map(({ generation, played }) => [generation, played]), [[1, 4_800]]);
  const { reports } = listen(playout, 300);
  assert.equal(reports.at(-1).played, RATE);
});

test("one answer after the other has no click between them", () => {
  const playout = createPlayout(RATE);
  // The second begins where the first is far away.
  feed(playout, 1, tone(4_812));
  feed(playout, 2, tone(4_800, 40));
  assertNoClick(listen(playout, 100).heard, "between two answers");
});

test("the person's own stop takes all that has come and is on its way, numbered or not", () => {
  const playout = createPlayout(RATE);
  feed(playout, 7, tone(RATE));
  listen(playout, 5);
  playout.hush();
  feed(playout, 7, tone(RATE));
  const { heard, reports } = listen(playout, 100);
  assert.ok(!loudAfter(heard, FADE));
  assert.deepEqual([reports.at(-1).generation, reports.at(-1).played], [7, 5 * BLOCK + FADE]);
  feed(playout, 8, tone(RATE));
  assert.ok(loudAfter(listen(playout, 2).heard, 0));

  const plain = createPlayout(RATE);
  feed(plain, null, tone(RATE));
  listen(plain, 5);
  plain.hush();
  assert.ok(!loudAfter(listen(plain, 100).heard, FADE));
  feed(plain, null, tone(RATE));
  assert.ok(loudAfter(listen(plain, 2).heard, 0), "without numbers, what comes next is wanted");
});

test("a gap fades out and in, is counted, and makes the next wait 5 ms longer", () => {
  const playout = createPlayout(RATE);
  feed(playout, 1, tone(4_800));
  const first = listen(playout, 60).heard;
  assert.equal(playout.isPlaying, false);
  assert.equal(playout.start, START);
  feed(playout, 1, tone(4_800, 4_800));
  assert.equal(playout.start, START + 120);
  const { heard, reports } = listen(playout, 60);
  assertNoClick([...first, ...heard], "over a gap");
  assert.deepEqual([reports.at(-1).gaps, reports.at(-1).played], [1, 9_600]);
});

test("the wait grows up to a limit, and shrinks slowly when all is well", () => {
  const playout = createPlayout(RATE);
  for (let gap = 0; gap < 200; gap += 1) {
    feed(playout, 1, tone(12_000));
    listen(playout, 110);
  }
  assert.equal(playout.start, 12_000);
  feed(playout, 2, tone(21 * RATE));
  listen(playout, blocksIn(22 * RATE));
  assert.ok(playout.start < 12_000 && playout.start >= 12_000 - 3 * 120, `${playout.start}`);
});

test("the silence between two answers is no gap", () => {
  const playout = createPlayout(RATE);
  for (const generation of [1, 2, 3]) {
    feed(playout, generation, tone(4_800));
    assert.equal(listen(playout, 80).reports.at(-1).gaps, 0);
  }
  assert.equal(playout.start, START);
  const plain = createPlayout(RATE);
  feed(plain, null, tone(4_800));
  listen(plain, blocksIn(2 * RATE));
  feed(plain, null, tone(4_800));
  assert.equal(plain.start, START, "without numbers a long silence is the end of an answer");
});

test("packets that arrive unevenly, but in time, leave no gap", () => {
  const playout = createPlayout(RATE);
  const samples = tone(5 * RATE);
  const heard = [];
  let sent = 0;
  for (let block = 0; heard.length < samples.length; block += 1) {
    // Real time, up to 90 ms late.
    const due = block * BLOCK + START - ((block * 37) % 17) * 127;
    while (sent < due && sent < samples.length) {
      playout.push(1, samples.slice(sent, sent + 480));
      sent += 480;
    }
    heard.push(...listen(playout, 1).heard);
  }
  assertNoClick(heard, "uneven arrival");
  assert.equal(playout.start, START);
});

test("a cancel without a number takes what is here, and nothing of what comes later", () => {
  const playout = createPlayout(RATE);
  feed(playout, 7, tone(RATE));
  listen(playout, 5);
  playout.cancel(null);
  assert.ok(!loudAfter(listen(playout, 100).heard, FADE));
  feed(playout, 7, tone(RATE));
  assert.ok(loudAfter(listen(playout, 2).heard, 0));
});

test("another connection numbers and counts anew, and the old sound fades away uncounted", () => {
  const playout = createPlayout(RATE);
  feed(playout, 4, tone(RATE));
  const before = listen(playout, 10).heard;
  playout.cancel(3);
  playout.reset();
  assert.deepEqual(playout.reports(), []);
  // The same again, from where the other side knows of.
  feed(playout, 4, tone(4_800, 1_000));
  const { heard, reports } = listen(playout, 200);
  assertNoClick([...before, ...heard], "over a reset");
  assert.deepEqual([reports.at(-1).generation, reports.at(-1).played, reports.at(-1).gaps], [4, 4_800, 0]);
  playout.cancel(9);
  playout.reset();
  feed(playout, 1, tone(4_800));
  assert.equal(listen(playout, 100).reports.at(-1).played, 4_800, "no number is stale any more");
  playout.reset();
  feed(playout, 1, tone(4_800));
  const last = listen(playout, 100).reports.at(-1);
  assert.deepEqual([last.played, last.gaps], [4_800, 0], "what was played before is no gap of this");
});

test("random arrivals, cancels and gaps: never a click, never more counted than came", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const playout = createPlayout(RATE);
  const arrived = new Map();
  const heard = [];
  let generation = 1;
  let phase = 0;
  for (let step = 0; step < 3_000; step += 1) {
    const choice = random(10);
    if (choice < 6) {
      const count = 1 + random(1_500);
      playout.push(generation, tone(count, phase));
      arrived.set(generation, (arrived.get(generation) ?? 0) + count);
      phase += count;
    } else if (choice === 6) playout.cancel(generation - random(2));
    else if (choice === 7) generation += 1;
    else if (choice === 8) playout.delay(random(150) / 1_000);
    const { heard: more, reports } = listen(playout, random(12));
    heard.push(...more);
    for (const report of reports) assert.ok(report.played <= (arrived.get(report.generation) ?? 0), JSON.stringify(report));
  }
  assert.ok(playout.total > 10 * RATE, "hardly anything was played");
  assertNoClick(heard, "random");
});

test("a ring that runs around and grows keeps its order", () => {
  const ring = createRing(100_000);
  let next = 0;
  let expected = 0;
  const numbers = (count) => Int16Array.from({ length: count }, () => (next = (next + 1) % 30_000));
  for (const count of [30_000, 20_000, 40_000]) {
    assert.equal(ring.add(numbers(count)), true);
    for (let taken = 0; taken < count - 9_000; taken += 1) assert.equal(ring.take(), (expected = (expected + 1) % 30_000));
  }
  ring.drop(1_000);
  expected = (expected + 1_000) % 30_000;
  while (ring.length > 0) assert.equal(ring.take(), (expected = (expected + 1) % 30_000));
  assert.equal(ring.add(new Int16Array(100_001)), false, "what has no room is not taken in part");
  assert.equal(ring.length, 0);
});

test("a microphone's frames are 20 ms long, bounded, and silent when muted, without a click", () => {
  for (const [rate, size] of [[16_000, 320], [24_000, 480]]) {
    const frames = [];
    const framer = createFramer(rate, (pcm, peak) => frames.push({ pcm, peak }));
    framer.add([...tone(size * 2 + 5)].map((sample) => sample / 14_000));
    assert.deepEqual(frames.map(({ pcm }) => pcm.length), [size, size]);
    assert.equal(frames[0].peak, 1);
    assert.equal(Math.max(...frames[0].pcm), 32_767);
  }
  const frames = [];
  const framer = createFramer(16_000, (pcm, peak) => frames.push({ pcm, peak }));
  framer.add(new Float32Array(320).fill(0.5));
  framer.mute(true);
  framer.add(new Float32Array(640).fill(0.5));
  framer.mute(false);
  framer.add(new Float32Array(320).fill(0.5));
  assert.deepEqual(frames.map(({ peak }) => peak > 0.4), [true, true, false, true]);
  const all = frames.flatMap(({ pcm }) => [...pcm]);
  for (let index = 1; index < all.length; index += 1) assert.ok(Math.abs(all[index] - all[index - 1]) < 400, `${index}`);
});
