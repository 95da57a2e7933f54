// Agents on the page: their questions, their steps, their results, and the choice among them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { KEYS } from "../../web/protocol/aicore.js";
import { PATIENCE_MS, connected, entry, launch, onPage, type } from "./browser.mjs";
import { openTap } from "./tap.mjs";

let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

function withPage(body) {
  return onPage(browser, body);
}

/** `body(page, tap)`: the tap plays what the scripted agent cannot. */
async function withTap(body) {
  let tap;
  await onPage(browser, (page) => body(page, tap), { prepare: async (page) => (tap = await openTap(page)) });
}

/** The content of a golden frame, with some of it changed. */
function golden(name, changes = {}) {
  const frame = JSON.parse(readFileSync(new URL(`../fixtures/aicore/server_${name}.json`, import.meta.url), "utf8"));
  return { ...frame[KEYS.body], ...changes };
}

function question(page, tool) {
  return page.locator("#questions .question", { hasText: tool });
}

function titled(page, title) {
  return page.waitForFunction((wanted) => document.title === wanted, title);
}

test("a question is counted in the title, answered by its button, and leaves a line", () =>
  withPage(async (page) => {
    await type(page, "agent1", "ask write the file\nsay it went on");
    await question(page, "write the file").waitFor();
    await titled(page, "(1) Kakehashi");
    await page.locator("#agent1 .run-state", { hasText: "waits for you" }).waitFor();
    await question(page, "write the file").locator(".allow").click();
    await entry(page, "agent1", "confirm_request", "Allowed by you").waitFor();
    await entry(page, "agent1", "output_text", "it went on").waitFor();
    await titled(page, "Kakehashi");
    await page.locator("#inbox").waitFor({ state: "hidden" });
  }));

test("a question is found, left and refused by the keyboard, and the focus goes back", () =>
  withPage(async (page) => {
    await type(page, "agent2", "ask write another file\nsay it went on");
    await question(page, "write another file").waitFor();
    await page.locator("#chat-text").focus();
    await page.keyboard.press("Alt+KeyQ");
    await page.locator("#questions .allow:focus").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#chat-text:focus").waitFor();
    assert.equal(await page.locator("#agent2 .stop").isEnabled(), true, "leaving a question stops nothing");
    await page.keyboard.press("Alt+KeyQ");
    await page.keyboard.press("n");
    await entry(page, "agent2", "confirm_request", "Refused by you").waitFor();
    await entry(page, "agent2", "output_stream", "denied").waitFor();
    await page.locator("#chat-text:focus").waitFor();
  }));

test("the same keys answer one question after the other", () =>
  withPage(async (page) => {
    await type(page, "agent1", "ask first thing\nsay one went on");
    await question(page, "first thing").waitFor();
    await type(page, "agent2", "ask second thing\nsay two went on");
    await question(page, "second thing").waitFor();
    await page.locator("#chat-text").focus();
    for (const [pane, words] of [["agent1", "one went on"], ["agent2", "two went on"]]) {
      await page.keyboard.press("Alt+KeyQ");
      await page.locator("#questions .allow:focus").waitFor();
      await page.keyboard.press("y");
      await entry(page, pane, "output_text", words).waitFor();
    }
    await page.locator("#chat-text:focus").waitFor();
    assert.equal(await page.locator("#chat-text").inputValue(), "");
  }));

test("what is always allowed is not asked again", () =>
  withPage(async (page) => {
    await type(page, "agent1", "ask deploy\nask deploy\nsay deployed");
    await question(page, "deploy").locator(".always").click();
    await entry(page, "agent1", "output_text", "deployed").waitFor();
    assert.equal(await page.locator('#agent1 [data-kind="confirm_request"]').count(), 1);
  }));

test("questions of several agents wait together and survive a reload", () =>
  withPage(async (page) => {
    await type(page, "agent1", "ask first thing\nsay one went on");
    await question(page, "first thing").waitFor();
    await type(page, "agent3", "ask third thing\nsay three went on");
    await titled(page, "(2) Kakehashi");
    await page.reload();
    await connected(page);
    await titled(page, "(2) Kakehashi");
    await question(page, "third thing").locator(".allow").click();
    await entry(page, "agent3", "output_text", "three went on").waitFor();
    await page.locator("#agent1 .stop:enabled").click();
    await entry(page, "agent1", "confirm_request", "the run has ended").waitFor();
    await titled(page, "Kakehashi");
    await page.reload();
    await connected(page);
    await entry(page, "agent3", "output_text", "three went on").waitFor();
    assert.equal(await page.title(), "Kakehashi", "an answered question comes back");
  }));

