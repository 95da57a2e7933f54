// Talking with the page: the browser's own microphone plays a WAV, and a stand-in for the gateway answers.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { KEYS } from "../../web/protocol/aicore.js";
import { PATIENCE_MS, connected, counted, counter, launch } from "./browser.mjs";
import { RECORDING_SECONDS, speech } from "./speech.mjs";
import { openStandin } from "./standin.mjs";

const RATE = 24_000;
/** A name that is not localhost: browsers do not trust a plain page there. */
const FOREIGN = "kakehashi.test";

let browser;
let folder;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "kakehashi-voice-"));
  const recording = join(folder, "speech.wav");
  writeFileSync(recording, speech());
  browser = await launch([
    `--use-file-for-fake-audio-capture=${recording}`,
    `--host-resolver-rules=MAP ${FOREIGN} 127.0.0.1`,
  ]);
});

after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** `body(page, gateway)`, and nothing that the page complains about. */
async function withStandin(body, { options, prepare, address = (gateway) => gateway.url, complaintsExpected = [] } = {}) {
  const gateway = await openStandin(options);
  const context = await browser.newContext({ viewport: { width: 1500, height: 900 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    if (prepare !== undefined) await page.addInitScript(prepare);
    await page.goto(address(gateway));
    await connected(page);
    await body(page, gateway);
    assert.deepEqual(complaints.filter((words) => !complaintsExpected.some((part) => words.includes(part))), []);
  } finally {
    await context.close();
    await gateway.close();
  }
}

/** Says a tone of so many samples in packets of 40 ms, all at once. */
function say(gateway, generation, count, from = 0) {
  const numbered = generation === null ? {} : { [KEYS.generation]: generation };
  for (let at = from; at < from + count; at += 960) {
    const length = Math.min(960, from + count - at);
    const samples = Int16Array.from({ length }, (_, index) => 16_000 * Math.sin((2 * Math.PI * 300 * (at + index)) / RATE));
    const base64 = Buffer.from(samples.buffer).toString("base64");
    gateway.tell("audio", "output_audio", "audio/pcm", { [KEYS.fileName]: base64, [KEYS.thumbnail]: null, ...numbered });
  }
}

function cancel(gateway, generation) {
  gateway.tell("audio", "cancel_audio", "", generation === null ? {} : { [KEYS.generation]: generation });
}

function acks(gateway, generation) {
  return gateway.sent("playback_ack").map((packet) => packet[KEYS.body]).filter((body) => body[KEYS.generation] === generation);
}

/** An acknowledgement of this generation that has at least so many samples. */
function heard(gateway, generation, least) {
  const fits = ({ [KEYS.body]: body }) => body[KEYS.generation] === generation && body[KEYS.playedSamples] >= least;
  return gateway.next("playback_ack", fits, PATIENCE_MS).then((packet) => packet[KEYS.body]);
}

/** The one that says that nothing of it is left. */
function over(gateway, generation, least = 0) {
  const fits = ({ [KEYS.body]: body }) =>
    body[KEYS.generation] === generation && body[KEYS.leftMs] === 0 && body[KEYS.playedSamples] >= least;
  return gateway.next("playback_ack", fits, PATIENCE_MS).then((packet) => packet[KEYS.body]);
}

function samplesOf(packet) {
  const bytes = Buffer.from(packet[KEYS.fileName], "base64");
  return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
}

/** Kept with the packet, because the same ones are looked at again and again. */
function loudness(packet) {
  packet.loudness ??= levelOf(samplesOf(packet));
  return packet.loudness;
}

function levelOf(samples) {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

async function waitUntil(condition, words) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(words);
}

const SPEECH_LEVEL = 500;
const PAUSE_FRAMES = 50;

/** The frames at which speech begins after a pause. */
function onsets(frames) {
  const loud = frames.map((frame) => loudness(frame) > SPEECH_LEVEL);
  const begins = (index) => index >= PAUSE_FRAMES && loud[index] && !loud.slice(index - PAUSE_FRAMES, index).includes(true);
  return loud.map((_, index) => index).filter(begins);
}

test("the microphone arrives in frames of 20 ms at the rate of the model, speech and pauses alike", async () => {
  for (const [model, rate] of [["gemini_live", 16_000], ["openai_live", 24_000]]) {
    await withStandin(async (page, gateway) => {
      await page.locator("#microphone").click();
      const frames = () => gateway.sent("input_audio");
      await waitUntil(() => onsets(frames()).length >= 2, "no speech and pauses arrive");
      for (const frame of frames()) {
        assert.equal(frame[KEYS.body], `audio/pcm;rate=${rate}`);
        assert.equal(samplesOf(frame).length, rate / 50);
      }
      // The recording comes around in its own time: nothing is lost, repeated or stretched.
      const [first, second] = onsets(frames());
      assert.ok(Math.abs(second - first - 50 * RECORDING_SECONDS) <= 15, `it came around after ${second - first} frames`);
    }, { options: { models: { LIVE_AI_NAME: model } } });
  }
});

test("an answer is heard, and acknowledged to its last sample", () =>
  withStandin(async (page, gateway) => {
    const [{ [KEYS.features]: features }] = gateway.sent("connect").filter((packet) => packet[KEYS.channel] === "audio");
    assert.ok(features.includes("playback"));
    say(gateway, 1, 2 * RATE);
    await heard(gateway, 1, 1);
    await page.waitForFunction(() => window.kakehashi.playedPeak > 0.4);
    await page.locator('#captions[data-state="speaking"]').waitFor();
    await over(gateway, 1, 2 * RATE);
    const all = acks(gateway, 1);
    const positions = all.map((body) => body[KEYS.playedSamples]);
    assert.deepEqual(positions, [...positions].sort((a, b) => a - b));
    assert.equal(positions.at(-1), 2 * RATE);
    assert.ok(positions[0] < 0.2 * RATE, "the first one tells when it began");
    for (const body of all) {
      const rest = ((2 * RATE - body[KEYS.playedSamples]) * 1000) / RATE;
      assert.ok(body[KEYS.leftMs] <= Math.ceil(rest), JSON.stringify(body));
    }
    // Two seconds: one each 150 ms, and one at each end.
    assert.ok(all.length >= 15, `${all.length} acknowledgements`);
    assert.equal(await counter(page, "playedSamples"), 2 * RATE);
    await page.locator('#captions[data-state="rest"]').waitFor({ state: "attached" });
  }));

test("an interruption stops the answer, says what was heard, and cuts the text", () =>
  withStandin(async (page, gateway) => {
    await page.locator("#microphone").click();
    await gateway.next("input_audio");
    const cancels = gateway.sent("cancel_audio").length;
    say(gateway, 1, 20 * RATE);
    const before = (await heard(gateway, 1, RATE / 2))[KEYS.playedSamples];
    cancel(gateway, 1);
    // What was on its way dies, too.
    say(gateway, 1, RATE, 20 * RATE);
    const { [KEYS.playedSamples]: played } = await over(gateway, 1);
    assert.ok(played >= before && played < 20 * RATE, `cancelled after ${before}, silent after ${played}`);
    const again = acks(gateway, 1).length;
    assert.equal(await counter(page, "playedSamples"), played);

    say(gateway, 2, RATE / 2);
    await over(gateway, 2, RATE / 2);
    assert.equal(await counter(page, "playedSamples"), played + RATE / 2);
    assert.equal(acks(gateway, 1).length, again, "nothing more of it was heard");
    assert.equal(gateway.sent("cancel_audio").length, cancels, "a cancel is not answered by a cancel");

    gateway.tell("0", "recognition_input", "stop please", { [KEYS.seq]: 1 });
    const cut = { [KEYS.seq]: 2, [KEYS.interrupted]: true, [KEYS.playedMs]: Math.round((played * 1000) / RATE) };
    gateway.tell("0", "recognition_output", "Once upon a", cut);
    gateway.tell("0", "recognition_output", "All right.", { [KEYS.seq]: 3 });
    await page.locator('#chat [data-seq="3"]').waitFor();
    const shown = await page.locator('#chat [data-kind^="recognition_"] .body').allTextContents();
    assert.deepEqual(shown, ["stop please", "Once upon a—", "All right."]);
    const seconds = (cut[KEYS.playedMs] / 1000).toFixed(1);
    assert.equal(await page.locator("#chat .cut").getAttribute("title"), `Interrupted here, after ${seconds} s`);
    assert.equal(await page.locator(".caption-heard").textContent(), "stop please");
    assert.equal(await page.locator(".caption-said").textContent(), "All right.");
  }));

test("what the device still has when the answer is cancelled is heard, and acknowledged when it was", () =>
  withStandin(async (page, gateway) => {
    say(gateway, 1, 20 * RATE);
    await heard(gateway, 1, 1);
    cancel(gateway, 1);
    await over(gateway, 1, RATE / 2);
    const left = acks(gateway, 1).map((body) => body[KEYS.leftMs]);
    assert.ok(left.slice(0, -1).every((ms) => ms > 0), `${left}`);
  }, { prepare: () => Object.defineProperty(AudioContext.prototype, "outputLatency", { get: () => 0.5 }) }));

test("an answer that is cancelled before it was heard is acknowledged with nothing", () =>
  withStandin(async (page, gateway) => {
    say(gateway, 1, 960);
    cancel(gateway, 1);
    assert.equal((await over(gateway, 1))[KEYS.playedSamples], 0);
    say(gateway, 2, RATE / 4);
    await over(gateway, 2, RATE / 4);
    assert.equal(await counter(page, "playedSamples"), RATE / 4);
  }));

test("a gap in an answer is counted, and the answer goes on", () =>
  withStandin(async (page, gateway) => {
    say(gateway, 1, RATE / 4);
    await over(gateway, 1, RATE / 4);
    say(gateway, 1, RATE / 4, RATE / 4);
    const last = await over(gateway, 1, RATE / 2);
    assert.deepEqual([last[KEYS.playedSamples], last[KEYS.gaps]], [RATE / 2, 1]);
    assert.equal(await counter(page, "gaps"), 1);
  }));

test("a line that breaks in an answer: what was not heard comes again, and counts from the beginning", () =>
  withStandin(async (page, gateway) => {
    say(gateway, 6, 10 * RATE);
    await heard(gateway, 6, RATE / 2);
    gateway.cut("audio");
    await waitUntil(() => gateway.sent("connect").filter((packet) => packet[KEYS.channel] === "audio").length === 2, "no new line");
    const known = acks(gateway, 6).at(-1)[KEYS.playedSamples];
    const count = acks(gateway, 6).length;
    const total = await counter(page, "playedSamples");
    // So much is left of an answer that is one second longer than what was heard of it.
    say(gateway, 6, RATE, known);
    await over(gateway, 6, RATE);
    const later = acks(gateway, 6).slice(count).map((body) => body[KEYS.playedSamples]);
    assert.ok(later[0] < RATE / 4 && later.at(-1) === RATE, `${later}`);
    assert.ok((await counter(page, "playedSamples")) < total + 2 * RATE, "what was left from the old line is heard, too");
  }, { complaintsExpected: ["WebSocket"] }));

test("a line that breaks while somebody speaks costs no words", () =>
  withStandin(async (page, gateway) => {
    const lines = () => gateway.sent("connect").filter((packet) => packet[KEYS.channel] === "audio").length;
    const frames = () => gateway.sent("input_audio");
    await page.locator("#microphone").click();
    await waitUntil(() => onsets(frames()).length >= 1, "no speech arrives");
    for (const broken of [1, 2, 3, 4]) {
      gateway.cut("audio");
      await waitUntil(() => lines() > broken, "no new line");
      const sent = frames().length;
      await waitUntil(() => frames().length > sent + 10, "nothing is sent over the new line");
    }
    await waitUntil(() => onsets(frames()).length >= 2, "no more speech arrives");
    const [first, second] = onsets(frames());
    // A few are lost that the old line had taken.
    assert.ok(Math.abs(second - first - 50 * RECORDING_SECONDS) <= 15, `it came around after ${second - first} frames`);
  }, { complaintsExpected: ["WebSocket"] }));

test("a cancel is silence within one packet of sound", () =>
  withStandin(async (page, gateway) => {
    // A busy machine may be late, but not always.
    const took = [];
    for (let generation = 1; generation <= 5; generation += 1) {
      say(gateway, generation, 5 * RATE);
      await heard(gateway, generation, 1);
      cancel(gateway, generation);
      await over(gateway, generation);
      await page.locator('#captions[data-state="rest"]').waitFor({ state: "attached" });
      took.push(await counter(page, "stopMs"));
    }
    assert.ok(Math.min(...took) <= 40, `it took ${took} ms`);
  }));

test("the button that stops the voice does so at once, also for what is on its way", () =>
  withStandin(async (page, gateway) => {
    say(gateway, 3, 20 * RATE);
    await heard(gateway, 3, RATE / 4);
    await page.locator("#hush").click();
    await gateway.next("cancel_audio");
    const { [KEYS.playedSamples]: played } = await over(gateway, 3);
    say(gateway, 3, RATE, 20 * RATE);
    say(gateway, 4, RATE / 4);
    await over(gateway, 4, RATE / 4);
    assert.equal(await counter(page, "playedSamples"), played + RATE / 4);
  }));

test("a gateway that does not number its answers is heard, and told nothing that it does not know", () =>
  withStandin(async (page, gateway) => {
    say(gateway, null, RATE / 2);
    await counted(page, "playedSamples", RATE / 2);
    say(gateway, null, 20 * RATE);
    await counted(page, "playedSamples", RATE);
    cancel(gateway, null);
    await counted(page, "audioCancels", 1);
    await page.locator('#captions[data-state="rest"]').waitFor({ state: "attached" });
    assert.ok((await counter(page, "playedSamples")) < 10 * RATE);
    await page.locator("#talk").focus();
    await page.keyboard.down("Space");
    await gateway.next("input_audio");
    await page.keyboard.up("Space");
    assert.deepEqual([gateway.sent("playback_ack").length, gateway.sent("push_to_talk").length], [0, 0]);
    assert.ok(gateway.sent("cancel_audio").length > 0);
  }, { options: { features: [] } }));

test("the talk button works by pointer and keyboard, and only then something is sent", () =>
  withStandin(async (page, gateway) => {
    const states = () => gateway.sent("push_to_talk").map((packet) => packet[KEYS.body][KEYS.state]);
    const talk = page.locator("#talk");
    const holds = [
      [() => talk.hover().then(() => page.mouse.down()), () => page.mouse.up()],
      [() => talk.focus().then(() => page.keyboard.down("Space")), () => page.keyboard.up("Space")],
      [() => page.locator("body").evaluate(() => document.activeElement.blur()).then(() => page.keyboard.down("Space")), () => page.keyboard.up("Space")],
    ];
    for (const [count, [hold, release]] of holds.entries()) {
      const silent = gateway.sent("input_audio").length;
      await hold();
      await waitUntil(() => states().length === 2 * count + 1, "the button is not told");
      assert.equal(await talk.getAttribute("aria-pressed"), "true");
      await page.locator('#captions[data-state="talking"]').waitFor();
      await waitUntil(() => gateway.sent("input_audio").length > silent + 10, "nothing is heard");
      await release();
      await waitUntil(() => states().length === 2 * count + 2, "the end is not told");
      assert.equal(await talk.getAttribute("aria-pressed"), "false");
      const sent = await counter(page, "sentChunks");
      await waitUntil(() => gateway.sent("input_audio").length === sent, "something is still on its way");
      await page.waitForTimeout(200);
      assert.equal(await counter(page, "sentChunks"), sent, "something is sent after the end");
    }
    assert.deepEqual(states(), ["start", "end", "start", "end", "start", "end"]);
    assert.equal(await page.locator("#microphone").getAttribute("aria-pressed"), "false");
  }));

test("a space that somebody types is a space, and opens no microphone", () =>
  withStandin(async (page, gateway) => {
    await page.keyboard.press("Space");
    await page.locator("#microphone").click();
    await gateway.next("input_audio");
    await page.locator("#chat-text").pressSequentially("a b");
    await page.locator("#chat .transcript").press("Space");
    assert.equal(await page.locator("#chat-text").inputValue(), "a b");
    await page.locator("#mute").press("Space");
    assert.equal(await page.locator("#mute").getAttribute("aria-pressed"), "true");
    assert.equal(gateway.sent("push_to_talk").length, 0);
  }));

test("holding the button while the answer plays is an interruption", () =>
  withStandin(async (page, gateway) => {
    say(gateway, 1, 20 * RATE);
    await heard(gateway, 1, RATE / 4);
    await page.locator("#talk").hover();
    await page.mouse.down();
    assert.ok((await over(gateway, 1))[KEYS.playedSamples] < 20 * RATE);
    await gateway.next("push_to_talk");
    await page.mouse.up();
    const lines = gateway.sent("connect").filter((packet) => packet[KEYS.channel] === "audio");
    assert.equal(lines.length, 1, "whoever has the voice needs no new line");
  }));

test("a page that has lost the voice to another takes it back with a new line", () =>
  withStandin(async (page, gateway) => {
    const lines = () => gateway.sent("connect").filter((packet) => packet[KEYS.channel] === "audio").length;
    cancel(gateway, null);
    await counted(page, "audioCancels", 1);
    await page.locator("#talk").hover();
    await page.mouse.down();
    await gateway.next("push_to_talk");
    assert.equal(lines(), 2);
    await page.mouse.up();
  }));

test("a muted microphone sends silence, and the button opens it while it is held", () =>
  withStandin(async (page, gateway) => {
    const frames = () => gateway.sent("input_audio");
    assert.equal(await page.locator("#mute").isDisabled(), true);
    await page.locator("#microphone").click();
    await waitUntil(() => frames().some((frame) => loudness(frame) > SPEECH_LEVEL), "no speech arrives");
    await page.locator("#mute").click();
    await page.locator('#captions[data-state="muted"]').waitFor();
    const isSilent = (frame) => samplesOf(frame).every((sample) => sample === 0);
    // Longer than the recording, so that its speech would be in it.
    await waitUntil(() => frames().slice(-300).every(isSilent), "it is still heard");
    assert.ok(frames().length > 300);
    await page.locator("#talk").hover();
    await page.mouse.down();
    await waitUntil(() => frames().slice(-50).some((frame) => loudness(frame) > SPEECH_LEVEL), "the button does not open it");
    await page.mouse.up();
    await waitUntil(() => isSilent(frames().at(-1)), "it stays open");
    await page.locator("#microphone").click();
    assert.equal(await page.locator("#mute").getAttribute("aria-pressed"), "false");
    assert.equal(await page.locator("#mute").isDisabled(), true);
  }));

test("a speaker that is switched off goes on in time", () =>
  withStandin(async (page, gateway) => {
    await page.locator("#speaker").click();
    say(gateway, 1, RATE / 2);
    await over(gateway, 1, RATE / 2);
  }));

for (const [name, words] of [
  ["NotAllowedError", "may not use the microphone"],
  ["NotFoundError", "no microphone"],
  ["NotReadableError", "Another program"],
  ["TypeError", "could not be used: refused for the test"],
]) {
  test(`a microphone that fails with ${name} is explained, and switched off`, () =>
    withStandin(async (page) => {
      await page.evaluate((kind) => {
        const error = new DOMException("refused for the test", kind);
        navigator.mediaDevices.getUserMedia = () => Promise.reject(error);
      }, name);
      await page.locator("#microphone").click();
      await page.locator(".toast.error", { hasText: words }).waitFor();
      await page.locator('#microphone[aria-pressed="false"]').waitFor();
    }));
}

test("a microphone that vanishes is told, and can be switched on again", () =>
  withStandin(async (page, gateway) => {
    await page.evaluate(() => {
      const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
      navigator.mediaDevices.getUserMedia = async (wanted) => (window.lastStream = await open(wanted));
    });
    await page.locator("#microphone").click();
    await gateway.next("input_audio");
    await page.evaluate(() => {
      const [track] = window.lastStream.getTracks();
      track.stop();
      track.dispatchEvent(new Event("ended"));
    });
    await page.locator(".toast.error", { hasText: "is gone" }).waitFor();
    await page.locator('#microphone[aria-pressed="false"]').waitFor();
    const sent = gateway.sent("input_audio").length;
    await page.locator("#microphone").click();
    await waitUntil(() => gateway.sent("input_audio").length > sent + 10, "it does not come back");
  }));

test("a page that is not on a secure origin says so", () =>
  withStandin(
    async (page, gateway) => {
      assert.equal(await page.evaluate(() => window.isSecureContext), false);
      say(gateway, 1, RATE);
      await page.locator(".toast", { hasText: "to hear the voice" }).waitFor();
      await gateway.next("playback_ack");
      assert.ok(acks(gateway, 1).every((body) => body[KEYS.playedSamples] === 0), "nobody can have heard it");
      await page.locator("#microphone").click();
      await page.locator(".toast.error", { hasText: "https or localhost" }).waitFor();
      await page.locator('#microphone[aria-pressed="false"]').waitFor();
    },
    { address: (gateway) => `http://${FOREIGN}:${gateway.port}/?lang=en` },
  ));

test("all buttons for talking are in the one line of the bar, and have their names", () =>
  withStandin(async (page) => {
    for (const width of [1366, 1440, 1600, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      const tops = await page.locator(".bar > *").evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().top));
      assert.ok(Math.max(...tops) < 40, `${width} pixels: ${tops}`);
      for (const name of ["Microphone", "Speaker"]) assert.equal(await page.getByRole("button", { name, exact: true }).count(), 1, `${name} at ${width}`);
    }
  }));

test("the figures of the last turn are shown, also those that nobody has told the page of", () =>
  withStandin(async (page, gateway) => {
    await page.locator("#microphone").click();
    await gateway.next("input_audio");
    gateway.tell("audio", "metrics", { ターン終了から初音: 412.34, 何か新しい: 7, 途切れ回数: 2, text: "no number" });
    await page.locator("#captions summary").click();
    assert.deepEqual(await page.locator(".figures dt").allTextContents(), ["Model began", "何か新しい", "Gaps"]);
    assert.deepEqual(await page.locator(".figures dd").allTextContents(), ["412.3 ms", "7 ms", "2"]);
    await page.locator("#microphone").click();
    await page.locator("#captions").waitFor();
  }));
