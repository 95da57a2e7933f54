// The agent's page against a stand-in that decides what is said, and when: four panes, permissions, lost lines, logins.
// KAKEHASHI_SMOL_URL names the page of a running gateway, with its token: then the basic cases run against it as well.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { PATIENCE_MS } from "./browser.mjs";
import { picture } from "./picture.mjs";
import { CONVERSATION, definition, openSmol } from "./smolstandin.mjs";

const IMAGE = { type: "image", content: picture().toString("base64"), format: "png" };
const CODE = "import pandas as pd\nprint(pd) # here";
const HOSTILE = '<img src=x onerror="alert(1)"><b>bold</b>';
const GATEWAY = process.env.KAKEHASHI_SMOL_URL;

let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu"] });
});

after(() => browser?.close());

/** `body(page)` fails on anything that the page complains about, besides answers that refuse. */
async function inBrowser(url, body, { width = 1300, height = 850 } = {}) {
  const context = await browser.newContext({ viewport: { width, height } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  try {
    await page.goto(url);
    await body(page);
    assert.deepEqual(complaints.filter((words) => !/Failed to load resource|WebSocket/.test(words)), []);
  } finally {
    await context.close();
  }
}

async function onPage(body, { files, prepare = () => {}, ...view } = {}) {
  const standin = await openSmol({ files });
  prepare(standin);
  try {
    await inBrowser(standin.url, async (page) => {
      if (standin.refuse === null && !standin.rejects) await ready(page);
      await body(page, standin);
    }, view);
  } finally {
    await standin.close();
  }
}

const ready = (page) => page.locator('#line[data-state="ready"]').waitFor();
const entry = (page, kind, words) => page.locator(`#entries [data-kind="${kind}"]`, { hasText: words });
const progress = (state, more = {}) => ({ type: "progress", content: { state, elapsed_ms: 0, ...more } });

async function say(page, words) {
  await page.locator("#message").fill(words);
  await page.locator("#message").press("Enter");
}

// How long a turn took is told when it ends, and not again.
const told = (page) => page.locator('#entries > :not([data-kind="ended"])').allInnerTexts();

/** What holds for every server that speaks this wire and answers a message. */
async function basics(page) {
  await ready(page);
  await page.waitForFunction(() => document.querySelectorAll("#drawing .room").length === 7);
  for (const type of ["map_definition", "connected"]) await page.locator(`#frames [data-type="${type}"]`).first().waitFor();
  await say(page, "hello there");
  await entry(page, "user", "hello there").waitFor();
  await page.locator('#entries [data-kind="text"], #entries [data-kind="error"]').first().waitFor();
  await page.locator('#progress[data-busy="false"]').waitFor({ state: "attached" });
  const before = await told(page);
  await page.reload();
  await entry(page, "user", "hello there").waitFor();
  assert.deepEqual(await told(page), before);
  await page.locator("#new-conversation").click();
  await page.locator("#chat-pane .nothing").waitFor();
  assert.equal(await page.locator("#entries > *").count(), 0);
}

test("the basic cases, with the stand-in", () =>
  onPage(async (page, standin) => {
    standin.next("message").then(() => standin.tell(progress("thinking"), { type: "text", content: "Echo" }, progress("ended")));
    await basics(page);
  }));

if (GATEWAY !== undefined) {
  test("the basic cases, with a gateway", () => inBrowser(GATEWAY, basics));
}

test("each part of a turn is in its place", () =>
  onPage(async (page, standin) => {
    await say(page, "plot it");
    assert.deepEqual(await standin.next("message"), { message: "plot it" });
    standin.tell({ type: "debug", content: { agent_response: { text: "t" }, parsed_outputs: [], output_count: 3 } });
    standin.tell({ type: "code", content: CODE, language: "python", step: "Step 1" }, { type: "code", content: "SELECT 1", language: "sql", step: 2 });
    standin.tell({ type: "text", content: "line one\nline two" }, { type: "error", content: "Error processing request: x" }, IMAGE);
    await entry(page, "text", "line two").waitFor();
    const code = page.locator('#entries [data-kind="code"]');
    assert.deepEqual(await code.locator("pre").allInnerTexts(), [CODE, "SELECT 1"]);
    assert.deepEqual(await code.locator(".step").allInnerTexts(), ["Step 1", "Step 2"]);
    assert.deepEqual(await code.locator(".language").allInnerTexts(), ["Python", "SQL"]);
    await entry(page, "error", "Error processing request: x").waitFor();
    await page.locator("#gallery img").waitFor();
    assert.match(await page.locator('#frames [data-type="debug"] pre').innerText(), /"output_count": 3/);
  }));

test("code is copied, and says so for two seconds", () =>
  onPage(async (page, standin) => {
    standin.tell({ type: "code", content: CODE });
    const copy = page.locator(".code-block .copy");
    await copy.click();
    await page.locator(".copy", { hasText: "Copied!" }).waitFor();
    const since = Date.now();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), CODE);
    await page.locator(".copy", { hasText: /^Copy$/ }).waitFor();
    assert.ok(Date.now() - since > 1_200, "not at once");
  }));

