// The analyst's page against a stand-in that decides what is said, and when: uploads, steps, reports, and lost lines.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { SALES, openAnalyst } from "./analyststandin.mjs";
import { PATIENCE_MS } from "./browser.mjs";

const FILE = { name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from("date,region,amount\n2026-01-03,East,120\n") };
const REASON = { type: "reason", loop: 1, next_action: "act", instruction: "Add up by region", question: null, assumption: "amount is in yen", rationale: "one step is enough" };
const CODE = { type: "code", loop: 1, language: "python", code: "print(df.shape) # shape" };
const EXEC = { type: "exec", loop: 1, success: true, stdout: "East 520", error: null, outputs: [], elapsed_ms: 800 };
const FIGURE = { type: "artifact", kind: "figure", file_name: "a.png", url: "/files/a.png", description: "Totals", media_type: "image/png", size: 1 };
const DONE = { type: "done", loops: 1, outcome: "finished", elapsed_ms: 1500 };
const ROWS = [["East", 100], ["West", 20], ["South", 3]].map(([region, total]) => ({ region, total }));
const REPORT = {
  type: "report",
  title: "East leads",
  sections: [
    { section_type: "text", content: "## Conclusion\n**East** <img src=x onerror=alert(1)> [bad](javascript:alert(1))", description: null },
    { section_type: "image", content: "a.png", description: "Totals by region" },
    { section_type: "table", content: JSON.stringify(ROWS), description: "Totals" },
  ],
  suggestions: ["Totals by month"],
  assumptions: ["amount is in yen"],
  intermediate: true,
  rule_based: true,
  url: "/files/report.md",
  html_url: "/files/report.html",
};

let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu"] });
});

after(() => browser?.close());

/** `body(page, standin)` fails on anything that the page complains about, besides answers that refuse. */
async function onPage(body, options = {}) {
  const standin = await openAnalyst({ files: { "t.csv": "region,total\nEast,100\n", "report.md": "# East leads" }, ...options });
  const context = await browser.newContext({ viewport: { width: 1300, height: 850 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  try {
    await page.goto(standin.url);
    await body(page, standin);
    assert.deepEqual(complaints.filter((words) => !/Failed to load resource|WebSocket/.test(words)), []);
  } finally {
    await context.close();
    await standin.close();
  }
}

async function withData(page, standin) {
  await page.setInputFiles("#file", FILE);
  await page.locator("#datasets > li").first().waitFor();
  await standin.connected(1);
}

async function ask(page, standin, words) {
  const count = standin.sent("ask").length;
  await page.locator("#question").fill(words);
  await page.locator("#question").press("Enter");
  await standin.next("ask", count);
  standin.tell({ type: "user", text: words });
}

test("a file is shown with its columns, types, rows and what was repaired", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    assert.equal(await page.locator(".shape").innerText(), "7 rows × 3 columns");
    assert.deepEqual(await page.locator(".dataset th").allInnerTexts(), ["date\nstr", "region\nstr", "amount\nint64"]);
    assert.equal(await page.locator(".dataset tbody tr").count(), 3);
    await page.locator(".warnings li", { hasText: "line 4" }).waitFor();
    assert.match(page.url(), /session=ws-standin/);
    await page.setInputFiles("#file", { ...FILE, name: "costs.csv" });
    await page.locator("#datasets > li.chosen", { hasText: "costs.csv" }).waitFor();
    await page.locator("#datasets > li", { hasText: 'dfs["sales"]' }).waitFor();
    assert.equal((await standin.next("upload", 1)).session, "ws-standin");
  }));

test("files can be dropped anywhere, and several become one analysis", () =>
  onPage(async (page, standin) => {
    const dropped = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      for (const name of ["a.csv", "b.csv"]) data.items.add(new File(["x\n1\n"], name));
      return data;
    });
    await page.dispatchEvent("body", "dragenter", { dataTransfer: dropped });
    await page.locator("#overlay.shown").waitFor();
    await page.dispatchEvent("body", "drop", { dataTransfer: dropped });
    await page.locator("#overlay.shown").waitFor({ state: "detached" });
    await page.locator("#datasets > li.chosen", { hasText: "b.csv" }).waitFor();
    assert.deepEqual(standin.sent("upload").map(({ name, session }) => [name, session]), [["a.csv", null], ["b.csv", "ws-standin"]]);
  }));

test("a refused upload says why and what to do; only what may succeed can be tried again", () =>
  onPage(async (page, standin) => {
    for (const [status, advice, retries] of [[413, "Keep only the columns", 0], [422, "CSV UTF-8", 0], [503, "Try again when", 1]]) {
      standin.upload = () => ({ status, body: { type: "error", code: "x", message: `refused with ${status}` } });
      await page.setInputFiles("#file", FILE);
      const row = page.locator(".upload.failed", { hasText: `refused with ${status}` });
      await row.getByText(advice).waitFor();
      assert.equal(await row.locator(".again").count(), retries, String(status));
    }
    standin.upload = () => ({ status: 201, frame: SALES });
    await page.locator(".upload .again").click();
    await page.locator("#datasets > li", { hasText: "sales.csv" }).waitFor();
    assert.equal(await page.locator(".upload.failed").count(), 2);
  }));

