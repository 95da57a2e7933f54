// The page as a person uses it, in a real browser, against a running gateway with scripted models.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  GATEWAY,
  PATIENCE_MS,
  connected,
  counted,
  counter,
  entry,
  launch,
  onPage,
  sessionOf,
  settled,
  token,
  type,
  withToken,
} from "./browser.mjs";
import { openLine } from "./line.mjs";
import { picture } from "./picture.mjs";
import { RECORDING_SECONDS, speech } from "./speech.mjs";

/** The gateway's default for one channel. */
const QUEUE_LIMIT = 16;

let browser;
let folder;
let line;

before(async () => {
  assert.ok(GATEWAY, "KAKEHASHI_URL must name a running gateway");
  folder = mkdtempSync(join(tmpdir(), "kakehashi-page-"));
  const recording = join(folder, "speech.wav");
  writeFileSync(recording, speech());
  line = await openLine(GATEWAY);
  browser = await launch([
    `--use-file-for-fake-audio-capture=${recording}`,
    `--host-resolver-rules=${line.resolverRule}`,
  ]);
});

after(async () => {
  await browser?.close();
  await line?.close();
  if (folder) rmSync(folder, { recursive: true });
});

function withPage(body, options) {
  return onPage(browser, body, options);
}

/** The numbers of everything shown in a pane, in order. */
function numbers(page, pane) {
  return page.locator(`#${pane} [data-seq]`).evaluateAll((nodes) => nodes.map((node) => Number(node.dataset.seq)));
}

async function assertNoRepeats(page, pane) {
  const shown = await numbers(page, pane);
  assert.deepEqual(shown, [...new Set(shown)].sort((a, b) => a - b), `${pane} shows something twice or out of order`);
}

test("eight sockets connect and the address names the session", () =>
  withPage(async (page) => {
    assert.equal(await page.locator(".dot").count(), 8);
    assert.match(sessionOf(page), /^ws-[0-9a-f]+$/);
    assert.equal(await page.locator("#session-id").textContent(), sessionOf(page));
    await page.waitForFunction(() => /\d/.test(document.querySelector("#heartbeat").textContent));
  }));

test("chat answers", () =>
  withPage(async (page) => {
    await type(page, "chat", "good morning");
    await entry(page, "chat", "input_text", "good morning").waitFor();
    await entry(page, "chat", "output_text", "echo: good morning").waitFor();
    await page.locator("#chat .stop:disabled").waitFor();
  }));

test("shift and enter break the line instead of sending", () =>
  withPage(async (page) => {
    const box = page.locator("#chat-text");
    await box.pressSequentially("one");
    await box.press("Shift+Enter");
    await box.pressSequentially("two");
    assert.equal(await box.inputValue(), "one\ntwo");
    await box.press("Enter");
    await entry(page, "chat", "output_text", "two").waitFor();
    assert.equal(await box.inputValue(), "");
  }));

test("an agent streams its lines and then answers", () =>
  withPage(async (page) => {
    await type(page, "agent1", "stream 5\nsay done");
    await entry(page, "agent1", "output_text", "done").waitFor();
    assert.equal(await page.locator("#agent1 .line").count(), 5);
    await page.locator('#agent1 [data-marker="finished"]').waitFor();
    await page.locator("#agent1 .stop:disabled").waitFor();
  }));

test("stop ends a long run", () =>
  withPage(async (page) => {
    await type(page, "agent2", "sleep 30");
    await page.locator("#agent2 .stop:enabled").click();
    await page.locator('#agent2 [data-kind="cancel_run"]').waitFor();
    await page.locator('#agent2 [data-marker="cancelled"]').waitFor();
    await page.locator("#agent2 .stop:disabled").waitFor();
  }));

test("escape stops the run of the focused pane only", () =>
  withPage(async (page) => {
    await type(page, "agent1", "sleep 30");
    await type(page, "agent2", "sleep 30");
    await page.locator("#agent1 .stop:enabled").waitFor();
    await page.locator("#agent2 .stop:enabled").waitFor();
    await page.locator("#agent2 textarea").press("Escape");
    await page.locator('#agent2 [data-marker="cancelled"]').waitFor();
    assert.equal(await page.locator("#agent1 .stop").isEnabled(), true);
    await page.locator("#agent1 .stop").click();
    await page.locator("#agent1 .stop:disabled").waitFor();
  }));

