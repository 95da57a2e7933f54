// Wires the page of the analyst: frames change the state, and the parts draw the state.

import { keepLanguage } from "../address.js";
import { addTexts, chooseLanguage, label, otherLanguage, setLanguage, text } from "../language.js";
import { LOGOUT_PATH } from "../protocol/aicore.js";
import { askForLogin, keepSession, readAddress } from "./address.js";
import { createAnnouncer } from "./announcer.js";
import { createAskBox } from "./askbox.js";
import { createConfirms } from "./confirms.js";
import { createConversation } from "./conversation.js";
import { createDatasets } from "./datasets.js";
import { acceptFiles } from "./dropzone.js";
import { createLightbox } from "./lightbox.js";
import { createLine } from "./line.js";
import en from "./locales/en.js";
import ja from "./locales/ja.js";
import { EMPTY, apply, artifactsOf, isBusy } from "./state.js";
import { createUploads } from "./uploads.js";

const find = (selector) => document.querySelector(selector);
const address = readAddress(window.location);
const language = () => document.documentElement.lang;
let state = EMPTY;
let joining = address.session !== null;
let drawing = null;

addTexts({ en, ja });
setLanguage(chooseLanguage(address.language, navigator.language));
document.title = `${text("analyst")} - Kakehashi`;

const lightbox = createLightbox(find("#lightbox"));
const context = { ask, open: lightbox.open, artifact: (name) => artifactsOf(state).get(name) };
const conversation = createConversation({ turns: find("#turns"), latest: find("#latest"), scrollers: [find("#conversation .scroller"), find("main")] }, context);
const datasets = createDatasets(find("#datasets"), (name) => line.choose(name));
const askBox = createAskBox(find("#dock"), { ask, cancel: () => line.cancel() });
const confirms = createConfirms(find("#confirms"), (id, approved) => line.answer(id, approved));
const announcer = createAnnouncer(find("#said"));
const line = createLine(window.location.origin, language, {
  onFrame: (frame) => take(frame),
  onState: (socket) => socket !== "connecting" && (find("#offline").hidden = socket === "ready"),
  onGone: gone,
  onLoggedOut: askForLogin,
  onRefused: (code, reason) => take({ type: "error", code, message: text("refusedAnalyst", { code, reason }) }),
});
const uploads = createUploads(find("#uploads"), {
  session: () => line.session,
  language,
  onStored: stored,
  onLoggedOut: askForLogin,
});

acceptFiles({ overlay: find("#overlay"), button: find("#choose"), input: find("#file"), onFiles: uploads.add });
wireHeader();
draw();
if (joining) line.join(address.session);

function take(frame) {
  const before = state;
  state = apply(state, frame, Date.now());
  if (frame.type === "connected") keepSession(frame.session);
  if (frame.type === "connected") joining = false;
  if (frame.type === "question") askBox.focus();
  if (state === before || drawing !== null) return;
  // Many frames come together after a reload; a hidden tab draws no frames of its own, but has to follow all the same.
  drawing = setTimeout(draw, 0);
}

function draw() {
  drawing = null;
  const stage = stageOf();
  document.body.dataset.stage = stage;
  label(find(".drop-words"), stage === "empty" ? "dropHere" : "dropMore");
  datasets.update(state.datasets);
  conversation.update(state);
  confirms.update(state.confirms);
  askBox.update(state);
  announcer.update(state);
  showTrouble(state.trouble);
}

/** Before a file, between a file and the first question, and from then on. */
function stageOf() {
  if (joining || state.turns.length > 0 || state.pending.length > 0) return "working";
  return state.datasets.length === 0 ? "empty" : "ready";
}

function showTrouble(trouble) {
  const node = find("#trouble");
  node.hidden = trouble === null;
  node.textContent = trouble === null ? "" : (trouble.message ?? text(trouble.key));
}

function ask(words) {
  if (isBusy(state)) return false;
  const id = line.ask(words);
  take({ type: "local_ask", id, text: words });
  draw();
  conversation.toEnd();
  return true;
}

function stored(body) {
  keepSession(body.session);
  line.join(body.session);
}

function gone() {
  joining = false;
  keepSession(null);
  take({ type: "local_gone" });
}

function wireHeader() {
  find("#new-analysis").addEventListener("click", () => window.location.assign(`/analyst?lang=${language()}`));
  find("#language").addEventListener("click", changeLanguage);
  find("#logout").addEventListener("click", logOut);
  window.addEventListener("online", line.redial);
  document.addEventListener("visibilitychange", () => !document.hidden && line.hurry());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || find("dialog[open]") !== null) return;
    if (isBusy(state)) askBox.stop();
  });
}

function changeLanguage() {
  setLanguage(otherLanguage());
  keepLanguage(language());
  document.title = `${text("analyst")} - Kakehashi`;
  draw();
}

async function logOut() {
  await fetch(LOGOUT_PATH, { method: "POST" }).catch(() => null);
  askForLogin();
}
