// Permissions that the agent asks for.

import { box, button, element, worded } from "../element.js";
import { name } from "../language.js";
import { createKeyed } from "./keyed.js";

/** A second click at once is a slip; later it is meant, because what is grave is asked twice. */
const SLIP_MS = 1_500;

/** `answer(id, allow)` tells the decision. */
export function createConfirms(list, answer) {
  const series = createKeyed(list, (confirm) => createRow(confirm, answer));
  return { update: series.update, reset: series.reset };
}

function createRow({ id, tool, words, warning }, answer) {
  const [deny, allow] = [button("deny", "deny", () => decide(false)), button("send", "allow", () => decide(true))];

  function decide(allowed) {
    deny.disabled = allow.disabled = true;
    setTimeout(() => (deny.disabled = allow.disabled = false), SLIP_MS);
    answer(id, allowed);
  }

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
