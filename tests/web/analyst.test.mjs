// The data analyst in a browser against a gateway of its own, without a model: its rules answer.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { startGateway } from "./gateway.mjs";

/** The first analysis may have to make its Python ready. */
const PATIENCE_MS = Number(process.env.KAKEHASHI_ANALYST_PATIENCE_MS ?? 180_000);
const SALES = `date,region,amount
2026-01-03,East,120
2026-01-04,West,80
2026-01-05,East,200
2026-02-01,North,15
2026-02-02,West,95
2026-02-03,South,40
2026-02-04,East,110
`;
const 売上 = "日付,地域,売上\n2026-01-03,東,120\n2026-01-04,西,80\n2026-02-05,東,200\n";

let browser;
let gateway;

before(async () => {
  gateway = await startGateway('models = "scripted"\n');
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu"] });
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
});

async function onPage(language, body) {
  const locale = language === "ja" ? "ja-JP" : "en-US";
  const context = await browser.newContext({ viewport: { width: 1300, height: 850 }, locale });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  try {
    await page.goto(gateway.url);
    await page.locator("#session-id").waitFor({ state: "attached" });
    await page.goto(new URL(`/analyst?lang=${language}`, gateway.url).href);
    await page.locator("#choose").waitFor();
    await body(page);
    assert.deepEqual(complaints.filter((words) => !/Failed to load resource/.test(words)), []);
  } finally {
    await context.close();
  }
}

async function upload(page, name, text) {
  await page.setInputFiles("#file", { name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.locator("#datasets > li.chosen", { hasText: name }).waitFor();
}

async function ask(page, words) {
  await page.locator("#question").fill(words);
  await page.locator("#question").press("Enter");
  await page.locator(".asked", { hasText: words }).last().waitFor();
}

function ended(page, count) {
  return page.waitForFunction((wanted) => document.querySelectorAll('.turn[data-outcome="finished"]').length >= wanted, count);
}

test("a question about a file is answered with steps, a figure and a report", () =>
  onPage("en", async (page) => {
    await upload(page, "sales.csv", SALES);
    assert.equal(await page.locator(".shape").innerText(), "7 rows × 3 columns");
    await ask(page, "total amount by region as a bar chart");
    await page.locator(".step .code").first().waitFor();
    await ended(page, 1);
    await page.locator(".report .badge", { hasText: "Rule-based" }).waitFor();
    const drawn = await page.locator(".report figure img").first().evaluate(async (image) => {
      await image.decode();
      return image.naturalWidth;
    });
    assert.ok(drawn > 100, `${drawn} pixels wide`);
    assert.ok((await page.locator(".report .prose").first().innerText()).includes("East"), "the conclusion names East");
    await checkSorting(page);
    await checkDownload(page);
    await checkSuggestion(page);
    await checkReload(page);
  }));

async function checkSorting(page) {
  const table = page.locator(".report .sortable").first();
  const title = table.locator("th.number").first();
  const column = await title.evaluate((node) => node.cellIndex);
  const cells = () => table.locator(`tbody td:nth-child(${column + 1})`).allInnerTexts();
  await title.locator("button").click();
  assert.equal(await title.getAttribute("aria-sort"), "ascending");
  const values = (await cells()).map((cell) => Number(cell.replace(/[,%]/g, "")));
  assert.deepEqual(values, values.toSorted((a, b) => a - b));
  assert.ok(values.length > 1 && values[0] < values.at(-1), `${values}`);
}

async function checkDownload(page) {
  for (const [place, mark] of [[0, "# "], [1, "<html"], [2, ".png"]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".downloads a").nth(place).click()]);
    const text = readFileSync(await download.path(), "utf8");
    assert.ok(text.includes(mark) && text.includes("East"), text.slice(0, 200));
  }
}

async function checkSuggestion(page) {
  const suggestion = page.locator(".suggestion").first();
  const words = await suggestion.innerText();
  await suggestion.click();
  await page.locator(".asked", { hasText: words }).last().waitFor();
  await ended(page, 2);
}

async function checkReload(page) {
  const parts = ["#datasets > li", ".asked", ".report"];
  const counts = () => Promise.all(parts.map((part) => page.locator(part).count()));
  const before = await counts();
  await page.reload();
  await ended(page, 2);
  assert.deepEqual(await counts(), before);
}

test("a question in Japanese is answered in Japanese", () =>
  onPage("ja", async (page) => {
    await upload(page, "売上.csv", 売上);
    await ask(page, "地域ごとの売上の合計を棒グラフで");
    await ended(page, 1);
    await page.locator(".report .badge", { hasText: "ルールベース" }).waitFor();
    assert.match(await page.locator(".report h2").innerText(), /[ぁ-んァ-ヶ一-龠]/);
    assert.ok((await page.locator(".report").innerText()).includes("東"));
  }));

test("every example that the page offers is understood", () =>
  onPage("en", async (page) => {
    await upload(page, "sales.csv", SALES);
    const examples = await page.locator(".example").allInnerTexts();
    assert.ok(examples.length >= 4, `${examples}`);
    for (const [place, words] of examples.entries()) {
      await ask(page, words);
      await ended(page, place + 1);
      assert.equal(await page.locator(".report").count(), place + 1, `${words}: ${await page.locator(".turn").last().innerText()}`);
    }
  }));

test("what is not understood is asked, and a yes goes on", () =>
  onPage("en", async (page) => {
    await upload(page, "sales.csv", SALES);
    await ask(page, "show me the profit");
    await page.locator(".question").waitFor();
    await page.locator("#question:focus").waitFor();
    await page.locator(".yes").click();
    await page.locator(".asked", { hasText: "Yes" }).waitFor();
    await ended(page, 2);
    await page.locator(".report").waitFor();
  }));

test("a cancelled analysis says so, and the next question is answered", () =>
  onPage("en", async (page) => {
    await upload(page, "sales.csv", SALES);
    const endless = 'use python_interpreter {"code": "while True: pass"}';
    // Before the server has taken the question, and while its code runs.
    await ask(page, endless);
    await page.keyboard.press("Escape");
    await page.locator(".end.cancelled").waitFor();
    const blocks = page.locator(".code-block");
    const before = await blocks.count();
    await ask(page, endless);
    await blocks.nth(before).waitFor({ state: "attached" });
    await page.keyboard.press("Escape");
    await page.locator(".end.cancelled").nth(1).waitFor();
    await ask(page, "total amount by region as a bar chart");
    await page.locator(".report").waitFor();
  }));

test("what is no table is refused with advice", () =>
  onPage("en", async (page) => {
    await page.setInputFiles("#file", { name: "empty.csv", mimeType: "text/csv", buffer: Buffer.alloc(0) });
    await page.locator(".upload.failed", { hasText: "CSV UTF-8" }).waitFor();
    assert.equal(await page.locator("#datasets > li").count(), 0);
  }));