test("nothing of a frame becomes markup", () =>
  onPage(async (page, standin) => {
    const marks = { type: "map", content: { floorId: "1F", rectangles: [{ name: "Kitchen", color: '"><script>' }], overlays: [{ type: "text", text: HOSTILE, color: "red", position: { type: "coordinate", x: 50, y: 50 } }] } };
    standin.tell({ type: "user_message", content: HOSTILE }, { type: "text", content: HOSTILE }, { type: "error", content: HOSTILE }, { type: "code", content: HOSTILE, language: HOSTILE, step: HOSTILE }, marks);
    standin.tell({ type: "image", content: HOSTILE, format: HOSTILE }, { ...IMAGE, path: HOSTILE }, progress("thinking", { step: HOSTILE, text: HOSTILE }), { type: "confirm", content: { id: 1, tool: HOSTILE, arguments: HOSTILE, warning: HOSTILE } });
    standin.tell({ type: HOSTILE, content: HOSTILE });
    standin.raw(HOSTILE);
    await page.locator('#frames [data-type="?"]').waitFor();
    await page.locator(".confirm").waitFor();
    for (const summary of await page.locator("#frames summary").all()) await summary.click();
    assert.deepEqual(await page.evaluate(() => [document.querySelectorAll("b, script:not([src]), [onerror]").length, document.querySelectorAll('img[src="x"]').length]), [0, 0]);
  }));

test("rooms are highlighted, arrows drawn and cleared, and words tell it", () =>
  onPage(async (page, standin) => {
    const room = (name) => page.locator(`#drawing [data-room="${name}"]`);
    assert.equal(await room("Kitchen").getAttribute("stroke"), "#ff0000");
    standin.tell({ type: "highlight_room", content: { rooms: ["Kitchen"] } }, { type: "arrow", content: { room: "Toilet", direction: "down" } });
    await page.locator('#drawing [data-of="Toilet"][data-direction="down"]').waitFor();
    assert.deepEqual([await room("Kitchen").getAttribute("stroke"), await room("Bathroom").getAttribute("stroke")], ["#0066ff", "#ff0000"]);
    const sizes = await page.evaluate(() => Object.fromEntries(Array.from(document.querySelectorAll("#drawing .label"), (node) => [node.textContent, [parseFloat(getComputedStyle(node).fontSize), getComputedStyle(node).fontWeight]])));
    assert.ok(sizes.Kitchen[0] > sizes.Bathroom[0]);
    assert.deepEqual([sizes.Kitchen[1], sizes.Bathroom[1]], ["700", "400"]);
    assert.equal(await page.locator("#drawing svg").getAttribute("aria-label"), "Floor plan 1階; marked: Kitchen; arrows: Toilet down");
    standin.tell({ type: "clear_arrows", content: {} });
    await page.locator("#drawing .arrow").waitFor({ state: "detached" });
    assert.equal(await room("Kitchen").getAttribute("stroke"), "#0066ff");
    standin.tell({ type: "clear_map", content: {} });
    await page.locator('#drawing [data-room="Kitchen"][stroke="#ff0000"]').waitFor();
  }));

