// The agent's page on a gateway of its own: what is computed and drawn there is seen in the four panes, also after a reload.
// SHOTS names a directory for screenshots.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { PATIENCE_MS } from "./browser.mjs";
import { startGateway } from "./gateway.mjs";

const SETTINGS = 'models = "scripted"\nlanguage = "en"\n';
const CODE = { code: "x = [n / 10 for n in range(60)]\nplt.plot(x, np.sin(x))\nprint('drawn near the Kitchen')" };
const ASKED = [
  `use python_interpreter ${JSON.stringify(CODE)}`,
  'use show_map {"highlight_rooms": "Toilet", "room_colors": "#00AA00", "text_overlays": "21 C:Room1"}',
  'use draw_arrow {"room_name": "Bathroom", "direction": "left"}',
].join("\n");

let browser;
let gateway;

before(async () => {
  gateway = await startGateway(SETTINGS);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu"] });
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
});

test("what the agent computes and draws is seen, and is still there after a reload", async () => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(gateway.url);
  await page.waitForURL((url) => url.search === "");
  await page.goto(new URL("/smol/?lang=en", gateway.url).href);
  await page.locator('#line[data-state="ready"]').waitFor();
  await say(page, ASKED);
  await seen(page);
  await shoot(page, "smol-turn");
  await page.reload();
  await page.locator('#line[data-state="ready"]').waitFor();
  await seen(page);
  await shoot(page, "smol-reloaded");
  await say(page, "fail for a test");
  await page.locator('#entries [data-kind="error"]', { hasText: "Error running agent: for a test" }).waitFor();
  await say(page, "hello");
  await page.locator('#entries [data-kind="text"]', { hasText: "Echo (mock mode): hello" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

async function seen(page) {
  await page.locator('#entries [data-kind="code"]', { hasText: "np.sin" }).waitFor();
  await page.locator('#entries [data-kind="text"]', { hasText: "drawn near the Kitchen" }).waitFor();
  const picture = page.locator("#gallery img").first();
  await picture.waitFor();
  await page.waitForFunction(() => document.querySelector("#gallery img")?.naturalWidth > 100);
  await page.locator("#drawing svg").waitFor();
  await page.waitForFunction(() => document.querySelector("#drawing").textContent.includes("Toilet"));
}

async function say(page, words) {
  await page.locator("#message").fill(words);
  await page.locator("#message").press("Enter");
}

async function shoot(page, name) {
  if (process.env.SHOTS !== undefined) await page.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
}
