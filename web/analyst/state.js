// What the page knows, made only from frames: the same frames give the same page, live or after a reload.

import { addToTurn, endTurn, newTurn, startOf } from "./turn.js";

/** `clock` is how far this computer's clock is ahead of the server's; `returned` is a question that was not taken. */
export const EMPTY = Object.freeze({
  session: null,
  datasets: [],
  turns: [],
  pending: [],
  confirms: [],
  trouble: null,
  returned: null,
  clock: 0,
});

/** Frames besides the server's: `local_ask` is a question on its way, `local_gone` the end of a session. */
export function apply(state, frame, heardAt = 0) {
  switch (frame.type) {
    case "connected":
      return greeted(state, frame, heardAt);
    case "dataset_info":
      return { ...state, datasets: withDataset(state.datasets, frame) };
    case "user":
      return asked(state, frame);
    case "message":
      return said(state, frame);
    case "progress":
    case "reason":
    case "code":
    case "exec":
    case "artifact":
    case "report":
    case "question":
      return ofRun(state, frame, (turn) => addToTurn(turn, frame, state.clock));
    case "done":
      return { ...ofRun(state, frame, (turn) => endTurn(turn, frame)), confirms: [] };
    case "confirm":
      return { ...state, confirms: [...withoutConfirm(state, frame), frame] };
    case "confirmed":
      return { ...state, confirms: withoutConfirm(state, frame) };
    case "ack":
      return { ...state, pending: state.pending.map((ask) => (ask.id === frame.id ? { ...ask, acked: true } : ask)) };
    case "error":
      return failed(state, frame);
    case "local_ask":
      return { ...state, trouble: null, returned: null, pending: [...state.pending, { id: frame.id, text: frame.text, acked: false }] };
    case "local_gone":
      return { ...EMPTY, trouble: { key: "sessionGone" } };
    default:
      return state;
  }
}

/** The request that is being worked on, or null. */
export function activeTurn(state) {
  return state.turns.find((turn) => turn.kind === "request" && turn.outcome === null) ?? null;
}

export function isBusy(state) {
  return state.pending.length > 0 || activeTurn(state) !== null;
}

/** Figures and tables of all requests by their names; the newest one counts. */
export function artifactsOf(state) {
  const steps = state.turns.flatMap((turn) => turn.steps);
  return new Map(steps.flatMap((step) => step.artifacts).map((artifact) => [artifact.file_name, artifact]));
}

// A session that cannot be resumed is told again from its beginning.
function greeted(state, { session, resumed, at }, heardAt) {
  const clock = at === undefined ? 0 : heardAt - Date.parse(at);
  const kept = resumed ? state : { ...EMPTY, pending: state.pending };
  return { ...kept, session, clock, trouble: null };
}

// The newest file is `df`; a file of the same name takes the place of the earlier one.
function withDataset(datasets, frame) {
  return [...datasets.filter(({ name }) => name !== frame.name), frame];
}

function asked(state, frame) {
  const place = state.pending.findIndex(({ text }) => text.trim() === frame.text.trim());
  const pending = place < 0 ? state.pending : state.pending.toSpliced(place, 1);
  const turn = newTurn("request", frame.text, startOf(frame, state.clock));
  return { ...state, trouble: null, pending, turns: [...state.turns, turn] };
}

// Words that answer the last question belong to it; a question without a run is answered by them.
function said(state, { text }) {
  const last = state.turns.at(-1);
  if (last?.kind !== "request" || last.report !== null || last.question !== null) {
    return { ...state, turns: [...state.turns, newTurn("message", text)] };
  }
  const outcome = last.run === null ? "answered" : last.outcome;
  return { ...state, turns: state.turns.with(-1, { ...last, outcome, messages: [...last.messages, text] }) };
}

function ofRun(state, frame, change) {
  const { turns, place } = turnOf(state, frame);
  const { run, outcome, ...turn } = turns[place];
  const claimed = { ...turn, run: frame.run ?? run, outcome: outcome === "answered" ? null : outcome };
  return { ...state, turns: turns.with(place, change(claimed)) };
}

// Requests are worked on in the order of their questions, so a new run belongs to the first question after the last run.
// Who resumes in the middle of a run gets frames without its number.
function turnOf({ turns, clock }, frame) {
  const isOf = (turn) => (frame.run == null ? turn.run !== null && turn.outcome === null : turn.run === frame.run);
  const known = turns.findLastIndex(isOf);
  if (known >= 0) return { turns, place: known };
  const last = turns.findLastIndex((turn) => turn.run !== null);
  const waiting = turns.findIndex((turn, index) => index > last && turn.kind === "request");
  if (waiting >= 0) return { turns, place: waiting };
  return { turns: [...turns, newTurn("request", null, startOf(frame, clock))], place: turns.length };
}

function withoutConfirm({ confirms }, { id }) {
  return confirms.filter((asked) => asked.id !== id);
}

// What was refused before it was taken goes back to the person who wrote it.
function failed(state, { id = null, code, message }) {
  const trouble = { code, message };
  const refused = state.pending.findIndex((ask) => ask.id === id);
  if (refused >= 0) {
    return { ...state, trouble, returned: state.pending[refused].text, pending: state.pending.toSpliced(refused, 1) };
  }
  const place = state.turns.findLastIndex((turn) => turn.kind === "request" && (turn.outcome === null || turn.outcome === "failed"));
  if (place < 0 || place < state.turns.length - 1) return { ...state, trouble };
  const turn = state.turns[place];
  return { ...state, turns: state.turns.with(place, { ...turn, trouble, outcome: turn.run === null ? "failed" : turn.outcome }) };
}
