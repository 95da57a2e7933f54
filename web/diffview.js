// What an agent has changed, file by file.

import { signed } from "./amount.js";
import { createStatus } from "./changes.js";
import { createDiff } from "./diff.js";
import { box, element, worded } from "./element.js";
import { label } from "./language.js";
import { createSheet } from "./sheet.js";

/** `actions`: ask(agent, path) with null for everything, to a request number; saw(agent, version). */
export function createDiffView(dialog, actions) {
  const list = dialog.querySelector(".diff-files");
  const text = dialog.querySelector(".diff-text");
  const sheet = createSheet(dialog);
  let agent = null;
  let request = null;
  let path = null;

  function ask(next) {
    path = next;
    request = actions.ask(agent, path);
    dialog.setAttribute("aria-busy", "true");
    for (const entry of list.querySelectorAll("button")) entry.setAttribute("aria-pressed", String(entry.dataset.path === (path ?? "")));
  }

  function drawFiles(files) {
    const rows = files.map((file) => entry(file.path, createStatus(file.status), element("span", "path", file.path), lines(file)));
    list.replaceChildren(entry(null, worded("span", "", "allFiles", { count: files.length })), ...rows);
  }

  function entry(target, ...content) {
    const node = box("button", "diff-file", ...content);
    node.type = "button";
    node.dataset.path = target ?? "";
    node.setAttribute("aria-pressed", String(target === path));
    node.addEventListener("click", () => ask(target));
    return box("li", "", node);
  }

  function drawText(body) {
    const notice = body.truncated ? worded("p", "truncated", "diffTruncated") : null;
    const content = body.text === "" ? worded("p", "note", "diffEmpty") : createDiff(body.text);
    text.replaceChildren(...[notice, content].filter((node) => node !== null));
    text.scrollTop = 0;
  }

  return {
    open(number) {
      agent = number;
      label(dialog.querySelector("h2"), "diffOf", { number });
      list.replaceChildren();
      text.replaceChildren();
      sheet.open();
      dialog.querySelector(".close").focus();
      ask(null);
    },
    receive({ channel, body }) {
      if (!sheet.isOpen || channel !== agent || body.path !== path) return;
      request = null;
      dialog.setAttribute("aria-busy", "false");
      actions.saw(agent, body.version);
      if (path === null) drawFiles(body.files);
      drawText(body);
    },
    refused(refused) {
      if (refused === request) sheet.close();
    },
  };
}

function lines(file) {
  return element("span", "lines-changed", signed(file.added, file.removed));
}
