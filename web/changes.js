// Changed files as a table: what happened to each, how many lines, and who else touched it.

import { signed } from "./amount.js";
import { box, element, worded } from "./element.js";
import { name } from "./language.js";

const STATUS_TEXTS = {
  added: "fileAdded",
  modified: "fileModified",
  deleted: "fileDeleted",
  renamed: "fileRenamed",
  type_changed: "fileRetyped",
};
const STATUS_LETTERS = { added: "A", modified: "M", deleted: "D", renamed: "R", type_changed: "T" };

/** What is in an agent's copy and in no result; `null` if there is nothing like that. */
export function leftOutNote(paths) {
  return paths.length === 0 ? null : worded("p", "note warn left-out", "leftOut", { paths: paths.join(", ") });
}

export function createChanges(files, overlaps) {
  const others = new Map(overlaps.map(({ path, agents }) => [path, agents]));
  const rows = files.map((file) => createRow(file, others.get(file.path) ?? []));
  return box("table", "changes", box("tbody", "", ...rows));
}

/** A letter for the eye, a word for everybody. */
export function createStatus(status) {
  const node = element("span", "file-status", STATUS_LETTERS[status] ?? "?");
  node.dataset.status = status;
  node.setAttribute("role", "img");
  return name(node, STATUS_TEXTS[status] ?? "fileModified");
}

function createRow(file, agents) {
  const path = element("span", "path", file.path);
  const cell = box("td", "", path, ...oldName(file), ...overlapOf(agents));
  const row = box("tr", "", box("td", "", createStatus(file.status)), cell);
  row.append(element("td", "lines-changed", signed(file.added, file.removed)));
  return row;
}

function oldName({ oldPath }) {
  return oldPath === null ? [] : [worded("span", "note", "renamedFrom", { path: oldPath })];
}

function overlapOf(agents) {
  return agents.length === 0 ? [] : [worded("span", "badge warn", "overlap", { agents: agents.join(", ") })];
}
