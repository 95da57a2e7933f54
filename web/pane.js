// One conversation on the page: transcript, run state, stop buttons and the box to write in.

import { createComposer } from "./composer.js";
import { createEntry, lineCount } from "./entry.js";
import { label, text } from "./language.js";
import { IDLE, advance, isBusy } from "./run.js";
import { createTranscript } from "./transcript.js";
import { acceptChosen, acceptDropsAndPastes } from "./upload.js";

/** `actions`: send(text) to a request number, upload(files), cancel(run) with null for the current run or "all". */
export function createPane(root, actions) {
  const log = root.querySelector(".transcript");
  const transcript = createTranscript(log, root.querySelector(".latest"));
  const stop = root.querySelector(".stop");
  const waiting = root.querySelector(".waiting");
  let runs = IDLE;
  let awaited = null;
  let sent = null;

  function become(nextRuns, nextAwaited) {
    if (nextRuns === runs && nextAwaited === awaited) return;
    runs = nextRuns;
    awaited = nextAwaited;
    draw();
  }

  function draw() {
    const busy = isBusy(runs) || awaited !== null;
    if (!busy && document.activeElement === stop) composer.focus();
    stop.disabled = !busy;
    root.dataset.busy = String(busy);
    label(root.querySelector(".run-state"), busy ? "running" : "idle");
    drawQueue();
  }

  function drawQueue() {
    const focused = waiting.contains(document.activeElement);
    waiting.hidden = runs.queue.length === 0;
    label(root.querySelector(".waiting-count"), "queued", { count: runs.queue.length });
    const chips = runs.queue.map((run, index) => createChip(run, index + 1, () => actions.cancel(run)));
    root.querySelector(".queue").replaceChildren(...chips);
    if (focused) keepFocus();
  }

  // The button that had the focus may be gone; the keyboard must not be thrown back to the top of the page.
  function keepFocus() {
    if (waiting.hidden) composer.focus();
    else if (!waiting.contains(document.activeElement)) waiting.querySelector("button").focus();
  }

  function cancelCurrent() {
    if (!stop.disabled) actions.cancel(null);
  }

  function send(words) {
    sent = { request: actions.send(words), words };
  }

  const composer = createComposer(root.querySelector(".composer"), send);
  acceptDropsAndPastes(root, actions.upload);
  acceptChosen(root.querySelector(".attach"), root.querySelector("input[type=file]"), actions.upload);
  stop.addEventListener("click", cancelCurrent);
  root.querySelector(".stop-all").addEventListener("click", () => actions.cancel("all"));
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.isComposing) cancelCurrent();
  });
  draw();

  return {
    receive(packet) {
      const entry = createEntry(packet);
      if (entry !== null) transcript.append(entry, lineCount(packet));
      if (packet.kind === "welcome_text") log.setAttribute("aria-busy", "false");
      become(advance(runs, packet), endsWaiting(packet) ? null : awaited);
    },
    /** A chat has no start marker on the wire; what was sent is awaited until something answers. */
    awaitAnswer(request) {
      become(runs, request);
    },
    /** The gateway did not take what was sent. */
    refused(request) {
      if (sent?.request !== request) return;
      composer.restore(sent.words);
      if (awaited === request) become(runs, null);
    },
    clear() {
      log.setAttribute("aria-busy", "true");
      transcript.clear();
      become(IDLE, null);
    },
  };
}

function endsWaiting(packet) {
  return packet.kind === "cancel_run" || (packet.kind === "output_text" && packet.place === null);
}

function createChip(run, place, onCancel) {
  const item = document.createElement("li");
  const chip = document.createElement("button");
  chip.type = "button";
  chip.className = "chip";
  chip.dataset.run = run;
  chip.dataset.label = "queueCancel";
  chip.dataset.values = JSON.stringify({ run, place });
  chip.setAttribute("aria-label", text("queueCancel", { run, place }));
  chip.title = chip.getAttribute("aria-label");
  chip.textContent = String(place);
  chip.addEventListener("click", onCancel);
  item.append(chip);
  return item;
}