test("an answer in another tab settles the question here", () =>
  withPage(async (page) => {
    const other = await page.context().newPage();
    other.setDefaultTimeout(PATIENCE_MS);
    await other.goto(page.url());
    await connected(other);
    await type(page, "agent1", "ask either of you\nsay settled");
    await question(other, "either of you").locator(".refuse").click();
    await entry(page, "agent1", "output_text", "settled").waitFor();
    await titled(page, "Kakehashi");
  }));

test("what is dangerous is allowed only by a second press", () =>
  withTap(async (page, tap) => {
    tap.answerTo("confirm_answer", () => {});
    const warning = { level: "CRITICAL", message: "it removes everything" };
    tap.tell("input", "confirm_request", golden("confirm_request", { id: "q", [KEYS.warning]: warning }));
    const card = page.locator("[data-question=q]");
    await card.locator(".level", { hasText: "Dangerous" }).waitFor();
    await page.keyboard.press("Alt+KeyQ");
    await card.locator(".refuse:focus").waitFor();
    await card.locator(".allow").dblclick();
    await card.locator(".allow", { hasText: "Really" }).waitFor();
    assert.equal(tap.sent("confirm_answer").length, 0, "a double click is one press");
    await page.waitForTimeout(450);
    await card.locator(".allow").click();
    assert.deepEqual(tap.sent("confirm_answer")[0][KEYS.body], { id: "q", [KEYS.approved]: true, [KEYS.always]: false, [KEYS.twice]: true });
    tap.tell("input", "confirm_result", golden("confirm_result", { id: "q", [KEYS.approved]: false, [KEYS.decider]: "time" }));
    await card.locator(".verdict", { hasText: "nobody answered" }).waitFor();
    await card.waitFor({ state: "detached" });
  }));

test("a change is shown in colours, and foreign words never become markup", () =>
  withTap(async (page, tap) => {
    const nasty = "<img src=x><b>bold</b>";
    tap.tell("input", "confirm_request", golden("confirm_request", { id: "q", [KEYS.tool]: nasty, [KEYS.diff]: `@@ -1 +1 @@\n-old\n+${nasty}\n` }));
    const card = page.locator("[data-question=q]");
    await card.locator(".wanted", { hasText: nasty }).waitFor();
    assert.equal(await card.locator(".diff-added").textContent(), `+${nasty}\n`);
    assert.equal(await card.locator(".diff-removed").textContent(), "-old\n");
    assert.equal(await card.locator("img, b").count(), 0);
  }));

test("a tool is one row that changes, and tells more on a click", () =>
  withTap(async (page, tap) => {
    await type(page, "agent1", "ask use the tool\nsay used");
    await page.locator('#agent1 .tool[data-state="started"]').waitFor();
    await question(page, "use the tool").locator(".allow").click();
    await page.locator('#agent1 .tool[data-state="completed"]').waitFor();
    assert.equal(await page.locator("#agent1 .tool").count(), 1);

    const failed = { id: "x", [KEYS.state]: "failed", [KEYS.error]: "no such file", [KEYS.ungated]: true };
    tap.tell("1", "tool", golden("tool", failed));
    const row = page.locator("#agent1 .tool[data-tool=x]");
    await row.locator(".badge", { hasText: "not asked" }).waitFor();
    await row.locator("summary").click();
    await row.locator("pre", { hasText: "no such file" }).waitFor();
  }));

test("a plan is ticked off in place, and the state says what goes on", () =>
  withTap(async (page, tap) => {
    tap.tell("2", "plan", golden("plan"));
    await page.locator("#agent2 .plan .heading", { hasText: "1/3" }).waitFor();
    const done = golden("plan")[KEYS.steps].map((step) => ({ ...step, [KEYS.state]: "completed" }));
    tap.tell("2", "plan", { [KEYS.steps]: done });
    await page.locator("#agent2 .plan .heading", { hasText: "3/3" }).waitFor();
    assert.equal(await page.locator("#agent2 .plan").count(), 1);

    tap.tell("2", "state", golden("state"));
    await page.locator("#agent2 .run-state", { hasText: "using a tool" }).waitFor();
    tap.tell("2", "usage", golden("usage"));
    await page.locator("#agent2 .run-usage", { hasText: "12k · $0.25" }).waitFor();
    assert.match(await page.locator("#agent2 .run-usage").getAttribute("title"), /12k \/ 200k/);
    tap.tell("2", "state", { [KEYS.state]: "stopping" });
    await page.locator("#agent2 .run-state", { hasText: "stopping" }).waitFor();
  }));

