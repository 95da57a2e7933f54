// The turn that is worked on: what is done now, in which step, and since when.

import { addEntry } from "./transcript.js";
import { shorten, wordsOf } from "./words.js";

const STATES = new Set(["thinking", "executing", "waiting"]);
const MOST_CHARACTERS = 500;
const MOST_CONFIRMS = 20;
const MOST_ARGUMENTS = 8_000;

/** `heardAt` is this computer's clock, on which the page counts on. */
export function takeProgress(state, content, heardAt) {
  const elapsed = Number.isFinite(content?.elapsed_ms) ? Math.max(0, content.elapsed_ms) : null;
  if (content?.state === "ended") return endRun(state, elapsed);
  if (!STATES.has(content?.state)) return state;
  const startedAt = elapsed === null ? (state.run?.startedAt ?? heardAt) : heardAt - elapsed;
  const step = content.step ?? null;
  const text = shorten(wordsOf(content.text), MOST_CHARACTERS);
  return { ...state, run: { state: content.state, step: step === null ? null : wordsOf(step).slice(0, 40), text, startedAt } };
}

function endRun(state, elapsed) {
  const ended = state.run === null ? state : addEntry(state, { kind: "ended", elapsed, words: "" });
  return { ...ended, run: null, confirms: [], cancelling: false };
}

export function addConfirm(state, content) {
  if (content === null || typeof content !== "object") return state;
  const confirm = {
    key: state.next,
    id: content.id,
    tool: wordsOf(content.tool).slice(0, 200),
    words: shorten(argumentsOf(content.arguments), MOST_ARGUMENTS),
    warning: shorten(wordsOf(content.warning), MOST_CHARACTERS),
  };
  const others = state.confirms.filter(({ id }) => id !== content.id);
  return { ...state, next: state.next + 1, confirms: [...others, confirm].slice(-MOST_CONFIRMS) };
}

export function settleConfirm(state, content) {
  const confirm = state.confirms.find(({ id }) => id === content?.id);
  if (confirm === undefined) return state;
  const decided = addEntry(state, { kind: "decision", words: confirm.tool, allowed: content.allowed === true });
  return { ...decided, confirms: state.confirms.filter((other) => other !== confirm) };
}

function argumentsOf(value) {
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : wordsOf(value);
}
