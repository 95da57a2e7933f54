// One line under the bar while people talk: who has the word, what was understood, what was said, and how long it took.

import { element, worded } from "./element.js";
import { label, name } from "./language.js";

/** After the last sound the line stays for as long as it takes to read it. */
const LINGER_MS = 8_000;
const FIGURE_TEXTS = {
  turnEnded: "figureTurnEnded",
  modelBegan: "figureModelBegan",
  sent: "figureSent",
  heard: "figureHeard",
  stopped: "figureStopped",
  gaps: "figureGaps",
  lost: "figureLost",
};
const COUNTS = new Set(["gaps", "lost"]);

/** States: "rest", "listening", "muted", "talking" (the person holds the button), "speaking" (the model). */
const STATE_TEXTS = {
  rest: "empty",
  listening: "captionListening",
  muted: "captionMuted",
  talking: "captionTalking",
  speaking: "captionSpeaking",
};

export function createCaptions(root) {
  const figures = root.querySelector(".figures");
  let state = "rest";
  let timer = null;

  function hideIfOver() {
    if (state === "rest" && !figures.open) root.hidden = true;
  }

  function show(next) {
    root.hidden = false;
    state = next;
    root.dataset.state = state;
    clearTimeout(timer);
    if (state === "rest") timer = setTimeout(hideIfOver, LINGER_MS);
    label(root.querySelector(".caption-state"), STATE_TEXTS[state]);
  }

  figures.addEventListener("toggle", () => state === "rest" && show("rest"));

  return {
    setState: (next) => next !== state && show(next),
    /** Words of the person; the answer to the last ones is over. */
    heard(words) {
      root.querySelector(".caption-heard").textContent = words;
      root.querySelector(".caption-said").replaceChildren();
      show(state);
    },
    said(packet) {
      root.querySelector(".caption-said").replaceChildren(packet.body, ...createCut(packet));
      show(state);
    },
    setFigures(list) {
      figures.hidden = list.length === 0;
      figures.querySelector("dl").replaceChildren(...list.flatMap(createFigure));
    },
  };
}

/** The mark of an answer that was interrupted; nothing for others. */
export function createCut({ interrupted, playedMs }) {
  if (!interrupted) return [];
  const cut = element("span", "cut", "—");
  cut.setAttribute("role", "img");
  if (playedMs === null) return [name(cut, "interrupted")];
  return [name(cut, "interruptedAfter", { seconds: (playedMs / 1000).toFixed(1) })];
}

function createFigure({ name: unknown, meaning, value }) {
  const rounded = Math.round(value * 10) / 10;
  const title = meaning === null ? element("dt", "", unknown) : worded("dt", "", FIGURE_TEXTS[meaning]);
  return [title, element("dd", "", COUNTS.has(meaning) ? String(rounded) : `${rounded} ms`)];
}