test("waiting runs show their places and can be taken out", () =>
  withPage(async (page) => {
    await type(page, "agent3", "sleep 30");
    await page.locator("#agent3 .stop:enabled").waitFor();
    await type(page, "agent3", "say second");
    await page.locator("#agent3 .chip").waitFor();
    await type(page, "agent3", "say third");
    await page.locator("#agent3 .chip").nth(1).waitFor();
    await page.locator("#agent3 .chip").first().click();
    await page.waitForFunction(() => document.querySelectorAll("#agent3 .chip").length === 1);
    await page.locator("#agent3 .stop").click();
    await entry(page, "agent3", "output_text", "third").waitFor();
    await page.locator("#agent3 .stop:disabled").waitFor();
    assert.equal(await page.locator('#agent3 [data-kind="output_text"]', { hasText: /second$/ }).count(), 0);
  }));

test("words that found no room in the queue are given back", () =>
  withPage(async (page) => {
    await type(page, "agent1", "sleep 30");
    await page.locator("#agent1 .stop:enabled").waitFor();
    for (let place = 1; place <= QUEUE_LIMIT; place += 1) await type(page, "agent1", `say ${place}`);
    await page.locator("#agent1 .chip").nth(QUEUE_LIMIT - 1).waitFor();
    await type(page, "agent1", "say one too many");
    await page.locator(".toast.error").waitFor();
    assert.equal(await page.locator("#agent1 textarea").inputValue(), "say one too many");
    await page.locator("#agent1 .stop-all").press("Enter");
    await page.locator("#agent1 .stop:disabled").waitFor();
    assert.equal(await page.locator("#agent1 .chip").count(), 0);
    assert.equal(await page.locator("#agent1 textarea:focus").count(), 1);
  }));

test("a queue in the chat ends with its answers", () =>
  withPage(async (page) => {
    await page.evaluate(() => {
      const box = document.querySelector("#chat-text");
      for (const words of ["first", "second", "third"]) {
        box.value = words;
        box.form.requestSubmit();
      }
    });
    await entry(page, "chat", "output_text", "echo: third").waitFor();
    await page.locator("#chat .stop:disabled").waitFor();
    assert.equal(await page.locator("#chat .chip").count(), 0);
  }));

test("chat hands work to an agent and hears the answer", () =>
  withPage(async (page) => {
    await page.locator("#mode").selectOption("code4");
    await type(page, "chat", "say handed over");
    await entry(page, "agent4", "input_request", "handed over").waitFor();
    await entry(page, "chat", "output_request", "handed over").waitFor();
  }));

test("a request from an agent's pane is told in the chat", () =>
  withPage(async (page) => {
    await page.locator("#agent1 .tell-chat").check();
    await type(page, "agent1", "say told");
    await entry(page, "agent1", "input_request", "told").waitFor();
    await entry(page, "chat", "output_request", "told").waitFor();
  }));

test("an uploaded picture shows its thumbnail and appears among the recent files", () =>
  withPage(async (page) => {
    const file = { name: "dot.png", mimeType: "image/png", buffer: picture() };
    await page.locator("#agent1 input[type=file]").setInputFiles(file);
    await page.locator("#agent1 img.thumbnail").waitFor();
    await page.waitForFunction(() => document.querySelector("#agent1 img.thumbnail").naturalWidth > 0);
    await page.locator("#files .refresh").click();
    await page.locator("[data-list=files_temp] .path", { hasText: "dot.png" }).waitFor();
  }));

test("a picture dropped on a pane is sent there", () =>
  withPage(async (page) => {
    await page.evaluate((bytes) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
      const drop = new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
      document.querySelector("#chat .transcript").dispatchEvent(drop);
    }, [...picture()]);
    await entry(page, "chat", "input_file", "dropped.png").waitFor();
  }));

test("a pasted picture is sent to the pane it was pasted in", () =>
  withPage(async (page) => {
    await page.evaluate((bytes) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([new Uint8Array(bytes)], "pasted.png", { type: "image/png" }));
      const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      document.querySelector("#agent2 textarea").dispatchEvent(paste);
    }, [...picture()]);
    await entry(page, "agent2", "input_file", "pasted.png").waitFor();
  }));

test("an unchanged list is not drawn again", () =>
  withPage(async (page) => {
    await counted(page, "listsDrawn", 2);
    const drawn = await counter(page, "listsDrawn");
    const skipped = await counter(page, "listsSkipped");
    await page.locator("#files .refresh").click();
    await counted(page, "listsSkipped", skipped + 2);
    assert.equal(await counter(page, "listsDrawn"), drawn);
  }));

