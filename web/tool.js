// One use of a tool as a row: what it is, how far it is, and on a click what went in and what came out.

import { box, element, worded } from "./element.js";
import { label } from "./language.js";
import { readable } from "./payload.js";

const STATE_TEXTS = { started: "toolStarted", completed: "toolCompleted", failed: "toolFailed" };

export function createTool() {
  const name = element("span", "tool-name");
  const ungated = worded("span", "badge alarm", "ungated");
  const state = element("span", "unseen");
  const summary = box("summary", "", element("span", "tool-mark"), name, ungated, state);
  const node = box("details", "entry tool", summary);
  let body = null;

  // Inputs and outputs are long and mostly never looked at.
  function drawInside() {
    if (!node.open) return;
    const parts = [part("toolInput", body.input), part("toolOutput", body.output), part("toolError", body.error)];
    const given = parts.filter((section) => section !== null);
    const shown = given.length === 0 ? [worded("p", "note", "toolSilent")] : given;
    node.querySelector(".tool-inside")?.remove();
    node.append(box("div", "tool-inside", ...shown));
  }

  node.addEventListener("toggle", drawInside);

  return {
    node,
    /** Whoever counts from one again after a new start gives a number twice. */
    isOver: (next) => next.state === "started" && body.state !== "started",
    update(next) {
      body = next;
      node.dataset.state = body.state;
      node.dataset.tool = body.id;
      name.textContent = body.name;
      name.title = body.name;
      ungated.hidden = !body.ungated;
      label(state, STATE_TEXTS[body.state] ?? "toolStarted");
      drawInside();
    },
  };
}

function part(key, words) {
  if (words === null || words === "") return null;
  const content = element("pre", "", readable(words));
  content.tabIndex = 0;
  return box("div", "tool-part", worded("span", "heading", key), content);
}
