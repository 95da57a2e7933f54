// A stand-in for the agent: serves its page and speaks its wire, so that a test decides what is said, and when.

import { readFileSync } from "node:fs";
import http from "node:http";
import { LOGIN_PATH } from "../../web/protocol/aicore.js";
import { accept, frame } from "./websocket.mjs";

const WEB = new URL("../../web/", import.meta.url);
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
/** As strict as the gateway's, so that what it would refuse is refused here. */
const POLICY = "default-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws:; style-src 'self'; script-src 'self'; base-uri 'none'";
export const CONVERSATION = "conversation-standin";
const CLOSE = 0x88;

const ROOMS = [
  ["Room1", 0.9, 2.1, 197.7, 101.8],
  ["Room2", 0, 101.8, 200.4, 201.4],
  ["Bathroom", 197.7, 0.7, 423.1, 101.8],
  ["Kitchen", 197.7, 101.8, 420.4, 201.4],
  ["Toilet", 419.5, 0, 498.2, 101.8],
  ["Level1", 0.9, 2.1, 200.4, 201.4],
  ["Level2", 197.7, 0.7, 500.9, 200],
];

/** The one floor that there is; `image` is its picture. */
export function definition(image = null) {
  const rectangles = ROOMS.map(([name, x, y, right, bottom]) => ({ name, topLeft: { x, y }, bottomRight: { x: right, y: bottom }, width: right - x, height: bottom - y }));
  const coordinateSystem = { topLeft: { px: 95.86, py: 133.92, x: 0, y: 0 }, bottomRight: { px: 757.37, py: 470.4, x: 500, y: 200 }, scaleX: 0.756, scaleY: 0.594 };
  const bitmaps = [...["up", "down", "left", "right"].map((direction) => `arrow_${direction}`), "person"].map((id) => ({ bitmapId: id, bitmapName: id, bitmapFile: `${id}.bmp` }));
  return { type: "map_definition", content: { floors: [{ floorId: "1F", floorName: "1階", floorImage: image, coordinateSystem, rectangles }], bitmaps } };
}

/** `files` are served by their paths under /backend/. */
export async function openSmol({ files = {} } = {}) {
  const wires = new Set();
  const received = [];
  const dialled = [];
  const asked = [];
  const waiting = new Set();
  let history = [];
  const server = http.createServer(serve);
  server.on("upgrade", (request, wire) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (pathname !== "/ws") return void wire.end("HTTP/1.1 404 Not Found\r\n\r\n");
    if (standin.rejects) return void wire.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
    accept(request, wire, (text) => hear(JSON.parse(text)));
    wire.on("close", () => wires.delete(wire));
    greet(wire, Object.fromEntries(searchParams));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const standin = { refuse: null, rejects: false, isLoggedIn: true, definition: definition(), keepsQuiet: false };

  function greet(wire, query) {
    dialled.push(query);
    const code = typeof standin.refuse === "function" ? standin.refuse(query) : standin.refuse;
    if (code !== null) wire.write(closing(code));
    else welcome(wire, query.conversation === CONVERSATION);
    check();
  }

  function welcome(wire, resumed) {
    if (!resumed) history = [];
    write(wire, standin.definition);
    write(wire, { type: "connected", content: { conversation: CONVERSATION, resumed } });
    for (const sent of history) write(wire, sent);
    write(wire, { type: "history_end", content: {} });
    wires.add(wire);
  }

  function hear(command) {
    received.push(command);
    if (typeof command.message === "string" && !standin.keepsQuiet) tell({ type: "user_message", content: command.message });
    check();
  }

  /** Frames as they are, to whoever is connected and to whoever comes back. */
  function tell(...frames) {
    for (const sent of frames) {
      history.push(sent);
      for (const wire of wires) write(wire, sent);
    }
  }

  async function serve(request, response) {
    const pathname = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    asked.push(pathname);
    const body = [];
    for await (const part of request) body.push(part);
    if (pathname === "/api/me") return reply(response, standin.isLoggedIn ? 200 : 401, "application/json", JSON.stringify({ name: "local", users: false }));
    if (pathname === LOGIN_PATH) {
      standin.isLoggedIn = true;
      standin.rejects = false;
      standin.refuse = null;
      return reply(response, 200, "application/json", JSON.stringify({ status: "OK", message: "", data: {}, error: null }));
    }
    if (pathname.startsWith("/backend/")) return file(response, () => files[pathname.slice("/backend/".length)] ?? null, "image/png");
    const path = { "/smol/": "smol/index.html", "/login": "login.html", "/": "enter.html" }[pathname] ?? (pathname.startsWith("/assets/") ? pathname.slice("/assets/".length) : "missing");
    file(response, () => readFileSync(new URL(path, WEB)), TYPES[path.split(".").at(-1)]);
  }

  function file(response, read, type) {
    try {
      const bytes = read();
      if (bytes !== null) return reply(response, 200, type, bytes);
    } catch {
      // Answered below.
    }
    response.writeHead(404).end();
  }

  function check() {
    for (const look of waiting) look();
  }

  /** Commands by what they are: "message", "cancel" or "confirm". */
  const sent = (type) => received.filter((command) => (command.type ?? "message") === type);

  return Object.assign(standin, {
    origin: `http://127.0.0.1:${server.address().port}`,
    url: `http://127.0.0.1:${server.address().port}/smol/?lang=en`,
    tell,
    /** To the connected ones only, as if it were no part of the conversation. */
    whisper: (content) => wires.forEach((wire) => write(wire, content)),
    raw: (text) => wires.forEach((wire) => wire.write(frame(text))),
    sent,
    dialled,
    asked,
    next(type, from = 0, patience = 15_000) {
      return until(() => sent(type)[from], patience, `no ${type}: ${JSON.stringify(received.slice(-3))}`);
    },
    connected: (count) => until(() => (dialled.length >= count && wires.size > 0) || undefined, 20_000, `${dialled.length} connections`),
    /** Cuts the line, as a lost network would. */
    cut: () => wires.forEach((wire) => wire.destroy()),
    end: (code) => wires.forEach((wire) => wire.write(closing(code))),
    async close() {
      server.closeAllConnections();
      for (const wire of wires) wire.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });

  function until(find, patience, complaint) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = find();
        if (found === undefined) return;
        waiting.delete(look);
        clearTimeout(timer);
        resolve(found);
      };
      const timer = setTimeout(() => reject(new Error(complaint)), patience);
      waiting.add(look);
      look();
    });
  }
}

function reply(response, status, type, body) {
  response.writeHead(status, { "content-type": `${type}; charset=utf-8`, "content-security-policy": POLICY }).end(body);
}

function write(wire, content) {
  wire.write(frame(JSON.stringify(content)));
}

function closing(code) {
  return Buffer.from([CLOSE, 2, code >> 8, code & 255]);
}
