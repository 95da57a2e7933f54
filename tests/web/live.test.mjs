// A whole spoken exchange: the browser's microphone, the real gateway, and a vendor that says what the test wants.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PATIENCE_MS, connected, counted, counter, launch } from "./browser.mjs";
import { startGateway } from "./gateway.mjs";
import { speech } from "./speech.mjs";
import { openVendor } from "./vendor.mjs";

const WORDS = "Once upon a time there was a bridge that nobody had crossed for many years".split(" ");
const SECONDS_PER_WORD = 1.5;
const SPEECH_LEVEL = 500;

let browser;
let folder;
let vendor;
let gateway;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "kakehashi-live-"));
  const recording = join(folder, "speech.wav");
  writeFileSync(recording, speech());
  browser = await launch([`--use-file-for-fake-audio-capture=${recording}`]);
  vendor = await openVendor();
  gateway = await startGateway(`[[live]]\nname = "openai_live"\nkind = "openai"\nmodel = "test"\nbase_url = "${vendor.url}"\n`);
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
  await vendor?.close();
  if (folder) rmSync(folder, { recursive: true });
});

function isLoud({ audio }) {
  const bytes = Buffer.from(audio, "base64");
  const samples = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length) > SPEECH_LEVEL;
}

function shown(page) {
  return page.locator('#chat [data-kind^="recognition_"] .body').allTextContents();
}

test("what is said reaches the model, its answer is heard, and an interruption stops it and cuts the text", async () => {
  const context = await browser.newContext({ viewport: { width: 1500, height: 900 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const url = new URL(gateway.url);
    url.searchParams.set("lang", "en");
    await page.goto(url.href);
    await connected(page);
    await page.locator("#microphone").click();
    await vendor.next("input_audio_buffer.append", PATIENCE_MS, isLoud);

    // From here on the person is silent, whatever the recording says.
    await page.locator("#mute").click();
    await vendor.silence(PATIENCE_MS);

    // The model has its own ears, and is asked for an answer when it has heard the end.
    vendor.say({ type: "input_audio_buffer.speech_started", item_id: "u1" });
    vendor.say({ type: "input_audio_buffer.speech_stopped", item_id: "u1" });
    vendor.say({ type: "conversation.item.input_audio_transcription.completed", item_id: "u1", transcript: "Tell me a story." });
    await vendor.next("response.create", PATIENCE_MS);
    vendor.answer("r1", WORDS, SECONDS_PER_WORD);
    await counted(page, "playedSamples", 24_000);
    await page.waitForFunction(() => window.kakehashi.playedPeak > 0.2);

    // Now the recording speaks over it; the model hears that too.
    await page.locator("#mute").click();
    vendor.say({ type: "input_audio_buffer.speech_started", item_id: "u2" });
    const { audio_end_ms: heard } = await vendor.next("conversation.item.truncate", PATIENCE_MS);
    await page.locator("#microphone").click();
    const played = await counter(page, "playedSamples");
    assert.ok(Math.abs(heard - played / 24) <= 1, `the model was told ${heard} ms, the page has played ${played / 24}`);
    assert.ok(heard < 1_000 * SECONDS_PER_WORD * (WORDS.length - 2), `${heard} ms: it was hardly interrupted`);

    // No more words than were heard, in the page and after a reload.
    await page.locator("#chat .cut").waitFor();
    const [asked, said] = await shown(page);
    assert.equal(asked, "Tell me a story.");
    const words = said.replace(/—$/, "").trim();
    assert.notEqual(words, said, "the cut is not shown");
    assert.ok(words.length > 0 && WORDS.join(" ").startsWith(words), said);
    assert.ok(words.split(" ").length <= Math.ceil(heard / 1_000 / SECONDS_PER_WORD), `${heard} ms are not: ${words}`);
    assert.equal(await counter(page, "playedSamples"), played, "it goes on");
    await page.reload();
    await connected(page);
    await page.locator("#chat .cut").waitFor();
    assert.deepEqual((await shown(page)).slice(0, 2), [asked, said]);
  } finally {
    await context.close();
  }
});
