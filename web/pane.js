// One conversation on the page: transcript, run state, stop buttons and the box to write in.

import { createComposer } from "./composer.js";
import { createEntry, lineCount } from "./entry.js";
import { label, text } from "./language.js";
import { IDLE, advance, isBusy } from "./run.js";
import { createTranscript } from "./transcript.js";
import { acceptChosen, acceptDropsAndPastes } from "./upload.js";

/** `actions`: send(text, pane), upload(files), cancel(run) with null for the current run or "all". */
export function createPane(root, actions) {
  const log = root.querySelector(".transcript");
  const transcript = createTranscript(log, root.querySelector(".latest"));
  const stop = root.querySelector(".stop");
  let runs = IDLE;
  let awaiting = false;

  function draw() {
    const busy = isBusy(runs) || awaiting;
    stop.disabled = !busy;
    root.dataset.busy = String(busy);
    label(root.querySelector(".run-state"), busy ? "running" : "idle");
    drawQueue();
  }

  function drawQueue() {
    root.querySelector(".waiting").hidden = runs.queue.length === 0;
    label(root.querySelector(".waiting-count"), "queued", { count: runs.queue.length });
    const chips = runs.queue.map((run, index) => createChip(run, index + 1, () => actions.cancel(run)));
    root.querySelector(".queue").replaceChildren(...chips);
  }

  function cancelCurrent() {
    if (stop.disabled) return;
    actions.cancel(!runs.running && runs.queue.length > 0 ? "all" : null);
  }

  createComposer(root.querySelector(".composer"), (words) => actions.send(words));
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
      if (endsWaiting(packet)) awaiting = false;
      const next = advance(runs, packet);
      const changed = next !== runs || endsWaiting(packet);
      runs = next;
      if (changed) draw();
    },
    /** A chat has no start marker on the wire; what was sent is awaited until something answers. */
    awaitAnswer() {
      awaiting = true;
      draw();
    },
    clear() {
      log.setAttribute("aria-busy", "true");
      transcript.clear();
      runs = IDLE;
      awaiting = false;
      draw();
    },
  };
}

function endsWaiting(packet) {
  const answered = packet.kind === "output_text" && packet.place === null;
  return answered || packet.kind === "cancel_run" || (packet.kind === "output_stream" && packet.marker !== null);
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
