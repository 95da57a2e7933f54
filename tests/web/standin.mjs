// A stand-in for the gateway that serves the page and speaks its wire, so that a test decides what is said, and when.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import { KEYS } from "../../web/protocol/aicore.js";

const WEB = new URL("../../web/", import.meta.url);
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
const SESSION = `ws-${"0".repeat(32)}`;
const TEXT = 1;
const CLOSE = 8;

/** `features` and `models` are what the greeting says. */
export async function openStandin({ features = ["playback"], models = { LIVE_AI_NAME: "scripted" } } = {}) {
  const wires = new Map();
  const received = [];
  const waiting = new Set();
  const server = http.createServer(serveFile);
  server.on("upgrade", (request, wire) => {
    const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + MAGIC).digest("base64");
    wire.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    wire.on("error", () => wire.destroy());
    wire.on("data", createReader((text) => hear(wire, JSON.parse(text)), () => wire.end()));
  });
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

function frame(text) {
  const body = Buffer.from(text);
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10);
  head[0] = 0x80 | TEXT;
  head[1] = head.length === 2 ? body.length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(body.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(body.length), 2);
  return Buffer.concat([head, body]);
}

/** Takes a browser's bytes as they come, and gives its texts; browsers do not split ours. */
function createReader(onText, onClose) {
  let bytes = Buffer.alloc(0);
  return (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (let read = readFrame(bytes); read !== null; read = readFrame(bytes)) {
      bytes = bytes.subarray(read.end);
      if (read.code === TEXT) onText(read.body.toString());
      if (read.code === CLOSE) onClose();
    }
  };
}

function readFrame(bytes) {
  if (bytes.length < 14) return bytes.length >= 6 && (bytes[1] & 127) + 6 <= bytes.length ? unmask(bytes, 2, bytes[1] & 127) : null;
  const short = bytes[1] & 127;
  if (short < 126) return unmask(bytes, 2, short);
  return short === 126 ? unmask(bytes, 4, bytes.readUInt16BE(2)) : unmask(bytes, 10, Number(bytes.readBigUInt64BE(2)));
}

function unmask(bytes, at, length) {
  const end = at + 4 + length;
  if (bytes.length < end) return null;
  const mask = bytes.subarray(at, at + 4);
  const body = Buffer.from(bytes.subarray(at + 4, end)).map((byte, index) => byte ^ mask[index % 4]);
  return { code: bytes[0] & 15, body, end };
}
