// The question box, the examples above it, and the line that tells what is going on.

import { createComposer } from "../composer.js";
import { box, element } from "../element.js";
import { label, text } from "../language.js";
import { wholeSeconds } from "./duration.js";
import { examplesFor } from "./examples.js";
import { activeTurn, isBusy } from "./state.js";

const TICK_MS = 500;

/** `ask(words)` answers false if they cannot be sent now. */
export function createAskBox(root, { ask, cancel }) {
  const find = (selector) => root.querySelector(selector);
  const [question, progress, examples, stop] = ["#question", "#progress", "#examples", "#cancel"].map(find);
  const [what, loops, clock] = [".what", ".loops", ".clock"].map((part) => progress.querySelector(part));
  const composer = createComposer(find("#askbox"), ask);
  let state = null;
  let newest = null;
  let exampleLanguage = null;
  let returned = null;
  let cancelling = false;

  function tick() {
    const turn = state === null ? null : activeTurn(state);
    clock.textContent = turn?.startedAt == null ? "" : wholeSeconds(Date.now() - turn.startedAt);
  }

  function drawProgress() {
    const busy = isBusy(state);
    if (!busy) cancelling = false;
    progress.hidden = !busy;
    stop.hidden = !busy;
    find("#askbox .send").hidden = busy;
    stop.disabled = cancelling;
    if (!busy) return;
    const { key, values } = cancelling ? { key: "cancelling", values: {} } : stageOf(activeTurn(state)?.progress ?? null);
    label(what, key, values);
    drawLoops(activeTurn(state)?.progress ?? null);
    tick();
  }

  function drawLoops(frame) {
    loops.hidden = frame === null || frame.node === "setup" || !frame.loop;
    if (!loops.hidden) label(loops, "loopOf", { loop: frame.loop, loops: frame.loops });
  }

  function drawExamples() {
    const dataset = state.datasets.at(-1) ?? null;
    examples.hidden = isBusy(state);
    if (dataset === newest && exampleLanguage === document.documentElement.lang) return;
    newest = dataset;
    exampleLanguage = document.documentElement.lang;
    const found = dataset === null ? [] : examplesFor(dataset);
    examples.replaceChildren(...found.map(([key, values]) => box("li", "", exampleButton(text(key, values)))));
  }

  function exampleButton(words) {
    const node = element("button", "example", words);
    node.type = "button";
    node.addEventListener("click", () => ask(words));
    return node;
  }

  function drawHint() {
    const isAsked = state.turns.at(-1)?.question != null;
    question.dataset.hint = isAsked ? "answerHint" : state.datasets.length === 0 ? "askHintNoData" : "typeQuestion";
    question.placeholder = text(question.dataset.hint);
  }

  stop.addEventListener("click", stopNow);
  setInterval(tick, TICK_MS);

  function stopNow() {
    if (state === null || !isBusy(state) || cancelling) return;
    cancelling = true;
    cancel();
    drawProgress();
    question.focus();
  }

  return {
    update(next) {
      state = next;
      drawProgress();
      drawExamples();
      drawHint();
      if (state.returned !== null && state.returned !== returned) composer.restore(state.returned);
      returned = state.returned;
    },
    stop: stopNow,
    focus: composer.focus,
  };
}

function stageOf(frame) {
  if (frame === null) return { key: "progress_start", values: {} };
  if (frame.node === "setup" && frame.text) return { key: "progress_setup_what", values: { what: frame.text } };
  return { key: `progress_${frame.node}`, values: {} };
}
