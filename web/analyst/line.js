// The connection to the analyst: comes back by itself, repeats what was not taken, and shows no frame twice.

import { delayBefore as hintedDelay, openSocket } from "../socket.js";
import { createCursor } from "./cursor.js";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;
const GONE = new Set([3504, 3505]);
const LOGGED_OUT = 3506;

/** `onFrame(frame)`, `onState(state)`, `onGone()`, `onLoggedOut()`, `onRefused(code, reason)`. */
export function createLine(origin, language, listeners) {
  const cursor = createCursor();
  const unanswered = new Map();
  let session = null;
  let cancelling = false;
  const socket = openSocket({
    url: address,
    onFrame: (text) => hear(text),
    onState: listeners.onState,
    onClosed: (code) => code === 1006 && checkLogin(listeners.onLoggedOut),
    onRefused: refused,
    delay: delayBefore,
  });
  let dialled = false;

  function address() {
    const url = new URL("/analyst/ws", origin);
    url.protocol = url.protocol.replace("http", "ws");
    if (session !== null) {
      url.searchParams.set("session", session);
      url.searchParams.set("after", cursor.after);
    }
    url.searchParams.set("lang", language());
    return url;
  }

  function hear(text) {
    const frame = JSON.parse(text);
    if (frame.type === "connected") greeted(frame);
    if (frame.type === "ack") unanswered.delete(frame.id);
    if (frame.type === "done") cancelling = false;
    if (cursor.isNew(frame)) show(frame);
    if (frame.type === "connected") repeat();
  }

  // What was refused is not repeated.
  function show(frame) {
    if (frame.type === "error") unanswered.delete(frame.id);
    listeners.onFrame(frame);
  }

  function greeted(frame) {
    if (!frame.resumed) cursor.reset();
    session = frame.session;
    socket.confirm();
  }

  function repeat() {
    for (const ask of unanswered.values()) tell(ask);
    if (cancelling) tell({ type: "cancel" });
  }

  function tell(command) {
    return socket.send(JSON.stringify(command));
  }

  function refused(code, reason) {
    dialled = false;
    unanswered.clear();
    if (code === LOGGED_OUT) return listeners.onLoggedOut();
    if (!GONE.has(code)) return listeners.onRefused(code, reason);
    session = null;
    cursor.reset();
    listeners.onGone();
  }

  function dial() {
    if (dialled) return;
    dialled = true;
    socket.dial();
  }

  return {
    get session() {
      return session;
    },
    join(id) {
      session = id;
      dial();
    },
    /** Repeated after a reconnect until it is acknowledged; the server carries it out once. */
    ask(words) {
      const command = { type: "ask", text: words, id: newId() };
      unanswered.set(command.id, command);
      tell(command);
      dial();
      return command.id;
    },
    /** Another file becomes `df`. */
    choose: (name) => tell({ type: "choose", name }),
    /** What needs a permission goes on or not. */
    answer: (id, approved) => tell({ type: "answer", id, approved }),
    cancel() {
      cancelling = true;
      tell({ type: "cancel" });
    },
    /** The network is back: an old connection would only be found dead after a long time. */
    hurry: () => dialled && socket.hurry(),
    redial: () => dialled && socket.redial(),
  };
}

/** The gateway may say how long to wait. A quarter of the wait is random, so that the pages of a restarted gateway do not return in one wave. */
export function delayBefore(attempt, reason = "", random = Math.random) {
  if (reason.includes("retry in")) return hintedDelay(attempt, reason, random);
  const base = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt);
  return base * (0.75 + random() / 4);
}

// A secure context is needed for randomUUID; a gateway in the local network may have none.
function newId() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}

// A browser does not tell why a handshake failed.
async function checkLogin(onLoggedOut) {
  const answer = await fetch("/api/me").catch(() => null);
  if (answer?.status === 401) onLoggedOut();
}
