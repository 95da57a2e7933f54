// Choosing models and agents on the page, against a gateway of its own that has more than one of each.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PATIENCE_MS, connected, entry, launch, type } from "./browser.mjs";
import { startGateway } from "./gateway.mjs";
import { openOllama } from "./ollama.mjs";

let browser;
let ollama;
let gateway;

before(async () => {
  browser = await launch();
  ollama = await openOllama("here I am");
  gateway = await startGateway('language = "en"\n', { OLLAMA_HOST: ollama.host });
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
  await ollama?.close();
});

async function withPage(language, body) {
  const context = await browser.newContext({ viewport: { width: 1366, height: 900 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(error.message));
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

function field(page, id) {
  return page.locator(`#settings [data-setting="${id}"]`);
}

function focused(page) {
  return page.evaluate(() => document.activeElement.closest("[data-setting]")?.dataset.setting ?? document.activeElement.id);
}

/** By the keyboard, and not before the gateway has said what there is. */
async function openSheet(page) {
  await page.locator("#settings-open").focus();
  await page.keyboard.press("Enter");
  await page.locator('#settings[open][aria-busy="false"]').waitFor();
}

async function closeSheet(page) {
  await page.keyboard.press("Escape");
  await page.locator("#settings").waitFor({ state: "hidden" });
  assert.equal(await focused(page), "settings-open", "the focus does not come back");
}

function offered(page, id) {
  return field(page, id).locator("option").evaluateAll((options) => options.map((option) => option.value));
}

/** The gateway looks for new models only so often. */
async function openUntilOffered(page, id, value) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    await openSheet(page);
    if ((await offered(page, id)).includes(value)) return;
    assert.ok(Date.now() < end, `${value} is not offered`);
    await closeSheet(page);
  }
}

test("a model that came later and another agent are chosen by the keyboard, and hold after a reload", () =>
  withPage("en", async (page) => {
    await openSheet(page);
    assert.equal(await focused(page), "CHAT_AI_NAME");
    assert.deepEqual(await offered(page, "CHAT_AI_NAME"), ["scripted"]);
    assert.equal(await page.getByRole("combobox", { name: "Agent 1", exact: true }).inputValue(), "builtin");
    assert.equal(await page.getByRole("combobox", { name: "Agent 1 works in" }).inputValue(), "auto");
    await closeSheet(page);

    ollama.start();
    await openUntilOffered(page, "CHAT_AI_NAME", ollama.model);
    await page.keyboard.type("tiny");
    await field(page, "CHAT_AI_NAME").locator(".outcome", { hasText: "Changed" }).waitFor();
    for (const next of ["LIVE_AI_NAME", "CODE_AI1_NAME"]) {
      await page.keyboard.press("Tab");
      assert.equal(await focused(page), next);
    }
    await page.keyboard.type("scr");
    await field(page, "CODE_AI1_NAME").locator(".outcome", { hasText: "Changed" }).waitFor();
    await closeSheet(page);

    await page.reload();
    await connected(page);
    await type(page, "chat", "who is there?");
    await entry(page, "chat", "output_text", "here I am").waitFor();
    await type(page, "agent1", "say switched");
    await entry(page, "agent1", "output_text", /switched$/).waitFor();
    await openSheet(page);
    assert.equal(await field(page, "CHAT_AI_NAME").locator("select").inputValue(), ollama.model);
    assert.equal(await field(page, "CODE_AI1_NAME").locator("select").inputValue(), "scripted");
    assert.equal(await field(page, "CODE_AI2_NAME").locator("select").inputValue(), "builtin");
  }));

test("what the gateway refuses is told in its words, and what holds is shown again", () =>
  withPage("en", async (page) => {
    await openSheet(page);
    const agent = field(page, "CODE_AI2_NAME");
    // As if the configuration were another one by now.
    await agent.locator('option[value="scripted"]').evaluate((option) => option.setAttribute("value", "nobody"));
    await agent.locator("select").selectOption("nobody");
    await agent.locator(".outcome", { hasText: "there is no `nobody`" }).waitFor();
    await page.waitForFunction(() => document.querySelector('[data-setting="CODE_AI2_NAME"] select').value === "builtin");
    await field(page, "CODE_AI2_PLACE").locator("select").selectOption("shared");
    await field(page, "CODE_AI2_PLACE").locator(".outcome", { hasText: "Changed" }).waitFor();
  }));

test("the sheet fits every width, and the bar keeps its one line, in both languages", async () => {
  for (const [language, narrowest] of [["en", 1366], ["ja", 1440]]) {
    await withPage(language, async (page) => {
      for (const width of [narrowest, 1600, 1920]) {
        await page.setViewportSize({ width, height: 900 });
        const tops = await page.locator(".bar > *").evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().top));
        assert.ok(Math.max(...tops) < 40, `${language} at ${width} pixels: ${tops}`);
      }
      await openSheet(page);
      for (const width of [320, 390, 768, 1366]) {
        await page.setViewportSize({ width, height: 800 });
        const wide = await page
          .locator("html, #settings, #settings .sheet-body, .setting")
          .evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.id || e.className));
        assert.deepEqual(wide, [], `${language} at ${width} pixels`);
      }
    });
  }
});
