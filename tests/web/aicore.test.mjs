// Golden frames and the JS side of the dialect. The frames are shared with the Rust tests.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import * as aicore from "../../web/protocol/aicore.js";

const { KEYS } = aicore;
const FIXTURES = new URL("../fixtures/aicore/", import.meta.url);
const CLIENT_ONLY = new Set(["operations", "input_image", "input_audio", "files_watch", "confirm_answer"]);

function server(kind, fields = {}) {
  return JSON.stringify({ [KEYS.session]: "ws-1", [KEYS.kind]: kind, ...fields });
}

function built(packet, request = null) {
  return JSON.parse(aicore.encode(packet, { session: "ws-1", request }));
}

/** Fixture files may hold one frame, a list, or frames inside a description; every frame in them counts. */
function framesIn(value) {
  if (typeof value === "string") return framesInText(value);
  if (typeof value !== "object" || value === null) return [];
  if (KEYS.kind in value || value.type === "connect") return [value];
  return Object.values(value).flatMap(framesIn);
}

function framesInText(text) {
  try {
    return text.startsWith("{") ? framesIn(JSON.parse(text)) : [];
  } catch {
    return [];
  }
}

test("every golden frame is known on this side", () => {
  const names = readdirSync(FIXTURES).filter((name) => name.endsWith(".json"));
  assert.notEqual(names.length, 0, "tests/fixtures/aicore holds no golden frames");
  for (const name of names) checkFixture(name);
});

function checkFixture(name) {
  const frames = framesIn(JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8")));
  assert.notEqual(frames.length, 0, `${name} holds no frame`);
  for (const frame of frames.filter((frame) => frame.type !== "connect")) {
    const packet = aicore.decode(JSON.stringify(frame), "input");
    const expected = CLIENT_ONLY.has(frame[KEYS.kind]) || name.includes("unknown") ? "unknown" : frame[KEYS.kind];
    assert.equal(packet.kind, expected, `${name}: ${frame[KEYS.kind]}`);
    assert.equal(packet.seq, frame[KEYS.seq] ?? null, name);
  }
}

test("the first frame carries the cursor only when there is one", () => {
  const common = { language: "ja", historyLimit: 50 };
  const fresh = aicore.connect({ ...common, session: null, socket: "input", epoch: null, lastSeq: 0, view: false });
  assert.equal(fresh.type, "connect");
  assert.equal(fresh[KEYS.session], null);
  assert.ok(!(KEYS.epoch in fresh) && !(KEYS.lastSeq in fresh));
  const again = aicore.connect({ ...common, session: "ws-1", socket: "2", epoch: "a0", lastSeq: 7, view: true });
  assert.equal(again[KEYS.epoch], "a0");
  assert.equal(again[KEYS.lastSeq], 7);
  assert.equal(again[KEYS.historyLimit], 50);
  assert.equal(again[KEYS.view], true);
});

test("text goes where it was typed", () => {
  assert.deepEqual(built(aicore.chatText("code2", "hi")), {
    [KEYS.session]: "ws-1",
    [KEYS.channel]: "0",
    [KEYS.kind]: "input_text",
    [KEYS.body]: "hi",
    [KEYS.mode]: "Code2",
  });
  assert.equal(built(aicore.agentText("3", "hi"))[KEYS.channel], "3");
  assert.equal(built(aicore.silentText("hi"))[KEYS.channel], "input");
  assert.equal(built(aicore.agentRequest("4", "hi"))[KEYS.target], "4");
});

test("a request number is added only when given", () => {
  assert.equal(built(aicore.listTemp(), "r-1")[KEYS.request], "r-1");
  assert.ok(!(KEYS.request in built(aicore.listTemp())));
});

test("a cancel names its run, all, or nothing", () => {
  assert.ok(!(KEYS.run in aicore.cancelRun("1")));
  assert.equal(aicore.cancelRun("1", 9)[KEYS.run], 9);
  assert.equal(aicore.cancelRun("1", "all")[KEYS.run], "all");
});

test("bytes travel in the field of their kind", () => {
  assert.equal(aicore.file("0", "a.txt", "QUJD")[KEYS.body], "QUJD");
  assert.equal(aicore.image("image/jpeg", "QUJD")[KEYS.fileName], "QUJD");
  assert.equal(aicore.audio("QUJD")[KEYS.fileName], "QUJD");
  assert.equal(aicore.cancelAudio()[KEYS.channel], "audio");
  assert.equal(aicore.listBackup()[KEYS.channel], "file");
});

test("switches come back as they were stored", () => {
  const stored = { speaker: false, agent2: true, mode: "live" };
  const controls = built(aicore.operations(stored))[KEYS.body][KEYS.controls];
  const greeting = aicore.decode(server("init", { [KEYS.body]: { [KEYS.controls]: controls } }), "input");
  assert.deepEqual(greeting.body.controls, stored);
});

test("a greeting tells epoch and resumption", () => {
  const packet = aicore.decode(server("init", { [KEYS.epoch]: "b1", [KEYS.resumed]: true, [KEYS.body]: {} }), "2");
  assert.deepEqual([packet.epoch, packet.resumed, packet.channel], ["b1", true, "2"]);
  assert.equal(packet.body.controls, null);
});

test("audio tells its rate, 24 kHz unless named", () => {
  const named = server("output_audio", { [KEYS.body]: "audio/pcm;rate=16000", [KEYS.fileName]: "QUJD" });
  assert.deepEqual([aicore.decode(named, "audio").rate, aicore.decode(named, "audio").base64], [16000, "QUJD"]);
  assert.equal(aicore.decode(server("output_audio", { [KEYS.body]: "audio/pcm" }), "audio").rate, 24000);
});

test("lists become paths and times", () => {
  const rows = [{ [KEYS.path]: "a.rs", [KEYS.modified]: "t1" }];
  const temp = server("files_temp", { [KEYS.body]: { [KEYS.newestTemp]: "t1", [KEYS.files]: rows } });
  assert.deepEqual(aicore.decode(temp, "file").body, { newest: "t1", files: [{ path: "a.rs", modified: "t1" }] });
  const backup = server("files_backup", { [KEYS.body]: { [KEYS.lastBackup]: null, [KEYS.files]: rows } });
  assert.equal(aicore.decode(backup, "file").body.newest, null);
});

test("what cannot be understood is named, not thrown", () => {
  assert.equal(aicore.decode("not json", "input").kind, "invalid");
  assert.equal(aicore.decode("[1]", "input").kind, "invalid");
  const odd = aicore.decode(server("brand_new"), "1");
  assert.deepEqual([odd.kind, odd.name, odd.channel], ["unknown", "brand_new", "1"]);
});

test("queue places, errors and acks keep their numbers", () => {
  const queued = aicore.decode(server("output_text", { [KEYS.run]: 4, [KEYS.place]: 2, [KEYS.body]: "q" }), "1");
  assert.deepEqual([queued.run, queued.place], [4, 2]);
  const failed = aicore.decode(server("error", { [KEYS.code]: "queue_full", [KEYS.request]: "r" }), "input");
  assert.deepEqual([failed.code, failed.request, failed.channel], ["queue_full", "r", "input"]);
  assert.equal(aicore.decode(server("ack", { [KEYS.request]: "r", [KEYS.repeated]: true }), "input").repeated, true);
});
