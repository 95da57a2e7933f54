// A button that acts on the second press only, for what cannot be taken back.

import { label } from "./language.js";

/** Faster than this is a double click, and nobody has read the question. */
const THOUGHT_MS = 400;
const PATIENCE_MS = 5_000;

/** The words of `key` stay on the button; those of `sureKey` ask once more. */
export function actOnSecondPress(button, { key, sureKey, act }) {
  let armedAt = null;
  let timer = null;

  function rest() {
    clearTimeout(timer);
    armedAt = null;
    delete button.dataset.armed;
    label(button, key);
  }

  function arm() {
    armedAt = Date.now();
    // The button must not shrink away under the pointer.
    button.style.minWidth = `${button.offsetWidth}px`;
    button.dataset.armed = "true";
    label(button, sureKey);
    timer = setTimeout(rest, PATIENCE_MS);
  }

  button.addEventListener("click", () => {
    if (armedAt === null) return arm();
    if (Date.now() - armedAt < THOUGHT_MS) return;
    rest();
    act();
  });
}
