// Something long behind its name: open while it is short, and made only when somebody looks.

import { box, worded } from "./element.js";

const FEW_LINES = 12;

/** `build()` makes the content. */
export function createDetails(className, key, values, build, open) {
  const node = box("details", className, worded("summary", "", key, values));
  const fill = () => node.childElementCount === 1 && node.append(build());
  node.addEventListener("toggle", () => node.open && fill());
  if (open) fill();
  node.open = open;
  return node;
}

export function isShort(text) {
  return text.split("\n").length <= FEW_LINES;
}
