// What an agent does at this moment, for how long, and what it has used: one line under its name.

import { clock, money, short } from "./amount.js";
import { label, name } from "./language.js";

const STATE_TEXTS = {
  starting: "stateStarting",
  thinking: "stateThinking",
  executing_tool: "stateTool",
  waiting_for_confirmation: "stateAsking",
  stopping: "stateStopping",
  waiting_for_input: "stateIdle",
};

export function createGauge(root) {
  const stateNode = root.querySelector(".run-state");
  const timeNode = root.querySelector(".run-time");
  const usageNode = root.querySelector(".run-usage");
  let began = null;

  function setState(state) {
    root.dataset.state = state;
    label(stateNode, STATE_TEXTS[state] ?? "running");
  }

  function drawTime() {
    if (began !== null) timeNode.textContent = clock((Date.now() - began) / 1000);
  }

  function begin(replayed) {
    // Nobody tells when a run of the history began.
    began = replayed ? null : Date.now();
    clearUsage();
    drawTime();
    if (!replayed) setState("thinking");
  }

  function end(replayed) {
    drawTime();
    began = null;
    if (!replayed) setState("waiting_for_input");
  }

  function drawUsage(used, most, cost) {
    const values = {
      count: short(used),
      most: most === null || most === 0 ? "" : ` / ${short(most)}`,
      cost: cost === null ? "" : ` \u00b7 ${money(cost)}`,
    };
    name(label(usageNode, "usage", values), "usageLabel", values);
  }

  function finish({ seconds, tokens, cost }) {
    began = null;
    if (seconds !== null) timeNode.textContent = clock(seconds);
    if (tokens !== null) drawUsage(tokens, null, cost);
  }

  function clear() {
    began = null;
    clearUsage();
    setState("waiting_for_input");
  }

  function clearUsage() {
    timeNode.textContent = "";
    name(label(usageNode, "empty"), "empty");
  }

  // Agents that do not tell their state still wait while they ask.
  function asked(settled) {
    if (!settled) setState("waiting_for_confirmation");
    else if (root.dataset.state === "waiting_for_confirmation") setState("thinking");
  }

  setInterval(drawTime, 1000);
  clear();

  return {
    receive(packet, replayed) {
      if (packet.kind === "state") setState(packet.body.state);
      if (packet.kind === "usage") drawUsage(packet.body.used ?? 0, packet.body.most, packet.body.cost);
      if (packet.kind === "result") finish(packet.body);
      if (packet.kind.startsWith("confirm_") && !replayed) asked(packet.kind === "confirm_result");
      if (packet.kind !== "output_stream" || packet.marker === null) return;
      if (packet.marker === "started") begin(replayed);
      else end(replayed);
    },
    clear,
  };
}
