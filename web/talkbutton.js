// Hold to talk: by pointer, by space or enter on the button, and by space wherever nothing else wants it.

const TAKES_SPACE = "a, button, dialog, input, label, select, summary, textarea, [contenteditable], [tabindex]";

/** `start()` and `end()` come in turns; `mayUseSpace()`: whether the key means this outside of the button. */
export function createTalkButton(button, { start, end, mayUseSpace }) {
  let heldBy = null;

  function hold(what) {
    if (heldBy !== null || button.disabled) return;
    heldBy = what;
    button.setAttribute("aria-pressed", "true");
    start();
  }

  function release(what) {
    if (heldBy === null || (what !== null && heldBy !== what)) return;
    heldBy = null;
    button.setAttribute("aria-pressed", "false");
    end();
  }

  function isTalkKey(event) {
    if (event.target === button) return event.code === "Space" || event.code === "Enter";
    return event.code === "Space" && !event.target.closest?.(TAKES_SPACE) && mayUseSpace();
  }

  function pressed(event) {
    const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.isComposing;
    if (!isPlain || !isTalkKey(event)) return;
    // The page would scroll, also while the key repeats.
    event.preventDefault();
    if (!event.repeat) hold(event.code);
  }

  button.setAttribute("aria-pressed", "false");
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    hold("pointer");
  });
  for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) {
    button.addEventListener(kind, () => release("pointer"));
  }
  // A long press on a touch screen is no wish for a menu.
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  document.addEventListener("keydown", pressed);
  document.addEventListener("keyup", (event) => release(event.code));
  // Whoever leaves the page does not hear that the key goes up.
  window.addEventListener("blur", () => release(null));
  document.addEventListener("visibilitychange", () => document.hidden && release(null));
}