test("a result names its files and who else changed them, and can be undone", () =>
  withTap(async (page, tap) => {
    tap.answerTo("restore", () => tap.tell("2", "restore", golden("restore")));
    tap.tell("2", "result", golden("result"), { [KEYS.run]: 3 });
    const result = page.locator("#agent2 .result");
    await result.locator("tr", { hasText: "src/main.rs" }).locator(".badge", { hasText: "also agent 3" }).waitFor();
    assert.match(await result.locator(".result-heading").textContent(), /\+10 −3.*0:12.*12k.*\$0\.25/);
    await result.locator(".restore").click();
    assert.equal(tap.sent("restore").length, 0);
    await page.waitForTimeout(450);
    await result.locator(".restore").click();
    await page.locator('#agent2 .chosen[data-outcome="failed"]', { hasText: "disk is full" }).waitFor();
    assert.equal(tap.sent("restore")[0][KEYS.body][KEYS.run], 3);

    tap.tell("2", "result", golden("result"), { [KEYS.run]: 4 });
    await result.nth(1).locator(".accept").waitFor();
    assert.deepEqual(await result.nth(0).locator(".choices button").count(), 1, "an old result is not accepted");
  }));

test("one request goes to all agents, or to some of them", () =>
  withPage(async (page) => {
    await page.locator("#mode").selectOption("codeAll");
    await type(page, "chat", "say to all");
    for (const agent of [1, 2, 3, 4]) await entry(page, `agent${agent}`, "output_text", "to all").waitFor();

    await page.locator("#mode").selectOption("some");
    await page.locator('#some-agents [data-agent="3"]').click();
    await type(page, "chat", "say to some");
    for (const agent of [1, 2, 4]) await entry(page, `agent${agent}`, "output_text", "to some").waitFor();
    await entry(page, "chat", "output_request", "to some").waitFor();
    assert.equal(await page.locator("#agent3", { hasText: "to some" }).count(), 0);

    for (const agent of [1, 2, 4]) await page.locator(`#some-agents [data-agent="${agent}"]`).click();
    await type(page, "chat", "say to nobody");
    await page.locator(".toast.error", { hasText: "at least one" }).waitFor();
    assert.equal(await page.locator("#chat-text").inputValue(), "say to nobody");
  }));

test("an answer of the chat grows in one place until it is whole", () =>
  withTap(async (page, tap) => {
    for (const piece of ["It is ", "!", "42"]) tap.tell("0", "output_stream", piece, { [KEYS.run]: 9 });
    await page.locator("#chat .draft .body", { hasText: "It is !42" }).waitFor();
    tap.tell("0", "output_text", "It is !42.", { [KEYS.run]: 9 });
    await page.locator("#chat .message:not(.draft)", { hasText: "It is !42." }).waitFor();
    assert.equal(await page.locator("#chat .draft").count(), 0);
    await page.locator("#chat .stop:disabled").waitFor();
  }));

