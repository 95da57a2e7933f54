// The core/UI interface with clients that nobody here wrote: the packages `eventsource` and `ws`, and fetch.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { brief, command, is, isIdle, newSession, openEvents, openSocket, poll } from "./coreui.mjs";
import { startGateway } from "./gateway.mjs";
import { openLine } from "./line.mjs";

const POLICY = readFileSync(new URL("../../config/policy.toml", import.meta.url), "utf8");
const READ = 'use file:read {"path": "report.txt"}';
const TOOL_TURN = ["thinking", "onToolCallRequest", "executing_tool", "onNewMessage", "waiting_for_input"];

let gateway;
let line;

before(async () => {
  const rules = POLICY.replace("[ask]\ntools = [", '[ask]\ntools = ["file:read", ');
  assert.notEqual(rules, POLICY);
  const settings = 'language = "en"\nmodels = "scripted"\npolicy = "policy.toml"\nallowed_hosts = ["127.0.0.1"]\n';
  gateway = await startGateway(settings, {}, { "policy.toml": rules });
  writeFileSync(join(gateway.project, "report.txt"), "all is well\n");
  line = await openLine(gateway.url);
});

after(async () => {
  await line?.close();
  await gateway?.stop();
});

const seqs = (frames) => frames.filter(({ type }) => type.startsWith("on")).map(({ seq }) => seq);

test("a question and a tool call take the course of the document on a WebSocket", async () => {
  const ui = await openSocket(gateway);
  ui.say("hello");
  const simple = await ui.until(isIdle);
  assert.deepEqual(brief(simple), ["thinking", "onNewMessage", "waiting_for_input"]);
  assert.equal(simple[1].payload.content, "echo: hello");
  assert.ok(simple[1].payload.metadata.latency_ms >= 0);

  ui.say(READ);
  const asked = await ui.until(is("onToolCallRequest"));
  const { confirmationId, toolName, args, security_warning: warning } = asked.at(-1).payload;
  assert.deepEqual([toolName, args], ["file:read", { path: "report.txt" }]);
  assert.ok(["CRITICAL", "WARN", "INFO"].includes(warning.level) && warning.message.length > 0, JSON.stringify(warning));
  ui.answer(confirmationId, true);
  const frames = [...asked, ...(await ui.until(isIdle))];
  assert.deepEqual(brief(frames), TOOL_TURN);
  assert.match(frames.at(-2).payload.content, /all is well/);
  assert.equal(frames.at(-2).payload.metadata.source_documents.length, 1);
  for (const frame of frames) assert.deepEqual([frame.sessionId, frame.payload.sessionId], [ui.session, ui.session]);
  await ui.close();
});

test("a turn with a question arrives as server-sent events, with commands by POST", async () => {
  const session = await newSession(gateway);
  const stream = openEvents(gateway, { session });
  try {
    await stream.until(is("connected"));
    const taken = await command(gateway, session, "submitUserInput", { text: READ });
    assert.deepEqual([taken.status, taken.body.sessionId], [202, session]);
    const asked = await stream.until(is("onToolCallRequest"));
    const { confirmationId } = asked.at(-1).payload;
    const wrong = await command(gateway, session, "provideConfirmation", { confirmationId: "guessed", approved: true });
    assert.deepEqual([wrong.status, wrong.body.payload.code], [404, "UNKNOWN_CONFIRMATION"]);
    const answered = await command(gateway, session, "provideConfirmation", { confirmationId, approved: true });
    assert.equal(answered.status, 202);
    const frames = [...asked, ...(await stream.until(isIdle))];
    assert.deepEqual(brief(frames), TOOL_TURN);
    for (const frame of frames) assert.equal(frame.lastEventId, String(frame.seq));
    const again = await command(gateway, session, "provideConfirmation", { confirmationId, approved: false });
    assert.deepEqual([again.status, again.body.payload.code], [404, "UNKNOWN_CONFIRMATION"]);
  } finally {
    stream.close();
  }
});

