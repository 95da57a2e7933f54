// The page's knowledge, frame by frame, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createCursor } from "./cursor.js";
import { EMPTY, activeTurn, apply, artifactsOf, isBusy } from "./state.js";

const AT = "2026-01-05T00:00:00Z";
const HELLO = { type: "connected", session: "ws-1", resumed: true, seq: 0, at: AT };

function after(...frames) {
  return frames.reduce((state, frame) => apply(state, frame, Date.parse(AT)), EMPTY);
}

const asked = { type: "user", text: "total by region", at: AT };
const reason = (loop, more = {}) => ({ type: "reason", run: 1, loop, next_action: "act", rationale: `r${loop}`, ...more });
const code = (loop) => ({ type: "code", run: 1, loop, language: "python", code: "df" });
const exec = (loop, success = true) => ({ type: "exec", run: 1, loop, success, stdout: "", error: null, outputs: [] });
const figure = (name) => ({ type: "artifact", run: 1, kind: "figure", file_name: name, url: `/x/${name}` });
const done = { type: "done", run: 1, loops: 1, outcome: "finished", elapsed_ms: 900 };

test("the parts of one loop are one step, and its figures belong to it", () => {
  const state = after(HELLO, asked, reason(1), code(1), exec(1), figure("a.png"), reason(2), code(2), exec(2), figure("b.png"));
  const [turn] = state.turns;
  assert.deepEqual(turn.steps.map((step) => step.artifacts.map((file) => file.file_name)), [["a.png"], ["b.png"]]);
  assert.deepEqual([...artifactsOf(state).keys()], ["a.png", "b.png"]);
});

test("code that is tried again within a loop is a step of its own", () => {
  const state = after(asked, reason(1), code(1), exec(1, false), code(1), exec(1));
  assert.deepEqual(state.turns[0].steps.map((step) => step.exec.success), [false, true]);
});

test("a report keeps its place, and its file is no figure", () => {
  const report = { type: "report", run: 1, title: "T", sections: [], suggestions: [] };
  const state = after(asked, reason(1), code(1), exec(1), report, { ...figure("report.md"), kind: "report" }, done);
  assert.equal(state.turns[0].report.title, "T");
  assert.equal(artifactsOf(state).size, 0);
  assert.equal(isBusy(state), false);
});

test("a run belongs to the oldest question that has none", () => {
  const second = { ...asked, text: "second" };
  const state = after(asked, second, reason(1), done, { ...reason(1), run: 2 });
  assert.deepEqual(state.turns.map((turn) => [turn.text, turn.run]), [["total by region", 1], ["second", 2]]);
  assert.equal(activeTurn(state).text, "second");
});

test("a run without a question that we know is shown all the same", () => {
  const state = after(HELLO, reason(2));
  assert.deepEqual(state.turns.map((turn) => [turn.text, turn.run]), [[null, 1]]);
});

test("a file of the same name takes the place of the earlier one and is the chosen one", () => {
  const info = (name, rows) => ({ type: "dataset_info", name, shape: [rows, 1], columns: ["a"], dtypes: {}, head: [], warnings: [] });
  const state = after(info("a.csv", 1), info("b.csv", 2), info("a.csv", 3));
  assert.deepEqual(state.datasets.map(({ name, shape }) => [name, shape[0]]), [["b.csv", 2], ["a.csv", 3]]);
});

test("a question is pending until the server shows it", () => {
  const asking = after(HELLO, { type: "local_ask", id: "q", text: "total by region" });
  assert.equal(isBusy(asking), true);
  const taken = apply(asking, { type: "ack", id: "q", repeated: false });
  assert.equal(taken.pending[0].acked, true);
  const shown = apply(taken, asked);
  assert.deepEqual([shown.pending.length, shown.turns.length], [0, 1]);
});

test("a refused question goes back to its writer", () => {
  const state = after(HELLO, { type: "local_ask", id: "q", text: "total" }, { type: "error", id: "q", code: "busy", message: "wait" });
  assert.deepEqual([state.returned, state.trouble.message, isBusy(state)], ["total", "wait", false]);
});