test("live answers in words and in sound", () =>
  withPage(async (page) => {
    await page.locator("#mode").selectOption("live");
    await type(page, "chat", "speak to me");
    await entry(page, "chat", "output_text", "").waitFor();
    await counted(page, "playedSamples", 2_400);
  }));

test("a picture from the camera and a silent word reach live without complaint", () =>
  withPage(async (page) => {
    await page.locator("[data-switch=camera]").click();
    await page.locator("#camera .camera-start").click();
    await page.waitForFunction(() => document.querySelector("#camera video").videoWidth > 0);
    await page.locator("#camera .shutter").click();
    await page.locator(".toast", { hasText: "Picture sent" }).waitFor();
    await type(page, "camera", "what do you see?");
    await settled(page);
    assert.equal(await page.locator(".toast.error").count(), 0);
  }));

test("the microphone is heard and comes back", () =>
  withPage(async (page) => {
    await page.locator("#microphone").click();
    await counted(page, "sentChunks", 20);
    // The scripted model gives the person's own voice back, and it is not silence.
    await page.waitForFunction(() => window.kakehashi.playedPeak > 0.05);
    await entry(page, "chat", "recognition_input", "").waitFor();
    await counted(page, "playedSamples", 24_000);
    await page.locator(".caption-heard", { hasText: /./ }).waitFor();
    await page.locator("#microphone").click();
    const sent = await counter(page, "sentChunks");
    await page.waitForTimeout(300);
    assert.equal(await counter(page, "sentChunks"), sent);
  }));

test("speaking over the voice silences it", () =>
  withPage(async (page) => {
    await page.locator("#mode").selectOption("live");
    await page.locator("#microphone").click();
    await entry(page, "chat", "recognition_input", "").waitFor();
    await type(page, "chat", "a long story ".repeat(60));
    await counted(page, "audioCancels", 1);
    // From here on only the person's own voice comes back, chunk by chunk.
    const tone = () => page.evaluate(() => window.kakehashi.receivedChunks - window.kakehashi.sentChunks);
    const left = await tone();
    await page.waitForTimeout(1_000);
    assert.ok((await tone()) <= left + 3, "the tone goes on");
  }));

test("the gateway takes what is told about the voice, and a stop is silence", () =>
  withPage(async (page) => {
    await page.locator("#mode").selectOption("live");
    await type(page, "chat", "a long story ".repeat(60));
    await counted(page, "sentAcks", 4);
    await page.waitForFunction(() => window.kakehashi.playedPeak > 0.05);
    await page.locator("#hush").click();
    await page.locator('#captions[data-state="rest"]').waitFor({ state: "attached" });
    const played = await counter(page, "playedSamples");
    await page.waitForTimeout(1_000);
    // The device has taken a little in advance; a quarter of a second would be much.
    assert.ok((await counter(page, "playedSamples")) - played < 6_000);
    assert.equal(await page.locator(".toast.error").count(), 0);
  }));

test("what is said while the button is held is understood when it is released", () =>
  withPage(async (page) => {
    await page.locator("#talk").hover();
    await page.mouse.down();
    // As long as the recording: speech is in it, wherever it begins.
    await counted(page, "sentChunks", 50 * RECORDING_SECONDS);
    await page.mouse.up();
    await entry(page, "chat", "recognition_input", "").waitFor();
    assert.equal(await page.locator(".toast.error").count(), 0);
    assert.equal(await page.locator("#microphone").getAttribute("aria-pressed"), "false");
  }));

test("the microphone works in the tab where it was switched on last", () =>
  withPage(async (page) => {
    const other = await page.context().newPage();
    await other.goto(page.url());
    await connected(other);
    await page.locator("#microphone").click();
    await counted(page, "receivedChunks", 5);
    await other.locator("#microphone").click();
    await counted(other, "receivedChunks", 5);
    await page.locator('#microphone[aria-pressed="false"]').waitFor();
  }));

test("two tabs of a session show the same", () =>
  withPage(async (page) => {
    const other = await page.context().newPage();
    await other.goto(page.url());
    await connected(other);
    await type(page, "agent1", "stream 5\nsay from one");
    await type(other, "chat", "from the other");
    for (const tab of [page, other]) {
      await entry(tab, "agent1", "output_text", "from one").waitFor();
      await entry(tab, "chat", "output_text", "from the other").waitFor();
    }
    assert.deepEqual(await numbers(page, "agent1"), await numbers(other, "agent1"));
    assert.deepEqual(await numbers(page, "chat"), await numbers(other, "chat"));
  }));

