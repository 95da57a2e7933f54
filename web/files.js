// The file pane: two lists, drawn anew only when they changed.

import { label } from "./language.js";

const POLL_MS = 10_000;
/** Many changes come together; one question after them is enough. */
const SETTLE_MS = 400;
const ROW_LIMIT = 1_000;

/** `ask(kind)` requests "files_backup" or "files_temp". */
export function createFiles(root, { ask, counters }) {
  const shown = new Map();
  let timer = null;

  function receive(packet) {
    const { kind, body, unchanged } = packet;
    if (unchanged) return;
    const mark = `${body.newest}/${body.files.length}`;
    if (shown.get(kind) === mark) return void (counters.listsSkipped += 1);
    shown.set(kind, mark);
    counters.listsDrawn += 1;
    draw(root.querySelector(`[data-list=${kind}]`), kind, body);
  }

  function refresh() {
    ask("files_backup");
    ask("files_temp");
  }

  function refreshSoon() {
    clearTimeout(timer);
    timer = setTimeout(() => !root.hidden && refresh(), SETTLE_MS);
  }

  function poll() {
    if (!root.hidden && !document.hidden) ask("files_temp");
  }

  root.querySelector(".refresh").addEventListener("click", refresh);
  setInterval(poll, POLL_MS);
  return { receive, refresh, refreshSoon };
}

function draw(section, kind, body) {
  section.querySelector(".facts").replaceChildren(...facts(kind, body));
  section.querySelector(".count").textContent = String(body.files.length);
  const rows = inOrder(kind, body.files).slice(0, ROW_LIMIT).map(createRow);
  section.querySelector("ul").replaceChildren(...rows, ...remainder(body.files.length));
}

// Who looks for a recent file looks for the newest; a project is read by its paths.
function inOrder(kind, files) {
  if (kind !== "files_temp") return files;
  return files.toSorted((a, b) => b.modified.localeCompare(a.modified) || b.path.localeCompare(a.path));
}

function facts(kind, body) {
  const time = body.newest || "-";
  if (kind === "files_temp") return [fact("newestFile", { time })];
  const lines = [fact("lastBackup", { time }), fact("project", { path: body.projectPath })];
  return body.backupPath === "" ? lines : [...lines, fact("backupAt", { path: body.backupPath })];
}

function fact(key, values) {
  return label(document.createElement("p"), key, values);
}

function createRow({ path, modified }) {
  const row = document.createElement("li");
  const name = document.createElement("span");
  name.className = "path";
  name.textContent = path;
  name.title = path;
  const time = document.createElement("time");
  time.textContent = modified;
  row.append(name, time);
  return row;
}

function remainder(total) {
  const row = document.createElement("li");
  row.className = "remainder";
  if (total === 0) return [label(row, "noFiles")];
  return total > ROW_LIMIT ? [label(row, "moreFiles", { count: total - ROW_LIMIT })] : [];
}
