// Turns one packet into the element that shows it. Everything from outside becomes text, never markup.

import { createCut } from "./captions.js";
import { element } from "./element.js";
import { label, text } from "./language.js";

const HEADINGS = {
  input_text: "you",
  input_request: "request",
  output_text: "answer",
  output_request: "agentAnswer",
  recognition_input: "heard",
  recognition_output: "said",
};

const MARKER_TEXTS = {
  started: "runStarted",
  finished: "runFinished",
  cancelled: "runCancelled",
  failed: "runFailed",
};

/** So many paths are shown at once; more wait for a click. */
const FEW_FILES = 3;

/** Null for packets that have nothing to show in a pane. A notice is the gateway's word about a run, no answer. */
export function createEntry(packet, { notice = false } = {}) {
  switch (packet.kind) {
    case "welcome_info":
    case "welcome_text":
    case "streaming_started":
      return note(packet);
    case "cancel_run":
      return mark(label(element("div", "entry note"), "stopping"), packet);
    case "output_stream":
      return packet.marker === null ? streamLine(packet) : divider(packet.marker);
    case "update_info":
      return changedFiles(packet);
    case "input_file":
    case "output_file":
      return fileMessage(packet);
    case "output_text":
      return notice ? note(packet) : message(packet);
    default:
      return packet.kind in HEADINGS ? message(packet) : null;
  }
}

/** A line of the log pane: where from, and what. */
export function createLogEntry(headingKey, words) {
  const node = element("div", "entry note");
  node.append(label(element("span", "heading"), headingKey), element("span", "body", words));
  return node;
}

/** Long answers count as many lines, so that the bound of a pane means the same for all kinds. */
export function lineCount(packet) {
  return typeof packet.body === "string" ? packet.body.split("\n").length : 1;
}

function note(packet) {
  return packet.body === "" ? null : mark(element("div", "entry note", packet.body), packet);
}

/** An answer on its way; `body` grows until the whole takes its place. */
export function createDraft(packet) {
  const node = message({ ...packet, kind: "output_text", body: "" });
  node.classList.add("draft");
  // It is read out when it is whole.
  node.setAttribute("aria-live", "off");
  return { node, body: node.querySelector(".body") };
}

function streamLine(packet) {
  const node = mark(element("div", "entry line", packet.body), packet);
  // A screen reader would never catch up with a streaming agent; the lines stay readable by moving through them.
  node.setAttribute("aria-live", "off");
  return node;
}

function divider(marker) {
  const node = element("div", "entry divider");
  node.dataset.kind = "output_stream";
  node.dataset.marker = marker;
  node.append(label(element("span"), MARKER_TEXTS[marker]));
  return node;
}

function message(packet) {
  const node = mark(element("article", "entry message"), packet);
  const body = element("div", "body", packet.body);
  body.append(...createCut(packet));
  node.append(heading(packet), body);
  return node;
}

/** Of several agents each signs its answer. */
function heading({ kind, agent = null }) {
  const isSigned = kind === "output_request" && agent !== null;
  return label(element("span", "heading"), isSigned ? "answerOf" : HEADINGS[kind], { agent });
}

function fileMessage(packet) {
  const node = mark(element("article", "entry message"), packet);
  node.append(element("div", "body", packet.body));
  if (packet.fileName !== null) node.append(element("code", "path", packet.fileName));
  if (packet.thumbnail !== null) node.append(thumbnail(packet));
  return node;
}

function changedFiles(packet) {
  const node = mark(element("details", "entry changed"), packet);
  node.open = packet.body.files.length <= FEW_FILES;
  const list = element("ul");
  list.append(...packet.body.files.map((path) => element("li", "path", path)));
  const { agent, files } = packet.body;
  const text = agent === null ? "changed" : "changedBy";
  node.append(label(element("summary"), text, { agent, count: files.length }), list);
  return node;
}

function thumbnail(packet) {
  const image = element("img", "thumbnail");
  image.alt = text("thumbnail", { name: packet.fileName ?? "" });
  image.src = packet.thumbnail.startsWith("data:") ? packet.thumbnail : `data:image/png;base64,${packet.thumbnail}`;
  return image;
}

/** What a packet left on the page can be found again by its kind and number. */
export function mark(node, packet) {
  node.dataset.kind = packet.kind;
  if (packet.seq !== null) node.dataset.seq = packet.seq;
  return node;
}
