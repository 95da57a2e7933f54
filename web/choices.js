// The buttons that say what becomes of an agent's work.

import { box, button } from "./element.js";
import { actOnSecondPress } from "./twostep.js";

/** `actions`: diff(agent), accept(agent), branch(agent), discard(agent). */
export function createChoices(agent, actions) {
  return box(
    "div",
    "choices",
    button("diff-open", "showDiff", () => actions.diff(agent)),
    button("accept", "accept", () => actions.accept(agent)),
    button("accept-branch", "acceptBranch", () => actions.branch(agent)),
    sureButton("discard", "discard", "discardSure", () => actions.discard(agent)),
  );
}

export function sureButton(className, key, sureKey, act) {
  const node = button(`${className} risky`, key);
  actOnSecondPress(node, { key, sureKey, act });
  return node;
}
