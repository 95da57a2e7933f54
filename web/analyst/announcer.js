// Tells people who listen to the page what is going on, in a sentence for each change.

import { text } from "../language.js";
import { activeTurn } from "./state.js";

export function createAnnouncer(node) {
  let said = "";
  return {
    update(state) {
      const words = sentenceOf(state);
      if (words === said) return;
      said = words;
      node.textContent = words;
    },
  };
}

// Without seconds: they would be read aloud all the time.
function sentenceOf(state) {
  const active = activeTurn(state);
  if (active !== null) return sentenceOfProgress(active.progress);
  const last = state.turns.at(-1);
  if (last?.question != null) return last.question;
  if (last?.report != null) return text("reportReady", { title: last.report.title });
  const dataset = state.datasets.at(-1);
  return dataset === undefined ? "" : text("uploadDone", { name: dataset.name });
}

function sentenceOfProgress(progress) {
  if (progress === null) return text("progress_start");
  const stage = text(`progress_${progress.node}`);
  if (!progress.loop) return stage;
  return `${text("loopOf", { loop: progress.loop, loops: progress.loops })}. ${stage}`;
}
