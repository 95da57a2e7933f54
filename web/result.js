// What a run has come to: its files, its costs, and what is to become of it.

import { clock, money, short, signed } from "./amount.js";
import { createChanges, leftOutNote } from "./changes.js";
import { createChoices, sureButton } from "./choices.js";
import { box, element, worded } from "./element.js";

/** So many files are shown at once; more wait for a click. */
const FEW_FILES = 6;

/** `actions` as for choices, and restore(agent, run). */
export function createResult(packet, agent, actions) {
  const { files, overlaps, more, place, leftOut } = packet.body;
  const choices = files.length === 0 ? null : choicesIn(place, agent, actions);
  const undo = files.length === 0 || packet.run === null ? null : undoButton(agent, packet.run, actions);
  if (undo !== null) choices.append(undo);
  const notes = [moreNote(more), leftOutNote(leftOut)];
  const node = box("section", "entry result", heading(packet.body), ...tables(files, overlaps), ...notes, choices);
  node.dataset.outcome = packet.body.outcome;
  return {
    node,
    /** A newer result speaks for the whole work; of this one only its beginning can still be wanted back. */
    outdate: () => choices?.replaceChildren(...(undo === null ? [] : [undo])),
  };
}

// What is in the project already can be neither accepted nor discarded.
function choicesIn(place, agent, actions) {
  return place === "shared" ? box("div", "choices") : createChoices(agent, actions);
}

function undoButton(agent, run, actions) {
  return sureButton("restore", "restoreBefore", "restoreSure", () => actions.restore(agent, run));
}

function heading({ files, seconds, tokens, cost }) {
  const [added, removed] = [sum(files, "added"), sum(files, "removed")];
  const facts = [
    files.length === 0 ? null : element("span", "lines-changed", signed(added, removed)),
    seconds === null ? null : element("span", "", clock(seconds)),
    tokens === null ? null : worded("span", "", "tokens", { count: short(tokens) }),
    cost === null ? null : element("span", "", money(cost)),
  ];
  const title = files.length === 0 ? worded("span", "", "noChanges") : worded("span", "", "resultFiles", { count: files.length });
  return box("p", "result-heading", title, ...facts);
}

function tables(files, overlaps) {
  if (files.length === 0) return [];
  const first = createChanges(files.slice(0, FEW_FILES), overlaps);
  if (files.length <= FEW_FILES) return [first];
  const rest = createChanges(files.slice(FEW_FILES), overlaps);
  const count = files.length - FEW_FILES;
  return [first, box("details", "", worded("summary", "", "moreFiles", { count }), rest)];
}

function moreNote(more) {
  return more ? worded("p", "note", "moreThanShown") : null;
}

function sum(files, key) {
  return files.reduce((total, file) => total + (file[key] ?? 0), 0);
}
