// What came of a choice: done, in conflict with the project, or failed.

import { leftOutNote } from "./changes.js";
import { sureButton } from "./choices.js";
import { box, element, worded } from "./element.js";

const DONE_TEXTS = { accept: "acceptDone", discard: "discardDone", restore: "restoreDone" };
const FAILED_TEXTS = { accept: "acceptFailed", discard: "discardFailed", restore: "restoreFailed" };

/** `actions`, where it can be undone: restoreBackup(agent, name). */
export function createChosen({ kind, body, channel }, actions = null) {
  const undo = actions === null || body.backup === null ? null : createUndo(channel, body.backup, actions);
  const node = box("section", "entry chosen", ...contents(kind, body), undo);
  node.dataset.outcome = body.outcome;
  return node;
}

function createUndo(agent, name, actions) {
  return box("div", "choices", sureButton("undo", "undo", "restoreSure", () => actions.restoreBackup(agent, name)));
}

function contents(kind, body) {
  if (body.outcome === "conflict") return conflict(body);
  if (body.outcome !== "done") return [worded("p", "", FAILED_TEXTS[kind], { reason: body.reason ?? "" })];
  return [title(kind, body), files(body.files), leftOutNote(body.leftOut)];
}

function title(kind, { files, branch }) {
  if (branch !== null) return worded("p", "", "branchDone", { branch });
  return worded("p", "", DONE_TEXTS[kind], { count: files.length });
}

function files(paths) {
  return paths.length === 0 ? null : box("ul", "", ...paths.map((path) => element("li", "path", path)));
}

function conflict({ conflicts }) {
  const rows = conflicts.map(({ path, sort }) => {
    return box("li", "", element("span", "path", path), element("span", "note", ` ${sort}`));
  });
  return [worded("p", "", "acceptConflict", { count: conflicts.length }), box("ul", "", ...rows)];
}