test("an answer that came in pieces stands where the history has it", () =>
  withPage(async (page) => {
    const shown = await page.evaluate(async () => {
      const { createTranscript } = await import(new URL("transcript.js", document.querySelector("script[src]").src).href);
      const element = document.body.appendChild(document.createElement("div"));
      const node = (text) => Object.assign(document.createElement("p"), { textContent: text });
      const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const orders = [];
      for (const draw of [drawn, () => null]) {
        const transcript = createTranscript(element);
        const draft = node("draft");
        transcript.append(draft);
        await draw();
        transcript.append(node("between"));
        await draw();
        transcript.replace(draft, node("answer"));
        await drawn();
        const last = node("draft");
        transcript.append(last);
        await draw();
        transcript.replace(last, node("next"));
        await drawn();
        orders.push([...element.children].map((child) => child.textContent));
        transcript.clear();
      }
      element.remove();
      return orders;
    });
    for (const order of shown) assert.deepEqual(order, ["between", "answer", "next"]);
  }));

test("a reload keeps session, history and switches", () =>
  withPage(async (page) => {
    await type(page, "chat", "remember me");
    await entry(page, "chat", "output_text", "remember me").waitFor();
    await type(page, "agent1", "stream 3\nsay kept");
    await entry(page, "agent1", "output_text", "kept").waitFor();
    await page.locator("[data-switch=agent3]").click();
    await page.locator("[data-switch=speaker]").click();
    await page.locator("#mode").selectOption("code2");
    await settled(page);
    const before = { session: sessionOf(page), chat: await numbers(page, "chat"), agent: await numbers(page, "agent1") };

    await page.reload();
    await connected(page);
    await entry(page, "chat", "output_text", "remember me").waitFor();
    await entry(page, "agent1", "output_text", "kept").waitFor();
    const now = { session: sessionOf(page), chat: await numbers(page, "chat"), agent: await numbers(page, "agent1") };
    assert.deepEqual(now, before);
    assert.equal(await page.locator("#agent3").isHidden(), true);
    assert.equal(await page.locator("[data-switch=speaker]").getAttribute("aria-pressed"), "false");
    assert.equal(await page.locator("#mode").inputValue(), "code2");
  }));

test("a broken line resumes without loss or repetition", () => withPage(survive, { complaintsExpected: ["WebSocket"] }));

async function survive(page) {
  await type(page, "chat", "before the break");
  await entry(page, "chat", "output_text", "before the break").waitFor();
  await type(page, "agent1", "stream 3\nsleep 2\nstream 4\nsay back again");
  await page.locator("#agent1 .line").nth(2).waitFor();
  const resumed = await counter(page, "resumed");

  line.cut();
  await page.waitForFunction(() => document.querySelectorAll('.dot[data-state="ready"]').length === 0);
  await type(page, "chat", "typed in the dark");
  assert.equal(await page.locator("#unsent").isVisible(), true);
  assert.equal(await page.locator("#offline").isVisible(), true);
  await page.waitForTimeout(2_500);
  line.mend();

  await connected(page);
  await entry(page, "agent1", "output_text", "back again").waitFor();
  await entry(page, "chat", "output_text", "echo: typed in the dark").waitFor();
  await settled(page);
  assert.equal(await page.locator("#offline").isVisible(), false);
  assert.equal(await counter(page, "resumed"), resumed + 8);
  assert.equal(await page.locator("#agent1 .line").count(), 7);
  assert.equal(await page.locator('#chat [data-kind="input_text"]', { hasText: "typed in the dark" }).count(), 1);
  assert.equal(await page.locator('#chat [data-kind="output_text"]', { hasText: "before the break" }).count(), 1);
  await assertNoRepeats(page, "chat");
  await assertNoRepeats(page, "agent1");
}

test("a viewer sees everything and can touch nothing", () =>
  withPage(async (page) => {
    const viewer = await page.context().newPage();
    viewer.setDefaultTimeout(PATIENCE_MS);
    await viewer.goto(withToken(`/?lang=en&view=1&session=${sessionOf(page)}`));
    await connected(viewer);
    await type(page, "chat", "watch this");
    await entry(viewer, "chat", "output_text", "watch this").waitFor();
    for (const control of [".composer", ".stop", "#microphone", "#settings-open"]) {
      assert.equal(await viewer.locator(control).filter({ visible: true }).count(), 0, control);
    }
  }));

test("a session that cannot be used is told, and a new one is a click away", () =>
  withPage(async (page) => {
    await page.goto(withToken("/?lang=en&session=made-up"));
    await page.locator("#refusal", { hasText: "3504" }).waitFor();
    await page.locator("#refusal .new-session").click();
    await connected(page);
    assert.match(sessionOf(page), /^ws-/);
  }));