test("a stream that breaks in the middle of a turn goes on where it was", async () => {
  const session = await newSession(gateway);
  const stream = openEvents(gateway, { session, features: "all" }, line.url);
  try {
    await stream.until(is("connected"));
    await command(gateway, session, "submitUserInput", { text: READ });
    const asked = await stream.until(is("onToolCallRequest"));
    line.cut();
    const { confirmationId } = asked.at(-1).payload;
    await command(gateway, session, "provideConfirmation", { confirmationId, approved: true });
    await waitUntilIdle(session, asked.at(-1).seq);
    line.mend();
    await stream.until(isIdle);
    // Once more, within a frame.
    line.cutAfter(1_500);
    await command(gateway, session, "submitUserInput", { text: "many words ".repeat(100) });
    await stream.until(is("onUserInput"));
    await stream.until(isIdle);
    const all = await poll(gateway, { session, after: 0, features: "all" });
    assert.deepEqual(seqs(numbered(stream.frames)), seqs(numbered(all)));
    assert.deepEqual(brief(numbered(stream.frames)), brief(numbered(all)));
    assert.equal(stream.resumedAfter[0], null);
    assert.ok(stream.resumedAfter.length >= 3, "the line was not cut twice");
    for (const id of stream.resumedAfter.slice(1)) assert.match(id, /^\d+$/);
  } finally {
    line.mend();
    stream.close();
  }
});

/** Frames that can be replayed: not the pieces of an answer, which nobody stores. */
function numbered(frames) {
  return frames.filter(({ type }) => type !== "connected" && type !== "onMessageDelta");
}

/** By polls after the frame of this number. */
async function waitUntilIdle(session, after) {
  const frames = [];
  for (let last = after; !frames.some(isIdle); last = frames.at(-1)?.seq ?? last) {
    frames.push(...(await poll(gateway, { session, after: last })));
  }
  return frames;
}

test("a stream without a session that breaks gets a new one, and all of its frames", async () => {
  const stream = openEvents(gateway, {}, line.url);
  try {
    const [{ sessionId: first }] = await stream.until(is("connected"));
    for (const text of ["one", "two", "three"]) {
      await command(gateway, first, "submitUserInput", { text });
      await stream.until(isIdle);
    }
    line.cut();
    line.mend();
    const [{ sessionId: second }] = await stream.until(is("connected"));
    assert.notEqual(second, first);
    await command(gateway, second, "submitUserInput", { text: "hello again" });
    const frames = await stream.until(isIdle);
    assert.deepEqual(brief(frames), ["thinking", "onNewMessage", "waiting_for_input"]);
  } finally {
    stream.close();
  }
});

test("long polling tells a turn with a refused tool", async () => {
  const started = await command(gateway, null, "submitUserInput", { text: READ });
  assert.equal(started.status, 202);
  const session = started.body.sessionId;
  const frames = [];
  let after = 0;
  while (!frames.some(isIdle)) {
    const news = await poll(gateway, { session, after });
    frames.push(...news);
    after = news.at(-1)?.seq ?? after;
    const asked = news.find(is("onToolCallRequest"));
    if (asked === undefined) continue;
    const { confirmationId } = asked.payload;
    const answer = await command(gateway, session, "provideConfirmation", { confirmationId, approved: false });
    assert.equal(answer.status, 202);
  }
  assert.deepEqual(brief(frames), TOOL_TURN.filter((name) => name !== "executing_tool"));
  assert.match(frames.at(-2).payload.content, /not allowed/);
  assert.deepEqual(seqs(frames), [...new Set(seqs(frames))].sort((a, b) => a - b));
});

test("a command with the same id is carried out once", async () => {
  const session = await newSession(gateway);
  for (let time = 0; time < 2; time += 1) {
    const taken = await command(gateway, session, "submitUserInput", { text: "once" }, { id: "first" });
    assert.deepEqual([taken.status, taken.body.id], [202, "first"]);
  }
  const frames = await waitUntilIdle(session, 0);
  assert.equal(frames.filter(is("onNewMessage")).length, 1);
  await command(gateway, session, "submitUserInput", { text: "twice" });
  const later = await waitUntilIdle(session, frames.at(-1).seq);
  assert.deepEqual(later.filter(is("onNewMessage")).map(({ payload }) => payload.content), ["echo: twice"]);
});

test("sessions do not hear each other, and two tabs of one session do", async () => {
  const [one, other] = [await openSocket(gateway), await openSocket(gateway)];
  const tab = await openSocket(gateway, { session: one.session });
  one.say("only for us");
  await one.until(isIdle);
  assert.match((await tab.until(is("onNewMessage"))).at(-1).payload.content, /only for us/);
  other.say("me");
  const heard = await other.until(isIdle);
  assert.deepEqual(heard.filter(is("onNewMessage")).map(({ payload }) => payload.content), ["echo: me"]);
  for (const ui of [one, other, tab]) await ui.close();
});
