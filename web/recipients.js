// Who answers what is typed in the chat: one of them, all agents, or some of them.

import { AGENTS } from "./protocol/aicore.js";

/** A mode that names agents is kept as one text, such as "some:1,2,4". */
const SOME = "some";

export function agentsIn(mode) {
  const [kind, list = ""] = mode.split(":");
  if (kind !== SOME) return null;
  return AGENTS.filter((agent) => list.split(",").includes(agent));
}

/** `onChange(mode)` when a person chooses. */
export function createRecipients(select, group, onChange) {
  const buttons = [...group.querySelectorAll("button")];
  let agents = [...AGENTS];

  function mode() {
    return select.value === SOME ? `${SOME}:${agents.join(",")}` : select.value;
  }

  function changed() {
    onChange(mode());
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      const { agent } = button.dataset;
      agents = AGENTS.filter((other) => (other === agent) !== agents.includes(other));
      changed();
    });
  }
  select.addEventListener("change", changed);

  return {
    /** What is chosen now. */
    mode,
    show(next) {
      const some = agentsIn(next);
      agents = some ?? agents;
      select.value = some === null ? next : SOME;
      // Another client of this session may know a mode that this page does not.
      if (select.value === "") select.value = "chat";
      group.hidden = some === null;
      for (const button of buttons) {
        button.setAttribute("aria-pressed", String(agents.includes(button.dataset.agent)));
      }
    },
  };
}
