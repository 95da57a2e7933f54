// The parts of the page that need no browser.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { clock, money, short, signed } from "../../web/amount.js";
import { fromBase64, toBase64 } from "../../web/base64.js";
import { countsOf, partsOf } from "../../web/diff.js";
import en from "../../web/locales/en.js";
import ja from "../../web/locales/ja.js";
import { GONE, troubleKey } from "../../web/microphone.js";
import { createOutbox } from "../../web/outbox.js";
import { readable } from "../../web/payload.js";
import { verdictKey } from "../../web/questionline.js";
import { agentsIn } from "../../web/recipients.js";
import { createResampler } from "../../web/resampler.js";
import { IDLE, advance, isBusy, isNotice } from "../../web/run.js";
import { withChosen } from "../../web/settings.js";
import { delayBefore, mayReconnect } from "../../web/socket.js";
import { createTranscript } from "../../web/transcript.js";
import { createUplink } from "../../web/uplink.js";
import { createWishes } from "../../web/wishes.js";

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

test("an answer is told from the gateway's words about a run", () => {
  const answer = (run) => queued(run, null);
  const cancelled = { kind: "output_stream", marker: "cancelled", run: null };
  assert.equal(isNotice(runsAfter(started, finished), answer(1)), false);
  assert.equal(isNotice(IDLE, answer(1)), false, "a chat's answer");
  assert.equal(isNotice(IDLE, queued(5, 1)), true, "a place in the queue");
  assert.equal(isNotice(runsAfter(queued(5, 1)), answer(5)), true, "out of the queue");
  assert.equal(isNotice(runsAfter(started, { kind: "cancel_run" }, cancelled), answer(1)), true, "stopped");
  const stopped = runsAfter({ kind: "cancel_run" }, answer(4));
  assert.equal(isNotice(stopped, answer(4)), true, "what there was of an answer, and then that it was stopped");
  assert.equal(isNotice(stopped, answer(5)), false, "the next answer is one again");
  assert.equal(isNotice(runsAfter({ kind: "cancel_run" }, queued(null, null)), answer(5)), false, "nothing to cancel");
});

test("a diff knows its lines, also removed ones that look like a head", () => {
  const text = "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n same\n--- gone\n+++ new\n-old\ndiff --git a/y b/y\n+z\n";
  assert.deepEqual(partsOf(text).map(({ kind, lines }) => [kind, lines.length]), [
    ["head", 2],
    ["hunk", 1],
    ["same", 1],
    ["removed", 1],
    ["added", 1],
    ["removed", 1],
    ["head", 1],
    ["added", 1],
  ]);
  assert.deepEqual(countsOf("-old\n+new\n+er\n"), { added: 2, removed: 1 });
});

test("figures are short", () => {
  assert.deepEqual([0, 7.9, 754, 3723].map(clock), ["0:00", "0:07", "12:34", "1:02:03"]);
  assert.deepEqual([950, 1_000, 1_250, 12_900, 1_200_000].map(short), ["950", "1k", "1.3k", "12k", "1.2M"]);
  assert.equal(money({ amount: 0.25, currency: "USD" }), "$0.25");
  assert.equal(money({ amount: 0.0123, currency: "USD" }), "$0.0123");
  assert.equal(money({ amount: 3, currency: "no such" }), "3 no such");
  assert.deepEqual([signed(10, 3), signed(null, null), signed(2, null)], ["+10 \u22123", "", "+2 \u22120"]);
});

test("one-line JSON is spread out, anything else stays as it is", () => {
  assert.equal(readable('{"a":1}'), '{\n  "a": 1\n}');
  for (const words of ['{"cut', "ls -l", '"text"', ""]) assert.equal(readable(words), words);
});

test("a mode names some agents, in their order, or none", () => {
  assert.deepEqual(agentsIn("some:4,1,9"), ["1", "4"]);
  assert.deepEqual(agentsIn("some:"), []);
  assert.equal(agentsIn("codeAll"), null);
});

test("every trouble with a microphone has its words, and a page without a secure origin only that", () => {
  const names = ["NotAllowedError", "NotFoundError", "OverconstrainedError", "NotReadableError", "AbortError", GONE, "?"];
  const keys = names.map((name) => troubleKey({ name }, true));
  for (const key of keys) assert.ok(key in en, key);
  assert.equal(new Set(keys).size, 5);
  assert.equal(keys.at(-1), "micFailed");
  assert.equal(troubleKey({ name: "TypeError" }, false), "micInsecure");
});

