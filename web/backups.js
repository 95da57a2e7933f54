// What can be brought back: the places of all agents and the project, as they were before each thing done to them.

import { sureButton } from "./choices.js";
import { createChosen } from "./chosen.js";
import { box, element, worded } from "./element.js";
import { label } from "./language.js";
import { createSheet } from "./sheet.js";

const BEFORE_TEXTS = {
  run: "beforeRun",
  accept: "beforeAccept",
  discard: "beforeDiscard",
  restore: "beforeRestore",
};

/** `actions`: backups() to a request number, restoreBackup(agent or null for the project, name). */
export function createBackups(dialog, actions) {
  const table = dialog.querySelector("tbody");
  const news = dialog.querySelector(".sheet-news");
  const again = dialog.querySelector(".again");
  const sheet = createSheet(dialog);
  let request = null;

  function ask() {
    request = actions.backups();
    busy("listing");
  }

  function busy(key) {
    dialog.setAttribute("aria-busy", String(key !== "empty"));
    label(dialog.querySelector(".sheet-state"), key);
  }

  // The row that had the focus may be another one now.
  function draw(rows) {
    const focused = table.contains(document.activeElement);
    table.replaceChildren(...rows.map((row) => createRow(row, actions)));
    busy(rows.length === 0 ? "noBackups" : "empty");
    dialog.setAttribute("aria-busy", "false");
    if (focused) again.focus();
  }

  again.addEventListener("click", ask);

  return {
    open() {
      news.replaceChildren();
      sheet.open();
      ask();
    },
    receive({ body }) {
      if (!sheet.isOpen) return;
      request = null;
      draw(body.rows);
    },
    /** The gateway cannot list them. */
    refused(refused) {
      if (refused === request) busy("empty");
    },
    /** Whatever was done has made a backup first. */
    chosen(packet) {
      if (!sheet.isOpen) return;
      news.replaceChildren(createChosen(packet));
      if (packet.body.outcome === "done") ask();
    },
  };
}

function createRow(row, actions) {
  const whose = row.agent === null ? worded("th", "", "theProject") : worded("th", "", "agent", { number: row.agent });
  whose.scope = "row";
  const before = worded("td", "", BEFORE_TEXTS[row.before] ?? "aroundRun", { run: row.run ?? "" });
  const restore = sureButton("restore", "restoreThis", "restoreThisSure", () => actions.restoreBackup(row.agent, row.name));
  const node = box("tr", "", whose, before, element("td", "", row.made), box("td", "", box("div", "choices", restore)));
  node.dataset.backup = row.name;
  return node;
}
