// Wires the page of the agent: frames change the state, and the panes draw the state.

import { keepLanguage } from "../address.js";
import { addTexts, chooseLanguage, otherLanguage, setLanguage, text } from "../language.js";
import { LOGOUT_PATH } from "../protocol/aicore.js";
import { createChat } from "./chat.js";
import { createConfirms } from "./confirms.js";
import { createDebug } from "./debug.js";
import { createDock } from "./dock.js";
import { createImages } from "./images.js";
import { createLightbox } from "./lightbox.js";
import { createLine } from "./line.js";
import en from "./locales/en.js";
import ja from "./locales/ja.js";
import { EMPTY_LOG, addFrame, clearLog } from "./log.js";
import { createMapPane } from "./mappane.js";
import { askForLogin, createPlace, isLoggedIn } from "./place.js";
import { EMPTY, apply, isBusy } from "./state.js";
import { createStatus } from "./status.js";

/** What is told again is drawn at once at its end, and not frame by frame; unless the end does not come. */
const HELD_MS = 1_000;

const find = (selector) => document.querySelector(selector);
const language = () => document.documentElement.lang;
let state = EMPTY;
let log = EMPTY_LOG;
let drawing = null;
let isRepeated = false;

addTexts({ en, ja });
setLanguage(chooseLanguage(new URLSearchParams(window.location.search).get("lang") ?? "", navigator.language));
document.title = `${text("smol")} - Kakehashi`;

const lightbox = createLightbox(find("#lightbox"), () => state.images.filter(({ key }) => images.isSeen(key)));
const mapPane = createMapPane(find("#map-pane"), (shown) => take({ type: "local_show", shown }));
const images = createImages(find("#image-pane"), lightbox.open);
const chat = createChat(find("#chat-pane"));
const confirms = createConfirms(find("#confirms"), answer);
const dock = createDock(find("#chat-pane"), { say, cancel });
const debug = createDebug(find("#debug-pane"), () => keepLog(clearLog(log)));
const status = createStatus(find("#line"));
const place = createPlace(window.location.href);
const line = createLine(place, language, isLoggedIn, {
  onFrame: hear,
  onSent: (command, raw) => keepLog(addFrame(log, { at: Date.now(), direction: "out", raw, frame: command })),
  onState(socket) {
    status.set(socket);
    dock.setReady(socket === "ready");
  },
  onLogin: askForLogin,
  onRefused: status.refuse,
});

wireHeader();
draw();
line.dial();

function hear(frame, raw) {
  keepLog(addFrame(log, { at: Date.now(), direction: "in", raw, frame }));
  if (frame === null) return;
  const before = state;
  take(frame);
  // A wish to stop goes with the line; it is told again once it is known that there is something to stop.
  if (before.run === null && state.run !== null && state.cancelling) line.cancel();
}

function take(frame) {
  const before = state;
  state = apply(state, frame, Date.now());
  if (before.replaying && !state.replaying) hurryDrawing();
  if (frame.type === "connected") isRepeated = true;
  if (state !== before) drawSoon();
}

function keepLog(next) {
  log = next;
  drawSoon();
}

// Many frames come together after a reload; a hidden tab draws no frames of its own, but has to follow all the same.
function drawSoon() {
  drawing ??= setTimeout(draw, state.replaying ? HELD_MS : 0);
}

function hurryDrawing() {
  clearTimeout(drawing);
  drawing = null;
}

function draw() {
  drawing = null;
  mapPane.update(state.map);
  images.update(state.images);
  confirms.update(state.confirms);
  dock.update(state);
  chat.update(state, isRepeated);
  debug.update(log);
  isRepeated = false;
}

function say(words) {
  if (state.replaying || !line.say(words)) return false;
  take({ type: "local_say", text: words });
  draw();
  chat.toEnd();
  return true;
}

function cancel() {
  if (!isBusy(state) || state.cancelling || !line.cancel()) return;
  take({ type: "local_cancel" });
}

function answer(id, allow) {
  if (line.answer(id, allow)) dock.focus();
}

function wireHeader() {
  find("#new-conversation").addEventListener("click", line.renew);
  find("#language").addEventListener("click", changeLanguage);
  find("#logout").addEventListener("click", logOut);
  window.addEventListener("online", line.redial);
  document.addEventListener("visibilitychange", () => !document.hidden && line.hurry());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || find("dialog[open]") !== null) return;
    cancel();
  });
}

function changeLanguage() {
  setLanguage(otherLanguage());
  keepLanguage(language());
  document.title = `${text("smol")} - Kakehashi`;
  chat.reset();
  images.reset();
  draw();
  mapPane.redraw();
}

async function logOut() {
  await fetch(LOGOUT_PATH, { method: "POST" }).catch(() => null);
  place.forget();
  askForLogin();
}