test("an upload is cancelled by its button, and the next one goes on", () =>
  onPage(async (page, standin) => {
    standin.upload = (name) => (name === "slow.csv" ? new Promise(() => {}) : { status: 201, frame: SALES });
    await page.setInputFiles("#file", [{ ...FILE, name: "slow.csv" }, FILE]);
    await standin.next("upload");
    await page.locator(".upload", { hasText: "slow.csv" }).locator(".dismiss").click();
    await page.locator("#datasets > li", { hasText: "sales.csv" }).waitFor();
    assert.equal(await page.locator(".upload").count(), 0);
  }));

test("steps, code, errors, figures and the report come as they happen", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total by region");
    standin.play(1, { type: "progress", node: "code_exec", loop: 2, loops: 5, elapsed_ms: 3000, text: null }, REASON, CODE);
    await page.locator("#progress", { hasText: "Step 2 of 5" }).waitFor();
    await page.waitForFunction(() => Number.parseInt(document.querySelector("#progress .clock").textContent, 10) >= 3);
    await page.locator(".assumption", { hasText: "yen" }).waitFor();
    standin.play(1, { ...EXEC, success: false, error: "KeyError: 'x'" });
    await page.locator('.step[data-state="bad"] .stderr', { hasText: "KeyError" }).waitFor();
    standin.play(1, { ...REASON, loop: 2 }, { ...CODE, loop: 2 }, { ...EXEC, loop: 2 }, FIGURE);
    await page.locator(".made img").waitFor();
    await page.locator(".code summary").first().click();
    assert.equal(await page.locator(".code-block pre").first().innerText(), CODE.code);
    standin.play(1, REPORT, DONE);
    await page.locator(".report h2", { hasText: "East leads" }).waitFor();
    for (const words of ["Interim result", "Rule-based"]) await page.locator(".report .badge", { hasText: words }).waitFor();
    await page.locator(".report .assumptions", { hasText: "yen" }).waitFor();
    await page.locator(".end", { hasText: "Finished in 1.5 s" }).waitFor();
    assert.equal(await page.locator("#progress").isVisible(), false);
  }));

test("a report holds no markup but its own", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, REASON, CODE, EXEC, FIGURE, REPORT, DONE);
    await page.locator(".prose", { hasText: "<img src=x" }).waitFor();
    assert.equal(await page.locator(".prose img, .prose a").count(), 0);
    assert.equal(await page.locator(".report .downloads a").first().getAttribute("href"), "/files/report.md");
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".downloads a").first().click()]);
    assert.equal(download.suggestedFilename(), "report.md");
  }));

test("a table is sorted by its numbers, with the mouse and the keyboard", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, REASON, CODE, EXEC, FIGURE, REPORT, DONE);
    const title = page.locator(".sortable th", { hasText: "total" });
    const first = () => page.locator(".sortable tbody td:first-child").allInnerTexts();
    await title.locator("button").click();
    assert.deepEqual([await first(), await title.getAttribute("aria-sort")], [["South", "West", "East"], "ascending"]);
    await title.locator("button").press("Enter");
    assert.deepEqual([await first(), await title.getAttribute("aria-sort")], [["East", "West", "South"], "descending"]);
  }));

test("a table file is loaded when somebody looks", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, REASON, CODE, EXEC, { ...FIGURE, kind: "table", file_name: "t.csv", url: "/files/t.csv", media_type: "text/csv" });
    await page.locator(".table-file summary").click();
    await page.locator(".table-file td", { hasText: "East" }).waitFor();
  }));

test("a figure fills the window, Escape closes only it, and the focus goes back", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, REASON, CODE, EXEC, FIGURE);
    await page.locator(".made .enlarge").focus();
    await page.keyboard.press("Enter");
    await page.locator("#lightbox[open] img").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#lightbox[open]").waitFor({ state: "detached" });
    await page.locator(".made .enlarge:focus").waitFor();
    assert.equal(standin.sent("cancel").length, 0, "closing a figure stops nothing");
  }));

test("Escape cancels, and so does the button; a lost line does not lose the wish", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, REASON);
    await page.locator(".step").waitFor();
    await page.keyboard.press("Escape");
    await standin.next("cancel");
    standin.cut();
    await standin.next("cancel", 1);
    standin.play(1, { ...DONE, outcome: "cancelled" });
    await page.locator(".end.cancelled").waitFor();
    await ask(page, standin, "again");
    standin.play(2, REASON);
    await page.locator("#cancel:enabled").click();
    await standin.next("cancel", 2);
  }));

