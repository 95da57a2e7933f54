// All frames of the connection, each behind a line that tells when it came and what it is.

import { box, element } from "../element.js";
import { label, name, text } from "../language.js";
import { createKeyed } from "./keyed.js";

const END_TOLERANCE_PX = 40;
const PREVIEW = 120;
/** What is asked for with this pane; the rest opens with a click. */
const OPEN = new Set(["debug"]);

export function createDebug(root, clear) {
  const [list, frames, nothing, count, pretty] = ["ol", "#frames", ".nothing", "#frame-count", "#pretty"].map((part) => root.querySelector(part));
  const series = createKeyed(list, (entry) => createFrame(entry, isPretty), (one, other) => one === other);
  let following = true;
  let shown = null;

  function isPretty() {
    return pretty.getAttribute("aria-pressed") === "true";
  }

  pretty.addEventListener("click", () => {
    pretty.setAttribute("aria-pressed", String(!isPretty()));
    for (const details of list.querySelectorAll("details[open]")) details.dispatchEvent(new Event("fill"));
  });
  root.querySelector("#clear").addEventListener("click", clear);
  frames.addEventListener("scroll", () => (following = frames.scrollHeight - frames.scrollTop - frames.clientHeight < END_TOLERANCE_PX), { passive: true });

  return {
    update(log) {
      if (log === shown) return;
      shown = log;
      series.update(log.frames);
      nothing.hidden = log.frames.length > 0;
      label(count, "frameCount", { count: log.frames.length });
      if (following) frames.scrollTop = frames.scrollHeight;
    },
  };
}

function createFrame({ at, direction, type, size, raw, pretty }, isPretty) {
  const body = element("pre");
  body.tabIndex = 0;
  const sense = name(element("span", `sense ${direction}`, direction === "in" ? "↓" : "↑"), direction === "in" ? "frameIn" : "frameOut");
  sense.setAttribute("role", "img");
  const length = element("span", "size", size.toLocaleString());
  length.title = text("characters", { count: size.toLocaleString() });
  const summary = box("summary", "", time(at), sense, element("span", "kind", type), element("span", "preview", raw.slice(0, PREVIEW)), length);
  const details = box("details", "", summary, body);
  // The text is made when somebody looks, and again in the other form.
  const fill = () => (body.textContent = isPretty() ? pretty : raw);
  details.addEventListener("toggle", () => details.open && fill());
  details.addEventListener("fill", fill);
  details.open = OPEN.has(type);
  // At once, because the list has to be scrolled to its end.
  if (details.open) fill();
  const node = box("li", "", details);
  node.dataset.type = type;
  return node;
}

function time(at) {
  const date = new Date(at);
  const node = element("time", "", `${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}.${String(date.getMilliseconds()).padStart(3, "0")}`);
  node.dateTime = date.toISOString();
  return node;
}

function two(number) {
  return String(number).padStart(2, "0");
}
