// Takes the picture of the page that the README shows: `KAKEHASHI_URL=... node pagepicture.mjs ../../docs/page.png`
// The gateway has scripted models, and a project in a git repository.

import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KEYS } from "../../web/protocol/aicore.js";
import { PATIENCE_MS, connected, entry, launch, type, withToken } from "./browser.mjs";
import { speech } from "./speech.mjs";
import { openTap } from "./tap.mjs";

const [target] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "kakehashi-picture-"));
const recording = join(folder, "speech.wav");
writeFileSync(recording, speech());
const browser = await launch([`--use-file-for-fake-audio-capture=${recording}`]);
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(PATIENCE_MS);
  const tap = await openTap(page);
  await page.goto(withToken("/?lang=en"));
  await connected(page);
  await work(page, tap);
  await talk(page, tap);
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: target });
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}

async function work(page, tap) {
  await type(page, "chat", "What is on the menu?");
  await entry(page, "chat", "output_text", "echo").waitFor();
  for (const agent of ["agent1", "agent2"]) {
    await type(page, agent, "write src/price.rs pub struct Price(pub u32);\nsay The menu has prices now.");
    await page.locator(`#${agent} .result`).waitFor();
    await entry(page, agent, "output_text", "prices now").waitFor();
  }
  await page.locator("#agent1 .result .accept").click();
  await page.locator("#agent1 .chosen").waitFor();
  await type(page, "agent3", "sleep 60\nsay tested");
  await page.locator("#agent3 .stop:not([disabled])").waitFor();
  const step = (state, words) => ({ [KEYS.text]: words, [KEYS.state]: state });
  tap.tell("3", "plan", {
    [KEYS.steps]: [step("completed", "Read the menu"), step("started", "Write tests for brew"), step("pending", "Run the tests")],
  });
  tap.tell("3", "usage", { 使用トークン: 12000, 上限トークン: 200000, 費用: { 金額: 0.07, 通貨: "USD" } });
  await type(page, "agent4", "ask cargo add serde\nsay added");
  await page.locator("#questions .question").first().waitFor();
}

async function talk(page, tap) {
  // The scripted model would only say how much it has heard.
  tap.answerTo("input_audio", () => {});
  await page.locator("#microphone").click();
  await page.waitForFunction(() => window.kakehashi.sentChunks > 50);
  tap.tell("0", "recognition_input", "Which agent is still at work?");
  tap.tell("0", "recognition_output", "Agent 3 runs the tests. Agent 4 waits for your answer.");
  tap.tell("audio", "metrics", { 発話終了からターン終了: 480, ターン終了から初音: 310, 初音から送信: 1, 送信から再生: 140, 途切れ回数: 0, 欠落数: 0 });
  await page.locator("#mode").selectOption("some");
  await page.locator("#chat-text").fill("Now compare them,");
}