test("a map has its colours, texts and bitmaps", () =>
  onPage(async (page, standin) => {
    const overlays = [
      { type: "text", text: "21 °C", color: "#FFFFFF", backgroundColor: "#CC0000", position: { type: "rectangle", name: "Kitchen" } },
      { type: "bitmap", bitmapId: "arrow_left", position: { type: "coordinate", x: 20, y: 20 } },
      { type: "bitmap", bitmapId: "person", position: { type: "coordinate", x: 60, y: 150 } },
      { type: "bitmap", bitmapId: "warning", position: { type: "coordinate", x: 90, y: 150 } },
    ];
    standin.tell({ type: "map", content: { floorId: "1F", timestamp: "2026-01-01T00:00:00Z", rectangles: [{ name: "Room1", color: "#00AA00", strokeOpacity: 0.5, fillOpacity: 0.25 }], overlays } });
    const room = page.locator('#drawing [data-room="Room1"]');
    await page.locator("#drawing .arrow").waitFor();
    assert.deepEqual(await room.evaluate((node) => ["fill", "fill-opacity", "stroke-opacity"].map((name) => node.getAttribute(name))), ["#00AA00", "0.25", "0.5"]);
    assert.equal(await page.locator('#drawing rect[fill="#CC0000"] + text').textContent(), "21 °C");
    assert.equal(await page.locator("#drawing image").getAttribute("href"), "../backend/bitmaps/person.bmp");
    await page.locator("#drawing text", { hasText: "warning" }).waitFor();
  }, { files: { "bitmaps/person.bmp": picture() } }));

test("a picture of the floor lies under the plan; a missing one leaves it plain", async () => {
  const prepare = (standin) => (standin.definition = definition("OSM_floor.png"));
  await onPage((page) => page.locator("#drawing svg > image.floor:first-child").waitFor(), { prepare, files: { "data/OSM_floor.png": picture() } });
  await onPage(async (page, standin) => {
    await page.locator('#drawing [data-room="Kitchen"]').waitFor();
    await page.waitForFunction(() => performance.getEntriesByName(new URL("../backend/data/OSM_floor.png", location).href).length > 0);
    assert.ok(standin.asked.includes("/backend/data/OSM_floor.png"));
    assert.equal(await page.locator("#drawing image").count(), 0);
  }, { prepare });
});

test("points are seen on a map of their own, and the plan is one click away", () =>
  onPage(async (page, standin) => {
    assert.equal(await page.locator("#map-views").isVisible(), false);
    standin.tell({ type: "map", content: { points: [{ lat: 35.6762, lon: 139.6503 }, { lat: 34.6937, lon: 135.5023 }], description: "Two cities" } });
    await page.locator("#drawing circle").nth(1).waitFor();
    assert.equal(await page.locator("#map-words").innerText(), "Two cities");
    await page.locator("#point-list summary").click();
    assert.deepEqual(await page.locator("#point-list li").allInnerTexts(), ["35.6762, 139.6503", "34.6937, 135.5023"]);
    await page.locator('[data-shown="plan"]').first().click();
    await page.locator("#drawing .room").first().waitFor();
    await page.locator('#map-views [data-shown="points"]').click();
    await page.locator("#drawing circle").first().waitFor();
    standin.tell({ type: "highlight_room", content: { rooms: ["Kitchen"] } });
    await page.locator('#drawing [data-room="Kitchen"][stroke="#0066ff"]').waitFor();
  }));