test("the language changes in place", () =>
  withPage(async (page) => {
    assert.equal(await page.locator("#chat h2").textContent(), "Chat");
    await page.locator("#language").click();
    assert.equal(await page.evaluate(() => document.documentElement.lang), "ja");
    assert.notEqual(await page.locator("#chat h2").textContent(), "Chat");
    await connected(page);
    assert.equal(new URL(page.url()).searchParams.get("lang"), "ja");
  }));

test("a long stream stays bounded and follows its end", () =>
  withPage(async (page) => {
    await type(page, "agent4", "stream 6000\nsay finally");
    await entry(page, "agent4", "output_text", "finally").waitFor({ timeout: 60_000 });
    assert.ok((await page.locator("#agent4 .entry").count()) <= 3_000);
    assert.equal(await counter(page, "duplicates"), 0, "a page that cannot keep up must not be told anything twice");
    const gap = await page.locator("#agent4 .transcript").evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    assert.ok(gap < 32, `the pane is ${gap} px from its end`);
  }));

test("a reader who scrolled up is left alone", () =>
  withPage(async (page) => {
    await type(page, "agent1", "stream 200\nsay first");
    await entry(page, "agent1", "output_text", "first").waitFor();
    const log = page.locator("#agent1 .transcript");
    await log.evaluate((element) => (element.scrollTop = 100));
    await page.locator("#agent1 .latest").waitFor();
    await type(page, "agent1", "stream 20\nsay second");
    await entry(page, "agent1", "output_text", "second").waitFor({ state: "attached" });
    assert.equal(await log.evaluate((element) => element.scrollTop), 100);
    await page.locator("#agent1 .latest").click();
    await page.locator("#agent1 .latest").waitFor({ state: "hidden" });
  }));

test("the button that sends stays beside the others, however narrow the chat is", () =>
  withPage(async (page) => {
    await page.locator("#mode").selectOption("some");
    for (const width of [320, 390, 1024, 1440]) {
      await page.setViewportSize({ width, height: 700 });
      const [mode, attach, send] = await Promise.all(["#mode", "#chat .attach", "#chat .send"].map((part) => page.locator(part).boundingBox()));
      for (const other of [mode, attach]) assert.ok(other.x + other.width <= send.x && Math.abs(other.y - send.y) < 16, `at ${width}`);
    }
  }));

test("nothing sticks out sideways at any width", () =>
  withPage(async (page) => {
    for (const name of ["camera", "log"]) await page.locator(`[data-switch=${name}]`).click();
    await type(page, "agent1", `say ${"unbroken".repeat(200)}\nrun echo ${"endless".repeat(200)}`);
    await entry(page, "agent1", "output_text", "unbroken").waitFor();
    for (const width of [360, 400, 768, 1100, 1500, 2200]) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page
        .locator("html, .pane, .transcript")
        .evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.id || e.className));
      assert.deepEqual(wide, [], `at ${width} px`);
    }
  }));

test("the token disappears from the address, and a logout leads to the form", () =>
  withPage(async (page) => {
    assert.ok(!page.url().includes("token"), page.url());
    await type(page, "chat", "before the logout");
    await entry(page, "chat", "output_text", "echo: before the logout").waitFor();
    const session = sessionOf(page);
    await page.locator("#logout").click();
    await page.locator("#secret").waitFor();
    assert.ok(page.url().includes("/login"), page.url());
    await page.screenshot({ path: join(folder, "login.png") });

    await page.locator("#secret").fill("not the token");
    await page.keyboard.press("Enter");
    await page.locator("#trouble").waitFor();
    assert.equal(await page.locator("#name-row").isVisible(), false);
    await page.locator("#secret").fill(token());
    await page.keyboard.press("Enter");
    await connected(page);
    assert.equal(sessionOf(page), session);
    await entry(page, "chat", "output_text", "echo: before the logout").waitFor();
  }, { complaintsExpected: ["401"] }));

test("without a login there is only the form, and a wrong token is explained", async () => {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(new URL("/?lang=en", GATEWAY).href);
    await page.locator("#secret").waitFor();
    assert.equal(await page.locator(".composer").count(), 0);
    await page.goto(new URL("/?lang=en&token=wrong", GATEWAY).href);
    await page.locator("#trouble").waitFor();
    assert.match(await page.locator("#trouble").textContent(), /token/i);
  } finally {
    await context.close();
  }
});
