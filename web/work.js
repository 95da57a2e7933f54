// An agent at work in its pane: tools, plan, questions and results, each in one place that changes as they do.

import { createChosen } from "./chosen.js";
import { mark } from "./entry.js";
import { createGauge } from "./gauge.js";
import { createPlan } from "./plan.js";
import { createQuestionLine } from "./questionline.js";
import { createResult } from "./result.js";
import { createRows } from "./rows.js";
import { createTool } from "./tool.js";

/** These only move the gauge. */
const QUIET = new Set(["state", "usage"]);
const SHOWN = new Set([
  "tool",
  "plan",
  "confirm_request",
  "confirm_result",
  "result",
  "accept",
  "discard",
  "restore",
]);

/** `actions` as for a result. */
export function createWork(root, agent, transcript, actions) {
  const gauge = createGauge(root);
  const rows = createRows(transcript);
  let result = null;
  let filesTold = false;

  function append(packet, node, size = 1) {
    transcript.append(mark(node, packet), size);
  }

  function showResult(packet) {
    result?.outdate();
    result = createResult(packet, agent, actions);
    filesTold = packet.body.files.length > 0;
    append(packet, result.node, 2 + Math.min(packet.body.files.length, 8));
  }

  function settle(packet) {
    rows.of("confirm_request", packet.body.id)?.settle(packet.body);
  }

  // Agents count their calls from one again, and a plan is one run's.
  function beginRun() {
    rows.clear();
    filesTold = false;
  }

  function show(packet) {
    switch (packet.kind) {
      case "tool":
        return rows.show(packet, packet.body.id, createTool);
      case "plan":
        return rows.show(packet, "", createPlan);
      case "confirm_request":
        return rows.show(packet, packet.body.id, createQuestionLine);
      case "confirm_result":
        return settle(packet);
      case "result":
        return showResult(packet);
      default:
        return append(packet, createChosen({ ...packet, channel: agent }, actions));
    }
  }

  return {
    tellsState: true,
    receive(packet, replayed) {
      gauge.receive(packet, replayed);
      if (packet.marker === "started") beginRun();
      if (QUIET.has(packet.kind)) return true;
      // The result has named these files, with more about each of them.
      if (packet.kind === "update_info" && filesTold) return true;
      if (!SHOWN.has(packet.kind)) return false;
      show(packet);
      return true;
    },
    clear() {
      gauge.clear();
      rows.clear();
      result = null;
    },
  };
}
