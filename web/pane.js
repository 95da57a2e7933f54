// One conversation on the page: transcript, run state, stop buttons and the box to write in.

import { createComposer } from "./composer.js";
import { createDrafts } from "./draft.js";
import { createEntry, lineCount } from "./entry.js";
import { label, name } from "./language.js";
import { IDLE, advance, isBusy, isNotice } from "./run.js";
import { createTranscript } from "./transcript.js";
import { acceptChosen, acceptDropsAndPastes } from "./upload.js";

/**
 * `actions`: send(text) to a request number, or undefined to keep the words; upload(files); cancel(run) with null for
 * the current run or "all". `createWork(transcript)` makes what shows somebody at work: receive(packet, replayed) is
 * true for what it has shown, `tellsState` whether it also says what is being done.
 */
export function createPane(root, actions, createWork) {
  const log = root.querySelector(".transcript");
  const transcript = createTranscript(log, root.querySelector(".latest"));
  const drafts = createDrafts(transcript);
  const work = createWork(transcript);
  const stop = root.querySelector(".stop");
  const waiting = root.querySelector(".waiting");
  let runs = IDLE;
  let awaited = null;
  let sent = null;
  let asks = false;

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
    if (!work.tellsState) drawState(busy);
    drawQueue();
  }

  function drawState(busy) {
    root.dataset.state = asks ? "waiting_for_confirmation" : "";
    label(root.querySelector(".run-state"), asks ? "stateAsking" : busy ? "running" : "idle");
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

  function show(packet) {
    if (isPiece(packet)) return drafts.add(packet);
    const parts = packet.kind === "output_text" ? drafts.take(packet.run) : [];
    const entry = createEntry(packet, { notice: parts.length === 0 && isNotice(runs, packet) });
    const draft = parts.pop();
    parts.forEach((part) => transcript.remove(part));
    if (entry === null) return;
    if (draft === undefined) transcript.append(entry, lineCount(packet));
    else transcript.replace(draft, entry, lineCount(packet));
  }

  function cancelCurrent() {
    if (!stop.disabled) actions.cancel(null);
  }

  function send(words) {
    const request = actions.send(words);
    if (request === undefined) return false;
    sent = { request, words };
    return true;
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
      const replayed = log.getAttribute("aria-busy") === "true";
      if (!work.receive(packet, replayed)) show(packet);
      if (packet.kind === "welcome_text") log.setAttribute("aria-busy", "false");
      become(advance(runs, packet), endsWaiting(packet) ? null : awaited);
    },
    /** A chat has no start marker on the wire; what was sent is awaited until something answers. */
    awaitAnswer(request) {
      become(runs, request);
    },
    /** Whether it waits for an answer to a question. */
    setAsks(next) {
      if (next === asks) return;
      asks = next;
      draw();
    },
    /** The gateway did not take what was sent. */
    refused(request) {
      if (sent?.request !== request) return;
      composer.restore(sent.words);
      if (awaited === request) become(runs, null);
    },
    focus: () => composer.focus(),
    clear() {
      log.setAttribute("aria-busy", "true");
      transcript.clear();
      drafts.clear();
      work.clear();
      become(IDLE, null);
    },
  };
}

// Lines of progress are numbered and kept; pieces of an answer are not.
function isPiece(packet) {
  return packet.kind === "output_stream" && packet.seq === null && packet.run !== null && packet.marker === null;
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
  name(chip, "queueCancel", { run, place });
  chip.textContent = String(place);
  chip.addEventListener("click", onCancel);
  item.append(chip);
  return item;
}