test("an error of a request that never ran ends it; one of a running request does not", () => {
  const error = { type: "error", code: "python", message: "no Python" };
  assert.equal(after(asked, error).turns[0].outcome, "failed");
  const running = after(asked, reason(1), error);
  assert.deepEqual([running.turns[0].outcome, running.turns[0].trouble.message], [null, "no Python"]);
  const late = after(asked, reason(1), { ...done, outcome: "failed" }, error);
  assert.deepEqual([late.turns[0].trouble.message, late.trouble], ["no Python", null]);
});

test("a session that cannot be resumed is told again, without what was shown before", () => {
  const state = after(HELLO, asked, done, { ...HELLO, resumed: false });
  assert.deepEqual([state.turns.length, state.session], [0, "ws-1"]);
});

test("a session that is gone leaves nothing but the word about it", () => {
  const state = after(HELLO, asked, { type: "local_gone" });
  assert.deepEqual([state.session, state.turns.length, state.trouble.key], [null, 0, "sessionGone"]);
});

test("elapsed time counts from the server's clock, however wrong this one is", () => {
  const late = 3_600_000;
  const hello = apply(EMPTY, HELLO, Date.parse(AT) + late);
  const state = apply(hello, { type: "progress", run: 1, node: "reason", loop: 1, loops: 5, elapsed_ms: 4000, at: AT });
  assert.equal(state.turns[0].startedAt, Date.parse(AT) - 4000 + late);
});

test("unknown frames change nothing", () => {
  assert.equal(apply(EMPTY, { type: "future" }), EMPTY);
});

test("frames without the number of their run belong to the one that is going on", () => {
  const late = { type: "progress", run: null, node: "code_exec", loop: 2, loops: 5, elapsed_ms: null, at: AT };
  const state = after(HELLO, asked, reason(1), late, { ...done, run: null, elapsed_ms: null });
  assert.deepEqual(state.turns.map((turn) => [turn.run, turn.progress.loop, turn.outcome]), [[1, 2, "finished"]]);
  assert.equal(state.turns[0].startedAt, Date.parse(AT));
});

test("a question that is answered without a run is over, unless a run follows", () => {
  const help = { type: "message", text: "commands: /help" };
  const answered = after({ ...asked, text: "/help" }, help);
  assert.deepEqual([isBusy(answered), answered.turns.length, answered.turns[0].messages], [false, 1, ["commands: /help"]]);
  const running = apply(answered, reason(1));
  assert.deepEqual([running.turns.length, isBusy(running)], [1, true]);
});

test("words after a report stand alone", () => {
  const report = { type: "report", run: 1, title: "T", sections: [] };
  const state = after(asked, reason(1), report, done, { type: "message", text: "by the way" });
  assert.deepEqual(state.turns.map((turn) => turn.kind), ["request", "message"]);
});

test("a permission is asked until it is answered, or its request has ended", () => {
  const confirm = { type: "confirm", id: "c", tool: "shell", message: "run it?" };
  assert.equal(after(asked, confirm, confirm).confirms.length, 1);
  assert.equal(after(asked, confirm, { type: "confirmed", id: "c" }).confirms.length, 0);
  assert.equal(after(asked, reason(1), confirm, done).confirms.length, 0);
});

test("what comes again after a reconnect is passed over", () => {
  const cursor = createCursor();
  const log = [1, 2, 3].map((seq) => ({ type: "message", seq, text: `${seq}` }));
  const shown = [...log, ...log.slice(0, 2), { type: "error", seq: 3, code: "x" }, { type: "message", seq: 4 }];
  assert.deepEqual(shown.filter((frame) => cursor.isNew(frame)).map(({ seq }) => seq), [1, 2, 3, 3, 4]);
});

test("frames that belong to a connection pass the cursor and do not move it", () => {
  const cursor = createCursor();
  assert.ok(cursor.isNew({ type: "message", seq: 4, text: "a" }));
  for (const type of ["connected", "connected", "ack"]) assert.ok(cursor.isNew({ type, seq: 9 }));
  assert.ok(cursor.isNew({ type: "message", seq: 5, text: "b" }));
  assert.equal(cursor.after, 5);
});
