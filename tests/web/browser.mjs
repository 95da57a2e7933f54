// The page in a real browser, against a running gateway with scripted models.
// KAKEHASHI_URL names the gateway with its token, as it prints it; CHROMIUM the browser (default /usr/bin/chromium).

import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { SESSION_PARAMETER } from "../../web/protocol/aicore.js";

export const GATEWAY = process.env.KAKEHASHI_URL;
/** A busy machine may need more. */
export const PATIENCE_MS = Number(process.env.KAKEHASHI_PATIENCE_MS ?? 15_000);
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-fake-ui-for-media-stream",
  "--use-fake-device-for-media-stream",
  "--autoplay-policy=no-user-gesture-required",
];

export function launch(more = []) {
  assert.ok(GATEWAY, "KAKEHASHI_URL must name a running gateway");
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [...ARGUMENTS, ...more],
  });
}

/** Runs `body` with a fresh page, made ready by `prepare`, and fails on anything the page complains about. */
export async function onPage(browser, body, { complaintsExpected = [], prepare = async () => {} } = {}) {
  const context = await browser.newContext({ viewport: { width: 1500, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  try {
    await prepare(page);
    await page.goto(withToken("/?lang=en"));
    await connected(page);
    await body(page);
    assert.deepEqual(complaints.filter((words) => !complaintsExpected.some((part) => words.includes(part))), []);
  } finally {
    await context.close();
  }
}

/** The address as the gateway prints it: whoever opens it is logged in. */
export function withToken(path) {
  const url = new URL(path, GATEWAY);
  url.searchParams.set("token", token());
  return url.href;
}

export function token() {
  return new URL(GATEWAY).searchParams.get("token");
}

export function connected(page) {
  return page.waitForFunction(() => document.querySelectorAll('.dot[data-state="ready"]').length === 8);
}

export function settled(page) {
  return page.waitForFunction(() => document.querySelector("#unsent").hidden);
}

export async function type(page, pane, words) {
  const box = page.locator(`#${pane} .composer textarea`);
  await box.fill(words);
  await box.press("Enter");
}

export function entry(page, pane, kind, words) {
  return page.locator(`#${pane} [data-kind="${kind}"]`, { hasText: words }).first();
}

export function counter(page, name) {
  return page.evaluate((key) => window.kakehashi[key], name);
}

export function counted(page, name, least) {
  return page.waitForFunction(([key, value]) => window.kakehashi[key] >= value, [name, least]);
}

export function sessionOf(page) {
  return new URL(page.url()).searchParams.get(SESSION_PARAMETER);
}
