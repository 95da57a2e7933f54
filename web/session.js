// One session over its eight sockets: who connects when, what was seen last on each channel, what is still unsent.
// Knows no element of the page; everything a person sees goes through the listeners.

import { SOCKETS, SOCKET_PATH, connect, decode, encode } from "./protocol/aicore.js";
import { createOutbox } from "./outbox.js";
import { openSocket } from "./socket.js";

/** The gateway beats every 5 s on `input`; this long without a frame means that the network is gone. */
const SILENCE_LIMIT_MS = 20_000;
const WATCH_INTERVAL_MS = 2_000;
/** A line with so much waiting is too slow for speech; whoever speaks keeps the rest, and what is too old there goes. */
const AUDIO_BACKLOG_LIMIT = 64 * 1024;
const FRAME_TOO_BIG = 1009;
/** Panes show no more lines than this, so a longer history would be sent for nothing. */
const HISTORY_LIMIT = 3_000;

/**
 * Listeners: onPacket(packet, socket), onReset(socket), onState(socket, state), onSession(id), onUnsent(count),
 * onTooBig(), onRefused(code, reason).
 */
export function openSession({ origin, id, language, view, counters, listeners }) {
  const url = new URL(SOCKET_PATH, origin).href.replace(/^http/, "ws");
  const cursors = new Map(SOCKETS.map((name) => [name, { epoch: null, seq: 0 }]));
  const outbox = createOutbox(listeners.onUnsent);
  const sockets = new Map(SOCKETS.map((name) => [name, openSocket(socketOptions(name))]));
  let lastHeard = 0;

  function socketOptions(name) {
    return {
      url,
      hello: () => hello(name),
      onFrame: (text) => receive(name, text),
      onState: (state) => listeners.onState(name, state),
      onClosed: (code) => name === "input" && code === FRAME_TOO_BIG && giveUpLargest(),
      onRefused: listeners.onRefused,
    };
  }

  // Sent again, the frame would close every new connection just as it closed this one.
  function giveUpLargest() {
    if (outbox.dropLargest()) listeners.onTooBig();
  }

  function hello(name) {
    const { epoch, seq } = cursors.get(name);
    const cursor = { epoch, lastSeq: seq, historyLimit: HISTORY_LIMIT };
    return JSON.stringify(connect({ session: id, socket: name, language, view, ...cursor }));
  }

  function receive(name, text) {
    const packet = decode(text, name);
    if (name === "input") lastHeard = Date.now();
    counters.received += 1;
    if (packet.kind === "init") return greeted(name, packet);
    if (packet.kind === "ack") return void outbox.settle(packet.request);
    if (packet.kind === "error" && packet.request !== null) outbox.settle(packet.request);
    if (isNews(name, packet)) listeners.onPacket(packet, name);
  }

  function isNews(name, packet) {
    if (packet.seq === null) return true;
    const cursor = cursors.get(name);
    if (packet.seq <= cursor.seq) {
      counters.duplicates += 1;
      return false;
    }
    cursor.seq = packet.seq;
    return true;
  }

  function greeted(name, packet) {
    if (name === "input") adopt(packet.session);
    const cursor = cursors.get(name);
    cursor.epoch = packet.epoch;
    counters.greetings += 1;
    if (packet.resumed) counters.resumed += 1;
    if (!packet.resumed) forget(name);
    sockets.get(name).confirm();
    if (name === "input") inputReady();
    listeners.onPacket(packet, name);
  }

  function forget(name) {
    cursors.get(name).seq = 0;
    listeners.onReset(name);
  }

  function adopt(session) {
    if (session === id) return;
    const moved = id !== null;
    id = session;
    listeners.onSession(id);
    if (moved) others().forEach((socket) => socket.close());
  }

  function inputReady() {
    for (const { request, packet } of outbox.entries()) transmit(packet, request);
    others().forEach((socket) => socket.hurry());
  }

  function others() {
    return SOCKETS.filter((name) => name !== "input").map((name) => sockets.get(name));
  }

  function transmit(packet, request) {
    return sockets.get("input").send(encode(packet, { session: id, request }));
  }

  function watch() {
    const silent = Date.now() - lastHeard > SILENCE_LIMIT_MS;
    if (silent && sockets.get("input").state === "ready") redialAll();
  }

  function redialAll() {
    counters.redials += 1;
    lastHeard = Date.now();
    for (const socket of sockets.values()) {
      if (socket.state === "ready") socket.redial();
    }
  }

  function hurryAll() {
    if (id === null) return sockets.get("input").hurry();
    for (const socket of sockets.values()) socket.hurry();
  }

  sockets.get("input").dial();
  setInterval(watch, WATCH_INTERVAL_MS);

  return {
    /**
     * Kept until acknowledged, however often the connection breaks; a later one of the same slot replaces it.
     * Returns the request number, or null for who only looks.
     */
    send(packet, slot = null) {
      if (view) return null;
      const request = outbox.add(packet, slot);
      transmit(packet, request);
      return request;
    },
    /** Only worth something now: not repeated after a reconnect. */
    ask(packet) {
      return !view && sockets.get("input").send(encode(packet, { session: id }));
    },
    speak(packet) {
      const socket = sockets.get("audio");
      return !view && socket.backlog < AUDIO_BACKLOG_LIMIT && socket.send(encode(packet, { session: id }));
    },
    /** The newest audio socket of a session has microphone and speaker, so a new one takes them to this tab. */
    claimVoice() {
      const socket = sockets.get("audio");
      if (socket.state === "ready") socket.redial();
    },
    hurry: hurryAll,
    /** Notices are worded by the gateway, which learns the language only in a greeting. */
    speakLanguage(next) {
      language = next;
      redialAll();
    },
    get id() {
      return id;
    },
  };
}
