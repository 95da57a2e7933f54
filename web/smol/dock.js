// What stands under the chat: what is going on, the message box, and the way to stop.

import { wholeSeconds } from "../analyst/duration.js";
import { createComposer } from "../composer.js";
import { label, text } from "../language.js";
import { stepName } from "./entry.js";
import { isBusy } from "./state.js";

const TICK_MS = 500;
const STATES = { thinking: "stateThinking", executing: "stateExecuting", waiting: "stateWaiting" };

/** `say(words)` answers false if they cannot be sent now. */
export function createDock(root, { say, cancel }) {
  const find = (selector) => root.querySelector(selector);
  const progress = find("#progress");
  const [step, what, detail, clock] = [".step", ".what", ".detail", ".clock"].map((part) => progress.querySelector(part));
  const composer = createComposer(find("#say"), say);
  const stop = find("#cancel");
  const send = find("#say .send");
  let state = null;
  let returned = null;
  let isReady = false;

  function drawProgress() {
    const { run, cancelling } = state;
    const busy = isBusy(state);
    progress.dataset.busy = String(busy);
    stop.hidden = !busy;
    stop.disabled = cancelling;
    step.replaceChildren(...(run === null || run.step === null ? [] : [stepName(run.step)]));
    write(what, busy ? (cancelling ? "cancelling" : stageOf(state)) : "");
    if (detail.textContent !== (run?.text ?? "")) detail.textContent = run?.text ?? "";
    tick();
  }

  function tick() {
    const startedAt = state?.run?.startedAt ?? null;
    clock.textContent = startedAt === null ? "" : wholeSeconds(Date.now() - startedAt);
  }

  function drawReturned() {
    if (state.returned !== null && state.returned !== returned) composer.restore(state.returned.text);
    returned = state.returned;
    const trouble = find("#trouble");
    trouble.hidden = returned === null;
    if (!trouble.hidden) label(trouble, "notTaken");
  }

  stop.addEventListener("click", () => {
    cancel();
    composer.focus();
  });
  setInterval(tick, TICK_MS);

  return {
    update(next) {
      state = next;
      drawProgress();
      drawReturned();
      send.disabled = !isReady || state.replaying;
    },
    setReady(ready) {
      isReady = ready;
      send.disabled = !ready;
    },
    focus: composer.focus,
  };
}

// Written only when it changes, because it is read aloud.
function write(node, key) {
  const words = key === "" ? "" : text(key);
  if (node.textContent !== words) node.textContent = words;
}

function stageOf({ run, confirms }) {
  if (confirms.length > 0) return "stateAsking";
  return run === null ? "stateStarting" : STATES[run.state];
}
