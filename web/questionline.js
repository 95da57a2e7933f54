// What remains of a question in the agent's own pane: one line, which tells the answer when there is one.

import { element } from "./element.js";
import { label } from "./language.js";

export function createQuestionLine() {
  const node = element("div", "entry note question-line");
  let tool = "";

  return {
    node,
    update(body) {
      tool = body.tool;
      node.dataset.level = body.level;
      label(node, "askedFor", { tool });
    },
    settle(verdict) {
      node.dataset.approved = String(verdict.approved);
      label(node, verdictKey(verdict), { tool });
    },
  };
}

/** The text that says what was decided, and by whom. */
export function verdictKey({ approved, by }) {
  if (by === "user") return approved ? "allowedByUser" : "refusedByUser";
  if (by === "time") return "refusedByTime";
  if (by === "end") return "refusedByEnd";
  return approved ? "allowedByRule" : "refusedByRule";
}
