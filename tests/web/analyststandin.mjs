// A stand-in for the data analyst: serves its page and speaks docs/analyst.md, so that a test decides what is said, and when.

import { readFileSync } from "node:fs";
import http from "node:http";
import { picture } from "./picture.mjs";
import { accept, frame } from "./websocket.mjs";

const WEB = new URL("../../web/", import.meta.url);
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml", png: "image/png", csv: "text/csv", md: "text/markdown" };
/** As strict as the gateway's, so that what it would refuse is refused here. */
const POLICY = "default-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws:; style-src 'self'; script-src 'self'; base-uri 'none'";
export const SESSION = "ws-standin";
const CLOSE = 0x88;

export const SALES = {
  type: "dataset_info",
  name: "sales.csv",
  shape: [7, 3],
  columns: ["date", "region", "amount"],
  dtypes: { date: "str", region: "str", amount: "int64" },
  head: [
    { date: "2026-01-03", region: "East", amount: 120 },
    { date: "2026-01-04", region: "West", amount: 80 },
    { date: "2026-01-05", region: "East", amount: null },
  ],
  encoding: "utf-8",
  warnings: ["line 4 has too many fields and was left out"],
  sampled: null,
};

/** `files` are served by their names; `upload` answers one: `(name, bytes) => ({ status, body, frame })`, or a promise of it. */
export async function openAnalyst({ files = {}, upload = () => ({ status: 201, frame: SALES }) } = {}) {
  const wires = new Set();
  const received = [];
  const dialled = [];
  const waiting = new Set();
  const log = [];
  const server = http.createServer(serve);
  server.on("upgrade", (request, wire) => {
    const query = new URL(request.url, "http://localhost").searchParams;
    accept(request, wire, (text) => hear(wire, JSON.parse(text)));
    wire.on("close", () => wires.delete(wire));
    greet(wire, query);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const standin = { upload, greeting: {}, refuse: null, repeatsAll: false };

  function greet(wire, query) {
    dialled.push(Object.fromEntries(query));
    if (standin.refuse !== null) return wire.write(closing(standin.refuse));
    const after = Number(query.get("after") ?? 0);
    const last = log.at(-1)?.seq ?? 0;
    write(wire, { type: "connected", session: SESSION, resumed: after > 0, seq: last, at: now(), ...standin.greeting });
    for (const sent of log) if (sent.seq > after) write(wire, sent);
    wires.add(wire);
    check();
  }

  function hear(wire, command) {
    received.push(command);
    if (command.id !== undefined && !standin.keepsQuiet) write(wire, { type: "ack", id: command.id, repeated: false });
    check();
  }

  function tell(content, { same = false } = {}) {
    const last = log.at(-1)?.seq ?? 0;
    const sent = { seq: same ? last : last + 1, at: now(), ...content };
    log.push(sent);
    for (const wire of wires) write(wire, sent);
    return sent;
  }

  async function serve(request, response) {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (request.method === "POST") return takeFile(request, response, searchParams);
    if (pathname === "/api/me") return reply(response, 200, "application/json", JSON.stringify({ name: "local", users: false }));
    const name = decodeURIComponent(pathname.replace(/^\/(assets|files)\//, ""));
    try {
      const bytes = pathname.startsWith("/files/") ? (files[name] ?? picture()) : readFileSync(new URL(name === "/analyst" ? "analyst.html" : name, WEB));
      reply(response, 200, TYPES[name.split(".").at(-1)] ?? "text/html", bytes);
    } catch {
      response.writeHead(404).end();
    }
  }

  async function takeFile(request, response, query) {
    const parts = [];
    try {
      for await (const part of request) parts.push(part);
    } catch {
      return;
    }
    received.push({ type: "upload", name: query.get("name"), session: query.get("session"), bytes: Buffer.concat(parts) });
    check();
    const { status, body = {}, frame: info = null } = await standin.upload(query.get("name"), Buffer.concat(parts));
    if (info !== null) tell({ ...info, name: query.get("name") });
    reply(response, status, "application/json", JSON.stringify({ session: SESSION, ...info, ...body }));
  }

  function check() {
    for (const look of waiting) look();
  }

  const sent = (type) => received.filter((command) => command.type === type);

  return Object.assign(standin, {
    url: `http://127.0.0.1:${server.address().port}/analyst?lang=en`,
    tell,
    /** Frames of one run, in their order. */
    play: (run, ...frames) => frames.forEach((content) => tell({ run, ...content })),
    sent,
    dialled,
    /** The first command of this type from number `from` on, now or later. */
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

export function now() {
  return new Date().toISOString();
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
