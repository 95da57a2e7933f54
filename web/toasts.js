// Short words at the edge of the page that go away by themselves.

import { text } from "./language.js";

const MOST_AT_ONCE = 4;
const SHOWN_MS = 7_000;

export function createToasts(root) {
  return {
    show(words, tone = "info") {
      // The same words again say nothing new.
      if (root.lastElementChild?.firstElementChild.textContent === words) return;
      const toast = build(words, tone);
      root.append(toast);
      while (root.childElementCount > MOST_AT_ONCE) root.firstElementChild.remove();
      setTimeout(() => toast.remove(), SHOWN_MS);
    },
  };
}

function build(words, tone) {
  const toast = document.createElement("div");
  toast.className = `toast ${tone}`;
  const body = document.createElement("span");
  body.textContent = words;
  toast.append(body, dismissButton(toast));
  return toast;
}

function dismissButton(toast) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "dismiss";
  button.setAttribute("aria-label", text("dismiss"));
  button.addEventListener("click", () => toast.remove());
  return button;
}