test("a suggestion and an example ask; Shift+Enter and an input method do not", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await page.locator(".example", { hasText: "Total amount by region" }).click();
    assert.equal((await standin.next("ask")).text, "Total amount by region as a bar chart");
    standin.tell({ type: "user", text: "Total amount by region as a bar chart" });
    standin.play(1, REASON, CODE, EXEC, FIGURE, REPORT, DONE);
    await page.locator(".suggestion").click();
    assert.equal((await standin.next("ask", 1)).text, "Totals by month");
    standin.tell({ type: "user", text: "Totals by month" });
    standin.play(2, DONE);
    await page.locator("#askbox .send").waitFor();
    const box = page.locator("#question");
    await box.fill("a");
    await box.press("Shift+Enter");
    await box.evaluate((node) => node.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })));
    await box.press("b");
    await box.press("Enter");
    assert.equal((await standin.next("ask", 2)).text, "a\nb");
  }));

test("a question back is answered with one click", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "profit");
    await page.locator("#choose").focus();
    standin.play(1, { ...REASON, next_action: "ask", question: "Do you mean amount?" }, { type: "question", text: "Do you mean amount?" }, { ...DONE, loops: 0 });
    await page.locator(".question", { hasText: "Do you mean amount?" }).waitFor();
    await page.locator("#question:focus").waitFor();
    await page.locator(".yes").click();
    assert.equal((await standin.next("ask", 1)).text, "Yes");
  }));

test("a lost line comes back where it was, and nothing is shown twice", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, REASON, CODE);
    await page.locator(".code").waitFor();
    standin.cut();
    await page.locator("#offline").waitFor();
    standin.play(1, EXEC, FIGURE, REPORT, DONE);
    await page.locator(".report").waitFor();
    assert.deepEqual(await Promise.all([".asked", ".step", ".made figure", ".report"].map((part) => page.locator(part).count())), [1, 1, 1, 1]);
    assert.equal(standin.dialled.at(-1).after, "4");
    await page.locator("#offline").waitFor({ state: "hidden" });
    await page.reload();
    await page.locator(".report").waitFor();
    assert.equal(standin.dialled.at(-1).after, "0");
    assert.deepEqual(await Promise.all(["#datasets > li", ".asked", ".report"].map((part) => page.locator(part).count())), [1, 1, 1]);
  }));

test("a question that was not acknowledged is sent again with the same id", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    standin.keepsQuiet = true;
    await page.locator("#question").fill("total");
    await page.locator("#question").press("Enter");
    const first = await standin.next("ask");
    standin.cut();
    assert.deepEqual(await standin.next("ask", 1), first);
    standin.tell({ type: "user", text: "total" });
    standin.play(1, DONE);
    await page.locator(".end.finished").waitFor();
    assert.equal(await page.locator(".asked").count(), 1);
  }));

test("a refused question goes back into the box", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    standin.keepsQuiet = true;
    await page.locator("#question").fill("total");
    await page.locator("#question").press("Enter");
    const { id } = await standin.next("ask");
    standin.tell({ type: "error", id, code: "queue_full", message: "too much at once" });
    await page.locator("#trouble", { hasText: "too much at once" }).waitFor();
    assert.equal(await page.locator("#question").inputValue(), "total");
  }));

test("a session that is gone leaves an empty page that says so", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, DONE);
    await page.locator(".end.finished").waitFor();
    standin.refuse = 3505;
    standin.end(3505);
    await page.locator("#trouble", { hasText: "no longer exists" }).waitFor();
    assert.deepEqual([await page.locator("#datasets > li").count(), new URL(page.url()).searchParams.get("session")], [0, null]);
    standin.refuse = null;
    await page.setInputFiles("#file", FILE);
    await standin.next("upload", 1);
    assert.equal(standin.sent("upload")[1].session, null);
  }));

test("a permission is given with a button", () =>
  onPage(async (page, standin) => {
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.tell({ type: "confirm", id: "c1", tool: "shell", message: "Run ls?" });
    await page.locator(".confirm .send").click();
    assert.deepEqual(await standin.next("answer"), { type: "answer", id: "c1", approved: true });
    standin.tell({ type: "confirmed", id: "c1" });
    await page.locator(".confirm").waitFor({ state: "detached" });
  }));

test("the page fits a phone and speaks Japanese", () =>
  onPage(async (page, standin) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await withData(page, standin);
    await ask(page, standin, "total");
    standin.play(1, REASON, { ...CODE, code: "x".repeat(400) }, { ...EXEC, stdout: "y".repeat(400) }, FIGURE, { ...REPORT, title: "z".repeat(200) }, DONE);
    await page.locator(".report").waitFor();
    assert.equal(await page.evaluate(() => Math.max(...[...document.querySelectorAll("html, main, #conversation")].map((node) => node.scrollWidth - node.clientWidth))), 0);
    await page.locator("#language").click();
    await page.locator(".suggestions h3", { hasText: "追加の分析案" }).waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "ja");
    assert.match(page.url(), /lang=ja/);
  }));
