// What an agent intends to do, as a list that is ticked off.

import { box, element, worded } from "./element.js";
import { label } from "./language.js";

const STATE_TEXTS = { pending: "planPending", started: "planStarted", completed: "planCompleted" };

export function createPlan() {
  const heading = element("span", "heading");
  const list = element("ol");
  const node = box("section", "entry plan", heading, list);

  return {
    node,
    update({ steps }) {
      const done = steps.filter(({ state }) => state === "completed").length;
      label(heading, "plan", { done, count: steps.length });
      list.replaceChildren(...steps.map(createStep));
    },
  };
}

function createStep({ text, state }) {
  const item = box("li", "", element("span", "plan-mark"), element("span", "plan-text", text));
  item.dataset.state = state;
  item.append(worded("span", "unseen", STATE_TEXTS[state] ?? "planPending"));
  return item;
}
