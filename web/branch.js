// Asks under which name an agent's work becomes a branch.

import { label } from "./language.js";
import { createSheet } from "./sheet.js";

/** `onBranch(agent, { name, message })`. */
export function createBranch(dialog, onBranch) {
  const form = dialog.querySelector("form");
  const sheet = createSheet(dialog);
  let agent = null;

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = form.elements.branch.value.trim();
    const message = form.elements.message.value.trim();
    sheet.close();
    onBranch(agent, { name, message: message === "" ? null : message });
  });

  return {
    open(number) {
      agent = number;
      label(dialog.querySelector("h2"), "branchOf", { number });
      form.elements.branch.value = `agent-${number}`;
      form.elements.message.value = "";
      sheet.open();
      form.elements.branch.select();
    },
  };
}
