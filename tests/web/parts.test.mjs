// The parts of the page that need no browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fromBase64, toBase64 } from "../../web/base64.js";
import en from "../../web/locales/en.js";
import ja from "../../web/locales/ja.js";
import { createOutbox } from "../../web/outbox.js";
import { createResampler } from "../../web/resampler.js";
import { IDLE, advance, isBusy } from "../../web/run.js";
import { delayBefore, mayReconnect } from "../../web/socket.js";

const started = { kind: "output_stream", marker: "started", run: null };
const finished = { kind: "output_stream", marker: "finished", run: null };
const line = { kind: "output_stream", marker: null, run: null };
const queued = (run, place) => ({ kind: "output_text", run, place });

function runsAfter(...packets) {
  return packets.reduce(advance, IDLE);
}

test("a run is on between its markers", () => {
  assert.equal(isBusy(runsAfter(started, line)), true);
  assert.equal(isBusy(runsAfter(started, line, finished)), false);
});

test("a late line does not revive a finished run, but a cut history shows a running one", () => {
  assert.equal(isBusy(runsAfter(started, finished, line)), false);
  assert.equal(isBusy(runsAfter(line)), true);
});

test("the queue moves up when its first run starts", () => {
  const waiting = runsAfter(started, queued(5, 1), queued(6, 2));
  assert.deepEqual(waiting.queue, [5, 6]);
  assert.deepEqual(advance(advance(waiting, finished), { ...started, run: 5 }).queue, [6]);
  assert.deepEqual(advance(advance(waiting, finished), started).queue, [6]);
});

test("a removed run leaves the queue", () => {
  assert.deepEqual(runsAfter(started, queued(5, 1), queued(6, 2), queued(5, null)).queue, [6]);
});

test("a chat has no markers: each answer ends one run and starts the next", () => {
  const answer = (run) => queued(run, null);
  const waiting = [queued(5, 1), queued(6, 2)];
  assert.equal(runsAfter(...waiting).running, true);
  assert.deepEqual(runsAfter(...waiting, answer(4)).queue, [6]);
  assert.equal(isBusy(runsAfter(...waiting, answer(4), answer(5))), true);
  assert.equal(isBusy(runsAfter(...waiting, answer(4), answer(5), answer(6))), false);
  const spoken = answer(null);
  assert.deepEqual(runsAfter(...waiting, spoken).queue, [5, 6], "what the live model says ends no run");
});

test("an agent's answer does not move its queue", () => {
  assert.deepEqual(runsAfter(started, queued(5, 1), finished, queued(null, null)).queue, [5]);
});

test("close codes say whether to come back", () => {
  for (const code of [1000, 1001, 1006, 1009, 1011, 3001, 3002, 3499]) assert.equal(mayReconnect(code), true, code);
  for (const code of [3500, 3501, 3504, 3505, 3999]) assert.equal(mayReconnect(code), false, code);
});

test("waiting grows, has a limit, and follows the gateway's hint", () => {
  assert.ok(delayBefore(3, "", () => 1) > delayBefore(0, "", () => 1));
  assert.equal(delayBefore(50, "", () => 1), 20_000);
  assert.equal(delayBefore(9, "retry in 1500 ms", () => 0), 1500);
  assert.ok(delayBefore(9, "retry in 1500 ms", () => 1) <= 2250);
});

test("the outbox keeps order, settles once and replaces a slot", () => {
  const counts = [];
  const outbox = createOutbox((count) => counts.push(count));
  const first = outbox.add({ text: "a" });
  outbox.add({ switches: 1 }, "operations");
  outbox.add({ switches: 2 }, "operations");
  assert.deepEqual(outbox.entries().map(({ packet }) => packet), [{ text: "a" }, { switches: 2 }]);
  assert.equal(outbox.settle(first), true);
  assert.equal(outbox.settle(first), false);
  assert.deepEqual(counts, [1, 2, 2, 1]);
});

test("an oversized command is given up alone", () => {
  const outbox = createOutbox(() => {});
  outbox.add({ text: "small" });
  outbox.add({ text: "x".repeat(1000) });
  assert.equal(outbox.dropLargest(), true);
  assert.deepEqual(outbox.entries().map(({ packet }) => packet), [{ text: "small" }]);
});

function resampled(from, to, frequency) {
  const resample = createResampler(from, to);
  const output = [];
  for (let block = 0; block < from / 128; block += 1) {
    const samples = Float32Array.from({ length: 128 }, (_, i) =>
      Math.sin((2 * Math.PI * frequency * (block * 128 + i)) / from),
    );
    output.push(...resample(samples));
  }
  return output;
}

function loudness(samples) {
  const middle = samples.slice(2_000, 12_000);
  return Math.sqrt(middle.reduce((sum, sample) => sum + sample * sample, 0) / middle.length);
}

test("resampling keeps the length and a voice, and removes what would fold back", () => {
  for (const from of [44_100, 48_000, 96_000]) {
    const voice = resampled(from, 16_000, 440);
    assert.ok(Math.abs(voice.length - 16_000) < 40, `${from}: ${voice.length} samples`);
    assert.ok(Math.abs(loudness(voice) - Math.SQRT1_2) < 0.01, `${from}: ${loudness(voice)}`);
    assert.ok(loudness(resampled(from, 16_000, 11_000)) < 0.01, `${from}: alias`);
  }
});

test("base64 survives a round trip longer than one slice", () => {
  const bytes = Uint8Array.from({ length: 20_000 }, (_, index) => index % 256);
  assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
});

test("every text that the page names exists", () => {
  const html = readFileSync(new URL("../../web/index.html", import.meta.url), "utf8");
  const named = [...html.matchAll(/data-(?:text|label|hint)="(\w+)"/g)].map(([, key]) => key);
  assert.deepEqual(named.filter((key) => !(key in en)), []);
});

test("both languages have the same texts and the same places to fill", () => {
  assert.deepEqual(Object.keys(ja).sort(), Object.keys(en).sort());
  const places = (words) => [...words.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const key of Object.keys(en)) assert.deepEqual(places(ja[key]), places(en[key]), key);
});