test("a picture fills the window; arrows go on, Escape closes only it, and the focus goes back", () =>
  onPage(async (page, standin) => {
    standin.tell(progress("thinking"), { ...IMAGE, path: "/tmp/a.png" }, { ...IMAGE, content: "no base64!" }, { ...IMAGE, content: "AAAA" }, { ...IMAGE, path: "b.png" });
    for (const lost of ["Image 2", "Image 3"]) await page.locator("#gallery .lost", { hasText: lost }).waitFor();
    await page.locator(".enlarge").first().focus();
    await page.keyboard.press("Enter");
    const title = page.locator("#lightbox[open] #lightbox-name");
    await title.waitFor();
    assert.equal(await title.innerText(), "a.png");
    for (const [key, name] of [["ArrowRight", "b.png"], ["ArrowRight", "a.png"], ["ArrowLeft", "b.png"]]) {
      await page.keyboard.press(key);
      assert.equal(await title.innerText(), name);
    }
    await page.keyboard.press("Escape");
    await page.locator("#lightbox[open]").waitFor({ state: "detached" });
    await page.locator(".enlarge:focus").waitFor();
    assert.equal(standin.sent("cancel").length, 0, "closing a picture stops nothing");
    await page.locator(".enlarge").last().click();
    await page.locator("#lightbox img").click();
    await page.locator("#lightbox[open]").waitFor({ state: "detached" });
  }));

test("a turn shows what it does, and Escape or the button stops it once", () =>
  onPage(async (page, standin) => {
    await say(page, "long work");
    await standin.next("message");
    standin.tell(progress("executing", { step: 3, text: "df.describe()", elapsed_ms: 65_000 }));
    await page.locator("#progress", { hasText: "Step 3" }).waitFor();
    assert.match(await page.locator("#progress").innerText(), /Running the code[^]*df\.describe\(\)[^]*1 min [5-9] s/);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    assert.deepEqual(await standin.next("cancel"), { type: "cancel" });
    await page.locator("#cancel:disabled").waitFor({ state: "attached" });
    await page.locator("#progress", { hasText: "Cancelling" }).waitFor();
    standin.tell(progress("ended", { elapsed_ms: 66_000 }));
    await entry(page, "ended", "1 min 6 s").waitFor();
    assert.equal(await page.locator("#cancel").isVisible(), false);
    assert.equal(standin.sent("cancel").length, 1);
    standin.tell(progress("thinking"));
    await page.locator("#cancel:enabled").click();
    await standin.next("cancel", 1);
    await page.locator("#message:focus").waitFor();
  }));

test("Escape stops nothing while nothing is done", () =>
  onPage(async (page, standin) => {
    await page.keyboard.press("Escape");
    await say(page, "hello");
    await standin.next("message");
    assert.equal(standin.sent("cancel").length, 0);
  }));

test("a permission is asked for with its arguments, and answered", () =>
  onPage(async (page, standin) => {
    const ask = (id) => ({ type: "confirm", content: { id, tool: "shell:execute", arguments: { command: "rm -rf build" }, warning: "This deletes files." } });
    standin.tell(progress("waiting"), ask("a"), ask("b"));
    const rows = page.locator(".confirm");
    await rows.nth(1).waitFor();
    assert.match(await rows.first().innerText(), /shell:execute[^]*This deletes files\.[^]*rm -rf build/);
    await page.locator("#progress", { hasText: "Waiting for your permission" }).waitFor();
    await rows.first().locator("button", { hasText: "Allow" }).click();
    assert.deepEqual(await standin.next("confirm"), { type: "confirm", id: "a", allow: true });
    await rows.first().locator("button.send:disabled").waitFor();
    // What is grave has to be allowed twice.
    await rows.first().locator("button.send:enabled").click();
    assert.deepEqual(await standin.next("confirm", 1), { type: "confirm", id: "a", allow: true });
    standin.tell({ type: "confirmed", content: { id: "a", allowed: true } });
    await entry(page, "decision", "Allowed: shell:execute").waitFor();
    await page.locator(".confirm .deny").click();
    assert.deepEqual(await standin.next("confirm", 2), { type: "confirm", id: "b", allow: false });
    standin.tell({ type: "confirmed", content: { id: "b", allowed: false } });
    await entry(page, "decision", "Denied: shell:execute").waitFor();
    assert.equal(await rows.count(), 0);
  }));