test("every decision has its words", () => {
  for (const by of ["user", "time", "end", "rule", "nobody"]) {
    for (const approved of [true, false]) assert.ok(verdictKey({ approved, by }) in en, by);
  }
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

test("wishes are sent one after the other, and of several for one thing the last", async () => {
  const sent = [];
  const answers = [];
  const send = (id, value) => {
    sent.push(`${id}=${value}`);
    return new Promise((resolve) => answers.push(resolve));
  };
  const done = new Promise((resolve) => {
    const wishes = createWishes({ send, onDone: () => resolve(wishes) });
    for (const [id, value] of [["a", 1], ["b", 1], ["a", 2], ["a", 3]]) wishes.add(id, value);
    assert.deepEqual([wishes.has("a"), wishes.has("b"), wishes.has("c")], [true, true, false]);
  });
  for (const expected of [["a=1"], ["a=1", "b=1"], ["a=1", "b=1", "a=3"]]) {
    assert.deepEqual(sent, expected);
    answers.shift()();
    await new Promise(setImmediate);
  }
  const wishes = await done;
  wishes.add("b", 2);
  assert.equal(sent.at(-1), "b=2", "it goes on after a rest");
});

test("what is chosen is among the options, also when it is gone", () => {
  const options = [{ value: "here", label: "Here" }];
  assert.equal(withChosen(options, "here"), options);
  assert.equal(withChosen(options, ""), options, "nothing is known yet");
  assert.deepEqual(withChosen(options, "gone").at(-1), { value: "gone", label: "gone", isGone: true });
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

test("every text that a part names exists", () => {
  const folder = new URL("../../web/", import.meta.url);
  const sources = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const named = /\b(?:text\(|(?:label|name)\([\w.]+(?:\([^)]*\))?, |worded\("\w+", "[^"]*", |button\("[^"]*", )"(\w+)"/g;
  const missing = sources.flatMap((name) => {
    const source = readFileSync(new URL(name, folder), "utf8");
    return [...source.matchAll(named)].map(([, key]) => key).filter((key) => !(key in en));
  });
  assert.deepEqual(missing, []);
});

test("both languages have the same texts and the same places to fill", () => {
  assert.deepEqual(Object.keys(ja).sort(), Object.keys(en).sort());
  const places = (words) => [...words.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const key of Object.keys(en)) assert.deepEqual(places(ja[key]), places(en[key]), key);
});

test("a line that takes nothing costs the oldest words, and what is too old is not said any more", () => {
  let time = 0;
  let isOpen = false;
  const sent = [];
  const uplink = createUplink((packet) => isOpen && sent.push(packet) > 0, () => time);
  const speak = (from, to) => {
    for (let frame = from; frame < to; frame += 1, time += 20) uplink.push(frame);
  };
  speak(0, 200);
  isOpen = true;
  assert.equal(uplink.flush(), 150);
  assert.deepEqual([sent[0], sent.at(-1)], [50, 199]);
  isOpen = false;
  speak(200, 210);
  time += 2_900;
  isOpen = true;
  speak(210, 211);
  assert.deepEqual(sent.slice(150), [205, 206, 207, 208, 209, 210]);
});

test("a pane of another shape keeps its reader at the end, and one who scrolls up is left alone", () => {
  let resized;
  let scrolled;
  globalThis.ResizeObserver = class {
    constructor(callback) {
      resized = callback;
    }
    observe() {}
  };
  const log = { clientWidth: 200, clientHeight: 100, scrollHeight: 1_000, scrollTop: 900 };
  log.addEventListener = (_, callback) => (scrolled = callback);
  let isHidden = true;
  createTranscript(log, { addEventListener() {}, toggleAttribute: (_, on) => (isHidden = on) });
  resized();
  scrolled();
  // Wider and lower: the text has become shorter and was moved, and browsers may tell that first.
  Object.assign(log, { clientWidth: 400, clientHeight: 50, scrollHeight: 700, scrollTop: 600 });
  scrolled();
  assert.equal(isHidden, true);
  resized();
  assert.equal(log.scrollTop, 700);
  log.scrollTop = 650;
  scrolled();
  log.scrollTop = 300;
  scrolled();
  assert.equal(isHidden, false);
});
