// Eight dots, one per socket, and the age of the last heartbeat.

import { label, name as nameElement } from "./language.js";
import { SOCKETS } from "./protocol/aicore.js";

const STATE_TEXTS = {
  ready: "stateReady",
  connecting: "stateConnecting",
  waiting: "stateWaiting",
  refused: "stateRefused",
};

export function createStatus({ list, age, offline, unsent }) {
  const dots = new Map(SOCKETS.map((name) => [name, createDot(name)]));
  list.append(...dots.values());
  let lastBeat = null;

  function drawAge() {
    if (lastBeat === null) return;
    label(age, "heartbeatAge", { seconds: Math.round((Date.now() - lastBeat) / 1000) });
  }
  setInterval(drawAge, 1000);

  return {
    setState(name, state) {
      show(dots.get(name), name, state);
      // Every attempt is "connecting" for a moment; that must not make the badge blink.
      if (name === "input" && state !== "connecting") offline.hidden = state !== "waiting";
    },
    beat() {
      lastBeat = Date.now();
      drawAge();
    },
    setUnsent(count) {
      unsent.hidden = count === 0;
      label(unsent, "unsent", { count });
    },
  };
}

function createDot(name) {
  const dot = document.createElement("li");
  dot.className = "dot";
  dot.setAttribute("role", "img");
  dot.dataset.socket = name;
  show(dot, name, "waiting");
  return dot;
}

function show(dot, name, state) {
  dot.dataset.state = state;
  nameElement(dot, STATE_TEXTS[state], { socket: name });
}
