// Tools of the chat on the page: its questions, its calls and what came of them, against a gateway of its own.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PATIENCE_MS, connected, entry, launch, sessionOf, type } from "./browser.mjs";
import { startGateway } from "./gateway.mjs";

const WRITE = 'use file:write {"path":"hello.txt","content":"hi"}';

let browser;
let gateway;

before(async () => {
  browser = await launch();
  gateway = await startGateway('language = "en"\nmodels = "scripted"\n');
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
});

async function withPage(language, body) {
  const context = await browser.newContext({ viewport: { width: 1500, height: 900 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    const url = new URL(gateway.url);
    url.searchParams.set("lang", language);
    await page.goto(url.href);
    await connected(page);
    await body(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

function question(page) {
  return page.locator("#questions .question:not([data-settled])");
}

function tool(page, state, words) {
  return page.locator(`#chat .tool[data-state="${state}"]`, { hasText: words });
}

/** By a click, as somebody who wants to know more. */
async function inside(row) {
  await row.locator("summary").click();
  return row.locator(".tool-inside").textContent();
}

test("the chat asks in its own name, and an allowed call is shown with its result", () =>
  withPage("en", async (page) => {
    await type(page, "chat", WRITE);
    await question(page).waitFor();
    assert.equal(await question(page).locator(".whose").textContent(), "Chat");
    assert.equal(await question(page).getAttribute("aria-label"), "The chat asks: Write hello.txt");
    assert.match(await question(page).locator(".diff-added").textContent(), /\+hi/);
    assert.equal(await page.locator("#chat .run-state").textContent(), "waits for you");
    await question(page).locator(".allow").click();
    await entry(page, "chat", "output_text", "hello.txt is written").waitFor();
    await page.locator("#chat .stop:disabled").waitFor();
    assert.equal(await page.locator("#chat .run-state").textContent(), "idle");
    assert.equal(readFileSync(join(gateway.project, "hello.txt"), "utf8"), "hi");
    const told = await inside(tool(page, "completed", "Write hello.txt"));
    assert.match(told, /"content": "hi"[\s\S]*hello\.txt is written: 2 bytes/);
    await type(page, "chat", 'use file:read {"path":"hello.txt"}');
    await entry(page, "chat", "output_text", "1  hi").waitFor();
    assert.match(await inside(tool(page, "completed", "Read hello.txt")), /1 {2}hi/);
    assert.equal(await question(page).count(), 0, "reading is not asked about");
  }));

test("a refused call is shown as one that failed, and nothing was done", () =>
  withPage("en", async (page) => {
    await type(page, "chat", 'use file:write {"path":"no.txt","content":"no"}');
    await question(page).locator(".refuse").click();
    await entry(page, "chat", "output_text", "not allowed").waitFor();
    assert.match(await inside(tool(page, "failed", "Write no.txt")), /not allowed/);
    assert.equal(existsSync(join(gateway.project, "no.txt")), false);
  }));

test("the question leads to the chat, also where that is hidden", () =>
  withPage("en", async (page) => {
    await type(page, "chat", WRITE);
    await question(page).waitFor();
    await page.locator("[data-switch=chat]").click();
    await page.locator("#chat").waitFor({ state: "hidden" });
    await question(page).locator(".whose").click();
    await page.locator("#chat-text:focus").waitFor();
    await page.keyboard.press("Alt+q");
    await page.keyboard.press("n");
    await tool(page, "failed", "Write hello.txt").waitFor();
    await page.locator("[data-switch=log]").click();
    for (const words of ["The chat asks for permission: Write hello.txt", "Chat: Refused by you."]) {
      await page.locator("#log .entry", { hasText: words }).waitFor();
    }
  }));

test("a stop takes the question back", () =>
  withPage("en", async (page) => {
    await type(page, "chat", WRITE);
    await question(page).waitFor();
    await page.locator("#chat .stop").click();
    await page.locator("#chat .stop:disabled").waitFor();
    await page.locator("#inbox").waitFor({ state: "hidden" });
    assert.equal(await page.locator("#chat .run-state").textContent(), "idle");
  }));

test("a page that is opened again shows the calls once, and a question that is still open", () =>
  withPage("en", async (page) => {
    await type(page, "chat", 'use file:list {}');
    await tool(page, "completed", "List").waitFor();
    await type(page, "chat", WRITE);
    await question(page).waitFor();
    const session = sessionOf(page);
    await page.reload();
    await connected(page);
    assert.equal(sessionOf(page), session);
    await question(page).waitFor();
    await tool(page, "completed", "List").waitFor();
    assert.equal(await page.locator("#chat .tool").count(), 1);
    assert.equal(await page.locator("#chat .run-state").textContent(), "waits for you");
    await question(page).locator(".allow").click();
    await tool(page, "completed", "Write hello.txt").waitFor();
  }));

test("the same in Japanese, with a language that changes while the question is open", () =>
  withPage("ja", async (page) => {
    await type(page, "chat", WRITE);
    await question(page).waitFor();
    assert.equal(await question(page).locator(".whose").textContent(), "チャット");
    assert.equal(await page.locator("#chat .run-state").textContent(), "回答待ち");
    await page.locator("#language").click();
    assert.equal(await question(page).locator(".whose").textContent(), "Chat");
    assert.match(await question(page).getAttribute("aria-label"), /^The chat asks: /);
    await question(page).locator(".refuse").click();
    await page.locator("#chat .tool[data-state=failed]").waitFor();
  }));
