// Golden frames and the JS side of the dialect. The frames are shared with the Rust tests.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import * as aicore from "../../web/protocol/aicore.js";

const { KEYS } = aicore;
const FIXTURES = new URL("../fixtures/aicore/", import.meta.url);
const CLIENT_ONLY = new Set(["operations", "input_image", "input_audio", "files_watch", "confirm_answer", "playback_ack", "push_to_talk"]);

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

/** What this side makes of a golden frame of the gateway. */
function read(name) {
  return aicore.decode(readFileSync(new URL(`server_${name}.json`, FIXTURES), "utf8"), "input");
}

/** The golden frame of a client, which this side has to make. */
function wanted(name) {
  return JSON.parse(readFileSync(new URL(`client_${name}.json`, FIXTURES), "utf8"));
}

test("what the page says about agents is what the gateway reads", () => {
  const branch = { name: "agent/fix", message: "Fix the parser" };
  assert.deepEqual(aicore.answer("c0ffee", { approved: true, always: false }), wanted("confirm_answer"));
  assert.deepEqual(aicore.agentsText(["1", "2", "4"], "\u76f4\u3057\u3066"), wanted("fan_out"));
  assert.deepEqual(aicore.chatText("codeAll", "\u76f4\u3057\u3066"), wanted("code_all"));
  assert.deepEqual(aicore.compare(["1", "2", "4"], true), wanted("compare"));
  assert.deepEqual(aicore.showDiff("2", "src/main.rs"), wanted("diff"));
  const { [KEYS.version]: version } = wanted("accept")[KEYS.body];
  assert.deepEqual(aicore.accept("2", branch, version), wanted("accept"));
  assert.deepEqual(aicore.accept("2", null, version)[KEYS.body], { [KEYS.version]: version });
  assert.deepEqual(aicore.discard("2"), wanted("discard"));
  const { [KEYS.body]: body, ...restored } = wanted("restore");
  assert.deepEqual(aicore.restore("2", 3), { ...restored, [KEYS.body]: { [KEYS.run]: body[KEYS.run] } });
  const named = wanted("restore_named");
  assert.deepEqual(aicore.restoreBackup("2", named[KEYS.body][KEYS.backup]), named);
  assert.deepEqual(aicore.listBackups("2"), wanted("backups"));
  assert.deepEqual(aicore.listBackups(), { [KEYS.kind]: "backups" });
  assert.ok(!(KEYS.body in aicore.accept("2")) && !(KEYS.body in aicore.showDiff("2")));
});

test("questions and their answers are read whole", () => {
  assert.deepEqual(read("confirm_request").body, {
    id: "c0ffee",
    agent: "2",
    tool: "Write src/main.rs",
    input: '{"path":"src/main.rs"}',
    diff: "-old\n+new\n",
    level: "WARN",
    reason: "書き換えや実行の操作です",
    seconds: 300,
  });
  assert.deepEqual(read("confirm_result").body, { id: "c0ffee", agent: "2", approved: true, by: "user" });
});

test("steps of an agent are read whole", () => {
  const { name, state, output, ungated, paths } = read("tool").body;
  assert.deepEqual([name, state, output, ungated, paths], ["Write src/main.rs", "completed", "12 bytes", false, ["src/main.rs"]]);
  assert.deepEqual(read("plan").body.steps.map((step) => step.state), ["pending", "started", "completed"]);
  assert.deepEqual([read("state").body.state, read("state").run], ["executing_tool", 3]);
  assert.deepEqual(read("usage").body, { used: 12000, most: 200000, cost: { amount: 0.25, currency: "USD" } });
});

test("the chat is told whose answer it is, and whose files changed", () => {
  assert.equal(read("output_request").agent, "2");
  assert.deepEqual(read("update_info").body, { files: ["src/main.rs"], agent: null });
  assert.deepEqual(read("update_info_chat").body, { files: ["src/main.rs"], agent: "2" });
});

test("results, comparisons and choices are read whole", () => {
  const file = { path: "src/main.rs", oldPath: null, status: "modified", added: 10, removed: 3 };
  const overlaps = [{ path: "src/main.rs", agents: ["3"] }];
  const result = read("result");
  assert.deepEqual([result.run, result.body.files, result.body.overlaps], [3, [file], overlaps]);
  const [row] = read("compare").body.rows;
  assert.deepEqual([row.agent, row.name, row.fileCount, row.check], ["2", "goose", 1, { code: 0, output: "ok" }]);
  assert.deepEqual(row.overlaps, overlaps);
  assert.deepEqual([result.body.leftOut, row.leftOut], [["vendor/lib/"], ["vendor/lib/"]]);
  assert.deepEqual(read("diff").body.files, [file]);
  assert.deepEqual(read("accept").body.conflicts, [{ path: "src/main.rs", sort: "content" }]);
  assert.deepEqual(read("discard").body.files, ["src/main.rs"]);
  assert.match(read("discard").body.backup, /-discard-/);
  assert.equal(result.body.place, "worktree");
  const [discarded, accepted, run] = read("backups").body.rows;
  assert.deepEqual([discarded.before, discarded.agent, discarded.run], ["discard", "2", null]);
  assert.deepEqual([accepted.before, accepted.agent], ["accept", null]);
  assert.deepEqual([run.before, run.run, run.made], ["run", 3, "2026/02/26 20:44:53"]);
  assert.match(read("restore").body.reason, /disk is full/);
});

test("agents' packets without content are empty, not fatal", () => {
  for (const kind of ["tool", "plan", "result", "compare", "diff", "backups", "accept", "confirm_request", "usage"]) {
    for (const body of [null, "text", { [KEYS.rows]: [null], [KEYS.steps]: "x", [KEYS.changes]: [null], [KEYS.backups]: [null] }]) {
      assert.equal(aicore.decode(server(kind, { [KEYS.body]: body }), "1").kind, kind);
    }
  }
});

