// Code with its language, a button that copies it, and colours for what Python means.

import { box, button, element } from "../element.js";
import { label } from "../language.js";
import { paintPython } from "./python.js";

const COPIED_MS = 2_000;
const NAMES = { python: "Python", py: "Python", sql: "SQL", json: "JSON" };

export function languageName(language) {
  return NAMES[language] ?? language;
}

export function createCodeBlock(code, language = "") {
  const isPython = NAMES[language] === "Python";
  const parts = isPython ? paintPython(code).map(({ kind, text }) => (kind === "" ? text : element("span", kind, text))) : [code];
  const pre = box("pre", "", box("code", "", ...parts));
  pre.tabIndex = 0;
  const head = box("div", "code-head", element("span", "", languageName(language)), copyButton(code));
  return box("div", "code-block", head, pre);
}

function copyButton(code) {
  const node = button("quiet copy", "copyCode", async () => {
    if (!(await copy(code))) return;
    label(node, "copiedCode");
    setTimeout(() => label(node, "copyCode"), COPIED_MS);
  });
  return node;
}

// Without a secure context there is no clipboard; there the old way still works.
async function copy(words) {
  if (navigator.clipboard !== undefined) {
    return navigator.clipboard.writeText(words).then(() => true, () => false);
  }
  const box = element("textarea", "unseen");
  box.value = words;
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  return done;
}