test("Enter sends; Shift+Enter and an input method do not", () =>
  onPage(async (page, standin) => {
    const box = page.locator("#message");
    await box.fill("a");
    await box.press("Shift+Enter");
    await box.evaluate((node) => node.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })));
    await box.press("b");
    await box.press("Enter");
    assert.deepEqual(await standin.next("message"), { message: "a\nb" });
    assert.equal(await box.inputValue(), "");
    await box.press("Enter");
    await say(page, "c");
    assert.deepEqual(await standin.next("message", 1), { message: "c" }, "nothing is no message");
  }));

test("a lost line comes back after three seconds with the same conversation, and nothing is shown twice", () =>
  onPage(async (page, standin) => {
    await say(page, "first");
    await standin.next("message");
    standin.tell({ type: "text", content: "answer" }, IMAGE, { type: "highlight_room", content: { rooms: ["Kitchen"] } });
    await page.locator("#gallery img").waitFor();
    const since = Date.now();
    standin.cut();
    await page.locator('#line[data-state="waiting"]', { hasText: "reconnecting" }).waitFor();
    await page.locator("#say .send:disabled").waitFor();
    standin.tell({ type: "text", content: "meanwhile" });
    await entry(page, "text", "meanwhile").waitFor();
    assert.ok(Date.now() - since >= 2_900, "not before three seconds");
    assert.deepEqual(standin.dialled, [{ conversation: "new", lang: "en" }, { conversation: CONVERSATION, lang: "en" }]);
    assert.deepEqual(await Promise.all(["#entries > *", "#gallery li", ".room[stroke='#0066ff']"].map((part) => page.locator(part).count())), [3, 1, 1]);
    assert.deepEqual(await page.locator("#entries .words").allInnerTexts(), ["first", "answer", "meanwhile"]);
    await ready(page);
  }));

test("a message that was lost goes back into the box, and the wish to stop is told again", () =>
  onPage(async (page, standin) => {
    standin.tell(progress("thinking"));
    await page.locator("#cancel").click();
    await standin.next("cancel");
    standin.keepsQuiet = true;
    await say(page, "lost words");
    await standin.next("message");
    await page.locator("#pending", { hasText: "Sending" }).waitFor();
    standin.cut();
    await page.locator("#trouble", { hasText: "not taken" }).waitFor();
    assert.equal(await page.locator("#message").inputValue(), "lost words");
    assert.equal(await page.locator("#pending > *").count(), 0);
    await standin.next("cancel", 1);
  }));

test("an unknown conversation is forgotten, and a new one begins", () =>
  onPage(async (page, standin) => {
    standin.tell({ type: "text", content: "old" });
    await entry(page, "text", "old").waitFor();
    standin.refuse = ({ conversation }) => (conversation === "new" ? null : 3505);
    standin.cut();
    await page.locator("#chat-pane .nothing").waitFor();
    assert.deepEqual(standin.dialled.slice(-2).map(({ conversation }) => conversation), [CONVERSATION, "new"]);
    await ready(page);
  }));

test("a server that shuts down is dialled again; one that refuses for good is not", () =>
  onPage(async (page, standin) => {
    standin.end(3506);
    await page.locator('#line[data-state="waiting"]').waitFor();
    await ready(page);
    assert.equal(standin.dialled.at(-1).conversation, CONVERSATION);
    const count = standin.dialled.length;
    standin.end(3507);
    await page.locator('#line[data-state="refused"]', { hasText: "3507" }).waitFor();
    await page.waitForTimeout(3_500);
    assert.equal(standin.dialled.length, count);
  }));

