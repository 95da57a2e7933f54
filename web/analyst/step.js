// One step: why it is done, the code, what came of it, and what it made.

import { box, element, worded } from "../element.js";
import { createFigure, createTableFile } from "./artifact.js";
import { createCodeBlock, languageName } from "./codeblock.js";
import { durationOf } from "./duration.js";
import { createSeries, createSlot } from "./slot.js";

/** `open(artifact)` shows a figure larger. */
export function createStep(first, { open }) {
  const reason = createSlot("reason", drawReason);
  const code = createSlot("code", drawCode);
  const exec = createSlot("exec", drawExec);
  const made = element("div", "made");
  const artifacts = createSeries(made, (artifact) => createArtifact(artifact, open));
  const node = box("li", "step", element("span", "marker"), box("div", "step-body", reason.node, code.node, exec.node, made));

  return {
    node,
    update(step) {
      node.dataset.state = stateOf(step);
      node.hidden = isSilent(step);
      reason.update(step.reason);
      code.update(step.code);
      exec.update(step.exec);
      artifacts.update(step.artifacts);
    },
  };
}

function stateOf({ reason, exec }) {
  if (exec !== null) return exec.success ? "good" : "bad";
  return reason !== null && reason.next_action !== "act" ? "good" : "busy";
}

// The question itself is shown after the steps.
function isSilent({ reason, code, exec }) {
  return code === null && exec === null && reason !== null && reason.next_action === "ask" && !reason.rationale && !reason.assumption;
}

function drawReason({ instruction = null, rationale = "", assumption = null }) {
  const parts = [
    instruction ? element("p", "instruction", instruction) : null,
    rationale ? element("p", instruction ? "rationale" : "instruction", rationale) : null,
    assumption ? box("p", "assumption", worded("span", "tag", "assumption"), element("span", "", assumption)) : null,
  ];
  return parts.filter((part) => part !== null);
}

function drawCode({ code, language }) {
  const summary = worded("summary", "", "codeIn", { language: languageName(language) });
  return box("details", "", summary, createCodeBlock(code, language));
}

function drawExec({ success, stdout, error, elapsed_ms: elapsed = 0 }) {
  const key = success ? "succeeded" : "failedAfter";
  return [
    worded("p", success ? "verdict good" : "verdict bad", key, { time: durationOf(elapsed) }),
    readable(stdout ?? "") ? printed("stdout", readable(stdout)) : null,
    error ? printed("stderr", error) : null,
  ].filter((part) => part !== null);
}

/** Lines that the code marks for the report are JSON: of them people see titles, facts and the names of tables. */
export function readable(stdout) {
  return stdout.split("\n").map(readableLine).filter((line) => line !== null).join("\n").trimEnd();
}

const MARKED = {
  title: ({ text }) => text,
  fact: ({ label, value }) => `${label}: ${value}`,
  table: ({ label }) => label,
  note: () => null,
};

function readableLine(line) {
  const [, mark, json] = /^@(title|fact|table|note) (\{.*)$/.exec(line) ?? [];
  if (mark === undefined) return line;
  try {
    return MARKED[mark](JSON.parse(json));
  } catch {
    return line;
  }
}

function printed(className, words) {
  const node = element("pre", className, words.trimEnd());
  node.tabIndex = 0;
  return node;
}

function createArtifact(artifact, open) {
  const node = artifact.kind === "figure" ? createFigure(artifact, open) : createTableFile(artifact);
  return { node, update() {} };
}
