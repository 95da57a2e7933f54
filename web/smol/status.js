// How the connection is, in a colour and in words.

import { label } from "../language.js";

const TEXTS = { ready: "lineReady", connecting: "lineConnecting", waiting: "lineWaiting", refused: "lineRefused" };

export function createStatus(node) {
  const [dot, words] = [node.querySelector(".dot"), node.querySelector(".words")];
  let shown = "";

  function show(state, values = {}) {
    shown = state;
    node.dataset.state = dot.dataset.state = state;
    label(words, TEXTS[state], values);
  }

  return {
    set(state) {
      // Every attempt is "connecting" for a moment; that must not make the words blink.
      if (state === shown || (state === "connecting" && shown === "waiting")) return;
      show(state);
    },
    refuse: (code, reason) => show("refused", { code, reason }),
  };
}