test("what an agent says grows between its tools, and the whole takes the place of all parts", () =>
  withTap(async (page, tap) => {
    const run = { [KEYS.run]: 9 };
    const piece = (words) => tap.tell("1", "output_stream", words, run);
    tap.tell("1", "output_stream", "<<< 処理開始 >>>", { ...run, [KEYS.seq]: 1 });
    piece("I'll ");
    piece("look.");
    tap.tell("1", "tool", golden("tool"), { [KEYS.seq]: 2 });
    piece("\n\nNow I edit");
    piece(" !");
    const shown = page.locator("#agent1 .transcript");
    await shown.locator(".draft .body", { hasText: "Now I edit !" }).waitFor();
    const order = await shown.evaluate((log) => [...log.children].slice(-3).map((node) => node.textContent));
    assert.match(order[0], /I'll look\.$/);
    assert.match(order[2], /Now I edit !$/);
    tap.tell("1", "output_text", "I'll look.\n\nNow I edit !", { ...run, [KEYS.seq]: 3 });
    await shown.locator(".message:not(.draft)", { hasText: "Now I edit !" }).waitFor();
    assert.equal(await shown.locator(".draft").count(), 0);
  }));

/** A gateway whose second agent has something to choose. */
function playChoices(tap) {
  tap.answerTo("compare", () => tap.tell("0", "compare", golden("compare")));
  tap.answerTo("accept", (packet) => tap.tell(packet[KEYS.channel], "accept", golden("accept")));
  tap.answerTo("discard", (packet) => tap.tell(packet[KEYS.channel], "discard", golden("discard")));
  tap.answerTo("diff", (packet) => {
    const path = packet[KEYS.body]?.[KEYS.path] ?? null;
    const text = `--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-old\n+${path === null ? "all" : "one"}\n`;
    tap.tell(packet[KEYS.channel], "diff", golden("diff", { [KEYS.path]: path, [KEYS.diff]: text, [KEYS.more]: path === null }));
  });
}

test("results are compared, a conflict is told with its files, and a discard asks twice", () =>
  withTap(async (page, tap) => {
    playChoices(tap);
    await page.locator("#compare-open").click();
    const row = page.locator('#compare tr[data-agent="2"]');
    await row.locator(".check-result", { hasText: "passed" }).waitFor();
    assert.match(await row.textContent(), /goose.*\+10 −3.*0:12.*12k.*\$0\.25/);
    await row.locator(".overlap-list summary").click();
    await row.locator("li", { hasText: "src/main.rs" }).waitFor();

    await row.locator(".accept").click();
    await page.locator('#compare .chosen[data-outcome="conflict"] li', { hasText: "src/main.rs" }).waitFor();
    await page.locator('#agent2 .chosen[data-outcome="conflict"]').waitFor();
    const [accepted] = tap.sent("accept");
    assert.equal(accepted[KEYS.body][KEYS.version], golden("compare")[KEYS.rows][0][KEYS.version], "only what was seen");
    await row.locator(".discard").click();
    await page.waitForTimeout(450);
    await row.locator(".discard").click();
    await page.locator('#compare .chosen[data-outcome="done"]').waitFor();
    assert.equal(tap.sent("compare").length, 2, "what was discarded is compared again");
    await page.keyboard.press("Escape");
    await page.locator("#compare").waitFor({ state: "hidden" });
  }));

test("what was done is undone by its own button, and by any row of the backups with the keyboard alone", () =>
  withTap(async (page, tap) => {
    playChoices(tap);
    tap.answerTo("restore", (packet) => tap.tell(packet[KEYS.channel], "restore", golden("restore")));
    tap.answerTo("backups", () => tap.tell("0", "backups", golden("backups")));
    tap.tell("2", "discard", golden("discard"));
    const undo = page.locator("#agent2 .chosen .undo");
    await undo.click();
    await page.waitForTimeout(450);
    await undo.click();
    await page.locator('#agent2 .chosen[data-outcome="failed"]').waitFor();
    const [first] = tap.sent("restore");
    assert.deepEqual([first[KEYS.channel], first[KEYS.body][KEYS.backup]], ["2", golden("discard")[KEYS.backup]]);

    await page.locator("#compare-open").click();
    await page.locator("#backups-open").focus();
    await page.keyboard.press("Enter");
    const row = page.locator("#backups tbody tr", { hasText: "The project" });
    await row.locator("td", { hasText: "before an accept" }).waitFor();
    await row.locator(".restore").focus();
    await page.keyboard.press("Enter");
    assert.equal(tap.sent("restore").length, 1, "it asks twice");
    await page.waitForTimeout(450);
    await page.keyboard.press("Enter");
    await page.locator('#backups .chosen[data-outcome="failed"]').waitFor();
    assert.match(tap.sent("restore")[1][KEYS.body][KEYS.backup], /-accept-/);
    await page.keyboard.press("Escape");
    await page.locator("#backups").waitFor({ state: "hidden" });
    assert.ok(await page.locator("#backups-open").evaluate((node) => node === document.activeElement));
  }));

test("what is in the project already is not offered to be accepted", () =>
  withTap(async (page, tap) => {
    const rows = golden("compare")[KEYS.rows].map((row) => ({ ...row, [KEYS.workplace]: "shared" }));
    tap.answerTo("compare", () => tap.tell("0", "compare", { [KEYS.rows]: rows }));
    tap.tell("2", "result", golden("result", { [KEYS.workplace]: "shared" }), { [KEYS.run]: 3 });
    await page.locator("#agent2 .result .restore").waitFor();
    assert.equal(await page.locator("#agent2 .result .choices button").count(), 1);
    await page.locator("#compare-open").click();
    const row = page.locator('#compare tr[data-agent="2"]');
    await row.locator(".check-result").waitFor();
    assert.equal(await row.locator(".choices").count(), 0);
  }));

test("a diff is shown whole and file by file, and says when it is cut", () =>
  withTap(async (page, tap) => {
    playChoices(tap);
    tap.tell("2", "result", golden("result"), { [KEYS.run]: 3 });
    await page.locator("#agent2 .result .diff-open").click();
    await page.locator("#diff .diff-added", { hasText: "+all" }).waitFor();
    await page.locator("#diff .truncated").waitFor();
    await page.locator("#diff .diff-file", { hasText: "src/main.rs" }).click();
    await page.locator("#diff .diff-added", { hasText: "+one" }).waitFor();
    assert.equal(await page.locator("#diff .truncated").count(), 0);
    await page.keyboard.press("Escape");
    await page.locator("#agent2 .diff-open:focus").waitFor();
  }));

test("work becomes a branch under a chosen name", () =>
  withTap(async (page, tap) => {
    playChoices(tap);
    tap.tell("2", "result", golden("result"), { [KEYS.run]: 3 });
    await page.locator("#agent2 .result .accept-branch").click();
    await page.locator("#branch input").fill("agent/fix");
    await page.locator("#branch textarea").fill("Fix the parser");
    await page.locator("#branch button[type=submit]").click();
    await page.locator("#agent2 .chosen").waitFor();
    const wanted = JSON.parse(readFileSync(new URL("../fixtures/aicore/client_accept.json", import.meta.url), "utf8"));
    assert.deepEqual(tap.sent("accept")[0][KEYS.body], wanted[KEYS.body]);
  }));

test("a question can be answered while a dialog is open, at any width", () =>
  withTap(async (page, tap) => {
    playChoices(tap);
    await page.locator("#compare-open").click();
    await page.locator('#compare tr[data-agent="2"] .accept').waitFor();
    await type(page, "agent1", "ask in between\nsay went on");
    for (const width of [360, 768, 1100, 1500]) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page
        .locator("html, #inbox, .question, #compare, .sheet-body")
        .evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.id || e.className));
      assert.deepEqual(wide, [], `at ${width} px`);
    }
    await question(page, "in between").locator(".allow").click();
    await entry(page, "agent1", "output_text", "went on").waitFor();
  }));