for (const [way, lose] of [["a close", (standin) => (standin.refuse = 3504)], ["a handshake", (standin) => (standin.rejects = true)]]) {
  test(`${way} that asks for a login leads to the form and back, to the same conversation`, () =>
    onPage(async (page, standin) => {
      standin.tell({ type: "text", content: "kept" });
      await entry(page, "text", "kept").waitFor();
      standin.isLoggedIn = false;
      lose(standin);
      standin.cut();
      await page.locator("#secret").waitFor();
      assert.equal(new URL(page.url()).searchParams.get("next"), "smol");
      await page.locator("#secret").fill("token");
      await page.locator("#secret").press("Enter");
      await entry(page, "text", "kept").waitFor();
      assert.equal(new URL(page.url()).pathname, "/smol/");
      assert.equal(new URL(page.url()).searchParams.get("lang"), "en");
      assert.equal(standin.dialled.at(-1).conversation, CONVERSATION);
    }));
}

test("frames are shown raw or in lines, and cleared", () =>
  onPage(async (page, standin) => {
    const content = { a: 1 };
    standin.tell({ type: "mystery", content });
    const frame = page.locator('#frames [data-type="mystery"]');
    await frame.locator("summary").click();
    assert.equal(await frame.locator("pre").innerText(), JSON.stringify({ type: "mystery", content }, null, 2));
    assert.match(await frame.locator("time").innerText(), /^\d\d:\d\d:\d\d\.\d{3}$/);
    await page.locator("#pretty").click();
    assert.equal(await frame.locator("pre").innerText(), '{"type":"mystery","content":{"a":1}}');
    await say(page, "hi");
    await page.locator('#frames [data-type="message"] .out').waitFor();
    await page.locator("#clear").click();
    await page.locator("#frames .nothing").waitFor();
    assert.equal(await page.locator("#frames li").count(), 0);
  }));

test("a flood of frames leaves a page of its usual size that still answers", () =>
  onPage(async (page, standin) => {
    for (let count = 0; count < 2_000; count += 1) standin.whisper({ type: "text", content: `line ${count}` });
    await entry(page, "text", "line 1999").waitFor();
    assert.deepEqual(await Promise.all(["#entries > *", "#frames li"].map((part) => page.locator(part).count())), [500, 300]);
    await say(page, "still there?");
    await standin.next("message");
  }));

test("the reader who scrolled up is not moved, and comes back with a button", () =>
  onPage(async (page, standin) => {
    const list = page.locator("#talk-list");
    standin.tell({ type: "text", content: "word\n".repeat(200) });
    await page.waitForFunction(() => document.querySelector("#talk-list").scrollTop > 100);
    await list.evaluate((node) => (node.scrollTop = 50));
    await page.locator("#newest").waitFor();
    standin.tell({ type: "text", content: "last" });
    await entry(page, "text", "last").waitFor({ state: "attached" });
    assert.equal(await list.evaluate((node) => node.scrollTop), 50);
    await page.locator("#newest").click();
    await page.waitForFunction(() => Math.abs(document.querySelector("#talk-list").scrollHeight - document.querySelector("#talk-list").scrollTop - document.querySelector("#talk-list").clientHeight) < 3);
  }));

test("the language changes everything that is shown, and stays", () =>
  onPage(async (page, standin) => {
    standin.tell({ type: "user_message", content: "hi" }, IMAGE, progress("thinking", { step: 1 }));
    await page.locator("#gallery img").waitFor();
    await page.locator("#language").click();
    await page.locator("#chat-title", { hasText: "チャット" }).waitFor();
    assert.equal(await page.locator('#entries [data-kind="user"] .speaker').innerText(), "あなた");
    assert.equal(await page.locator("#gallery .title").innerText(), "画像1");
    await page.locator("#progress", { hasText: "考えています" }).waitFor();
    await page.locator("#progress", { hasText: "手順1" }).waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "ja");
    await page.reload();
    await page.locator("#chat-title", { hasText: "チャット" }).waitFor();
  }));

