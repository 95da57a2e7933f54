// The second form of the core/UI interface, as a page of another server uses it: in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import { after, before, test } from "node:test";
import WebSocket from "ws";
import { PATIENCE_MS, launch } from "./browser.mjs";
import { startGateway } from "./gateway.mjs";
import { createInbox } from "./inbox.mjs";
import { openLine } from "./line.mjs";

const PAGE = readFileSync(new URL("agentevent.html", import.meta.url), "utf8");

let browser;
let gateway;
let line;
let pages;
let websocketUrl;

before(async () => {
  browser = await launch();
  pages = http.createServer(serve);
  await new Promise((resolve) => pages.listen(0, "127.0.0.1", resolve));
  const origin = `http://localhost:${pages.address().port}`;
  gateway = await startGateway(`language = "en"\nmodels = "scripted"\nallowed_hosts = ["127.0.0.1"]\nallowed_origins = ["${origin}"]\n`);
  line = await openLine(gateway.url);
  const url = new URL("/core-ui/ws?form=agent_event", line.url);
  url.protocol = "ws:";
  websocketUrl = url.href;
});

after(async () => {
  await browser?.close();
  await line?.close();
  pages?.closeAllConnections();
  await new Promise((resolve) => pages.close(resolve));
  await gateway?.stop();
});

/** The page, with what its server knows before the end of its head. */
function serve(request, response) {
  if (request.url !== "/") return response.writeHead(404).end();
  const config = JSON.stringify({ websocketUrl, title: "Their page" });
  const script = `<script>window.__OPENSTARRY_CONFIG__ = ${config};</script>`;
  response.writeHead(200, { "content-type": "text/html" }).end(PAGE.replace("<p id", `${script}\n<p id`));
}

async function withPage(host, token, body) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`http://${host}:${pages.address().port}/#token=${token}`);
    await body(page);
  } finally {
    await context.close();
  }
}

const state = (page, words) => page.locator("#state", { hasText: words }).waitFor();
const answer = (page, words) => page.locator("li.assistant", { hasText: words }).waitFor();
const session = (page) => page.evaluate(() => localStorage.getItem("session"));

async function say(page, words) {
  await page.locator("#text").fill(words);
  await page.locator("#text").press("Enter");
}

test("a page of another server talks with the chat", () =>
  withPage("localhost", gateway.token, async (page) => {
    await state(page, "connected");
    assert.match(await session(page), /^ws-/);
    await say(page, "hello from elsewhere");
    await answer(page, "echo: hello from elsewhere");
    assert.equal(await page.locator("li").count(), 1);
  }));

test("the page comes back by itself when its line breaks", () =>
  withPage("localhost", gateway.token, async (page) => {
    await state(page, "connected");
    await say(page, "before");
    await answer(page, "echo: before");
    const before = await session(page);
    line.cut();
    await state(page, "closed 1006");
    await page.waitForTimeout(1_500);
    line.mend();
    await state(page, "connected");
    await page.waitForFunction((id) => localStorage.getItem("session") === id, before);
    await say(page, "after");
    await answer(page, "echo: after");
    assert.equal(await session(page), before);
    assert.equal(await page.locator("li.error").count(), 0);
  }));

test("the conversation goes on after a reload", () =>
  withPage("localhost", gateway.token, async (page) => {
    await state(page, "connected");
    await say(page, "first");
    await answer(page, "echo: first");
    await say(page, "second");
    await answer(page, "echo: second");
    const before = await session(page);
    await page.reload();
    // The newest run is there again, and nothing else.
    await answer(page, "echo: second");
    assert.equal(await session(page), before);
    await say(page, "third");
    await answer(page, "echo: third");
    assert.deepEqual(await page.locator("li").allTextContents(), ["echo: second", "echo: third"]);
    assert.equal(await session(page), before);
  }));

test("a wrong token and a foreign page are closed with the codes that the page knows", async () => {
  await withPage("localhost", "wrong", (page) => state(page, "closed 4401"));
  await withPage("127.0.0.1", gateway.token, (page) => state(page, "closed 4403"));
});

test("a question is asked and answered in this form, with the nonce", async () => {
  const socket = new WebSocket(`${websocketUrl}&token=${gateway.token}`);
  const inbox = createInbox("the agent_event socket");
  socket.on("message", (bytes) => inbox.put(JSON.parse(bytes.toString())));
  const send = (type, payload) => socket.send(JSON.stringify({ type, payload }));
  const event = (name) => ({ event }) => event?.type === name;
  const { sessionId } = (await inbox.until(({ type }) => type === "connected"))[0];
  send("user_input", { text: 'use file:write {"path": "made.txt", "content": "by a page"}' });
  const asked = (await inbox.until(event("confirmation:request"))).at(-1).event.payload;
  assert.deepEqual([asked.toolName, asked.toolArguments.path, asked.sessionId], ["file:write", "made.txt", sessionId]);
  assert.ok(asked.timeoutMs > 0 && asked.prompt.length > 0);
  const { toolCallId, nonce } = asked;
  send("confirmation_response", { toolCallId: "another", nonce, approved: true });
  await inbox.until(({ type }) => type === "error");
  send("confirmation_response", { toolCallId, nonce, approved: true });
  const names = (await inbox.until(event("loop:finished"))).map(({ event }) => event?.type);
  const expected = ["confirmation:response", "tool:executing", "tool:result"];
  assert.deepEqual(names.filter((name) => expected.includes(name)), expected);
  assert.equal(readFileSync(`${gateway.project}/made.txt`, "utf8"), "by a page");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.close();
  await closed;
});

test("frames that are no message are refused as the page knows it, and the socket stays open", async () => {
  const socket = new WebSocket(websocketUrl, ["agent_event"], { headers: { authorization: `Bearer ${gateway.token}` } });
  const inbox = createInbox("the agent_event socket");
  socket.on("message", (bytes) => inbox.put(JSON.parse(bytes.toString())));
  await inbox.until(({ type }) => type === "connected");
  assert.equal(socket.protocol, "agent_event");
  socket.send("{");
  assert.equal((await inbox.until(() => true))[0].error, "Invalid JSON");
  for (const frame of ["null", "[]", '""', '{"type":""}', '{"type":1}', '{"type":"x","sessionId":5}']) {
    socket.send(frame);
    assert.equal((await inbox.until(() => true))[0].error, "Invalid message", frame);
  }
  socket.send('{"type":"ping"}');
  const [pong] = await inbox.until(() => true);
  assert.deepEqual([pong.type, typeof pong.timestamp], ["pong", "number"]);
  socket.close();
});
