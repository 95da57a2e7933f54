// Permissions that the agent asks for.

import { box, button, element, worded } from "../element.js";
import { name } from "../language.js";
import { createKeyed } from "./keyed.js";

/** `answer(id, allow)` tells the decision. */
export function createConfirms(list, answer) {
  const series = createKeyed(list, (confirm) => createRow(confirm, answer));
  return { update: series.update, reset: series.reset };
}

function createRow({ id, tool, words, warning, answered }, answer) {
  const [deny, allow] = [button("deny", "deny", () => answer(id, false)), button("send", "allow", () => answer(id, true))];
  deny.disabled = allow.disabled = answered;
  const row = box(
    "li",
    "confirm",
    worded("p", "asked", "wantsToUse", { tool }),
    warning === "" ? null : element("p", "warning", warning),
    words === "" || words === "{}" ? null : argumentsBox(words),
    box("div", "choices", deny, allow),
  );
  row.setAttribute("role", "alert");
  return name(row, "permission");
}

function argumentsBox(words) {
  const pre = element("pre", "", words);
  pre.tabIndex = 0;
  return name(pre, "withArguments");
}
