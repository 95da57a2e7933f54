// A stand-in for the gateway that serves the page and speaks its wire, so that a test decides what is said, and when.

import { readFileSync } from "node:fs";
import http from "node:http";
import { KEYS } from "../../web/protocol/aicore.js";
import { accept, frame } from "./websocket.mjs";

const WEB = new URL("../../web/", import.meta.url);
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
const SESSION = `ws-${"0".repeat(32)}`;

/** `features` and `models` are what the greeting says. */
export async function openStandin({ features = ["playback"], models = { LIVE_AI_NAME: "scripted" } } = {}) {
  const wires = new Map();
  const received = [];
  const waiting = new Set();
  const server = http.createServer(serveFile);
  server.on("upgrade", (request, wire) => accept(request, wire, (text) => hear(wire, JSON.parse(text))));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  function hear(wire, packet) {
    if (packet.type === "connect") return greet(wire, packet);
    received.push({ ...packet, at: performance.now() });
    for (const check of waiting) check();
    if (packet[KEYS.request] !== undefined) tell("input", "ack", "", { [KEYS.request]: packet[KEYS.request] });
  }

  function greet(wire, { [KEYS.socket]: channel, [KEYS.epoch]: epoch, [KEYS.features]: wanted }) {
    received.push({ [KEYS.kind]: "connect", [KEYS.channel]: channel, [KEYS.features]: wanted });
    wires.set(channel, wire);
    const body = channel === "input" ? { [KEYS.controls]: {}, [KEYS.models]: models } : {};
    const resumed = epoch !== undefined;
    tell(channel, "init", body, { [KEYS.epoch]: "e", [KEYS.resumed]: resumed, [KEYS.features]: features });
    for (const check of waiting) check();
  }

  function tell(channel, kind, body, more = {}) {
    const packet = { [KEYS.session]: SESSION, [KEYS.channel]: channel, [KEYS.kind]: kind, [KEYS.body]: body, ...more };
    wires.get(channel).write(frame(JSON.stringify(packet)));
  }

  const sent = (kind) => received.filter((packet) => packet[KEYS.kind] === kind);

  return {
    port: server.address().port,
    url: `http://127.0.0.1:${server.address().port}/?lang=en`,
    tell,
    /** What the page has sent of one kind, oldest first. */
    sent,
    /** The first packet of this kind that fits, now or later. */
    next(kind, fits = () => true, patience = 15_000) {
      return new Promise((resolve, reject) => {
        const check = () => {
          const found = sent(kind).find(fits);
          if (found === undefined) return;
          waiting.delete(check);
          clearTimeout(timer);
          resolve(found);
        };
        const timer = setTimeout(() => reject(new Error(`no such ${kind}: ${JSON.stringify(sent(kind).slice(-3))}`)), patience);
        waiting.add(check);
        check();
      });
    },
    /** Cuts one channel's line, as a lost network would. */
    cut: (channel) => wires.get(channel).destroy(),
    async close() {
      server.closeAllConnections();
      for (const wire of wires.values()) wire.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serveFile({ url }, response) {
  const { pathname } = new URL(url, "http://localhost");
  const name = pathname === "/" ? "index.html" : pathname.replace("/assets/", "");
  try {
    const bytes = readFileSync(new URL(name, WEB));
    response.writeHead(200, { "content-type": TYPES[name.split(".").at(-1)] }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}
