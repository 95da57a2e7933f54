// The connection: comes back by itself after three seconds, and goes on with the same conversation.

import { delayBefore as hintedDelay, openSocket } from "../socket.js";
import { afterRefusal } from "./closing.js";
import { readFrame } from "./log.js";

export const RETRY_MS = 3_000;
const LOST = 1006;
/** Without any word the server would go on with the conversation that a page of this user has left last. */
const NEW = "new";

/**
 * `place`: { page, conversation(), keep(id), forget() }; `isLoggedIn()` asks the server.
 * Listeners: onFrame(frame, raw) with null for what is no frame, onSent(command, raw), onState(state), onLogin(), onRefused(code, reason).
 */
export function createLine(place, language, isLoggedIn, listeners) {
  const socket = openSocket({
    url: address,
    onFrame: hear,
    // Whether a refusal is the end is known only after the question to the server.
    onState: (state) => listeners.onState(state === "refused" ? "waiting" : state),
    onClosed: (code) => code === LOST && checkLogin(),
    onRefused: refused,
    delay: delayBefore,
  });

  function address() {
    const url = new URL("../ws", place.page);
    url.protocol = url.protocol.replace("http", "ws");
    url.search = "";
    url.hash = "";
    url.searchParams.set("conversation", place.conversation() ?? NEW);
    url.searchParams.set("lang", language());
    return url;
  }

  function hear(raw) {
    const frame = readFrame(raw);
    if (frame?.type === "connected") greeted(frame.content);
    listeners.onFrame(frame, raw);
  }

  function greeted(content) {
    if (typeof content?.conversation === "string") place.keep(content.conversation);
    socket.confirm();
  }

  function tell(command) {
    const raw = JSON.stringify(command);
    const isSent = socket.send(raw);
    if (isSent) listeners.onSent(command, raw);
    return isSent;
  }

  async function refused(code, reason) {
    const step = afterRefusal(code, await isLoggedIn());
    if (step === "login") return listeners.onLogin();
    if (step === "stop") return listeners.onRefused(code, reason);
    // Only what is forgotten can make a difference at once.
    const isNew = step === "forget" && place.conversation() !== null;
    if (step === "forget") place.forget();
    setTimeout(socket.dial, isNew ? 0 : RETRY_MS);
  }

  // A browser does not tell why a handshake failed.
  async function checkLogin() {
    if (!(await isLoggedIn())) listeners.onLogin();
  }

  return {
    dial: socket.dial,
    say: (message) => tell({ message }),
    cancel: () => tell({ type: "cancel" }),
    answer: (id, allow) => tell({ type: "confirm", id, allow }),
    /** Begins another conversation. */
    renew() {
      place.forget();
      socket.redial();
    },
    hurry: socket.hurry,
    /** The network is back: an old connection would only be found dead after a long time. */
    redial: socket.redial,
  };
}

/** The gateway may say how long to wait. */
export function delayBefore(attempt, reason = "", random = Math.random) {
  return reason.includes("retry in") ? hintedDelay(attempt, reason, random) : RETRY_MS;
}
