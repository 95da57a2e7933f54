// Permissions that are asked for while an analysis runs.

import { box, button, element } from "../element.js";
import { name as nameElement } from "../language.js";

/** `answer(id, approved)` tells the decision. */
export function createConfirms(list, answer) {
  let shown = null;
  return {
    update(confirms) {
      if (confirms === shown) return;
      shown = confirms;
      list.replaceChildren(...confirms.map((asked) => createRow(asked, answer)));
    },
  };
}

function createRow({ id, tool, message }, answer) {
  const row = box(
    "li",
    "confirm",
    element("p", "", message || tool),
    button("", "refuse", () => answer(id, false)),
    button("send", "allow", () => answer(id, true)),
  );
  row.setAttribute("role", "alert");
  return nameElement(row, "permission");
}