test("a piece of an answer is no mark, whatever it says", () => {
  const told = (channel, more) => aicore.decode(server("output_stream", { [KEYS.channel]: channel, [KEYS.body]: "!", ...more }), channel);
  assert.deepEqual([told("0", {}).marker, told("1", { [KEYS.run]: 3 }).marker], [null, null]);
  assert.equal(told("1", { [KEYS.seq]: 7 }).marker, "failed");
});

test("the first frame carries the cursor only when there is one", () => {
  const common = { language: "ja", historyLimit: 50 };
  const fresh = aicore.connect({ ...common, session: null, socket: "input", epoch: null, lastSeq: 0, view: false });
  assert.equal(fresh.type, "connect");
  assert.equal(fresh[KEYS.session], null);
  for (const feature of ["stream", "confirm", "agents", "playback"]) assert.ok(fresh[KEYS.features].includes(feature), feature);
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
  assert.equal(aicore.audio("QUJD", 16_000)[KEYS.fileName], "QUJD");
  assert.equal(aicore.audio("QUJD", 24_000)[KEYS.body], "audio/pcm;rate=24000");
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

test("the microphone has the rate of the model that listens", () => {
  assert.equal(aicore.listeningRate({ LIVE_AI_NAME: "openai_live" }), 24_000);
  for (const models of [null, {}, { LIVE_AI_NAME: "gemini_live" }]) assert.equal(aicore.listeningRate(models), 16_000);
});

test("what was heard and the button are told as the gateway reads it", () => {
  const report = { generation: 3, played: 24_000, leftMs: 180, gaps: 0 };
  assert.deepEqual(aicore.playbackAck(report), wanted("playback_ack"));
  assert.deepEqual(aicore.pushToTalk(true), wanted("push_to_talk"));
  assert.equal(aicore.pushToTalk(false)[KEYS.body][KEYS.state], "end");
});

test("answers are numbered or not, and never by something else than a number", () => {
  for (const kind of ["output_audio", "cancel_audio"]) {
    const read = (fields) => aicore.decode(server(kind, fields), "audio").generation;
    assert.equal(read({ [KEYS.generation]: 4 }), 4);
    for (const fields of [{}, { [KEYS.generation]: null }, { [KEYS.generation]: "4" }]) assert.equal(read(fields), null);
  }
});

test("an interrupted answer says how much of it was heard", () => {
  const cut = read("recognition_output_interrupted");
  assert.deepEqual([cut.interrupted, cut.playedMs], [true, 1200]);
  const whole = read("recognition_output");
  assert.deepEqual([whole.interrupted, whole.playedMs], [false, null]);
  assert.deepEqual([read("output_audio_generation").generation, read("cancel_audio_generation").generation], [3, 3]);
});

test("every figure of a turn has a meaning, and a new one its name", () => {
  const { figures } = read("metrics").body;
  assert.deepEqual(figures.map(({ meaning }) => meaning), ["turnEnded", "modelBegan", "sent", "heard", "gaps", "lost"]);
  const told = (body) => aicore.decode(server("metrics", { [KEYS.body]: body }), "audio").body.figures;
  assert.deepEqual(told({ later: 12.5, text: "x" }), [{ name: "later", meaning: null, value: 12.5 }]);
  for (const body of [null, "text", []]) assert.deepEqual(told(body), []);
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

test("what can be chosen has a name for people, and what nobody has set up is left out", () => {
  const offered = {
    chat_models: { gemini: {}, near: { "m:1": "Mine" }, far: { "m:2": "Mine" }, scripted: { auto: "Scripted" } },
    code_models: { goose: { small: "small", auto: "Goose" } },
  };
  const { chosen, options } = aicore.readOffer({ available_models: offered, [KEYS.models]: { CHAT_AI_NAME: "far" } });
  assert.equal(chosen.CHAT_AI_NAME, "far");
  assert.deepEqual(options.chat.map(({ value, label }) => [value, label]), [
    ["near", "Mine (near)"],
    ["far", "Mine (far)"],
    ["scripted", "Scripted"],
  ]);
  assert.deepEqual(options.agent, [{ value: "goose", label: "Goose" }]);
  assert.deepEqual([options.live, options.place.map(({ value }) => value)], [[], ["auto", "worktree", "shared"]]);
  assert.deepEqual(aicore.readOffer(null).chosen, {}, "no data is nothing to choose, not fatal");
});

test("a change of settings names its session and nothing else than what is changed", () => {
  const body = JSON.parse(aicore.changeBody("ws-1", "CODE_AI4_PLACE", "shared"));
  assert.deepEqual(body, { [KEYS.session]: "ws-1", [KEYS.models]: { CODE_AI4_PLACE: "shared" } });
  assert.deepEqual(JSON.parse(aicore.offerBody("ws-1")), { [KEYS.session]: "ws-1" });
  assert.equal(aicore.SETTINGS.length, 2 + 2 * aicore.AGENTS.length);
});

test("queue places, errors and acks keep their numbers", () => {
  const queued = aicore.decode(server("output_text", { [KEYS.run]: 4, [KEYS.place]: 2, [KEYS.body]: "q" }), "1");
  assert.deepEqual([queued.run, queued.place], [4, 2]);
  const failed = aicore.decode(server("error", { [KEYS.code]: "queue_full", [KEYS.request]: "r" }), "input");
  assert.deepEqual([failed.code, failed.request, failed.channel], ["queue_full", "r", "input"]);
  assert.equal(aicore.decode(server("ack", { [KEYS.request]: "r", [KEYS.repeated]: true }), "input").repeated, true);
});