test("the keyboard reaches every pane in the order of the eye, and every control has a name", () =>
  onPage(async (page, standin) => {
    standin.tell(progress("waiting"), { type: "map", content: { points: [{ lat: 1, lon: 2 }] } }, IMAGE, { type: "code", content: "x" }, { type: "confirm", content: { id: 1, tool: "t", arguments: { a: 1 } } });
    await page.locator(".confirm").waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    const panes = [];
    for (let count = 0; count < 45; count += 1) {
      await page.keyboard.press("Tab");
      const pane = await page.evaluate(() => document.activeElement.closest(".pane")?.id ?? null);
      if (pane !== null && panes.at(-1) !== pane) panes.push(pane);
    }
    assert.deepEqual(panes.slice(0, 4), ["map-pane", "image-pane", "chat-pane", "debug-pane"]);
    const nameless = await page.evaluate(() => Array.from(document.querySelectorAll("button, textarea, a, svg[role], summary")).filter((node) => (node.getAttribute("aria-label") ?? node.textContent).trim() === "" && node.querySelector("img[alt]") === null).map((node) => node.outerHTML));
    assert.deepEqual(nameless, []);
  }));

test("what is new is read aloud, and what is told again is not", () =>
  onPage(async (page, standin) => {
    const list = page.locator("#talk-list");
    await page.locator('#talk-list[aria-live="polite"][role="log"]').waitFor();
    standin.tell({ type: "text", content: "old" });
    await entry(page, "text", "old").waitFor();
    assert.equal(await list.getAttribute("aria-live"), "polite");
    await page.addInitScript(() => {
      window.heard = [];
      document.addEventListener("DOMContentLoaded", () => {
        const entries = document.querySelector("#entries");
        new MutationObserver(() => window.heard.push(document.querySelector("#talk-list").getAttribute("aria-live"))).observe(entries, { childList: true });
      });
    });
    await page.reload();
    await entry(page, "text", "old").waitFor();
    assert.deepEqual(await page.evaluate(() => window.heard), ["off"]);
    await page.locator('#talk-list[aria-live="polite"]').waitFor();
  }));

test("a narrow window has one column and nothing sticks out", () =>
  onPage(async (page, standin) => {
    standin.tell({ type: "code", content: "x".repeat(300) }, { type: "text", content: "y".repeat(300) }, IMAGE, { type: "highlight_room", content: { rooms: ["Level1"] } }, progress("executing", { text: "z".repeat(300) }));
    await page.locator("#gallery img").waitFor();
    const boxes = await page.evaluate(() => Array.from(document.querySelectorAll(".pane"), (pane) => pane.getBoundingClientRect().toJSON()));
    for (const [place, box] of boxes.entries()) assert.ok(box.left >= 0 && box.right <= 360 && (place === 0 || box.top >= boxes[place - 1].bottom), JSON.stringify(boxes));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  }, { width: 360, height: 740 }));

test("a wide window shows four panes at once: map and images on the left, chat and frames on the right", () =>
  onPage(async (page) => {
    const [map, images, chat, debug] = await page.evaluate(() => Array.from(document.querySelectorAll(".pane"), (pane) => pane.getBoundingClientRect().toJSON()));
    assert.ok(map.bottom <= images.top && chat.bottom <= debug.top && map.right <= chat.left && images.right <= debug.left);
    assert.ok([images, debug].every(({ bottom }) => bottom <= 850));
    assert.equal(await page.evaluate(() => document.documentElement.scrollHeight), 850);
  }));