test("of two results one is taken into the project, and the other is in its way", () =>
  withPage(async (page) => {
    const file = `chosen-${Date.now()}.txt`;
    await type(page, "agent1", `write ${file} from one\nsay first`);
    await page.locator("#agent1 .result", { hasText: file }).waitFor();
    await type(page, "agent2", `write ${file} from two\nsay second`);
    await page.locator("#agent2 .result .badge", { hasText: "also agent 1" }).waitFor();
    await page.locator("#agent2 .stop:disabled").waitFor();

    await page.locator("#compare-open").click();
    await page.locator('#compare tr[data-agent="1"] .diff-open').click();
    await page.locator("#diff .diff-added", { hasText: "+from one" }).waitFor();
    await page.locator("#diff .close").click();
    await page.locator('#compare tr[data-agent="1"] .accept').click();
    await page.locator('#agent1 .chosen[data-outcome="done"]', { hasText: file }).waitFor();
    await page.locator("[data-list=files_backup] .path", { hasText: file }).waitFor();
    await page.locator('#compare tr[data-agent="2"] .accept').click();
    await page.locator('#compare .chosen[data-outcome="conflict"]', { hasText: file }).waitFor();
    await page.locator("#compare .close").click();

    await page.locator("#agent2 .result .discard").click();
    await page.waitForTimeout(450);
    await page.locator("#agent2 .result .discard").click();
    await page.locator('#agent2 .chosen[data-outcome="done"]', { hasText: "Discarded" }).waitFor();
  }));

test("a refused choice is told by the gateway's own words", () =>
  withTap(async (page, tap) => {
    tap.tell("2", "result", golden("result"), { [KEYS.run]: 3 });
    tap.answerTo("diff", (packet) => {
      const fields = { [KEYS.code]: "no_choice", [KEYS.request]: packet[KEYS.request] };
      tap.tell("input", "error", "the agent works in the project itself", fields);
    });
    await page.locator("#agent2 .result .diff-open").click();
    await page.locator(".toast.error", { hasText: "works in the project itself" }).waitFor();
    await page.locator("#diff").waitFor({ state: "hidden" });
  }));
