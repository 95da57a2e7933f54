// A unified diff: what kind of line each line is, and how that looks.

import { box, element } from "./element.js";

const HEAD_LINE = /^(diff |index |--- |\+\+\+ |new file |deleted file |old mode |new mode |similarity |rename |Binary )/;

/** Runs of lines of one kind: "added", "removed", "hunk", "head" or "same". */
export function partsOf(text) {
  const parts = [];
  // A line that begins with --- may be removed text; after a hunk's head only a new file's head ends it.
  let inHunk = false;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const kind = kindOf(line, inHunk);
    if (kind === "hunk") inHunk = true;
    if (kind === "head") inHunk = false;
    const last = parts.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else parts.push({ kind, lines: [line] });
  }
  return parts;
}

export function countsOf(text) {
  const count = (kind) => partsOf(text).reduce((sum, part) => sum + (part.kind === kind ? part.lines.length : 0), 0);
  return { added: count("added"), removed: count("removed") };
}

export function createDiff(text) {
  const blocks = partsOf(text).map(({ kind, lines }) => element("span", `diff-${kind}`, `${lines.join("\n")}\n`));
  const node = box("pre", "diff", box("code", "", ...blocks));
  node.tabIndex = 0;
  return node;
}

function kindOf(line, inHunk) {
  if (line.startsWith("@@")) return "hunk";
  if (inHunk ? line.startsWith("diff ") : HEAD_LINE.test(line)) return "head";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "same";
}
