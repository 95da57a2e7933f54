// One entry of the chat. Words of others are text, never markup.

import { createCodeBlock } from "../analyst/codeblock.js";
import { durationOf } from "../analyst/duration.js";
import { box, element, worded } from "../element.js";
import { name } from "../language.js";

const SPEAKERS = { user: "you", text: "agentSays", error: "failed" };

export function createEntry(entry) {
  const node = build(entry);
  node.dataset.kind = entry.kind;
  return node;
}

export function createPending({ text }) {
  return box("div", "talk on-its-way", worded("p", "speaker", "you"), element("p", "words", text), worded("p", "fact", "sending"));
}

/** "3" is a number of ours to name; "Step 3" is a name already. */
export function stepName(step) {
  return /^\d+$/.test(step) ? worded("span", "step", "stepNumber", { step }) : element("span", "step", step);
}

function build(entry) {
  switch (entry.kind) {
    case "code":
      return code(entry);
    case "decision":
      return worded("p", "fact", entry.allowed ? "decidedAllowed" : "decidedDenied", { tool: entry.words });
    case "ended":
      return entry.elapsed === null ? element("p", "fact") : worded("p", "fact", "finishedIn", { time: durationOf(entry.elapsed) });
    default:
      return box("article", "talk", worded("p", "speaker", SPEAKERS[entry.kind]), element("p", "words", entry.words));
  }
}

function code({ words, language, step }) {
  const block = createCodeBlock(words, language);
  const head = block.querySelector(".code-head");
  head.firstElementChild.className = "language";
  if (step !== "") head.prepend(stepName(step));
  name(block, "codeOf");
  block.setAttribute("role", "group");
  return block;
}
